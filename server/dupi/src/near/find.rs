//! All near copies of a set of documents, found anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::bodies::{Bodies, Body, SEEDS, tokens};
use super::graph::{Edge, Graph, LEADERS, Node, Place, near_id};
use super::relation::{Comparer, Ways};
use crate::candidates::{KeptBlots, Sightings, kept_blots, ranges_and_blots};
use crate::document::Document;
use crate::fingerprint::LastUses;

/// Whether to stop what takes long.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Reads one of a set of documents, unless it cannot be read.
pub trait Read: Fn(u32) -> Option<Arc<Document>> + Sync {}

impl<F: Fn(u32) -> Option<Arc<Document>> + Sync> Read for F {}

impl Graph {
    /// The near copies among documents with these identities.
    #[cfg(test)]
    pub fn find(documents: &[Arc<Document>], identities: &[u64], min_similarity: f64) -> Graph {
        Graph::find_among(documents, identities, min_similarity, None, &|| false).expect("nobody stops it")
    }

    /// The same, given the shared blots of the documents if they are known. Returns nothing if it is stopped.
    pub fn find_among(
        documents: &[Arc<Document>],
        identities: &[u64],
        min_similarity: f64,
        blots: Option<KeptBlots>,
        stop: Stop,
    ) -> Option<Graph> {
        let blots = blots.unwrap_or_else(|| ranges_and_blots(documents, &SEEDS).1);
        let bodies = |(document, blots): (&Arc<Document>, Box<[_]>)| Bodies::among(document, &blots);
        let bodies = documents.par_iter().zip(blots).with_max_len(64).map(bodies).collect();
        let document = |i: u32| documents.get(i as usize).cloned();
        Finder { bodies, identities, min_similarity, document, stop }.graph()
    }

    /// The same for documents that need not be in memory at once: each is asked for several times. Nothing, if one
    /// cannot be read, either.
    pub fn find_one_by_one(
        n_tokens: usize,
        identities: &[u64],
        min_similarity: f64,
        read: impl Read,
        read_again: impl Read,
        stop: Stop,
    ) -> Option<Graph> {
        let bodies = shared_bodies(n_tokens, identities.len(), read, stop, |_, bodies| bodies)?;
        Finder { bodies, identities, min_similarity, document: read_again, stop }.graph()
    }
}

/// What `of` makes of the bodies of each document, those alone that share a seed with others or by chance seem to. Each
/// document is read twice, and none is kept. Returns nothing if one cannot be read, or if it is stopped.
pub fn shared_bodies<T: Send>(
    n_tokens: usize,
    n_documents: usize,
    read: impl Read,
    stop: Stop,
    of: impl Fn(u32, Bodies) -> T + Sync,
) -> Option<Vec<T>> {
    let read = |i: u32| if stop() { None } else { read(i) };
    // Little memory: one slot in ten is shared by chance, which costs time and changes nothing.
    let sightings = Sightings::new(n_tokens);
    let numbers = || (0..n_documents as u32).into_par_iter().with_max_len(64);
    let note = |scratch: &mut Vec<u64>, i: u32| {
        let document = read(i)?;
        kept_blots(&document, &SEEDS, scratch).iter().for_each(|kept| sightings.note(kept.blot));
        Some(())
    };
    numbers().map_init(Vec::new, note).collect::<Option<()>>()?;
    let bodies = |scratch: &mut Vec<u64>, i: u32| {
        let document = read(i)?;
        let mut blots = kept_blots(&document, &SEEDS, scratch);
        blots.retain(|kept| sightings.is_shared(kept.blot));
        Some(of(i, Bodies::among(&document, &blots)))
    };
    numbers().map_init(Vec::new, bodies).collect()
}

/// Finds the near copies of documents by their bodies.
struct Finder<'a, F> {
    /// Of each document those with shared seeds.
    bodies: Vec<Bodies>,
    identities: &'a [u64],
    min_similarity: f64,
    document: F,
    stop: Stop<'a>,
}

/// Where a word stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct At {
    word: u64,
    document: u32,
    body: u32,
}

