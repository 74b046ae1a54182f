//! The near copies of a set of documents, as a graph: words that have some, with their places, and which are near which.
//!
//! Candidates are words that share a seed, and one of them is among the [`LEADERS`] words of least hash that have it.
//! So the work is bounded, and a pair depends on two words and on who else has their seeds, never on where they stand.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3DefaultBuilder;

use super::bodies::{Body, Word};
use crate::blots::mix;
use crate::document::Document;
use crate::fingerprint::{LastUses, id};

/// With how many words of a seed all others that have it are compared. Few seeds have more; tests have small programs.
pub const LEADERS: usize = if cfg!(test) { 2 } else { 12 };

/// Changed words after which a graph is put together anew, in the place of a list of changes.
const MAX_CHANGED: usize = 1024;

/// Where a word stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The identity of the document: of a path and a content.
    pub document: u64,
    pub start: u32,
    pub end: u32,
    /// From 0.
    pub first_line: u32,
    /// One past the last.
    pub end_line: u32,
    pub is_test: bool,
    pub is_generated: bool,
}

impl Place {
    pub(super) fn new(identity: u64, document: &Document, body: &Body) -> Place {
        let lines = document.lines(body.start, body.end);
        Place {
            document: identity,
            start: body.start,
            end: body.end,
            first_line: lines.start,
            end_line: lines.end,
            is_test: document.is_test(body.start, body.end),
            is_generated: document.generated,
        }
    }
}

/// A near copy of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The hash of the other word.
    pub other: u64,
    /// Tokens that correspond.
    pub common: u32,
}

/// A word that has near copies.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub word: Word,
    /// The id of a class that it leads.
    pub id: u64,
    /// Sorted.
    pub places: Vec<Place>,
    /// Sorted.
    pub edges: Vec<Edge>,
}

type Nodes = HashMap<u64, Arc<Node>, Xxh3DefaultBuilder>;

#[derive(Clone, Debug)]
pub struct Graph {
    pub(super) min_similarity: f64,
    nodes: Arc<Nodes>,
    /// What is otherwise than there: nothing, if a word is no longer in the graph.
    pub(super) changed: HashMap<u64, Option<Arc<Node>>, Xxh3DefaultBuilder>,
}

impl PartialEq for Graph {
    fn eq(&self, other: &Graph) -> bool {
        self.min_similarity == other.min_similarity && self.sorted() == other.sorted()
    }
}

impl Graph {
    pub fn new(min_similarity: f64, nodes: impl IntoIterator<Item = Node>) -> Graph {
        let nodes = nodes.into_iter().map(|node| (node.word.hash, Arc::new(node))).collect();
        Graph { min_similarity, nodes: Arc::new(nodes), changed: HashMap::default() }
    }

    pub fn node(&self, word: u64) -> Option<&Arc<Node>> {
        self.changed.get(&word).map_or_else(|| self.nodes.get(&word), Option::as_ref)
    }

    pub fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        let same = self.nodes.iter().filter(|(hash, _)| !self.changed.contains_key(hash)).map(|(_, node)| node);
        same.chain(self.changed.values().flatten())
    }

    /// All nodes by their hashes.
    pub fn sorted(&self) -> BTreeMap<u64, &Node> {
        self.nodes().map(|node| (node.word.hash, &**node)).collect()
    }

    /// The same with fewer changes, if there are too many.
    pub(super) fn folded(mut self) -> Graph {
        if self.changed.len() > MAX_CHANGED {
            let nodes = Arc::make_mut(&mut self.nodes);
            for (hash, node) in self.changed.drain() {
                match node {
                    Some(node) => drop(nodes.insert(hash, node)),
                    None => drop(nodes.remove(&hash)),
                }
            }
        }
        self
    }

    /// Changes a node that is there. One without edges goes; one without places gets others, for it has not vanished.
    pub(super) fn edit(&mut self, word: u64, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.node(word) {
            let mut node = Node::clone(node);
            change(&mut node);
            let node = (!node.edges.is_empty()).then(|| Arc::new(node));
            self.changed.insert(word, node);
        }
    }

    /// Puts an edge into a node, or takes it out.
    pub(super) fn set_edge(&mut self, word: u64, other: u64, common: Option<u32>) {
        let at = self.node(word).map(|node| node.edges.binary_search_by_key(&other, |edge| edge.other));
        match (at, common) {
            (Some(Ok(_)), Some(_)) | (Some(Err(_)), None) | (None, _) => {}
            (Some(Err(at)), Some(common)) => self.edit(word, |node| node.edges.insert(at, Edge { other, common })),
            (Some(Ok(at)), None) => self.edit(word, |node| _ = node.edges.remove(at)),
        }
    }
}

