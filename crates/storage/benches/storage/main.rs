//! The storage's figures, as ratios within one run. See docs/benchmarks.md.
//!
//! ```text
//! cargo bench -p contexture-storage --bench storage -- [flat|open|writers|read|all] [--pages N] [--dir DIR]
//! ```
//!
//! Disks drift, so the two sides of a comparison alternate within the run and medians are reported.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

mod flat;
mod hand;
mod open;
mod read;
mod session;
mod writers;

use std::path::PathBuf;

struct Options {
    what: String,
    pages: usize,
    dir: PathBuf,
}

fn main() {
    let mut options =
        Options { what: "all".to_owned(), pages: 1_000_000, dir: std::env::temp_dir() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--pages" => options.pages = arguments.next().unwrap().parse().unwrap(),
            "--dir" => options.dir = arguments.next().unwrap().into(),
            "--bench" => {}
            open::CHILD => return open::child(&arguments.next().unwrap()),
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
    if wanted("flat") || wanted("open") {
        let million = session::Session::new(&dir.path().join("million.db"), "million");
        flat::grow(&million, options.pages);
        if wanted("flat") {
            flat::run(dir.path(), &million);
        }
        drop(million);
        if wanted("open") {
            open::run(&dir.path().join("million.db"));
        }
    }
}

/// Returns the middle of some figures.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
