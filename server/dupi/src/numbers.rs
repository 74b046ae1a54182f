//! A map from numbers to numbers that is emptied at no cost: for sequences that are read one after the other.

/// Spreads the bits of a key upwards (the golden ratio).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Open-addressed. A slot counts only if its stamp is the current one.
pub struct Numbers<Key = u32> {
    slots: Vec<Slot<Key>>,
    stamp: u32,
}

#[derive(Clone, Copy, Default)]
struct Slot<Key> {
    key: Key,
    value: u32,
    stamp: u32,
}

impl<Key> Default for Numbers<Key> {
    fn default() -> Numbers<Key> {
        Numbers { slots: Vec::new(), stamp: 0 }
    }
}

impl<Key: Copy + Default + Eq + Into<u64>> Numbers<Key> {
    /// Empties it, with room for so many keys.
    pub fn clear(&mut self, n_keys: usize) {
        let capacity = (n_keys * 2).next_power_of_two().max(64);
        if self.slots.len() < capacity || self.stamp == u32::MAX {
            self.slots = vec![Slot::default(); capacity];
            self.stamp = 0;
        }
        self.stamp += 1;
    }

    /// The slot of a key, or the free one in which it belongs.
    #[inline]
    fn find(&self, key: Key) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (key.into().wrapping_mul(SPREAD) >> 32) as usize & mask;
        while self.slots[at].stamp == self.stamp && self.slots[at].key != key {
            at = (at + 1) & mask;
        }
        at
    }

    #[inline]
    pub fn get(&self, key: Key) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let slot = self.slots[self.find(key)];
        (slot.stamp == self.stamp).then_some(slot.value)
    }

    /// Sets the value of a key. Returns the one that it had.
    #[inline]
    pub fn set(&mut self, key: Key, value: u32) -> Option<u32> {
        let at = self.find(key);
        let before = self.slots[at];
        self.slots[at] = Slot { key, value, stamp: self.stamp };
        (before.stamp == self.stamp).then_some(before.value)
    }
}
