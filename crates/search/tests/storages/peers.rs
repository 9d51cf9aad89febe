//! Several indices of one store: in one process, in two, and in one that is killed.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use contexture_core::Edit;
use contexture_search::SearchIndex;
use futures::executor::block_on;

use crate::{World, begin, found, open_session, open_there, say};

pub(crate) fn two_handles_find_each_others_pages(world: &World) {
    let (storage, index) = world.open();
    let (other_storage, other_index) = world.open();
    block_on(async {
        let one = begin(&storage).await;
        let other = open_session(&other_storage).await;
        for number in 0..12_usize {
            let system = if number % 2 == 0 { &one } else { &other };
            let word = format!("unique{}", "xyz".repeat(number + 1));
            let page = say(system, "usr", &format!("harbour {word}")).await.to_string();
            assert_eq!(found(&index, &one.as_system(), &word).await, [page.as_str()]);
            assert_eq!(found(&other_index, &other.as_system(), &word).await, [page]);
            if number % 3 == 0 {
                // The other one may be writing.
                let _ = index.flush().await;
                let _ = other_index.flush().await;
            }
        }
        assert_eq!(found(&index, &one.as_system(), "harbour").await.len(), 12);
        assert_eq!(found(&other_index, &other.as_system(), "harbour").await.len(), 12);
    });
}

/// Another process that says and finds what it is asked to.
struct Peer {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    fn start(locator: &str, place: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["peer", locator])
            .arg(place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, orders, answers }
    }

    /// Gives an order and returns the answer.
    fn ask(&mut self, order: &str) -> String {
        writeln!(self.orders, "{order}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        answer.trim_end().to_owned()
    }

    /// Kills it, wherever it is.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The other process: reads orders until there are no more.
pub(crate) fn peer(locator: &str, place: &Path) {
    let storage = open_there(locator).unwrap();
    let index = SearchIndex::open(storage.clone(), Some(place)).unwrap();
    block_on(async {
        let system = open_session(&storage).await;
        let session = system.as_system();
        for order in std::io::stdin().lines() {
            let order = order.unwrap();
            let answer = match order.split_once(' ').unwrap_or((&order, "")) {
                ("say", text) => say(&system, "usr", text).await.to_string(),
                ("find", text) => found(&index, &session, text).await.join(" "),
                ("flush", _) => format!("{:?}", index.flush().await.is_ok()),
                ("purge", page) => {
                    let page = page.parse().unwrap();
                    session.apply(Edit::PurgePage(page)).await.unwrap().revision.to_string()
                }
                (other, _) => panic!("no order {other}"),
            };
            println!("{answer}");
        }
    });
}

pub(crate) fn two_processes_find_each_others_pages(world: &World) {
    // What is in memory lives in one process.
    let Some(locator) = world.home.locator() else { return };
    let (storage, index) = world.open();
    block_on(async {
        let system = begin(&storage).await;
        let session = system.as_system();
        // One shares the folder of the index, as two processes of a user do; one has its own, as on two machines.
        let own = world.place().with_file_name("own");
        let mut peers = [Peer::start(&locator, &world.place()), Peer::start(&locator, &own)];
        for number in 0..4 {
            let mine = format!("mine{}", "xyz".repeat(number + 1));
            let page = say(&system, "usr", &mine).await.to_string();
            for peer in &mut peers {
                assert_eq!(peer.ask(&format!("find {mine}")), page);
            }
            for at in [0, 1] {
                let theirs = format!("{}{}", ["left", "right"][at], "xyz".repeat(number + 1));
                let page = peers[at].ask(&format!("say {theirs}"));
                assert_eq!(found(&index, &session, &theirs).await, [page.as_str()]);
                assert_eq!(peers[1 - at].ask(&format!("find {theirs}")), page);
            }
            if number % 2 == 0 {
                // Another one may be writing.
                let _ = index.flush().await;
                peers[0].ask("flush");
            }
        }
        let purged = peers[0].ask("say the zanzibarite");
        assert_eq!(found(&index, &session, "zanzibarite").await, [purged.as_str()]);
        peers[1].ask(&format!("purge {purged}"));
        assert_eq!(found(&index, &session, "zanzibarite").await, [""; 0]);
        assert_eq!(peers[0].ask("find zanzibarite"), "");
    });
}

pub(crate) fn survives_kill_9_between_commit_and_index(world: &World) {
    let Some(locator) = world.home.locator() else { return };
    block_on(async {
        drop(begin(&world.home.open()).await);
        // In the index; committed and taken in; committed and not looked at; purged from the store alone.
        let mut peer = Peer::start(&locator, &world.place());
        let purged = peer.ask("say the copper zanzibarite");
        let written = peer.ask("say the copper lantern");
        peer.ask("find copper");
        assert_eq!(peer.ask("flush"), "true");
        let taken_in = peer.ask("say the copper harbour");
        peer.ask("find copper");
        let committed = peer.ask("say the copper orchard");
        peer.ask(&format!("purge {purged}"));
        peer.kill();
        for _ in 0..2 {
            let (storage, index) = world.open();
            let session = open_session(&storage).await.as_system();
            let mut pages = found(&index, &session, "copper").await;
            pages.sort();
            assert_eq!(pages, [written.clone(), taken_in.clone(), committed.clone()]);
            assert_eq!(found(&index, &session, "zanzibarite").await, [""; 0]);
            index.flush().await.unwrap();
        }
    });
}
