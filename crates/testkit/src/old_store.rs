//! What a store of an earlier program must hold when it is opened now.
//!
//! Such stores lie in `crates/storage/tests/fixtures`, one folder for each change of what is stored, each
//! with the same session on every storage.

use std::sync::Arc;

use contexture_core::{
    ContextSystem, Edit, Format, PageStorage, Principal, ProviderFormat, Revision, SessionId,
    storage::check::check_session,
};

use crate::fixture::{TickingClock, page, valid};

/// Checks the store of `before_users`: what it held is there, can be taken back, and what came with users
/// can be written beside it.
pub async fn check_before_users(storage: Arc<dyn PageStorage>) {
    let name: SessionId = valid("default");
    let sound = async || {
        let problems = check_session(&*storage, &name).await.expect("it can be checked");
        assert_eq!(problems, [""; 0]);
        assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
    };
    sound().await;
    let clock = TickingClock::new();
    let opened = ContextSystem::open(storage.clone(), name.clone(), clock).await;
    let system = opened.expect("it can be opened");
    let session = system.as_system();
    let entries = session.history(None, 100).await.expect("it can be read").items;
    let entries: Vec<String> = entries
        .iter()
        .map(|entry| format!("{} {} {:?}", entry.revision, entry.actor, entry.operation))
        .collect();
    assert_eq!(
        entries,
        [
            "15 system SetCustom",
            "14 system PurgePage",
            "13 system CreateDetailPage",
            "12 system RemovePage",
            "11 system Undo",
            "10 system ExpandDetails",
            "9 system FoldPages",
            "8 system UpdatePage",
            "7 fixer PinPage",
            "6 fixer HideDetails",
            "5 system Import",
            "4 fixer CreateContentsPage",
            "3 fixer CreateDetailPage",
            "2 fixer AddTurn",
            "1 system Init",
        ]
    );
    assert_eq!(session.get_detail("usr-2").await.expect("it is there"), "1. unmock 2. rerun");
    assert_eq!(session.get_detail("usr-9").await.expect("it is there").matches("60").count(), 2);
    let sent = session.ledger(Format::Provider(ProviderFormat::Anthropic), 10).await;
    assert_eq!(sent.expect("it can be read").len(), 1);
    // What was done then can be taken back now, by a person who is named.
    let anna = system.held_by(Principal::User(valid("anna")));
    anna.undo(Some(Revision(12))).await.expect("the removal is undone");
    assert!(session.reader().has_page(&page("usr-5")).await.expect("it can be read"));
    anna.apply(Edit::Undo { revision: Some(Revision(9)) }).await.expect("the fold is undone");
    let newest = session.history(None, 1).await.expect("it can be read").items;
    assert_eq!(newest[0].actor.to_string(), "user:anna");
    sound().await;
}
