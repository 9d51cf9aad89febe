//! Search at the size of a long life: indexing, queries, and what following costs, beside tantivy and SQLite FTS5
//! by hand on the same texts.
//!
//! `cargo bench -p contexture-search --bench search -- --turns 1000000`

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints what it measured, or stops"
)]

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use contexture_core::{
    ContextSystem, Edit, Message, NewSegment, PageStorage, Role, SegmentKind, Session, View,
    message::MessageFilter,
};
use contexture_search::{FindQuery, SearchIndex, cut};
use contexture_storage::{
    SystemClock,
    sqlite::{SqliteOptions, SqliteStorage},
};
use contexture_testkit::random::Random;
use futures::executor::block_on;
use tantivy::{
    Index, IndexWriter, TantivyDocument, Term,
    collector::TopDocs,
    query::{BooleanQuery, Occur, TermQuery},
    schema::{FAST, IndexRecordOption, Schema, TEXT},
};

const COMMON: [&str; 60] = [
    "the", "to", "and", "a", "of", "i", "in", "it", "you", "that", "is", "for", "was", "on", "my",
    "with", "this", "be", "have", "so", "we", "are", "at", "but", "not", "do", "can", "me", "just",
    "what", "as", "if", "they", "or", "about", "like", "all", "will", "there", "one", "would",
    "from", "your", "an", "how", "up", "out", "when", "which", "had", "by", "more", "time", "no",
    "some", "has", "then", "them", "been", "were",
];

/// The folders of the two indices.
const TANTIVY: &str = "tantivy";
const OURS: &str = "search";

/// How often each of them is made.
const ROUNDS: usize = 3;

/// How many words there are.
const VOCABULARY: usize = 80_000;

/// Words as people use them: a few all the time, most hardly ever.
struct Vocabulary {
    words: Vec<String>,
    /// The share of all words up to each, times 2^32.
    shares: Vec<u64>,
}

impl Vocabulary {
    fn new() -> Self {
        let mut random = Random::new(7);
        let syllables =
            ["ka", "ro", "min", "tes", "lu", "pra", "vo", "sen", "dri", "mo", "el", "gat"];
        let mut words: Vec<String> = COMMON.iter().map(|word| (*word).to_owned()).collect();
        while words.len() < VOCABULARY {
            let count = 2 + random.below(3);
            words.push((0..count).map(|_| *random.pick(&syllables)).collect());
            if random.chance(50) {
                let number = random.below(90);
                words.last_mut().unwrap().push(char::from(b'a' + (number % 26) as u8));
            }
        }
        let mass: f64 = (1..=words.len()).map(|rank| 1.0 / rank as f64).sum();
        let mut sum = 0.0;
        let shares = (1..=words.len()).map(|rank| {
            sum += 1.0 / rank as f64 / mass;
            (sum * 4_294_967_296.0) as u64
        });
        let shares = shares.collect();
        Self { words, shares }
    }

    fn word(&self, random: &mut Random) -> usize {
        let at = random.number() >> 32;
        self.shares.partition_point(|share| *share < at).min(self.words.len() - 1)
    }

    fn text(&self, random: &mut Random, mean: u64) -> String {
        let count = 3 + random.below(mean) + random.below(mean);
        let mut text = String::new();
        for _ in 0..count {
            text.push_str(&self.words[self.word(random)]);
            text.push(' ');
        }
        text.truncate(text.len() - 1);
        text.push(if random.chance(15) { '?' } else { '.' });
        text
    }
}

/// Returns the texts of all turns: a request, then an answer.
fn texts(turns: u64) -> Vec<String> {
    let (vocabulary, mut random) = (Vocabulary::new(), Random::new(42));
    (0..turns)
        .map(|turn| vocabulary.text(&mut random, if turn % 2 == 0 { 20 } else { 40 }))
        .collect()
}

/// Returns questions: a few words of one turn, and words that stand everywhere.
fn questions(texts: &[String], count: usize) -> Vec<String> {
    let mut random = Random::new(99);
    let mut questions = Vec::with_capacity(count);
    while questions.len() < count {
        let words: Vec<&str> = random.pick(texts).split_whitespace().collect();
        let rare: Vec<&str> = words.into_iter().filter(|word| !COMMON.contains(word)).collect();
        if rare.len() < 3 {
            continue;
        }
        let asked: Vec<&str> =
            (0..3).map(|_| random.pick(&rare).trim_matches(['.', '?'])).collect();
        questions.push(format!(
            "what did you say about {} when {} was with {}?",
            asked[0], asked[1], asked[2]
        ));
    }
    questions
}

