//! Reopening: what was acknowledged is there, and nothing else.

use std::sync::Arc;

use contexture_core::{
    ContextSystem, Edit, PageStorage, Principal, SessionId, Timestamp, Tokens,
    storage::{CountKey, LedgerQuery, RunPut},
};

use super::{
    Dump, change, commit, dump,
    ledgers::{key, sent},
};
use crate::{
    backend::Home,
    edits::{Diet, Edits, beginning},
    fixture::{BEGIN, TickingClock, apply, leaf, page, session, session_id, valid},
    model::Model,
    property::make,
};

/// Everything a storage holds of all sessions, with their ledgers.
async fn whole(
    storage: &dyn PageStorage,
) -> Vec<(SessionId, Dump, Vec<contexture_core::storage::SentWindow>)> {
    let mut all = Vec::new();
    for info in storage.sessions(None, 1_000).await.expect("reads") {
        let query = LedgerQuery { upto: None, limit: 1_000 };
        let bot = key("bot", "openai");
        let ledger = storage.ledger(&info.id, &bot, &query).await.expect("reads");
        all.push((info.id.clone(), dump(storage, &info.id).await, ledger));
    }
    all
}

pub(super) async fn everything_is_there_after_reopening(home: Arc<dyn Home>) {
    let storage = home.open();
    let system = session(storage.clone()).await;
    leaf(&system, "usr-0", "one").await;
    leaf(&system, "usr-0", "two").await;
    let bot = crate::fixture::agent(&system, "bot");
    bot.pin_page("usr-1").await.expect("it may");
    bot.focus_page("usr-2").await.expect("it may");
    bot.add_turn(vec![crate::fixture::user("a turn")]).await.expect("it may");
    apply(&system, Edit::SetCustom { key: valid("goal"), value: Some("win".to_owned()) }).await;
    apply(&system, Edit::RemovePage(page("usr-2"))).await;
    apply(&system, Edit::Undo { revision: None }).await;
    let run = RunPut::first(valid("run"), "{}", Timestamp::from_millis(BEGIN));
    system.keep_run(&run).await.expect("there is none");
    let id = session_id();
    for number in 1..=3 {
        storage.record(&id, &key("bot", "openai"), &sent(number)).await.expect("it is the next");
    }
    storage.report(&id, &key("bot", "openai"), 2, &Default::default()).await.expect("it is there");
    storage.keep_counts(&[(CountKey([3; 16]), Tokens(3))]).await.expect("they can be kept");
    // One that was made and removed is not there again.
    let other: SessionId = valid("other");
    let clock = TickingClock::new();
    let made = ContextSystem::create(storage.clone(), other.clone(), "testkit", clock).await;
    drop(made.expect("a new session"));
    assert!(storage.remove_session(&other).await.expect("it can be removed"));
    let before = whole(&*storage).await;
    assert_eq!(before.len(), 1);
    drop((system, bot, storage));
    for _ in 0..3 {
        let storage = home.open();
        assert_eq!(whole(&*storage).await, before);
        drop(storage);
    }
    // It goes on where it stopped: numbers, places, revisions, ledgers.
    let storage = home.open();
    let system = crate::fixture::reopen(storage.clone()).await;
    assert_eq!(leaf(&system, "usr-0", "next").await, page("usr-4"));
    storage.record(&id, &key("bot", "openai"), &sent(4)).await.expect("it is the next");
    let record = storage.runs(&id, "run").await.expect("reads").remove(0);
    storage.keep_run(&id, &record.removal(run.at)).await.expect("it is at 1");
    let after = whole(&*storage).await;
    drop((system, storage));
    assert_eq!(whole(&*home.open()).await, after);
}

pub(super) async fn reopened_at_random_moments(home: Arc<dyn Home>) {
    const SEED: u64 = 4_242;
    let clock = TickingClock::new();
    let mut storage = home.open();
    let made = ContextSystem::create(storage.clone(), session_id(), "testkit", clock.clone()).await;
    let mut system = made.expect("a new session");
    let mut model = Model::new();
    let mut edits = Edits::new(SEED, Diet { purge: true });
    let mut script: Vec<_> =
        beginning().into_iter().map(|edit| (Principal::System, edit)).collect();
    script.reverse();
    let mut reopened = 0;
    for step in 0..300 {
        let (caller, edit) = script.pop().unwrap_or_else(|| edits.next(&model));
        let at = format!("seed {SEED}, step {step}: {} makes {edit:?}", caller.actor());
        let expected = model.apply(&caller, &edit).map(drop);
        let real = make(&system, &caller, edit).await.map(drop).map_err(|error| error.kind());
        assert_eq!(real, expected, "{at}");
        if edits.random().chance(8) {
            let before = dump(&*storage, &session_id()).await;
            drop(system);
            drop(storage);
            storage = home.open();
            assert_eq!(dump(&*storage, &session_id()).await, before, "{at}");
            let again = ContextSystem::open(storage.clone(), session_id(), clock.clone()).await;
            system = again.expect("it was stored");
            reopened += 1;
        }
    }
    assert!(reopened > 10, "reopened only {reopened} times");
    let found = model.compare(&crate::state::state(&system).await);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

pub(super) async fn a_refused_commit_leaves_nothing_to_find(home: Arc<dyn Home>) {
    let storage = home.open();
    let system = session(storage.clone()).await;
    leaf(&system, "usr-0", "one").await;
    let before = whole(&*storage).await;
    let mut refused = change();
    refused.custom.push(contexture_core::storage::CustomDelta {
        key: valid("goal"),
        before: None,
        after: Some("never".to_owned()),
    });
    refused.basis.pages.push((page("usr-1"), None));
    commit(&*storage, &session_id(), refused).await.expect_err("the page is there");
    let wrong = storage.record(&session_id(), &key("bot", "openai"), &sent(7)).await;
    wrong.expect_err("the first is 1");
    drop((system, storage));
    assert_eq!(whole(&*home.open()).await, before);
}
