//! Writers against hand-written SQL with the same rows and the same durability.

use std::{path::Path, sync::Arc, time::Instant};

use contexture_core::PageStorage;
use contexture_storage::sqlite::SqliteStorage;

use crate::{hand::Hand, median, session::Session};

const ROUNDS: usize = 9;
const WRITERS: usize = 32;
/// Commits of the one writer in a round, and of each of many.
const ALONE: usize = 200;
const EACH: usize = 40;

pub(crate) fn run(dir: &Path) {
    let storage: Arc<dyn PageStorage> =
        Arc::new(SqliteStorage::open(&dir.join("ours.db"), Default::default()).unwrap());
    let sessions: Vec<Session> =
        (0..WRITERS).map(|at| Session::on(storage.clone(), &format!("s{at}"))).collect();
    let mut hand = Hand::new(&dir.join("hand.db"));
    let mut seed = 0;
    let mut next = |count: usize| {
        seed += count;
        seed
    };

    let mut figures = Vec::new();
    for _ in 0..ROUNDS {
        let first = next(ALONE);
        let rows = Hand::rows(first, ALONE);
        let by_hand = seconds(|| rows.chunks(1).for_each(|rows| hand.commit(rows)));
        let first = next(ALONE);
        let ours = seconds(|| (0..ALONE).for_each(|at| sessions[0].append(first + at)));
        figures.push((by_hand / ALONE as f64 * 1e6, ours / ALONE as f64 * 1e6));
    }
    report("one writer, µs a commit", &figures, |hand, ours| ours / hand);

    let total = WRITERS * EACH;
    for (how, spread) in [("32 writers on 32 sessions", true), ("32 writers on one session", false)] {
        let mut figures = Vec::new();
        for _ in 0..ROUNDS {
            let first = next(total);
            let rows = Hand::rows(first, total);
            let by_hand = seconds(|| rows.chunks(WRITERS).for_each(|rows| hand.commit(rows)));
            let first = next(total);
            let ours = seconds(|| {
                std::thread::scope(|scope| {
                    for writer in 0..WRITERS {
                        let session = &sessions[if spread { writer } else { 0 }];
                        scope.spawn(move || {
                            (0..EACH).for_each(|at| session.append(first + writer * EACH + at));
                        });
                    }
                });
            });
            figures.push((total as f64 / by_hand, total as f64 / ours));
        }
        report(&format!("{how}, commits/s"), &figures, |hand, ours| ours / hand);
    }
}

fn seconds(run: impl FnOnce()) -> f64 {
    let began = Instant::now();
    run();
    began.elapsed().as_secs_f64()
}

fn report(what: &str, figures: &[(f64, f64)], ratio: impl Fn(f64, f64) -> f64) {
    let hand = median(figures.iter().map(|figure| figure.0).collect());
    let ours = median(figures.iter().map(|figure| figure.1).collect());
    let ratio = median(figures.iter().map(|(hand, ours)| ratio(*hand, *ours)).collect());
    println!("writers: {what}: by hand {hand:.0}, ours {ours:.0}, ratio {ratio:.2}");
}
