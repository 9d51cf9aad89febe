//! Run records: read, kept, and moved on together with an edit.

use std::collections::BTreeSet;

use super::{ContextSystem, EditOutcome};
use crate::{
    Edit, Error, Principal, Result,
    storage::{Keep, RunKey, RunPut, RunRecord, Version},
};

impl ContextSystem {
    /// Returns the run records whose keys begin with `prefix`, by key, as they stand in the storage.
    pub async fn runs(&self, prefix: &str) -> Result<Vec<RunRecord>> {
        Ok(self.storage().runs(self.session(), prefix).await?)
    }

    /// Keeps or removes a run record; returns the version it has now, or would have.
    ///
    /// A record that is not at the version expected is a conflict, and nothing has changed.
    pub async fn keep_run(&self, put: &RunPut) -> Result<Version> {
        self.keep(&Keep { runs: vec![put.clone()], report: None }).await?;
        Ok(put.version())
    }

    /// Keeps or removes run records and notes what a provider reported, in one write; tells whether
    /// there is the window that is reported on.
    ///
    /// A record that is not at the version expected is a conflict, and nothing has changed.
    pub async fn keep(&self, keep: &Keep) -> Result<bool> {
        self.check_runs(&keep.runs)?;
        Ok(self.writing().await.keep(self.session(), keep).await?)
    }

    /// Makes an edit and moves run records on with it, in one commit.
    ///
    /// An agent's edit is confined to its view and checked. The records are the host's own and never an
    /// agent's to name. Where others changed what the edit was based on, it
    /// is decided again; where a record was moved on, it is not: somebody else has taken that step
    /// ([`RunMoved`](crate::storage::StorageError::RunMoved)).
    pub async fn apply_with_runs(
        &self,
        by: &Principal,
        edit: &Edit,
        runs: &[RunPut],
    ) -> Result<EditOutcome> {
        self.check_runs(runs)?;
        self.apply(edit, by, runs).await
    }

    /// Refuses a purge while a run has not ended whose record it does not take away.
    pub(super) async fn refuse_unfinished(&self, edit: &Edit, runs: &[RunPut]) -> Result<()> {
        if !matches!(edit, Edit::PurgePage(_)) {
            return Ok(());
        }
        let ended = |key: &RunKey| runs.iter().any(|put| put.key == *key && put.value.is_none());
        let open = self.runs(RunKey::UNFINISHED).await?;
        match open.into_iter().find(|record| !ended(&record.key)) {
            Some(record) => Err(Error::RunUnfinished { run: record.key }),
            None => Ok(()),
        }
    }

    fn check_runs(&self, runs: &[RunPut]) -> Result<()> {
        let limit = self.inner.settings.limits.detail_bytes;
        let mut named = BTreeSet::new();
        for put in runs {
            if !named.insert(&put.key) {
                return Err(Error::InvalidRequest {
                    reason: format!("run '{}' is named twice in one edit", put.key),
                    advice: "name each run once".into(),
                });
            }
            let size = put.value.as_ref().map_or(0, |value| value.len() as u64);
            if size > limit {
                let what = format!("the record of run '{}'", put.key);
                return Err(Error::TooLarge { what, size, limit });
            }
        }
        Ok(())
    }
}
