//! Two servers on one PostgreSQL, one of which is killed under load.

use std::{
    io::{BufRead as _, BufReader},
    net::{SocketAddr, TcpStream},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use super::{
    Asked,
    agents::{run, session, tokens},
    client::events,
    process::Serving,
};

/// How many sessions are followed by an event stream.
const FOLLOWED: usize = 8;

/// The server of `scripts/with-servers`.
const STORE: &str = "CONTEXTURE_TEST_POSTGRES";

pub(crate) fn measure(asked: &Asked) {
    let store = std::env::var(STORE)
        .unwrap_or_else(|_| panic!("run it under scripts/with-servers, which sets {STORE}"));
    let folder = tempfile::tempdir().unwrap();
    let mut first = Serving::start(folder.path(), Some(&store));
    let second = Serving::start(folder.path(), Some(&store));
    let servers = [first.address, second.address];
    let tokens = tokens(&first, asked.agents);
    // Where each stream ends; not known before the agents are done.
    let ends: Vec<AtomicU64> = (0..FOLLOWED).map(|_| AtomicU64::new(u64::MAX)).collect();
    let owner = first.owner.clone();
    let half = Duration::from_secs(asked.seconds / 2);
    let (mut memory, mut killed) = (Vec::new(), false);
    thread::scope(|scope| {
        let (servers, owner) = (&servers, &owner);
        let streams: Vec<_> = ends
            .iter()
            .enumerate()
            .map(|(at, end)| scope.spawn(move || follow(servers, owner, &session(at), end)))
            .collect();
        let outcome = run(asked, servers, &tokens, |passed| {
            memory.push(second.memory().0);
            if passed >= half && !killed {
                killed = true;
                first.kill();
            }
        });
        println!(
            "{} agents on two servers over PostgreSQL, {} s, {:?} between steps, one killed after half:",
            asked.agents, asked.seconds, asked.pause
        );
        outcome.report(asked.seconds);
        let at = |share: usize| memory[(memory.len() - 1) * share / 4];
        println!(
            "  memory of the other: {:.0} MB after a quarter, {:.0} after half, {:.0} at the end, {:.0} at most",
            at(1),
            at(2),
            at(4),
            second.memory().1
        );
        let mut client = second.client();
        outcome.check(&mut client);
        for (at, end) in ends.iter().enumerate() {
            let head = client.get(&format!("/v1/sessions/{}", session(at)));
            end.store(head["revision"].as_u64().unwrap(), Ordering::Release);
            // Wakes a stream that waits for one more event.
            let body =
                serde_json::json!({ "messages": [{ "role": "user", "content": "the end" }] });
            client.must(200, "POST", &format!("/v1/sessions/{}/append", session(at)), Some(&body));
        }
        let mut seen = 0;
        for stream in streams {
            let (events, moved) = stream.join().unwrap();
            assert!(moved > 0, "the stream was at the server that was killed");
            seen += events;
        }
        println!(
            "  {FOLLOWED} event streams went on at the other server: {seen} events, none missing, none twice"
        );
    });
}

/// Follows a session from its beginning to its end, at another server where one has gone. Returns how many events there
/// were and how often it moved.
fn follow(servers: &[SocketAddr], token: &str, session: &str, end: &AtomicU64) -> (u64, usize) {
    let (mut last, mut moves) = (0, 0);
    loop {
        let server = servers[moves % servers.len()];
        if let Ok(stream) = events(server, token, session, Some(last)) {
            last = read(stream, last, end);
        }
        if last >= end.load(Ordering::Acquire) {
            return (last, moves);
        }
        moves += 1;
        assert!(moves < 100, "no server answers");
    }
}

/// Reads events until the stream or the session ends. Each must be the next one.
fn read(stream: BufReader<TcpStream>, mut last: u64, end: &AtomicU64) -> u64 {
    for line in stream.lines() {
        let Ok(line) = line else { break };
        let Some(id) = line.strip_prefix("id: ").or_else(|| line.strip_prefix("id:")) else {
            continue;
        };
        let id: u64 = id.trim().parse().unwrap();
        assert_eq!(id, last + 1, "an event is missing or was sent twice");
        last = id;
        if last >= end.load(Ordering::Acquire) {
            break;
        }
    }
    last
}
