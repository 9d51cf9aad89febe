use std::{
    io::{BufRead, BufReader},
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use contexture_core::*;
use futures::executor::block_on;

use crate::{append, index, make, open, spawn};

const THREADS: usize = 4;
const NAME: &str = "renamed by another process";

/// How many own commits it may take until what another process wrote is seen: with none that hangs,
/// those that were in the air take a few.
const SOON: u64 = 300;

pub(crate) fn child(path: &Path) {
    let system = open(path);
    let mut update = PageUpdate::of(index("usr-1"));
    update.name = Some(NAME.parse().unwrap());
    block_on(system.as_system().apply(Edit::UpdatePage(update))).unwrap();
    println!("renamed");
}

// A process that writes without a pause, in many threads, sees what another one wrote.
pub(crate) fn a_process_that_keeps_writing_sees_what_another_wrote(path: &Path) {
    make(path);
    let system = open(path);
    let name =
        || block_on(system.as_system().reader().page(&index("usr-1"))).unwrap().page.name.clone();
    assert_eq!(name().as_str(), "Counter");
    let (done, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    append(&system, "more", "words");
                    commits.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut child = spawn(&["stale-child", path.to_str().unwrap()]);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next();
        let before = commits.load(Ordering::Relaxed);
        let is_soon = || commits.load(Ordering::Relaxed) < before + SOON;
        let mut seen = false;
        while !seen && is_soon() {
            seen = name().as_str() == NAME;
        }
        done.store(true, Ordering::Relaxed);
        assert_eq!(line.unwrap().unwrap(), "renamed");
        assert!(child.wait().unwrap().success());
        assert!(seen, "not seen after {SOON} own commits");
    });
}
