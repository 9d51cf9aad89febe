//! The suite every storage must pass, with the memory storage as the model.
//!
//! A storage's test calls [`run`] with its [`Backend`], or takes the tests one by one from [`TESTS`].
//! The rules themselves stand with the trait, [`PageStorage`].

mod basis;
mod contents;
mod copies;
mod counts;
mod differential;
mod feed;
mod folds;
mod history;
mod imports;
mod large;
mod ledgers;
mod lists;
mod many;
mod moves;
mod open_exchanges;
mod paging;
mod records;
mod reopening;
mod runs;
mod sessions;
mod texts;
mod touched;

use std::{
    collections::BTreeMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use contexture_core::{
    Actor, HistoryEntry, Operation, Page, PageIndex, PageStorage, Segment, SessionId, Timestamp,
    storage::{
        Basis, Change, ChildQuery, Commit, Committed, Content, HistoryQuery, LevelChunk, Order,
        PageDelta, Place, PlaceClaim, RunRecord, SessionInfo, StandingFilter, StorageResult,
        ViewHead, ViewId,
    },
};
use futures::{executor::block_on, future::LocalBoxFuture};

pub use ledgers::sent;

use crate::{
    backend::{Backend, Home},
    fixture::BEGIN,
    state::scan,
};

/// A test: it gets an empty place.
pub type Test = fn(Arc<dyn Home>) -> LocalBoxFuture<'static, ()>;

macro_rules! tests {
    (
        storage: $($module:ident :: $name:ident),+;
        home: $($with:ident :: $again:ident),+ $(,)?
    ) => {
        /// All tests by name.
        pub const TESTS: &[(&str, Test)] = &[
            $((stringify!($name), |home| Box::pin(async move {
                // Held until the storage is closed: what it lies in goes with it.
                $module::$name(home.open()).await;
                drop(home);
            }))),+,
            $((stringify!($again), |home| Box::pin($with::$again(home)))),+,
        ];
    };
}

tests! {
    storage:
    sessions::sessions_are_made_listed_and_removed,
    sessions::a_missing_session_reads_as_empty,
    sessions::sessions_share_nothing_but_contents,
    sessions::a_snapshot_stands_still,
    sessions::a_session_has_a_mark,
    sessions::a_change_may_bring_the_sessions_times,
    basis::every_basis_is_checked,
    basis::a_refused_commit_changes_nothing,
    basis::appends_do_not_conflict,
    basis::numbers_and_places_are_dense_and_never_reused,
    basis::a_segment_added_in_the_same_change_can_be_claimed_on,
    basis::floors_raise_counters,
    lists::children_come_in_order_from_both_ends,
    lists::counts_and_last_places,
    lists::scans_come_in_order_of_number,
    lists::pages_are_read_in_the_order_asked_for,
    lists::the_last_page_of_a_turn,
    records::levels_focus_and_views,
    records::custom_state,
    records::history_is_asked_in_many_ways,
    records::undo_marks_history,
    contents::equal_contents_are_stored_once,
    contents::purge_scrubs_history_and_frees_contents,
    contents::purge_reaches_undone_creations,
    contents::purge_reaches_undone_moves,
    contents::contents_go_with_their_last_session,
    touched::a_view_knows_the_edit_that_changed_it,
    touched::custom_state_is_the_system_sides,
    touched::a_segment_knows_the_edit_that_changed_its_pages,
    folds::folds_and_runs_round_trip,
    folds::a_fold_is_reported_in_history,
    ledgers::records_are_appended_in_order,
    ledgers::records_are_read_newest_first,
    ledgers::ledgers_are_apart,
    ledgers::what_a_provider_reports_is_noted,
    ledgers::a_purge_scrubs_every_record,
    ledgers::ledgers_go_with_their_session,
    ledgers::large_records_are_kept,
    runs::run_records_are_kept_by_version,
    runs::run_records_are_listed_by_prefix,
    runs::run_records_and_reports_are_kept_together,
    runs::run_records_move_with_a_commit,
    runs::run_records_go_with_their_session,
    runs::a_snapshot_keeps_run_records_as_they_were,
    runs::a_purge_leaves_run_records,
    counts::counts_are_kept,
    counts::a_snapshot_reads_but_does_not_write,
    imports::a_session_is_taken_over_whole,
    imports::a_session_taken_over_lives_on,
    imports::nothing_shows_before_the_last_part,
    imports::what_was_begun_goes_with_its_session,
    imports::a_snapshot_takes_nothing_over,
    imports::chunks_and_ledgers_are_listed_in_order,
    imports::equal_sessions_have_equal_digests,
    copies::an_earlier_state_is_brought_forward,
    copies::a_session_that_went_its_own_way_is_left_alone,
    copies::an_earlier_state_stands_until_the_last_part,
    copies::an_edit_meanwhile_wins_over_a_later_state,
    differential::random_edits_read_the_same_as_in_memory,
    history::every_question_is_answered_as_in_memory,
    feed::changes_are_dense_complete_and_in_order,
    feed::changes_say_what_was_purged,
    large::a_content_of_16_mib,
    large::a_change_of_5000_pages,
    large::hundreds_of_pages_move_and_go_at_once,
    large::large_custom_values_and_run_records,
    many::fifty_sessions_side_by_side,
    many::names_that_begin_alike_are_apart,
    many::names_that_differ_in_case_only_are_apart,
    moves::what_moved_conflicts_and_nothing_else,
    moves::every_kind_of_move_is_seen,
    paging::lists_go_on_while_pages_come,
    paging::backward_lists_go_on_while_pages_come,
    paging::scans_go_on_while_pages_come,
    paging::limits_at_the_edges,
    texts::unusual_texts_come_back,
    texts::names_at_the_limits_of_their_grammar,
    texts::an_empty_storage_is_empty;
    home:
    reopening::everything_is_there_after_reopening,
    reopening::reopened_at_random_moments,
    open_exchanges::open_exchanges_outlive_the_process,
    reopening::a_refused_commit_leaves_nothing_to_find,
    feed::commits_of_another_process_reach_subscribers,
}

/// How many tests run side by side: more than there are cores, for some wait for a server.
const THREADS: usize = 4;

/// How a storage fared.
#[derive(Debug)]
pub struct Summary {
    /// The storage.
    pub name: &'static str,
    /// How many tests passed.
    pub passed: usize,
    /// The tests that failed; what they said stands above.
    pub failed: Vec<&'static str>,
}

impl Summary {
    /// Returns how many tests ran.
    pub fn ran(&self) -> usize {
        self.passed + self.failed.len()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, passed, failed } = self;
        let skipped = TESTS.len() - self.ran();
        write!(
            f,
            "conformance: {name}: {passed} passed, {} failed, {skipped} skipped",
            failed.len()
        )
    }
}