/// A class that is led by a near copy must not have the id of a class of exact copies of it.
const NEAR_SALT: u64 = 0x6e65_6172;

pub(super) fn near_id(document: &Document, body: &Body, uses: &mut LastUses) -> u64 {
    let (codes, symbols) = document.read_tokens(body.start, body.end);
    uses.read(codes, symbols);
    id(document, codes, uses.distances(), mix(body.word.hash ^ NEAR_SALT))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::bodies::{Bodies, tokens};
    use super::super::relation::Comparer;
    use super::super::table::Table;
    use super::super::update::Changed;
    use super::*;
    use crate::clones::Prepared;
    use crate::clones::tests::Shelf;
    use crate::search::tests::{documents, settings};

    type Program = Vec<(u8, u8, u8)>;
    /// Which function, and which of its statements are others.
    type EditedCopy = (usize, Vec<(usize, (u8, u8, u8))>);

    /// Programs of functions that were copied from a few and edited.
    fn edited_programs() -> impl Strategy<Value = Vec<Program>> {
        let statement = (0u8..5, 0u8..4, 0u8..4);
        let function = prop::collection::vec(statement.clone(), 9);
        let edit = (0usize..9, statement);
        let copy = (0usize..3, prop::collection::vec(edit, 0..3));
        let program = prop::collection::vec(copy, 1..5);
        (prop::collection::vec(function, 3), prop::collection::vec(program, 1..6)).prop_map(|(pool, programs)| {
            let copy = |(of, edits): &EditedCopy| {
                let mut function = pool[*of].clone();
                edits.iter().for_each(|(at, statement)| function[*at] = *statement);
                function
            };
            programs.iter().map(|program| program.iter().flat_map(copy).collect()).collect()
        })
    }

    /// By the definition: every two words, and for each of their seeds all words that have it.
    fn naive(shelf: &Shelf, min_similarity: f64) -> BTreeMap<u64, Node> {
        let mut words: BTreeMap<u64, (Vec<u64>, Vec<u32>, Node, Body)> = BTreeMap::new();
        for (document, identity) in shelf.documents.iter().zip(&shelf.identities) {
            let bodies = Bodies::of(document, &mut Vec::new());
            for body in &bodies.list {
                let mut text = Vec::new();
                tokens(document, body.start, body.end, &mut text);
                let id = near_id(document, body, &mut LastUses::default());
                let node = Node { word: body.word, id, places: Vec::new(), edges: Vec::new() };
                let word = words
                    .entry(body.word.hash)
                    .or_insert_with(|| (bodies.seeds(body).to_vec(), text.clone(), node, body.clone()));
                assert_eq!((&*word.0, &word.1), (bodies.seeds(body), &text), "a word has its seeds wherever it stands");
                word.2.places.push(Place::new(*identity, document, body));
            }
        }
        let leads = |word: u64, seed: u64| {
            let before = words.range(..word).filter(|(_, (seeds, ..))| seeds.contains(&seed)).count();
            before < LEADERS
        };
        let mut edges: Vec<(u64, u64, u32)> = Vec::new();
        for (&a, (of_a, tokens_a, _, body_a)) in &words {
            for (&b, (of_b, tokens_b, _, body_b)) in words.range(a + 1..) {
                let mut shared = of_a.iter().filter(|seed| of_b.contains(seed));
                if !shared.any(|&seed| leads(a, seed) || leads(b, seed)) {
                    continue;
                }
                let [there, back] = [(body_a, tokens_a, body_b, tokens_b), (body_b, tokens_b, body_a, tokens_a)].map(
                    |(own, of_own, other, of_other)| {
                        let mut comparer = Comparer::new(min_similarity);
                        comparer.set(own, of_own);
                        comparer.compare(other, of_other)
                    },
                );
                assert_eq!(there, back, "the same from either side");
                edges.extend(there.map(|common| (a, b, common)));
            }
        }
        let mut nodes: BTreeMap<u64, Node> = words.into_iter().map(|(hash, (_, _, node, _))| (hash, node)).collect();
        for (a, b, common) in edges {
            nodes.get_mut(&a).expect("a word").edges.push(Edge { other: b, common });
            nodes.get_mut(&b).expect("a word").edges.push(Edge { other: a, common });
        }
        nodes.retain(|_, node| !node.edges.is_empty());
        for node in nodes.values_mut() {
            node.edges.sort_unstable();
            node.places.sort_unstable();
        }
        nodes
    }

    fn owned(graph: &Graph) -> BTreeMap<u64, Node> {
        graph.sorted().into_iter().map(|(hash, node)| (hash, node.clone())).collect()
    }

    proptest! {
        #![proptest_config(crate::cases(128))]

        #[test]
        fn near_copies_are_those_of_the_naive_way_and_of_every_way_to_them(
            before in edited_programs(), after in edited_programs(), same in prop::collection::vec(any::<bool>(), 6),
        ) {
            let settings = settings();
            let mut after = after;
            for (i, program) in after.iter_mut().enumerate() {
                if same[i] && let Some(old) = before.get(i) {
                    program.clone_from(old);
                }
            }
            let old = Shelf::new(documents(&before, &settings), &settings);
            let new = Shelf::new(documents(&after, &settings), &settings);
            let found = |shelf: &Shelf| Graph::find(&shelf.documents, &shelf.identities, settings.min_similarity);
            let (graph, expected) = (found(&old), found(&new));
            prop_assert_eq!(owned(&expected), naive(&new, settings.min_similarity));
            let n_tokens = new.documents.iter().map(|document| document.codes.len()).sum();
            let read = |i: u32| new.documents.get(i as usize).cloned();
            let one_by_one = Graph::find_one_by_one(n_tokens, &new.identities, settings.min_similarity, read, read, &|| false);
            prop_assert_eq!(owned(&one_by_one.expect("all can be read")), owned(&expected));
            let missing = |from: &Shelf, to: &Shelf| -> Vec<Changed> {
                let gone = from.documents.iter().zip(&from.identities).filter(|(_, identity)| !to.identities.contains(identity));
                gone.map(|(document, &identity)| Changed { identity, document: Arc::new(Prepared::new(document.clone())) }).collect()
            };
            let (went, came) = (missing(&old, &new), missing(&new, &old));
            let updated = graph.updated(&went, &came, &new, None).expect("all can be read");
            prop_assert_eq!(owned(&updated), owned(&expected), "{:?} to {:?}", before, after);
            let n_tokens = old.documents.iter().map(|document| document.codes.len()).sum();
            let table = Table::new(n_tokens, &old.identities, |i| old.documents.get(i as usize).cloned(), &|| false);
            let table = table.expect("all can be read");
            let by_table = graph.updated(&went, &came, &new, Some(&table)).expect("all can be read");
            prop_assert_eq!(owned(&by_table), owned(&expected), "{:?} to {:?} by table", before, after);
            let table = table.updated(&went, &came).expect("so few documents");
            let back = updated.updated(&came, &went, &old, Some(&table)).expect("all can be read");
            prop_assert_eq!(owned(&back), owned(&graph), "{:?} to {:?} and back by table", before, after);
            let bytes = crate::near::write(&updated, &new.identities, 7).expect("written");
            let read = crate::near::read(&bytes, 7).expect("what was written");
            prop_assert_eq!(owned(&read.graph), owned(&expected));
            prop_assert_eq!(&read.identities, &new.identities);
            prop_assert!(crate::near::read(&bytes, 8).is_none());
        }
    }

    #[test]
    fn wrong_bytes_are_no_graph() {
        let statement = |i: u8| (i * 3 % 5, i % 4, i / 3 % 4);
        let program: Program = (0..9).map(statement).collect();
        let mut other = program.clone();
        other[8] = (1, 3, 3);
        let shelf = Shelf::new(documents(&[program, other], &settings()), &settings());
        let graph = Graph::find(&shelf.documents, &shelf.identities, 0.7);
        assert_eq!(graph.nodes().count(), 2);
        let bytes = crate::near::write(&graph, &shelf.identities, 7).expect("written");
        for i in 0..bytes.len() {
            assert!(crate::near::read(&bytes[..i], 7).is_none());
            let mut flipped = bytes.clone();
            flipped[i] ^= 0x40;
            assert!(crate::near::read(&flipped, 7).is_none());
        }
    }
}
