//! Arguments of a call that are too large: cut where they are long, and valid JSON afterwards.
//!
//! Everything but the long strings stays byte for byte as the model wrote it, key order and number
//! spelling included.

use std::ops::Range;

use serde::Serialize;

use super::{STEPS, Trimmer, count_over, cut, fair_share, less, omitted_of};
use crate::{Tokens, message::RawJson};

/// What stands for arguments that cannot be cut within.
#[derive(Serialize)]
struct Replaced<'a> {
    omitted: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    head: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    tail: &'a str,
}

/// The fewest tokens a string is cut to: what is left of a shorter one says nothing.
const LEAST_STRING: u64 = 24;

impl Trimmer<'_> {
    /// Cuts arguments; `None` when they have at most the limit of tokens.
    pub(super) fn arguments(&self, arguments: &str) -> Option<String> {
        let total = count_over(self.counter, arguments, self.limit)?;
        let within = self.cut_strings(arguments, total);
        Some(within.unwrap_or_else(|| self.replace(arguments, total)))
    }

    /// Cuts the long strings of an object, at any depth.
    fn cut_strings(&self, arguments: &str, total: u64) -> Option<String> {
        let object = arguments.trim_start().starts_with('{') && RawJson::new(arguments).is_ok();
        if !object {
            return None;
        }
        let strings = long_strings(arguments);
        let count = |range: &Range<usize>| self.counter.count(&arguments[range.clone()]).0;
        let sizes: Vec<u64> = strings.iter().map(count).collect();
        let around = total.saturating_sub(sizes.iter().sum());
        let mut room = self.limit.0.saturating_sub(around);
        for _ in 0..STEPS {
            let share = fair_share(&sizes, room);
            if share < LEAST_STRING {
                return None;
            }
            let whole = self.with_strings_cut(arguments, &strings, &sizes, share)?;
            let size = self.counter.count(&whole).0;
            if size <= self.limit.0 {
                return Some(whole);
            }
            room = less(room, size - self.limit.0);
        }
        None
    }

    fn with_strings_cut(
        &self,
        arguments: &str,
        strings: &[Range<usize>],
        sizes: &[u64],
        share: u64,
    ) -> Option<String> {
        let mut whole = String::new();
        let mut copied = 0;
        for (range, _) in strings.iter().zip(sizes).filter(|(_, size)| **size > share) {
            let string: String = serde_json::from_str(&arguments[range.clone()]).ok()?;
            // Escapes cost tokens: a string may fit once it is read.
            let Some(shorter) = self.shorten(&string, Tokens(share)) else { continue };
            whole.push_str(&arguments[copied..range.start]);
            whole.push_str(&serde_json::to_string(&shorter).ok()?);
            copied = range.end;
        }
        whole.push_str(&arguments[copied..]);
        Some(whole)
    }

    /// Replaces arguments by an object that says what they were.
    fn replace(&self, arguments: &str, total: u64) -> String {
        let json = |omitted: &str, head: &str, tail: &str| {
            serde_json::to_string(&Replaced { omitted, head, tail })
                .expect("strings can always be written as JSON")
        };
        let all = (self.omitted)(&omitted_of(arguments, total));
        let around = self.counter.count(&json(&all, "x", "x")).0;
        let mut room = self.limit.0.saturating_sub(around);
        for _ in 0..STEPS {
            if room < LEAST_STRING {
                break;
            }
            let cut = cut(self.counter, arguments, total, room);
            let whole = json(&(self.omitted)(&cut.omitted()), &cut.head, &cut.tail);
            let size = self.counter.count(&whole).0;
            if size <= self.limit.0 {
                return whole;
            }
            // What is quoted again grows by its escapes, so much more may have to go.
            room = less(room, size - self.limit.0);
        }
        json(&all, "", "")
    }
}

/// Finds the string values of valid JSON that are worth cutting, quotes included; keys are not.
fn long_strings(json: &str) -> Vec<Range<usize>> {
    const LONG: usize = 256;
    let bytes = json.as_bytes();
    let mut strings = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'"' {
            at += 1;
            continue;
        }
        let start = at;
        at += 1;
        while at < bytes.len() && bytes[at] != b'"' {
            at += if bytes[at] == b'\\' { 2 } else { 1 };
        }
        at = (at + 1).min(bytes.len());
        let is_key = json[at..].trim_start().starts_with(':');
        if at - start > LONG && !is_key {
            strings.push(start..at);
        }
    }
    strings
}