/// Runs every test, each in a place of its own.
pub fn run(backend: &dyn Backend) -> Summary {
    run_some(backend, "")
}

/// Runs the tests whose names hold a text.
pub fn run_some(backend: &dyn Backend, named: &str) -> Summary {
    let tests: Vec<_> = TESTS.iter().filter(|(name, _)| name.contains(named)).collect();
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    let work = || {
        while let Some((name, test)) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
            let ran = catch_unwind(AssertUnwindSafe(|| block_on(test(backend.home().into()))));
            if ran.is_err() {
                failed.lock().unwrap_or_else(PoisonError::into_inner).push(*name);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(work);
        }
    });
    let mut failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.sort_unstable();
    Summary { name: backend.name(), passed: tests.len() - failed.len(), failed }
}

/// Everything that can be read of a session.
#[derive(Debug, Default, PartialEq)]
pub struct Dump {
    info: Option<SessionInfo>,
    segments: Vec<Segment>,
    pages: BTreeMap<PageIndex, Page>,
    contents: BTreeMap<PageIndex, Option<Content>>,
    children: BTreeMap<PageIndex, Vec<PageIndex>>,
    counts: BTreeMap<PageIndex, (u64, Option<Place>)>,
    levels: BTreeMap<String, LevelChunk>,
    views: Vec<ViewHead>,
    custom: Vec<(contexture_core::storage::CustomKey, String)>,
    runs: Vec<RunRecord>,
    history: Vec<HistoryEntry>,
    turns: BTreeMap<String, Option<PageIndex>>,
    verified: Vec<String>,
}

/// Reads everything that can be read of a session.
pub async fn dump(storage: &dyn PageStorage, session: &SessionId) -> Dump {
    read_all(storage, session).await.expect("everything can be read")
}

