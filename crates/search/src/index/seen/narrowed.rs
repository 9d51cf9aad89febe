//! What a search is narrowed to.

use std::collections::BTreeSet;

use tantivy::DocId;

use crate::{
    document::DocKey,
    index::{entry::Entry, narrow::Narrow, snapshot::Block},
};

/// What a search is narrowed to, made ready.
pub(super) struct Narrowed<'a> {
    pub(super) narrow: &'a Narrow,
    /// Whether each class on disk may pass.
    pub(super) classes: Vec<bool>,
    /// The messages that use one of the tools.
    pub(super) using: Option<BTreeSet<DocKey>>,
}

impl Narrowed<'_> {
    pub(super) fn has_document(&self, block: &Block, doc: DocId, key: DocKey) -> bool {
        self.classes.get(block.class(doc)).copied().unwrap_or(false)
            && self.narrow.has(block.said(doc))
            && self.using.as_ref().is_none_or(|using| using.contains(&key))
    }

    pub(super) fn has_entry(&self, entry: &Entry, key: DocKey) -> bool {
        self.narrow.admits(&entry.class)
            && self.narrow.has(entry.said)
            && self.using.as_ref().is_none_or(|using| using.contains(&key))
    }
}
