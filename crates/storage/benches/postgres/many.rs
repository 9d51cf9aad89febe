//! 64 writers in 8 processes, on one session and on 64, against hand-written clients.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use contexture_core::ContextSystem;
use contexture_storage::SystemClock;
use futures::executor::block_on;

use crate::{append, hand::Hand, make, median, open_storage};

pub(crate) const CHILD: &str = "many-child";

const PROCESSES: usize = 8;
const WRITERS: usize = 8;
const ROUNDS: usize = 5;

pub(crate) fn run(url: &str, seconds: f64) {
    let storage = open_storage(url);
    for side in ["hand", "ours"] {
        for at in 0..PROCESSES * WRITERS {
            make(storage.clone(), &format!("{side}-{at}"));
        }
    }
    for (how, spread) in [("one session", "one"), ("64 sessions", "all")] {
        let (mut by_hand, mut by_us, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let theirs = rate(url, "hand", spread, round, seconds);
            let us = rate(url, "ours", spread, round, seconds);
            by_hand.push(theirs);
            by_us.push(us);
            ratios.push(us / theirs);
        }
        println!(
            "64 writers in 8 processes on {how}: by hand {:.0} commits/s, ours {:.0}, ratio {:.2}",
            median(by_hand),
            median(by_us),
            median(ratios)
        );
    }
}

fn rate(url: &str, side: &str, spread: &str, round: usize, seconds: f64) -> f64 {
    let program = std::env::current_exe().unwrap();
    let mut children: Vec<_> = (0..PROCESSES)
        .map(|at| {
            let mut child = Command::new(&program)
                .args([CHILD, url, side, spread, &at.to_string()])
                .args([round.to_string(), seconds.to_string()])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            (child, lines)
        })
        .collect();
    // All are connected before any begins.
    for (_, lines) in &mut children {
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
    }
    for (child, _) in &mut children {
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }
    let mut commits = 0.0;
    for (mut child, mut lines) in children {
        commits += lines.next().unwrap().unwrap().parse::<f64>().unwrap();
        assert!(child.wait().unwrap().success());
    }
    commits
}

/// Prints `ready`, waits for a line, then commits for so long and prints commits per second.
pub(crate) fn child(arguments: &[String]) {
    let [url, side, spread, at, round, seconds] = arguments else { panic!("{arguments:?}") };
    let (at, round): (usize, usize) = (at.parse().unwrap(), round.parse().unwrap());
    let seconds = Duration::from_secs_f64(seconds.parse().unwrap());
    let session = |writer: usize| match spread.as_str() {
        "one" => format!("{side}-0"),
        _ => format!("{side}-{}", at * WRITERS + writer),
    };
    let seed = |writer: usize| (((round * 8 + at) * WRITERS + writer) + 1) * 10_000_000;
    let go = || {
        println!("ready");
        std::io::stdin().read_line(&mut String::new()).unwrap();
        Instant::now()
    };
    let commits: usize = if side == "hand" {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let hands: Vec<Hand> = (0..WRITERS).map(|_| runtime.block_on(Hand::new(url))).collect();
        let began = go();
        let workers = hands.into_iter().enumerate().map(|(writer, hand)| {
            let (session, seed) = (session(writer), seed(writer));
            runtime.spawn(async move {
                let mut commits = 0;
                while began.elapsed() < seconds {
                    hand.append(&session, seed + commits).await;
                    commits += 1;
                }
                commits
            })
        });
        let workers: Vec<_> = workers.collect();
        workers.into_iter().map(|worker| runtime.block_on(worker).unwrap()).sum()
    } else {
        let storage = open_storage(url);
        let open = |name: String| {
            let clock = Arc::new(SystemClock);
            block_on(ContextSystem::open(storage.clone(), name.parse().unwrap(), clock)).unwrap()
        };
        let shared = (spread == "one").then(|| open(session(0)));
        let systems: Vec<ContextSystem> = (0..WRITERS)
            .map(|writer| shared.clone().unwrap_or_else(|| open(session(writer))))
            .collect();
        let began = go();
        std::thread::scope(|scope| {
            let workers = systems.iter().enumerate().map(|(writer, system)| {
                let seed = seed(writer);
                scope.spawn(move || {
                    let mut commits = 0;
                    while began.elapsed() < seconds {
                        append(system, seed + commits);
                        commits += 1;
                    }
                    commits
                })
            });
            let workers: Vec<_> = workers.collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).sum()
        })
    };
    println!("{}", commits as f64 / seconds.as_secs_f64());
}
