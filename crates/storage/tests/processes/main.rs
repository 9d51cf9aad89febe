//! Several processes on one file, and a process killed in the middle of its work.
//!
//! This program starts itself as the child processes; without arguments it is the test.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::print_stdout,
    reason = "children tell what was acknowledged; the test how it went"
)]

mod kill;
mod share;

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use contexture_core::{check::check_session, *};
use contexture_storage::{SystemClock, sqlite::SqliteStorage};
use futures::executor::block_on;

/// Runs on a file that is not there yet.
type Test = fn(&Path);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["kill-child", path] => return kill::child(Path::new(path)),
        ["share-child", path, name] => return share::child(Path::new(path), name),
        _ => {}
    }
    let tests: [(&str, Test); 2] = [
        ("what_was_acknowledged_survives_a_kill", kill::what_was_acknowledged_survives_a_kill),
        ("four_processes_lose_no_update", share::four_processes_lose_no_update),
    ];
    for (name, test) in tests {
        let folder = tempfile::tempdir().unwrap();
        test(&folder.path().join("contexture.db"));
        println!("test {name} ... ok");
    }
    println!("\ntest result: ok. {} passed; 0 failed", tests.len());
}

fn spawn(arguments: &[&str]) -> Child {
    let program = std::env::current_exe().unwrap();
    Command::new(program).args(arguments).stdout(Stdio::piped()).spawn().unwrap()
}

fn index(text: &str) -> PageIndex {
    text.parse().unwrap()
}

/// Makes a file with a session that has one directory and one page to fight over.
fn make(path: &Path) {
    let edits = Edit::Batch(vec![
        Edit::AddSegment(NewSegment::new("usr".parse().unwrap(), SegmentKind::User)),
        Edit::CreateDetailPage(NewDetailPage::new(index("usr-0"), "Counter".parse().unwrap(), "0")),
    ]);
    let storage = Arc::new(SqliteStorage::open(path, Default::default()).unwrap());
    let clock = Arc::new(SystemClock);
    let made = ContextSystem::create_with(storage, "s".parse().unwrap(), "test", clock, &edits);
    block_on(made).unwrap();
}

fn open(path: &Path) -> ContextSystem {
    let storage = Arc::new(SqliteStorage::open(path, Default::default()).unwrap());
    let opened = ContextSystem::open(storage, "s".parse().unwrap(), Arc::new(SystemClock));
    block_on(opened).unwrap()
}

fn assert_sound(system: &ContextSystem) {
    let storage = system.storage();
    assert_eq!(block_on(check_session(&*storage, system.session())).unwrap(), [""; 0]);
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
}

fn append(system: &ContextSystem, name: &str, text: &str) -> PageIndex {
    let new = NewDetailPage::new(index("usr-0"), name.parse().unwrap(), text);
    block_on(system.apply_internal(Edit::CreateDetailPage(new))).unwrap().pages.remove(0)
}

fn text(system: &ContextSystem, page: &PageIndex) -> String {
    message::detail_text(&block_on(system.reader().messages(page)).unwrap())
}
