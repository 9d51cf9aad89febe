//! Many writers on one session in one process: they share transactions and lose nothing.

use contexture_core::{
    Edit, ErrorKind, PageStorage, PageUpdate, Timestamp,
    storage::{HistoryQuery, RunPut, StorageError},
};
use contexture_testkit::fixture::{self, description, page, session_id, valid};
use futures::{executor::block_on, future::join_all};

use crate::support::{append, assert_sound, database, names, open, system};

// 256 writers on one session: each append is made once, and transactions are hardly ever made again.
#[test]
fn two_hundred_and_fifty_six_writers_on_one_session() {
    const WRITERS: usize = 256;
    const ROUNDS: usize = 4;
    let storage = open(&database());
    let made = block_on(fixture::session(storage.clone()));
    let before = storage.transactions();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let made = &made;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    append(made, &format!("{writer} {round}")).unwrap();
                }
            });
        }
    });
    let commits = WRITERS * ROUNDS;
    let (transactions, retries) = (storage.transactions() - before, storage.retries());
    println!("{commits} commits in {transactions} transactions, {retries} retries");
    assert!(transactions < commits as u64 / 2, "{transactions} transactions");
    assert!(retries * 10 <= transactions, "{retries} retries");
    let mut found = names(&*storage);
    found.sort();
    found.dedup();
    assert_eq!(found.len(), commits + 1);
    assert_sound(&*storage);
}

// Of those who change the same thing at once one wins; the others are refused, and nobody else is.
#[test]
fn a_refused_change_concerns_only_itself() {
    let url = database();
    let storage = open(&url);
    let made = block_on(fixture::session(storage.clone()));
    let target = append(&made, "target").unwrap();
    for round in 0..10 {
        // Systems of their own, so that none sees what the others do before the storage does.
        let systems: Vec<_> = (0..16).map(|_| system(storage.clone())).collect();
        let version = block_on(made.as_system().reader().page(&target)).unwrap().page.version;
        let (target, systems) = (&target, &systems);
        let edits = systems.iter().enumerate().map(|(at, system)| async move {
            let mut update = PageUpdate::of(target.clone());
            update.description = Some(description(&format!("{round} {at}")));
            update.if_version = Some(version);
            let renamed = system.as_system().apply(Edit::UpdatePage(update)).await;
            let new = contexture_core::NewDetailPage::new(
                page("usr-0"),
                valid(&format!("by {at}")),
                "text",
            );
            let appended = system.as_system().apply(Edit::CreateDetailPage(new)).await;
            (renamed, appended)
        });
        let done = block_on(join_all(edits));
        assert!(done.iter().all(|(_, appended)| appended.is_ok()));
        let won = done.iter().filter(|(renamed, _)| renamed.is_ok()).count();
        assert_eq!(won, 1, "round {round}");
        for (renamed, _) in done {
            if let Err(error) = renamed {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
            }
        }
        block_on(made.refresh()).unwrap();
    }
    assert_sound(&*storage);
}

// Run records of one key move on one at a time, also within a shared transaction.
#[test]
fn a_run_is_moved_on_by_one_alone() {
    let storage = open(&database());
    block_on(fixture::session(storage.clone()));
    let session = session_id();
    let at = Timestamp::from_millis(1);
    let puts: Vec<RunPut> =
        (0..64).map(|by| RunPut::first(valid("run"), format!("{by}\0"), at)).collect();
    let done = block_on(join_all(puts.iter().map(|put| storage.keep_run(&session, put))));
    assert_eq!(done.iter().filter(|done| done.is_ok()).count(), 1);
    let refused = done.iter().filter_map(|done| done.as_ref().err());
    refused.for_each(|error| assert!(matches!(error, StorageError::RunMoved { .. }), "{error}"));
    let query = HistoryQuery { limit: 10, ..HistoryQuery::default() };
    assert_eq!(block_on(storage.history(&session, &query)).unwrap().len(), 2);
}
