use std::sync::Arc;

use contexture_core::{
    Actor, ContextSystem, Engine, ErrorKind, ManualClock, MemoryStorage, Principal, View,
};
use futures::executor::block_on;

use super::*;
use crate::setup;

const TALK: &str = r#"[
    {"role":"system","content":"Be careful."},
    {"role":"user","content":"Hello"},
    {"role":"assistant","content":"Hi"}
]"#;

async fn made() -> ContextSystem {
    let clock = ManualClock::at_millis(1_760_000_000_000);
    let engine = Engine::new(Arc::new(MemoryStorage::new()), Arc::new(clock));
    setup::open_or_create(&engine, &"demo".parse().unwrap()).await.unwrap().system
}

fn ada() -> Principal {
    Principal::User("ada".parse().unwrap())
}

fn options() -> ImportOptions {
    ImportOptions { segment: "usr".parse().unwrap(), take_prompt: false, finish: false }
}

async fn imported(session: &Session, text: &str) -> Result<(Imported, Vec<Progress>)> {
    let mut steps = Vec::new();
    let source = Source::read(text.as_bytes(), Vec::new(), None)?;
    let done = import(session, source, &options(), &mut |step| steps.push(step)).await?;
    Ok((done, steps))
}

#[test]
fn an_import_is_one_edit_of_the_user_who_makes_it() {
    block_on(async {
        let system = made().await;
        let session = system.held_by(ada());
        let (done, steps) = imported(&session, TALK).await.unwrap();
        assert_eq!(steps, [Progress { done: 2, all: 2 }]);
        assert_eq!((done.object.imported.exchanges, done.unit), (2, Unit::Message));
        let kept = done.object.imported.prompt.unwrap();
        assert_eq!(kept.r#as, crate::wire::KeptAs::Quoted, "a transcript binds nobody");
        let history = session.history(None, 10).await.unwrap().items;
        assert_eq!(history.len(), 2, "init and import");
        assert_eq!(history[0].actor, Actor::User("ada".parse().unwrap()));

        // A grown transcript adds what is new, and one undo takes one import back.
        let grown = TALK.replace("\"Hi\"}", "\"Hi\"},{\"role\":\"user\",\"content\":\"More\"}");
        let (more, _) = imported(&session, &grown).await.unwrap();
        assert_eq!((more.object.imported.skipped, more.object.imported.exchanges), (2, 1));
        session.undo(None).await.unwrap();
        let (again, _) = imported(&session, &grown).await.unwrap();
        assert_eq!(again.object.imported.exchanges, 1, "the record was taken back with it");
    });
}

#[test]
fn a_turn_is_continued_by_its_author_only() {
    block_on(async {
        let system = made().await;
        imported(&system.as_system(), TALK).await.unwrap();
        let reply = "\"Hi\"},{\"role\":\"assistant\",\"content\":\"Anything else?\"}";
        let grown = TALK.replace("\"Hi\"}", reply);
        // The system side wrote the turn, so the user's import begins one of its own.
        let ada = system.held_by(ada());
        let (more, _) = imported(&ada, &grown).await.unwrap();
        assert_eq!((more.object.imported.skipped, more.object.imported.exchanges), (2, 1));
        let page = ada.get_page(&more.object.pages[0]).await.unwrap().page;
        assert_eq!(page.author, Actor::User("ada".parse().unwrap()));
        assert_eq!(page.turn, Some(page.index.clone()));
    });
}

#[test]
fn what_cannot_be_imported_says_why() {
    block_on(async {
        let system = made().await;
        let mut elsewhere = options();
        elsewhere.segment = "notes".parse().unwrap();
        let source = Source::read(TALK.as_bytes(), Vec::new(), None).unwrap();
        let error = import(&system.as_system(), source, &elsewhere, &mut |_| {}).await.unwrap_err();
        assert!(matches!(error, ImportError::Core(_)) && error.kind() == ErrorKind::NotFound);

        let agent = system.held_by(View::common("helper".parse().unwrap()).into());
        let error = imported(&agent, TALK).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "agents do not read the records");
    });
}
