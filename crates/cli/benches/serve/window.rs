//! One client: a window of 100,000 tokens, the same window unchanged, and appends beside the library's own.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use contexture_core::{
    Conversation, Engine, Format, Principal, WindowOptions, message::parse_messages,
};
use contexture_storage::{
    Durability, SystemClock,
    sqlite::{SqliteOptions, SqliteStorage},
};
use contexture_testkit::random::Random;
use contexture_tokens::counter_for;
use futures::executor::block_on;

use super::{process::Serving, texts::turn, times};

/// How many turns, of so many words each, make about 100,000 tokens.
const TURNS: usize = 250;
const WORDS: usize = 400;

const READS: usize = 500;
const APPENDS: usize = 1_000;

pub(crate) fn measure() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serving::start(folder.path(), None);
    let token = server.session("long", "worker");
    let mut client = super::client::Client::new(server.address, &token);
    let random = &mut Random::new(1);
    for at in 0..TURNS {
        let body = turn(random, &format!("turn {at}"), WORDS);
        client.must(200, "POST", "/v1/sessions/long/append", Some(&body));
    }
    let path = "/v1/sessions/long/window?format=anthropic";
    let account = client.get(&format!("{path}&account=true"));
    println!("a window of {} tokens, {TURNS} turns", account["account"]["tokens"]);
    let mut etag = String::new();
    let read = |client: &mut super::client::Client, etag: &str, status: u16| {
        let begun = Instant::now();
        let headers = [("if-none-match", etag)];
        let answer = client.send("GET", path, &headers, None).unwrap();
        assert_eq!(answer.status, status);
        (begun.elapsed(), answer.etag.unwrap())
    };
    let before = server.took("GET", "/v1/sessions/{session}/window");
    let took = (0..READS).map(|_| {
        let (took, tag) = read(&mut client, "\"none\"", 200);
        etag = tag;
        took
    });
    times("  read, at the client", took.collect());
    let after = server.took("GET", "/v1/sessions/{session}/window");
    println!("  read, in the server: {:.2} ms on average", mean(before, after));
    times(
        "  unchanged, at the client",
        (0..READS).map(|_| read(&mut client, &etag, 304).0).collect(),
    );
    appends(&server, folder.path());
}

/// Appends through the server and through the library, each to a session and a store of its own.
fn appends(server: &Serving, folder: &std::path::Path) {
    // As durable as the server's.
    let options = SqliteOptions { durability: Durability::PowerCut, ..SqliteOptions::default() };
    let storage = SqliteStorage::open(&folder.join("library.db"), options);
    let engine = Engine::new(Arc::new(storage.unwrap()), Arc::new(SystemClock));
    let session = "long".parse().unwrap();
    let made = contexture_agents::setup::prepare(&engine, &session, Principal::System, None);
    let system = block_on(made).unwrap().system;
    let token = server.session("appends", "worker");
    let mut client = super::client::Client::new(server.address, &token);
    let random = &mut Random::new(2);
    let (mut library, mut served) = (Vec::new(), Vec::new());
    let before = server.took("POST", "/v1/sessions/{session}/append");
    // By turns: how long the disk takes varies from one moment to the next.
    for at in 0..APPENDS {
        let body = turn(random, &format!("append {at}"), WORDS);
        let begun = Instant::now();
        let messages = parse_messages(body["messages"].to_string().as_bytes()).unwrap();
        let options = WindowOptions::new(Format::Markdown, counter_for("o200k_base"));
        let conversation = Conversation::new(system.as_system(), options);
        block_on(conversation.append(messages)).unwrap();
        library.push(begun.elapsed());
        let begun = Instant::now();
        client.must(200, "POST", "/v1/sessions/appends/append", Some(&body));
        served.push(begun.elapsed());
    }
    let after = server.took("POST", "/v1/sessions/{session}/append");
    let own = library.iter().sum::<Duration>().as_secs_f64() * 1e3 / library.len() as f64;
    let there = mean(before, after);
    times("an append of two messages, the library", library);
    times("  through the server, at the client", served);
    println!(
        "  on average: library {own:.2} ms, in the server {there:.2} ms: {:.2} times",
        there / own
    );
}

/// Returns what a request took on average between two readings of the server's figures, in milliseconds.
fn mean(before: (f64, f64), after: (f64, f64)) -> f64 {
    (after.1 - before.1) * 1e3 / (after.0 - before.0)
}
