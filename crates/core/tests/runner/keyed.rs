//! Appending by a key: there once, however often it is sent, from wherever, and whatever went wrong.

use std::sync::Arc;

use contexture_core::{
    AppendKey, ContextSystem, Edit, ErrorKind, MemoryStorage, Message, PageIndex, Principal,
    Result, Session,
};
use contexture_testkit::{
    fault::{Fault, FaultyStorage},
    fixture::{
        agent, apply, assistant, calls, memory, page, reopen, returned, session, user, valid,
    },
};
use futures::executor::block_on;

fn key(text: &str) -> AppendKey {
    valid(text)
}

/// Each way to append, on a session in which it can be done.
const WAYS: [&str; 4] = ["add", "extend", "open", "result"];

async fn prepare(session: &Session, way: &str) {
    session.add_turn(vec![user("first")]).await.unwrap();
    if way == "result" {
        session.open_exchange(vec![calls("c1", "{}")]).await.unwrap();
    }
}

async fn send(session: &Session, way: &str, text: &str) -> Result<Vec<PageIndex>> {
    let keyed = session.keyed(key("k1"));
    match way {
        "add" => keyed.add_turn(vec![user(text), assistant("yes")]).await,
        "extend" => keyed.extend_turn(vec![assistant(text)]).await,
        "open" => keyed.open_exchange(vec![user(text), calls("c1", "{}")]).await,
        "result" => keyed.add_results(vec![returned("c1", text)]).await,
        other => panic!("{other}"),
    }
}

async fn revision(system: &ContextSystem) -> u64 {
    system.info().await.unwrap().revision.0
}

// The same again answers the same and does nothing, also from another process; other content is a conflict.
#[test]
fn the_same_key_appends_once() {
    for way in WAYS {
        block_on(async {
            let storage = Arc::new(MemoryStorage::new());
            let system = session(storage.clone()).await;
            let helper: Session = agent(&system, "helper").into();
            prepare(&helper, way).await;
            let pages = send(&helper, way, "hello").await.unwrap();
            assert!(!pages.is_empty());
            let made = revision(&system).await;
            assert_eq!(send(&helper, way, "hello").await.unwrap(), pages, "{way}");
            let elsewhere = reopen(storage).await;
            let there: Session = agent(&elsewhere, "helper").into();
            assert_eq!(send(&there, way, "hello").await.unwrap(), pages, "{way}");
            let other = send(&helper, way, "something else").await.unwrap_err();
            assert_eq!(other.kind(), ErrorKind::Conflict, "{way}");
            assert_eq!(other.to_string(), "key 'k1' was already used to append something else");
            assert_eq!(revision(&system).await, made, "{way}: nothing else was stored");
        });
    }
}

// The same content to another place or by another edit is other content.
#[test]
fn a_key_is_for_one_edit() {
    block_on(async {
        let system = memory().await;
        let helper: Session = agent(&system, "helper").into();
        helper.add_turn(vec![user("first")]).await.unwrap();
        helper.keyed(key("k")).extend_turn(vec![assistant("so")]).await.unwrap();
        let added = helper.keyed(key("k")).add_turn(vec![assistant("so")]).await.unwrap_err();
        assert_eq!(added.kind(), ErrorKind::Conflict);
        let purge =
            helper.keyed(key("p")).apply(Edit::RemovePage(page("usr-1"))).await.unwrap_err();
        assert_eq!(purge.kind(), ErrorKind::Invalid);
        assert!(helper.get_page("usr-1").await.is_ok());
    });
}

// A key belongs to its principal: the same words of another agent, of a user or of the system side are another key.
#[test]
fn keys_are_the_principals_own() {
    block_on(async {
        let system = memory().await;
        let principals: Vec<Session> = vec![
            agent(&system, "one").into(),
            agent(&system, "two").into(),
            system.as_system(),
            system.held_by(Principal::User(valid("ann"))),
            system.held_by(Principal::User(valid("bob"))),
        ];
        let mut pages = Vec::new();
        for (number, principal) in principals.iter().enumerate() {
            let messages = vec![user(&format!("of {number}"))];
            pages.extend(principal.keyed(key("k")).add_turn(messages).await.unwrap());
        }
        assert_eq!(pages.len(), 5);
        for (number, principal) in principals.iter().enumerate() {
            let messages = vec![user(&format!("of {number}"))];
            let again = principal.keyed(key("k")).add_turn(messages).await.unwrap();
            assert_eq!(again, [pages[number].clone()]);
        }
    });
}

// Whatever becomes of the write or its answer, sending again leaves the append there once.
#[test]
fn a_lost_answer_is_found_again() {
    for way in WAYS {
        for fault in Fault::ALL {
            block_on(async {
                let storage = FaultyStorage::new(Arc::new(MemoryStorage::new()));
                let system = session(storage.clone()).await;
                let helper: Session = agent(&system, "helper").into();
                prepare(&helper, way).await;
                let before = revision(&system).await;
                storage.arm(fault, 1);
                let first = send(&helper, way, "hello").await;
                assert!(!storage.is_armed(), "{way} {fault:?}: it struck");
                storage.mend();
                let second = send(&helper, way, "hello").await.unwrap();
                if let Ok(first) = first {
                    assert_eq!(first, second, "{way} {fault:?}");
                }
                assert_eq!(revision(&system).await, before + 1, "{way} {fault:?}");
                let elsewhere = reopen(storage.clone()).await;
                let there: Session = agent(&elsewhere, "helper").into();
                assert_eq!(send(&there, way, "hello").await.unwrap(), second, "{way} {fault:?}");
            });
        }
    }
}

// Many senders of one key at a time: one append, one answer.
#[test]
fn of_many_senders_one_appends() {
    let storage = Arc::new(MemoryStorage::new());
    block_on(session(storage.clone()));
    let systems: Vec<ContextSystem> = (0..8).map(|_| block_on(reopen(storage.clone()))).collect();
    let answers: Vec<Vec<PageIndex>> = std::thread::scope(|scope| {
        let senders = systems.iter().map(|system| {
            scope.spawn(move || {
                let helper: Session = agent(system, "helper").into();
                block_on(send(&helper, "open", "hello")).unwrap()
            })
        });
        let senders: Vec<_> = senders.collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|pages| *pages == [page("usr-1")]), "{answers:?}");
}

// An append that was undone is not made again by a late copy of it, and a purge is not in the way of keys nor
// they of it.
#[test]
fn keys_outlive_undo_and_purge() {
    block_on(async {
        let system = memory().await;
        let helper: Session = agent(&system, "helper").into();
        let said: Vec<Message> = vec![user("a secret")];
        let pages = helper.keyed(key("k")).add_turn(said.clone()).await.unwrap();
        helper.undo(None).await.unwrap();
        assert_eq!(helper.keyed(key("k")).add_turn(said.clone()).await.unwrap(), pages);
        assert!(helper.get_page("usr-1").await.is_err());
        let pages = helper.keyed(key("l")).add_turn(said.clone()).await.unwrap();
        apply(&system, Edit::RemovePage(pages[0].clone())).await;
        apply(&system, Edit::PurgePage(pages[0].clone())).await;
        let records = system.runs("key.").await.unwrap();
        assert_eq!(records.len(), 2);
        assert!(records.iter().all(|record| !record.value.contains("secret")), "{records:?}");
        assert_eq!(helper.keyed(key("l")).add_turn(said).await.unwrap(), pages);
    });
}
