//! The bodies of a set of documents by their seeds, in memory.
//!
//! An edit makes a few words appear and a few vanish, and each of their seeds may be had by thousands of others. Of these
//! the table knows enough to leave out almost all without decoding a document.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3DefaultBuilder;

use super::bodies::{Bodies, Body, Coarse, Word};
use super::find::{Read, Stop, shared_bodies};
use super::update::Changed;

/// Documents that came and went since a table was made, after which it is made anew.
const MAX_LAYER: usize = 256;

/// A body of a document.
#[derive(Clone, Copy, Debug)]
pub struct Ref {
    /// The identity of the document.
    pub document: u64,
    pub start: u32,
    pub word: Word,
    pub sketch: Coarse,
}

impl Ref {
    pub fn new(document: u64, body: &Body) -> Ref {
        Ref { document, start: body.start, word: body.word, sketch: body.sketch.coarse() }
    }

    pub fn end(&self) -> u32 {
        self.start + self.word.tokens
    }

    /// Bodies are looked at in this order.
    pub fn key(&self) -> (u64, u64, u32) {
        (self.word.hash, self.document, self.start)
    }
}

/// All bodies of a set of documents, and what came and went since it was made.
#[derive(Clone)]
pub struct Table {
    base: Arc<Base>,
    since: Arc<Layer>,
}

struct Base {
    /// By their keys. Those that share no seed are not there.
    refs: Vec<Ref>,
    /// Their seeds but for those that stand in one place, in a body or not; sorted.
    seeds: Vec<u64>,
    /// Where the bodies of each seed start among `of_seeds`, and the end of the last.
    starts: Vec<u32>,
    /// Numbers of bodies, sorted for each seed.
    of_seeds: Vec<u32>,
}

/// Documents that went, and bodies of others that came.
#[derive(Clone, Default)]
pub struct Layer {
    gone: HashSet<u64, Xxh3DefaultBuilder>,
    /// The seeds of documents that went and had not come in this layer, with one of these.
    gone_seeds: HashMap<u64, u64, Xxh3DefaultBuilder>,
    came: HashSet<u64, Xxh3DefaultBuilder>,
    by_seed: HashMap<u64, Vec<Ref>, Xxh3DefaultBuilder>,
    /// How many documents came and went.
    n_documents: usize,
}

impl Layer {
    pub fn new(went: &[Changed], came: &[Changed]) -> Layer {
        let mut layer = Layer::default();
        layer.add(went, came);
        layer
    }

    fn add(&mut self, went: &[Changed], came: &[Changed]) {
        self.n_documents += went.len() + came.len();
        for changed in went {
            let had_come = self.came.remove(&changed.identity);
            for body in &changed.document.bodies().list {
                for &seed in changed.document.bodies().seeds(body) {
                    if !had_come {
                        self.gone_seeds.insert(seed, changed.identity);
                    } else if let Some(refs) = self.by_seed.get_mut(&seed) {
                        refs.retain(|other| other.document != changed.identity);
                    }
                }
            }
            self.gone.insert(changed.identity);
        }
        for changed in came {
            self.came.insert(changed.identity);
            for body in &changed.document.bodies().list {
                for &seed in changed.document.bodies().seeds(body) {
                    let refs = self.by_seed.entry(seed).or_default();
                    let new = Ref::new(changed.identity, body);
                    if let Err(at) = refs.binary_search_by_key(&new.key(), Ref::key) {
                        refs.insert(at, new);
                    }
                }
            }
        }
    }

    fn refs(&self, seed: u64) -> &[Ref] {
        self.by_seed.get(&seed).map_or(&[], Vec::as_slice)
    }
}

impl Table {
    /// The table of documents with these identities, each of which is read twice. Nothing, if one cannot be read, or if
    /// it is stopped.
    pub fn new(n_tokens: usize, identities: &[u64], read: impl Read, stop: Stop) -> Option<Table> {
        // In a few large pieces of memory, which go back to the system when they are dropped.
        let found = Mutex::new((Vec::new(), Vec::new()));
        let add = |i: u32, bodies: Bodies| {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            let (refs, posts) = &mut *found;
            for body in &bodies.list {
                posts.extend(bodies.seeds(body).iter().map(|&seed| (seed, refs.len() as u32)));
                refs.push(Ref::new(identities[i as usize], body));
            }
        };
        shared_bodies(n_tokens, identities.len(), read, stop, add)?;
        let (unsorted, mut posts) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut order: Vec<u32> = (0..unsorted.len() as u32).collect();
        order.par_sort_unstable_by_key(|&i| unsorted[i as usize].key());
        let mut ranks = vec![0; order.len()];
        (0..).zip(&order).for_each(|(rank, &i)| ranks[i as usize] = rank);
        posts.iter_mut().for_each(|(_, number)| *number = ranks[*number as usize]);
        posts.par_sort_unstable();
        let refs = order.iter().map(|&i| unsorted[i as usize]).collect();
        let mut base = Base { refs, seeds: Vec::new(), starts: vec![0], of_seeds: Vec::new() };
        for group in posts.chunk_by(|a, b| a.0 == b.0) {
            base.seeds.push(group[0].0);
            base.of_seeds.extend(group.iter().map(|(_, number)| *number));
            base.starts.push(base.of_seeds.len() as u32);
        }
        base.of_seeds.shrink_to_fit();
        Some(Table { base: Arc::new(base), since: Arc::default() })
    }