async fn read_all(storage: &dyn PageStorage, session: &SessionId) -> StorageResult<Dump> {
    let mut dump = Dump {
        info: storage.session(session).await?,
        segments: storage.segments(session).await?,
        views: storage.views(session).await?,
        custom: storage.custom(session).await?,
        runs: storage.runs(session, "").await?,
        verified: storage.verify().await?,
        ..Dump::default()
    };
    let query = HistoryQuery { limit: usize::MAX >> 1, ..HistoryQuery::default() };
    dump.history = storage.history(session, &query).await?;
    let mut authors: Vec<Actor> = dump.history.iter().map(|entry| entry.actor.clone()).collect();
    authors.sort();
    authors.dedup();
    for segment in dump.segments.clone() {
        for author in &authors {
            let last = storage.last_turn_page(session, &segment.id, author).await?;
            let key = format!("{} {author}", segment.id);
            dump.turns.insert(key, last.map(|page| page.index));
        }
        for ViewHead { view, .. } in &dump.views.clone() {
            for chunk in 0..=segment.next_number / LevelChunk::SPAN {
                let id = segment.id.clone();
                let key =
                    contexture_core::storage::ChunkKey { view: view.clone(), segment: id, chunk };
                let keys = [key];
                let read = storage.levels(session, &keys).await?.remove(0);
                dump.levels.insert(format!("{keys:?}"), read);
            }
        }
        for page in scan(storage, session, &segment.id).await {
            dump_page(storage, session, page, &mut dump).await?;
        }
    }
    Ok(dump)
}

async fn dump_page(
    storage: &dyn PageStorage,
    session: &SessionId,
    page: Page,
    dump: &mut Dump,
) -> StorageResult<()> {
    let index = page.index.clone();
    if page.is_contents() {
        let children = children(storage, session, &index, StandingFilter::Any, Order::Forward);
        dump.children.insert(index.clone(), children.await);
        let count = storage.child_count(session, &index).await?;
        let last = storage.last_place(session, &index).await?;
        dump.counts.insert(index.clone(), (count, last));
    }
    if let Some(detail) = page.detail() {
        let content = storage.contents(session, &[detail.content]).await?.remove(0);
        dump.contents.insert(index.clone(), content);
    }
    let read = storage.pages(session, std::slice::from_ref(&index)).await?.remove(0);
    assert_eq!(read.as_ref(), Some(&page), "a scan and a read differ");
    dump.pages.insert(index, page);
    Ok(())
}

/// Reads a directory's pages in pieces of 3.
async fn children(
    storage: &dyn PageStorage,
    session: &SessionId,
    parent: &PageIndex,
    standing: StandingFilter,
    order: Order,
) -> Vec<PageIndex> {
    let mut all: Vec<PageIndex> = Vec::new();
    let mut after = None;
    loop {
        let query = ChildQuery { parent: parent.clone(), standing, order, after, limit: 3 };
        let piece = storage.children(session, &query).await.expect("children can be read");
        assert!(piece.len() <= 3, "a limit was not honoured");
        after = piece.last().map(|page| page.place);
        all.extend(piece.iter().map(|page| page.index.clone()));
        if piece.len() < 3 {
            return all;
        }
    }
}

/// A change that does nothing yet.
fn change() -> Change {
    Change {
        operation: Operation::Batch,
        actor: Actor::System,
        view: ViewId::SYSTEM,
        at: Timestamp::from_millis(BEGIN),
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
        basis: Basis::default(),
    }
}

/// From here on numbers and places are provisional.
const PROVISIONAL: u64 = 1 << 63;

/// A change that gives a page another name.
fn renaming(page: &Page, name: &str) -> Change {
    let mut after = page.clone();
    after.name = crate::fixture::valid(name);
    after.version = page.version.next();
    let delta = PageDelta {
        index: page.index.clone(),
        before: Some(page.clone()),
        after: Some(after),
        previous: Some(page.revision),
        restores: None,
    };
    Change { pages: vec![delta], subjects: vec![page.index.clone()], ..change() }
}

async fn commit(
    storage: &dyn PageStorage,
    session: &SessionId,
    change: Change,
) -> StorageResult<Committed> {
    storage.commit(session, Commit { create: None, change: Some(change) }).await
}

/// Reads a page that must be there.
async fn stored(storage: &dyn PageStorage, session: &SessionId, index: &str) -> Page {
    let indices = [crate::fixture::page(index)];
    let mut pages = storage.pages(session, &indices).await.expect("pages can be read");
    pages.remove(0).unwrap_or_else(|| panic!("{index} is missing"))
}
