//! Appending to one directory must cost the same at the end of a million pages as at the start.

use std::{path::Path, time::Instant};

use crate::{median, session::Session};

const BATCH: usize = 1_000;
const SPAN: usize = 10_000;
const ROUNDS: usize = 5;

/// Fills the session; the seeds of later rounds lie beyond.
pub(crate) fn grow(million: &Session, pages: usize) {
    let began = Instant::now();
    for batch in 0..pages / BATCH {
        million.append_batch(batch * BATCH, BATCH);
    }
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "grow: {pages} pages in batches of {BATCH}: {seconds:.1} s, {:.1} µs a page",
        seconds * 1e6 / pages as f64
    );
}

pub(crate) fn run(dir: &Path, million: &Session) {
    let mut batched = (Vec::new(), Vec::new());
    let mut single = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let small = Session::new(&dir.join(format!("small-{round}.db")), "small");
        let seed = 10_000_000 + round * 100_000;
        batched.0.push(micros(SPAN, || append_batches(&small, seed)));
        batched.1.push(micros(SPAN, || append_batches(million, seed + 50_000)));
        single.0.push(micros(500, || (0..500).for_each(|at| small.append(seed + 20_000 + at))));
        single.1.push(micros(500, || (0..500).for_each(|at| million.append(seed + 70_000 + at))));
    }
    report("in batches of 1,000", batched);
    report("one commit each", single);
}

fn append_batches(session: &Session, seed: usize) {
    for batch in 0..SPAN / BATCH {
        session.append_batch(seed + batch * BATCH, BATCH);
    }
}

fn micros(pages: usize, run: impl FnOnce()) -> f64 {
    let began = Instant::now();
    run();
    began.elapsed().as_secs_f64() * 1e6 / pages as f64
}

fn report(how: &str, (first, last): (Vec<f64>, Vec<f64>)) {
    let ratios = first.iter().zip(&last).map(|(first, last)| last / first).collect();
    println!(
        "flat, {how}: first {SPAN} {:.1} µs a page, after a million {:.1} µs, ratio {:.2}",
        median(first),
        median(last),
        median(ratios)
    );
}
