//! The index beside a naive collection of what a view reads.

#[path = "search_tests/naive.rs"]
mod naive;

use std::{path::Path, sync::Arc};

use contexture_core::{
    Actor, ContextSystem, Edit, MemoryStorage, PageIndex, PageStorage, Principal, Session,
    Timestamp, View, message::MessageFilter,
};
use contexture_testkit::{
    edits::{Diet, Edits, beginning, callers},
    fixture::{TickingClock, assistant, calls, returned, segment, session_id, user, valid},
    model::Model,
    property::make,
    random::Random,
};
use futures::executor::block_on;

use super::FindQuery;
use crate::{IndexLimits, SearchIndex, collection::Collection, document::DocKey};
use naive::Naive;

const WORDS: [&str; 16] = [
    "harbour",
    "lantern",
    "granite",
    "willow",
    "copper",
    "orchard",
    "thunder",
    "velvet",
    "compass",
    "meadow",
    "get_user_name",
    "東京都",
    "全文检索",
    "안녕하세요",
    "Ünïcode",
    "v1.2.3",
];

fn words(random: &mut Random) -> String {
    let count = 1 + random.below(6);
    let words: Vec<&str> = (0..count).map(|_| *random.pick(&WORDS)).collect();
    format!("{}{}", words.join(" "), if random.chance(20) { "?" } else { "." })
}

/// A turn with requests, answers, thinking and tools.
fn turn(random: &mut Random, number: u64, segment: &str) -> Edit {
    let call = format!("call_{number}");
    let mut messages = vec![user(&words(random))];
    if random.chance(50) {
        messages.push(calls(&call, &format!("{{\"q\":\"{}\"}}", words(random))));
        messages.push(returned(&call, &words(random)));
    }
    if random.chance(80) {
        messages.push(assistant(&words(random)));
    }
    let segment = self::segment(segment);
    Edit::AddTurn { segment, messages }
}

/// Returns a random view of an agent.
fn view(random: &mut Random, pages: &[PageIndex]) -> View {
    let agent = random.pick(&["alpha", "beta", "gamma"]);
    let mut view = View::common(valid(agent));
    if random.chance(40) {
        let authors = [Actor::System, valid("alpha"), valid("beta")];
        view.filter.authors = Some(authors.into_iter().filter(|_| random.chance(50)).collect());
    }
    view.filter.speech = *random.pick(&[
        MessageFilter::All,
        MessageFilter::All,
        MessageFilter::WithoutTools,
        MessageFilter::RequestsOnly,
    ]);
    if random.chance(25) {
        let since = 1_760_000_000_000 + random.below(400) as i64;
        view.filter.since = Some(Timestamp::from_millis(since));
    }
    if random.chance(30) && !pages.is_empty() {
        view.filter.without =
            (0..1 + random.below(3)).map(|_| random.pick(pages).clone()).collect();
    }
    view
}

struct Run {
    random: Random,
    storage: Arc<MemoryStorage>,
    system: ContextSystem,
    model: Model,
    edits: Edits,
    seed: u64,
    pages: Vec<PageIndex>,
}

impl Run {
    fn new(seed: u64) -> Self {
        let storage = Arc::new(MemoryStorage::new());
        let clock = TickingClock::new();
        let create = ContextSystem::create(storage.clone(), session_id(), "search", clock);
        let system = block_on(create).unwrap();
        let edits = Edits::new(seed, Diet { purge: true });
        let random = Random::new(seed ^ 0x5ea2c4);
        let mut run =
            Self { random, storage, system, model: Model::new(), edits, seed, pages: Vec::new() };
        for edit in beginning() {
            run.make(&Principal::System, &edit);
        }
        run
    }

    fn make(&mut self, caller: &Principal, edit: &Edit) -> bool {
        let _ = self.model.apply(caller, edit);
        match block_on(make(&self.system, caller, edit.clone())) {
            Ok(outcome) => {
                self.pages.extend(outcome.pages);
                true
            }
            Err(_) => false,
        }
    }

    fn step(&mut self, number: u64) {
        let (caller, edit) = if self.random.chance(25) {
            let segment = *self.random.pick(&["usr", "free", "tool"]);
            let caller = self.random.pick(&callers()).clone();
            (caller, turn(&mut self.random, number, segment))
        } else {
            self.edits.next(&self.model)
        };
        self.make(&caller, &edit);
    }

