//! Searches that compare meanings, with a model that knows a few words, and with one that fails in every way.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use contexture_core::{
    AgentContext, ContextSystem, Edit, MemoryStorage, Mounts, PageIndex, PageStorage, Principal,
    Session, View, message::MessageFilter,
};
use contexture_testkit::{
    edits::beginning,
    fixture::{TickingClock, assistant, calls, returned, segment, session_id, user, valid},
};
use futures::executor::block_on;

use super::*;
use crate::{Feature, FindQuery, Found, IndexLimits, SearchIndex};

/// Words that mean the same to the model.
const CONCEPTS: [&[&str]; 4] = [
    &["car", "automobile", "sedan"],
    &["doctor", "medic", "surgeon"],
    &["happy", "merry", "cheerful"],
    &["ship", "vessel", "schooner"],
];

const DIMENSIONS: usize = 64;

/// What the model does when it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    Answers,
    Fails,
    NeverAnswers,
    NoNumber,
    Nothing,
    TooFew,
    TooLarge,
    OtherDimensions,
    Mixed,
}

/// A model that knows a few words. It remembers what it was asked.
struct Concepts {
    asked: Mutex<Vec<String>>,
    mood: Mutex<Mood>,
}

impl Concepts {
    fn new() -> Arc<Self> {
        Arc::new(Self { asked: Mutex::default(), mood: Mutex::new(Mood::Answers) })
    }