fn message(at: usize, text: &str) -> Message {
    let role = if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
    Message::text(role, text)
}

async fn fill(path: &Path, texts: &[String]) -> ContextSystem {
    let storage = open(path);
    let clock = Arc::new(SystemClock);
    let system =
        ContextSystem::create(storage, "bench".parse().unwrap(), "bench", clock).await.unwrap();
    let usr = NewSegment::new("usr".parse().unwrap(), SegmentKind::User);
    system.as_system().apply(Edit::AddSegment(usr)).await.unwrap();
    for (batch, texts) in texts.chunks(1_000).enumerate() {
        let messages = texts.iter().enumerate().map(|(at, text)| message(batch * 1_000 + at, text));
        let edit = Edit::AddTurn { segment: "usr".parse().unwrap(), messages: messages.collect() };
        system.as_system().apply(edit).await.unwrap();
    }
    system
}

fn open(path: &Path) -> Arc<dyn PageStorage> {
    Arc::new(SqliteStorage::open(path, SqliteOptions::default()).unwrap())
}

fn main() {
    let mut turns = 20_000;
    let args: Vec<String> = std::env::args().collect();
    for pair in args.windows(2) {
        if pair[0] == "--store" {
            // A store that stays: our own index and tantivy by hand are measured.
            let store = Path::new(&pair[1]);
            let texts = texts(turns);
            let bytes: usize = texts.iter().map(String::len).sum();
            if !store.exists() {
                drop(block_on(fill(store, &texts)));
            }
            let questions = questions(&texts, 1_000);
            let folder = tempfile::tempdir().unwrap();
            indexing(folder.path(), store, &texts, bytes);
            by_hand(&folder.path().join(TANTIVY), &questions);
            queries(&folder.path().join(OURS), store, &questions);
            following(folder.path(), store, &texts);
            return;
        }
        if pair[0] == "--turns" {
            turns = pair[1].parse().expect("--turns takes a number");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let texts = texts(turns);
    let bytes: usize = texts.iter().map(String::len).sum();
    println!("{turns} turns, {} MB of text, {} bytes each", bytes >> 20, bytes / texts.len());
    let questions = questions(&texts, 1_000);
    fts5(&folder.path().join("fts5.db"), &texts, &questions, bytes);
    let began = Instant::now();
    let store = folder.path().join("store.db");
    let system = block_on(fill(&store, &texts));
    println!("store filled in {:.1} s", began.elapsed().as_secs_f64());
    drop(system);
    indexing(folder.path(), &store, &texts, bytes);
    by_hand(&folder.path().join(TANTIVY), &questions);
    queries(&folder.path().join(OURS), &store, &questions);
    following(folder.path(), &store, &texts);
}

/// When something began, by the clock and by what all threads had used of the processors.
struct Began(Instant, u64);

impl Began {
    fn now() -> Self {
        Self(Instant::now(), cpu())
    }

    fn rate(&self, what: &str, documents: usize) -> f64 {
        let (took, worked) = (self.0.elapsed().as_secs_f64(), (cpu() - self.1) as f64 / 100.0);
        let rate = documents as f64 / took;
        println!("{what}: {took:.1} s, {worked:.1} s of processor time, {rate:.0} documents/s");
        rate
    }
}

fn times(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{what}: p50 {:.2} ms, p90 {:.2} ms, p99 {:.2} ms, most {:.2} ms",
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0)
    );
}

/// Returns how long all threads were on a processor, in hundredths of a second, where the system tells.
fn cpu() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

fn size_of(path: &Path) -> u64 {
    let files = std::fs::read_dir(path).unwrap().map(|file| file.unwrap());
    files
        .map(|file| match file.metadata().unwrap() {
            it if it.is_dir() => size_of(&file.path()),
            it => it.len(),
        })
        .sum()
}

