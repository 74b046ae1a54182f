//! A graph of near copies, brought up to date by documents that came and went. Only these pairs are compared: those of
//! words that appeared, and those of words that became leaders of a seed, with the words that have it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use rayon::prelude::*;

use super::bodies::{Body, tokens};
use super::graph::{Graph, LEADERS, Node, Place, near_id};
use super::relation::{Comparer, Ways};
use super::table::{Layer, Ref, Refs, Table};
use crate::clones::{Library, Prepared};
use crate::fingerprint::LastUses;

/// A document that came or went.
pub struct Changed {
    pub identity: u64,
    pub document: Arc<Prepared>,
}

impl Graph {
    /// The graph after some documents went and others came. `library` has those that came, and none that went; `table`
    /// is of the documents before. Nothing, if a document cannot be read.
    pub fn updated(
        &self,
        went: &[Changed],
        came: &[Changed],
        library: &impl Library,
        table: Option<&Table>,
    ) -> Option<Graph> {
        if went.is_empty() && came.is_empty() {
            return Some(self.clone());
        }
        let layer = Layer::new(went, came);
        let mut update = Update::new(self, library, table.map(|table| (table, &layer)), went, came);
        update.find_changed_words()?;
        update.find_changed_leaders()?;
        update.take_places(went, came);
        update.compare_appeared()?;
        update.compare_risen()?;
        update.part_fallen()?;
        Some(update.graph.folded())
    }
}

struct Update<'a, L> {
    graph: Graph,
    library: &'a L,
    table: Option<(&'a Table, &'a Layer)>,
    /// Words of documents that came, and of those that went.
    came: HashMap<u64, Source<'a>>,
    went: HashMap<u64, Source<'a>>,
    came_identities: HashSet<u64>,
    appeared: BTreeSet<u64>,
    vanished: BTreeSet<u64>,
    /// Words that were there and are there, and of which seeds they are leaders now.
    risen: BTreeMap<u64, Vec<u64>>,
    /// Words that are no longer leaders of one of their seeds.
    fallen: BTreeSet<u64>,
    by_seed: HashMap<u64, Rc<Refs<'a>>>,
    leaders: HashMap<u64, Rc<[u64]>>,
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

/// Words to compare one with, each with a seed that led to it.
type Candidates = BTreeMap<u64, (u64, Ref)>;

