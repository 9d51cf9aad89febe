//! Vectors in memory, by the hash of the text they were made of.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

use super::vector::{self, Vector};

/// Vectors of one model.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// How many dimensions each has; 0 while there is none.
    dimensions: usize,
    slots: HashMap<u64, u32, BuildHasherDefault<Same>>,
    scales: Vec<f32>,
    numbers: Vec<i8>,
}

impl Table {
    /// Takes a vector in, unless there is one for that text, or it does not fit the others.
    pub(super) fn insert(&mut self, hash: u64, vector: &Vector) {
        if self.dimensions == 0 {
            self.dimensions = vector.dimensions();
        }
        let Ok(slot) = u32::try_from(self.scales.len()) else { return };
        if vector.dimensions() != self.dimensions || self.slots.contains_key(&hash) {
            return;
        }
        self.slots.insert(hash, slot);
        self.scales.push(vector.scale);
        self.numbers.extend_from_slice(&vector.numbers);
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns about how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.numbers.len() + self.scales.len() * 24
    }

    /// Returns whether a text has a vector.
    pub(crate) fn has(&self, hash: u64) -> bool {
        self.slots.contains_key(&hash)
    }

    /// Returns how alike a text and a vector are; none where the text has no vector.
    pub(crate) fn similarity(&self, hash: u64, other: &Vector) -> Option<f32> {
        let slot = *self.slots.get(&hash)? as usize;
        if other.dimensions() != self.dimensions {
            return None;
        }
        let numbers = &self.numbers[slot * self.dimensions..][..self.dimensions];
        let product = vector::product(numbers, &other.numbers);
        Some(self.scales[slot] * other.scale * product as f32)
    }

    /// Returns every vector with the hash of its text.
    pub(super) fn vectors(&self) -> impl Iterator<Item = (u64, Vector)> {
        let mut slots: Vec<(u32, u64)> =
            self.slots.iter().map(|(hash, slot)| (*slot, *hash)).collect();
        slots.sort_unstable();
        slots.into_iter().map(|(slot, hash)| {
            let slot = slot as usize;
            let numbers = &self.numbers[slot * self.dimensions..][..self.dimensions];
            (hash, Vector { scale: self.scales[slot], numbers: numbers.to_vec() })
        })
    }
}

/// Hashes what is a hash already.
#[derive(Debug, Default)]
struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        // The table looks at the highest bits, and pieces have none there.
        self.0.rotate_left(32)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
