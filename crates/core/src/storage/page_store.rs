//! The seed's five storage methods, on top of the one commit.

use std::sync::Arc;

use super::{Commit, PageStorage, ScanQuery, StandingFilter};
use crate::{
    Actor, Clock, Error, Operation, Page, PageIndex, Result, Segment, SegmentKind, SessionId,
    Visibility,
    decide::PROVISIONAL,
    storage::{Basis, Change, ContentHash, PageDelta, PageStanding, Place, PlaceClaim, ViewId},
};

/// Saves, loads, deletes and lists single pages of a session (B-01).
///
/// For tools that think in pages. Each write is a commit like any other: atomic, recorded, and held
/// to the same invariants, so no page can be left without its parent.
#[derive(Clone)]
pub struct PageStore {
    storage: Arc<dyn PageStorage>,
    session: SessionId,
    clock: Arc<dyn Clock>,
}

impl PageStore {
    /// Puts the five methods before a storage.
    pub fn new(storage: Arc<dyn PageStorage>, session: SessionId, clock: Arc<dyn Clock>) -> Self {
        Self { storage, session, clock }
    }

    /// Writes a page over the one that is stored, or at an index its segment has already given out.
    ///
    /// Its content must be stored in this session already; its parent must be a directory in the
    /// tree.
    pub async fn save(&self, page: &Page) -> Result<()> {
        let index = &page.index;
        let before = self.stored(index).await?;
        let segments = self.storage.segments(&self.session).await?;
        let segment = segments.iter().find(|segment| segment.id == *index.segment());
        let segment = segment
            .filter(|segment| !segment.removed)
            .ok_or_else(|| Error::SegmentNotFound { segment: index.segment().clone() })?;
        let mut change = self.change(Operation::UpdatePage, index);
        change.basis.segments.push((segment.id.clone(), Some(segment.version)));
        check_shape(page, before.as_ref(), segment)?;
        self.check_parent(page, &mut change.basis).await?;
        if let Some(detail) = page.detail()
            && !self.has_content(detail.content).await?
        {
            return Err(Error::NothingFound {
                what: format!("the content of page {index}"),
                advice: "write messages with an edit; they are stored with their page".into(),
            });
        }
        let version = before.as_ref().map_or(page.version, |before| before.version.next());
        let mut after = Page { version, updated_at: change.at, ..page.clone() };
        // A place of its own choosing could be given out again: only the commit assigns places.
        match &before {
            Some(before) if before.parent == page.parent => after.place = before.place,
            _ => {
                after.place = Place(PROVISIONAL);
                change.places = PlaceClaim { first: after.place, count: 1 };
            }
        }
        if before.is_none() {
            change.floors.push((index.segment().clone(), index.number().saturating_add(1)));
        }
        self.commit(change, before, Some(after)).await
    }

    async fn check_parent(&self, page: &Page, basis: &mut Basis) -> Result<()> {
        let Some(parent) = &page.parent else {
            let reason = format!("page {} has no parent and is not a segment root", page.index);
            let advice = "name a directory of its segment as its parent".into();
            let is_root = page.index.is_root();
            return if is_root { Ok(()) } else { Err(Error::InvalidRequest { reason, advice }) };
        };
        let above = self.stored(parent).await?;
        let above = above.ok_or_else(|| Error::PageNotFound { page: parent.clone() })?;
        if !above.is_contents() {
            return Err(Error::NotContentsPage { page: parent.clone() });
        }
        basis.standing.push((parent.clone(), above.parent.clone()));
        let mut next = Some(above);
        while let Some(ancestor) = next {
            if ancestor.index == page.index {
                let target = parent.clone();
                return Err(Error::Cycle { page: page.index.clone(), target });
            }
            next = match &ancestor.parent {
                Some(parent) => self.stored(parent).await?,
                None => None,
            };
        }
        Ok(())
    }

    /// Reads a page; one that is not there is `not-found`.
    pub async fn load(&self, index: &PageIndex) -> Result<Page> {
        let page = self.stored(index).await?;
        page.ok_or_else(|| Error::PageNotFound { page: index.clone() })
    }

    /// Takes a page away; one that is not there is no error. Directories must be empty.
    pub async fn delete(&self, index: &PageIndex) -> Result<()> {
        let Some(page) = self.stored(index).await? else { return Ok(()) };
        if index.is_root() {
            return Err(Error::Root { page: index.clone(), verb: "deleted" });
        }
        let last = self.storage.last_place(&self.session, index).await?;
        if last.is_some() {
            return Err(Error::InvalidRequest {
                reason: format!("page {index} still holds pages"),
                advice: "delete them first".into(),
            });
        }
        let mut change = self.change(Operation::RemovePage, index);
        change.basis.lists.push((index.clone(), None));
        self.commit(change, Some(page), None).await
    }

    /// Tells whether a page is stored.
    pub async fn exists(&self, index: &PageIndex) -> Result<bool> {
        Ok(self.stored(index).await?.is_some())
    }

    /// Lists every stored page in natural order.
    pub async fn list(&self) -> Result<Vec<PageIndex>> {
        let mut indices = Vec::new();
        for segment in self.storage.segments(&self.session).await? {
            let mut after = None;
            loop {
                let query = ScanQuery {
                    segment: segment.id.clone(),
                    standing: StandingFilter::Any,
                    after,
                    limit: 1_000,
                };
                let pages = self.storage.scan(&self.session, &query).await?;
                after = pages.last().map(|page| page.index.number());
                let done = pages.len() < query.limit;
                indices.extend(pages.into_iter().map(|page| page.index));
                if done {
                    break;
                }
            }
        }
        Ok(indices)
    }

