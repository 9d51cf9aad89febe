//! The index compared with a naive collection of what a view reads.

#[path = "search_tests/canary.rs"]
mod canary;
#[cfg(unix)]
#[path = "search_tests/damage.rs"]
mod damage;
#[path = "search_tests/naive.rs"]
mod naive;
#[path = "search_tests/phrase.rs"]
mod phrase;
#[path = "search_tests/restored.rs"]
mod restored;

use std::{path::Path, sync::Arc};

use contexture_core::{
    Actor, AgentContext, ContextSystem, Edit, Engine, MemoryStorage, Mounts, NewSegment, PageIndex,
    PageStorage, PageUpdate, PageView, Principal, Role, SegmentKind, Session, Timestamp, View,
    message::MessageFilter, storage::BranchParent,
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
use crate::{IndexLimits, LazyIndex, SearchIndex, collection::Collection, document::DocKey};
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
    /// Another session in the same store.
    other: ContextSystem,
    /// Branches of the session, each with the session as it stands there.
    branches: Vec<(ContextSystem, AgentContext)>,
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
        let clock = TickingClock::new();
        let create = ContextSystem::create(storage.clone(), valid("other"), "search", clock);
        let other = block_on(create).unwrap();
        let (model, branches, pages) = (Model::new(), Vec::new(), Vec::new());
        let mut run = Self { random, storage, system, other, branches, model, edits, seed, pages };
        for edit in beginning() {
            run.make(&Principal::System, &edit);
            block_on(run.other.as_system().apply(edit)).unwrap();
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
        if self.random.chance(20) {
            let edit = turn(&mut self.random, number, "usr");
            block_on(self.other.as_system().apply(edit)).unwrap();
        }
        if self.random.chance(2) && self.branches.len() < 3 {
            self.branch();
        }
        if self.random.chance(5) && !self.branches.is_empty() {
            let edit = turn(&mut self.random, number, &format!("fork-{}", self.branches.len()));
            let (_, branch) = self.branches.last().expect("there is one");
            // Its segment may be gone.
            let _ = block_on(branch.apply(edit));
        }
    }

    /// Begins a branch of what somebody sees.
    fn branch(&mut self) {
        let number = self.branches.len() as u64 + 1;
        let own = segment(&format!("fork-{number}"));
        let add = Edit::AddSegment(NewSegment::new(own.clone(), SegmentKind::Custom));
        self.make(&Principal::System, &add);
        let parent = match self.random.chance(50) {
            true => Principal::from(view(&mut self.random, &self.pages)),
            false => self.random.pick(&callers()).clone(),
        };
        let parent = self.system.held_by(parent);
        let parent = BranchParent::Session(parent.principal());
        let agent = valid("fixer");
        let branch = block_on(self.system.branch(parent, &agent, number, &own)).unwrap();
        let opened = block_on(self.system.open_branch(&branch)).unwrap();
        self.branches.push((opened.clone(), AgentContext::new(opened, branch.view)));
    }

    fn open(&self, folder: Option<&Path>) -> SearchIndex {
        let limits = IndexLimits { documents: 200, bytes: 1 << 20 };
        let storage: Arc<dyn PageStorage> = self.storage.clone();
        SearchIndex::open_with(storage, folder, limits).unwrap()
    }

    /// Compares the index with a naive collection, for some views.
    fn compare(&mut self, index: &SearchIndex, step: u64) {
        let mut holders = vec![Principal::System];
        holders.extend((0..3).map(|_| Principal::from(view(&mut self.random, &self.pages))));
        holders.push(self.random.pick(&callers()).clone());
        for holder in holders {
            let at = format!("seed {}, step {step}, {holder:?}", self.seed);
            let session = self.system.held_by(holder);
            block_on(compare(index, &session, &*self.storage, &at));
        }
        let at = format!("seed {}, step {step}, other", self.seed);
        block_on(compare(index, &self.other.as_system(), &*self.storage, &at));
        for (number, (opened, branch)) in self.branches.iter().enumerate() {
            let at = format!("seed {}, step {step}, branch {number}", self.seed);
            block_on(opened.refresh()).unwrap();
            block_on(compare(index, branch, &*opened.storage(), &at));
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
    assert_eq!(index.size(), naive.size(), "{at}");
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

/// Opens a session with the segments `usr`, `free` and the agents' own.
async fn begin(storage: Arc<dyn PageStorage>) -> ContextSystem {
    let clock = TickingClock::new();
    let system = ContextSystem::create(storage, session_id(), "search", clock).await.unwrap();
    for edit in beginning() {
        system.as_system().apply(edit).await.unwrap();
    }
    system
}

async fn say(system: &ContextSystem, segment: &str, text: &str) -> PageIndex {
    let messages = vec![user(text), assistant("Noted.")];
    let segment = self::segment(segment);
    let outcome = system.as_system().apply(Edit::AddTurn { segment, messages }).await.unwrap();
    outcome.pages[0].clone()
}

async fn found(index: &SearchIndex, session: &Session, text: &str) -> Vec<String> {
    let hits = index.find(session, &FindQuery::new(text)).await.unwrap();
    hits.iter().map(|hit| hit.index().to_string()).collect()
}

// Removed, hidden and archived: found, and found in the archive. Purged: never found, and not in the files.
#[test]
fn what_is_purged_is_never_found() {
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let system = begin(storage.clone()).await;
        let index = SearchIndex::open(storage.clone(), Some(folder.path())).unwrap();
        let session = system.as_system();
        let page = say(&system, "usr", "the zanzibarite lantern").await;
        let other = say(&system, "usr", "another lantern").await;
        index.catch_up(session.id()).await.unwrap();
        index.flush().await.unwrap();
        assert_eq!(found(&index, &session, "zanzibarite").await, [page.to_string()]);
        session.apply(Edit::HideDetails(page.clone())).await.unwrap();
        assert_eq!(found(&index, &session, "zanzibarite").await, [page.to_string()]);
        session.apply(Edit::RemovePage(page.clone())).await.unwrap();
        let hits = index.find(&session, &FindQuery::new("zanzibarite")).await.unwrap();
        assert!(hits.len() == 1 && hits[0].page.archived);
        let live = FindQuery { archived: Some(false), ..FindQuery::new("zanzibarite") };
        assert!(index.find(&session, &live).await.unwrap().is_empty());
        assert!(holds(&index, "zanzibarit"));
        session.apply(Edit::PurgePage(page.clone())).await.unwrap();
        assert!(found(&index, &session, "zanzibarite").await.is_empty());
        assert!(!holds(&index, "zanzibarit"), "the word is still in the index's files");
        // Nor in files of earlier commits.
        assert_eq!(dictionaries(folder.path()), index.inner.snapshot().blocks.len());
        assert_eq!(found(&index, &session, "lantern").await, [other.to_string()]);
        drop(index);
        let index = SearchIndex::open(storage, Some(folder.path())).unwrap();
        assert!(found(&index, &session, "zanzibarite").await.is_empty());
        assert_eq!(found(&index, &session, "lantern").await, [other.to_string()]);
    });
}

/// Returns how many files hold words.
fn dictionaries(folder: &Path) -> usize {
    let indices = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = indices.flat_map(|index| std::fs::read_dir(index).unwrap());
    files.filter(|file| file.as_ref().unwrap().path().extension() == Some("term".as_ref())).count()
}

/// Returns whether any term in the index's files contains a text, even one of a deleted document.
fn holds(index: &SearchIndex, text: &str) -> bool {
    index.inner.snapshot().blocks.iter().any(|block| {
        let mut terms = block.terms.terms().stream().unwrap();
        let mut found = false;
        while terms.advance() {
            found |= std::str::from_utf8(terms.key()).is_ok_and(|term| term.contains(text));
        }
        found
    })
}

// What a branch inherited is searched as it stood, whatever the parent did since.
#[test]
fn a_branch_finds_what_it_inherited() {
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let system = begin(storage.clone()).await;
        let host = system.as_system();
        let changed = say(&system, "usr", "copper before").await;
        let removed = say(&system, "usr", "granite before").await;
        let kept = say(&system, "usr", "willow before").await;
        let purged = say(&system, "usr", "velvet before").await;
        let add = Edit::AddSegment(NewSegment::new(segment("fork"), SegmentKind::Custom));
        host.apply(add).await.unwrap();
        let index = SearchIndex::open(storage.clone(), Some(folder.path())).unwrap();
        index.catch_up(host.id()).await.unwrap();
        index.flush().await.unwrap();
        let parent = BranchParent::Session(host.principal());
        let branch = system.branch(parent, &valid("fixer"), 1, &segment("fork")).await.unwrap();
        let opened = system.open_branch(&branch).await.unwrap();
        let branch = AgentContext::new(opened, branch.view);
        for flush in [false, true] {
            let detail = Some("meadow after".to_owned());
            let update = PageUpdate { detail, ..PageUpdate::of(changed.clone()) };
            host.apply(Edit::UpdatePage(update)).await.unwrap();
            let _ = host.apply(Edit::RemovePage(removed.clone())).await;
            let _ = host.apply(Edit::PurgePage(purged.clone())).await;
            say(&system, "usr", "orchard after").await;
            let own =
                Edit::AddTurn { segment: segment("fork"), messages: vec![user("thunder own")] };
            branch.apply(own).await.unwrap();
            if flush {
                index.catch_up(host.id()).await.unwrap();
                index.flush().await.unwrap();
            }
            let first = async |session: &Session, text| {
                found(&index, session, text).await.into_iter().next()
            };
            assert_eq!(first(&branch, "copper").await, Some(changed.to_string()));
            assert_eq!(first(&branch, "granite").await, Some(removed.to_string()));
            assert_eq!(first(&branch, "willow").await, Some(kept.to_string()));
            assert_eq!(first(&branch, "meadow").await, None);
            assert_eq!(first(&branch, "orchard").await, None);
            assert_eq!(first(&branch, "velvet").await, None);
            assert!(first(&branch, "thunder").await.unwrap().starts_with("fork-"));
            assert_eq!(first(&host, "meadow").await, Some(changed.to_string()));
            assert!(first(&host, "orchard").await.is_some());
        }
    });
}

