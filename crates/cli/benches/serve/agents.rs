//! Agents that append what was said and read their windows, each on a session of its own.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use contexture_testkit::random::Random;
use serde_json::{Value, json};

use super::{
    Asked,
    client::{Answer, Client},
    process::Serving,
    texts::turn,
    times,
};

/// The fewest words of a turn, and how many more it may have: agents must not all fold at the same step.
const WORDS: usize = 100;
const MORE_WORDS: u64 = 400;

/// The tokens of a window.
const BUDGET: u64 = 16_000;

/// How often memory is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// How often an agent tries the other servers in turn.
const TRIES: usize = 20;

/// What the agents did.
#[derive(Default)]
pub(crate) struct Outcome {
    appends: Vec<Duration>,
    reads: Vec<Duration>,
    requests: Vec<Duration>,
    errors: Vec<String>,
    /// How often one went to another server.
    moves: usize,
    /// How many turns of each agent were acknowledged.
    pub(crate) acknowledged: Vec<usize>,
}

/// One server on SQLite.
pub(crate) fn one(asked: &Asked) {
    let folder = tempfile::tempdir().unwrap();
    let server = Serving::start(folder.path(), None);
    let tokens = tokens(&server, asked.agents);
    let mut memory = Vec::new();
    let outcome = run(asked, &[server.address], &tokens, |_| memory.push(server.memory().0));
    println!(
        "{} agents on one server, {} s, {:?} between steps:",
        asked.agents, asked.seconds, asked.pause
    );
    outcome.report(asked.seconds);
    let at = |share: usize| memory[(memory.len() - 1) * share / 4];
    println!(
        "  memory: {:.0} MB after a quarter, {:.0} after half, {:.0} at the end, {:.0} at most, of which sessions count {:.0}",
        at(1),
        at(2),
        at(4),
        server.memory().1,
        server.counted()
    );
    outcome.check(&mut server.client());
}

/// Makes the sessions, and a token of an agent for each.
pub(crate) fn tokens(server: &Serving, agents: usize) -> Vec<String> {
    (0..agents).map(|agent| server.session(&session(agent), "worker")).collect()
}

pub(crate) fn session(agent: usize) -> String {
    format!("agent-{agent}")
}

/// Lets all agents work, and calls `look` about once a second with the time that has passed.
pub(crate) fn run(
    asked: &Asked,
    servers: &[SocketAddr],
    tokens: &[String],
    mut look: impl FnMut(Duration),
) -> Outcome {
    let length = Duration::from_secs(asked.seconds);
    let begun = Instant::now();
    thread::scope(|scope| {
        let agents: Vec<_> = tokens
            .iter()
            .enumerate()
            .map(|(number, token)| {
                let mut agent = Agent::new(number, servers, token);
                scope.spawn(move || {
                    // Not all at the same moment.
                    thread::sleep(asked.pause.mul_f64(number as f64 / tokens.len() as f64));
                    while begun.elapsed() < length && agent.step() {
                        thread::sleep(asked.pause);
                    }
                    agent.outcome
                })
            })
            .collect();
        while begun.elapsed() < length {
            thread::sleep(LOOK.min(length.saturating_sub(begun.elapsed())));
            look(begun.elapsed());
        }
        let mut all = Outcome::default();
        for agent in agents {
            all.add(agent.join().unwrap());
        }
        all
    })
}

struct Agent<'a> {
    number: usize,
    servers: &'a [SocketAddr],
    at: usize,
    token: &'a str,
    client: Client,
    random: Random,
    step: usize,
    outcome: Outcome,
}

impl<'a> Agent<'a> {
    fn new(number: usize, servers: &'a [SocketAddr], token: &'a str) -> Self {
        let at = number % servers.len();
        let client = Client::new(servers[at], token);
        let outcome = Outcome { acknowledged: vec![0], ..Outcome::default() };
        let random = Random::new(number as u64);
        Self { number, servers, at, token, client, random, step: 0, outcome }
    }

