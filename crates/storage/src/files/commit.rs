//! What a commit writes, file by file; and what is written beside commits: runs and windows sent.

use std::collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry};

use contexture_core::{
    Page, PageIndex, SessionId,
    storage::{
        Commit, Committed, Content, ContentHash, Keep, LedgerKey, LedgerQuery, Mark, RunPut,
        SentWindow, StorageError, UsageReport, ViewHead,
        commit_plan::{CommitReads, CommitState, CommitWrites, check_run_version, plan_commit},
    },
};

use super::{
    batch::{AsOf, Batch},
    index::{self, FilesFaultResult},
    names::Spot,
    record::{Head, Record},
};
use crate::sqlite::{ledger, lookup, read, runs};

/// Decides a commit on what stands, and writes it.
pub(crate) fn commit(
    batch: &mut Batch<'_>,
    session: &SessionId,
    commit: &Commit,
) -> FilesFaultResult<Committed> {
    let mut present =
        CommitState { info: read::session(batch.db, session)?, ..CommitState::default() };
    if let Some(change) = &commit.change {
        let mut asked = CommitReads::of(change);
        load(batch, session, &asked, &mut present)?;
        loop {
            let more = present.unread(change, &asked);
            if more.is_empty() {
                break;
            }
            load(batch, session, &more, &mut present)?;
            asked.extend(more);
        }
    }
    let mark = match &commit.create {
        Some(_) => crate::random::mark("a session's mark")?,
        None => Mark::from_seed(&[]),
    };
    let writes = plan_commit(present, session, commit.clone(), move || mark)?;
    write(batch, session, writes)
}

/// Reads what is wanted.
fn load(
    batch: &Batch<'_>,
    session: &SessionId,
    wanted: &CommitReads,
    present: &mut CommitState,
) -> FilesFaultResult<()> {
    let db = batch.db;
    let Some(key) = index::key(db, session)? else { return Ok(()) };
    let indices: Vec<PageIndex> = wanted.pages.iter().cloned().collect();
    let pages = read::pages(db, session, &indices)?;
    present.pages.extend(indices.into_iter().zip(pages).filter_map(|(at, page)| Some((at, page?))));
    for parent in &wanted.lists {
        if let Some(place) = read::last_place(db, session, parent)? {
            present.last_places.insert(parent.clone(), place);
        }
    }
    for id in &wanted.segments {
        let row = lookup::segment(db, key, session, id)?;
        present.segments.extend(row.and_then(|row| row.segment).map(|found| (id.clone(), found)));
    }
    for chunk in &wanted.chunks {
        if let Some(segment) = lookup::segment_key(db, key, &chunk.segment)? {
            present.chunks.insert(chunk.clone(), lookup::chunk(db, key, segment, chunk)?);
        }
    }
    if !wanted.focus.is_empty() {
        let views = read::views(db, session)?.into_iter();
        let wanted = views.filter(|head| wanted.focus.contains(&head.view));
        present.focus.extend(wanted.filter_map(|head| Some((head.view, head.focus?))));
    }
    if !wanted.custom.is_empty() {
        present.custom.extend(read::custom(db, session)?);
    }
    for &revision in &wanted.entries {
        let entry = lookup::entry(db, key, session, revision)?;
        present.entries.extend(entry.map(|entry| (revision, entry)));
    }
    for run in &wanted.runs {
        let record = runs::read(db, session, run.as_str())?.into_iter().find(|had| had.key == *run);
        present.runs.extend(record.map(|record| (run.clone(), record)));
    }
    Ok(())
}

