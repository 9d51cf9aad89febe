//! Many sessions in one storage: each reads as if it were alone.

use std::{collections::BTreeMap, sync::Arc};

use contexture_core::{
    Clock, ContextSystem, Edit, MemoryStorage, PageStorage, Permission, SegmentKind, SessionId,
    Timestamp, View,
    storage::{Commit, LedgerQuery, Mark, NewSession, RunPut},
};
use futures::future::join_all;

use super::{
    dump,
    ledgers::{key, sent},
};
use crate::{
    fixture::{
        BEGIN, TickingClock, add_segment, apply, assistant, directory, leaf, page, segment, user,
        valid,
    },
    random::Random,
};

/// Makes a session whose mark is known, so that it can be compared with another storage's.
async fn make(storage: Arc<dyn PageStorage>, id: &SessionId) -> ContextSystem {
    let clock = TickingClock::new();
    let mark = Some(Mark::from_seed(id.as_str().as_bytes()));
    let new = NewSession { app: format!("app of {id}"), at: clock.now(), mark };
    let commit = Commit { create: Some(new), change: None };
    storage.commit(id, commit).await.expect("a new session");
    let system = ContextSystem::open(storage, id.clone(), clock).await.expect("it was just made");
    add_segment(&system, "usr", SegmentKind::User, Permission::ReadWrite).await;
    system
}

/// Makes the edit of one round; what it is depends on the session and the round alone.
async fn edit(system: &ContextSystem, seed: u64, round: u64) {
    let mut random = Random::new(seed * 1_000 + round);
    let turn = |text: String| Edit::AddTurn {
        segment: segment("usr"),
        // The same in all sessions now and then, so that contents may be shared.
        messages: vec![user(&text), assistant("an answer")],
    };
    match random.below(7) {
        0 => drop(apply(system, turn(format!("round {round}"))).await),
        1 => drop(apply(system, turn(format!("session {seed} round {round}"))).await),
        2 => drop(leaf(system, "usr-0", &format!("note {seed}")).await),
        3 => drop(directory(system, "usr-0", "dir").await),
        4 => {
            let value = Some(format!("{seed} {round}"));
            apply(system, Edit::SetCustom { key: valid("goal"), value }).await;
        }
        5 => {
            let at = Timestamp::from_millis(BEGIN);
            let run = RunPut::first(valid(&format!("run/{round}")), format!("{seed}"), at);
            system.keep_run(&run).await.expect("there is none");
        }
        _ => {
            let index = leaf(system, "usr-0", "short-lived").await;
            let view = View::common(valid("bot"));
            let bot = contexture_core::AgentContext::new(system.clone(), view);
            bot.pin_page(&index).await.expect("it may");
            apply(system, Edit::PurgePage(index)).await;
        }
    }
}

pub(super) async fn fifty_sessions_side_by_side(storage: Arc<dyn PageStorage>) {
    const SESSIONS: u64 = 50;
    const ROUNDS: u64 = 6;
    let memory: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    let ids: Vec<SessionId> = (0..SESSIONS).map(|at| valid(&format!("s{at}"))).collect();
    for (storage, side_by_side) in [(&storage, true), (&memory, false)] {
        let systems = join_all(ids.iter().map(|id| make(storage.clone(), id))).await;
        for round in 0..ROUNDS {
            let edits = systems.iter().zip(0..).map(|(system, seed)| edit(system, seed, round));
            if side_by_side {
                join_all(edits).await;
            } else {
                for edit in edits {
                    edit.await;
                }
            }
        }
    }
    let listed = storage.sessions(None, 1_000).await.expect("reads");
    assert_eq!(listed, memory.sessions(None, 1_000).await.expect("reads"));
    for id in &ids {
        assert_eq!(dump(&*storage, id).await, dump(&*memory, id).await, "{id}");
    }
    // Every second one goes; the others do not notice.
    for id in ids.iter().step_by(2) {
        assert!(storage.remove_session(id).await.expect("it can be removed"));
    }
    for (at, id) in ids.iter().enumerate() {
        if at % 2 == 1 {
            assert_eq!(dump(&*storage, id).await, dump(&*memory, id).await, "{id}");
        } else {
            assert_eq!(storage.session(id).await.expect("reads"), None);
            assert_eq!(storage.segments(id).await.expect("reads"), []);
        }
    }
    assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
}

