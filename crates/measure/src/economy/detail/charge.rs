//! What a request costs: by an automatic cache of prefixes, and by explicit breakpoints.

use std::collections::HashSet;

/// What of a text's price a read from the cache costs.
const READ: f64 = 0.1;

/// What of a text's price a write to the cache costs.
pub(crate) const WRITE: f64 = 1.25;

/// The least tokens a provider caches.
const LEAST: u64 = 1_024;

/// The steps in which an automatic cache grows.
const STEP: u64 = 128;

/// How many blocks back from a breakpoint an earlier one is looked for.
const LOOK_BACK: usize = 20;

/// A part of a request: equal keys, equal content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    /// Names its content.
    pub(crate) key: u64,
    /// What it takes.
    pub(crate) tokens: u64,
}

/// Returns how many blocks two requests have in common at their beginning.
pub(crate) fn common(before: &[Block], now: &[Block]) -> usize {
    before.iter().zip(now).take_while(|(before, now)| before == now).count()
}

/// Charges a request where the provider keeps the prefix of the one before by itself.
pub(crate) fn automatic(before: &[Block], now: &[Block], write: f64) -> f64 {
    let prefix = tokens(&now[..common(before, now)]);
    let read = if prefix < LEAST { 0 } else { prefix / STEP * STEP };
    READ * read as f64 + write * (tokens(now) - read) as f64
}

/// A cache that keeps what requests mark, for one session.
#[derive(Debug, Default)]
pub(crate) struct Marked {
    written: HashSet<u64>,
}

impl Marked {
    /// Charges a request. `marks` are the numbers of blocks that breakpoints stand behind.
    pub(crate) fn charge(&mut self, now: &[Block], marks: &[usize]) -> f64 {
        let mut prefixes = Vec::with_capacity(now.len() + 1);
        let (mut key, mut sum) = (0, 0);
        prefixes.push((key, sum));
        for block in now {
            key = mix(key, block.key);
            sum += block.tokens;
            prefixes.push((key, sum));
        }
        let found = |mark: &usize| {
            let back = prefixes[..=*mark].iter().rev().take(LOOK_BACK);
            back.filter(|(_, sum)| *sum >= LEAST).find(|(key, _)| self.written.contains(key))
        };
        let read = marks.iter().filter_map(found).map(|(_, sum)| *sum).max().unwrap_or(0);
        let marked = marks.iter().map(|mark| prefixes[*mark].1).max().unwrap_or(0);
        self.written.extend(marks.iter().map(|mark| prefixes[*mark].0));
        let write = marked.max(read) - read;
        READ * read as f64 + WRITE * write as f64 + (sum - marked.max(read)) as f64
    }
}

fn tokens(blocks: &[Block]) -> u64 {
    blocks.iter().map(|block| block.tokens).sum()
}

fn mix(before: u64, key: u64) -> u64 {
    (before.rotate_left(5) ^ key).wrapping_mul(0x517c_c1b7_2722_0a95).wrapping_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(sizes: &[(u64, u64)]) -> Vec<Block> {
        sizes.iter().map(|(key, tokens)| Block { key: *key, tokens: *tokens }).collect()
    }

    #[test]
    fn an_automatic_cache_reads_the_common_beginning_in_steps() {
        let before = blocks(&[(1, 1_000), (2, 100), (3, 50)]);
        let now = blocks(&[(1, 1_000), (2, 100), (4, 60), (3, 50)]);
        // 1,100 in common are 1,024 in steps of 128.
        assert_eq!(automatic(&before, &now, 1.0), 0.1 * 1_024.0 + 186.0);
        assert_eq!(automatic(&before, &now, 1.25), 0.1 * 1_024.0 + 1.25 * 186.0);
        // Less than the least is not kept at all.
        assert_eq!(automatic(&before[..1], &now, 1.0), 1_210.0);
        assert_eq!(automatic(&[], &now, 1.0), 1_210.0);
    }

    #[test]
    fn a_marked_cache_reads_only_what_a_breakpoint_wrote() {
        let mut cache = Marked::default();
        let first = blocks(&[(1, 2_000), (2, 100)]);
        assert_eq!(cache.charge(&first, &[1, 2]), 1.25 * 2_100.0);
        // The end of the request before lies within reach of the new end.
        let second = blocks(&[(1, 2_000), (2, 100), (3, 40)]);
        assert_eq!(cache.charge(&second, &[1, 3]), 0.1 * 2_100.0 + 1.25 * 40.0);
        // What changed behind the first breakpoint leaves only that to be read.
        let folded = blocks(&[(1, 2_000), (9, 10), (3, 40)]);
        assert_eq!(cache.charge(&folded, &[1, 3]), 0.1 * 2_000.0 + 1.25 * 50.0);
        // What stands behind the last breakpoint is not written.
        assert_eq!(cache.charge(&folded, &[1]), 0.1 * 2_000.0 + 50.0);
    }

    #[test]
    fn a_breakpoint_is_looked_for_twenty_blocks_back() {
        let long: Vec<Block> = (0..40).map(|key| Block { key, tokens: 100 }).collect();
        let price = |mark: usize| {
            let mut cache = Marked::default();
            cache.charge(&long[..mark], &[mark]);
            cache.charge(&long, &[40])
        };
        assert_eq!(price(21), 0.1 * 2_100.0 + 1.25 * 1_900.0);
        assert_eq!(price(20), 1.25 * 4_000.0);
    }
}
