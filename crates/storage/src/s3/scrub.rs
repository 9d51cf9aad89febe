//! Scrubbing: objects that a purge could not delete are deleted, and the quarantine is emptied where
//! somebody asks for it.

use std::collections::BTreeMap;

use contexture_core::{
    SessionId,
    storage::{Quarantine, Trace},
};
use object_store::path::Path;

use super::{fault::FaultResult, session::Inner};

impl Inner {
    /// Says which objects that a purge was to delete are still there, and whether something is in the
    /// quarantine.
    pub(crate) async fn traces(&self) -> FaultResult<Vec<Trace>> {
        let mut traces = self.undeleted().await?;
        if self.objects.has_any(&["quarantine"]).await? {
            traces.push(Trace::quarantine(&self.objects.name));
        }
        Ok(traces)
    }

    async fn undeleted(&self) -> FaultResult<Vec<Trace>> {
        let mut traces = Vec::new();
        for id in self.names().await? {
            traces.extend(self.traces_of(&id).await?);
        }
        Ok(traces)
    }

    async fn traces_of(&self, id: &SessionId) -> FaultResult<Option<Trace>> {
        let Some(view) = self.view(id).await? else { return Ok(None) };
        let doomed = &view.root.meta.doomed;
        if doomed.is_empty() {
            return Ok(None);
        }
        let listed = view.home.list().await?;
        let is_doomed = |name: &str| doomed.iter().any(|doomed| doomed == name);
        let names = listed.iter().filter_map(|meta| meta.location.filename());
        let count = names.filter(|name| is_doomed(name)).count();
        let place = format!("{count} objects of session {id} in {}", self.objects.name);
        let until = "the session is written to again, or a scrub deletes them";
        Ok((count > 0).then(|| Trace::new(place, until)))
    }

    /// Deletes them; returns what remains.
    pub(crate) async fn scrub(&self, quarantine: Quarantine) -> FaultResult<Vec<Trace>> {
        let is_young = match quarantine {
            Quarantine::Keep => false,
            Quarantine::Empty => !self.empty_quarantine().await?,
        };
        for id in self.names().await? {
            let Some(view) = self.view(&id).await? else { continue };
            if !view.root.meta.doomed.is_empty() {
                view.home.delete(&view.root.meta.doomed).await?;
            }
        }
        if !is_young {
            return self.traces().await;
        }
        let mut traces = self.undeleted().await?;
        let place = format!("the quarantine of {}", self.objects.name);
        let until = format!(
            "the quarantine is emptied again: a scrub keeps objects that are younger than {} \
             minutes, which others may be using, or a session that is being imported",
            self.objects.tuning.grace.as_secs().div_ceil(60)
        );
        traces.push(Trace::new(place, until));
        Ok(traces)
    }

    /// Deletes what repairs set aside: copies, roots, and the objects that roots and lists in the quarantine
    /// keep from being collected. Returns whether all of it is gone.
    ///
    /// A root or a list goes after the objects that it keeps: as long as it is there the quarantine is not
    /// empty, and everybody is told so.
    async fn empty_quarantine(&self) -> FaultResult<bool> {
        let mut keepers: BTreeMap<SessionId, Vec<Path>> = BTreeMap::new();
        let mut copies = Vec::new();
        for meta in self.objects.list(&["quarantine"]).await? {
            match self.kept_session(&meta.location) {
                Some(session) => keepers.entry(session).or_default().push(meta.location),
                None => copies.push(meta.location),
            }
        }
        self.objects.delete(copies).await?;
        let mut is_empty = true;
        for (session, paths) in keepers {
            if self.collect_aside(&self.session(&session)).await? {
                self.objects.delete(paths).await?;
            } else {
                is_empty = false;
            }
        }
        Ok(is_empty)
    }

    /// Returns the session whose objects something in the quarantine keeps.
    fn kept_session(&self, path: &Path) -> Option<SessionId> {
        let folder = self.objects.path(&["quarantine"]);
        let parts: Vec<String> =
            path.prefix_match(&folder)?.map(|part| part.as_ref().to_owned()).collect();
        let name = match parts.first()?.as_str() {
            "sessions" => parts.get(1)?.rsplit_once('@')?.0,
            "held" => parts.get(1)?,
            _ => return None,
        };
        name.parse().ok()
    }
}
