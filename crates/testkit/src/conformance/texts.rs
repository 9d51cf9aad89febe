//! Unusual texts: they come back as they went in, byte for byte.

use std::sync::Arc;

use contexture_core::{
    Actor, Edit, Message, NewDetailPage, PageStorage, PageUpdate, Permission, SegmentKind,
    SessionId, Timestamp, View,
    message::detail_text,
    storage::{Commit, HistoryQuery, LedgerQuery, NewSession, RunPut, SentSource, SentWindow},
};

use super::{
    dump,
    ledgers::{key, sent},
};
use crate::fixture::{
    BEGIN, add_segment, apply, assistant, calls, leaf, page, reopen, returned, segment, session,
    session_id, user, valid,
};

/// Texts that have tripped somebody before.
fn unusual() -> Vec<String> {
    let controls: String = (0..32).map(|code| char::from(code as u8)).collect();
    let mut texts = [
        "",
        " ",
        "\0",
        "a\0b\0",
        "\u{feff}begins with a mark of byte order",
        "\u{301}\u{308}\u{20dd} lone combining marks",
        "e\u{301} is not é",
        "👩‍👩‍👧‍👦🏳️‍🌈🇩🇪 \u{1f9d1}\u{1f3ff}",
        "\u{202e}right to left\u{202c} עברית العربية",
        "𠜎𠜱𠝹𠱓 \u{10ffff} \u{10000}",
        "\u{fffe}\u{ffff}\u{fdd0} no characters",
        "\u{2028}\u{2029}\u{85} line ends",
        "\r\n\r\r\n\t\u{b}\u{c}",
        "\u{7f}\u{80}\u{9f}",
        "'; DROP TABLE pages; -- \" ` \\ \\u0000 \\x00 %00 $1 ?1 :a {{}}",
        "{\"json\":[null,1e999,\"\\ud800\"]}",
        "%s %n %n ../../etc/passwd \\\\server\\share C:\\con",
        "line\n---\n# heading\n```\nfence\n```\n<|im_end|>",
    ]
    .map(str::to_owned)
    .to_vec();
    texts.push(controls);
    texts.push("\u{0}".repeat(5_000));
    texts.push("e\u{301}".repeat(20_000));
    texts
}

pub(super) async fn unusual_texts_come_back(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    let id = session_id();
    let at = Timestamp::from_millis(BEGIN);
    let mut turns: Vec<(contexture_core::PageIndex, Vec<Message>)> = Vec::new();
    for (number, text) in unusual().iter().enumerate() {
        let new = NewDetailPage::new(page("usr-0"), valid("page"), text.clone());
        let made = apply(&system, Edit::CreateDetailPage(new)).await.pages.remove(0);
        let read = system.as_system().reader().messages(&made).await.expect("it can be read");
        assert_eq!(detail_text(&read), *text);
        let messages = vec![
            user(text),
            calls("call", text),
            returned("call", text),
            assistant(&format!("{text}.")),
        ];
        let turn = Edit::AddTurn { segment: segment("usr"), messages };
        let index = apply(&system, turn).await.pages.remove(0);
        let read = system.as_system().reader().messages(&index).await.expect("it can be read");
        turns.push((index, read));
        let key = valid(&format!("key {number}"));
        apply(&system, Edit::SetCustom { key, value: Some(text.clone()) }).await;
        let run = RunPut::first(valid(&format!("run {number:02}")), text.clone(), at);
        system.keep_run(&run).await.expect("there is none");
        let record = SentWindow {
            model: Some(text.clone()),
            frame: Some(text.clone()),
            pieces: vec![contexture_core::storage::SentPiece {
                source: SentSource::Engine(text.clone()),
                ..sent(1).pieces.remove(0)
            }],
            ..sent(number as u64 + 1)
        };
        storage.record(&id, &key_of(), &record).await.expect("it is the next");
        let query = LedgerQuery { upto: None, limit: 1 };
        assert_eq!(storage.ledger(&id, &key_of(), &query).await.expect("reads"), [record]);
    }
    let again = reopen(storage.clone()).await;
    for (index, messages) in &turns {
        assert_eq!(
            again.as_system().reader().messages(index).await.expect("it can be read"),
            *messages
        );
    }
    let custom = storage.custom(&id).await.expect("reads");
    for (number, text) in unusual().into_iter().enumerate() {
        let key = valid(&format!("key {number}"));
        assert!(custom.contains(&(key, text)), "{number}");
    }
    let runs = storage.runs(&id, "run ").await.expect("reads");
    assert!(runs.iter().map(|run| &run.value).eq(unusual().iter()));
    // The application's name is any text as well.
    for (number, app) in unusual().into_iter().enumerate() {
        let other: SessionId = valid(&format!("app-{number}"));
        let new = NewSession { app: app.clone(), at, mark: None };
        let commit = Commit { create: Some(new), change: None };
        storage.commit(&other, commit).await.expect("a new session");
        let info = storage.session(&other).await.expect("reads").expect("it exists");
        assert_eq!(info.app, app);
    }
    assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
}

