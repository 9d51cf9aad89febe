use std::sync::Arc;

use contexture_core::{Actor, ManualClock, MemoryStorage};
use futures::executor::block_on;

use super::*;

fn engine() -> Engine {
    let clock = ManualClock::at_millis(1_760_000_000_000);
    Engine::new(Arc::new(MemoryStorage::new()), Arc::new(clock))
}

async fn prompt_of(system: &ContextSystem) -> String {
    find_prompt(&system.as_system()).await.unwrap().unwrap().1
}

#[test]
fn a_session_is_made_once_and_its_prompt_can_be_changed() {
    block_on(async {
        let (engine, session) = (engine(), "demo".parse().unwrap());
        let by = || Principal::User("ada".parse().unwrap());
        let first = prepare(&engine, &session, by(), Some("Be careful.")).await.unwrap();
        assert!(first.created);
        assert_eq!(prompt_of(&first.system).await, "Be careful.");

        let before = first.system.info().await.unwrap().revision;
        let again = prepare(&engine, &session, by(), Some("Be careful.")).await.unwrap();
        assert!(!again.created);
        let after = again.system.info().await.unwrap().revision;
        assert_eq!(after, before, "nothing was added");

        let changed = prepare(&engine, &session, by(), Some("Be brief.")).await.unwrap();
        assert_eq!(prompt_of(&changed.system).await, "Be brief.");
        let history = changed.system.as_system().history(None, 1).await.unwrap();
        assert_eq!(history.items[0].actor, Actor::User("ada".parse().unwrap()));
    });
}

#[test]
fn a_session_that_exists_is_opened_as_it_is() {
    block_on(async {
        let (engine, session) = (engine(), "bare".parse().unwrap());
        let usr = NewSegment::new("usr".parse().unwrap(), SegmentKind::User);
        engine.create(&session, APP, &Edit::AddSegment(usr)).await.unwrap();
        let opened = open_or_create(&engine, &session).await.unwrap();
        assert_eq!(opened.system.as_system().reader().segments().len(), 1, "nothing was added");

        let made = open_or_create(&engine, &"new".parse().unwrap()).await.unwrap();
        assert_eq!(made.system.as_system().reader().segments().len(), 2);
    });
}
