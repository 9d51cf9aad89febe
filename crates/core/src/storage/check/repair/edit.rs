//! The edits that repairing makes: of the system side, recorded like any other.

use crate::{
    Actor, Operation, Page, PageIndex, PageStorage, Segment, SessionId, Timestamp,
    decide::PROVISIONAL,
    storage::{Basis, Change, Commit, PageDelta, Place, PlaceClaim, StorageResult, ViewId},
};

/// Returns a change in a segment that does nothing yet.
pub(super) fn empty(segment: &Segment, at: Timestamp) -> Change {
    let segment = (segment.id.clone(), Some(segment.version));
    Change {
        operation: Operation::Batch,
        actor: Actor::System,
        view: ViewId::SYSTEM,
        at,
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
        places: PlaceClaim { first: Place(PROVISIONAL), count: 0 },
        floors: Vec::new(),
        times: None,
        purge: false,
        subjects: Vec::new(),
        moved: Vec::new(),
        basis: Basis { segments: vec![segment], ..Basis::default() },
    }
}

/// Adds a page to a change, as a new version of what it was.
pub(super) fn put(change: &mut Change, before: Option<Page>, mut after: Page) {
    let index = after.index.clone();
    after.version = after.version.next();
    after.updated_at = change.at;
    if let Some(before) = &before {
        change.basis.pages.push((index.clone(), Some(before.version)));
    }
    change.subjects.push(index.clone());
    let previous = before.as_ref().map(|page| page.revision);
    change.pages.push(PageDelta { index, before, after: Some(after), previous, restores: None });
}

pub(super) async fn page(
    storage: &dyn PageStorage,
    session: &SessionId,
    index: &PageIndex,
) -> StorageResult<Option<Page>> {
    Ok(storage.pages(session, std::slice::from_ref(index)).await?.pop().flatten())
}

pub(super) async fn commit(
    storage: &dyn PageStorage,
    session: &SessionId,
    change: Change,
) -> StorageResult<()> {
    storage.commit(session, Commit { create: None, change: Some(change) }).await.map(|_| ())
}
