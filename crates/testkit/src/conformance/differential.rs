//! The same random edits on this storage and in memory, everything read and compared.

use std::sync::Arc;

use contexture_core::{
    Clock, ContextSystem, MemoryStorage, PageStorage, Principal,
    storage::{Commit, Mark, NewSession},
};

use super::dump;
use crate::{
    edits::{Diet, Edits, beginning},
    fixture::{TickingClock, session_id},
    model::Model,
    property::make,
};

const SEED: u64 = 77;

pub(super) async fn random_edits_read_the_same_as_in_memory(storage: Arc<dyn PageStorage>) {
    let memory: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    let real = open(storage.clone()).await;
    let expected = open(memory.clone()).await;
    let mut model = Model::new();
    let mut edits = Edits::new(SEED, Diet { purge: true });
    let mut script: Vec<_> =
        beginning().into_iter().map(|edit| (Principal::System, edit)).collect();
    script.reverse();
    for step in 0..400 {
        let (caller, edit) = script.pop().unwrap_or_else(|| edits.next(&model));
        let at = format!("seed {SEED}, step {step}: {} makes {edit:?}", caller.actor());
        // The model only helps to make sensible edits here.
        drop(model.apply(&caller, &edit));
        let left = make(&real, &caller, edit.clone()).await;
        let right = make(&expected, &caller, edit).await;
        match (&left, &right) {
            (Ok(left), Ok(right)) => {
                assert_eq!(left.revision, right.revision, "{at}");
                assert_eq!((&left.pages, &left.moved), (&right.pages, &right.moved), "{at}");
            }
            (Err(left), Err(right)) => assert_eq!(left.to_string(), right.to_string(), "{at}"),
            _ => panic!("{at}: {left:?} is not {right:?}"),
        }
        if step % 20 == 19 {
            // A snapshot is read without asking a server for each of thousands of answers.
            let still = storage.snapshot().await.expect("it can be taken");
            let (left, right) =
                (dump(&*still, &session_id()).await, dump(&*memory, &session_id()).await);
            assert_eq!(left, right, "{at}");
        }
    }
    assert_eq!(dump(&*storage, &session_id()).await, dump(&*memory, &session_id()).await);
}

async fn open(storage: Arc<dyn PageStorage>) -> ContextSystem {
    let clock = TickingClock::new();
    // Storages make marks of their own, so both get the same one.
    let mark = Some(Mark::from_seed(b"differential"));
    let new = NewSession { app: "testkit".to_owned(), at: clock.now(), mark };
    let commit = Commit { create: Some(new), change: None };
    storage.commit(&session_id(), commit).await.expect("a new session");
    ContextSystem::open(storage, session_id(), clock).await.expect("it was just made")
}
