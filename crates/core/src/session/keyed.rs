//! Appending by a key: what is sent twice is there once.

use super::Session;
use crate::{
    AppendKey, Edit, EditOutcome, Error, Message, PageIndex, Result, receipt::Receipt,
    storage::RunKey,
};

/// A session that appends under a key of the host's, made by [`Session::keyed`].
#[derive(Debug, Clone)]
pub struct KeyedSession<'a> {
    session: &'a Session,
    key: AppendKey,
}

impl Session {
    /// Appends under a key: sent again with the same content, it is there once and the answer is the same;
    /// with other content it is a conflict.
    ///
    /// Keys are the principal's own. A host that did not get the answer sends the same again, also from
    /// another process.
    pub fn keyed(&self, key: AppendKey) -> KeyedSession<'_> {
        KeyedSession { session: self, key }
    }
}

impl KeyedSession<'_> {
    /// Makes an edit that appends: to a turn, results to an open exchange, or a batch of these.
    pub async fn apply(&self, edit: Edit) -> Result<EditOutcome> {
        if !appends(&edit) {
            return Err(Error::InvalidRequest {
                reason: format!("operation '{}' takes no key", edit.operation()),
                advice: "make it without a key: only what is appended has one".into(),
            });
        }
        let (system, principal) = (&self.session.system, &self.session.principal);
        let record = Receipt::key(&principal.actor(), &self.key);
        let receipt = Receipt::of(&edit);
        // What was sent before may refuse the same again: a call is answered once.
        if let Some(outcome) = self.known(&record, &receipt).await? {
            return Ok(outcome);
        }
        let put = receipt.put(record.clone(), system.now());
        match system.apply(&edit, principal, &[put]).await {
            Ok(outcome) => Ok(outcome),
            // Another sender may have been first, or the answer to this one was lost.
            Err(error) => match self.known(&record, &receipt).await {
                Ok(Some(outcome)) => Ok(outcome),
                Err(reused @ Error::KeyReused { .. }) => Err(reused),
                Ok(None) | Err(_) => Err(error),
            },
        }
    }

    /// Returns what the key was used for, or says that it was for something else.
    async fn known(&self, record: &RunKey, receipt: &Receipt) -> Result<Option<EditOutcome>> {
        let records = self.session.system.runs(record.as_str()).await?;
        let Some(known) = records.iter().find_map(Receipt::read) else { return Ok(None) };
        if known.content != receipt.content {
            return Err(Error::KeyReused { key: self.key.clone() });
        }
        let Receipt { revision, pages, .. } = known;
        Ok(Some(EditOutcome { revision, pages, moved: Vec::new(), undone: None }))
    }

    /// Writes messages as turns, as [`Session::add_turn`] does.
    pub async fn add_turn(&self, messages: Vec<Message>) -> Result<Vec<PageIndex>> {
        let segment = self.session.writes_to();
        Ok(self.apply(Edit::AddTurn { segment, messages }).await?.pages)
    }

    /// Continues the principal's latest turn, as [`Session::extend_turn`] does.
    pub async fn extend_turn(&self, messages: Vec<Message>) -> Result<Vec<PageIndex>> {
        let segment = self.session.writes_to();
        Ok(self.apply(Edit::ExtendTurn { segment, messages }).await?.pages)
    }

    /// Writes messages of which the last exchange may be open, as [`Session::open_exchange`] does.
    pub async fn open_exchange(&self, messages: Vec<Message>) -> Result<Vec<PageIndex>> {
        let segment = self.session.writes_to();
        Ok(self.apply(Edit::OpenExchange { segment, messages }).await?.pages)
    }

    /// Answers calls of the principal's open exchange, as [`Session::add_results`] does.
    pub async fn add_results(&self, messages: Vec<Message>) -> Result<Vec<PageIndex>> {
        let segment = self.session.writes_to();
        Ok(self.apply(Edit::AddResults { segment, messages }).await?.pages)
    }
}

/// Tells whether an edit does nothing but append.
fn appends(edit: &Edit) -> bool {
    match edit {
        Edit::AddTurn { .. }
        | Edit::ExtendTurn { .. }
        | Edit::OpenExchange { .. }
        | Edit::AddResults { .. }
        | Edit::CloseExchange { .. } => true,
        Edit::Batch(edits) => !edits.is_empty() && edits.iter().all(appends),
        _ => false,
    }
}