#[test]
fn a_damaged_index_is_made_again() {
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let system = begin(storage.clone()).await;
        let session = system.as_system();
        let page = say(&system, "usr", "the copper lantern").await;
        let open = || SearchIndex::open(storage.clone(), Some(folder.path()));
        let index = open().unwrap();
        assert_eq!(found(&index, &session, "copper").await, [page.to_string()]);
        drop(index);
        let inside = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let files: Vec<_> =
            std::fs::read_dir(&inside).unwrap().map(|it| it.unwrap().path()).collect();
        for file in files {
            let is_lock = file.extension().is_some_and(|extension| extension == "lock");
            if is_lock || !file.exists() {
                continue;
            }
            for damage in [&b""[..], b"not what it was"] {
                std::fs::write(&file, damage).unwrap();
                let index = open().unwrap_or_else(|error| panic!("{}: {error:?}", file.display()));
                assert_eq!(found(&index, &session, "copper").await, [page.to_string()], "{file:?}");
                drop(index);
            }
        }
    });
}

#[test]
fn hostile_queries_get_an_answer() {
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    block_on(async {
        let system = begin(storage.clone()).await;
        let session = system.as_system();
        for number in 0..50 {
            say(&system, "usr", &format!("lantern {number} AND granite* \"quoted\" usr:x")).await;
        }
        let index = SearchIndex::open(storage, None).unwrap();
        let long = "granite ".repeat(130_000);
        let queries = [
            "",
            " ",
            "*",
            "**",
            "\"",
            "\"\"",
            "\"\"\"\"",
            "a*",
            "AND OR NOT",
            "+-&|!(){}[]^~?:\\/",
            "usr:lantern",
            "terms:lantern",
            "(((((((((((",
            "(a+)+$",
            "\u{0}\u{1}\u{1f}x\u{7f}",
            "\u{1f}",
            "\u{202e}gnirts",
            "0igranite",
            "' OR 1=1 --",
            "lantern\"granite",
            "%s%n",
            &long,
        ];
        for query in queries {
            let hits = index.find(&session, &FindQuery::new(query)).await;
            assert!(hits.is_ok(), "{:?}", &query[..query.len().min(40)]);
            assert!(hits.unwrap().len() <= 10);
        }
        let most = FindQuery { limit: usize::MAX, ..FindQuery::new("lantern") };
        assert_eq!(index.find(&session, &most).await.unwrap().len(), 50);
    });
}

