//! Taking over a session: nothing shows before the end, and it may be begun again.

use std::{fs, sync::Arc};

use contexture_core::{
    MemoryStorage, PageStorage, SessionId, Timestamp,
    storage::{
        HistoryQuery, ImportPart, LedgerQuery, RunPut, ScanQuery, StandingFilter, StorageError,
        copy::{CopyOutcome, copy_session},
    },
};
use contexture_testkit::{
    conformance::dump,
    fake::{Death, WatchedStorage},
    fixture::{self, leaf, reopen, session_id, valid},
    property,
};
use futures::executor::block_on;

use crate::{everything, fill, open};

/// Returns all parts of a session, small ones, in their order.
async fn parts(from: &dyn PageStorage, session: &SessionId) -> Vec<ImportPart> {
    let mut parts = vec![ImportPart::Begin];
    let segments = from.segments(session).await.unwrap();
    parts.push(ImportPart::Segments(segments.clone()));
    for segment in segments {
        let (segment, standing) = (segment.id, StandingFilter::Any);
        let query = ScanQuery { segment, standing, after: None, limit: usize::MAX >> 1 };
        let pages = from.scan(session, &query).await.unwrap();
        parts.extend(pages.chunks(3).map(|pages| ImportPart::Pages(pages.to_vec())));
    }
    let query = HistoryQuery { limit: usize::MAX >> 1, ..HistoryQuery::default() };
    let mut history = from.history(session, &query).await.unwrap();
    history.reverse();
    let assigned = history.iter().flat_map(|entry| &entry.inverse.pages);
    let hashes: Vec<_> = assigned.filter_map(|before| before.assigned).collect();
    let contents = from.contents(session, &hashes).await.unwrap();
    parts.push(ImportPart::Contents(contents.into_iter().flatten().collect()));
    parts.extend(history.chunks(7).map(|entries| ImportPart::History(entries.to_vec())));
    let keys = from.level_keys(session).await.unwrap();
    let chunks = from.levels(session, &keys).await.unwrap();
    parts.push(ImportPart::Levels(keys.into_iter().zip(chunks).collect()));
    parts.push(ImportPart::Views(from.views(session).await.unwrap()));
    for entry in from.custom(session).await.unwrap() {
        parts.push(ImportPart::Custom(vec![entry]));
    }
    parts.push(ImportPart::Runs(from.runs(session, "").await.unwrap()));
    for key in from.ledgers(session).await.unwrap() {
        let all = LedgerQuery { upto: None, limit: usize::MAX };
        let mut records = from.ledger(session, &key, &all).await.unwrap();
        records.reverse();
        parts.push(ImportPart::Ledger(key, records));
    }
    parts.push(ImportPart::Finish(from.session(session).await.unwrap().unwrap()));
    parts
}

#[test]
fn a_session_is_taken_over_whole_or_not_at_all() {
    let memory = std::sync::Arc::new(MemoryStorage::new());
    property::run(|| memory.clone(), 5, 300, 0);
    let session = session_id();
    let put = RunPut::first(valid("run/1"), "{}", Timestamp::from_millis(1));
    block_on(memory.keep_run(&session, &put)).unwrap();
    let parts = block_on(parts(&*memory, &session));
    let dir = tempfile::tempdir().unwrap();
    let storage = open(dir.path());
    let import = |part: &ImportPart| block_on(storage.import(&session, part.clone()));
    let unbegun = import(&parts[1]).unwrap_err();
    assert!(matches!(unbegun, StorageError::SessionMissing { .. }), "{unbegun}");
    // Broken off, begun again, dropped with the session, begun again.
    for count in [parts.len() / 2, parts.len() - 1] {
        parts[..count].iter().for_each(|part| import(part).unwrap());
        assert_eq!(block_on(storage.session(&session)).unwrap(), None);
        assert_eq!(block_on(storage.sessions(None, 9)).unwrap(), []);
        assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
    }
    assert!(!block_on(storage.remove_session(&session)).unwrap());
    assert!(import(&parts[1]).is_err());
    parts.iter().for_each(|part| import(part).unwrap());
    let expected = block_on(dump(&*memory, &session));
    assert_eq!(block_on(dump(&*storage, &session)), expected);
    let there = import(&ImportPart::Begin).unwrap_err();
    assert!(matches!(there, StorageError::SessionExists { .. }), "{there}");
    drop(storage);
    std::fs::remove_file(dir.path().join(".local/index.db")).unwrap();
    assert_eq!(block_on(dump(&*open(dir.path()), &session)), expected);
}

