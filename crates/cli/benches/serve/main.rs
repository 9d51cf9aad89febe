//! The server under load, in processes of its own on loopback.
//!
//! ```text
//! cargo bench -p contexture-cli --bench serve                        everything on SQLite
//! cargo bench -p contexture-cli --bench serve -- agents --seconds 60
//! scripts/with-servers cargo bench -p contexture-cli --bench serve -- two
//! cargo bench -p contexture-cli --bench serve -- mcp --peer 'node …/server-memory/dist/index.js'
//! ```

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a bench prints what it measured, or stops"
)]

mod agents;
mod client;
mod process;
mod quiet;
mod stdio;
mod texts;
mod two;
mod window;

use std::time::Duration;

const USAGE: &str = "[window] [agents] [streams] [idle] [mcp] [two] [--seconds N] [--agents N] [--pause MS] [--peer COMMAND]";

/// What was asked for.
struct Asked {
    parts: Vec<String>,
    seconds: u64,
    agents: usize,
    /// How long an agent waits between two steps, as it would for a model.
    pause: Duration,
    /// Another MCP server, to be measured beside ours.
    peer: Option<String>,
}

fn main() {
    let asked = asked();
    let wants = |part: &str| asked.parts.iter().any(|it| it == part);
    if wants("window") {
        window::measure();
    }
    if wants("mcp") {
        stdio::measure(asked.peer.as_deref());
    }
    if wants("idle") {
        quiet::idle();
    }
    if wants("streams") {
        quiet::streams();
    }
    if wants("agents") {
        agents::one(&asked);
    }
    if wants("two") {
        two::measure(&asked);
    }
}

fn asked() -> Asked {
    let pause = Duration::from_millis(100);
    let mut asked = Asked { parts: Vec::new(), seconds: 60, agents: 64, pause, peer: None };
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| panic!("{word} needs a value"));
        match word.as_str() {
            "--seconds" => asked.seconds = value().parse().unwrap(),
            "--agents" => asked.agents = value().parse().unwrap(),
            "--pause" => asked.pause = Duration::from_millis(value().parse().unwrap()),
            "--peer" => asked.peer = Some(value()),
            "window" | "agents" | "streams" | "idle" | "mcp" | "two" => asked.parts.push(word),
            other => panic!("unknown: {other}; {USAGE}"),
        }
    }
    if asked.parts.is_empty() {
        asked.parts = ["window", "mcp", "idle", "streams", "agents"].map(str::to_owned).to_vec();
    }
    asked
}

/// Prints the median and the slow end of some times.
fn times(what: &str, mut took: Vec<Duration>) {
    took.sort_unstable();
    let at = |share: f64| {
        let index = (took.len() as f64 * share) as usize;
        took[index.min(took.len() - 1)].as_secs_f64() * 1e3
    };
    println!(
        "{what}: p50 {:.2} ms, p99 {:.2} ms, most {:.2} ms ({} times)",
        at(0.5),
        at(0.99),
        at(1.0),
        took.len()
    );
}