#[test]
fn two_processes_find_each_others_pages() {
    let folder = tempfile::tempdir().unwrap();
    let open = || -> Arc<dyn PageStorage> {
        let path = folder.path().join("store.db");
        Arc::new(
            contexture_storage::sqlite::SqliteStorage::open(&path, Default::default()).unwrap(),
        )
    };
    block_on(async {
        let (storage, other_storage) = (open(), open());
        let one = begin(storage.clone()).await;
        let clock = TickingClock::new();
        let other = ContextSystem::open(other_storage.clone(), session_id(), clock).await.unwrap();
        let place = folder.path().join("search");
        let index = SearchIndex::open(storage, Some(&place)).unwrap();
        let other_index = SearchIndex::open(other_storage, Some(&place)).unwrap();
        for number in 0..12_usize {
            let system = if number % 2 == 0 { &one } else { &other };
            let word = format!("unique{}", "xyz".repeat(number + 1));
            let page = say(system, "usr", &format!("harbour {word}")).await.to_string();
            assert_eq!(found(&index, &one.as_system(), &word).await[0], page);
            assert_eq!(found(&other_index, &other.as_system(), &word).await[0], page);
            if number % 3 == 0 {
                let _ = index.flush().await;
                let _ = other_index.flush().await;
            }
        }
        let query = FindQuery { limit: 100, ..FindQuery::new("harbour") };
        assert_eq!(index.find(&one.as_system(), &query).await.unwrap().len(), 12);
        assert_eq!(other_index.find(&other.as_system(), &query).await.unwrap().len(), 12);
    });
}

