//! The change feed as a view sees it.

use super::Reader;
use crate::{
    Actor, FeedEntry, HistoryEntry, Operation, PageIndex, Result, Revision, SegmentId, Timestamp,
    storage::{HistoryQuery, Order},
};

/// What a view may know of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenChange {
    /// The number of the state after it.
    pub revision: Revision,
    /// When it was made.
    pub at: Timestamp,
    /// Who made it and what it is recorded as; none where the history of the view does not show it.
    pub by: Option<(Actor, Operation)>,
    /// The edit it takes back, where the history of the view shows it.
    pub undoes: Option<Revision>,
    /// The pages that it is about and the view sees; of very many the first.
    pub pages: Vec<PageIndex>,
    /// The segments that it is about and the view sees.
    pub segments: Vec<SegmentId>,
}

impl Reader<'_> {
    /// Returns what this view may know of an edit; none where that is nothing.
    ///
    /// What the history of the view shows is told as the history tells it. Of other agents' edits, an agent
    /// learns which pages in its view they touched, and no more.
    pub async fn change(&self, entry: &FeedEntry) -> Result<Option<SeenChange>> {
        let FeedEntry { revision, at, .. } = *entry;
        let Some(view) = self.guard else {
            let pages = entry.touched().take(HistoryEntry::PAGES_NAMED).cloned().collect();
            let (by, undoes) = (Some((entry.actor.clone(), entry.operation)), entry.undoes);
            let segments = entry.segments.clone();
            return Ok(Some(SeenChange { revision, at, by, undoes, pages, segments }));
        };
        if entry.actor.is_system_side() || entry.actor.agent() == Some(&view.agent) {
            return Ok(self.recorded(revision).await?.map(|seen| SeenChange {
                revision,
                at,
                by: Some((seen.actor, seen.operation)),
                undoes: seen.undoes,
                pages: seen.pages,
                segments: seen.segments,
            }));
        }
        let touched = entry.touched().take(HistoryEntry::PAGES_NAMED).cloned().collect();
        let pages = self.seen_of(touched).await?;
        if pages.is_empty() {
            return Ok(None);
        }
        Ok(Some(SeenChange { revision, at, by: None, undoes: None, pages, segments: Vec::new() }))
    }

    /// Returns the history entry of one edit, as far as the view sees it.
    async fn recorded(&self, revision: Revision) -> Result<Option<HistoryEntry>> {
        let query = HistoryQuery {
            after: Some(Revision(revision.0.saturating_sub(1))),
            order: Order::Forward,
            limit: 1,
            ..HistoryQuery::default()
        };
        let storage = self.system.storage();
        let found = storage.history(self.system.session(), &query).await?.into_iter().next();
        match found.filter(|found| found.revision == revision) {
            Some(entry) => self.visible_entry(entry).await,
            None => Ok(None),
        }
    }
}
