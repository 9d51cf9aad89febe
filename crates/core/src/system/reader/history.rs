//! History as a view sees it.

use std::sync::Arc;

use super::{BATCH, Listing, Reader};
use crate::{
    HistoryEntry, PageIndex, Result, Revision,
    storage::{HistoryQuery, Inverse, ViewId},
};

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
    pub(super) async fn visible_entry(
        &self,
        mut entry: HistoryEntry,
    ) -> Result<Option<HistoryEntry>> {
        let Some(view) = self.guard else { return Ok(Some(entry)) };
        if !entry.actor.is_system_side() && entry.actor.agent() != Some(&view.agent) {
            return Ok(None);
        }
        // What only changed how another view stands, such as an undo of its own edit.
        let elsewhere = entry.view != ViewId::SYSTEM && entry.view != view.id();
        if elsewhere && entry.inverse.pages.is_empty() && entry.inverse.segments.is_empty() {
            return Ok(None);
        }
        let touched = !entry.pages.is_empty() || !entry.segments.is_empty();
        entry.pages = self.pages_seen_in(&entry).await?;
        entry.segments.retain(|segment| self.segment(segment).is_ok());
        // How to take it back may name pages out of view; nobody but undo needs it.
        let custom = entry.rounds().cloned().collect();
        entry.inverse = Inverse { custom, ..Inverse::default() };
        let seen = !entry.pages.is_empty() || !entry.segments.is_empty();
        Ok((seen || (!touched && !entry.actor.is_system_side())).then_some(entry))
    }

    /// Keeps those of an edit's pages that exist for the view; of an agent's own edit also those that
    /// it took out of the agent's view.
    async fn pages_seen_in(&self, entry: &HistoryEntry) -> Result<Vec<PageIndex>> {
        let mut seen = Vec::with_capacity(entry.pages.len());
        for page in &entry.pages {
            let own = !entry.actor.is_system_side();
            if self.sees(page).await? || (own && self.saw(entry, page).await?) {
                seen.push(page.clone());
            }
        }
        Ok(seen)
    }

    /// Tells whether a page existed for the view as it stood before an edit.
    async fn saw(&self, entry: &HistoryEntry, page: &PageIndex) -> Result<bool> {
        let stood = entry.inverse.pages.iter().find(|before| before.index == *page);
        let Some(stood) = stood.and_then(|before| before.before.clone()) else { return Ok(false) };
        let Ok(segment) = self.segment(page.segment()) else { return Ok(false) };
        Ok(self.seen_page(&segment, Arc::new(stood)).await?.is_some())
    }
}