#[test]
fn filters_narrow_what_is_found() {
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    block_on(async {
        let system = begin(storage.clone()).await;
        let session = system.as_system();
        let messages = vec![
            user("copper in the harbour"),
            calls("c1", "{\"metal\":\"copper\"}"),
            returned("c1", "copper costs more"),
            assistant("copper it is"),
        ];
        let add = Edit::AddTurn { segment: segment("usr"), messages };
        session.apply(add).await.unwrap();
        let free = say(&system, "free", "copper elsewhere").await;
        for folder in [false, true] {
            let place = tempfile::tempdir().unwrap();
            let index = SearchIndex::open(storage.clone(), folder.then(|| place.path())).unwrap();
            index.catch_up(session.id()).await.unwrap();
            index.flush().await.unwrap();
            let found = async |query: FindQuery| {
                let hits = index.find(&session, &query).await.unwrap();
                hits.iter().map(|hit| (hit.index().to_string(), hit.role)).collect::<Vec<_>>()
            };
            let copper = || FindQuery::new("copper");
            let within = FindQuery { within: vec![segment("free")], ..copper() };
            assert_eq!(found(within).await, [(free.to_string(), Some(Role::User))]);
            let roles = FindQuery { roles: vec![Role::Tool], ..copper() };
            assert_eq!(found(roles).await, [("usr-1".to_owned(), Some(Role::Tool))]);
            let by = FindQuery { by: vec![valid("alpha")], ..copper() };
            assert!(found(by).await.is_empty());
            let late = Timestamp::from_millis(1_900_000_000_000);
            assert!(found(FindQuery { since: Some(late), ..copper() }).await.is_empty());
            assert_eq!(found(FindQuery { until: Some(late), ..copper() }).await.len(), 2);
            let tool = calls("c", "").tool_calls().next().unwrap().name.clone();
            let tools = FindQuery { tools: vec![tool], ..copper() };
            assert!(found(tools).await.iter().all(|(page, _)| page == "usr-1"));
            let phrase = FindQuery::new("\"costs more\"");
            assert_eq!(found(phrase).await, [("usr-1".to_owned(), Some(Role::Tool))]);
            let none = FindQuery::new("\"more costs\"");
            assert!(found(none).await.is_empty());
        }
    });
}

// What a program finds is what `find` finds: folded and rewritten pages by what they say now, and none of the archive.
#[test]
fn an_engine_finds_by_the_index() {
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    block_on(async {
        let system = begin(storage.clone()).await;
        let page = say(&system, "usr", "where are the copper lanterns?").await;
        let removed = say(&system, "usr", "a copper harbour").await;
        let free = say(&system, "free", "copper elsewhere").await;
        let host = system.as_system();
        host.apply(Edit::HideDetails(page.clone())).await.unwrap();
        host.apply(Edit::RemovePage(removed)).await.unwrap();
        let index = LazyIndex::new(storage.clone(), None);
        let engine =
            Engine::new(storage, TickingClock::new()).finding_with(Arc::new(index.clone()));
        let mut view = View::common(valid("reader"));
        view.mounts = Mounts::Listed(vec![segment("usr")]);
        let agent = engine.session(&session_id(), view.into()).await.unwrap();
        assert!(index.opened().is_none(), "nobody has searched");
        let found = |pages: Vec<PageView>| {
            pages.iter().map(|page| page.page.index.clone()).collect::<Vec<_>>()
        };
        // Words in another form, which a look through the texts would not find.
        let asked = "copper lantern";
        assert_eq!(found(agent.find_page(asked, 10).await.unwrap()), std::slice::from_ref(&page));
        let system = engine.open(&session_id()).await.unwrap();
        let mut all = found(system.find_page(asked, 10).await.unwrap());
        all.sort();
        assert_eq!(all, [free, page.clone()]);
        assert_eq!(found(system.find_page(asked, 1).await.unwrap()), [page]);
        assert!(index.opened().is_some());
    });
}
