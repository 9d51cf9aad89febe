//! History as a view sees it.

use super::{BATCH, Listing, Reader};
use crate::{Actor, HistoryEntry, Result, Revision, storage::HistoryQuery};

impl Reader<'_> {
    /// Returns history entries, newest first; an agent sees its own and the system side's edits on
    /// pages in its view.
    pub async fn history(
        &self,
        before: Option<Revision>,
        limit: usize,
    ) -> Result<Listing<HistoryEntry>> {
        let mut items = Vec::new();
        let mut before = before;
        loop {
            let query = HistoryQuery {
                before,
                // What an agent may not see is passed over, and there may be much of it.
                limit: if self.guard.is_some() {
                    BATCH
                } else {
                    BATCH.min(limit.saturating_add(1))
                },
                ..HistoryQuery::default()
            };
            let storage = self.system.storage();
            let entries = storage.history(self.system.session(), &query).await?;
            let done = entries.len() < query.limit;
            for entry in entries {
                before = Some(entry.revision);
                if let Some(entry) = self.visible_entry(entry).await? {
                    if items.len() == limit {
                        return Ok(Listing { items, more: true });
                    }
                    items.push(entry);
                }
            }
            if done {
                return Ok(Listing { items, more: false });
            }
        }
    }

    /// Returns what of a history entry this view may see.
    async fn visible_entry(&self, mut entry: HistoryEntry) -> Result<Option<HistoryEntry>> {
        let Some(view) = self.guard else { return Ok(Some(entry)) };
        if entry.actor != Actor::System && entry.actor != Actor::Agent(view.agent.clone()) {
            return Ok(None);
        }
        let touched = !entry.pages.is_empty() || !entry.segments.is_empty();
        entry.pages = self.seen_of(std::mem::take(&mut entry.pages)).await?;
        entry.segments.retain(|segment| self.segment(segment).is_ok());
        // How to take it back may name pages out of view; nobody but undo needs it.
        entry.inverse = Default::default();
        let seen = !entry.pages.is_empty() || !entry.segments.is_empty();
        Ok((seen || (!touched && entry.actor != Actor::System)).then_some(entry))
    }
}
