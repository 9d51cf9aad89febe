//! Accepting losses that need a decision: afterwards agents run without the lost prompts.

use std::collections::BTreeSet;

use super::{
    super::{
        BATCH,
        lost::{self, is_lost},
        rebuild::{guess_accepted, is_guess},
        trail::{Trail, acceptance, accepted_losses},
    },
    edit::{commit, empty, put},
};
use crate::{
    Operation, Page, PageStorage, Segment, SegmentKind, SessionId, Timestamp,
    storage::{PageBody, ScanQuery, SegmentDelta, StandingFilter, StorageResult},
};

/// Accepts the session's losses: system prompts, the unknown kind of a segment, and edits whose effect is
/// unknown. Agents then run without them. Returns what was accepted, one sentence each.
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
            let after = Page { body: PageBody::Detail(detail), ..page.clone() };
            put(&mut change, Some(page), after);
        }
        if !change.pages.is_empty() {
            commit(storage, session, change).await?;
        }
    }
    done.extend(accept_guesses(storage, session, at).await?);
    done.extend(accept_lost_edits(storage, session, at).await?);
    Ok(done)
}

/// Accepts the loss of edits whose effect is unknown.
async fn accept_lost_edits(
    storage: &dyn PageStorage,
    session: &SessionId,
    at: Timestamp,
) -> StorageResult<Option<String>> {
    let (segments, trail) = (storage.segments(session).await?, Trail::of(storage, session).await?);
    let (Some(first), Some(info)) = (segments.first(), storage.session(session).await?) else {
        return Ok(None);
    };
    let mut is_untold = trail.untold_segment(&segments).is_some();
    for segment in &segments {
        let pages = all_pages(storage, session, segment).await?;
        let numbers: BTreeSet<u64> = pages.iter().map(|page| page.index.number()).collect();
        is_untold |= trail.untold(segment, |number| numbers.contains(&number)).is_some();
    }
    if !is_untold {
        return Ok(None);
    }
    let mut change = empty(first, at);
    change.operation = Operation::SetCustom;
    let before = accepted_losses(storage, session).await?;
    let delta = acceptance(before, info.revision);
    change.basis.custom.push((delta.key.clone(), delta.before.clone()));
    change.custom.push(delta);
    commit(storage, session, change).await?;
    Ok(Some("the loss of edits and of what they created was accepted".to_owned()))
}

/// Accepts the guessed kinds of segments.
async fn accept_guesses(
    storage: &dyn PageStorage,
    session: &SessionId,
    at: Timestamp,
) -> StorageResult<Vec<String>> {
    let mut done = Vec::new();
    for before in storage.segments(session).await?.into_iter().filter(is_guess) {
        let mut change = empty(&before, at);
        let (description, version) = (guess_accepted(), before.version.next());
        let after = Segment { description, version, updated_at: at, ..before.clone() };
        done.push(format!("the kind of segment {} was accepted as {}", after.id, after.kind));
        change.segments.push(SegmentDelta { before: Some(before), after, restores: None });
        commit(storage, session, change).await?;
    }
    Ok(done)
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
