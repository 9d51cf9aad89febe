//! Damage is noticed, named and put aside.

use contexture_core::{
    ContextSystem, Edit, PageStorage, SessionId,
    storage::{Quarantine, StorageError},
};
use contexture_testkit::fixture::{
    self, TickingClock, apply, leaf, segment, session_id, user, valid,
};
use contexture_testkit::state::scan;
use futures::executor::block_on;
use object_store::{ObjectStore, ObjectStoreExt, path::Path};
use std::sync::Arc;

use super::{collect, in_memory, names, open, small};
use crate::{runtime, s3::S3Tuning};

/// Fills a session so that it has objects of all kinds, and makes another one beside it.
fn filled(store: &Arc<dyn ObjectStore>) {
    fill(store);
    let (storage, other): (_, SessionId) = (open(store, small()), valid("other"));
    block_on(ContextSystem::create(storage, other, "app", TickingClock::new())).unwrap();
}

fn fill(store: &Arc<dyn ObjectStore>) {
    let tuning = S3Tuning { deltas: 3, inline_bytes: 2_500, ..small() };
    let storage = open(store, tuning);
    let system = block_on(fixture::session(storage.clone()));
    for number in 0..40 {
        block_on(leaf(&system, "usr-0", &format!("note {number}")));
        let text = format!("turn {number} {}", "and so on ".repeat(50));
        let turn = Edit::AddTurn { segment: segment("usr"), messages: vec![user(&text)] };
        block_on(apply(&system, turn));
    }
    let deltas = || storage.inner.session(&session_id()).known().unwrap().root.meta.deltas.len();
    while deltas() == 0 {
        block_on(leaf(&system, "usr-0", "one more"));
    }
}

fn change(store: &Arc<dyn ObjectStore>, name: &str, change: impl FnOnce(&mut Vec<u8>) + Send) {
    let (store, path) = (store.clone(), Path::from(name));
    let read = {
        let (store, path) = (store.clone(), path.clone());
        async move { Ok(store.get(&path).await.unwrap().bytes().await.unwrap().to_vec()) }
    };
    let mut bytes = block_on(runtime::run("test", read)).unwrap();
    change(&mut bytes);
    let write = async move {
        store.put(&path, bytes.into()).await.unwrap();
        Ok(())
    };
    block_on(runtime::run("test", write)).unwrap();
}

/// Lists all objects of a kind: those that the root names, and garbage.
fn kinds(store: &Arc<dyn ObjectStore>, kind: &str) -> Vec<String> {
    names(store).into_iter().filter(|name| name.contains(kind)).collect()
}

// B-41: a flipped byte in any kind of object is noticed and named, by reading and by verifying, and a
// repair puts it aside and deletes nothing.
#[test]
fn damaged_objects_are_noticed_and_put_aside() {
    for kind in ["/d-", "/c-", "/m-", "/p-"] {
        let store = in_memory();
        filled(&store);
        for name in kinds(&store, kind) {
            change(&store, &name, |bytes| {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
            });
        }
        let storage = open(&store, small());
        let problems = block_on(storage.verify()).unwrap();
        assert!(!problems.is_empty(), "{kind}");
        assert!(problems.iter().all(|problem| problem.contains("corrupt")), "{problems:?}");
        let report = block_on(storage.repair()).unwrap();
        assert!(report.iter().any(|line| line.contains("quarantine")), "{report:?}");
        let aside = kinds(&store, "prefix/quarantine/data/");
        assert!(!aside.is_empty() && aside.iter().all(|name| name.contains(kind)), "{aside:?}");
        // Nothing is corrupt any more; what is lost is said to be missing.
        for problem in block_on(storage.verify()).unwrap() {
            assert!(
                problem.contains("is missing, but the history refers to it"),
                "{kind}: {problem}"
            );
        }
        block_on(async {
            scan(&*storage, &session_id(), &segment("usr")).await;
            storage.session(&session_id()).await.unwrap().unwrap();
            storage.session(&valid("other")).await.unwrap().unwrap();
        });
        assert!(block_on(storage.repair()).unwrap().is_empty(), "{kind}");
    }
}

// B-41: what a lost manifest named is lost to nobody: neither a repair nor collecting deletes it.
#[test]
fn what_a_lost_manifest_named_stays() {
    let store = in_memory();
    filled(&store);
    let data = kinds(&store, "prefix/data/");
    for name in kinds(&store, "/m-") {
        change(&store, &name, |bytes| bytes[40] ^= 1);
    }
    let hasty = open(&store, S3Tuning { grace: std::time::Duration::ZERO, ..small() });
    let report = block_on(hasty.repair()).unwrap();
    assert!(report.iter().any(|line| line.contains("quarantine/held")), "{report:?}");
    for _ in 0..2 {
        let left = kinds(&store, "prefix/data/");
        assert!(data.iter().all(|name| left.contains(name)), "{left:?}");
        collect(&store);
    }
    let left = kinds(&store, "prefix/data/");
    assert!(data.iter().all(|name| left.contains(name)), "{left:?}");
}

