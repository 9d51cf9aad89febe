//! A connection cut at any byte of a commit: what the caller hears is the truth.

use std::{sync::Arc, time::Duration};

use contexture_core::{
    ErrorKind, PageStorage, Timestamp,
    storage::{Commit, NewSession, RunPut, StorageError},
};
use contexture_storage::{PostgresOptions, PostgresStorage};
use contexture_testkit::fixture::{self, session_id, valid};
use futures::executor::block_on;

use crate::{
    proxy::{Direction, Proxy},
    support::{append, assert_sound, database, dynamic, names, open, options, system},
};

/// Cuts at about so many places in each direction.
const PLACES: usize = 60;

/// Does something whole once to see how many bytes that takes, then again and again with a cut at
/// places from its first byte to its last. `attempt` tells whether it was answered as done, as not
/// done, or as in doubt; `is_done` looks behind the proxy.
fn sweep(
    proxy: &Proxy,
    attempt: &mut dyn FnMut(usize) -> Result<(), String>,
    is_done: &dyn Fn(usize) -> bool,
) -> [usize; 2] {
    let mut count = 0;
    let (mut done, mut not) = (0, 0);
    for direction in [Direction::ToServer, Direction::ToClient] {
        // Twice: the first prepares statements.
        attempt(count).unwrap();
        proxy.cut_after(direction, usize::MAX);
        attempt(count + 1).unwrap();
        let total = proxy.calm().0[direction as usize];
        count += 2;
        let step = (total / PLACES).max(1);
        for bytes in (0..total).step_by(step) {
            // A connection whose statements are prepared: the commit is what the bytes are of.
            attempt(count).unwrap();
            proxy.cut_after(direction, bytes);
            let answer = attempt(count + 1);
            proxy.calm();
            let is_done = is_done(count + 1);
            match &answer {
                Ok(()) => assert!(is_done, "{direction:?} {bytes}: acknowledged and lost"),
                Err(error) => assert!(
                    !is_done && !error.contains("may have been made"),
                    "{direction:?} {bytes}: made, and answered {error}"
                ),
            }
            if answer.is_ok() {
                done += 1
            } else {
                not += 1
            }
            count += 2;
        }
    }
    [done, not]
}

fn through(url: &str) -> (Proxy, Arc<PostgresStorage>) {
    let (proxy, through) = Proxy::before(url);
    // One connection, so that the bytes counted are those of the commit.
    let options =
        PostgresOptions { max_connections: 1, timeout: Duration::from_secs(10), ..options() };
    (proxy, Arc::new(block_on(PostgresStorage::open(&through, options)).unwrap()))
}

// Wherever the connection of a commit is cut, the edit is made once and acknowledged, or not made
// and refused; a new connection finds out which.
#[test]
fn a_commit_cut_anywhere_is_answered_truthfully() {
    let url = database();
    let direct = open(&url);
    block_on(fixture::session(direct.clone()));
    let (proxy, storage) = through(&url);
    let writing = system(storage);
    let outcome = sweep(
        &proxy,
        &mut |at| {
            append(&writing, &format!("page {at}")).map(drop).map_err(|error| error.to_string())
        },
        &|at| {
            let name = format!("page {at}");
            let found = names(&*direct).iter().filter(|found| **found == name).count();
            assert!(found <= 1, "{name} was made twice");
            found == 1
        },
    );
    println!("commits cut: {} made, {} not", outcome[0], outcome[1]);
    assert_sound(&*direct);
}

// The same for what leaves no history: run records, and sessions being made.
#[test]
fn run_records_and_new_sessions_cut_anywhere_are_answered_truthfully() {
    let url = database();
    let direct = open(&url);
    block_on(fixture::session(direct.clone()));
    let (proxy, storage) = through(&url);
    let session = session_id();
    let key = |at: usize| valid(&format!("run {at}"));
    sweep(
        &proxy,
        &mut |at| {
            let put = RunPut::first(key(at), "begun", Timestamp::from_millis(1));
            block_on(storage.keep_run(&session, &put)).map_err(|error| error.to_string())
        },
        &|at| {
            let runs = block_on(direct.runs(&session, &format!("run {at}"))).unwrap();
            runs.iter().any(|run| run.key == key(at))
        },
    );
    let name = |at: usize| valid(&format!("session-{at}"));
    sweep(
        &proxy,
        &mut |at| {
            let new = NewSession { app: "a".into(), at: Timestamp::from_millis(1), mark: None };
            let commit = Commit { create: Some(new), change: None };
            let made = block_on(storage.commit(&name(at), commit));
            made.map(drop).map_err(|error| error.to_string())
        },
        &|at| block_on(direct.session(&name(at))).unwrap().is_some(),
    );
    assert_sound(&*direct);
}

/// The bytes that answer the notification behind a commit: `CommandComplete` and `ReadyForQuery`.
const NOTIFIED: usize = "C0000NOTIFY\0".len() + "Z00005".len();

// Where nobody can be asked, the error says that the edit may have been made, and only then.
#[test]
fn what_cannot_be_found_out_is_said_to_be_in_doubt() {
    let url = database();
    let direct = dynamic(&url);
    block_on(fixture::session(direct.clone()));
    let (proxy, through) = Proxy::before(&url);
    let options =
        PostgresOptions { max_connections: 1, timeout: Duration::from_millis(300), ..options() };
    let storage = Arc::new(block_on(PostgresStorage::open(&through, options)).unwrap());
    let writing = system(storage.clone());
    append(&writing, "warm").unwrap();
    proxy.cut_after(Direction::ToClient, usize::MAX);
    append(&writing, "measured").unwrap();
    let total = proxy.calm().0[Direction::ToClient as usize];
    // Nothing of the answers comes through: nothing was sent that could have been committed. All but
    // the last bytes of the commit's answer come through: it was committed, and who asks cannot know.
    let committed = total - NOTIFIED;
    for (name, bytes, doubt) in [("first", 0, false), ("last", committed - 1, true)] {
        proxy.for_good();
        proxy.cut_after(Direction::ToClient, bytes);
        let error = append(&writing, name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert_eq!(error.to_string().contains("may have been made"), doubt, "{error}");
        proxy.calm();
        assert_eq!(names(&*direct).contains(&name.to_owned()), doubt, "{name}");
        // It goes on, on what stands.
        block_on(writing.refresh()).unwrap();
        append(&writing, &format!("after {name}")).unwrap();
    }
    let gone = block_on(storage.session(&valid("nobody"))).unwrap();
    assert!(gone.is_none());
    let missing = Commit { create: None, change: None };
    let refused = block_on(storage.commit(&valid("nobody"), missing)).unwrap_err();
    assert!(matches!(refused, StorageError::SessionMissing { .. }));
    assert_sound(&*direct);
}
