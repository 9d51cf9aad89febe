//! A process that edits and acknowledges on a pipe, killed at random moments.

use std::{
    collections::BTreeMap,
    fmt,
    hint::spin_loop,
    io::{BufRead, BufReader, Read, Write},
    os::unix::process::ExitStatusExt,
    sync::Arc,
    time::{Duration, Instant},
};

use contexture_core::{
    storage::{LedgerKey, LedgerQuery, RunPut, RunRecord, check::check_session},
    *,
};
use contexture_storage::SystemClock;
use contexture_testkit::{
    backend::{Backend, Home},
    conformance::sent,
    random::Random,
};
use futures::executor::block_on;

use crate::{append, backends, spawn, text};

/// How often a process is killed, on each storage.
const KILLS: u64 = 300;
/// After how many kills what they left is looked at.
const ROUND: u64 = 10;
/// After how many a new storage is begun, so that looking stays quick.
const HOME: u64 = 100;
const THREADS: u64 = 4;
const SEED: u64 = 97;

/// What came of all kills.
pub(crate) struct Summary {
    name: &'static str,
    kills: u64,
    acknowledged: u64,
    lost: Vec<String>,
}

impl Summary {
    pub(crate) fn is_clean(&self) -> bool {
        self.lost.is_empty()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kills, acknowledged, lost } = self;
        write!(f, "kills: {name}: {kills} kills, {acknowledged} acknowledged, {} lost", lost.len())
    }
}

fn session() -> SessionId {
    "s".parse().unwrap()
}

fn open(storage: Arc<dyn PageStorage>) -> ContextSystem {
    block_on(ContextSystem::open(storage, session(), Arc::new(SystemClock))).unwrap()
}

fn ledger(thread: &str) -> LedgerKey {
    LedgerKey { view: thread.parse().unwrap(), format: "openai".parse().unwrap() }
}

fn newest(storage: &dyn PageStorage, thread: &str) -> u64 {
    let query = LedgerQuery { upto: None, limit: 1 };
    let newest = block_on(storage.ledger(&session(), &ledger(thread), &query)).unwrap().pop();
    newest.map_or(0, |sent| sent.number)
}

fn custom(storage: &dyn PageStorage, thread: &str) -> u64 {
    let custom = block_on(storage.custom(&session())).unwrap();
    let own = custom.iter().find(|(key, _)| key.as_str() == thread);
    own.map_or(0, |(_, value)| value.parse().unwrap())
}

fn run(storage: &dyn PageStorage, thread: &str) -> Option<RunRecord> {
    let runs = block_on(storage.runs(&session(), thread)).unwrap();
    runs.into_iter().find(|run| run.key.as_str() == thread)
}

/// Edits from several threads for ever, and tells of each edit once it was acknowledged.
pub(crate) fn child(locator: &str, kill: &str) {
    // A thread that fails ends the process, and so is seen: the others would go on for ever.
    std::panic::set_hook(Box::new(|told| {
        let mut err = std::io::stderr().lock();
        let _ = writeln!(err, "{told}");
        std::process::abort();
    }));
    let storage = backends::open(locator).unwrap();
    let system = open(storage.clone());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (system, storage) = (system.clone(), storage.clone());
            scope.spawn(move || work(&system, &*storage, kill, &format!("t{thread}")));
        }
    });
}

fn work(system: &ContextSystem, storage: &dyn PageStorage, kill: &str, thread: &str) {
    let tell = |line: String| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}").unwrap();
        out.flush().unwrap();
    };
    let mut random =
        Random::new(kill.parse::<u64>().unwrap() * THREADS + thread[1..].parse::<u64>().unwrap());
    for at in 0.. {
        match random.below(8) {
            0..4 => {
                let text = format!("kill {kill} thread {thread} page {at}");
                // Some are long enough to be packed, or to need a file of their own.
                let text = text.clone() + &" and so on".repeat(usize::from(at % 5 == 0) * 500);
                let page = append(system, "acknowledged", &text);
                tell(format!("page\t{page}\t{text}"));
            }
            4 => {
                let value = custom(storage, thread) + 1;
                let key = thread.parse().unwrap();
                let set = Edit::SetCustom { key, value: Some(value.to_string()) };
                block_on(system.as_system().apply(set)).unwrap();
                tell(format!("custom\t{thread}\t{value}"));
            }
            5 => {
                let put = match run(storage, thread) {
                    Some(run) => run.next("{}", system.now()),
                    None => RunPut::first(thread.parse().unwrap(), "{}", system.now()),
                };
                let version = block_on(system.keep_run(&put)).unwrap();
                tell(format!("run\t{thread}\t{}", version.0));
            }
            6 => {
                let number = newest(storage, thread) + 1;
                block_on(storage.record(&session(), &ledger(thread), &sent(number))).unwrap();
                tell(format!("sent\t{thread}\t{number}"));
            }
            _ => {
                // Something of every kind that leaves as it came.
                let passing = append(system, "passing", "moved about");
                let agent =
                    AgentContext::new(system.clone(), View::common(thread.parse().unwrap()));
                block_on(agent.pin_page(&passing)).unwrap();
                block_on(system.as_system().apply(Edit::RemovePage(passing.clone()))).unwrap();
                block_on(system.as_system().apply(Edit::PurgePage(passing.clone()))).unwrap();
                tell(format!("gone\t{passing}\t"));
            }
        }
    }
}

