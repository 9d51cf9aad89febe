//! The scope of a search: its segments, and what the session's holder sees of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use contexture_core::{PageIndex, Segment, SegmentId, Session, SessionId, View};

use super::FindQuery;
use crate::{
    document::DocKey,
    error::SearchError,
    follow::Known,
    index::{
        DIRECTORY, LeftOut, SOURCED, SearchIndex, SeenDocuments, SeenSegment, Sight, Snapshot,
        Tail, below, turn_hash,
    },
};

/// The scope of a search.
pub(crate) struct Scope {
    view: Option<View>,
    segments: Vec<ScopeSegment>,
}

struct ScopeSegment {
    segment: Arc<Segment>,
    left_out: LeftOut,
    /// Pages as they stood when a branch began.
    overlay: Option<Arc<Tail>>,
    /// The first page of a branch's own.
    first: u32,
}

impl Scope {
    /// Returns the page that a key names.
    pub(crate) fn index(&self, key: DocKey) -> Option<PageIndex> {
        let segment = self.segments.get(usize::from(key.segment))?;
        Some(PageIndex::new(segment.segment.id.clone(), u64::from(key.page)))
    }

    /// Returns the names of its segments, in order.
    #[cfg(test)]
    pub(super) fn ids(&self) -> Vec<SegmentId> {
        self.segments.iter().map(|scope| scope.segment.id.clone()).collect()
    }

    /// Returns its segments as they are searched.
    pub(crate) fn segments<'a>(
        &'a self,
        session: &SessionId,
        known: &'a Known,
        snapshot: &'a Snapshot,
    ) -> Vec<SeenSegment<'a>> {
        let seen = self.segments.iter().map(|scope| {
            let id = &scope.segment.id;
            let space = known.space(session, id, &snapshot.state);
            let tails: Vec<&Tail> =
                scope.overlay.as_deref().into_iter().chain(known.tail(id)).collect();
            let classes = &snapshot.state.classes;
            let sight = match &self.view {
                Some(view) => Sight::new(view, &scope.segment, classes, scope.left_out.clone()),
                None => Sight::open(classes),
            };
            SeenSegment::new(space, tails, sight, scope.first)
        });
        seen.collect()
    }
}

impl SearchIndex {
    /// Returns the scope of a search.
    pub(super) async fn scope(
        &self,
        session: &Session,
        query: &FindQuery,
    ) -> Result<Scope, SearchError> {
        let view = session.principal().view().cloned();
        let mut segments = match view {
            Some(_) => session.reader().segments(),
            // The system side also sees the archive of removed segments.
            None => {
                let all = self.inner.storage.segments(session.id()).await?;
                all.into_iter().map(Arc::new).collect()
            }
        };
        segments.retain(|it| query.within.is_empty() || query.within.contains(&it.id));
        let without = view.iter().flat_map(|view| view.filter.without.iter().cloned());
        let without: Vec<PageIndex> = without.collect();
        let turns = self.turns_of(session, &without).await?;
        let branch = self.branch_overlays(session).await?;
        let mut scopes = Vec::with_capacity(segments.len());
        for segment in segments {
            let pages = match without.is_empty() {
                true => BTreeSet::new(),
                false => self.left_out(session, &segment.id, &without).await?,
            };
            let left_out = LeftOut { pages, turns: turns.clone() };
            let (overlay, first) = match &branch {
                Some(branch) => branch.of(&segment.id),
                None => (None, 0),
            };
            scopes.push(ScopeSegment { segment, left_out, overlay, first });
        }
        Ok(Scope { view, segments: scopes })
    }

    /// Returns the turns of pages.
    async fn turns_of(
        &self,
        session: &Session,
        pages: &[PageIndex],
    ) -> Result<BTreeSet<u64>, SearchError> {
        if pages.is_empty() {
            return Ok(BTreeSet::new());
        }
        let pages = self.inner.storage.pages(session.id(), pages).await?;
        let turns = pages.into_iter().flatten().filter_map(|page| page.turn);
        Ok(turns.map(|turn| turn_hash(&turn)).collect())
    }

    /// Returns the pages of a segment that a view leaves out by name, with what stands below them.
    async fn left_out(
        &self,
        session: &Session,
        segment: &SegmentId,
        without: &[PageIndex],
    ) -> Result<BTreeSet<u32>, SearchError> {
        let (parents, sourced) = self.structure(session, segment)?;
        let number = |index: &PageIndex| u32::try_from(index.number()).ok();
        let named = without.iter().filter(|index| index.segment() == segment).filter_map(number);
        let mut out: BTreeSet<u32> = named.collect();
        // A page that was moved here is left out if the view names any index that it had before. The core knows those.
        let moved: Vec<PageIndex> =
            sourced.iter().map(|page| PageIndex::new(segment.clone(), u64::from(*page))).collect();
        let admitted = session.reader().admit(&moved).await?;
        let refused = moved.iter().zip(admitted).filter(|(_, admitted)| admitted.is_none());
        out.extend(refused.filter_map(|(index, _)| number(index)));
        Ok(below(out, &parents))
    }

    /// Returns the directory of each directory of a segment, and the pages that were made from others.
    fn structure(
        &self,
        session: &Session,
        segment: &SegmentId,
    ) -> Result<(BTreeMap<u32, u32>, BTreeSet<u32>), SearchError> {
        let followed = self.inner.followed(session.id());
        let known = followed.sorted();
        let snapshot = self.inner.snapshot();
        let (mut parents, mut sourced) = (BTreeMap::new(), BTreeSet::new());
        let newer = known.tail(segment);
        let is_newer = |page: &u32| newer.is_some_and(|tail| tail.pages().contains_key(page));
        if let Some(space) = known.space(session.id(), segment, &snapshot.state) {
            let disk = self.inner.disk();
            let fields = disk.fields();
            let of = |note| SeenDocuments::noted_pages(fields, &snapshot, space, note);
            parents.extend(of(DIRECTORY)?.into_iter().filter(|(page, _)| !is_newer(page)));
            let found = of(SOURCED)?.into_iter().map(|(page, _)| page);
            sourced.extend(found.filter(|page| !is_newer(page)));
        }
        for entry in newer.into_iter().flat_map(Tail::entries) {
            if entry.is_directory() {
                parents.insert(entry.at.page, entry.chapter);
            }
            if entry.class.sourced {
                sourced.insert(entry.at.page);
            }
        }
        Ok((parents, sourced))
    }
}