    async fn has_content(&self, hash: ContentHash) -> Result<bool> {
        let found = self.storage.contents(&self.session, &[hash]).await?;
        Ok(found.first().is_some_and(Option::is_some))
    }

    async fn stored(&self, index: &PageIndex) -> Result<Option<Page>> {
        let pages = self.storage.pages(&self.session, std::slice::from_ref(index)).await?;
        Ok(pages.into_iter().next().flatten())
    }

    fn change(&self, operation: Operation, index: &PageIndex) -> Change {
        Change {
            operation,
            actor: Actor::System,
            view: ViewId::SYSTEM,
            at: self.clock.now(),
            undoes: None,
            marks: Vec::new(),
            pages: Vec::new(),
            segments: Vec::new(),
            levels: Vec::new(),
            focus: Vec::new(),
            custom: Vec::new(),
            runs: Vec::new(),
            fold: None,
            contents: Vec::new(),
            numbers: Vec::new(),
            places: PlaceClaim::default(),
            floors: Vec::new(),
            times: None,
            purge: false,
            subjects: vec![index.clone()],
            moved: Vec::new(),
            basis: Basis::default(),
        }
    }

    async fn commit(
        &self,
        mut change: Change,
        before: Option<Page>,
        after: Option<Page>,
    ) -> Result<()> {
        let index = change.subjects[0].clone();
        change.basis.pages.push((index.clone(), before.as_ref().map(|page| page.version)));
        let previous = before.as_ref().map(|page| page.revision);
        change.pages.push(PageDelta { index, before, after, previous, restores: None });
        self.storage.commit(&self.session, Commit { create: None, change: Some(change) }).await?;
        Ok(())
    }
}

/// Refuses what no edit would make of a page.
fn check_shape(page: &Page, before: Option<&Page>, segment: &Segment) -> Result<()> {
    let index = &page.index;
    let foreign = page.parent.as_ref().is_some_and(|parent| parent.segment() != index.segment());
    let stands = page.parent.is_none()
        && page.is_contents()
        && page.standing == PageStanding::InTree
        && (segment.kind != SegmentKind::System || page.visibility == Visibility::Expanded);
    let wrong = if index.is_root() && !stands {
        "is a root and must stay in the tree as one"
    } else if foreign {
        "names a parent in another segment"
    } else if before.is_some_and(|before| before.is_contents() != page.is_contents()) {
        "cannot change its type"
    } else {
        return Ok(());
    };
    Err(Error::InvalidRequest {
        reason: format!("page {index} {wrong}"),
        advice: "use an edit instead: edits keep the tree consistent".into(),
    })
}

impl std::fmt::Debug for PageStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageStore").field("session", &self.session).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;
    use crate::{ContextSystem, Edit, ManualClock, MemoryStorage, NewDetailPage, NewSegment};

    // B-01, B-02, B-04, B-10: the five methods; what is missing loads as an error and deletes as none.
    #[test]
    fn the_five_methods_of_the_seed() {
        let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
        let clock = Arc::new(ManualClock::at_millis(0));
        let session: SessionId = "s".parse().unwrap();
        let edits = Edit::Batch(vec![
            Edit::AddSegment(NewSegment::new("usr".parse().unwrap(), crate::SegmentKind::User)),
            Edit::CreateDetailPage(NewDetailPage::new(
                "usr-0".parse().unwrap(),
                "note".parse().unwrap(),
                "text",
            )),
        ]);
        let made = ContextSystem::create_with(
            storage.clone(),
            session.clone(),
            "t",
            clock.clone(),
            &edits,
        );
        block_on(made).unwrap();
        let store = PageStore::new(storage, session, clock);
        let index = |text: &str| -> PageIndex { text.parse().unwrap() };

        assert_eq!(block_on(store.list()).unwrap(), [index("usr-0"), index("usr-1")]);
        let mut page = block_on(store.load(&index("usr-1"))).unwrap();
        page.name = "renamed".parse().unwrap();
        block_on(store.save(&page)).unwrap();
        assert_eq!(block_on(store.load(&index("usr-1"))).unwrap().name.as_str(), "renamed");

        page.index = index("usr-7");
        block_on(store.save(&page)).unwrap();
        assert!(block_on(store.exists(&index("usr-7"))).unwrap());
        page.parent = Some(index("usr-1"));
        let refused = block_on(store.save(&page)).unwrap_err();
        assert_eq!(refused.kind(), crate::ErrorKind::Invalid);
        let mut root = block_on(store.load(&index("usr-0"))).unwrap();
        root.standing = PageStanding::ColdArchived;
        assert_eq!(block_on(store.save(&root)).unwrap_err().kind(), crate::ErrorKind::Invalid);
        let mut leaf = block_on(store.load(&index("usr-1"))).unwrap();
        leaf.body = crate::storage::PageBody::Contents;
        assert_eq!(block_on(store.save(&leaf)).unwrap_err().kind(), crate::ErrorKind::Invalid);

        block_on(store.delete(&index("usr-7"))).unwrap();
        block_on(store.delete(&index("usr-7"))).unwrap();
        assert!(!block_on(store.exists(&index("usr-7"))).unwrap());
        assert!(block_on(store.load(&index("usr-7"))).is_err());
        assert!(block_on(store.delete(&index("usr-0"))).is_err());
    }
}