/// What was acknowledged since the storage was begun, and what of it is still to be looked at.
#[derive(Default)]
struct Acknowledged {
    new: Vec<(String, String)>,
    /// Counters that only rise: the kind and thread, and the least they must be.
    least: BTreeMap<(String, String), u64>,
    count: u64,
}

impl Acknowledged {
    /// Takes in a whole line.
    fn take(&mut self, line: &str) {
        let [kind, subject, value] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("'{line}' is no acknowledgement");
        };
        self.count += 1;
        match kind {
            "page" | "gone" => self.new.push((subject.to_owned(), value.to_owned())),
            kind => {
                let least = self.least.entry((kind.to_owned(), subject.to_owned())).or_default();
                *least = (*least).max(value.parse().unwrap());
            }
        }
    }

    /// Looks whether everything is there, and at nothing twice.
    fn check(&mut self, home: &dyn Home, lost: &mut Vec<String>) {
        let storage = home.open();
        let system = open(storage.clone());
        for (page, expected) in self.new.drain(..) {
            let index = page.parse().unwrap();
            let there = block_on(system.as_system().reader().page(&index)).is_ok();
            if there == expected.is_empty() || there && text(&system, &index) != expected {
                lost.push(format!("page {page}: {expected:.60}"));
            }
        }
        for ((kind, thread), least) in &self.least {
            let now = match kind.as_str() {
                "custom" => custom(&*storage, thread),
                "run" => run(&*storage, thread).map_or(0, |run| run.version.0),
                _ => newest(&*storage, thread),
            };
            if now < *least {
                lost.push(format!("{kind} of {thread}: {now}, acknowledged was {least}"));
            }
        }
        lost.extend(block_on(check_session(&*storage, &session())).unwrap());
        lost.extend(block_on(storage.verify()).unwrap());
    }
}

// B-05: what was acknowledged survives SIGKILL, wherever it strikes; the rest is whole or absent.
pub(crate) fn what_was_acknowledged_survives(backend: &dyn Backend) -> Summary {
    let mut random = Random::new(SEED);
    let mut summary = Summary { name: backend.name(), kills: 0, acknowledged: 0, lost: Vec::new() };
    while summary.kills < KILLS && summary.is_clean() {
        let home = backend.home();
        make(&*home);
        let mut acknowledged = Acknowledged::default();
        for kill in 1..=HOME {
            // Every fifth dies while it opens the storage or begins to work.
            let lines = if random.chance(20) { 0 } else { 1 + random.below(40) };
            let wait = Duration::from_micros(random.below(if lines == 0 { 30_000 } else { 2_000 }));
            strike(&*home, summary.kills, lines, wait, &mut acknowledged);
            summary.kills += 1;
            if kill.is_multiple_of(ROUND) {
                acknowledged.check(&*home, &mut summary.lost);
            }
        }
        summary.acknowledged += acknowledged.count;
    }
    summary.lost.iter().for_each(|lost| println!("lost: {lost}"));
    summary
}

fn make(home: &dyn Home) {
    let new = NewSegment::new("usr".parse().unwrap(), SegmentKind::User);
    let clock = Arc::new(SystemClock);
    let edit = Edit::AddSegment(new);
    let made = ContextSystem::create_with(home.open(), session(), "test", clock, &edit);
    block_on(made).unwrap();
}

/// Starts a process and kills it once it has acknowledged some edits and a moment has passed.
fn strike(home: &dyn Home, kill: u64, lines: u64, wait: Duration, into: &mut Acknowledged) {
    let locator = home.locator().expect("another process can open it");
    let mut writer = spawn(&["kill-child", &locator, &kill.to_string()]);
    let mut out = BufReader::new(writer.stdout.take().unwrap());
    let mut line = String::new();
    for _ in 0..lines {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "the process ended by itself");
        into.take(line.trim_end_matches('\n'));
    }
    // Not slept away: a sleep ends where the scheduler likes.
    let began = Instant::now();
    while began.elapsed() < wait {
        spin_loop();
    }
    // On Unix this is SIGKILL.
    writer.kill().unwrap();
    let ended = writer.wait().unwrap();
    assert_eq!(ended.signal(), Some(9), "the process ended by itself");
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    // What it was about to tell when it died is no acknowledgement yet.
    let whole = rest.rfind('\n').map_or("", |end| &rest[..end]);
    whole.lines().for_each(|line| into.take(line));
}
