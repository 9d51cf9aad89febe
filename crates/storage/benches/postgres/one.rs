//! One writer against a hand-written transaction.

use std::time::Instant;

use crate::{append, hand::Hand, make, median, open_storage};

const ROUNDS: usize = 9;
const COMMITS: usize = 100;

pub(crate) fn run(url: &str) {
    let storage = open_storage(url);
    let ours = make(storage.clone(), "ours");
    make(storage, "hand");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let hand = runtime.block_on(Hand::new(url));
    let mut seed = 0;
    let (mut by_hand, mut by_us, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut time = |work: &dyn Fn(usize)| {
            let began = Instant::now();
            for _ in 0..COMMITS {
                seed += 1;
                work(seed);
            }
            began.elapsed().as_secs_f64() * 1e6 / COMMITS as f64
        };
        let theirs = time(&|seed| runtime.block_on(hand.append("hand", seed)));
        let us = time(&|seed| append(&ours, seed));
        by_hand.push(theirs);
        by_us.push(us);
        ratios.push(us / theirs);
    }
    println!(
        "one writer: by hand {:.0} µs a commit, ours {:.0} µs, ratio {:.2}",
        median(by_hand),
        median(by_us),
        median(ratios)
    );
}
