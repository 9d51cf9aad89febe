//! Ledgers: windows sent, in order, per view and format.

use std::sync::Arc;

use contexture_core::{
    Edit, ErrorKind, Level, PageStorage, Revision, SessionId, Timestamp, Tokens, Usage,
    message::MessageFilter,
    storage::{
        Commit, ContentHash, LedgerKey, LedgerQuery, NewSession, SentPiece, SentSource, SentWindow,
        StorageError,
    },
};

use crate::fixture::{BEGIN, apply, leaf, page, session, session_id, valid};

/// Names a ledger.
pub(super) fn key(view: &str, format: &str) -> LedgerKey {
    LedgerKey { view: valid(view), format: valid(format) }
}

/// A record with one piece of each kind and a frame, all of which say `secret`.
pub fn sent(number: u64) -> SentWindow {
    let content = ContentHash::of(b"content");
    let note = SentSource::Note {
        head: "secret head".to_owned(),
        content,
        limit: Some(Tokens(9)),
        trusted: true,
        speech: MessageFilter::WithoutTools,
    };
    let engine = SentSource::Engine("secret line".to_owned());
    let pieces =
        [SentSource::Messages { content, limit: None, speech: MessageFilter::All }, note, engine];
    SentWindow {
        messages: 3,
        number,
        at: Timestamp::from_millis(BEGIN),
        revision: Revision(3),
        level: Level::Full,
        budget: Some(Tokens(1_000)),
        tokenizer: "o200k".to_owned(),
        model: Some("a-model".to_owned()),
        renderer: 1,
        head: Some(ContentHash::of(b"tools")),
        reserved: Tokens(7),
        hash: ContentHash::of(&number.to_le_bytes()),
        tokens: Tokens(30),
        cached: Tokens(20),
        reread: Tokens(1),
        fold: Some(Revision(2)),
        kept: 2,
        pieces: pieces
            .map(|source| SentPiece {
                page: page("usr-1"),
                system: true,
                tokens: Tokens(5),
                source,
                quotes: None,
            })
            .to_vec(),
        frozen: 1,
        previous_tail: Some(1),
        frame: Some("secret frame".to_owned()),
        filter: Default::default(),
        usage: None,
    }
}

async fn read(
    storage: &dyn PageStorage,
    session: &SessionId,
    key: &LedgerKey,
    query: LedgerQuery,
) -> Vec<SentWindow> {
    storage.ledger(session, key, &query).await.expect("a ledger can be read")
}

async fn all(storage: &dyn PageStorage, key: &LedgerKey) -> Vec<SentWindow> {
    read(storage, &session_id(), key, LedgerQuery { upto: None, limit: usize::MAX }).await
}

/// Returns the numbers of the newest records.
pub(super) async fn newest(
    storage: &dyn PageStorage,
    key: &LedgerKey,
    upto: Option<u64>,
    limit: usize,
) -> Vec<u64> {
    let records = read(storage, &session_id(), key, LedgerQuery { upto, limit }).await;
    records.iter().map(|sent| sent.number).collect()
}

async fn assert_sound(storage: &dyn PageStorage) {
    assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
}

/// A missing session has no ledgers, and gets none.
pub(super) async fn a_missing_session_has_none(storage: &dyn PageStorage, nil: &SessionId) {
    let bot = key("bot", "openai");
    assert_eq!(read(storage, nil, &bot, LedgerQuery { upto: None, limit: 9 }).await, []);
    let refused = storage.record(nil, &bot, &sent(1)).await.expect_err("there is no session");
    assert!(matches!(refused, StorageError::SessionMissing { .. }), "{refused}");
    assert!(!storage.report(nil, &bot, 1, &Usage::default()).await.expect("there is none"));
}

