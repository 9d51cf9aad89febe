//! Pieces: what one vector is made of.

use contexture_core::storage::ContentHash;

use crate::index::Part;

/// How many bytes a piece has at most. The usual models read about this much.
const LENGTH: usize = 1_000;

/// How many pieces a text has at most. What stands behind them is found by its words.
const MOST: usize = 32;

/// How many bits name the part of a message.
const PART_BITS: u32 = 3;

/// A piece of a document: which text, and in which part of the message it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Piece(u64);

impl Piece {
    /// Names a text in a part.
    pub(crate) fn new(part: Part, text: &str) -> Self {
        let hash = ContentHash::of(text.as_bytes());
        let [a, b, c, d, e, f, g, h, ..] = *hash.as_bytes();
        let hash = u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> PART_BITS;
        Self(hash << PART_BITS | part as u64)
    }

    /// Reads it from the index.
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns it as the index keeps it.
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// Returns the hash of the text, by which its vector is kept.
    pub(crate) fn hash(self) -> u64 {
        self.0 >> PART_BITS
    }

    /// Returns whether it stands in a part that is seen.
    pub(crate) fn is_in(self, parts: crate::index::Parts) -> bool {
        let part = (self.0 & ((1 << PART_BITS) - 1)) as usize;
        Part::ALL.get(part).is_some_and(|part| parts.has(*part))
    }
}

/// Cuts a text into pieces.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim();
    let cut = std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, behind) = rest.split_at(end(rest));
        rest = behind.trim_start();
        Some(piece.trim_end())
    });
    cut.take(MOST)
}

/// Returns where a piece ends: between two words, unless there are none.
fn end(text: &str) -> usize {
    if text.len() <= LENGTH {
        return text.len();
    }
    let most = text.floor_char_boundary(LENGTH);
    let space = text[..most].rfind(char::is_whitespace);
    space.filter(|space| *space >= LENGTH / 2).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_words() {
        let text = "word ".repeat(1_000);
        let cut: Vec<&str> = pieces(&text).collect();
        assert!(cut.iter().all(|piece| piece.len() <= LENGTH && piece.starts_with("word")));
        assert_eq!(cut.join(" "), text.trim());
        assert_eq!(pieces("  \n ").count(), 0);
        assert_eq!(pieces(&"漢".repeat(100_000)).count(), MOST);
    }

    #[test]
    fn a_piece_knows_its_text_and_its_part() {
        let piece = Piece::new(Part::Tool, "text");
        assert_eq!(piece.hash(), Piece::new(Part::Answer, "text").hash());
        assert_ne!(piece.hash(), Piece::new(Part::Tool, "texts").hash());
        assert!(piece.is_in(crate::index::Parts::of(&[Part::Tool])));
        assert!(!piece.is_in(crate::index::Parts::ALL.without(Part::Tool)));
        assert_eq!(Piece::from_bits(piece.bits()), piece);
    }
}