    fn is(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    /// Returns what it was asked since it was last looked at.
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn meaning(text: &str) -> Vec<f32> {
    let mut numbers = vec![0.01; DIMENSIONS];
    for word in text.split(|letter: char| !letter.is_alphanumeric()).filter(|it| !it.is_empty()) {
        let word = word.to_lowercase();
        let concept = CONCEPTS.iter().position(|concept| concept.contains(&word.as_str()));
        match concept {
            Some(concept) => numbers[concept] += 100.0,
            None => {
                let hash =
                    word.bytes().fold(7_usize, |hash, byte| hash * 31 % 9973 + usize::from(byte));
                numbers[CONCEPTS.len() + hash % (DIMENSIONS - CONCEPTS.len())] += 0.5;
            }
        }
    }
    numbers
}

#[async_trait]
impl Embedder for Concepts {
    fn name(&self) -> &str {
        "test/concepts"
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedderError> {
        self.asked.lock().unwrap().extend(texts.iter().map(|text| (*text).to_owned()));
        let mood = *self.mood.lock().unwrap();
        let each = |make: &dyn Fn(&str) -> Vec<f32>| Ok(texts.iter().map(|it| make(it)).collect());
        match mood {
            Mood::Answers => each(&meaning),
            Mood::Fails => Err(EmbedderError::Unavailable { reason: "out of order".to_owned() }),
            Mood::NeverAnswers => futures::future::pending().await,
            Mood::NoNumber => each(&|_| vec![f32::NAN; DIMENSIONS]),
            Mood::Nothing => each(&|_| vec![0.0; DIMENSIONS]),
            Mood::TooFew => Ok(Vec::new()),
            Mood::TooLarge => each(&|_| vec![1.0; 1 << 20]),
            Mood::OtherDimensions => each(&|text| meaning(text)[..16].to_vec()),
            Mood::Mixed => each(&|text| meaning(text)[..16 + text.len() % 8].to_vec()),
        }
    }
}

const LIMITS: EmbeddingLimits = EmbeddingLimits {
    patience: Duration::from_secs(600),
    batch: 4,
    texts: 1_000,
    bytes: 1 << 20,
    rest: Duration::ZERO,
};

struct Store {
    storage: Arc<MemoryStorage>,
    system: ContextSystem,
    folder: tempfile::TempDir,
    model: Arc<Concepts>,
}

impl Store {
    async fn new() -> Self {
        let storage = Arc::new(MemoryStorage::new());
        let clock = TickingClock::new();
        let create = ContextSystem::create(storage.clone(), session_id(), "search", clock);
        let system = create.await.unwrap();
        for edit in beginning() {
            system.as_system().apply(edit).await.unwrap();
        }
        Self { storage, system, folder: tempfile::tempdir().unwrap(), model: Concepts::new() }
    }

    fn open(&self) -> SearchIndex {
        self.open_with(Some(self.folder.path()), LIMITS)
    }

    fn open_with(&self, folder: Option<&Path>, limits: EmbeddingLimits) -> SearchIndex {
        let storage: Arc<dyn PageStorage> = self.storage.clone();
        let model: Arc<dyn Embedder> = self.model.clone();
        SearchIndex::open_embedding(storage, folder, IndexLimits::default(), Some(model), limits)
            .unwrap()
    }

    fn host(&self) -> Session {
        self.system.as_system()
    }

    async fn say(&self, to: &str, text: &str) -> PageIndex {
        let messages = vec![user(text), assistant("Noted.")];
        let add = Edit::AddTurn { segment: segment(to), messages };
        self.host().apply(add).await.unwrap().pages[0].clone()
    }

    /// Says enough about other things.
    async fn chat(&self) {
        for topic in ["harbour", "lantern", "granite", "willow", "orchard", "thunder", "velvet"] {
            self.say("usr", &format!("we spoke of the {topic} for a while")).await;
        }
    }

    fn vector_file(&self) -> PathBuf {
        let folder = fs::read_dir(self.folder.path()).unwrap().map(|it| it.unwrap().path());
        let mut folder = folder.filter(|path| path.to_string_lossy().contains("vectors"));
        let files = fs::read_dir(folder.next().unwrap()).unwrap().map(|it| it.unwrap().path());
        let mut files = files.filter(|path| path.extension().is_some_and(|it| it == "vectors"));
        files.next().unwrap()
    }
}

async fn search(index: &SearchIndex, session: &Session, text: &str) -> Found {
    index.search(session, &FindQuery::new(text)).await.unwrap()
}

fn indices(found: &Found) -> Vec<String> {
    found.hits.iter().map(|hit| hit.index().to_string()).collect()
}

/// Returns everything that was found, as it can be compared.
fn scored(found: &Found) -> Vec<(PageIndex, f32, Option<usize>)> {
    found.hits.iter().map(|hit| (hit.index().clone(), hit.score, hit.message)).collect()
}

fn compared(found: &Found) -> &Similarity {
    found.similarity.as_ref().expect("there is a model")
}

#[test]
fn what_shares_no_word_is_found_by_its_meaning() {
    block_on(async {
        let store = Store::new().await;
        store.chat().await;
        let page = store.say("usr", "my surgeon was cheerful").await;
        for folder in [None, Some(store.folder.path())] {
            let index = store.open_with(folder, LIMITS);
            let found = search(&index, &store.host(), "happy doctor").await;
            assert_eq!(indices(&found)[0], page.to_string());
            assert_eq!(found.hits[0].features.get(Feature::Match), 0.0);
            assert!(found.hits[0].features.get(Feature::Similar) > 0.9);
            let whole = Similarity { compared: true, missing: 0, problem: None };
            assert_eq!(*compared(&found), whole);
            // On disk as in memory.
            index.flush().await.unwrap();
            let again = search(&index, &store.host(), "happy doctor").await;
            assert_eq!(scored(&again), scored(&found));
            let phrase = search(&index, &store.host(), "\"happy doctor\"").await;
            assert!(phrase.hits.is_empty());
            store.model.asked();
        }
    });
}

#[test]
fn a_long_text_is_found_by_its_best_part() {
    block_on(async {
        let store = Store::new().await;
        store.chat().await;
        let long = format!("{} the schooner sank {}", "filler ".repeat(600), "more ".repeat(600));
        let page = store.say("usr", &long).await;
        let index = store.open();
        let found = search(&index, &store.host(), "vessel").await;
        assert_eq!(indices(&found)[0], page.to_string());
        assert!(store.model.asked().iter().all(|text| text.len() <= 1_000));
    });
}

#[test]
fn a_text_is_sent_once() {
    block_on(async {
        let store = Store::new().await;
        store.chat().await;
        store.say("usr", "the automobile").await;
        store.say("free", "the automobile").await;
        let index = store.open();
        let first = search(&index, &store.host(), "car").await;
        let sent = store.model.asked();
        assert_eq!(sent.iter().filter(|text| *text == "the automobile").count(), 1);
        search(&index, &store.host(), "car").await;
        assert_eq!(store.model.asked(), ["car"]);
        // Nor after a restart, nor by another process.
        let other = store.open();
        assert_eq!(scored(&search(&other, &store.host(), "car").await), scored(&first));
        assert_eq!(store.model.asked(), ["car"]);
        let page = store.say("usr", "a sedan passed").await;
        let found = search(&other, &store.host(), "car").await;
        assert!(indices(&found).contains(&page.to_string()));
        assert_eq!(store.model.asked(), ["car", "a sedan passed"]);
        search(&index, &store.host(), "car").await;
        assert_eq!(store.model.asked(), ["car"]);
    });
}

#[test]
fn a_search_sends_a_bounded_number_of_texts() {
    block_on(async {
        let store = Store::new().await;
        for number in 0..20 {
            store.say("usr", &format!("matter number {number}")).await;
        }
        let index = store.open_with(None, EmbeddingLimits { texts: 8, ..LIMITS });
        // Twenty requests, and one answer that is always the same.
        for missing in [13, 5, 0, 0] {
            let found = search(&index, &store.host(), "matter").await;
            let expected = Similarity { compared: true, missing, problem: None };
            assert_eq!(*compared(&found), expected);
            assert_eq!(found.hits.len(), 10);
        }
        let sent = store.model.asked();
        assert_eq!(sent[1], "matter number 19", "the newest first: {sent:?}");
        let full = store.open_with(None, EmbeddingLimits { bytes: 0, ..LIMITS });
        let found = search(&full, &store.host(), "matter").await;
        assert_eq!(compared(&found).missing, 21);
        assert!(compared(&found).problem.is_some());
    });
}

// The endpoint may fail in any way: then the search is what it is without one, and says so.
#[test]
fn without_vectors_words_rank_alone() {
    block_on(async {
        let store = Store::new().await;
        store.chat().await;
        store.say("usr", "the car by the lantern").await;
        let storage: Arc<dyn PageStorage> = store.storage.clone();
        let plain = SearchIndex::open(storage, None).unwrap();
        let words = search(&plain, &store.host(), "where is the car by the harbour?").await;
        assert!(!words.hits.is_empty() && words.similarity.is_none());
        let moods = [
            Mood::Fails,
            Mood::NeverAnswers,
            Mood::NoNumber,
            Mood::Nothing,
            Mood::TooFew,
            Mood::TooLarge,
        ];
        for mood in moods {
            store.model.is(mood);
            let patience = match mood {
                Mood::NeverAnswers => Duration::from_millis(20),
                _ => LIMITS.patience,
            };
            let index = store.open_with(None, EmbeddingLimits { patience, ..LIMITS });
            let found = search(&index, &store.host(), "where is the car by the harbour?").await;
            assert_eq!(scored(&found), scored(&words), "{mood:?}");
            let Similarity { compared, problem, .. } = compared(&found);
            assert!(!compared && problem.is_some(), "{mood:?}");
            // It answers again.
            store.model.is(Mood::Answers);
            let found = search(&index, &store.host(), "automobile").await;
            assert!(super::tests::compared(&found).compared, "{mood:?}");
            assert_eq!(found.hits.len(), 1, "{mood:?}");
        }
    });
}

#[test]
fn an_embedder_that_failed_is_left_alone_for_a_while() {
    block_on(async {
        let store = Store::new().await;
        store.chat().await;
        let rest = Duration::from_secs(3_600);
        let index = store.open_with(None, EmbeddingLimits { rest, ..LIMITS });
        store.model.is(Mood::Fails);
        for _ in 0..3 {
            let found = search(&index, &store.host(), "harbour").await;
            assert_eq!(compared(&found).problem.as_deref(), Some("out of order"));
        }
        assert_eq!(store.model.asked(), ["harbour"]);
    });
}

#[test]
fn vectors_of_another_size_are_refused() {
    block_on(async {
        let store = Store::new().await;
        store.chat().await;
        let index = store.open();
        search(&index, &store.host(), "harbour").await;
        store.say("usr", "the automobile").await;
        for mood in [Mood::OtherDimensions, Mood::Mixed] {
            store.model.is(mood);
            let found = search(&index, &store.host(), "harbour").await;
            assert_eq!(compared(&found).missing, 1, "{mood:?}");
            let problem = compared(&found).problem.clone().unwrap();
            assert!(problem.contains("64"), "{mood:?}: {problem}");
            assert!(!found.hits.is_empty());
        }
        store.model.is(Mood::Answers);
        let found = search(&index, &store.host(), "car").await;
        assert_eq!(*compared(&found), Similarity { compared: true, ..Similarity::default() });
        assert_eq!(found.hits.len(), 1);
    });
}

fn view(agent: &str, mounts: &[&str]) -> View {
    let mut view = View::common(valid(agent));
    view.mounts = Mounts::Listed(mounts.iter().map(|name| segment(name)).collect());
    view
}

// What a view does not hold is not sent, not compared, not counted and changes no score: not the pages of other segments,
// and not the parts of a message that it does not see.
#[test]
fn meanings_out_of_view_change_nothing() {
    block_on(async {
        let store = Store::new().await;
        store.chat().await;
        store.say("usr", "the vessel left").await;
        let seen = [
            Principal::from(view("reader", &["usr"])),
            Principal::from({
                let mut view = view("reader", &["usr", "free"]);
                view.filter.speech = MessageFilter::RequestsOnly;
                view
            }),
        ];
        for (number, principal) in seen.into_iter().enumerate() {
            let reader = store.system.held_by(principal);
            for folder in [None, Some(store.folder.path())] {
                let index = store.open_with(folder, LIMITS);
                let before = search(&index, &reader, "the ship and the doctor").await;
                assert!(!before.hits.is_empty());
                store.model.asked();
                let canary = format!("canary{number}{}", folder.is_some());
                if number == 0 {
                    store.say("free", &format!("{canary}: doctor ship doctor ship")).await;
                } else {
                    let call = format!("call_{canary}");
                    let messages = vec![
                        user("look"),
                        calls(&call, "{}"),
                        returned(&call, &format!("{canary}: doctor ship doctor ship")),
                        assistant(&format!("{canary}: ship doctor ship doctor")),
                    ];
                    let add = Edit::AddTurn { segment: segment("free"), messages };
                    store.host().apply(add).await.unwrap();
                }
                let unlearned = search(&index, &reader, "the ship and the doctor").await;
                let sent = store.model.asked();
                assert!(!sent.iter().any(|text| text.contains(&canary)), "{sent:?}");
                // Now it has a vector, and is on disk.
                let host = search(&index, &store.host(), "the ship and the doctor").await;
                assert!(host.hits.iter().any(|hit| hit.snippet.text.contains(&canary)));
                index.flush().await.unwrap();
                let learned = search(&index, &reader, "the ship and the doctor").await;
                assert_eq!(unlearned.similarity, learned.similarity);
                assert_eq!(scored(&unlearned), scored(&learned));
                if number == 0 {
                    assert_eq!(scored(&before), scored(&learned));
                }
                assert!(!learned.hits.iter().any(|hit| hit.snippet.text.contains(&canary)));
            }
        }
    });
}

#[test]
fn filters_narrow_what_is_compared() {
    block_on(async {
        let store = Store::new().await;
        store.chat().await;
        store.say("usr", "the vessel left").await;
        let free = store.say("free", "a schooner").await;
        let index = store.open();
        let within = FindQuery { within: vec![segment("free")], ..FindQuery::new("ship") };
        let found = index.search(&store.host(), &within).await.unwrap();
        assert_eq!(indices(&found), [free.to_string()]);
        let late = contexture_core::Timestamp::from_millis(1_900_000_000_000);
        let since = FindQuery { since: Some(late), ..FindQuery::new("ship") };
        assert!(index.search(&store.host(), &since).await.unwrap().hits.is_empty());
        let agent: AgentContext = contexture_testkit::fixture::agent(&store.system, "alpha");
        assert!(!search(&index, &agent, "ship").await.hits.is_empty());
    });
}

#[test]
fn vectors_of_purged_texts_are_removed() {
    block_on(async {
        let store = Store::new().await;
        store.chat().await;
        let page = store.say("usr", "the automobile of zanzibar").await;
        let index = store.open();
        let host = store.host();
        assert_eq!(indices(&search(&index, &host, "car").await), [page.to_string()]);
        index.flush().await.unwrap();
        let hash = Piece::new(crate::index::Part::Request, "the automobile of zanzibar").hash();
        let bytes = hash.to_le_bytes();
        let holds = |file: &Path| fs::read(file).unwrap().windows(8).any(|it| it == bytes);
        assert!(holds(&store.vector_file()));
        assert!(index.inner.vectors.table().has(hash));
        // Removing archives: the page is still found.
        host.apply(Edit::RemovePage(page.clone())).await.unwrap();
        assert_eq!(indices(&search(&index, &host, "car").await), [page.to_string()]);
        // The process that takes the purge in may know nothing of models.
        let storage: Arc<dyn PageStorage> = store.storage.clone();
        let plain = SearchIndex::open(storage, Some(store.folder.path())).unwrap();
        host.apply(Edit::PurgePage(page)).await.unwrap();
        plain.catch_up(host.id()).await.unwrap();
        assert!(!holds(&store.vector_file()));
        drop(plain);
        let found = search(&index, &host, "car").await;
        assert!(found.hits.is_empty());
        assert!(!index.inner.vectors.table().has(hash));
        // Everything else is still known.
        store.model.asked();
        search(&index, &host, "harbour").await;
        assert_eq!(store.model.asked(), ["harbour"]);
    });
}

// A process that was killed while it purged leaves a note, and the next one goes on.
#[test]
fn a_purge_that_was_cut_short_is_finished() {
    block_on(async {
        let store = Store::new().await;
        store.chat().await;
        let index = store.open();
        let stale = index.inner.vectors.refresh().unwrap();
        let vector = Vector::of(&meaning("a text that is purged")).unwrap();
        index.inner.vectors.add(stale, &[(4_711, vector.clone())]).unwrap();
        index.inner.vectors.note_unscrubbed().unwrap();
        drop(index);
        let index = store.open();
        index.catch_up(&session_id()).await.unwrap();
        index.flush().await.unwrap();
        index.inner.vectors.refresh().unwrap();
        assert!(!index.inner.vectors.table().has(4_711));
        assert!(!index.inner.vectors.is_unscrubbed());
        // What was read before the purge is not added after it.
        index.inner.vectors.add(stale, &[(4_711, vector)]).unwrap();
        assert!(!index.inner.vectors.table().has(4_711));
        drop(index);
        assert!(!store.open().inner.vectors.is_unscrubbed());
    });
}

// Wherever a file of vectors is cut or damaged: what was found is found, and only what was lost is asked for again.
#[test]
fn damaged_vectors_are_made_again() {
    block_on(async {
        let store = Store::new().await;
        store.chat().await;
        store.say("usr", "the automobile").await;
        let index = store.open();
        let whole = search(&index, &store.host(), "car").await;
        store.model.asked();
        let (file, name) = (fs::read(store.vector_file()).unwrap(), store.vector_file());
        drop(index);
        let (header, record) = (32, 8 + 4 + DIMENSIONS + 4);
        let records = (file.len() - header) / record;
        for at in (0..file.len()).step_by(37) {
            for cut in [true, false] {
                let mut damaged = file.clone();
                match cut {
                    true => damaged.truncate(at),
                    false => damaged[at] ^= 0x55,
                }
                fs::write(&name, &damaged).unwrap();
                let index = store.open();
                let found = search(&index, &store.host(), "car").await;
                assert_eq!(scored(&found), scored(&whole), "{at}, {cut}");
                let kept = match (at.checked_sub(header), cut) {
                    (None, _) => 0,
                    (Some(at), true) => at / record,
                    (Some(_), false) => records - 1,
                };
                assert_eq!(store.model.asked().len(), records - kept + 1, "{at}, {cut}");
                drop(index);
                let index = store.open();
                search(&index, &store.host(), "car").await;
                assert_eq!(store.model.asked(), ["car"], "{at}, {cut}");
            }
        }
    });
}

#[test]
fn an_index_that_was_made_without_a_model_gets_one() {
    block_on(async {
        let store = Store::new().await;
        store.chat().await;
        let page = store.say("usr", "the automobile").await;
        let storage: Arc<dyn PageStorage> = store.storage.clone();
        let plain = SearchIndex::open(storage, Some(store.folder.path())).unwrap();
        let words = search(&plain, &store.host(), "harbour").await;
        plain.flush().await.unwrap();
        let index = store.open();
        let found = search(&index, &store.host(), "car").await;
        assert_eq!(indices(&found), [page.to_string()]);
        index.flush().await.unwrap();
        // Both go on.
        assert_eq!(scored(&search(&plain, &store.host(), "harbour").await), scored(&words));
        let second = store.say("usr", "that sedan").await;
        assert_eq!(indices(&search(&plain, &store.host(), "sedan").await), [second.to_string()]);
        plain.flush().await.unwrap();
        let found = search(&index, &store.host(), "car").await;
        assert!(indices(&found).contains(&second.to_string()));
    });
}
