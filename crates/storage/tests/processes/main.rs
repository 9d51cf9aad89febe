//! Several processes on one file, and processes killed in the middle of their work.
//!
//! ```text
//! kills: sqlite: 300 kills, 5926 acknowledged, 0 lost
//! ```
//!
//! This program starts itself as the child processes; without arguments it is the test. `-- STORAGE`
//! kills on one storage only.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::print_stdout,
    reason = "children tell what was acknowledged; the test how it went"
)]

#[path = "../backends.rs"]
mod backends;
mod kill;
mod share;
mod stale;

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Instant,
};

use contexture_core::{storage::check::check_session, *};
use contexture_storage::{SystemClock, sqlite::SqliteStorage};
use futures::executor::block_on;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let only = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["kill-child", locator, kill] => return kill::child(locator, kill),
        ["share-child", path, name] => return share::child(Path::new(path), name),
        ["stale-child", path] => return stale::child(Path::new(path)),
        [only] => Some(only),
        _ => None,
    };
    if only.is_none() {
        let folder = tempfile::tempdir().unwrap();
        share::four_processes_lose_no_update(&folder.path().join("contexture.db"));
        println!("test four_processes_lose_no_update ... ok");
        stale::a_process_that_keeps_writing_sees_what_another_wrote(
            &folder.path().join("stale.db"),
        );
        println!("test a_process_that_keeps_writing_sees_what_another_wrote ... ok");
    }
    // Who writes to S3 leaves nothing half done but objects that nothing names; its own tests end
    // the process at every request. By name it can be asked for here as well.
    let wanted = |name: &str| only.map_or(name != "s3", |only| only == name);
    let mut backends = backends::durable();
    backends.retain(|backend| wanted(backend.name()));
    let summaries = backends::side_by_side(&backends, |backend| {
        let began = Instant::now();
        let summary = kill::what_was_acknowledged_survives(backend);
        println!("{}: {:.1} s", backend.name(), began.elapsed().as_secs_f64());
        summary
    });
    println!();
    summaries.iter().for_each(|summary| println!("{summary}"));
    assert!(!summaries.is_empty() && summaries.iter().all(kill::Summary::is_clean));
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
    block_on(system.as_system().apply(Edit::CreateDetailPage(new))).unwrap().pages.remove(0)
}

fn text(system: &ContextSystem, page: &PageIndex) -> String {
    message::detail_text(&block_on(system.as_system().reader().messages(page)).unwrap())
}
