//! From the graph of near copies to classes.
//!
//! Each word goes to the neighbour that has the most neighbours, or leads a group itself. A group joins a greater one if
//! many of their words are near copies of each other; these are a class. Never connected components: a chain of small
//! differences would join what has nothing in common. So a class depends on words a few steps away, and on no others.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::bodies::MIN_TOKENS;
use super::graph::{Edge, Graph, Node, Place};
use super::relation::counts_in_tests;
use crate::class::{Class, Fragment, Kind};
use crate::document::Document;
use crate::judge::zone;
use crate::settings::Settings;

/// Two groups are one class if at least one in so many pairs of a word here and a word there are near copies.
const JOINT: usize = 3;

/// What of a graph is shown.
pub struct View<'a> {
    graph: &'a Graph,
    settings: &'a Settings,
    memory: RefCell<Memory>,
}

/// What is asked again and again, by words.
#[derive(Default)]
struct Memory {
    /// How many near copies a word has.
    degrees: HashMap<u64, usize>,
    greater: HashMap<u64, Option<u64>>,
    leaders: HashMap<u64, Option<u64>>,
    /// By their leaders.
    groups: HashMap<u64, Rc<[u64]>>,
    /// The greater groups that a group is one class with, and how many pairs of their words are near copies.
    joined: HashMap<u64, Rc<[(u64, usize)]>>,
}

impl Memory {
    /// What is known of a word, or is found now and known from then on.
    fn get<T: Clone>(
        memory: &RefCell<Memory>,
        of: impl Fn(&mut Memory) -> &mut HashMap<u64, T>,
        word: u64,
        find: impl FnOnce() -> T,
    ) -> T {
        let known = of(&mut memory.borrow_mut()).get(&word).cloned();
        known.unwrap_or_else(|| {
            let found = find();
            of(&mut memory.borrow_mut()).insert(word, found.clone());
            found
        })
    }
}

/// How classes name documents.
pub trait Documents {
    /// The number of the document with this identity.
    fn number(&self, identity: u64) -> Option<u32>;

    /// The document at a place.
    fn document(&self, place: &Place) -> Option<Arc<Document>>;
}

/// Whether so much of a place lies in taboo texts that the rest is too little to be a near copy of anything.
fn is_taboo(documents: &impl Documents, place: &Place, settings: &Settings) -> bool {
    let is_small = |document: Arc<Document>| settings.taboo.n_spared(&document, place.start, place.end) < MIN_TOKENS;
    !settings.taboo.is_empty() && documents.document(place).is_some_and(is_small)
}

