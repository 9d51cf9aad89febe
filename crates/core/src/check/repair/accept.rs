//! Losses that somebody must decide about, once they are accepted: agents run without what is lost.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{
        BATCH,
        lost::{self, is_lost},
        trail::Trail,
    },
    edit::{commit, empty, put},
};
use crate::{
    Body, Page, Segment, SegmentDelta, SegmentKind, SessionId, Timestamp,
    storage::{PageStorage, ScanQuery, StandingFilter, StorageResult},
};

/// Accepts that system prompts of the session are lost, or segments of which nothing is known any more,
/// so that agents run without them; returns what was done, a sentence each.
pub async fn accept_losses(
    storage: &dyn PageStorage,
    session: &SessionId,
    at: Timestamp,
) -> StorageResult<Vec<String>> {
    let mut done = Vec::new();
    for segment in storage.segments(session).await? {
        if segment.kind != SegmentKind::System || segment.removed {
            continue;
        }
        let pages = all_pages(storage, session, &segment).await?;
        let mut change = empty(&segment, at);
        for page in pages.into_iter().filter(is_lost) {
            let (content, detail) = lost::accepted(&page);
            change.contents.push(content);
            done.push(format!("the loss of page {} was accepted", page.index));
            let after = Page { body: Body::Detail(detail), ..page.clone() };
            put(&mut change, Some(page), after);
        }
        if !change.pages.is_empty() {
            commit(storage, session, change).await?;
        }
    }
    done.extend(close_gaps(storage, session, at).await?);
    Ok(done)
}

/// Lets segments move up in their order to where lost ones stood.
async fn close_gaps(
    storage: &dyn PageStorage,
    session: &SessionId,
    at: Timestamp,
) -> StorageResult<Option<String>> {
    let segments = storage.segments(session).await?;
    let trail = Trail::of(storage, session).await?;
    if trail.untold_segment(&segments).is_none() {
        return Ok(None);
    }
    let ordinals: BTreeSet<u64> = segments.iter().map(|segment| segment.ordinal).collect();
    let lost = ordinals.last().map_or(0, |last| last + 1) - ordinals.len() as u64;
    let places: BTreeMap<u64, u64> = ordinals.into_iter().zip(0..).collect();
    let moved: Vec<Segment> =
        segments.into_iter().filter(|it| places[&it.ordinal] != it.ordinal).collect();
    let Some(first) = moved.first() else { return Ok(None) };
    let mut change = empty(first, at);
    change.basis.segments = moved.iter().map(|it| (it.id.clone(), Some(it.version))).collect();
    change.segments.extend(moved.into_iter().map(|before| {
        let (ordinal, version) = (places[&before.ordinal], before.version.next());
        let after = Segment { ordinal, version, updated_at: at, ..before.clone() };
        SegmentDelta { before: Some(before), after, restores: None }
    }));
    commit(storage, session, change).await?;
    let what = if lost == 1 { "a segment" } else { "segments" };
    Ok(Some(format!("the loss of {what} of which nothing is known was accepted")))
}

async fn all_pages(
    storage: &dyn PageStorage,
    session: &SessionId,
    segment: &Segment,
) -> StorageResult<Vec<Page>> {
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let standing = StandingFilter::Any;
        let query = ScanQuery { segment: segment.id.clone(), standing, after, limit: BATCH };
        let batch = storage.scan(session, &query).await?;
        after = batch.last().map(|page| page.index.number());
        let is_last = batch.len() < BATCH;
        pages.extend(batch);
        if is_last {
            return Ok(pages);
        }
    }
}
