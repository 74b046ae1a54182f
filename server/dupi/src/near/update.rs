//! A graph of near copies, brought up to date by documents that came and went: only words that appeared, words that
//! vanished, and words that became or ceased to be leaders of one of their seeds are compared again.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::bodies::{Body, tokens};
use super::graph::{Graph, LEADERS, Node, Place, near_id};
use super::relation::{Comparer, Ways};
use crate::clones::{Library, Prepared};
use crate::fingerprint::LastUses;

/// A document that came or went.
pub struct Changed {
    pub identity: u64,
    pub document: Arc<Prepared>,
}

impl Graph {
    /// The graph after some documents went and others came. `library` has those that came, and none that went.
    /// Nothing, if a document of it cannot be read.
    pub fn updated(&self, went: &[Changed], came: &[Changed], library: &impl Library) -> Option<Graph> {
        let mut update = Update::new(self, library, went, came);
        update.find_changed_words(went, came)?;
        update.find_changed_leaders()?;
        update.take_places(went, came);
        update.compare()?;
        Some(update.graph.folded())
    }
}

/// A body of a document in the library.
#[derive(Clone)]
struct Ref {
    number: u32,
    document: Arc<Prepared>,
    body: Body,
}

struct Update<'a, L> {
    graph: Graph,
    library: &'a L,
    /// Words of documents that came, and of those that went.
    came: HashMap<u64, Source<'a>>,
    went: HashMap<u64, Source<'a>>,
    came_identities: HashSet<u64>,
    appeared: BTreeSet<u64>,
    vanished: BTreeSet<u64>,
    /// Words that were there and are there, but whose candidates are others.
    moved: BTreeMap<u64, Ref>,
    by_seed: HashMap<u64, Arc<[Ref]>>,
}

/// A body of a document that came or went.
#[derive(Clone, Copy)]
struct Source<'a> {
    document: &'a Changed,
    body: &'a Body,
}

impl Source<'_> {
    fn seeds(&self) -> &[u64] {
        self.document.document.bodies().seeds(self.body)
    }
}

fn words_of<'a>(changed: &'a [Changed]) -> HashMap<u64, Source<'a>> {
    let bodies = |document: &'a Changed| {
        let list = &document.document.bodies().list;
        list.iter().map(move |body| (body.word.hash, Source { document, body }))
    };
    changed.iter().flat_map(bodies).collect()
}

