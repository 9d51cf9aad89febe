//! The documents that one search may see, with the statistics of these alone.

use contexture_core::Timestamp;

use crate::document::{DocKey, Field, Marks};

/// How often a term stands in each field of a document.
pub type Counts = [u16; Field::ALL.len()];

/// How much there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// How many documents.
    pub documents: u64,
    /// How many terms all documents have, by field.
    pub terms: [u64; Field::ALL.len()],
}

/// One document that has a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    /// Which document.
    pub key: DocKey,
    /// How often the term stands in each field.
    pub counts: Counts,
    /// How many terms the document has, by field. Fields that the search may not see count nothing.
    pub lengths: [u16; Field::ALL.len()],
}

/// What is known of a document without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// How many terms it has, by field.
    pub lengths: [u16; Field::ALL.len()],
    /// Small facts about what it says, of the fields that the search may see.
    pub marks: Marks,
    /// Who said it, as [`crate::speaker_hash`] of the name; 0 where nobody did, such as for a note.
    pub speaker: u32,
    /// When.
    pub at: Timestamp,
    /// The number of the directory that its page stands in.
    pub chapter: u32,
}

/// The documents whose meaning is nearest to what was asked, and how near the others are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Nearest {
    /// The nearest documents, in the order of keys.
    pub keys: Vec<DocKey>,
    /// How many documents were compared.
    pub compared: usize,
    /// How alike these are on average.
    pub mean: f32,
}

/// The documents that one search may see.
///
/// Everything is counted over these documents alone: what else an index holds changes no answer.
pub trait Collection {
    /// Returns how much there is.
    fn size(&self) -> Size;

    /// Shows every document that has a term, in the order of keys, each once, until `visit` returns
    /// false.
    ///
    /// A document that has the term in a hidden field only is not shown.
    fn postings(&self, term: &str, visit: &mut dyn FnMut(&Posting) -> bool);

    /// Returns a number of documents that a term stands in at the least, as far as that is known without visiting
    /// them. Terms that are too common for the ranking need not be visited to find that out.
    fn at_least(&self, _term: &str) -> usize {
        0
    }

    /// Returns terms that begin with a prefix, the first `limit` of them in the order of bytes.
    fn completions(&self, prefix: &str, limit: usize) -> Vec<String>;

    /// Returns whether any document was said by this speaker, given as the hash in [`Facts`].
    fn speaks(&self, speaker: u32) -> bool;

    /// Returns what is known of a document.
    fn facts(&self, key: DocKey) -> Option<Facts>;

    /// Shows the messages around one in the order of the conversation: up to `reach` before it, itself,
    /// and up to `reach` behind it. Names of pages are no messages.
    ///
    /// The ranking asks this for about a hundred messages of every search.
    fn around(&self, key: DocKey, reach: usize, visit: &mut dyn FnMut(DocKey));

    /// Returns the terms of a document, each with how often it stands there.
    fn terms(&self, key: DocKey) -> Vec<(String, u32)>;

    /// Returns the documents whose meaning is nearest to what was asked; none where meanings are not compared.
    fn nearest(&self, _count: usize) -> Nearest {
        Nearest::default()
    }

    /// Returns how alike a document is to what was asked, by the part of it that is most so, from -1 to 1; none where
    /// that is not known.
    fn similarity(&self, _key: DocKey) -> Option<f32> {
        None
    }
}
