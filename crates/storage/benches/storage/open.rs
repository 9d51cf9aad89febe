//! Opening a session of a million pages must touch only what is asked for.

use std::{path::Path, process::Command, sync::Arc, time::Instant};

use contexture_core::{storage::Order, *};
use contexture_storage::{SystemClock, sqlite::SqliteStorage};
use futures::executor::block_on;

use crate::median;

pub(crate) const CHILD: &str = "open-child";

pub(crate) fn run(path: &Path) {
    let program = std::env::current_exe().unwrap();
    let mut times = Vec::new();
    let mut memory = Vec::new();
    for _ in 0..7 {
        let output = Command::new(&program).arg(CHILD).arg(path).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let mut figures = text.split_whitespace().map(|figure| figure.parse::<f64>().unwrap());
        times.push(figures.next().unwrap());
        memory.push(figures.next().unwrap());
    }
    let most = times.iter().copied().fold(0.0, f64::max);
    println!(
        "open: open, one page with its text, ancestors, last 20 siblings: {:.2} ms (most {most:.2} ms), \
         {:.1} MB resident at most, in a fresh process",
        median(times),
        median(memory)
    );
}

/// Runs in a process of its own and prints milliseconds and megabytes.
pub(crate) fn child(path: &str) {
    let began = Instant::now();
    let storage = SqliteStorage::open(Path::new(path), Default::default()).unwrap();
    let session = "million".parse().unwrap();
    block_on(async {
        let system =
            ContextSystem::open(Arc::new(storage), session, Arc::new(SystemClock)).await.unwrap();
        let reader = system.reader();
        let page: PageIndex = "usr-500000".parse().unwrap();
        let page = reader.page(&page).await.unwrap().page;
        assert!(!reader.messages(&page.index).await.unwrap().is_empty());
        assert_eq!(reader.ancestors(&page.index).await.unwrap().len(), 1);
        let root: PageIndex = "usr-0".parse().unwrap();
        let last = reader.children(&root, Order::Backward, None, 20).await.unwrap();
        assert_eq!(last.items.len(), 20);
    });
    println!("{} {}", began.elapsed().as_secs_f64() * 1e3, peak_megabytes());
}

fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: 0 kB");
    line.split_whitespace()
        .nth(1)
        .and_then(|kilobytes| kilobytes.parse::<f64>().ok())
        .unwrap_or(0.0)
        / 1e3
}