pub(super) async fn records_are_appended_in_order(storage: Arc<dyn PageStorage>) {
    session(storage.clone()).await;
    let (id, bot) = (session_id(), key("bot", "openai"));
    let before = storage.session(&id).await.expect("reads");
    for wrong in [0, 2, u64::MAX] {
        let refused = storage.record(&id, &bot, &sent(wrong)).await;
        let kind = refused.expect_err("the first is 1").kind();
        // A number nobody can have may be refused for that.
        let expected = kind == ErrorKind::Conflict || wrong == u64::MAX;
        assert!(expected, "{wrong}: {kind:?}");
    }
    storage.record(&id, &bot, &sent(1)).await.expect("it is the next");
    storage.record(&id, &bot, &sent(2)).await.expect("it is the next");
    for wrong in [0, 1, 2, 4] {
        let refused = storage.record(&id, &bot, &sent(wrong)).await.expect_err("3 is the next");
        assert!(matches!(refused, StorageError::Conflict { .. }), "{wrong}: {refused}");
    }
    storage.record(&id, &bot, &sent(3)).await.expect("it is the next");
    assert_eq!(all(&*storage, &bot).await, [sent(3), sent(2), sent(1)]);
    assert_eq!(storage.session(&id).await.expect("reads"), before, "a record is no edit");
    assert_sound(&*storage).await;
}

pub(super) async fn records_are_read_newest_first(storage: Arc<dyn PageStorage>) {
    session(storage.clone()).await;
    let bot = key("bot", "anthropic");
    assert_eq!(newest(&*storage, &bot, None, 9).await, [0; 0]);
    for number in 1..=12 {
        storage.record(&session_id(), &bot, &sent(number)).await.expect("it is the next");
    }
    assert_eq!(newest(&*storage, &bot, None, 3).await, [12, 11, 10]);
    assert_eq!(newest(&*storage, &bot, Some(10), 3).await, [10, 9, 8]);
    assert_eq!(newest(&*storage, &bot, Some(2), 9).await, [2, 1]);
    assert_eq!(newest(&*storage, &bot, Some(0), 9).await, [0; 0]);
    assert_eq!(newest(&*storage, &bot, Some(u64::MAX), 1).await, [12]);
    assert_eq!(newest(&*storage, &bot, None, 0).await, [0; 0]);
}

pub(super) async fn ledgers_are_apart(storage: Arc<dyn PageStorage>) {
    session(storage.clone()).await;
    let keys =
        [key("a", "openai"), key("a", "markdown"), key("b", "openai"), key("system", "gemini")];
    for (at, key) in keys.iter().enumerate() {
        for number in 1..=at as u64 + 1 {
            storage.record(&session_id(), key, &sent(number)).await.expect("it is the next");
        }
    }
    for (at, key) in keys.iter().enumerate() {
        assert_eq!(newest(&*storage, key, None, 1).await, [at as u64 + 1], "{key:?}");
        assert_eq!(all(&*storage, key).await.len(), at + 1, "{key:?}");
    }
    // A record makes no view: it says nothing of levels.
    assert_eq!(storage.views(&session_id()).await.expect("reads"), []);
}

pub(super) async fn what_a_provider_reports_is_noted(storage: Arc<dyn PageStorage>) {
    session(storage.clone()).await;
    let (id, bot) = (session_id(), key("bot", "openai"));
    for number in 1..=3 {
        storage.record(&id, &bot, &sent(number)).await.expect("it is the next");
    }
    let usage = |input| Usage { input, cached: 5, model: Some("m".to_owned()), ..Usage::default() };
    assert!(storage.report(&id, &bot, 2, &usage(10)).await.expect("it can be noted"));
    let reported = SentWindow { usage: Some(usage(10)), ..sent(2) };
    assert_eq!(all(&*storage, &bot).await, [sent(3), reported, sent(1)]);
    // The last word counts.
    assert!(storage.report(&id, &bot, 2, &usage(11)).await.expect("it can be noted"));
    assert_eq!(all(&*storage, &bot).await[1].usage, Some(usage(11)));
    for (key, number) in [(&bot, 4), (&bot, 0), (&bot, u64::MAX), (&key("bot", "gemini"), 2)] {
        assert!(!storage.report(&id, key, number, &usage(1)).await.expect("there is none"));
    }
    assert_sound(&*storage).await;
}