impl<'a> View<'a> {
    pub fn new(graph: &'a Graph, settings: &'a Settings) -> View<'a> {
        View { graph, settings, memory: RefCell::default() }
    }

    /// All classes. Nothing, if a document is not known.
    pub fn classes(&self, documents: &impl Documents) -> Option<Vec<Class>> {
        let leaders: BTreeSet<u64> = self.graph.nodes().filter_map(|node| self.leader(node)).collect();
        let mut joined: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for leader in leaders {
            joined.entry(self.home(leader)).or_default().push(leader);
        }
        let mut classes = Vec::new();
        for (home, leaders) in joined {
            classes.extend(self.class(home, &leaders, documents)?);
        }
        Some(classes)
    }

    /// The classes that some words have part in.
    pub fn classes_of(&self, words: impl Iterator<Item = u64>, documents: &impl Documents) -> Option<Vec<Class>> {
        let homes: BTreeSet<u64> =
            words.flat_map(|word| self.groups_of(word)).map(|leader| self.home(leader)).collect();
        let mut classes = Vec::new();
        for home in homes {
            let others = self.beside(home).into_keys().filter(|&other| self.home(other) == home);
            let leaders: Vec<u64> = std::iter::once(home).chain(others).collect();
            classes.extend(self.class(home, &leaders, documents)?);
        }
        Some(classes)
    }

    /// The near copies of a word, by their hashes.
    fn near(&self, node: &'a Node) -> impl Iterator<Item = &'a Node> {
        let is_test = node.places.iter().all(|place| place.is_test);
        node.edges.iter().filter_map(move |edge| {
            let other = self.graph.node(edge.other)?;
            let counts = !is_test
                || !other.places.iter().all(|place| place.is_test)
                || counts_in_tests(&node.word, &other.word, edge.common, self.settings.min_similarity);
            counts.then_some(&**other)
        })
    }

    fn degree(&self, node: &'a Node) -> usize {
        Memory::get(&self.memory, |memory| &mut memory.degrees, node.word.hash, || self.near(node).count())
    }

    /// Who has more neighbours comes first, then who has the smaller hash.
    fn rank(&self, node: &'a Node) -> (usize, Reverse<u64>) {
        (self.degree(node), Reverse(node.word.hash))
    }

    fn rank_of(&self, word: u64) -> Option<(usize, Reverse<u64>)> {
        self.graph.node(word).map(|node| self.rank(node))
    }

    /// The neighbour that ranks highest, if it ranks above the word itself.
    fn greater(&self, node: &'a Node) -> Option<u64> {
        let find = || {
            let first = self.near(node).max_by_key(|other| self.rank(other))?;
            (self.rank(first) > self.rank(node)).then_some(first.word.hash)
        };
        Memory::get(&self.memory, |memory| &mut memory.greater, node.word.hash, find)
    }

    /// The word in whose group this one is, unless it only leads one. Whom all neighbours leave for others goes with the first
    /// of them: each word that has a near copy is in a group.
    fn leader(&self, node: &'a Node) -> Option<u64> {
        let is_alone = || !self.near(node).any(|other| self.greater(other) == Some(node.word.hash));
        let first = || self.near(node).max_by_key(|other| self.rank(other)).map(|first| first.word.hash);
        let find = || self.greater(node).or_else(|| is_alone().then(first)?);
        Memory::get(&self.memory, |memory| &mut memory.leaders, node.word.hash, find)
    }

    /// The words of the group that a word leads: itself first; none, if nobody follows it.
    fn group(&self, leader: u64) -> Rc<[u64]> {
        let find = || {
            let node = self.graph.node(leader).into_iter();
            let followers = node.flat_map(|node| self.near(node)).filter(|other| self.leader(other) == Some(leader));
            let group: Vec<u64> = std::iter::once(leader).chain(followers.map(|node| node.word.hash)).collect();
            if group.len() > 1 { group.into() } else { Rc::default() }
        };
        Memory::get(&self.memory, |memory| &mut memory.groups, leader, find)
    }

    /// The leaders of the groups that a word is in: the one it follows, and itself.
    fn groups_of(&self, word: u64) -> impl Iterator<Item = u64> {
        let followed = self.graph.node(word).and_then(|node| self.leader(node));
        let led = Some(word).filter(|&word| !self.group(word).is_empty());
        followed.into_iter().chain(led)
    }

    /// The other groups with near copies of words of this one, each with the number of such pairs.
    fn beside(&self, leader: u64) -> HashMap<u64, usize> {
        let mut pairs: HashMap<u64, usize> = HashMap::new();
        for node in self.group(leader).iter().filter_map(|&word| self.graph.node(word)) {
            let groups = self.near(node).flat_map(|other| self.groups_of(other.word.hash));
            groups.filter(|&other| other != leader).for_each(|other| *pairs.entry(other).or_default() += 1);
        }
        pairs
    }

    /// The greater groups that a group could be one class with, and how many pairs of their words are near copies.
    fn joined(&self, leader: u64) -> Rc<[(u64, usize)]> {
        let find = || {
            let (rank, n_words) = (self.rank_of(leader), self.group(leader).len());
            let are_joint = |(other, n_pairs): &(u64, usize)| {
                let n_all = n_words * self.group(*other).len();
                self.rank_of(*other) > rank && n_pairs * JOINT >= n_all
            };
            self.beside(leader).into_iter().filter(are_joint).collect()
        };
        Memory::get(&self.memory, |memory| &mut memory.joined, leader, find)
    }

    /// The leader of the group that a group is one class with, or its own: among those that join no other one, the one with
    /// the largest share of pairs.
    fn home(&self, leader: u64) -> u64 {
        let joined = self.joined(leader);
        let ends = joined.iter().filter(|(other, _)| self.joined(*other).is_empty());
        let share = |(other, n_pairs): &(u64, usize)| (*n_pairs as u64, self.group(*other).len() as u64);
        let best = ends.max_by(|a, b| {
            let ((pairs_a, words_a), (pairs_b, words_b)) = (share(a), share(b));
            let by_share = (pairs_a * words_b).cmp(&(pairs_b * words_a));
            by_share.then_with(|| self.rank_of(a.0).cmp(&self.rank_of(b.0)))
        });
        best.map_or(leader, |(other, _)| *other)
    }

    /// How alike a word is to the one that leads its class; if these are no near copies, to the most similar of the class.
    fn similarity(&self, node: &Node, leader: u64, words: &BTreeSet<u64>) -> f64 {
        let of = |edge: &Edge| {
            let longer = self.graph.node(edge.other).map_or(0, |other| other.word.tokens).max(node.word.tokens);
            f64::from(edge.common) / f64::from(longer)
        };
        let by_leader = node.edges.iter().find(|edge| edge.other == leader);
        let of_class = || node.edges.iter().filter(|edge| words.contains(&edge.other)).map(of).reduce(f64::max);
        if node.word.hash == leader { 1.0 } else { by_leader.map(of).or_else(of_class).unwrap_or(0.0) }
    }

    /// The class of a group and those that join it; none, if it is not to be shown.
    fn class(&self, home: u64, leaders: &[u64], documents: &impl Documents) -> Option<Option<Class>> {
        let words: BTreeSet<u64> = leaders.iter().flat_map(|&leader| self.group(leader).to_vec()).collect();
        let Some(leader) = self.graph.node(home).filter(|_| words.len() > 1) else { return Some(None) };
        let settings = self.settings;
        let (mut copies, mut sum) = (Vec::new(), 0.0);
        for node in words.iter().map(|&word| self.graph.node(word)).collect::<Option<Vec<_>>>()? {
            let similarity = self.similarity(node, home, &words);
            for place in node.places.iter().filter(|place| !is_taboo(documents, place, settings)) {
                let fragment =
                    Fragment { document: documents.number(place.document)?, start: place.start, end: place.end };
                copies.push((fragment, place, similarity));
            }
        }
        let mut copies = apart(copies);
        copies.sort_by_key(|(copy, ..)| *copy);
        let n = copies.len();
        if n < 2 {
            return Some(None);
        }
        copies.iter().for_each(|(.., similarity)| sum += similarity);
        // The leader is like itself; the mean is over the others.
        let similarity = (sum - 1.0) / (n - 1) as f64;
        let places = copies.iter().map(|(_, place, _)| (place.is_test, place.is_generated));
        let (zone, min_tokens) = zone(places, settings);
        let at: Vec<Range<u32>> = copies.iter().map(|(_, place, _)| place.first_line..place.end_line).collect();
        let copies: Vec<Fragment> = copies.iter().map(|(copy, ..)| *copy).collect();
        let lines = at.iter().map(|lines| lines.end - lines.start).max().unwrap_or(0);
        let tokens = copies.iter().map(Fragment::len).max().unwrap_or(0);
        let shown = settings.zones.contains(&zone)
            && settings.kinds.contains(&Kind::Near)
            && lines >= settings.min_lines
            && tokens >= min_tokens;
        Some(shown.then_some(Class { id: leader.id, kind: Kind::Near, zone, tokens, lines, similarity, copies, at }))
    }
}

