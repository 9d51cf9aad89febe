//! The conformance suite on every storage, with one line for each at the end.
//!
//! ```text
//! conformance: sqlite: 64 passed, 0 failed, 0 skipped
//! ```
//!
//! `-- STORAGE [TEST]` runs one storage, or some tests of it; what is left out counts as skipped.

#![allow(clippy::print_stdout, reason = "the summary is what this program is for")]

#[path = "../backends.rs"]
mod backends;

use std::{process::ExitCode, time::Instant};

use contexture_testkit::conformance::{self, Summary};

// B-12: one suite, every storage, the same tests, none skipped.
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (only, named) = (arguments.first(), arguments.get(1).map_or("", String::as_str));
    let mut backends = backends::all();
    backends.retain(|backend| only.is_none_or(|only| only == backend.name()));
    let summaries = backends::side_by_side(&backends, |backend| {
        let began = Instant::now();
        let summary = conformance::run_some(backend, named);
        println!("{}: {:.1} s", summary.name, began.elapsed().as_secs_f64());
        for name in &summary.failed {
            println!("test {}::{name} ... FAILED", summary.name);
        }
        summary
    });
    println!();
    for summary in &summaries {
        println!("{summary}");
    }
    let sound =
        |summary: &Summary| summary.failed.is_empty() && summary.passed == conformance::TESTS.len();
    if !summaries.is_empty() && summaries.iter().all(sound) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