/// Terms as the index cuts them, and nothing else.
fn cutting(texts: &[String]) {
    let began = Began::now();
    let mut terms = 0;
    texts.iter().for_each(|text| cut(text, &mut |_| terms += 1));
    began.rate(&format!("cutting alone ({terms} terms)"), texts.len());
}

/// Indexing by turns, because the machine's own speed varies: tantivy by hand, then ours, some rounds of both.
fn indexing(folder: &Path, store: &Path, texts: &[String], bytes: usize) {
    cutting(texts);
    let mut shares: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            for name in [TANTIVY, OURS] {
                let _ = std::fs::remove_dir_all(folder.join(name));
            }
            let by_hand = index_by_hand(&folder.join(TANTIVY), texts);
            index_store(&folder.join(OURS), store, texts.len()) / by_hand
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    println!("indexed at {shares:.2?} of the rate of tantivy by hand");
    for (what, name) in [("tantivy by hand", TANTIVY), ("index", OURS)] {
        println!("{what}: {:.2} of the text", size_of(&folder.join(name)) as f64 / bytes as f64);
    }
}

fn index_by_hand(path: &Path, texts: &[String]) -> f64 {
    std::fs::create_dir_all(path).unwrap();
    let mut schema = Schema::builder();
    let (id, body) = (schema.add_u64_field("id", FAST), schema.add_text_field("body", TEXT));
    let index = Index::create_in_dir(path, schema.build()).unwrap();
    let began = Began::now();
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 48 << 20).unwrap();
    for (number, text) in texts.iter().enumerate() {
        let mut document = TantivyDocument::default();
        document.add_u64(id, number as u64);
        document.add_text(body, text);
        writer.add_document(document).unwrap();
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    began.rate("tantivy by hand, one thread, committed and merged", texts.len())
}

fn index_store(folder: &Path, store: &Path, documents: usize) -> f64 {
    let index = SearchIndex::open(open(store), Some(folder)).unwrap();
    let began = Began::now();
    block_on(index.catch_up(&"bench".parse().unwrap())).unwrap();
    began.rate("index, from the store, searchable", documents);
    block_on(index.flush()).unwrap();
    began.rate("index, from the store, on disk and merged", documents)
}

fn by_hand(path: &Path, questions: &[String]) {
    let index = Index::open_in_dir(path).unwrap();
    let body = index.schema().get_field("body").unwrap();
    let searcher = index.reader().unwrap().searcher();
    let took = questions.iter().map(|question| {
        let began = Instant::now();
        let words = question.split_whitespace().map(|word| word.trim_matches('?').to_owned());
        let clauses = words.map(|word| {
            let term =
                TermQuery::new(Term::from_field_text(body, &word), IndexRecordOption::WithFreqs);
            (Occur::Should, Box::new(term) as Box<dyn tantivy::query::Query>)
        });
        let query = BooleanQuery::new(clauses.collect());
        let found = searcher.search(&query, &TopDocs::with_limit(10).order_by_score()).unwrap();
        assert!(!found.is_empty());
        began.elapsed()
    });
    times("tantivy by hand, all words", took.collect());
}

fn fts5(path: &Path, texts: &[String], questions: &[String], bytes: usize) {
    let mut db = rusqlite::Connection::open(path).unwrap();
    db.pragma_update(None, "journal_mode", "wal").unwrap();
    let table = "create virtual table f using fts5(body, content='', contentless_delete=1)";
    db.execute_batch(table).unwrap();
    let began = Began::now();
    for (batch, texts) in texts.chunks(10_000).enumerate() {
        let transaction = db.transaction().unwrap();
        {
            let mut insert =
                transaction.prepare("insert into f(rowid, body) values(?, ?)").unwrap();
            for (at, text) in texts.iter().enumerate() {
                insert.execute(((batch * 10_000 + at + 1) as i64, text)).unwrap();
            }
        }
        transaction.commit().unwrap();
    }
    began.rate("FTS5", texts.len());
    db.execute_batch("pragma wal_checkpoint(truncate)").unwrap();
    let size = std::fs::metadata(path).unwrap().len();
    println!("FTS5: {:.2} of the text", size as f64 / bytes as f64);
    let mut select =
        db.prepare("select rowid from f where f match ? order by bm25(f) limit 10").unwrap();
    let took = questions.iter().take(50).map(|question| {
        let began = Instant::now();
        let words: Vec<&str> = question.trim_matches('?').split_whitespace().collect();
        let found: Vec<i64> = select
            .query_map([words.join(" OR ")], |row| row.get(0))
            .unwrap()
            .map(|row| row.unwrap())
            .collect();
        assert!(!found.is_empty());
        began.elapsed()
    });
    times("FTS5, all words, 50 queries", took.collect());
}

