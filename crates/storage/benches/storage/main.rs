//! The storage's figures, as ratios within one run. See docs/benchmarks.md.
//!
//! ```text
//! cargo bench -p contexture-storage --bench storage -- [flat|open|memory|writers|read|undo|feed|all]
//!     [--store NAME] [--pages N] [--dir DIR]
//! ```
//!
//! `open`, `memory` and `feed` run on every durable storage, or on the one that `--store` names; `undo` runs in
//! memory and on SQLite, or on the one named.
//!
//! Disks drift, so the two sides of a comparison alternate within the run and medians are reported.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

#[path = "../../tests/backends.rs"]
mod backends;
mod feed;
mod flat;
mod hand;
mod memory;
mod open;
mod read;
mod session;
mod undo;
mod writers;

use std::path::PathBuf;

struct Options {
    what: String,
    store: Option<String>,
    pages: usize,
    dir: PathBuf,
}

fn main() {
    let mut options = Options {
        what: "all".to_owned(),
        store: None,
        pages: 1_000_000,
        dir: std::env::temp_dir(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--pages" => options.pages = arguments.next().unwrap().parse().unwrap(),
            "--dir" => options.dir = arguments.next().unwrap().into(),
            "--store" => options.store = arguments.next(),
            "--bench" => {}
            open::CHILD => return open::child(&arguments.next().unwrap()),
            feed::CHILD => return feed::child(&arguments.next().unwrap()),
            memory::CHILD => return memory::child(&arguments.next().unwrap()),
            what => options.what = what.to_owned(),
        }
    }
    let wanted = |what: &str| options.what == "all" || options.what == what;
    let dir = tempfile::Builder::new().prefix("contexture-bench").tempdir_in(&options.dir).unwrap();
    if wanted("read") {
        read::run(dir.path());
    }
    if wanted("writers") {
        writers::run(dir.path());
    }
    if wanted("flat") {
        let million = session::Session::new(&dir.path().join("million.db"), "million");
        flat::grow(&million, options.pages);
        flat::run(dir.path(), &million);
    }
    let store = options.store.as_deref();
    if wanted("feed") && store.is_none() {
        feed::subscribers();
    }
    if wanted("undo") {
        for backend in backends::all() {
            let name = backend.name();
            if store.map_or(matches!(name, "memory" | "sqlite"), |store| store == name) {
                undo::run(&*backend);
            }
        }
    }
    for backend in backends::durable() {
        if store.is_some_and(|store| store != backend.name()) {
            continue;
        }
        if wanted("feed") {
            feed::run(&*backend);
        }
        if wanted("memory") {
            memory::run(&*backend);
        }
        if wanted("open") {
            open::run(&*backend, options.pages);
        }
    }
}

/// Returns the most memory this process ever had, in megabytes.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: 0 kB");
    let kilobytes = line.split_whitespace().nth(1).and_then(|figure| figure.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1e3
}

/// Runs this program again as a child that prints figures, and returns them.
fn figures(child: &str, locator: &str) -> Vec<f64> {
    let program = std::env::current_exe().unwrap();
    let output = std::process::Command::new(program).arg(child).arg(locator).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().map(|figure| figure.parse().unwrap()).collect()
}

/// Returns the middle of some figures.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