// A folder that lost its head still holds pages and history: they are kept, and are not the new one's.
#[test]
fn what_a_session_without_a_head_left_is_set_aside() {
    let memory = std::sync::Arc::new(MemoryStorage::new());
    block_on(fixture::session(memory.clone()));
    let session = session_id();
    let parts = block_on(parts(&*memory, &session));
    let expected = block_on(dump(&*memory, &session));
    for imports in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let storage = open(dir.path());
        drop(fill(&storage));
        let lost = std::fs::read(dir.path().join("sessions/test/pages/usr-2.json")).unwrap();
        std::fs::remove_file(dir.path().join("sessions/test/session.json")).unwrap();
        if imports {
            parts.iter().for_each(|part| block_on(storage.import(&session, part.clone())).unwrap());
            assert_eq!(everything(&storage), expected);
        } else {
            drop(block_on(fixture::session(storage.clone())));
        }
        assert_eq!(block_on(storage.verify()).unwrap(), [""; 0], "imports: {imports}");
        let kept = dir.path().join(".local/quarantine/sessions__test");
        assert_eq!(std::fs::read(kept.join("pages/usr-2.json")).unwrap(), lost);
        let before = everything(&storage);
        drop(storage);
        std::fs::remove_file(dir.path().join(".local/index.db")).unwrap();
        assert_eq!(everything(&open(dir.path())), before, "imports: {imports}");
    }
}

// Killed at any part, the earlier state stands; the new one takes its place with the last. Notes that
// people keep beside our files stay.
#[test]
fn an_earlier_state_gives_way_to_a_later_one() {
    let (memory, id) = (Arc::new(MemoryStorage::new()), session_id());
    property::run(|| memory.clone(), 7, 120, 0);
    let dir = tempfile::tempdir().unwrap();
    let copy = |to: &dyn PageStorage| block_on(copy_session(&*memory, to, &id, &mut |_| {}));
    let first = copy(&*open(dir.path())).unwrap();
    let note = dir.path().join("sessions/test/notes/mine.md");
    fs::create_dir(note.parent().unwrap()).unwrap();
    fs::write(&note, "mine").unwrap();
    let before = everything(&open(dir.path()));
    block_on(leaf(&block_on(reopen(memory.clone())), "usr-0", "more"));
    let parts = {
        let to = Arc::new(MemoryStorage::new());
        block_on(copy_session(&*open(dir.path()), &*to, &id, &mut |_| {})).unwrap();
        let counting = WatchedStorage::new(to);
        copy(&*counting).unwrap();
        u32::try_from(counting.count("import")).unwrap()
    };
    for part in 1..=parts {
        let dying = WatchedStorage::new(open(dir.path()));
        let death = if part == parts { Death::Before } else { Death::After };
        dying.die_at_write(part, death);
        copy(&*dying).unwrap_err();
        drop(dying);
        let storage = open(dir.path());
        assert_eq!(everything(&storage), before, "part {part}");
        assert_eq!(block_on(storage.verify()).unwrap(), [""; 0], "part {part}");
    }
    let storage = open(dir.path());
    let copied = copy(&*storage).unwrap();
    assert_eq!(copied.outcome, CopyOutcome::BroughtForward(first.revision));
    let expected = block_on(dump(&*memory, &id));
    assert_eq!(everything(&storage), expected);
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
    assert_eq!(fs::read_to_string(&note).unwrap(), "mine");
    drop(storage);
    assert_eq!(fs::read_dir(dir.path().join(".local/imports")).unwrap().count(), 0);
    fs::remove_file(dir.path().join(".local/index.db")).unwrap();
    assert_eq!(everything(&open(dir.path())), expected);
}