impl<F: Fn(u32) -> Option<Arc<Document>> + Sync> Finder<'_, F> {
    fn body(&self, at: &At) -> &Body {
        &self.bodies[at.document as usize].list[at.body as usize]
    }

    fn graph(&self) -> Option<Graph> {
        let places = self.places();
        let mut words = places.clone();
        words.dedup_by_key(|at| at.word);
        let edges = self.edges(&words)?;
        let mut by_word: BTreeMap<u32, Vec<Edge>> = BTreeMap::new();
        for &(a, b, common) in &edges {
            let hash = |i: u32| words[i as usize].word;
            by_word.entry(a).or_default().push(Edge { other: hash(b), common });
            by_word.entry(b).or_default().push(Edge { other: hash(a), common });
        }
        let by_word: Vec<(u32, Vec<Edge>)> = by_word.into_iter().collect();
        let node = |uses: &mut LastUses, (i, mut edges): (u32, Vec<Edge>)| {
            edges.sort_unstable();
            let first = &words[i as usize];
            let body = self.body(first);
            let id = near_id(&*(self.document)(first.document)?, body, uses);
            let from = places.partition_point(|at| at.word < first.word);
            let of_word = places[from..].iter().take_while(|at| at.word == first.word);
            let place = |at: &At| {
                let document = (self.document)(at.document)?;
                Some(Place::new(self.identities[at.document as usize], &document, self.body(at)))
            };
            let mut places = of_word.map(place).collect::<Option<Vec<Place>>>()?;
            places.sort_unstable();
            Some(Node { word: body.word, id, places, edges })
        };
        let nodes = by_word.into_par_iter().map_init(LastUses::default, node).collect::<Option<Vec<Node>>>()?;
        Some(Graph::new(self.min_similarity, nodes))
    }

    /// All places by word, document and start.
    fn places(&self) -> Vec<At> {
        let of_document = |(bodies, document): (&Bodies, u32)| {
            let at = move |(body, number): (&Body, u32)| At { word: body.word.hash, document, body: number };
            bodies.list.iter().zip(0..).map(at).collect::<Vec<At>>()
        };
        let mut places: Vec<At> = self.bodies.iter().zip(0..).flat_map(of_document).collect();
        places.par_sort_unstable();
        places
    }

    /// Which words are near which, by their places in the list, and how many tokens correspond.
    fn edges(&self, words: &[At]) -> Option<Vec<(u32, u32, u32)>> {
        let groups = Groups::new(words.iter().map(|at| self.bodies[at.document as usize].seeds(self.body(at))));
        // In the order of the documents, so that those that are read again were read lately.
        let mut order: Vec<u32> = (0..words.len() as u32).collect();
        order.par_sort_unstable_by_key(|&i| (words[i as usize].document, words[i as usize].body));
        let near = |(comparer, candidates, own, other): &mut (Comparer, Vec<u32>, Vec<u32>, Vec<u32>), i: u32| {
            let a = &words[i as usize];
            let body = self.body(a);
            groups.candidates(i, candidates);
            candidates.retain(|&j| {
                let b = &words[j as usize];
                let nested = a.document == b.document && body.overlaps(self.body(b));
                !nested && Ways::of(body, self.body(b), self.min_similarity).any()
            });
            if candidates.is_empty() {
                return Some(Vec::new());
            }
            if (self.stop)() {
                return None;
            }
            tokens(&*(self.document)(a.document)?, body.start, body.end, own);
            comparer.set(body, own);
            let mut found = Vec::new();
            for &j in candidates.iter() {
                let b = &words[j as usize];
                let body = self.body(b);
                tokens(&*(self.document)(b.document)?, body.start, body.end, other);
                found.extend(comparer.compare(body, other).map(|common| (i, j, common)));
            }
            Some(found)
        };
        let found = order
            .into_par_iter()
            .with_max_len(256)
            .map_init(|| (Comparer::new(self.min_similarity), Vec::new(), Vec::new(), Vec::new()), near)
            .collect::<Option<Vec<Vec<(u32, u32, u32)>>>>()?;
        Some(found.into_iter().flatten().collect())
    }
}

/// Words by their seeds.
struct Groups {
    /// The words of each seed that several have, one group after the other; each in the order of their hashes.
    words: Vec<u32>,
    /// Where the groups start, and the end of the last.
    starts: Vec<u32>,
    /// The groups of each word, one word after the other.
    of_words: Vec<u32>,
    word_starts: Vec<u32>,
}

impl Groups {
    /// `seeds`: of each word.
    fn new<'a>(seeds: impl ExactSizeIterator<Item = &'a [u64]>) -> Groups {
        let n_words = seeds.len();
        let of_word = |(seeds, word): (&'a [u64], u32)| seeds.iter().map(move |&seed| (seed, word));
        let mut posts: Vec<(u64, u32)> = seeds.zip(0..).flat_map(of_word).collect();
        posts.par_sort_unstable();
        let mut groups =
            Groups { words: Vec::new(), starts: vec![0], of_words: Vec::new(), word_starts: vec![0; n_words + 1] };
        for group in posts.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1) {
            groups.words.extend(group.iter().map(|(_, word)| *word));
            groups.starts.push(groups.words.len() as u32);
        }
        drop(posts);
        for &word in &groups.words {
            groups.word_starts[word as usize + 1] += 1;
        }
        for i in 1..groups.word_starts.len() {
            groups.word_starts[i] += groups.word_starts[i - 1];
        }
        let mut next = groups.word_starts.clone();
        groups.of_words = vec![0; groups.words.len()];
        for (group, ends) in groups.starts.windows(2).enumerate() {
            for &word in &groups.words[ends[0] as usize..ends[1] as usize] {
                groups.of_words[next[word as usize] as usize] = group as u32;
                next[word as usize] += 1;
            }
        }
        groups
    }

    /// The words that come before this one and are to be compared with it: leaders. They are few, so that documents of
    /// which words are leaders are the ones that are read again.
    fn candidates(&self, word: u32, out: &mut Vec<u32>) {
        out.clear();
        let own = self.word_starts[word as usize] as usize..self.word_starts[word as usize + 1] as usize;
        for &group in &self.of_words[own] {
            let members = &self.words[self.starts[group as usize] as usize..self.starts[group as usize + 1] as usize];
            let before = members.iter().take(LEADERS).take_while(|&&other| other < word);
            out.extend(before);
        }
        out.sort_unstable();
        out.dedup();
    }
}