    /// About how many bytes of memory the table of so many tokens takes.
    pub fn weight_of(n_tokens: u64) -> u64 {
        // A body for each hundred and some tokens, and less than one shared seed for each ten.
        n_tokens / 2
    }

    /// The table after some documents went and others came. Nothing, if there have been too many.
    pub fn updated(&self, went: &[Changed], came: &[Changed]) -> Option<Table> {
        let mut since = Layer::clone(&self.since);
        since.add(went, came);
        (since.n_documents <= MAX_LAYER).then(|| Table { base: Arc::clone(&self.base), since: Arc::new(since) })
    }

    /// The bodies that have a seed after a change. Nothing, if the table does not know: it stood in one place at most when
    /// the table was made.
    pub fn refs<'a>(&'a self, seed: u64, change: &'a Layer) -> Option<Refs<'a>> {
        let stored = match self.base.seeds.binary_search(&seed) {
            Ok(at) => &self.base.of_seeds[self.base.starts[at] as usize..self.base.starts[at + 1] as usize],
            // The one place where it stood is gone.
            Err(_) if self.since.gone_seeds.contains_key(&seed) => &[],
            Err(_) if change.gone_seeds.get(&seed).is_some_and(|gone| !self.since.came.contains(gone)) => &[],
            Err(_) => return None,
        };
        let since = self.since.refs(seed).iter().filter(|found| !change.gone.contains(&found.document));
        let mut others: Vec<Ref> = since.chain(change.refs(seed)).copied().collect();
        others.sort_unstable_by_key(Ref::key);
        let gone = [&self.since.gone, &change.gone];
        Some(Refs { stored: Some(Stored { base: &self.base, numbers: stored, gone }), others })
    }
}

/// Bodies that have a seed.
pub struct Refs<'a> {
    stored: Option<Stored<'a>>,
    /// By their keys.
    others: Vec<Ref>,
}

/// Bodies of a table but for those of documents that are gone.
struct Stored<'a> {
    base: &'a Base,
    numbers: &'a [u32],
    gone: [&'a HashSet<u64, Xxh3DefaultBuilder>; 2],
}

impl<'a> Refs<'a> {
    /// Those that somebody has looked up.
    pub fn of(mut refs: Vec<Ref>) -> Refs<'a> {
        refs.sort_unstable_by_key(Ref::key);
        Refs { stored: None, others: refs }
    }

    /// All of them by their keys.
    pub fn iter(&self) -> impl Iterator<Item = &Ref> {
        self.from(0)
    }

    /// The places of a word.
    pub fn of_word(&self, word: u64) -> impl Iterator<Item = &Ref> {
        self.from(word).take_while(move |found| found.word.hash == word)
    }

    /// Each word once, at one of its places.
    pub fn words(&self) -> impl Iterator<Item = &Ref> {
        let mut last = None;
        self.iter().filter(move |found| last.replace(found.word.hash) != Some(found.word.hash))
    }

    /// Those from a word on.
    fn from(&self, word: u64) -> impl Iterator<Item = &Ref> {
        let stored = self.stored.iter().flat_map(move |stored| {
            let first = stored.numbers.partition_point(|&i| stored.base.refs[i as usize].word.hash < word);
            let refs = stored.numbers[first..].iter().map(|&i| &stored.base.refs[i as usize]);
            refs.filter(|found| !stored.gone.iter().any(|gone| gone.contains(&found.document)))
        });
        let first = self.others.partition_point(|found| found.word.hash < word);
        let (mut stored, mut others) = (stored.peekable(), self.others[first..].iter().peekable());
        std::iter::from_fn(move || {
            let other_is_next = match (stored.peek(), others.peek()) {
                (Some(stored), Some(other)) => other.key() < stored.key(),
                (stored, _) => stored.is_none(),
            };
            if other_is_next { others.next() } else { stored.next() }
        })
    }
}
