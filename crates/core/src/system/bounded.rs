//! Least-recently-used maps that know how many bytes they hold.

use std::{hash::Hash, sync::Arc};

use lru::LruCache;

use super::memory::{Bytes, Memory};

/// A least-recently-used map that knows its bytes and when each entry was last used.
#[derive(Debug)]
pub(super) struct Aged<K: Hash + Eq, V> {
    entries: LruCache<K, Slot<V>>,
    bytes: Bytes,
}

#[derive(Debug)]
struct Slot<V> {
    value: V,
    size: usize,
    used: u64,
}

impl<K: Hash + Eq, V> Aged<K, V> {
    pub(super) fn new(memory: &Arc<Memory>) -> Self {
        Self { entries: LruCache::unbounded(), bytes: Bytes::new(memory) }
    }

    /// Returns an entry and notes that it was used.
    pub(super) fn get(&mut self, key: &K, now: u64) -> Option<&V> {
        let slot = self.entries.get_mut(key)?;
        slot.used = now;
        Some(&slot.value)
    }

    /// Returns an entry as if nobody had looked.
    pub(super) fn peek(&self, key: &K) -> Option<&V> {
        self.entries.peek(key).map(|slot| &slot.value)
    }

    pub(super) fn put(&mut self, key: K, value: V, size: usize, now: u64) {
        if let Some(old) = self.entries.put(key, Slot { value, size, used: now }) {
            self.bytes.sub(old.size);
        }
        self.bytes.add(size);
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        let slot = self.entries.pop(key)?;
        self.bytes.sub(slot.size);
        Some(slot.value)
    }

    /// Returns when the entry was last used that was used longest ago.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.entries.peek_lru().map(|(_, slot)| slot.used)
    }

    /// Drops the entry that was used longest ago; tells whether there was one.
    pub(super) fn drop_oldest(&mut self) -> bool {
        self.take_oldest().is_some()
    }

    /// Takes out the entry that was used longest ago.
    pub(super) fn take_oldest(&mut self) -> Option<V> {
        let (_, slot) = self.entries.pop_lru()?;
        self.bytes.sub(slot.size);
        Some(slot.value)
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.bytes.set(0);
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.get()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.entries.iter().map(|(key, _)| key)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|(_, slot)| &slot.value)
    }
}

/// A least-recently-used map bounded by bytes.
#[derive(Debug)]
pub(super) struct Bounded<K: Hash + Eq, V> {
    entries: Aged<K, V>,
    limit: usize,
}

impl<K: Hash + Eq, V> Bounded<K, V> {
    pub(super) fn new(limit: usize, memory: &Arc<Memory>) -> Self {
        Self { entries: Aged::new(memory), limit }
    }

    pub(super) fn get(&mut self, key: &K) -> Option<&V> {
        self.entries.get(key, 0)
    }

    pub(super) fn put(&mut self, key: K, value: V, size: usize) {
        // What would push out everything else is better made again.
        if size > self.limit / 2 {
            self.entries.remove(&key);
            return;
        }
        self.entries.put(key, value, size, 0);
        while self.entries.bytes() > self.limit && self.entries.drop_oldest() {}
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // B-41: least recently used first, down to the limit, never more.
    #[test]
    fn the_least_recently_used_goes_first() {
        let mut bounded = Bounded::new(100, &Memory::unbounded());
        for key in 0..10 {
            bounded.put(key, key, 10);
        }
        bounded.get(&0);
        bounded.put(10, 10, 10);
        assert_eq!((bounded.entries.bytes(), bounded.entries.keys().count()), (100, 10));
        let holds = |bounded: &Bounded<i32, i32>, key| bounded.entries.peek(&key).is_some();
        assert!(holds(&bounded, 0) && !holds(&bounded, 1));
        bounded.put(0, 0, 30);
        assert!(bounded.entries.bytes() <= 100 && holds(&bounded, 0));
        bounded.put(99, 99, 90);
        assert!(!holds(&bounded, 99) && holds(&bounded, 0));
    }

    #[test]
    fn bytes_count_in_the_budget_until_they_are_dropped() {
        let memory = Memory::unbounded();
        let mut one = Bounded::new(100, &memory);
        let mut other = Bounded::new(100, &memory);
        one.put("a", 1, 30);
        one.put("a", 2, 20);
        other.put("b", 1, 40);
        assert_eq!(memory.used(), 60);
        other.clear();
        assert_eq!(memory.used(), 20);
        drop((one, other));
        assert_eq!(memory.used(), 0);
    }
}
