//! Places and counts, as the ranking takes them.

use crate::{
    collection::{Counts, Posting},
    document::{DocKey, Field},
    index::{
        class::{PARTS, Part, Parts},
        key::At,
        sight,
        tail::PartCounts,
    },
};

pub(super) fn posting(
    segment: u16,
    at: At,
    counts: PartCounts,
    lengths: [u16; PARTS],
    parts: Parts,
) -> Option<Posting> {
    if !is_counted(&counts, parts) {
        return None;
    }
    let counts = by_field_counts(masked(counts, parts));
    let lengths = by_field_counts(masked(lengths, parts));
    Some(Posting { key: key(segment, at), counts, lengths })
}

pub(super) fn is_counted(counts: &PartCounts, parts: Parts) -> bool {
    Part::ALL.iter().any(|part| counts[*part as usize] > 0 && parts.has(*part))
}

pub(super) fn masked(mut counts: [u16; PARTS], parts: Parts) -> [u16; PARTS] {
    sight::mask(&mut counts, parts);
    counts
}

pub(super) fn place(key: DocKey) -> At {
    At { page: key.page, message: key.message }
}

pub(in crate::index) fn key(segment: u16, at: At) -> DocKey {
    DocKey { segment, page: at.page, message: at.message }
}

/// A page's name and its description are one field.
pub(in crate::index) fn by_field_counts(parts: [u16; PARTS]) -> Counts {
    let [name, description, request, answer, thinking, tool] = parts;
    [name.saturating_add(description), request, answer, thinking, tool]
}

pub(super) fn by_field(parts: [u64; PARTS]) -> [u64; Field::ALL.len()] {
    let [name, description, request, answer, thinking, tool] = parts;
    [name + description, request, answer, thinking, tool]
}