type Copy<'a> = (Fragment, &'a Place, f64);

/// Drops copies that overlap. Where a function stands within another, only the more similar of the two is kept.
fn apart(mut copies: Vec<Copy>) -> Vec<Copy> {
    copies.sort_by_key(|(copy, ..)| (copy.document, copy.start, Reverse(copy.end)));
    let mut kept: Vec<Copy> = Vec::with_capacity(copies.len());
    let mut rest = copies.into_iter().peekable();
    while let Some(first) = rest.next() {
        // All that overlaps the first, which is the outermost.
        let outer = first.0;
        let mut group = vec![first];
        while let Some(next) = rest.next_if(|next| outer.overlaps(&next.0)) {
            group.push(next);
        }
        group.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| b.0.len().cmp(&a.0.len())).then_with(|| a.0.cmp(&b.0)));
        let from = kept.len();
        for copy in group {
            if !kept[from..].iter().any(|other| other.0.overlaps(&copy.0)) {
                kept.push(copy);
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::bodies::{Sort, Word};
    use super::*;

    /// Documents that have a word each.
    struct OneEach;

    impl Documents for OneEach {
        fn number(&self, identity: u64) -> Option<u32> {
            u32::try_from(identity).ok()
        }

        fn document(&self, _: &Place) -> Option<Arc<Document>> {
            None
        }
    }

    /// A graph of words `0..n`, of which these are near copies of each other.
    fn graph(n: u64, pairs: &BTreeSet<(u64, u64)>) -> Graph {
        let node = |hash: u64| {
            let word = Word { hash, tokens: 100, sort: Sort::Function, control: 3, is_monotonous: false };
            let (first_line, end_line) = (0, 20);
            let (is_test, is_generated) = (false, false);
            let place = Place { document: hash, start: 0, end: 100, first_line, end_line, is_test, is_generated };
            let others = pairs.iter().filter_map(|&(a, b)| match hash {
                _ if a == hash => Some(b),
                _ if b == hash => Some(a),
                _ => None,
            });
            let mut edges: Vec<Edge> = others.map(|other| Edge { other, common: 90 }).collect();
            edges.sort_unstable();
            Node { word, id: hash, places: vec![place], edges }
        };
        Graph::new(0.7, (0..n).map(node).filter(|node| !node.edges.is_empty()))
    }

    fn words(class: &Class) -> Vec<u32> {
        class.copies.iter().map(|copy| copy.document).collect()
    }

    fn classes(n: u64, pairs: &[(u64, u64)]) -> Vec<Vec<u32>> {
        let graph = graph(n, &pairs.iter().copied().collect());
        let classes = View::new(&graph, &Settings::default()).classes(&OneEach).expect("all documents are known");
        classes.iter().map(words).collect()
    }

    #[test]
    fn groups_with_many_near_copies_of_each_other_are_one_class() {
        // Two leaders with six words each, of which each is a near copy of some of the other group's.
        let groups = |n_across: u64| {
            let led = (1..7).flat_map(|i| [(0, i), (7, 7 + i)]);
            let across = (1..7).flat_map(|i| (0..n_across).map(move |j| (i, 8 + (i + j) % 6)));
            led.chain(across).collect::<Vec<(u64, u64)>>()
        };
        let n_words = |n_across| classes(14, &groups(n_across)).iter().map(Vec::len).collect::<Vec<usize>>();
        assert_eq!(n_words(2), [7, 7], "12 of 49 pairs");
        assert_eq!(n_words(3), [14], "18 of 49 pairs");
    }

    /// Each of a chain of words is near the next one alone.
    #[test]
    fn a_chain_is_not_one_class() {
        let chain: Vec<(u64, u64)> = (0..9).map(|word| (word, word + 1)).collect();
        assert!(classes(10, &chain).iter().all(|class| class.len() <= 4));
    }

    proptest! {
        #![proptest_config(crate::cases(512))]

        #[test]
        fn the_classes_of_a_word_are_those_of_all_that_it_is_in(
            pairs in prop::collection::btree_set((0u64..14, 0u64..14), 10..60),
        ) {
            let pairs: BTreeSet<(u64, u64)> = pairs.into_iter().filter(|(a, b)| a < b).collect();
            let graph = graph(14, &pairs);
            let settings = Settings::default();
            let sorted = |classes: Option<Vec<Class>>| {
                let mut classes = classes.expect("all documents are known");
                classes.sort_by(|a, b| (a.id, &a.copies).cmp(&(b.id, &b.copies)));
                classes
            };
            let all = sorted(View::new(&graph, &settings).classes(&OneEach));
            for word in 0..14 {
                let of_word = sorted(View::new(&graph, &settings).classes_of(std::iter::once(word), &OneEach));
                let expected: Vec<Class> =
                    all.iter().filter(|class| words(class).contains(&(word as u32))).cloned().collect();
                prop_assert_eq!(of_word, expected, "word {} of {:?}", word, &pairs);
            }
            let in_classes: BTreeSet<u32> = all.iter().flat_map(words).collect();
            let near: BTreeSet<u32> = pairs.iter().flat_map(|&(a, b)| [a as u32, b as u32]).collect();
            prop_assert_eq!(in_classes, near, "each word that has a near copy is in a class");
        }
    }
}
