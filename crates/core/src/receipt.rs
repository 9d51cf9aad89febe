//! Receipts: what an append with a key came to, so that it is there once however often it is sent.
//!
//! A receipt is a run record that the commit of the append makes, and only if there is none: of two
//! senders one wins, in whatever process, and after a crash either both are there or neither. It lies
//! outside the history: an append that was undone is not made again by sending it again. It holds no text,
//! so that a purge need not look here.

use serde::{Deserialize, Serialize};

use crate::{
    Actor, AppendKey, Edit, PageIndex, Revision, Timestamp,
    storage::{ContentHash, RunKey, RunPut, RunRecord},
};

/// What the keys of these records begin with.
const PREFIX: &str = "key.";

/// What an append with a key came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    /// Names what was to be appended, and where.
    pub(crate) content: ContentHash,
    /// The number of the state after it; 0 until the commit assigns it.
    pub(crate) revision: Revision,
    /// The pages made or extended.
    pub(crate) pages: Vec<PageIndex>,
}

impl Receipt {
    /// Begins the receipt of an edit.
    pub(crate) fn of(edit: &Edit) -> Self {
        let encoded = serde_json::to_vec(edit).expect("edits have only string keys");
        Self { content: ContentHash::of(&encoded), revision: Revision(0), pages: Vec::new() }
    }

    /// Returns the name of the record: a key of one actor says nothing of another's.
    pub(crate) fn key(actor: &Actor, key: &AppendKey) -> RunKey {
        // No actor's name holds a line break.
        let hash = blake3::hash(format!("{actor}\n{key}").as_bytes()).to_hex();
        format!("{PREFIX}{hash}").parse().expect("it is short and plain")
    }

    /// Returns the record to be made with the edit.
    pub(crate) fn put(&self, key: RunKey, at: Timestamp) -> RunPut {
        RunPut::first(key, self.write(), at)
    }

    /// Reads a record; none where it is something else.
    pub(crate) fn read(record: &RunRecord) -> Option<Self> {
        serde_json::from_str(&record.value).ok()
    }

    fn write(&self) -> String {
        serde_json::to_string(self).expect("a receipt has only string keys")
    }
}

/// Writes into a receipt what its commit assigned; leaves other records as they are.
pub(crate) fn settle(put: &mut RunPut, revision: Revision, pages: &[PageIndex]) {
    let Some(value) = put.value.as_mut().filter(|_| put.key.as_str().starts_with(PREFIX)) else {
        return;
    };
    if let Ok(receipt) = serde_json::from_str::<Receipt>(value) {
        *value = Receipt { revision, pages: pages.to_vec(), ..receipt }.write();
    }
}
