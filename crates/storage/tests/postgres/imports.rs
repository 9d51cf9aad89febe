//! Taking over a session from elsewhere.

use std::sync::Arc;

use contexture_core::{
    Edit, MemoryStorage, PageStorage, SessionId, Timestamp,
    storage::{Content, HistoryQuery, ImportPart, RunPut, StorageError},
};
use contexture_testkit::{
    conformance::dump,
    fixture::{self, agent, apply, leaf, page, session_id, valid},
    state::scan,
};
use futures::executor::block_on;

use crate::support::{append, database, dynamic, open, sql, system};

/// Reads everything there is of a session, as parts.
async fn parts(from: &dyn PageStorage, session: &SessionId) -> Vec<ImportPart> {
    let mut parts = vec![ImportPart::Begin];
    let segments = from.segments(session).await.unwrap();
    parts.push(ImportPart::Segments(segments.clone()));
    for segment in &segments {
        for piece in scan(from, session, &segment.id).await.chunks(2) {
            parts.push(ImportPart::Pages(piece.to_vec()));
        }
    }
    let query = HistoryQuery { limit: 1_000, ..HistoryQuery::default() };
    let mut history = from.history(session, &query).await.unwrap();
    history.reverse();
    let assigned = history.iter().flat_map(|entry| &entry.inverse.pages);
    let hashes: Vec<_> = assigned.filter_map(|before| before.assigned).collect();
    let mut contents: Vec<Content> =
        from.contents(session, &hashes).await.unwrap().into_iter().flatten().collect();
    contents.push(Content::encode(&[fixture::user("nobody refers to it")]));
    parts.push(ImportPart::Contents(contents));
    parts.extend(history.chunks(3).map(|piece| ImportPart::History(piece.to_vec())));
    let keys = from.level_keys(session).await.unwrap();
    let chunks = from.levels(session, &keys).await.unwrap();
    parts.push(ImportPart::Levels(keys.into_iter().zip(chunks).collect()));
    parts.push(ImportPart::Views(from.views(session).await.unwrap()));
    parts.push(ImportPart::Custom(from.custom(session).await.unwrap()));
    parts.push(ImportPart::Runs(from.runs(session, "").await.unwrap()));
    parts.push(ImportPart::Finish(from.session(session).await.unwrap().unwrap()));
    parts
}

fn source() -> Arc<dyn PageStorage> {
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    block_on(async {
        let made = fixture::session(storage.clone()).await;
        for name in ["one", "two", "three"] {
            leaf(&made, "usr-0", name).await;
        }
        agent(&made, "reader").pin_page("usr-1").await.unwrap();
        apply(&made, Edit::RemovePage(page("usr-2"))).await;
        apply(&made, Edit::Undo { revision: None }).await;
        let set = Edit::SetCustom { key: valid("goal"), value: Some("\0".to_owned()) };
        apply(&made, set).await;
        let put = RunPut::first(valid("run"), "step", Timestamp::from_millis(1));
        storage.keep_run(&session_id(), &put).await.unwrap();
    });
    storage
}

// A session is taken over as it is, and nothing of it shows before it is whole.
#[test]
fn a_session_is_taken_over_whole_or_not_at_all() {
    let (from, url) = (source(), database());
    let (to, session) = (dynamic(&url), session_id());
    block_on(async {
        let all = parts(&*from, &session).await;
        // An attempt that never ends, and one that begins anew.
        for part in all.iter().take(6).cloned() {
            to.import(&session, part).await.unwrap();
        }
        let (last, others) = all.split_last().unwrap();
        for part in others {
            to.import(&session, part.clone()).await.unwrap();
            assert_eq!(to.session(&session).await.unwrap(), None);
            assert_eq!(to.sessions(None, 10).await.unwrap(), []);
            assert_eq!(to.segments(&session).await.unwrap(), []);
        }
        assert_eq!(to.verify().await.unwrap(), [""; 0]);
        to.import(&session, last.clone()).await.unwrap();
        assert_eq!(dump(&*to, &session).await, dump(&*from, &session).await);
        let refused = to.import(&session, ImportPart::Begin).await.unwrap_err();
        assert!(matches!(refused, StorageError::SessionExists { .. }), "{refused}");
    });
    assert_eq!(sql(&url, "SELECT count(*) FROM contexture_contents WHERE refs = 0"), [["0"]]);
    append(&system(to.clone()), "next").unwrap();
    assert_eq!(block_on(to.verify()).unwrap(), [""; 0]);
}

#[test]
fn what_was_begun_goes_when_the_session_is_removed() {
    let (from, url) = (source(), database());
    let (to, session) = (open(&url), session_id());
    block_on(async {
        let part = ImportPart::Segments(Vec::new());
        let refused = to.import(&session, part).await.unwrap_err();
        assert!(matches!(refused, StorageError::SessionMissing { .. }), "{refused}");
        for part in parts(&*from, &session).await.into_iter().take(8) {
            to.import(&session, part).await.unwrap();
        }
        assert!(!to.remove_session(&session).await.unwrap(), "it was never there");
    });
    for table in ["sessions", "pages", "contents", "history", "segments", "directories"] {
        assert_eq!(
            sql(&url, &format!("SELECT count(*) FROM contexture_{table}")),
            [["0"]],
            "{table}"
        );
    }
}

// Removing takes everything of a session and nothing of others.
#[test]
fn removing_leaves_no_row() {
    let url = database();
    let storage = open(&url);
    let made = block_on(fixture::session(storage.clone()));
    append(&made, "one").unwrap();
    assert!(block_on(storage.remove_session(&session_id())).unwrap());
    for table in ["sessions", "pages", "contents", "history", "segments", "directories", "views"] {
        assert_eq!(
            sql(&url, &format!("SELECT count(*) FROM contexture_{table}")),
            [["0"]],
            "{table}"
        );
    }
}