fn key_of() -> contexture_core::storage::LedgerKey {
    key("bot", "openai")
}

pub(super) async fn names_at_the_limits_of_their_grammar(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    let id = session_id();
    let segments = [
        "x".repeat(64),
        "A-b_C-9".to_owned(),
        "0".to_owned(),
        "_".to_owned(),
        format!("{}-1", "z".repeat(62)),
        "con".to_owned(),
        "a-0-0".to_owned(),
        "a-0".to_owned(),
        "a".to_owned(),
    ];
    for name in &segments {
        add_segment(&system, name, SegmentKind::Custom, Permission::ReadWrite).await;
        assert_eq!(leaf(&system, &format!("{name}-0"), "x").await, page(&format!("{name}-1")));
    }
    let names = [
        "👩‍👩‍👧‍👦".to_owned(),
        "界".repeat(200),
        "\u{10ffff}".repeat(200),
        format!("x{}", "\u{301}".repeat(199)),
        "..".to_owned(),
        "a/b\\c:d*e?f\"g<h>i|j".to_owned(),
        "\u{202e}txt.exe".to_owned(),
        "-".to_owned(),
        "'".to_owned(),
        "%".to_owned(),
        "_".to_owned(),
    ];
    for (at, name) in names.iter().enumerate() {
        let index = leaf(&system, "usr-0", "plain").await;
        let mut update = PageUpdate::of(index.clone());
        update.name = Some(valid(name));
        update.description = Some(valid(&format!("{}\n\t{name}", "述".repeat(1_700))));
        apply(&system, Edit::UpdatePage(update)).await;
        let stored = storage.pages(&id, std::slice::from_ref(&index)).await.expect("reads");
        let stored = stored[0].as_ref().expect("it was made");
        assert_eq!(stored.name.as_str(), name);
        let short: String = name.chars().take(100).collect();
        let value = Some(format!("{at}"));
        apply(&system, Edit::SetCustom { key: valid(&short), value: value.clone() }).await;
        let custom = storage.custom(&id).await.expect("reads");
        let found = custom.iter().find(|(key, _)| key.as_str() == short);
        assert_eq!(found.map(|(_, value)| Some(value.clone())), Some(value));
        assert!(custom.is_sorted_by(|left, right| left.0 < right.0), "by key in byte order");
        let run = RunPut::first(valid(name), name.as_str(), Timestamp::from_millis(BEGIN));
        system.keep_run(&run).await.expect("there is none");
        // A prefix is a text, not a pattern, and may end within what looks like one character.
        let prefix: String = name.chars().take(1).collect();
        let found = storage.runs(&id, &prefix).await.expect("reads");
        assert!(found.iter().any(|run| run.key.as_str() == name), "{name:?}");
        assert!(found.iter().all(|run| run.key.as_str().starts_with(&prefix)), "{prefix:?}");
        let nothing = storage.runs(&id, &format!("{name}\0")).await.expect("reads");
        assert_eq!(nothing, []);
    }
    let runs = storage.runs(&id, "").await.expect("reads");
    assert_eq!(runs.len(), names.len());
    assert!(runs.is_sorted_by(|left, right| left.key < right.key), "by key in byte order");
    let agents = ["a".repeat(48), "a-1_b".to_owned(), "z9".to_owned()];
    for name in &agents {
        let bot = contexture_core::AgentContext::new(system.clone(), View::common(valid(name)));
        bot.pin_page("usr-1").await.expect("it may");
        let actor: Option<Actor> = Some(valid(name));
        let query = HistoryQuery { actor, limit: 9, ..HistoryQuery::default() };
        assert_eq!(storage.history(&id, &query).await.expect("reads").len(), 1, "{name}");
    }
    let views = storage.views(&id).await.expect("reads");
    // The system side has custom state.
    assert_eq!(views.len(), agents.len() + 1, "{views:?}");
    assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
    assert_eq!(dump(&*storage, &id).await, dump(&*storage, &id).await);
}

pub(super) async fn an_empty_storage_is_empty(storage: Arc<dyn PageStorage>) {
    assert_eq!(storage.sessions(None, 10).await.expect("reads"), []);
    assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
    assert!(!storage.remove_session(&session_id()).await.expect("there is none"));
    let snapshot = storage.snapshot().await.expect("it can be taken");
    assert_eq!(snapshot.sessions(None, 10).await.expect("reads"), []);
    assert_eq!(storage.repair().await.expect("there is nothing to mend"), [""; 0]);
    // It is not empty for having been asked.
    assert_eq!(storage.sessions(None, 10).await.expect("reads"), []);
    session(storage.clone()).await;
    assert_eq!(storage.sessions(None, 10).await.expect("reads").len(), 1);
    assert_eq!(snapshot.sessions(None, 10).await.expect("reads"), []);
}
