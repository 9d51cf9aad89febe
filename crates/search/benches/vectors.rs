//! What comparing meanings costs a search: the same session searched with vectors of all its messages, and without.
//!
//!     cargo bench -p contexture-search --bench vectors -- [MESSAGES]

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints what it measured, or stops"
)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use contexture_core::{
    ContextSystem, Edit, MemoryStorage, Message, NewSegment, PageStorage, Role, SegmentKind,
    Session,
};
use contexture_search::{
    Embedder, EmbedderError, EmbeddingLimits, FindQuery, IndexLimits, SearchIndex,
};
use contexture_storage::SystemClock;
use futures::executor::block_on;

/// As many as small models have.
const DIMENSIONS: usize = 384;

/// Gives directions by chance.
struct Chance(AtomicU64);

#[async_trait]
impl Embedder for Chance {
    fn name(&self) -> &str {
        "bench/chance"
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedderError> {
        let next = || {
            let state = self.0.load(Ordering::Relaxed);
            let state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            self.0.store(state, Ordering::Relaxed);
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        Ok(texts.iter().map(|_| (0..DIMENSIONS).map(|_| next()).collect()).collect())
    }
}

fn main() {
    let count = std::env::args().skip(1).find_map(|it| it.parse().ok()).unwrap_or(1_000_000);
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    let create = ContextSystem::create(
        storage.clone(),
        "bench".parse().unwrap(),
        "bench",
        Arc::new(SystemClock),
    );
    let system = block_on(create).unwrap();
    let session = system.as_system();
    let add = Edit::AddSegment(NewSegment::new("usr".parse().unwrap(), SegmentKind::User));
    block_on(session.apply(add)).unwrap();
    for first in (0..count).step_by(500) {
        let say = |at: usize| {
            let role = if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
            let (a, b) = (at.wrapping_mul(2_654_435_761) % 20_011, at.wrapping_mul(40_503) % 9_973);
            Message::text(
                role,
                format!("message {at} says word{a} about thing{b} and name{}", at % 997),
            )
        };
        let messages = (first..(first + 500).min(count)).map(say).collect();
        let edit = Edit::AddTurn { segment: "usr".parse().unwrap(), messages };
        block_on(session.apply(edit)).unwrap();
    }
    println!("{count} messages");
    let folder = tempfile::tempdir().unwrap();
    let plain = SearchIndex::open(storage.clone(), Some(&folder.path().join("plain"))).unwrap();
    block_on(plain.catch_up(session.id())).unwrap();
    block_on(plain.flush()).unwrap();
    searches("by words", &plain, &session);
    let place = folder.path().join("meanings");
    let limits = EmbeddingLimits {
        patience: Duration::from_secs(3_600),
        batch: 4_096,
        texts: usize::MAX,
        ..EmbeddingLimits::default()
    };
    let open = || {
        let embedder: Option<Arc<dyn Embedder>> = Some(Arc::new(Chance(AtomicU64::new(1))));
        let index = IndexLimits::default();
        SearchIndex::open_embedding(storage.clone(), Some(&place), index, embedder, limits).unwrap()
    };
    let index = open();
    let began = Instant::now();
    block_on(index.catch_up(session.id())).unwrap();
    block_on(index.flush()).unwrap();
    println!("indexed in {:.1} s", began.elapsed().as_secs_f64());
    let began = Instant::now();
    let found = block_on(index.search(&session, &FindQuery::new("word7"))).unwrap();
    println!("vectors made in {:.1} s: {:?}", began.elapsed().as_secs_f64(), found.similarity);
    searches("by meanings too", &index, &session);
    let size = |name: &str| -> u64 {
        let files = std::fs::read_dir(folder.path().join(name)).unwrap().map(|it| it.unwrap());
        files.map(|file| file.metadata().unwrap().len()).sum()
    };
    for name in ["plain/index-2", "meanings/index-2", "meanings/vectors-1"] {
        println!("{name}: {:.1} MB", size(name) as f64 / 1e6);
    }
    drop(index);
    let began = Instant::now();
    let index = open();
    block_on(index.search(&session, &FindQuery::new("word7"))).unwrap();
    println!("opened again and searched in {:.0} ms", began.elapsed().as_secs_f64() * 1e3);
}

fn searches(what: &str, index: &SearchIndex, session: &Session) {
    let mut took: Vec<Duration> = (0..60)
        .map(|at| {
            let query =
                FindQuery::new(format!("what says word{} about thing{}", at * 331, at * 97));
            let began = Instant::now();
            block_on(index.find(session, &query)).unwrap();
            began.elapsed()
        })
        .collect();
    took.sort();
    let at = |share: usize| took[took.len() * share / 100].as_secs_f64() * 1e3;
    println!("{what}: p50 {:.1} ms, p95 {:.1} ms", at(50), at(95));
}
