//! The change feed: how soon a commit of one process is seen by another, and what subscribers cost.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use contexture_core::{FeedEvent, *};
use contexture_storage::SystemClock;
use contexture_testkit::backend::Backend;
use futures::{FutureExt, StreamExt, executor::block_on};

use crate::{backends, median};

pub(crate) const CHILD: &str = "feed-child";

/// How many commits are waited for.
const COMMITS: usize = 60;

/// Commits now and then, and prints when each was acknowledged.
pub(crate) fn child(locator: &str) {
    let system = open(backends::open(locator).unwrap());
    for round in 0..COMMITS {
        // Never at the same moment of a look that comes again and again.
        std::thread::sleep(Duration::from_millis(40 + (round as u64 * 37) % 101));
        let revision = append(&system, round);
        println!("{} {}", revision.0, now());
    }
}

/// Measures on one storage: from when a commit returned in one process until it came in another.
pub(crate) fn run(backend: &dyn Backend) {
    let home = backend.home();
    let system = make(home.open());
    let mut feed = system.subscribe();
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program)
        .args([CHILD, &home.locator().unwrap()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut seen: BTreeMap<u64, u128> = BTreeMap::new();
    while seen.len() < COMMITS {
        match block_on(feed.next()).unwrap() {
            FeedEvent::Change(entry) => drop(seen.insert(entry.revision.0, now())),
            FeedEvent::Lagged { upto } => panic!("lagged up to {upto}"),
        }
    }
    let acknowledged = BufReader::new(child.stdout.take().unwrap()).lines();
    let late = acknowledged.map(|line| {
        let line = line.unwrap();
        let (revision, at) = line.split_once(' ').unwrap();
        let seen = seen[&revision.parse::<u64>().unwrap()];
        // What is heard of before the commit has returned is heard of at once.
        seen.saturating_sub(at.parse().unwrap()) as f64 / 1e3
    });
    let late: Vec<f64> = late.collect();
    assert!(child.wait().unwrap().success());
    let most = late.iter().copied().fold(0.0, f64::max);
    println!(
        "feed: {}: a commit of another process is seen after {:.1} ms (median of {}), at most {most:.1} ms",
        backend.name(),
        median(late.clone()),
        late.len(),
    );
}

/// Measures what subscribers cost those who write, in memory.
pub(crate) fn subscribers() {
    const EDITS: usize = 20_000;
    let (mut quick, mut stuck) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let alone = edits(EDITS, 0, 0);
        quick.push(edits(EDITS, 1, 0) / alone);
        stuck.push(edits(EDITS, 0, 100) / alone);
    }
    println!(
        "feed: subscribers: edits in memory take {:.2} × with one that reads, {:.2} × with a hundred that never do",
        median(quick),
        median(stuck)
    );
}

/// Returns how long some edits take with so many subscribers that read all, and that read nothing.
fn edits(count: usize, quick: usize, stuck: usize) -> f64 {
    let system = make(Arc::new(MemoryStorage::new()));
    append(&system, 0);
    let mut quick: Vec<_> = (0..quick).map(|_| system.subscribe()).collect();
    let stuck: Vec<_> = (0..stuck).map(|_| system.subscribe()).collect();
    let pin = Edit::PinPage("usr-1".parse().unwrap());
    let began = Instant::now();
    for _ in 0..count {
        block_on(system.as_system().apply(pin.clone())).unwrap();
        for feed in &mut quick {
            assert!(feed.next().now_or_never().is_some());
        }
    }
    let took = began.elapsed().as_secs_f64();
    drop(stuck);
    took
}

fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()
}

fn make(storage: Arc<dyn PageStorage>) -> ContextSystem {
    let edit = Edit::AddSegment(NewSegment::new("usr".parse().unwrap(), SegmentKind::User));
    let clock = Arc::new(SystemClock);
    let made = ContextSystem::create_with(storage, "s".parse().unwrap(), "bench", clock, &edit);
    block_on(made).unwrap()
}

fn open(storage: Arc<dyn PageStorage>) -> ContextSystem {
    block_on(ContextSystem::open(storage, "s".parse().unwrap(), Arc::new(SystemClock))).unwrap()
}

fn append(system: &ContextSystem, seed: usize) -> Revision {
    let name = format!("Page {seed}").parse().unwrap();
    let new = NewDetailPage::new("usr-0".parse().unwrap(), name, "some words");
    block_on(system.as_system().apply(Edit::CreateDetailPage(new))).unwrap().revision
}
