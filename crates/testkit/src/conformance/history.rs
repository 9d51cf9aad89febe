//! History: every combination of what can be asked, answered as the memory storage does.

use std::sync::Arc;

use contexture_core::{
    Actor, ContextSystem, Edit, MemoryStorage, Message, PageStorage, Principal, Revision, Role,
    storage::HistoryQuery,
};

use crate::fixture::{agent, apply, leaf, page, session, session_id, valid};

/// Edits of four actors, some undone, one of them redone.
async fn fill(system: &ContextSystem) {
    let (left, right) = (agent(system, "left"), agent(system, "right"));
    // A person may be named like an agent.
    let user = system.held_by(Principal::User(valid("left")));
    for round in 0..4 {
        let index = leaf(system, "usr-0", &format!("page {round}")).await;
        left.pin_page(&index).await.expect("it may");
        user.update_page(&index, &format!("named {round}"), "").await.expect("it may");
        right.update_page(&index, &format!("renamed {round}"), "").await.expect("it may");
        right.expand_details(&index).await.expect("it may");
        match round {
            0 => {
                left.undo(None).await.expect("it may");
                let messages = vec![Message::text(Role::User, "hello")];
                let turn = user.add_turn(messages).await.expect("it may");
                let (storage, author) = (system.storage(), user.principal().actor());
                let usr = page("usr-0").segment().clone();
                let last = storage.last_turn_page(&session_id(), &usr, &author).await;
                assert_eq!(last.expect("reads").map(|page| page.index), turn.first().cloned());
            }
            1 => {
                let undone = right.undo(None).await.expect("it may").revision;
                let redo = Edit::Undo { revision: Some(undone) };
                apply(system, redo).await;
            }
            2 => drop(apply(system, Edit::RemovePage(page("usr-1"))).await),
            _ => drop(apply(system, Edit::PurgePage(page("usr-1"))).await),
        }
    }
}

pub(super) async fn every_question_is_answered_as_in_memory(storage: Arc<dyn PageStorage>) {
    let memory: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    for storage in [&storage, &memory] {
        fill(&session(storage.clone()).await).await;
    }
    let newest = memory.session(&session_id()).await.expect("reads").expect("it exists").revision.0;
    let bounds: Vec<Option<Revision>> = [None]
        .into_iter()
        .chain(
            [0, 1, 2, 5, 9, newest - 1, newest, newest + 1, u64::MAX].map(|at| Some(Revision(at))),
        )
        .collect();
    let names = ["system", "left", "right", "nil", "user:left", "user:right"];
    let actors: Vec<Option<Actor>> =
        [None].into_iter().chain(names.map(|name| Some(valid(name)))).collect();
    // All on a snapshot: a server need not be asked for each of thousands of answers.
    let still = storage.snapshot().await.expect("it can be taken");
    let mut asked = 0;
    for before in &bounds {
        for after in &bounds {
            for actor in &actors {
                for undoable in [false, true] {
                    for limit in [0, 1, 3, 1_000] {
                        let (before, after, actor) = (*before, *after, actor.clone());
                        let query = HistoryQuery { before, after, actor, undoable, limit };
                        let read = still.history(&session_id(), &query).await.expect("reads");
                        let model = memory.history(&session_id(), &query).await.expect("reads");
                        assert_eq!(read, model, "{query:?}");
                        asked += 1;
                    }
                }
            }
        }
    }
    assert_eq!(asked, 10 * 10 * 7 * 2 * 4);
    // Read on from where the last piece ended, until nothing is left.
    let mut all: Vec<u64> = Vec::new();
    loop {
        let before = all.last().map(|at| Revision(*at));
        let query = HistoryQuery { before, limit: 4, ..HistoryQuery::default() };
        let read = storage.history(&session_id(), &query).await.expect("reads");
        all.extend(read.iter().map(|entry| entry.revision.0));
        if read.len() < 4 {
            break;
        }
    }
    assert_eq!(all, (1..=newest).rev().collect::<Vec<u64>>());
}
