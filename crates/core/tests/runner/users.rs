//! Users: people on the system side whose names stand in the history.

use contexture_core::{
    Actor, ContextSystem, Edit, ErrorKind, Message, Principal, Role, Session, storage::ViewId,
};
use contexture_testkit::fixture::{agent, leaf, memory, valid};
use futures::executor::block_on;

fn user(system: &ContextSystem, name: &str) -> Session {
    system.held_by(Principal::User(valid(name)))
}

#[test]
fn histories_name_users() {
    block_on(async {
        let system = memory().await;
        let anna = user(&system, "anna@example.org");
        let index = anna.create_detail_page("Plan", "", "first", "usr-0").await.unwrap();
        anna.add_turn(vec![Message::text(Role::User, "hello")]).await.unwrap();
        let entries = anna.history(None, 2).await.unwrap().items;
        for entry in &entries {
            assert_eq!(entry.actor.to_string(), "user:anna@example.org");
            assert_eq!(entry.view, ViewId::SYSTEM);
        }
        assert_eq!(entries.len(), 2);
        assert_eq!(anna.get_page(&index).await.unwrap().page.author, anna.principal().actor());
        assert_eq!("user:anna@example.org".parse::<Actor>().unwrap(), anna.principal().actor());
        assert!("user:".parse::<Actor>().is_err() && "user:a b".parse::<Actor>().is_err());
    });
}

#[test]
fn a_user_undoes_its_own_edits_and_others_by_name() {
    block_on(async {
        let system = memory().await;
        let (anna, ben) = (user(&system, "anna"), user(&system, "ben"));
        let index = leaf(&system, "usr-0", "page").await;
        anna.update_page(&index, "by anna", "").await.unwrap();
        let renamed = ben.update_page(&index, "by ben", "").await.unwrap();
        let name =
            async || system.as_system().reader().page(&index).await.unwrap().page.name.to_string();
        // Anna's own edit lies under Ben's, so it cannot be taken back before his.
        assert_eq!(anna.undo(None).await.unwrap_err().kind(), ErrorKind::Conflict);
        anna.undo(Some(renamed.revision)).await.unwrap();
        assert_eq!(name().await, "by anna");
        anna.undo(None).await.unwrap();
        assert_eq!(name().await, "page");
        assert_eq!(ben.undo(None).await.unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn users_act_for_the_system_side() {
    block_on(async {
        let system = memory().await;
        let (anna, bot) = (user(&system, "anna"), agent(&system, "bot"));
        // What a user hides is hidden by default, for all.
        let index = leaf(&system, "usr-0", "page").await;
        anna.hide_details(&index).await.unwrap();
        let seen = bot.get_page(&index).await.unwrap();
        assert_eq!(seen.visibility, contexture_core::Visibility::Hidden);
        // Nothing is checked, and agents see it in their history as they see the system side's edits.
        leaf(&system, "sys-0", "Prompt").await;
        anna.update_page("sys-1", "Ours", "").await.unwrap();
        assert!(bot.update_page("sys-1", "Mine", "").await.is_err());
        let seen = bot.history(None, 1).await.unwrap().items;
        assert_eq!(seen[0].actor, Actor::User(valid("anna")));
        let revision = Some(seen[0].revision);
        let refused = bot.apply(Edit::Undo { revision }).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        // What the system side wrote and a user changed is still the system side's.
        let page = anna.get_page("sys-1").await.unwrap().page;
        assert_eq!((&page.author, &page.rewritten_by), (&Actor::System, &None));
    });
}
