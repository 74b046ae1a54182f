//! The tables of many hashes, sorted once and then asked again and again for what is near one hash.

use rayon::prelude::*;

use super::{Blocking, distance};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    pub(super) blocking: Blocking,
    /// In order, each once.
    pub(super) hashes: Vec<u64>,
    /// For each table, the places of all hashes in the order of their moved bits.
    pub(super) orders: Vec<Vec<u32>>,
}

impl Tables {
    pub fn new(hashes: &[u64], blocking: Blocking) -> Tables {
        let mut hashes = hashes.to_vec();
        hashes.par_sort_unstable();
        hashes.dedup();
        let order = |arrangement: &super::Arrangement| {
            let mut moved: Vec<(u64, u32)> = hashes.iter().map(|&hash| arrangement.apply(hash)).zip(0..).collect();
            moved.sort_unstable();
            moved.into_iter().map(|(_, place)| place).collect()
        };
        let orders = blocking.arrangements.par_iter().map(order).collect();
        Tables { blocking, hashes, orders }
    }

    /// All hashes within the distance of one, itself included if it is here, each once.
    pub fn near(&self, hash: u64) -> impl Iterator<Item = u64> {
        let tables = self.blocking.arrangements.iter().zip(&self.orders).enumerate();
        tables.flat_map(move |(table, (arrangement, order))| {
            let prefix = arrangement.apply(hash) & arrangement.prefix;
            let key = move |&place: &u32| arrangement.apply(self.hashes[place as usize]) & arrangement.prefix;
            let start = order.partition_point(|place| key(place) < prefix);
            let group = order[start..].iter().take_while(move |place| key(place) == prefix);
            group.map(|&place| self.hashes[place as usize]).filter(move |&other| {
                distance(hash, other) <= self.blocking.distance && self.blocking.is_first(table, hash, other)
            })
        })
    }
}
