//! Stores that were put back to an earlier state, and have grown since.

use std::{fs, path::Path, sync::Arc};

use contexture_core::{Clock, ContextSystem, Edit, PageStorage, Revision};
use contexture_storage::{FilesOptions, FilesStorage, SqliteOptions, SqliteStorage};
use contexture_testkit::{
    edits::beginning,
    fixture::{TickingClock, session_id},
};
use futures::executor::block_on;

use super::{found, say};
use crate::{SearchIndex, follow::Anchor};

fn open(kind: &str, folder: &Path) -> Arc<dyn PageStorage> {
    match kind {
        "sqlite" => {
            let path = folder.join("store.db");
            Arc::new(SqliteStorage::open(&path, SqliteOptions::default()).unwrap())
        }
        _ => Arc::new(FilesStorage::open(&folder.join("store"), FilesOptions::default()).unwrap()),
    }
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type().unwrap().is_dir() {
            true => copy(&path, &to),
            false => drop(fs::copy(&path, &to).unwrap()),
        }
    }
}

// The files of a store are replaced by an earlier copy of them, and the session is edited again: to fewer edits than
// the index has seen, to as many, and to more.
#[test]
fn notices_that_the_files_of_a_store_were_put_back() {
    for kind in ["sqlite", "files"] {
        for grown in 1..=4 {
            let at = format!("{kind}, {grown} edits later");
            let folder = tempfile::tempdir().unwrap();
            let [store, backup, place] =
                ["now", "then", "search"].map(|name| folder.path().join(name));
            fs::create_dir_all(&store).unwrap();
            let clock = TickingClock::new();
            block_on(async {
                let storage = open(kind, &store);
                let system = begin(storage.clone(), clock.clone()).await;
                say(&system, "usr", "copper one").await;
                drop((system, storage));
                copy(&store, &backup);

                let storage = open(kind, &store);
                let system = reopen(&storage, &clock).await;
                let index = SearchIndex::open(storage.clone(), Some(&place)).unwrap();
                for text in ["velvet two", "velvet three"] {
                    say(&system, "usr", text).await;
                }
                assert_eq!(found(&index, &system.as_system(), "velvet").await.len(), 2, "{at}");
                index.flush().await.unwrap();
                drop((index, system, storage));
                copy(&backup, &store);

                let storage = open(kind, &store);
                let system = reopen(&storage, &clock).await;
                let session = system.as_system();
                for number in 0..grown {
                    say(&system, "usr", &format!("meadow {number}")).await;
                }
                for _ in 0..2 {
                    let index = SearchIndex::open(storage.clone(), Some(&place)).unwrap();
                    assert_eq!(found(&index, &session, "velvet").await, [""; 0], "{at}");
                    assert_eq!(found(&index, &session, "meadow").await.len(), grown, "{at}");
                    assert_eq!(found(&index, &session, "copper").await, ["usr-1"], "{at}");
                    index.flush().await.unwrap();
                }
                assert_head_is_known_by_its_time(&storage, &at).await;
            });
        }
    }
}

/// Where nothing was committed since, no entry of the feed has to be read: the session's head says enough.
async fn assert_head_is_known_by_its_time(storage: &Arc<dyn PageStorage>, at: &str) {
    let info = storage.session(&session_id()).await.unwrap().unwrap();
    let before = Revision(info.revision.0 - 1);
    let last = storage.changes(&session_id(), before, 1).await.unwrap();
    assert!(Anchor::of(&last[0]).is_head(&info), "{at}");
}

async fn begin(storage: Arc<dyn PageStorage>, clock: Arc<dyn Clock>) -> ContextSystem {
    let create = ContextSystem::create(storage, session_id(), "search", clock);
    let system = create.await.unwrap();
    for edit in beginning() {
        system.as_system().apply(edit).await.unwrap();
    }
    system
}

async fn reopen(storage: &Arc<dyn PageStorage>, clock: &Arc<TickingClock>) -> ContextSystem {
    ContextSystem::open(storage.clone(), session_id(), clock.clone()).await.unwrap()
}

// A purge changes what the feed says of the edit that was reached. That is no other state: nothing is read again.
#[test]
fn a_purge_of_what_was_reached_is_no_other_state() {
    let storage: Arc<dyn PageStorage> = Arc::new(contexture_core::MemoryStorage::new());
    block_on(async {
        let system = begin(storage.clone(), TickingClock::new()).await;
        let session = system.as_system();
        let kept = say(&system, "usr", "copper kept").await;
        let page = say(&system, "usr", "copper purged").await;
        let index = SearchIndex::open(storage, None).unwrap();
        assert_eq!(found(&index, &session, "copper").await.len(), 2);
        let epoch = index.inner.followed(session.id()).epoch();
        session.apply(Edit::PurgePage(page)).await.unwrap();
        assert_eq!(found(&index, &session, "copper").await, [kept.to_string()]);
        assert_eq!(index.inner.followed(session.id()).epoch(), epoch);
    });
}