impl<'a, L: Library> Update<'a, L> {
    fn new(
        graph: &Graph,
        library: &'a L,
        table: Option<(&'a Table, &'a Layer)>,
        went: &'a [Changed],
        came: &'a [Changed],
    ) -> Update<'a, L> {
        Update {
            graph: graph.clone(),
            library,
            table,
            came: words_of(came),
            went: words_of(went),
            came_identities: came.iter().map(|changed| changed.identity).collect(),
            appeared: BTreeSet::new(),
            vanished: BTreeSet::new(),
            risen: BTreeMap::new(),
            fallen: BTreeSet::new(),
            by_seed: HashMap::new(),
            leaders: HashMap::new(),
        }
    }

    /// All bodies with a seed as they are now.
    fn refs(&mut self, seed: u64) -> Option<Rc<Refs<'a>>> {
        if let Some(refs) = self.by_seed.get(&seed) {
            return Some(Rc::clone(refs));
        }
        let known = self.table.and_then(|(table, layer)| table.refs(seed, layer));
        let refs = match known {
            Some(refs) => refs,
            None => self.look_up(seed)?,
        };
        let refs = Rc::new(refs);
        self.by_seed.insert(seed, Rc::clone(&refs));
        Some(refs)
    }

    /// The same without a table: all documents that hold the seed are decoded.
    fn look_up(&self, seed: u64) -> Option<Refs<'a>> {
        let mut numbers = Vec::new();
        self.library.holders(seed, |holder| numbers.push(holder.number));
        numbers.sort_unstable();
        numbers.dedup();
        let bodies = |&number: &u32| {
            let (document, identity) = (self.library.prepared(number)?, self.library.identity(number));
            Some(document.bodies().with_seed(seed).map(|body| Ref::new(identity, body)).collect::<Vec<Ref>>())
        };
        let refs: Vec<Vec<Ref>> = numbers.par_iter().with_min_len(8).map(bodies).collect::<Option<_>>()?;
        Some(Refs::of(refs.into_iter().flatten().collect()))
    }

    /// The words of least hash that have a seed.
    fn leaders(&mut self, seed: u64) -> Option<Rc<[u64]>> {
        if let Some(leaders) = self.leaders.get(&seed) {
            return Some(Rc::clone(leaders));
        }
        let refs = self.refs(seed)?;
        let leaders: Rc<[u64]> = refs.words().map(|found| found.word.hash).take(LEADERS).collect();
        self.leaders.insert(seed, Rc::clone(&leaders));
        Some(leaders)
    }

    /// Which words are no longer there, and which were not there before?
    fn find_changed_words(&mut self) -> Option<()> {
        for (word, seed) in only_in(&self.went, &self.came) {
            if self.refs(seed)?.of_word(word).next().is_none() {
                self.vanished.insert(word);
            }
        }
        for (word, seed) in only_in(&self.came, &self.went) {
            let refs = self.refs(seed)?;
            if refs.of_word(word).all(|found| self.came_identities.contains(&found.document)) {
                self.appeared.insert(word);
            }
        }
        Some(())
    }

    fn find_changed_leaders(&mut self) -> Option<()> {
        let mut by_seed: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (words, side) in [(&self.vanished, &self.went), (&self.appeared, &self.came)] {
            for word in words {
                side[word].seeds().iter().for_each(|&seed| by_seed.entry(seed).or_default().push(*word));
            }
        }
        for (seed, changed) in by_seed {
            let (refs, now) = (self.refs(seed)?, self.leaders(seed)?);
            let stayed = refs.words().map(|found| found.word.hash).filter(|word| !self.appeared.contains(word));
            let gone = changed.iter().copied().filter(|word| self.vanished.contains(word));
            let mut before: Vec<u64> = stayed.take(LEADERS).chain(gone).collect();
            before.sort_unstable();
            before.truncate(LEADERS);
            for word in now.iter().filter(|word| !before.contains(word) && !self.appeared.contains(word)) {
                self.risen.entry(*word).or_default().push(seed);
            }
            let fell = before.into_iter().filter(|word| !now.contains(word) && !self.vanished.contains(word));
            self.fallen.extend(fell);
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

    /// A word that appeared is compared with the leaders of its seeds, and as a leader with all that have the seed.
    fn compare_appeared(&mut self) -> Option<()> {
        for word in self.appeared.clone() {
            let source = self.came[&word];
            let own = Ref::new(source.document.identity, source.body);
            let mut candidates = Candidates::new();
            for &seed in source.seeds() {
                let (refs, leaders) = (self.refs(seed)?, self.leaders(seed)?);
                let last = leaders.last().copied().filter(|_| !leaders.contains(&word)).unwrap_or(u64::MAX);
                self.add_candidates(
                    &own,
                    seed,
                    refs.words().take_while(|found| found.word.hash <= last),
                    &mut candidates,
                );
            }
            self.compare(&own, &candidates)?;
        }
        Some(())
    }

    /// A word that became a leader of a seed is compared with all that have it.
    fn compare_risen(&mut self) -> Option<()> {
        for (word, seeds) in std::mem::take(&mut self.risen) {
            let mut own = None;
            let mut candidates = Candidates::new();
            for seed in seeds {
                let refs = self.refs(seed)?;
                let found = *own.get_or_insert(*refs.of_word(word).next()?);
                self.add_candidates(&found, seed, refs.words(), &mut candidates);
            }
            // What is near is already, whichever seed led there.
            if let Some(node) = self.graph.node(word) {
                candidates.retain(|other, _| node.edges.binary_search_by_key(other, |edge| edge.other).is_err());
            }
            self.compare(&own?, &candidates)?;
        }
        Some(())
    }

    /// A word that is no leader of a seed any more is compared with fewer: what no other seed leads to is not near.
    fn part_fallen(&mut self) -> Option<()> {
        for word in std::mem::take(&mut self.fallen) {
            let edges = self.graph.node(word).map(|node| node.edges.clone()).unwrap_or_default();
            for edge in edges {
                if !self.are_candidates(word, edge.other)? {
                    self.graph.set_edge(word, edge.other, None);
                    self.graph.set_edge(edge.other, word, None);
                }
            }
        }
        Some(())
    }

    /// Whether two words of the graph have a seed in common of which one is a leader.
    fn are_candidates(&mut self, a: u64, b: u64) -> Option<bool> {
        let (own, others) = (self.seeds_of(a)?, self.seeds_of(b)?);
        for seed in own.iter().filter(|seed| others.binary_search(seed).is_ok()) {
            let leaders = self.leaders(*seed)?;
            if leaders.contains(&a) || leaders.contains(&b) {
                return Some(true);
            }
        }
        Some(false)
    }

    /// The seeds of a word of the graph, sorted.
    fn seeds_of(&self, word: u64) -> Option<Vec<u64>> {
        let place = self.graph.node(word)?.places.first()?;
        let document = self.document(place.document)?;
        let bodies = document.bodies();
        let body = bodies.list.iter().find(|body| (body.start, body.word.hash) == (place.start, word))?;
        Some(bodies.seeds(body).to_vec())
    }

    fn document(&self, identity: u64) -> Option<Arc<Prepared>> {
        self.library.prepared(self.library.number_of(identity)?)
    }

    /// Adds those words that can be near copies by what is known of them without their tokens.
    fn add_candidates<'r>(
        &self,
        own: &Ref,
        seed: u64,
        words: impl Iterator<Item = &'r Ref>,
        candidates: &mut Candidates,
    ) {
        for other in words.filter(|other| other.word.hash != own.word.hash) {
            let (same_text, same_code) =
                (|| own.sketch.same_text(&other.sketch), || own.sketch.same_code(&other.sketch));
            if Ways::within(&own.word, &other.word, same_text, same_code, self.graph.min_similarity).any() {
                candidates.entry(other.word.hash).or_insert((seed, *other));
            }
        }
    }

    /// Puts those candidates of a word into the graph that are near copies of it.
    fn compare(&mut self, own: &Ref, candidates: &Candidates) -> Option<()> {
        if candidates.is_empty() {
            return Some(());
        }
        let min_similarity = self.graph.min_similarity;
        let document = self.document(own.document)?;
        let mut own_tokens = Vec::new();
        tokens(&document.document, own.start, own.end(), &mut own_tokens);
        let own_body = Body::of(own.start, own.word, &own_tokens);
        let candidates: Vec<&(u64, Ref)> = candidates.values().collect();
        let library = self.library;
        let near = candidates
            .par_iter()
            .with_min_len(8)
            .map_init(
                || (None, Vec::new()),
                |(comparer, other_tokens), &&(seed, other)| {
                    let document = library.prepared(library.number_of(other.document)?)?;
                    tokens(&document.document, other.start, other.end(), other_tokens);
                    let body = Body::of(other.start, other.word, other_tokens);
                    let comparer = comparer.get_or_insert_with(|| {
                        let mut comparer = Comparer::new(min_similarity);
                        comparer.set(&own_body, &own_tokens);
                        comparer
                    });
                    Some(comparer.compare(&body, other_tokens).map(|common| (seed, other.word.hash, common)))
                },
            )
            .collect::<Option<Vec<_>>>()?;
        let word = own.word.hash;
        for (seed, other, common) in near.into_iter().flatten() {
            for of in [word, other] {
                if self.graph.node(of).is_none() {
                    let node = self.new_node(of, seed)?;
                    self.graph.changed.insert(of, Some(Arc::new(node)));
                }
            }
            self.graph.set_edge(word, other, Some(common));
            self.graph.set_edge(other, word, Some(common));
        }
        Some(())
    }

    /// A word that was not in the graph, without edges as yet.
    fn new_node(&mut self, word: u64, seed: u64) -> Option<Node> {
        let refs = self.refs(seed)?;
        let (mut first, mut places) = (None, Vec::new());
        for found in refs.of_word(word) {
            let document = self.document(found.document)?;
            let mut own = Vec::new();
            tokens(&document.document, found.start, found.end(), &mut own);
            let body = Body::of(found.start, found.word, &own);
            places.push(Place::new(found.document, &document.document, &body));
            first.get_or_insert((document, body));
        }
        let (document, body) = first?;
        places.sort_unstable();
        let id = near_id(&document.document, &body, &mut LastUses::default());
        Some(Node { word: body.word, id, places, edges: Vec::new() })
    }
}

/// The words of one side that the other has not, each with a seed.
fn only_in(side: &HashMap<u64, Source>, other: &HashMap<u64, Source>) -> Vec<(u64, u64)> {
    let own = side.iter().filter(|(word, _)| !other.contains_key(word));
    own.filter_map(|(word, source)| Some((*word, *source.seeds().first()?))).collect()
}
