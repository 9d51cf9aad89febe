//! Taking over a session, and what opens and what does not.

use std::sync::Arc;

use contexture_core::{
    Edit, HistoryEntry, MemoryStorage, PageStorage,
    storage::{HistoryQuery, ImportPart, LedgerQuery, StorageError},
};
use contexture_testkit::{
    conformance::dump,
    fixture::{self, apply, leaf, session_id},
    property,
    state::scan,
};
use futures::executor::block_on;
use object_store::{ObjectStore, ObjectStoreExt, path::Path};

use super::{in_memory, names, open, small, try_open};
use crate::{runtime, s3::S3Tuning};

/// Reads a session as parts of a few each.
fn parts(storage: &dyn PageStorage) -> Vec<ImportPart> {
    let id = session_id();
    block_on(async {
        let mut parts = vec![ImportPart::Begin];
        let segments = storage.segments(&id).await.unwrap();
        parts.push(ImportPart::Segments(segments.clone()));
        for segment in &segments {
            let pages = scan(storage, &id, &segment.id).await;
            parts.extend(pages.chunks(7).map(|pages| ImportPart::Pages(pages.to_vec())));
        }
        let query = HistoryQuery { limit: usize::MAX >> 1, ..HistoryQuery::default() };
        let mut history: Vec<HistoryEntry> = storage.history(&id, &query).await.unwrap();
        history.reverse();
        for entries in history.chunks(11) {
            let assigned = entries.iter().flat_map(|entry| &entry.inverse.pages);
            let mut hashes: Vec<_> = assigned.filter_map(|before| before.assigned).collect();
            hashes.sort();
            hashes.dedup();
            let contents = storage.contents(&id, &hashes).await.unwrap();
            parts.push(ImportPart::Contents(contents.into_iter().flatten().collect()));
            parts.push(ImportPart::History(entries.to_vec()));
        }
        let keys = storage.level_keys(&id).await.unwrap();
        let levels = storage.levels(&id, &keys).await.unwrap();
        parts.push(ImportPart::Levels(keys.into_iter().zip(levels).collect()));
        parts.push(ImportPart::Views(storage.views(&id).await.unwrap()));
        parts.push(ImportPart::Custom(storage.custom(&id).await.unwrap()));
        parts.push(ImportPart::Runs(storage.runs(&id, "").await.unwrap()));
        for key in storage.ledgers(&id).await.unwrap() {
            let query = LedgerQuery { upto: None, limit: usize::MAX >> 1 };
            let mut sent = storage.ledger(&id, &key, &query).await.unwrap();
            sent.reverse();
            parts.push(ImportPart::Ledger(key, sent));
        }
        parts.push(ImportPart::Finish(storage.session(&id).await.unwrap().unwrap()));
        parts
    })
}

// B-31: a session taken over from another storage is the same, and goes on as it would have there.
#[test]
fn a_session_taken_over_is_the_same() {
    let memory = Arc::new(MemoryStorage::new());
    property::run(|| memory.clone(), 5, 900, 0);
    let expected = block_on(dump(&*memory, &session_id()));
    for tuning in [small(), S3Tuning::default()] {
        let store = in_memory();
        let storage = open(&store, tuning.clone());
        let parts = parts(&*memory);
        let last = parts.len() - 1;
        // Begun once and left, then begun again.
        for part in &parts[..last / 2] {
            block_on(storage.import(&session_id(), part.clone())).unwrap();
        }
        for (at, part) in parts.iter().enumerate() {
            assert_eq!(block_on(storage.session(&session_id())).unwrap(), None, "part {at}");
            assert_eq!(block_on(storage.sessions(None, 9)).unwrap(), []);
            block_on(storage.import(&session_id(), part.clone())).unwrap();
        }
        assert_eq!(block_on(dump(&*storage, &session_id())), expected);
        assert_eq!(block_on(dump(&*open(&store, tuning), &session_id())), expected);
        let refused = block_on(storage.import(&session_id(), ImportPart::Begin)).unwrap_err();
        assert!(matches!(refused, StorageError::SessionExists { .. }), "{refused}");
        let system = block_on(fixture::reopen(storage.clone()));
        let index = block_on(leaf(&system, "usr-0", "and on"));
        block_on(apply(&system, Edit::PurgePage(index)));
        assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
    }
}

// What was begun and left can no longer be finished once another began; nothing of it is left.
#[test]
fn only_who_began_last_can_finish() {
    let memory: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    let system = block_on(fixture::session(memory.clone()));
    block_on(leaf(&system, "usr-0", "note"));
    let parts = parts(&*memory);
    let (last, store) = (parts.len() - 1, in_memory());
    let (one, two) = (open(&store, small()), open(&store, small()));
    let import = |storage: &crate::s3::S3Storage, part: &ImportPart| {
        block_on(storage.import(&session_id(), part.clone()))
    };
    parts[..last].iter().for_each(|part| import(&one, part).unwrap());
    parts[..last].iter().for_each(|part| import(&two, part).unwrap());
    let refused = import(&one, &parts[last]).unwrap_err();
    assert!(matches!(refused, StorageError::SessionMissing { .. }), "{refused}");
    import(&two, &parts[last]).unwrap();
    assert_eq!(block_on(dump(&*one, &session_id())), block_on(dump(&*memory, &session_id())),);
    // A session that is made meanwhile ends what was begun.
    block_on(two.remove_session(&session_id())).unwrap();
    parts[..last].iter().for_each(|part| import(&one, part).unwrap());
    block_on(fixture::session(two.clone()));
    let refused = import(&one, &parts[last]).unwrap_err();
    assert!(matches!(refused, StorageError::SessionExists { .. }), "{refused}");
    block_on(two.remove_session(&session_id())).unwrap();
    parts[..last].iter().for_each(|part| import(&one, part).unwrap());
    assert!(!block_on(two.remove_session(&session_id())).unwrap(), "it was not there yet");
    assert_eq!(names(&store).iter().filter(|name| name.contains("/sessions/")).count(), 0);
}

fn put(store: &Arc<dyn ObjectStore>, name: &str, bytes: &'static [u8]) {
    let (store, path) = (store.clone(), Path::from(name));
    let put = async move {
        store.put(&path, bytes.into()).await.unwrap();
        Ok(())
    };
    block_on(runtime::run("test", put)).unwrap();
}

#[test]
fn what_is_not_ours_or_newer_is_left_alone() {
    let store = in_memory();
    put(&store, "prefix/holiday.jpg", b"...");
    let error = try_open(&store, small()).unwrap_err();
    assert!(matches!(error, StorageError::Foreign { .. }), "{error}");
    assert!(error.to_string().contains("holiday.jpg"), "{error}");
    assert_eq!(names(&store), ["prefix/holiday.jpg"]);
    put(&store, "prefix/contexture.json", br#"{"contexture":"s3","version":99}"#);
    let error = try_open(&store, small()).unwrap_err();
    assert!(matches!(error, StorageError::Newer { found: 99, .. }), "{error}");
    put(&store, "prefix/contexture.json", br#"{"version":1}"#);
    assert!(matches!(try_open(&store, small()).unwrap_err(), StorageError::Foreign { .. }));
    // Beside it is not in it.
    let store = in_memory();
    put(&store, "prefix-2/holiday.jpg", b"...");
    open(&store, small());
}
