//! From the graph of near copies to classes.
//!
//! Each word goes to the neighbour that has the most neighbours, or leads a class itself. Never connected components: a
//! chain of small differences would join what has nothing in common. So a class depends on words at distance two.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::bodies::MIN_TOKENS;
use super::graph::{Graph, Node, Place};
use super::relation::counts_in_tests;
use crate::class::{Class, Fragment, Kind};
use crate::document::Document;
use crate::judge::zone;
use crate::settings::Settings;

/// What of a graph is shown.
pub struct View<'a> {
    graph: &'a Graph,
    settings: &'a Settings,
    /// How many near copies a word has: it is asked again and again.
    degrees: RefCell<HashMap<u64, usize>>,
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
        View { graph, settings, degrees: RefCell::default() }
    }

    /// All classes. Nothing, if a document is not known.
    pub fn classes(&self, documents: &impl Documents) -> Option<Vec<Class>> {
        let mut followers: BTreeMap<u64, Vec<&Node>> = BTreeMap::new();
        for node in self.graph.nodes() {
            if let Some(leader) = self.leader(node) {
                followers.entry(leader).or_default().push(node);
            }
        }
        let mut classes = Vec::new();
        for (leader, mut followers) in followers {
            followers.sort_unstable_by_key(|node| node.word.hash);
            classes.extend(self.class(self.graph.node(leader)?, &followers, documents)?);
        }
        Some(classes)
    }

    /// The classes that some words have part in.
    pub fn classes_of(&self, words: impl Iterator<Item = u64>, documents: &impl Documents) -> Option<Vec<Class>> {
        let mut leaders = BTreeSet::new();
        for node in words.filter_map(|word| self.graph.node(word)) {
            leaders.extend(self.leader(node));
            leaders.insert(node.word.hash);
        }
        let mut classes = Vec::new();
        for leader in leaders {
            let node = self.graph.node(leader)?;
            let followers: Vec<&Node> = self.near(node).filter(|other| self.leader(other) == Some(leader)).collect();
            classes.extend(self.class(node, &followers, documents)?);
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
        let known = self.degrees.borrow().get(&node.word.hash).copied();
        known.unwrap_or_else(|| {
            let degree = self.near(node).count();
            self.degrees.borrow_mut().insert(node.word.hash, degree);
            degree
        })
    }

    /// Who has more neighbours comes first, then who has the smaller hash.
    fn rank(&self, node: &'a Node) -> (usize, std::cmp::Reverse<u64>) {
        (self.degree(node), std::cmp::Reverse(node.word.hash))
    }

    /// The word in whose class this one is, unless it only leads one.
    fn leader(&self, node: &'a Node) -> Option<u64> {
        let first = self.near(node).max_by_key(|other| self.rank(other))?;
        (self.rank(first) > self.rank(node)).then_some(first.word.hash)
    }

    /// The class of a word and those that follow it; none, if it is not to be shown.
    fn class(&self, leader: &Node, followers: &[&Node], documents: &impl Documents) -> Option<Option<Class>> {
        if followers.is_empty() {
            return Some(None);
        }
        let settings = self.settings;
        let (mut copies, mut sum) = (Vec::new(), 0.0);
        for node in std::iter::once(&leader).chain(followers) {
            let edge = leader.edges.binary_search_by_key(&node.word.hash, |edge| edge.other);
            let longer = leader.word.tokens.max(node.word.tokens);
            let similarity = edge.map_or(1.0, |at| f64::from(leader.edges[at].common) / f64::from(longer));
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
    copies.sort_by_key(|(copy, ..)| (copy.document, copy.start, std::cmp::Reverse(copy.end)));
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
