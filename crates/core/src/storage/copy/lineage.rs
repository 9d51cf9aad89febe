//! Whether a session is an earlier state of another. A target that is one is brought forward; one that
//! has gone its own way holds what the source does not have, and is left alone.
//!
//! An edit is known again by what no later edit changes: its number, time, author and subjects. Undoing
//! marks an entry and purging empties it, so an earlier entry may say more or less than the later one.

use crate::{
    HistoryEntry, PageStorage, Revision, SessionId, Timestamp,
    storage::{
        HistoryQuery, LedgerKey, LedgerQuery, RunKey, RunRecord, SentWindow, SessionInfo,
        StorageResult, Version,
    },
};

/// How many records are read at a time: each may be large.
const BATCH: u64 = 100;

/// Says how a session has diverged; none when it is an earlier state of the one here.
///
/// Both storages must stand still meanwhile: snapshots.
pub(super) async fn own_way(
    here: &dyn PageStorage,
    there: &dyn PageStorage,
    session: &SessionId,
) -> StorageResult<Option<String>> {
    let (Some(ours), Some(theirs)) = (here.session(session).await?, there.session(session).await?)
    else {
        return Ok(None);
    };
    if (ours.created_at, &ours.mark, &ours.app) != (theirs.created_at, &theirs.mark, &theirs.app) {
        let (theirs, ours) = (theirs.created_at, ours.created_at);
        return Ok(Some(format!(
            "it was created independently, at {theirs} there and {ours} here"
        )));
    }
    if let Some(revision) =
        first_other(here, there, session, ours.revision.min(theirs.revision)).await?
    {
        return Ok(Some(format!("revision {revision} is a different edit there")));
    }
    if theirs.revision > ours.revision {
        return Ok(Some(ahead(&theirs, &ours)));
    }
    if let Some(run) = newer_run(here, there, session).await? {
        return Ok(Some(format!("run record {run} is newer there")));
    }
    let ledger = other_ledger(here, there, session).await?;
    Ok(ledger.map(|LedgerKey { view, format }| {
        format!("it records windows sent in {format} for view {view} that are unknown here")
    }))
}

fn ahead(theirs: &SessionInfo, ours: &SessionInfo) -> String {
    let (more, ours, theirs) =
        (theirs.revision.0 - ours.revision.0, ours.revision, theirs.revision);
    let edits = if more == 1 { "1 edit".to_owned() } else { format!("{more} edits") };
    format!("it is ahead by {edits}: revision {theirs} there, {ours} here")
}

/// Returns the first revision up to `upto` that is another edit there than here.
async fn first_other(
    here: &dyn PageStorage,
    there: &dyn PageStorage,
    session: &SessionId,
    upto: Revision,
) -> StorageResult<Option<Revision>> {
    let mut after = Revision(0);
    while after < upto {
        let last = Revision(after.0.saturating_add(BATCH)).min(upto);
        let query = HistoryQuery {
            after: Some(after),
            before: Some(last.next()),
            limit: BATCH as usize,
            ..HistoryQuery::default()
        };
        let ours = here.history(session, &query).await?;
        let theirs = there.history(session, &query).await?;
        let find = |revision: Revision| {
            let find = |entries: &[HistoryEntry]| {
                entries.iter().position(|entry| entry.revision == revision)
            };
            match (find(&ours), find(&theirs)) {
                (Some(one), Some(other)) => is_same(&ours[one], &theirs[other]),
                (one, other) => one == other,
            }
        };
        let numbers = after.0 + 1..=last.0;
        if let Some(other) = numbers.map(Revision).find(|revision| !find(*revision)) {
            return Ok(Some(other));
        }
        after = last;
    }
    Ok(None)
}

/// Tells whether two entries are of the same edit.
fn is_same(one: &HistoryEntry, other: &HistoryEntry) -> bool {
    let known = |entry: &HistoryEntry| {
        let HistoryEntry { revision, at, actor, view, operation, pages, segments, undoes, .. } =
            entry.clone();
        (revision, at, actor, view, operation, pages, segments, undoes)
    };
    let (left, right) = (&one.inverse.pages, &other.inverse.pages);
    known(one) == known(other)
        && left.len() == right.len()
        && left.iter().zip(right).all(|(left, right)| {
            // A purge takes the content out of an entry.
            let is_purged = left.assigned.is_none() || right.assigned.is_none();
            (&left.index, left.after) == (&right.index, right.after)
                && (is_purged || left.assigned == right.assigned)
        })
}

/// Returns a run record that changed there after it did here. One that is only there has ended here.
async fn newer_run(
    here: &dyn PageStorage,
    there: &dyn PageStorage,
    session: &SessionId,
) -> StorageResult<Option<RunKey>> {
    let ours = here.runs(session, "").await?;
    let is_newer = |theirs: &RunRecord| {
        let ours = ours.iter().find(|ours| ours.key == theirs.key);
        ours.is_some_and(|ours| {
            theirs.updated_at > ours.updated_at
                || (theirs.updated_at == ours.updated_at && theirs != ours)
        })
    };
    let theirs = there.runs(session, "").await?;
    Ok(theirs.into_iter().find(is_newer).map(|run| run.key))
}

/// Returns a ledger with a window, or a report of one, that is not known here.
async fn other_ledger(
    here: &dyn PageStorage,
    there: &dyn PageStorage,
    session: &SessionId,
) -> StorageResult<Option<LedgerKey>> {
    for key in there.ledgers(session).await? {
        let mut upto = newest(there, session, &key).await?;
        while upto > 0 {
            let query = LedgerQuery { upto: Some(upto), limit: BATCH as usize };
            let theirs = there.ledger(session, &key, &query).await?;
            let ours = here.ledger(session, &key, &query).await?;
            let is_known = |theirs: &SentWindow| {
                let ours = ours.iter().find(|ours| ours.number == theirs.number);
                ours.is_some_and(|ours| {
                    (ours.at, ours.hash) == (theirs.at, theirs.hash)
                        && (theirs.usage.is_none() || theirs.usage == ours.usage)
                })
            };
            if !theirs.iter().all(is_known) {
                return Ok(Some(key));
            }
            upto = theirs.last().map_or(0, |oldest| oldest.number.saturating_sub(1));
        }
    }
    Ok(None)
}

async fn newest(
    storage: &dyn PageStorage,
    session: &SessionId,
    key: &LedgerKey,
) -> StorageResult<u64> {
    let newest = LedgerQuery { upto: None, limit: 1 };
    let newest = storage.ledger(session, key, &newest).await?.pop();
    Ok(newest.map_or(0, |sent| sent.number))
}

/// What is written beside edits, in short: by this a write to the target meanwhile is noticed.
#[derive(PartialEq, Eq)]
pub(super) struct Beside {
    runs: Vec<(RunKey, Version, Timestamp)>,
    ledgers: Vec<(LedgerKey, u64)>,
}

impl Beside {
    pub(super) async fn of(storage: &dyn PageStorage, session: &SessionId) -> StorageResult<Self> {
        let runs = storage.runs(session, "").await?.into_iter();
        let mut ledgers = Vec::new();
        for key in storage.ledgers(session).await? {
            let newest = newest(storage, session, &key).await?;
            ledgers.push((key, newest));
        }
        let mut runs: Vec<_> = runs.map(|run| (run.key, run.version, run.updated_at)).collect();
        runs.sort();
        ledgers.sort();
        Ok(Self { runs, ledgers })
    }
}