impl<'a, L: Library> Update<'a, L> {
    fn new(graph: &Graph, library: &'a L, went: &'a [Changed], came: &'a [Changed]) -> Update<'a, L> {
        Update {
            graph: graph.clone(),
            library,
            came: words_of(came),
            went: words_of(went),
            came_identities: came.iter().map(|changed| changed.identity).collect(),
            appeared: BTreeSet::new(),
            vanished: BTreeSet::new(),
            moved: BTreeMap::new(),
            by_seed: HashMap::new(),
        }
    }

    /// All bodies with a seed as they are now, by their hashes.
    fn refs(&mut self, seed: u64) -> Option<Arc<[Ref]>> {
        if let Some(refs) = self.by_seed.get(&seed) {
            return Some(Arc::clone(refs));
        }
        let mut numbers = Vec::new();
        self.library.holders(seed, |holder| numbers.push(holder.number));
        numbers.sort_unstable();
        numbers.dedup();
        let bodies = |&number: &u32| {
            let document = self.library.prepared(number)?;
            let with_seed = document.bodies().with_seed(seed).cloned();
            Some(with_seed.map(|body| Ref { number, document: Arc::clone(&document), body }).collect::<Vec<Ref>>())
        };
        let refs: Vec<Vec<Ref>> = numbers.par_iter().with_min_len(8).map(bodies).collect::<Option<_>>()?;
        let mut refs: Vec<Ref> = refs.into_iter().flatten().collect();
        refs.sort_by_key(|found| (found.body.word.hash, found.number, found.body.start));
        let refs: Arc<[Ref]> = refs.into();
        self.by_seed.insert(seed, Arc::clone(&refs));
        Some(refs)
    }

    /// Which words are no longer there, and which were not there before?
    fn find_changed_words(&mut self, went: &[Changed], came: &[Changed]) -> Option<()> {
        if went.is_empty() && came.is_empty() {
            return Some(());
        }
        let gone: Vec<(u64, u64)> = self.only_in(&self.went, &self.came);
        for (word, seed) in gone {
            if !self.refs(seed)?.iter().any(|found| found.body.word.hash == word) {
                self.vanished.insert(word);
            }
        }
        let new: Vec<(u64, u64)> = self.only_in(&self.came, &self.went);
        for (word, seed) in new {
            // A word of the graph was there.
            let refs = self.refs(seed)?;
            let of_word = refs.iter().filter(|found| found.body.word.hash == word);
            let mut stayed =
                of_word.filter(|found| !self.came_identities.contains(&self.library.identity(found.number)));
            if stayed.next().is_none() {
                self.appeared.insert(word);
            }
        }
        Some(())
    }

    /// The words of one side that the other has not, each with a seed.
    fn only_in(&self, side: &HashMap<u64, Source>, other: &HashMap<u64, Source>) -> Vec<(u64, u64)> {
        let own = side.iter().filter(|(word, _)| !other.contains_key(word));
        own.filter_map(|(word, source)| Some((*word, *source.seeds().first()?))).collect()
    }

    fn find_changed_leaders(&mut self) -> Option<()> {
        let mut by_seed: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (words, side) in [(&self.vanished, &self.went), (&self.appeared, &self.came)] {
            for word in words {
                side[word].seeds().iter().for_each(|&seed| by_seed.entry(seed).or_default().push(*word));
            }
        }
        for (seed, changed) in by_seed {
            let refs = self.refs(seed)?;
            let mut now: Vec<u64> = refs.iter().map(|found| found.body.word.hash).collect();
            now.dedup();
            let gone = changed.iter().filter(|word| self.vanished.contains(word));
            let mut before: Vec<u64> =
                now.iter().copied().filter(|word| !self.appeared.contains(word)).chain(gone.copied()).collect();
            before.sort_unstable();
            let now = &now[..now.len().min(LEADERS)];
            let before = &before[..before.len().min(LEADERS)];
            let rose = now.iter().filter(|word| !before.contains(word) && !self.appeared.contains(word));
            let fell = before.iter().filter(|word| !now.contains(word) && !self.vanished.contains(word));
            for word in rose.chain(fell) {
                if let Some(found) = refs.iter().find(|found| found.body.word.hash == *word) {
                    self.moved.insert(*word, found.clone());
                }
            }
        }
        Some(())
    }

    /// Takes places out of the graph and puts others in, as far as words are in it.
    fn take_places(&mut self, went: &[Changed], came: &[Changed]) {
        for word in &self.vanished {
            let edges = self.graph.node(*word).map(|node| node.edges.clone()).unwrap_or_default();
            edges.iter().for_each(|edge| self.graph.set_edge(edge.other, *word, None));
            if self.graph.node(*word).is_some() {
                self.graph.changed.insert(*word, None);
            }
        }
        for changed in went {
            for body in &changed.document.bodies().list {
                self.graph.edit(body.word.hash, |node| {
                    node.places.retain(|place| place.document != changed.identity);
                });
            }
        }
        for changed in came {
            for body in &changed.document.bodies().list {
                let place = Place::new(changed.identity, &changed.document.document, body);
                self.graph.edit(body.word.hash, |node| {
                    if let Err(at) = node.places.binary_search(&place) {
                        node.places.insert(at, place);
                    }
                });
            }
        }
    }

    /// Finds the near copies of all words whose candidates are others than before.
    fn compare(&mut self) -> Option<()> {
        let mut todo: Vec<Ref> = self.moved.values().cloned().collect();
        for word in self.appeared.clone() {
            let seed = *self.came[&word].seeds().first()?;
            let refs = self.refs(seed)?;
            todo.push(refs.iter().find(|found| found.body.word.hash == word)?.clone());
        }
        for found in todo {
            let word = found.body.word.hash;
            let near = self.near(&found)?;
            let before = self.graph.node(word).map(|node| node.edges.clone()).unwrap_or_default();
            for edge in before.iter().filter(|edge| !near.contains_key(&edge.other)) {
                self.graph.set_edge(edge.other, word, None);
                self.graph.set_edge(word, edge.other, None);
            }
            for (&other, (seed, common)) in &near {
                for of in [word, other] {
                    if self.graph.node(of).is_none() {
                        let node = self.new_node(of, *seed)?;
                        self.graph.changed.insert(of, Some(Arc::new(node)));
                    }
                }
                self.graph.set_edge(word, other, Some(*common));
                self.graph.set_edge(other, word, Some(*common));
            }
        }
        Some(())
    }

    /// The near copies of a word: which seed led there, and how many tokens correspond.
    fn near(&mut self, found: &Ref) -> Option<BTreeMap<u64, (u64, u32)>> {
        let own = found.body.word;
        let mut candidates: BTreeMap<u64, (u64, Ref)> = BTreeMap::new();
        for &seed in found.document.bodies().seeds(&found.body) {
            let refs = self.refs(seed)?;
            let (mut n, mut last) = (0, None);
            let is_leader = {
                let before = refs.iter().filter(|other| other.body.word.hash < own.hash);
                let mut hashes: Vec<u64> = before.map(|other| other.body.word.hash).collect();
                hashes.dedup();
                hashes.len() < LEADERS
            };
            for other in refs.iter() {
                let hash = other.body.word.hash;
                n += usize::from(last != Some(hash));
                last = Some(hash);
                if n > LEADERS && !is_leader {
                    break;
                }
                if hash != own.hash {
                    candidates.entry(hash).or_insert_with(|| (seed, other.clone()));
                }
            }
        }
        let min_similarity = self.graph.min_similarity;
        let mut own_tokens = Vec::new();
        tokens(&found.document.document, found.body.start, found.body.end, &mut own_tokens);
        let candidates: Vec<(u64, (u64, Ref))> = candidates.into_iter().collect();
        let near = candidates
            .par_iter()
            .with_min_len(32)
            .map_init(
                || (Comparer::new(min_similarity), Vec::new(), false),
                |(comparer, other_tokens, is_set), (hash, (seed, other))| {
                    let nested = other.number == found.number && other.body.overlaps(&found.body);
                    if nested || !Ways::of(&found.body, &other.body, min_similarity).any() {
                        return None;
                    }
                    if !std::mem::replace(is_set, true) {
                        comparer.set(&found.body, &own_tokens);
                    }
                    tokens(&other.document.document, other.body.start, other.body.end, other_tokens);
                    let common = comparer.compare(&other.body, other_tokens)?;
                    Some((*hash, (*seed, common)))
                },
            )
            .flatten()
            .collect();
        Some(near)
    }

    /// A word that was not in the graph, without edges as yet.
    fn new_node(&mut self, word: u64, seed: u64) -> Option<Node> {
        let refs = self.refs(seed)?;
        let of_word: Vec<&Ref> = refs.iter().filter(|found| found.body.word.hash == word).collect();
        let first = of_word.first()?;
        let place =
            |found: &&Ref| Place::new(self.library.identity(found.number), &found.document.document, &found.body);
        let mut places: Vec<Place> = of_word.iter().map(place).collect();
        places.sort_unstable();
        let id = near_id(&first.document.document, &first.body, &mut LastUses::default());
        Some(Node { word: first.body.word, id, places, edges: Vec::new() })
    }
}