fn write(
    batch: &mut Batch<'_>,
    session: &SessionId,
    writes: CommitWrites,
) -> FilesFaultResult<Committed> {
    let before = index::head(batch.db, session)?;
    let (beside, files) = before.map(|head| (head.beside, head.files)).unwrap_or_default();
    let key = batch.put_head(Head { info: writes.info.clone(), beside, files })?;
    for segment in &writes.segments {
        batch.put(key, session, &Record::Segment(segment.clone()))?;
    }
    let touched = write_pages(batch, key, session, &writes)?;
    write_views(batch, key, session, &writes)?;
    for (chunk, levels) in &writes.levels {
        if levels.is_empty() {
            batch.delete(key, session, &Spot::Chunk(chunk.clone()))?;
        } else {
            batch.put(key, session, &Record::Chunk(chunk.clone(), levels.clone()))?;
        }
    }
    if !writes.custom.is_empty() {
        let mut custom: BTreeMap<_, _> = read::custom(batch.db, session)?.into_iter().collect();
        for (name, value) in &writes.custom {
            match value {
                Some(value) => custom.insert(name.clone(), value.clone()),
                None => custom.remove(name),
            };
        }
        if custom.is_empty() {
            batch.delete(key, session, &Spot::Custom)?;
        } else {
            batch.put(key, session, &Record::Custom(custom))?;
        }
    }
    for put in &writes.runs {
        write_run(batch, key, session, put)?;
    }
    for entry in writes.amended.iter().chain(&writes.entry) {
        batch.put(key, session, &Record::Entry(entry.clone()))?;
    }
    if writes.scrubs_ledgers {
        batch.purge();
        scrub(batch, key, session)?;
    }
    place_contents(batch, key, session, &writes, &touched)?;
    Ok(writes.committed)
}

fn hash_of(page: Option<&Page>) -> Option<ContentHash> {
    Some(page?.detail()?.content)
}

/// Writes pages with their words; returns the contents whose carriers may have changed.
fn write_pages(
    batch: &mut Batch<'_>,
    key: i64,
    session: &SessionId,
    writes: &CommitWrites,
) -> FilesFaultResult<BTreeSet<ContentHash>> {
    let new = writes.committed.change.iter().flat_map(|change| &change.contents);
    let mut known: HashMap<ContentHash, Option<Content>> =
        new.map(|content| (content.hash(), Some(content.clone()))).collect();
    let mut touched: BTreeSet<ContentHash> = writes.freed.iter().copied().collect();
    // All words are read before a page is written: it may be the one that carries them.
    for page in &writes.pages {
        touched.extend(hash_of(page.before.as_ref()));
        let Some(hash) = hash_of(page.after.as_ref()) else { continue };
        touched.insert(hash);
        if let Entry::Vacant(unknown) = known.entry(hash) {
            unknown.insert(batch.content(key, session, hash)?);
        }
    }
    for page in &writes.pages {
        match &page.after {
            Some(after) => {
                let content = hash_of(Some(after)).and_then(|hash| known.get(&hash)?.clone());
                batch.put(key, session, &Record::Page(after.clone(), content))?;
            }
            None => batch.delete(key, session, &Spot::Page(page.index.clone()))?,
        }
    }
    Ok(touched)
}

/// Gives words that history refers to and no page carries any more a file of their own, and takes it
/// away when a page carries them again or nothing refers to them.
fn place_contents(
    batch: &mut Batch<'_>,
    key: i64,
    session: &SessionId,
    writes: &CommitWrites,
    touched: &BTreeSet<ContentHash>,
) -> FilesFaultResult<()> {
    let before = writes.pages.iter().rev();
    let before = before.filter_map(|page| Some((hash_of(page.before.as_ref())?, &page.index)));
    let carried: HashMap<ContentHash, &PageIndex> = before.collect();
    for &hash in touched {
        let (by_pages, by_itself) = index::is_carried(batch.db, key, hash)?;
        let wanted = !by_pages && index::refs(batch.db, key, hash)? > 0;
        if by_itself && !wanted {
            batch.delete(key, session, &Spot::Content(hash))?;
        }
        if wanted && !by_itself {
            let mut content = None;
            if let Some(&page) = carried.get(&hash) {
                let spot = Spot::Page(page.clone());
                content = batch.carried(session, &spot, hash, AsOf::Before)?;
            }
            if let Some(content) = content {
                batch.put(key, session, &Record::Content(content))?;
            }
        }
    }
    Ok(())
}