/// Fills sessions of these names, checks that each holds its own only, and removes one after the other.
async fn assert_apart(storage: Arc<dyn PageStorage>, names: &[&str]) {
    let mut dumps = BTreeMap::new();
    for (at, name) in names.iter().enumerate() {
        let id: SessionId = valid(name);
        let system = make(storage.clone(), &id).await;
        for round in 0..=at {
            leaf(&system, "usr-0", &format!("{name} {round}")).await;
        }
        apply(&system, Edit::PinPage(page("usr-1"))).await;
        let value = Some((*name).to_owned());
        apply(&system, Edit::SetCustom { key: valid("name"), value }).await;
        let run = RunPut::first(valid("run"), *name, Timestamp::from_millis(BEGIN));
        system.keep_run(&run).await.expect("there is none");
        for number in 1..=at as u64 + 1 {
            storage.record(&id, &key("bot", "openai"), &sent(number)).await.expect("the next");
        }
    }
    for (at, name) in names.iter().enumerate() {
        let id: SessionId = valid(name);
        let dump = dump(&*storage, &id).await;
        assert_eq!(dump.pages.len(), at + 2, "{name}");
        assert_eq!(dump.custom, [(valid("name"), (*name).to_owned())], "{name}");
        assert_eq!(dump.runs.iter().map(|run| run.value.as_str()).collect::<Vec<_>>(), [*name]);
        let query = LedgerQuery { upto: None, limit: 99 };
        let ledger = storage.ledger(&id, &key("bot", "openai"), &query).await.expect("reads");
        assert_eq!(ledger.len(), at + 1, "{name}");
        dumps.insert(id, dump);
    }
    let listed = storage.sessions(None, 99).await.expect("reads");
    assert!(listed.iter().map(|info| &info.id).eq(dumps.keys()), "sessions come by name");
    while let Some((id, _)) = dumps.pop_first() {
        assert!(storage.remove_session(&id).await.expect("it can be removed"));
        for (other, expected) in &dumps {
            assert_eq!(dump(&*storage, other).await, *expected, "{id} is gone, {other} is not");
        }
    }
    assert_eq!(storage.sessions(None, 99).await.expect("reads"), []);
}

pub(super) async fn names_that_begin_alike_are_apart(storage: Arc<dyn PageStorage>) {
    let long = "n".repeat(128);
    let names = [
        "a",
        "ab",
        "a-",
        "a.",
        "a_",
        "a-0",
        "a.b",
        "a.b.c",
        "0",
        "00",
        "1",
        "10",
        "s",
        "s.json",
        "s.d",
        "con",
        "nul",
        "index",
        &long,
        &long[..127],
    ];
    assert_apart(storage, &names).await;
}

pub(super) async fn names_that_differ_in_case_only_are_apart(storage: Arc<dyn PageStorage>) {
    assert_apart(storage.clone(), &["Session", "session", "SESSION", "sessioN"]).await;
    let system = make(storage.clone(), &valid("case")).await;
    let id: SessionId = valid("case");
    for (at, name) in ["Seg", "seg", "SEG", "se", "seg-a", "seg_a"].into_iter().enumerate() {
        add_segment(&system, name, SegmentKind::Custom, Permission::ReadWrite).await;
        for round in 0..=at {
            leaf(&system, &format!("{name}-0"), &format!("{name} {round}")).await;
        }
        let value = Some(name.to_owned());
        apply(&system, Edit::SetCustom { key: valid(name), value }).await;
        let run = RunPut::first(valid(name), name, Timestamp::from_millis(BEGIN));
        system.keep_run(&run).await.expect("there is none");
    }
    for (at, name) in ["Seg", "seg", "SEG", "se", "seg-a", "seg_a"].into_iter().enumerate() {
        let pages = crate::state::scan(&*storage, &id, &segment(name)).await;
        assert_eq!(pages.len(), at + 2, "{name}");
        let own = pages.iter().skip(1).all(|page| page.name.as_str().starts_with(name));
        assert!(own && pages.iter().all(|page| page.index.segment().as_str() == name));
        let count = storage.child_count(&id, &segment(name).root()).await.expect("reads");
        assert_eq!(count, at as u64 + 1, "{name}");
    }
    let custom = storage.custom(&id).await.expect("reads");
    let keys: Vec<&str> = custom.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["SEG", "Seg", "se", "seg", "seg-a", "seg_a"]);
    assert!(custom.iter().all(|(key, value)| key.as_str() == value));
    let runs = storage.runs(&id, "").await.expect("reads");
    let keys: Vec<&str> = runs.iter().map(|run| run.key.as_str()).collect();
    assert_eq!(keys, ["SEG", "Seg", "se", "seg", "seg-a", "seg_a"]);
    let begins = storage.runs(&id, "Se").await.expect("reads");
    assert_eq!(begins.len(), 1);
    // One goes, and leaves the others alone.
    let removed = Edit::RemoveSegment { segment: segment("seg"), cascade: true, force: false };
    apply(&system, removed).await;
    for (name, count) in [("Seg", 1), ("seg", 0), ("SEG", 3), ("seg-a", 5)] {
        let segments = storage.segments(&id).await.expect("reads");
        let here = segments.iter().find(|segment| segment.id.as_str() == name);
        assert_eq!(here.map(|segment| segment.removed), Some(name == "seg"), "{name}");
        let counted = storage.child_count(&id, &segment(name).root()).await.expect("reads");
        assert!(name == "seg" || counted == count, "{name}: {counted}");
    }
    assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
}