    fn open(&self, folder: Option<&Path>) -> SearchIndex {
        let limits = IndexLimits { documents: 200, bytes: 1 << 20 };
        let storage: Arc<dyn PageStorage> = self.storage.clone();
        SearchIndex::open_with(storage, folder, limits).unwrap()
    }

    /// Compares what the index and a naive collection say for some views.
    fn compare(&mut self, index: &SearchIndex, step: u64) {
        let mut holders = vec![Principal::System];
        holders.extend((0..3).map(|_| Principal::from(view(&mut self.random, &self.pages))));
        holders.push(self.random.pick(&callers()).clone());
        for holder in holders {
            let at = format!("seed {}, step {step}, {holder:?}", self.seed);
            let session = self.system.held_by(holder);
            block_on(compare(index, &session, &*self.storage, &at));
        }
    }
}

async fn compare(index: &SearchIndex, session: &Session, storage: &dyn PageStorage, at: &str) {
    index.catch_up(session.id()).await.unwrap();
    let scope = index.scope(session, &FindQuery::default()).await.unwrap();
    let naive = Naive::read(session, storage, &scope.ids()).await;
    let compared = index.with_documents(session, &scope, &Default::default(), None, |documents| {
        same(&naive, documents, at);
        documents.check().unwrap();
    });
    assert!(compared.is_some(), "{at}");
}

fn same(naive: &Naive, index: &dyn Collection, at: &str) {
    for key in naive.keys() {
        assert_eq!(index.facts(key), naive.facts(key), "{at}: {key:?}");
        let around = |collection: &dyn Collection| {
            let mut found = Vec::new();
            collection.around(key, 2, &mut |key| found.push(key));
            found
        };
        assert_eq!(around(index), around(naive), "{at}: around {key:?}");
    }
    assert_eq!(index.size(), naive.size(), "{at}");
    let missing = ["zebra".to_owned(), "page".to_owned(), "text".to_owned()];
    for term in naive.vocabulary().into_iter().chain(missing) {
        let postings = |collection: &dyn Collection| {
            let mut found = Vec::new();
            collection.postings(&term, &mut |posting| {
                found.push(*posting);
                true
            });
            found
        };
        assert_eq!(postings(index), postings(naive), "{at}: {term}");
    }
    for prefix in ["", "p", "co", "東", "zz"] {
        assert_eq!(index.completions(prefix, 7), naive.completions(prefix, 7), "{at}: {prefix}*");
    }
    for speaker in ["alpha", "user", "assistant", "nobody"] {
        let speaker = crate::speaker_hash(speaker);
        assert_eq!(index.speaks(speaker), naive.speaks(speaker), "{at}");
    }
    let absent = DocKey { segment: 0, page: 999_999, message: 1 };
    assert_eq!(index.facts(absent), None, "{at}");
}

fn random_edits(seed: u64, steps: u64) {
    let mut run = Run::new(seed);
    let folder = tempfile::tempdir().unwrap();
    let mut index = run.open(Some(folder.path()));
    let mut other = run.open(Some(folder.path()));
    for step in 0..steps {
        run.step(step);
        if run.random.chance(6) {
            run.compare(&index, step);
        }
        if run.random.chance(3) {
            run.compare(&other, step);
        }
        if run.random.chance(4) {
            block_on(index.flush()).unwrap();
        }
        if run.random.chance(2) {
            // Another process may be writing.
            let _ = block_on(other.flush());
        }
        if run.random.chance(2) {
            drop(index);
            index = run.open(Some(folder.path()));
        }
        if run.random.chance(1) {
            std::mem::swap(&mut index, &mut other);
        }
    }
    run.compare(&index, steps);
    run.compare(&other, steps);
    let memory = run.open(None);
    run.compare(&memory, steps);
    drop((index, other));
    let again = run.open(Some(folder.path()));
    run.compare(&again, steps);
}

#[test]
fn the_index_holds_what_views_read() {
    for seed in 0..4 {
        random_edits(seed, 150);
    }
}

#[test]
#[ignore = "takes minutes"]
fn the_index_holds_what_views_read_at_length() {
    for seed in 100..130 {
        random_edits(seed, 400);
    }
}
