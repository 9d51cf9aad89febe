//! What stood at a revision, as the history tells it.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::super::{HistoryQuery, LevelEntry, Order, PageStorage, StorageResult, ViewId};
use crate::{HistoryEntry, Page, PageIndex, Revision, Segment, SegmentId, SessionId};

/// How many entries of the history are read at a time.
const ENTRIES: usize = 256;

/// What stood at a revision, where later edits changed it.
pub(super) struct Past {
    pub(super) at: Revision,
    changed: Mutex<Changed>,
}

/// What was changed after a revision, as it stood at that revision.
pub(super) struct Changed {
    /// The newest edit that was looked at.
    pub(super) upto: Revision,
    pub(super) pages: HashMap<PageIndex, Option<Page>>,
    /// The pages among them that stood under a directory.
    pub(super) below: HashMap<PageIndex, BTreeSet<PageIndex>>,
    pub(super) segments: HashMap<SegmentId, Option<Segment>>,
    pub(super) levels: HashMap<(ViewId, PageIndex), LevelEntry>,
}

impl Past {
    pub(super) fn new(at: Revision) -> Self {
        let changed = Changed {
            upto: at,
            pages: HashMap::new(),
            below: HashMap::new(),
            segments: HashMap::new(),
            levels: HashMap::new(),
        };
        Self { at, changed: Mutex::new(changed) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Changed> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at all edits up to a revision.
    pub(super) async fn cover(
        &self,
        storage: &dyn PageStorage,
        session: &SessionId,
        upto: Revision,
    ) -> StorageResult<()> {
        loop {
            let after = self.lock().upto;
            if after >= upto {
                return Ok(());
            }
            let (after, order, limit) = (Some(after), Order::Forward, ENTRIES);
            let query = HistoryQuery { after, order, limit, ..HistoryQuery::default() };
            let entries = storage.history(session, &query).await?;
            if entries.is_empty() {
                return Ok(());
            }
            let mut changed = self.lock();
            for entry in &entries {
                // Another reader may have looked at it meanwhile.
                if entry.revision > changed.upto {
                    changed.note(entry);
                }
            }
        }
    }

    /// Returns those of some pages, as they are now, that are as they stood.
    pub(super) fn untouched(&self, pages: Vec<Page>) -> impl Iterator<Item = Page> {
        let mut pages = pages;
        let changed = self.lock();
        pages.retain(|page| page.revision <= self.at && !changed.pages.contains_key(&page.index));
        drop(changed);
        pages.into_iter()
    }

    /// Looks at all edits there are.
    pub(super) async fn cover_all(
        &self,
        storage: &dyn PageStorage,
        session: &SessionId,
    ) -> StorageResult<()> {
        let newest = storage.revision(session).await?;
        self.cover(storage, session, newest.unwrap_or(self.at)).await
    }
}

impl Changed {
    /// Notes what an edit changed. The first edit that touches something says how it stood before.
    fn note(&mut self, entry: &HistoryEntry) {
        self.upto = entry.revision;
        for touched in &entry.inverse.pages {
            if touched.purged {
                // A purge reaches the branch too.
                self.forget(&touched.index);
                continue;
            }
            if self.pages.contains_key(&touched.index) {
                continue;
            }
            let parent = touched.before.as_ref().and_then(|page| page.parent.clone());
            if let Some(parent) = parent {
                self.below.entry(parent).or_default().insert(touched.index.clone());
            }
            self.pages.insert(touched.index.clone(), touched.before.clone());
        }
        for touched in &entry.inverse.segments {
            self.segments.entry(touched.id.clone()).or_insert_with(|| touched.before.clone());
        }
        for delta in &entry.inverse.levels {
            let at = (delta.view.clone(), delta.page.clone());
            self.levels.entry(at).or_insert_with(|| delta.before.clone());
        }
    }

    fn forget(&mut self, index: &PageIndex) {
        let known = self.pages.insert(index.clone(), None).flatten();
        if let Some(parent) = known.and_then(|page| page.parent)
            && let Some(below) = self.below.get_mut(&parent)
        {
            below.remove(index);
        }
    }
}
