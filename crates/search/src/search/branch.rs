//! Branches: pages of inherited segments are searched as they stood when the branch began.
//!
//! A page that no edit has touched since is searched as it is indexed. A page that was touched is read through the
//! branch, which shows it as it stood, and is searched in memory. A page that was made since is hidden.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use contexture_core::{
    PageIndex, Revision, SegmentId, Session, SessionId,
    storage::{BranchPoint, Version, ViewId},
};

use super::said;
use crate::{
    error::SearchError,
    index::{SearchIndex, Tail, entries},
};

/// How many edits are read at a time.
const EDITS: usize = 512;

/// How many branches are remembered.
const MOST: usize = 64;

/// How branches differ from what is indexed, by branch.
#[derive(Default)]
pub(crate) struct Branches {
    known: Mutex<HashMap<(SessionId, ViewId), Arc<BranchOverlays>>>,
}

/// How a branch differs from what is indexed.
#[derive(Default)]
pub(super) struct BranchOverlays {
    point: Option<BranchPoint>,
    /// How often the index had forgotten the session: overlays belong to what it followed then.
    epoch: u64,
    upto: Revision,
    stood: BTreeMap<SegmentId, Arc<Tail>>,
}

impl BranchOverlays {
    /// Returns what differs in a segment, and the first number of a page of the branch's own.
    pub(super) fn of(&self, segment: &SegmentId) -> (Option<Arc<Tail>>, u32) {
        let first = self.point.as_ref().map_or(0, |point| {
            let inherited = point.inherited.iter().find(|it| it.segment == *segment);
            match inherited {
                Some(inherited) => inherited.first,
                None if point.segment == *segment => point.first,
                None => 0,
            }
        });
        (self.stood.get(segment).cloned(), u32::try_from(first).unwrap_or(u32::MAX))
    }
}

impl Branches {
    fn get(&self, key: &(SessionId, ViewId)) -> Option<Arc<BranchOverlays>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn put(&self, key: (SessionId, ViewId), overlays: Arc<BranchOverlays>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST && !known.contains_key(&key) {
            // They are read again when they are needed.
            known.clear();
        }
        known.insert(key, overlays);
    }
}

impl SearchIndex {
    /// Returns how a branch differs from what is indexed; none if the session is not a branch.
    pub(super) async fn branch_overlays(
        &self,
        session: &Session,
    ) -> Result<Option<Arc<BranchOverlays>>, SearchError> {
        let Some(point) = session.branch_point() else { return Ok(None) };
        let key = (session.id().clone(), point.view.clone());
        let known = self.inner.branches.get(&key);
        let epoch = self.inner.followed(session.id()).epoch();
        let known = known.filter(|it| it.point.as_ref() == Some(point) && it.epoch == epoch);
        let begins = point.inherited.iter().map(|it| it.at).min().unwrap_or_default();
        let mut upto = known.as_ref().map_or(begins, |known| known.upto);
        let mut stood = known.as_ref().map(|known| known.stood.clone()).unwrap_or_default();
        let before = upto;
        loop {
            let edits = self.inner.storage.changes(session.id(), upto, EDITS).await?;
            let Some(last) = edits.last().map(|edit| edit.revision) else { break };
            upto = last;
            let (mut changed, mut made) = (BTreeSet::new(), BTreeSet::new());
            for edit in &edits {
                let inherits = |index: &&PageIndex| {
                    let inherited =
                        point.inherited.iter().find(|it| it.segment == *index.segment());
                    inherited.is_some_and(|inherited| edit.revision > inherited.at)
                };
                for put in edit.put.iter().filter(|put| inherits(&&put.index)) {
                    // A page at its first version was made after the branch began.
                    match put.version == Version(1) && !is_known(&stood, &put.index) {
                        true if !changed.contains(&put.index) => made.insert(put.index.clone()),
                        _ if made.contains(&put.index) => false,
                        _ => changed.insert(put.index.clone()),
                    };
                }
                let gone = edit.gone.iter().filter(inherits);
                changed.extend(gone.filter(|index| !made.contains(*index)).cloned());
                changed.extend(edit.purged.iter().filter(inherits).cloned());
            }
            let purged: BTreeSet<&PageIndex> = edits.iter().flat_map(|edit| &edit.purged).collect();
            changed.retain(|index| purged.contains(index) || !is_known(&stood, index));
            let mut pages: Vec<(PageIndex, Vec<_>)> =
                made.into_iter().map(|index| (index, Vec::new())).collect();
            let changed: Vec<PageIndex> = changed.into_iter().collect();
            let admitted = session.reader().admit(&changed).await?;
            let contents = self.contents_of(session, admitted.iter().flatten()).await?;
            for (index, admitted) in changed.into_iter().zip(admitted) {
                let entries = admitted.map(|admitted| {
                    let began = admitted.page.created_at;
                    entries(
                        &admitted.page,
                        &said(&admitted, &contents),
                        began,
                        self.inner.has_embedder(),
                    )
                });
                pages.push((index, entries.unwrap_or_default()));
            }
            for (index, entries) in pages {
                let Ok(page) = u32::try_from(index.number()) else { continue };
                let tail = stood.entry(index.segment().clone()).or_default();
                if let Some(tail) = Arc::get_mut(tail) {
                    tail.put(page, entries, 0);
                } else {
                    let mut copy = Tail::default();
                    for (page, known) in tail.pages() {
                        copy.put(*page, known.entries.to_vec(), 0);
                    }
                    copy.put(page, entries, 0);
                    *tail = Arc::new(copy);
                }
            }
        }
        if let Some(known) = known.filter(|_| upto == before) {
            return Ok(Some(known));
        }
        for tail in stood.values_mut() {
            if let Some(tail) = Arc::get_mut(tail) {
                tail.sort();
            }
        }
        let overlays = Arc::new(BranchOverlays { point: Some(point.clone()), epoch, upto, stood });
        self.inner.branches.put(key, overlays.clone());
        Ok(Some(overlays))
    }
}

fn is_known(stood: &BTreeMap<SegmentId, Arc<Tail>>, index: &PageIndex) -> bool {
    let number = u32::try_from(index.number());
    let tail = stood.get(index.segment());
    tail.zip(number.ok()).is_some_and(|(tail, number)| tail.pages().contains_key(&number))
}
