//! Several processes on one database, one of them killed in the middle of its work.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader},
};

use contexture_core::{Edit, ErrorKind, PageUpdate};
use contexture_testkit::fixture::{self, description, page};
use futures::executor::block_on;

use crate::{
    children::spawn,
    support::{append, assert_sound, database, names, open, system},
};

const THREADS: usize = 4;
const ROUNDS: usize = 12;

/// Appends and counts up, telling each append that was acknowledged.
pub(crate) fn child(url: &str, name: &str, rounds: usize) {
    let shared = system(open(url));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let shared = &shared;
            scope.spawn(move || {
                for round in 0..rounds {
                    let name = format!("{name}-{thread}-{round}");
                    append(shared, &name).unwrap();
                    println!("acknowledged {name}");
                    increment(shared);
                }
            });
        }
    });
}

fn increment(system: &contexture_core::ContextSystem) {
    loop {
        let counter = block_on(system.as_system().reader().page(&page("usr-1"))).unwrap().page;
        let count: u64 = counter.description.as_str().parse().unwrap();
        let mut update = PageUpdate::of(counter.index.clone());
        update.description = Some(description(&(count + 1).to_string()));
        update.if_version = Some(counter.version);
        match block_on(system.as_system().apply(Edit::UpdatePage(update))) {
            Ok(_) => return,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error}"),
        }
        block_on(system.refresh()).unwrap();
    }
}

// Four processes on one database, one killed: the others go on, and nothing acknowledged is lost.
#[test]
fn the_others_continue_when_one_is_killed() {
    let url = database();
    let storage = open(&url);
    let made = block_on(fixture::session(storage.clone()));
    append(&made, "counter").unwrap();
    let mut zero = PageUpdate::of(page("usr-1"));
    zero.description = Some(description("0"));
    block_on(made.as_system().apply(Edit::UpdatePage(zero))).unwrap();

    let rounds = ROUNDS.to_string();
    let others: Vec<_> =
        (0..3).map(|at| spawn(&["work", &url, &format!("p{at}"), &rounds])).collect();
    let mut victim = spawn(&["work", &url, "victim", "1000000"]);
    let mut acknowledged = BTreeSet::new();
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    for line in lines.by_ref() {
        acknowledged.extend(line.unwrap().strip_prefix("acknowledged ").map(str::to_owned));
        if acknowledged.len() > 20 {
            break;
        }
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
    for line in lines.map_while(Result::ok) {
        acknowledged.extend(line.strip_prefix("acknowledged ").map(str::to_owned));
    }
    for other in others {
        let output = other.wait_with_output().unwrap();
        assert!(output.status.success());
        let lines = String::from_utf8(output.stdout).unwrap();
        acknowledged.extend(
            lines.lines().filter_map(|line| line.strip_prefix("acknowledged ")).map(str::to_owned),
        );
    }
    let names = names(&*storage);
    let found: BTreeSet<&String> = names.iter().collect();
    assert_eq!(found.len(), names.len(), "an append was made twice");
    let lost: Vec<&String> = acknowledged.iter().filter(|name| !found.contains(name)).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    block_on(made.refresh()).unwrap();
    let counter = block_on(made.as_system().reader().page(&page("usr-1"))).unwrap().page;
    let count: usize = counter.description.as_str().parse().unwrap();
    let sure = 3 * THREADS * ROUNDS;
    // What the victim counted up is between what it told and what it appended.
    let appended = names.iter().filter(|name| name.starts_with("victim")).count();
    assert!((sure..=sure + appended).contains(&count), "{count}, {sure}, {appended}");
    assert_sound(&*storage);
}