fn write_views(
    batch: &mut Batch<'_>,
    key: i64,
    session: &SessionId,
    writes: &CommitWrites,
) -> FilesFaultResult<()> {
    if writes.views.is_empty() {
        return Ok(());
    }
    let stored = read::views(batch.db, session)?;
    for view in &writes.views {
        let moved = writes.focus.iter().rev().find(|(of, _)| of == view);
        let focus = match moved {
            Some((_, focus)) => focus.clone(),
            None => {
                stored.iter().find(|head| head.view == *view).and_then(|head| head.focus.clone())
            }
        };
        let head = ViewHead { view: view.clone(), focus, touched: writes.info.revision };
        batch.put(key, session, &Record::View(head))?;
    }
    Ok(())
}

fn write_run(
    batch: &mut Batch<'_>,
    key: i64,
    session: &SessionId,
    put: &RunPut,
) -> FilesFaultResult<()> {
    match put.record() {
        Some(record) => batch.put(key, session, &Record::Run(record)),
        None => batch.delete(key, session, &Spot::Run(put.key.clone())),
    }
}

fn scrub(batch: &mut Batch<'_>, key: i64, session: &SessionId) -> FilesFaultResult<()> {
    for ledger in ledger::keys(batch.db, session)? {
        let all = LedgerQuery { upto: None, limit: usize::MAX };
        for mut sent in ledger::read(batch.db, session, &ledger, &all)? {
            sent.scrub();
            batch.put(key, session, &Record::Sent(ledger.clone(), sent))?;
        }
    }
    Ok(())
}

fn missing(session: &SessionId) -> StorageError {
    StorageError::SessionMissing { session: session.clone() }
}

/// Counts something written beside edits; returns the session's key.
fn count_beside(batch: &mut Batch<'_>, session: &SessionId) -> FilesFaultResult<i64> {
    let mut head = index::head(batch.db, session)?.ok_or_else(|| missing(session))?;
    head.beside = head.beside.saturating_add(1);
    batch.put_head(head)
}

/// Keeps or removes run records and notes a report between commits; tells whether there is the window
/// that is reported on.
pub(crate) fn keep(
    batch: &mut Batch<'_>,
    session: &SessionId,
    keep: &Keep,
) -> FilesFaultResult<bool> {
    for put in &keep.runs {
        let stored = runs::read(batch.db, session, put.key.as_str())?;
        let stored = stored.into_iter().find(|record| record.key == put.key);
        index::head(batch.db, session)?.ok_or_else(|| missing(session))?;
        check_run_version(stored.as_ref(), put)?;
    }
    let reported = match &keep.report {
        Some(report) => reported(batch, session, report)?,
        None => None,
    };
    let found = keep.report.is_none() || reported.is_some();
    if keep.runs.is_empty() && reported.is_none() {
        return Ok(found);
    }
    let key = count_beside(batch, session)?;
    keep.runs.iter().try_for_each(|put| write_run(batch, key, session, put))?;
    if let (Some(report), Some(sent)) = (&keep.report, reported) {
        batch.put(key, session, &Record::Sent(report.ledger.clone(), sent))?;
    }
    Ok(found)
}

/// Returns a window sent as a report leaves it; none where there is no such window.
fn reported(
    batch: &Batch<'_>,
    session: &SessionId,
    report: &UsageReport,
) -> FilesFaultResult<Option<SentWindow>> {
    let query = LedgerQuery { upto: Some(report.number), limit: 1 };
    let found = ledger::read(batch.db, session, &report.ledger, &query)?.into_iter().next();
    let usage = Some(report.usage.clone());
    Ok(found.filter(|sent| sent.number == report.number).map(|sent| SentWindow { usage, ..sent }))
}

/// Appends a window sent.
pub(crate) fn record(
    batch: &mut Batch<'_>,
    session: &SessionId,
    ledger: &LedgerKey,
    sent: &SentWindow,
) -> FilesFaultResult<()> {
    let key = count_beside(batch, session)?;
    let newest = LedgerQuery { upto: None, limit: 1 };
    let last =
        ledger::read(batch.db, session, ledger, &newest)?.first().map_or(0, |sent| sent.number);
    if last.checked_add(1) != Some(sent.number) {
        let subject = format!("the {} ledger of view {}", ledger.format, ledger.view);
        return Err(StorageError::Conflict { subject }.into());
    }
    batch.put(key, session, &Record::Sent(ledger.clone(), sent.clone()))
}
