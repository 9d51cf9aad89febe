//! Several processes on one folder, and a process killed in the middle of its work.
//!
//! The child is this program again, asked for the test [`child`] alone.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use contexture_core::{
    AgentContext, ContextSystem, Edit, ErrorKind, NewDetailPage, PageIndex, PageStorage,
    PageUpdate, View, message::detail_text,
};
use contexture_storage::{FilesOptions, FilesStorage, SystemClock};
use contexture_testkit::{
    concurrency, fixture,
    fixture::{page, session_id, valid},
};
use futures::executor::block_on;

use crate::open;

const CHILD: &str = "CONTEXTURE_FILES_CHILD";

fn spawn(role: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::child", "--nocapture", "--test-threads=1"])
        .env(CHILD, format!("{role}\t{}", path.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// What a child process does; nothing when no other test asks for it.
#[test]
fn child() {
    let Ok(asked) = std::env::var(CHILD) else { return };
    let (role, path) = asked.split_once('\t').unwrap();
    match role {
        "append" => append_for_ever(Path::new(path)),
        name => share(Path::new(path), name),
    }
}

fn system(path: &Path) -> ContextSystem {
    let opened = ContextSystem::open(open(path), session_id(), Arc::new(SystemClock));
    block_on(opened).unwrap()
}

fn append(system: &ContextSystem, text: &str) -> PageIndex {
    let new = NewDetailPage::new(page("usr-0"), valid("appended"), text);
    block_on(system.as_system().apply(Edit::CreateDetailPage(new))).unwrap().pages.remove(0)
}

fn text(system: &ContextSystem, index: &PageIndex) -> String {
    detail_text(&block_on(system.as_system().reader().messages(index)).unwrap())
}

fn append_for_ever(path: &Path) {
    let system = system(path);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let system = system.clone();
            scope.spawn(move || {
                for at in 0.. {
                    let text = format!("thread {thread} page {at}");
                    let page = append(&system, &text);
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "\t{page}\t{text}").unwrap();
                    out.flush().unwrap();
                }
            });
        }
    });
}

// What was acknowledged survives kill -9, wherever it strikes; the rest is whole or absent.
#[test]
fn what_was_acknowledged_survives_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    drop(block_on(fixture::session(open(dir.path()))));
    let mut acknowledged: Vec<(String, String)> = Vec::new();
    for strike in [1, 2, 5, 30, 100] {
        let mut writer = spawn("append", dir.path());
        let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        let told = lines.map(Result::unwrap).filter(|line| line.contains('\t'));
        for line in told.take(strike) {
            let mut words = line.split('\t').skip(1);
            let (page, text) = (words.next().unwrap(), words.next().unwrap());
            acknowledged.push((page.to_owned(), text.to_owned()));
        }
        // On Unix this is SIGKILL.
        writer.kill().unwrap();
        writer.wait().unwrap();
        let system = system(dir.path());
        for (page, expected) in &acknowledged {
            assert_eq!(text(&system, &page.parse().unwrap()), *expected, "page {page}");
        }
        assert_eq!(block_on(system.storage().verify()).unwrap(), [""; 0]);
        let session = session_id();
        let storage = system.storage();
        let checked = contexture_core::storage::check::check_session(&*storage, &session);
        assert_eq!(block_on(checked).unwrap(), [""; 0]);
    }
}

const PROCESSES: usize = 3;
const ROUNDS: usize = 10;

fn share(path: &Path, name: &str) {
    let system = system(path);
    let agent = AgentContext::new(system.clone(), View::common(valid(name)));
    for round in 0..ROUNDS {
        append(&system, &format!("{name} {round}"));
        loop {
            let counter = block_on(agent.get_page("usr-1")).unwrap().page;
            let count: usize = text(&system, &counter.index).parse().unwrap();
            let mut update = PageUpdate::of(counter.index.clone());
            update.detail = Some((count + 1).to_string());
            update.if_version = Some(counter.version);
            match block_on(agent.apply(Edit::UpdatePage(update))) {
                Ok(_) => break,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error}"),
            }
        }
        block_on(agent.pin_page("usr-1")).unwrap();
    }
}

// Processes on one folder lose no update.
#[test]
fn processes_share_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let made = block_on(fixture::session(open(dir.path())));
    append(&made, "0");
    let names: Vec<String> = (0..PROCESSES).map(|at| format!("p{at}")).collect();
    let children: Vec<Child> = names.iter().map(|name| spawn(name, dir.path())).collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let system = system(dir.path());
    assert_eq!(text(&system, &page("usr-1")), (PROCESSES * ROUNDS).to_string());
    assert_eq!(block_on(system.storage().verify()).unwrap(), [""; 0]);
    let segments = block_on(system.storage().segments(&session_id())).unwrap();
    let usr = segments.iter().find(|segment| segment.id.as_str() == "usr").unwrap();
    assert_eq!(usr.next_number, 2 + (PROCESSES * ROUNDS) as u64);
}

// The same with storages of their own in one process.
#[test]
fn storages_share_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    drop(block_on(fixture::session(open(dir.path()))));
    concurrency::run(|_| system(dir.path()), 4, 3);
}

// Who waits longer than it is willing to is told for which lock.
#[test]
fn a_lock_held_for_long_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let options =
        FilesOptions { busy_timeout: std::time::Duration::from_millis(20), ..Default::default() };
    let storage = FilesStorage::open(dir.path(), options).unwrap();
    let lock = std::fs::File::open(dir.path().join(".local/lock")).unwrap();
    lock.lock().unwrap();
    let refused = block_on(fixture_session(&storage)).unwrap_err();
    assert!(refused.to_string().contains(".local/lock"), "{refused}");
    assert_eq!(refused.kind(), ErrorKind::Unavailable);
    lock.unlock().unwrap();
    block_on(fixture_session(&storage)).unwrap();
}

async fn fixture_session(
    storage: &FilesStorage,
) -> contexture_core::storage::StorageResult<contexture_core::storage::Committed> {
    let at = contexture_core::Timestamp::from_millis(0);
    let new = contexture_core::storage::NewSession { app: "t".to_owned(), at, mark: None };
    let create = contexture_core::storage::Commit { create: Some(new), change: None };
    storage.commit(&session_id(), create).await
}