pub(super) async fn a_purge_scrubs_every_record(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    let (id, other): (SessionId, SessionId) = (session_id(), valid("other"));
    let keys = [key("bot", "openai"), key("eve", "context")];
    let new = NewSession { app: "app".to_owned(), at: Timestamp::from_millis(BEGIN), mark: None };
    let create = Commit { create: Some(new), change: None };
    storage.commit(&other, create).await.expect("a new session");
    let note = leaf(&system, "usr-0", "note").await;
    for key in &keys {
        for session in [&id, &other] {
            for number in 1..=2 {
                storage.record(session, key, &sent(number)).await.expect("it is the next");
            }
        }
        let usage = Usage { input: 7, ..Usage::default() };
        assert!(storage.report(&id, key, 1, &usage).await.expect("it can be noted"));
    }
    apply(&system, Edit::PurgePage(note)).await;
    for key in &keys {
        let records = all(&*storage, key).await;
        assert_eq!(records.len(), 2);
        for record in &records {
            let mut scrubbed = sent(record.number);
            scrubbed.scrub();
            scrubbed.usage.clone_from(&record.usage);
            assert_eq!(*record, scrubbed);
            assert!(!format!("{record:?}").contains("secret"), "{record:?}");
        }
        assert_eq!(records[1].usage.as_ref().map(|usage| usage.input), Some(7));
        // Another session's are its own, and new ones are not touched.
        let query = LedgerQuery { upto: None, limit: 9 };
        assert_eq!(read(&*storage, &other, key, query).await, [sent(2), sent(1)]);
        storage.record(&id, key, &sent(3)).await.expect("it is the next");
        assert_eq!(all(&*storage, key).await[0], sent(3));
    }
    assert_sound(&*storage).await;
}

pub(super) async fn ledgers_go_with_their_session(storage: Arc<dyn PageStorage>) {
    session(storage.clone()).await;
    let bot = key("bot", "openai");
    storage.record(&session_id(), &bot, &sent(1)).await.expect("it is the next");
    assert!(storage.remove_session(&session_id()).await.expect("it can be removed"));
    assert_eq!(all(&*storage, &bot).await, []);
    session(storage.clone()).await;
    assert_eq!(all(&*storage, &bot).await, []);
    assert_eq!(storage.views(&session_id()).await.expect("reads"), []);
    storage.record(&session_id(), &bot, &sent(1)).await.expect("it is the first again");
    assert_sound(&*storage).await;
}

pub(super) async fn large_records_are_kept(storage: Arc<dyn PageStorage>) {
    session(storage.clone()).await;
    let bot = key("bot", "openai");
    let large = |number: u64| {
        let piece = |at: u64| SentPiece {
            page: contexture_core::PageIndex::new(crate::fixture::segment("usr"), at),
            system: false,
            tokens: Tokens(at),
            source: SentSource::Messages {
                content: ContentHash::of(&(at * number).to_le_bytes()),
                limit: None,
                speech: MessageFilter::All,
            },
            quotes: None,
        };
        SentWindow { messages: 3, pieces: (0..5_000).map(piece).collect(), ..sent(number) }
    };
    for number in 1..=3 {
        storage.record(&session_id(), &bot, &large(number)).await.expect("it is the next");
    }
    assert!(
        storage.report(&session_id(), &bot, 2, &Usage::default()).await.expect("it can be noted")
    );
    let two = SentWindow { usage: Some(Usage::default()), ..large(2) };
    assert_eq!(all(&*storage, &bot).await, [large(3), two, large(1)]);
    assert_sound(&*storage).await;
}