    /// Appends a turn, reads the window, and asks for the next request. Returns whether to go on.
    fn step(&mut self) -> bool {
        let session = session(self.number);
        let mark = mark(self.number, self.step);
        let words = WORDS + self.random.below(MORE_WORDS) as usize;
        let body = turn(&mut self.random, &mark, words);
        let append = format!("/v1/sessions/{session}/append");
        // What is not acknowledged is sent again, perhaps to another server: the key makes that safe.
        let Some(took) = self.ask("POST", &append, Some(&mark), Some(&body)) else { return false };
        self.outcome.appends.push(took);
        self.step += 1;
        self.outcome.acknowledged[0] = self.step;
        let read = format!("/v1/sessions/{session}/window?format=openai&budget={BUDGET}");
        let Some(took) = self.ask("GET", &read, None, None) else { return false };
        self.outcome.reads.push(took);
        let wanted = json!({ "format": "openai", "budget": BUDGET });
        let request = format!("/v1/sessions/{session}/window");
        let Some(took) = self.ask("POST", &request, None, Some(&wanted)) else { return false };
        self.outcome.requests.push(took);
        true
    }

    /// Asks until there is an answer, at another server where one has gone. Returns what the last try took.
    fn ask(
        &mut self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> Option<Duration> {
        let headers: Vec<(&str, &str)> =
            key.map(|key| ("idempotency-key", key)).into_iter().collect();
        for _ in 0..TRIES {
            let begun = Instant::now();
            match self.client.send(method, path, &headers, body) {
                Ok(Answer { status: 200, .. }) => return Some(begun.elapsed()),
                Ok(answer) => {
                    let text = String::from_utf8_lossy(&answer.body).into_owned();
                    self.outcome.errors.push(format!("{method} {path}: {} {text}", answer.status));
                    return None;
                }
                Err(error) if self.servers.len() == 1 => {
                    self.outcome.errors.push(format!("{method} {path}: {error}"));
                    return None;
                }
                Err(_) => {
                    self.outcome.moves += 1;
                    self.at = (self.at + 1) % self.servers.len();
                    self.client = Client::new(self.servers[self.at], self.token);
                }
            }
        }
        self.outcome.errors.push(format!("{method} {path}: no server answers"));
        None
    }
}

/// Returns what a request begins with, and its key.
fn mark(agent: usize, step: usize) -> String {
    format!("m{agent}-{step}")
}

impl Outcome {
    fn add(&mut self, other: Outcome) {
        self.appends.extend(other.appends);
        self.reads.extend(other.reads);
        self.requests.extend(other.requests);
        self.errors.extend(other.errors);
        self.moves += other.moves;
        self.acknowledged.extend(other.acknowledged);
    }

    pub(crate) fn report(&self, seconds: u64) {
        let Self { appends, reads, requests, errors, moves, .. } = self;
        let all = appends.len() + reads.len() + requests.len();
        println!(
            "  {} requests a second, {} errors, {moves} moves",
            all as u64 / seconds,
            errors.len()
        );
        errors.iter().take(5).for_each(|error| println!("  error: {error}"));
        times("  append", appends.clone());
        times("  read of a window", reads.clone());
        times("  request to the model, with the fold that is due", requests.clone());
    }

    /// Compares what was acknowledged with what the sessions hold.
    pub(crate) fn check(&self, client: &mut Client) {
        let (mut lost, mut twice, mut more) = (0, 0, 0);
        for (agent, acknowledged) in self.acknowledged.iter().enumerate() {
            let held = held(client, agent);
            lost +=
                (0..*acknowledged).filter(|step| !held.contains_key(&mark(agent, *step))).count();
            twice += held.values().filter(|count| **count > 1).count();
            more += held.len().saturating_sub(*acknowledged);
        }
        let all: usize = self.acknowledged.iter().sum();
        println!(
            "  {all} appends acknowledged: {lost} lost, {twice} there twice, {more} that nobody acknowledged"
        );
        assert_eq!((lost, twice), (0, 0));
    }
}

/// Returns how often each request of an agent is in its session.
fn held(client: &mut Client, agent: usize) -> BTreeMap<String, usize> {
    let (mut held, mut cursor) = (BTreeMap::new(), String::new());
    loop {
        let list = client.get(&format!("/v1/sessions/{}/pages?limit=1000{cursor}", session(agent)));
        for page in list["items"].as_array().unwrap() {
            let name = page["name"].as_str().unwrap_or_default();
            let first = name.split(' ').next().unwrap_or_default();
            if first.starts_with(&format!("m{agent}-")) {
                *held.entry(first.to_owned()).or_default() += 1;
            }
        }
        match list["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return held,
        }
    }
}