fn queries(folder: &Path, store: &Path, questions: &[String]) {
    let (storage, session) = (open(store), "bench".parse().unwrap());
    let began = Instant::now();
    let index = SearchIndex::open(storage.clone(), Some(folder)).unwrap();
    block_on(index.catch_up(&session)).unwrap();
    println!("opened again in {:.1} ms", began.elapsed().as_secs_f64() * 1e3);
    let system = block_on(ContextSystem::open(storage, session, Arc::new(SystemClock))).unwrap();
    let mut quiet = View::common("reader".parse().unwrap());
    quiet.filter.speech = MessageFilter::WithoutTools;
    let holders: [(&str, Session); 3] = [
        ("the system side", system.as_system()),
        ("an agent", system.held_by(View::common("helper".parse().unwrap()).into())),
        ("an agent that sees no tools", system.held_by(quiet.into())),
    ];
    for (who, session) in &holders {
        let first = Instant::now();
        block_on(index.find(session, &FindQuery::new(&*questions[0]))).unwrap();
        println!("first query of {who}: {:.2} ms", first.elapsed().as_secs_f64() * 1e3);
        let took = questions.iter().map(|question| {
            let began = Instant::now();
            let found = block_on(index.find(session, &FindQuery::new(question.as_str()))).unwrap();
            assert!(!found.is_empty());
            began.elapsed()
        });
        times(&format!("find as {who}"), took.collect());
    }
}

/// What an append costs, with and without an index that follows.
fn following(folder: &Path, store: &Path, texts: &[String]) {
    const APPENDS: usize = 500;
    let append = |follows: bool, round: usize| -> (Duration, u64) {
        let storage = open(store);
        let clock = Arc::new(SystemClock);
        let opened = ContextSystem::open(storage.clone(), "bench".parse().unwrap(), clock);
        let system = block_on(opened).unwrap();
        let index = SearchIndex::open(storage, Some(&folder.join("search"))).unwrap();
        block_on(index.catch_up(system.session())).unwrap();
        let (stop, stopped) = futures::channel::oneshot::channel::<()>();
        let follower = follows.then(|| {
            let (index, system) = (index.clone(), system.clone());
            std::thread::spawn(move || {
                let follow = Box::pin(async move { index.follow(&system).await });
                let _ = block_on(futures::future::select(follow, stopped));
            })
        });
        let session = system.as_system();
        let (began, worked) = (Instant::now(), cpu());
        for at in 0..APPENDS {
            let text = |at: usize| &texts[(round * APPENDS + at) % texts.len()];
            let messages = vec![message(0, text(at)), message(1, text(at + 1))];
            let edit = Edit::AddTurn { segment: "usr".parse().unwrap(), messages };
            block_on(session.apply(edit)).unwrap();
        }
        let took = began.elapsed();
        drop(stop);
        if let Some(follower) = follower {
            follower.join().unwrap();
        }
        (took, cpu() - worked)
    };
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for round in 0..7 {
        without.push(append(false, 2 * round));
        with.push(append(true, 2 * round + 1));
    }
    for (what, rounds) in [("alone", without), ("while an index follows", with)] {
        let mut took: Vec<Duration> = rounds.iter().map(|(took, _)| *took).collect();
        took.sort();
        let worked: u64 = rounds.iter().map(|(_, worked)| worked).sum();
        println!(
            "an append {what}: {:.0} µs (median of {} rounds, {:.0} at best), {:.0} µs of processor time",
            took[took.len() / 2].as_secs_f64() * 1e6 / APPENDS as f64,
            took.len(),
            took[0].as_secs_f64() * 1e6 / APPENDS as f64,
            worked as f64 * 1e4 / (APPENDS * rounds.len()) as f64,
        );
    }
}