// Emptying the quarantine takes the objects that it kept, and only those.
#[test]
fn what_a_lost_manifest_named_goes_with_the_quarantine() {
    let store = in_memory();
    filled(&store);
    for name in kinds(&store, "/m-") {
        change(&store, &name, |bytes| bytes[40] ^= 1);
    }
    let hasty = open(&store, S3Tuning { grace: std::time::Duration::ZERO, ..small() });
    block_on(hasty.repair()).unwrap();
    let pages = block_on(scan(&*hasty, &session_id(), &segment("usr")));
    let problems = block_on(hasty.verify()).unwrap();
    assert!(!kinds(&store, "/quarantine/held/").is_empty());
    assert_eq!(block_on(hasty.scrub(Quarantine::Keep)).unwrap().len(), 1);
    assert!(!kinds(&store, "/quarantine/held/").is_empty(), "nobody asked for it");
    assert_eq!(block_on(hasty.scrub(Quarantine::Empty)).unwrap(), []);
    assert_eq!(kinds(&store, "/quarantine/"), [""; 0]);
    assert_eq!(collect(&store), 0, "what was held is gone already");
    let again = open(&store, small());
    assert_eq!(block_on(scan(&*again, &session_id(), &segment("usr"))), pages);
    assert_eq!(block_on(again.verify()).unwrap(), problems);
}

// A root that was set aside keeps the objects of its session; while they are young somebody may be using
// them, and the quarantine is not empty until they are gone.
#[test]
fn what_a_damaged_root_named_goes_with_the_quarantine() {
    let store = in_memory();
    filled(&store);
    let root = format!("prefix/sessions/{}", session_id());
    change(&store, &root, |bytes| bytes.truncate(bytes.len() - 1));
    let storage = open(&store, small());
    block_on(storage.repair()).unwrap();
    let data = kinds(&store, &format!("/data/{}/", session_id()));
    assert!(!data.is_empty());
    let left = block_on(storage.scrub(Quarantine::Empty)).unwrap();
    assert!(left.len() == 1 && left[0].until.contains("younger than 60 minutes"), "{left:?}");
    assert_eq!(kinds(&store, &format!("/data/{}/", session_id())), data);
    assert_eq!(block_on(storage.traces()).unwrap().len(), 1, "it is still named");
    let hasty = open(&store, S3Tuning { grace: std::time::Duration::ZERO, ..small() });
    assert_eq!(block_on(hasty.scrub(Quarantine::Empty)).unwrap(), []);
    let left = names(&store);
    assert!(!left.iter().any(|name| name.contains("/quarantine/")), "{left:?}");
    assert!(!left.iter().any(|name| data.contains(name)), "{left:?}");
    assert!(block_on(storage.session(&valid("other"))).unwrap().is_some());
}

#[test]
fn a_missing_object_is_named() {
    for kind in ["/d-", "/c-", "/m-", "/p-"] {
        let store = in_memory();
        filled(&store);
        for name in kinds(&store, kind) {
            let (store, path) = (store.clone(), Path::from(name.as_str()));
            let delete = async move {
                store.delete(&path).await.unwrap();
                Ok(())
            };
            block_on(runtime::run("test", delete)).unwrap();
        }
        let storage = open(&store, small());
        let problems = block_on(storage.verify()).unwrap();
        assert!(problems.iter().any(|problem| problem.contains("is missing")), "{problems:?}");
        block_on(storage.repair()).unwrap();
        block_on(async { scan(&*storage, &session_id(), &segment("usr")).await });
    }
}

// A root that cannot be read keeps nobody from other sessions; a repair puts it aside.
#[test]
fn a_damaged_root_is_noticed_and_put_aside() {
    let store = in_memory();
    filled(&store);
    let root = format!("prefix/sessions/{}", session_id());
    change(&store, &root, |bytes| bytes.truncate(bytes.len() - 1));
    let storage = open(&store, small());
    let error = block_on(storage.session(&session_id())).unwrap_err();
    assert!(matches!(error, StorageError::Corrupt { .. }), "{error}");
    assert!(block_on(storage.session(&valid("other"))).unwrap().is_some());
    let problems = block_on(storage.verify()).unwrap();
    assert!(problems.len() == 1 && problems[0].contains("the root of session"), "{problems:?}");
    let data = kinds(&store, "/data/");
    let report = block_on(storage.repair()).unwrap();
    assert!(report.len() == 1 && report[0].contains("quarantine"), "{report:?}");
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
    assert_eq!(block_on(storage.sessions(None, 9)).unwrap().len(), 1);
    assert_eq!(kinds(&store, "/quarantine/sessions/").len(), 1);
    // What it named is not collected while it lies there, whether or not there is a new session of
    // that name.
    assert_eq!(collect(&store), 0);
    assert_eq!(kinds(&store, "/data/"), data);
    fill(&store);
    assert!(collect(&store) > 0);
    let left = kinds(&store, "/data/");
    assert!(data.iter().all(|name| left.contains(name)), "{left:?}");
}

// A root of another session, put in a session's place, is not taken for its own.
#[test]
fn a_swapped_root_is_noticed() {
    let store = in_memory();
    filled(&store);
    let (from, to) =
        (Path::from("prefix/sessions/other"), format!("prefix/sessions/{}", session_id()));
    let copied = {
        let store = store.clone();
        async move {
            store.copy(&from, &Path::from(to)).await.unwrap();
            Ok(())
        }
    };
    block_on(runtime::run("test", copied)).unwrap();
    let error = block_on(open(&store, small()).session(&session_id())).unwrap_err();
    assert!(error.to_string().contains("session 'other'"), "{error}");
}
