//! Scrubbing: objects that a purge could not delete are deleted.

use contexture_core::{SessionId, storage::Trace};

use super::{fault::Outcome, session::Inner};

impl Inner {
    /// Says which objects that a purge was to delete are still there.
    pub(crate) async fn traces(&self) -> Outcome<Vec<Trace>> {
        let mut left = Vec::new();
        for id in self.names().await? {
            left.extend(self.traces_of(&id).await?);
        }
        Ok(left)
    }

    async fn traces_of(&self, id: &SessionId) -> Outcome<Option<Trace>> {
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
        let until = "the session is written to again, or `contexture store scrub` deletes them";
        Ok((count > 0).then(|| Trace::new(place, until)))
    }

    /// Deletes them; returns what remains.
    pub(crate) async fn scrub(&self) -> Outcome<Vec<Trace>> {
        for id in self.names().await? {
            let Some(view) = self.view(&id).await? else { continue };
            if !view.root.meta.doomed.is_empty() {
                view.home.delete(&view.root.meta.doomed).await?;
            }
        }
        self.traces().await
    }
}
