//! The engine: each session opened once, one budget of memory for all.

use std::sync::Arc;

use contexture_core::{
    Edit, Engine, EngineSettings, ErrorKind, Format, MemoryStorage, NewSegment, PageStorage,
    Principal, SegmentKind, SessionId, storage::SystemSettings,
};
use contexture_testkit::{
    fake::WatchedStorage,
    fixture::{TickingClock, leaf, new_leaf, page, user, valid},
    window::options,
};
use futures::{executor::block_on, future::join_all};

fn engine(storage: Arc<dyn PageStorage>, memory: usize) -> Engine {
    let settings = EngineSettings { session: SystemSettings::default(), memory };
    Engine::with(storage, TickingClock::new(), settings)
}

fn usr() -> Edit {
    Edit::AddSegment(NewSegment::new(valid("usr"), SegmentKind::User))
}

fn name(number: usize) -> SessionId {
    valid(&format!("session-{number}"))
}

#[test]
fn a_session_is_opened_once_however_many_want_it() {
    block_on(async {
        let storage = WatchedStorage::new(Arc::new(MemoryStorage::new()));
        let engine = engine(storage.clone(), usize::MAX);
        engine.create(&name(1), "app", &usr()).await.unwrap();
        engine.close(&name(1));
        storage.reset();
        let release = storage.hold_next_read("session");
        let id = name(1);
        let opened = join_all((0..8).map(|_| engine.open(&id)));
        let (opened, ()) = futures::join!(opened, async {
            release.send(()).unwrap();
        });
        let opened: Vec<_> = opened.into_iter().map(Result::unwrap).collect();
        assert_eq!(storage.calls("session"), 1);
        // What one commits is seen by all, without a look at the storage.
        leaf(&opened[0], "usr-0", "page").await;
        storage.reset();
        let seen = opened[7].as_system().reader().page(&page("usr-1")).await.unwrap();
        assert_eq!(seen.page.name.as_str(), "page");
        assert_eq!(storage.calls("pages"), 0);
        assert_eq!(engine.usage().sessions, 1);
    });
}

#[test]
fn a_session_that_is_not_there_leaves_nothing_behind() {
    block_on(async {
        let engine = engine(Arc::new(MemoryStorage::new()), usize::MAX);
        let missing = engine.open(&name(1)).await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        assert_eq!(engine.usage().sessions, 0);
        engine.create(&name(1), "app", &usr()).await.unwrap();
        assert_eq!(engine.usage().sessions, 1);
    });
}

#[test]
fn a_session_that_was_removed_and_made_again_is_another() {
    block_on(async {
        let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
        let engine = engine(storage.clone(), usize::MAX);
        let first = engine.create(&name(1), "app", &usr()).await.unwrap();
        leaf(&first, "usr-0", "old").await;
        assert!(engine.remove(&name(1)).await.unwrap());
        assert_eq!(engine.open(&name(1)).await.unwrap_err().kind(), ErrorKind::NotFound);
        let again = engine.create(&name(1), "app", &usr()).await.unwrap();
        assert!(!again.as_system().reader().has_page(&page("usr-1")).await.unwrap());
        // Removed by somebody else: once that is noticed, nobody is given what was open.
        storage.remove_session(&name(1)).await.unwrap();
        again.refresh().await.unwrap_err();
        assert_eq!(engine.open(&name(1)).await.unwrap_err().kind(), ErrorKind::NotFound);
    });
}

/// Fills sessions with texts of ten kilobytes and renders a window of each.
async fn use_sessions(engine: &Engine, sessions: usize, held: &Principal) {
    for number in 0..sessions {
        let session = engine.session(&name(number), held.clone()).await.unwrap();
        let window = session.window(&options(Format::Markdown)).await.unwrap();
        assert!(window.body.contains(&format!("text of {number}")), "{number}");
    }
}

#[test]
fn sessions_share_one_budget_of_memory() {
    const SESSIONS: usize = 24;
    const MEMORY: usize = 1 << 20;
    block_on(async {
        let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
        let engine = engine(storage, MEMORY);
        for number in 0..SESSIONS {
            let system = engine.create(&name(number), "app", &usr()).await.unwrap();
            let text = format!("text of {number}: {}", "words and more ".repeat(700));
            for _ in 0..4 {
                system.as_system().add_turn(vec![user(&text)]).await.unwrap();
            }
        }
        use_sessions(&engine, SESSIONS, &Principal::System).await;
        let usage = engine.usage();
        assert!(usage.bytes <= MEMORY, "{usage:?}");
        // The last ones stay, those used longest ago are closed.
        assert!((1..SESSIONS).contains(&usage.sessions), "{usage:?}");
        // A session that somebody holds stays open, and answers as before.
        let held = engine.open(&name(0)).await.unwrap();
        use_sessions(&engine, SESSIONS, &Principal::System).await;
        assert!(engine.usage().bytes <= MEMORY, "{:?}", engine.usage());
        held.as_system().apply(new_leaf("usr-0", "late")).await.unwrap();
        let same = engine.open(&name(0)).await.unwrap();
        assert!(same.as_system().reader().has_page(&page("usr-5")).await.unwrap());
        // What is dropped counts no longer.
        drop((held, same));
        (0..SESSIONS).for_each(|number| engine.close(&name(number)));
        assert_eq!((engine.usage().bytes, engine.usage().sessions), (0, 0));
    });
}
