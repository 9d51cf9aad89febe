//! Search on every storage, with one line for each at the end.
//!
//! ```text
//! search: postgres: 9 passed, 0 failed
//! ```
//!
//! `-- STORAGE [TEST]` runs one storage, or the tests with that in their name. This program starts itself as the other
//! processes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "the summary is what this program is for")]

#[path = "../../../storage/tests/backends.rs"]
mod backends;
mod finding;
mod peers;
mod states;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Instant,
};

use contexture_core::{
    ContextSystem, Edit, PageIndex, PageStorage, Session, storage::StorageResult,
};
use contexture_search::{FindQuery, SearchIndex};
use contexture_storage::SystemClock;
use contexture_testkit::{
    backend::{Backend, Home},
    edits::beginning,
    fixture::{assistant, segment, session_id, user},
};
use tempfile::TempDir;

/// A test: its name, and what it does in a new home.
type Test = (&'static str, fn(&World));

const TESTS: [Test; 10] = [
    ("finds_what_edits_leave", finding::finds_what_edits_leave),
    ("undo_brings_words_back", finding::undo_brings_words_back),
    ("agents_find_within_their_view", finding::agents_find_within_their_view),
    ("a_fork_finds_what_it_inherited", finding::a_fork_finds_what_it_inherited),
    ("goes_on_after_reopening", states::goes_on_after_reopening),
    ("notices_an_earlier_state", states::notices_an_earlier_state),
    ("a_session_made_again_is_another_one", states::a_session_made_again_is_another_one),
    ("two_handles_find_each_others_pages", peers::two_handles_find_each_others_pages),
    ("two_processes_find_each_others_pages", peers::two_processes_find_each_others_pages),
    ("survives_kill_9_between_commit_and_index", peers::survives_kill_9_between_commit_and_index),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (only, named) = match words[..] {
        ["peer", locator, place] => {
            peers::peer(locator, Path::new(place));
            return ExitCode::SUCCESS;
        }
        [only, named, ..] => (Some(only), named),
        [only] => (Some(only), ""),
        [] => (None, ""),
    };
    let mut backends = backends::all();
    backends.retain(|backend| only.is_none_or(|only| only == backend.name()));
    let failures = backends::side_by_side(&backends, |backend| run(backend, named));
    match !failures.is_empty() && failures.iter().all(|failed| *failed == 0) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Runs the tests on a storage; returns how many failed.
fn run(backend: &dyn Backend, named: &str) -> usize {
    let began = Instant::now();
    let (mut passed, mut failed) = (0, 0);
    for (name, test) in TESTS.iter().filter(|(name, _)| name.contains(named)) {
        match catch_unwind(AssertUnwindSafe(|| test(&World::new(backend)))) {
            Ok(()) => passed += 1,
            Err(_) => {
                println!("test {}::{name} ... FAILED", backend.name());
                failed += 1;
            }
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("search: {}: {passed} passed, {failed} failed ({seconds:.1} s)", backend.name());
    failed + usize::from(passed == 0)
}

/// A new home of a storage, and a folder for its index.
pub(crate) struct World {
    pub(crate) home: Box<dyn Home>,
    folder: TempDir,
}

impl World {
    fn new(backend: &dyn Backend) -> Self {
        Self { home: backend.home(), folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn place(&self) -> PathBuf {
        self.folder.path().join("search")
    }

    /// Opens the storage and its index.
    pub(crate) fn open(&self) -> (Arc<dyn PageStorage>, SearchIndex) {
        let storage = self.home.open();
        let index = SearchIndex::open(storage.clone(), Some(&self.place())).unwrap();
        (storage, index)
    }
}

/// Makes a session with the segments that agents share and some of their own.
pub(crate) async fn begin(storage: &Arc<dyn PageStorage>) -> ContextSystem {
    let clock = Arc::new(SystemClock);
    let create = ContextSystem::create(storage.clone(), session_id(), "search", clock);
    let system = create.await.unwrap();
    for edit in beginning() {
        system.as_system().apply(edit).await.unwrap();
    }
    system
}

/// Opens the session.
pub(crate) async fn open_session(storage: &Arc<dyn PageStorage>) -> ContextSystem {
    let clock = Arc::new(SystemClock);
    ContextSystem::open(storage.clone(), session_id(), clock).await.unwrap()
}

/// Adds a turn; returns its page.
pub(crate) async fn say(system: &ContextSystem, id: &str, text: &str) -> PageIndex {
    let messages = vec![user(text), assistant("Noted.")];
    let add = Edit::AddTurn { segment: segment(id), messages };
    system.as_system().apply(add).await.unwrap().pages.remove(0)
}

/// Returns the pages that are found, those of the archive with an asterisk.
pub(crate) async fn found(index: &SearchIndex, session: &Session, text: &str) -> Vec<String> {
    let query = FindQuery { limit: 100, ..FindQuery::new(text) };
    let hits = index.find(session, &query).await.unwrap();
    let hit = |hit: &contexture_search::Hit| {
        let mark = if hit.page.archived { "*" } else { "" };
        format!("{}{mark}", hit.index())
    };
    hits.iter().map(hit).collect()
}

/// Opens what another process named.
pub(crate) fn open_there(locator: &str) -> StorageResult<Arc<dyn PageStorage>> {
    backends::open(locator)
}
