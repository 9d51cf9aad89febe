//! Faults: writes that fail, and files that are damaged, full or out of reach.
//!
//! ```text
//! faults: sqlite: 1000 faults, 0 lost, 0 between
//! disk: sqlite: disk full after 98 pages ok, read-only folder ok, …
//! damage: sqlite: 90000 damaged, 80000 refused, 9000 named by verify, 1000 sound, 0 wrong
//! repair: files: 900 damaged, 800 clean after --repair, 100 after --accept-losses, 0 not
//! ```
//!
//! This program starts itself as child processes; without arguments it is the test. `-- STORAGE [PART]`
//! tests one storage, or one part of it: `writes` (`writes every`: each kind of fault at each write, on
//! any storage), `disk`, `damage` (`damage every`: every byte of every file up to 64 KiB) or `repair`
//! (`repair every`: many places of every file).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "children tell how it went; the test what it counted")]

#[path = "../backends.rs"]
mod backends;
mod damage;
mod disk;
mod repair;

use std::{process::ExitCode, time::Instant};

use contexture_testkit::{
    backend::Backend,
    faults::{self, Passes},
};
use damage::Measure;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [child, what, name] = &arguments[..]
        && child == "disk-child"
    {
        disk::child(what, name);
        return ExitCode::SUCCESS;
    }
    let (only, part) = (arguments.first(), arguments.get(1));
    let every = arguments.get(2).is_some_and(|which| which == "every");
    // `every` takes the time for the real servers.
    let mut backends = if every { backends::all() } else { backends::in_sweeps() };
    backends.retain(|backend| only.is_none_or(|only| only == backend.name()));
    let lines = backends::side_by_side(&backends, |backend| strike(backend, part, every));
    println!();
    let (lines, clean): (Vec<_>, Vec<_>) = lines.into_iter().unzip();
    lines.iter().flatten().for_each(|line| println!("{line}"));
    let was_tested = lines.iter().any(|lines| !lines.is_empty());
    if was_tested && clean.iter().all(|it| *it) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Tests a storage, or a part of it; returns what is to be told, and whether nothing was lost or wrong.
fn strike(backend: &dyn Backend, part: Option<&String>, every: bool) -> (Vec<String>, bool) {
    let wanted = |what: &str| part.is_none_or(|part| part == what);
    let (mut lines, mut clean) = (Vec::new(), true);
    let began = Instant::now();
    let lap = |what: &str| {
        println!("{}: {what}: {:.1} s", backend.name(), began.elapsed().as_secs_f64());
    };
    if wanted("writes") {
        // Every kind at every write where that takes seconds; `every` takes the time elsewhere.
        let is_quick = backend.name() == "memory";
        let passes = if is_quick || every { Passes::EveryKind } else { Passes::InTurn };
        let summary = faults::run(backend, passes);
        summary.notes.iter().for_each(|note| println!("{note}"));
        clean &= summary.is_clean();
        lines.push(summary.to_string());
        lap("writes");
    }
    let keeps_files = backend.home().folder().is_some();
    if keeps_files && wanted("disk") {
        lines.push(disk::run(backend));
        lap("disk");
    }
    if keeps_files && wanted("damage") {
        let measure = if every { Measure::WHOLE } else { Measure::SAMPLE };
        let summary = damage::run(backend, measure);
        clean &= summary.is_clean();
        lines.push(summary.to_string());
        lap("damage");
    }
    if keeps_files && wanted("repair") {
        let measure = if every { repair::Measure::WHOLE } else { repair::Measure::SAMPLE };
        let summary = repair::run(backend, measure);
        clean &= summary.is_clean();
        lines.push(summary.to_string());
        lap("repair");
    }
    (lines, clean)
}
