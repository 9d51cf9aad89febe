//! PostgreSQL's figures, as ratios within one run. See docs/benchmarks.md.
//!
//! ```text
//! cargo bench -p contexture-storage --bench postgres -- [one|many|open|all] [--pages N] [--seconds S]
//! ```
//!
//! The server waits for the disk at every commit. The two sides of a comparison alternate within
//! the run and medians are reported.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

mod hand;
mod many;
mod one;
mod open;

use std::sync::Arc;

use contexture_core::*;
use contexture_storage::{PostgresOptions, PostgresStorage, SystemClock};
use contexture_testkit::server::PostgresServer;
use futures::executor::block_on;

fn main() {
    let (mut what, mut pages, mut seconds) = ("all".to_owned(), 1_000_000, 3.0);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--pages" => pages = arguments.next().unwrap().parse().unwrap(),
            "--seconds" => seconds = arguments.next().unwrap().parse().unwrap(),
            "--bench" => {}
            many::CHILD => return many::child(&arguments.collect::<Vec<_>>()),
            open::CHILD => return open::child(&arguments.next().unwrap()),
            argument => what = argument.to_owned(),
        }
    }
    let wanted = |name: &str| what == "all" || what == name;
    let server = PostgresServer::start_durable();
    if wanted("one") {
        one::run(&server.fresh_database());
    }
    if wanted("many") {
        many::run(&server.fresh_database(), seconds);
    }
    if wanted("open") {
        open::run(&server.fresh_database(), pages);
    }
}

fn open_storage(url: &str) -> Arc<PostgresStorage> {
    Arc::new(block_on(PostgresStorage::open(url, PostgresOptions::default())).unwrap())
}

/// Makes a session with one directory to append to.
fn make(storage: Arc<dyn PageStorage>, name: &str) -> ContextSystem {
    let edit = Edit::AddSegment(NewSegment::new("usr".parse().unwrap(), SegmentKind::User));
    let clock = Arc::new(SystemClock);
    let made = ContextSystem::create_with(storage, name.parse().unwrap(), "bench", clock, &edit);
    block_on(made).unwrap()
}

fn append(system: &ContextSystem, seed: usize) {
    let root: PageIndex = "usr-0".parse().unwrap();
    let new = NewDetailPage::new(root, format!("Page {seed}").parse().unwrap(), text(seed));
    block_on(system.as_system().apply(Edit::CreateDetailPage(new))).unwrap();
}

/// About a kilobyte of text that is different for each seed.
fn text(seed: usize) -> String {
    let mut state = seed as u64 + 0x9e37_79b9_7f4a_7c15;
    let mut text = format!("{seed}:");
    while text.len() < 1_000 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!(" {:x}", state >> 50));
    }
    text
}

/// Returns the middle of some figures.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
