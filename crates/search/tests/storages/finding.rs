//! What is found after each kind of edit, and by whom.

use contexture_core::{
    AgentContext, Edit, Format, Mounts, NewSegment, PageUpdate, Permission, SegmentKind, Session,
    Tokens, View, message::MessageFilter, storage::BranchParent,
};
use contexture_search::{FindQuery, RecallQuery};
use contexture_testkit::{
    fixture::{calls, returned, segment, user, valid},
    window::options,
};
use futures::executor::block_on;

use crate::{World, begin, found, say};

pub(crate) fn finds_what_edits_leave(world: &World) {
    let (storage, index) = world.open();
    block_on(async {
        let system = begin(&storage).await;
        let session = system.as_system();
        let found = async |text: &str| found(&index, &session, text).await;
        let none = [""; 0];
        for flushed in [false, true] {
            let page = say(&system, "usr", "the zanzibarite lantern").await;
            let name = page.to_string();
            assert_eq!(found("zanzibarite").await, [name.as_str()], "appended");
            if flushed {
                index.flush().await.unwrap();
            }
            let detail = Some("the quetzalcoatlus lantern".to_owned());
            let new_name = Some(valid("Renamed"));
            let update = PageUpdate { name: new_name, detail, ..PageUpdate::of(page.clone()) };
            session.apply(Edit::UpdatePage(update)).await.unwrap();
            assert_eq!(found("zanzibarite").await, none, "updated");
            assert_eq!(found("quetzalcoatlus").await, [name.as_str()], "updated");
            session.apply(Edit::HideDetails(page.clone())).await.unwrap();
            assert_eq!(found("quetzalcoatlus").await, [name.as_str()], "hidden");
            session.apply(Edit::ArchivePage(page.clone())).await.unwrap();
            assert_eq!(found("quetzalcoatlus").await, [name.as_str()], "archived");
            session.apply(Edit::RestorePage { page: page.clone(), to: None }).await.unwrap();
            assert_eq!(found("quetzalcoatlus").await, [name.as_str()], "restored");
            session.apply(Edit::RemovePage(page.clone())).await.unwrap();
            assert_eq!(found("quetzalcoatlus").await, [format!("{name}*")], "removed");
            if flushed {
                index.flush().await.unwrap();
                assert_eq!(found("quetzalcoatlus").await, [format!("{name}*")], "removed");
            }
            let recall = RecallQuery {
                find: FindQuery { archived: Some(true), ..FindQuery::new("quetzalcoatlus") },
                budget: Tokens(1_000),
                ..RecallQuery::default()
            };
            let plan = index.recall(&session, &recall, &options(Format::Markdown)).await.unwrap();
            session.apply(plan.edit().unwrap()).await.unwrap();
            assert_eq!(found("quetzalcoatlus").await, [name.as_str()], "recalled");
            let moved = Edit::MovePage { page: page.clone(), to: "free-0".parse().unwrap() };
            let moved = session.apply(moved).await.unwrap().moved.remove(0).1;
            assert_eq!(found("quetzalcoatlus").await, [moved.to_string()], "moved");
            session.apply(Edit::PurgePage(moved)).await.unwrap();
            assert_eq!(found("quetzalcoatlus").await, none, "purged");
        }
        // What a fold closes is found as before.
        let first = say(&system, "usr", &format!("xylophone {}", "granite ".repeat(500))).await;
        for _ in 0..20 {
            say(&system, "usr", &"willow ".repeat(500)).await;
        }
        let folded = session.fold(&options(Format::Markdown).budget(4_000)).await.unwrap();
        assert!(folded.is_some(), "a fold was due");
        assert_eq!(found("xylophone").await, [first.to_string()], "folded");
    });
}

pub(crate) fn undo_brings_words_back(world: &World) {
    let (storage, index) = world.open();
    block_on(async {
        let system = begin(&storage).await;
        let session = system.as_system();
        let found = async |text: &str| found(&index, &session, text).await;
        let page = say(&system, "usr", "the zanzibarite lantern").await;
        assert_eq!(found("zanzibarite").await, [page.to_string()]);
        index.flush().await.unwrap();
        let detail = Some("nothing".to_owned());
        let new_name = Some(valid("Renamed"));
        let update = PageUpdate { name: new_name, detail, ..PageUpdate::of(page.clone()) };
        let update = Edit::UpdatePage(update);
        for edit in [update, Edit::RemovePage(page.clone())] {
            session.apply(edit).await.unwrap();
            assert_ne!(found("zanzibarite").await, [page.to_string()]);
            session.apply(Edit::Undo { revision: None }).await.unwrap();
            assert_eq!(found("zanzibarite").await, [page.to_string()]);
        }
        let other = say(&system, "usr", "the quetzalcoatlus lantern").await;
        assert_eq!(found("quetzalcoatlus").await, [other.to_string()]);
        session.apply(Edit::Undo { revision: None }).await.unwrap();
        assert!(!found("quetzalcoatlus").await.contains(&other.to_string()));
    });
}

pub(crate) fn agents_find_within_their_view(world: &World) {
    let (storage, index) = world.open();
    block_on(async {
        let system = begin(&storage).await;
        let host = system.as_system();
        let usr = say(&system, "usr", "the copper lantern").await;
        let free = say(&system, "free", "the copper harbour").await;
        let removed = say(&system, "usr", "the copper orchard").await;
        let gone = say(&system, "free", "the copper meadow").await;
        let tools = vec![user("look"), calls("c1", "{}"), returned("c1", "copper in a result")];
        let tools = Edit::AddTurn { segment: segment("usr"), messages: tools };
        let tools = host.apply(tools).await.unwrap().pages.remove(0);
        for page in [&removed, &gone] {
            host.apply(Edit::RemovePage(page.clone())).await.unwrap();
        }
        let mut view = View::common(valid("reader"));
        view.mounts = Mounts::Listed(vec![segment("usr")]);
        let open: Session = system.held_by(view.clone().into());
        view.filter.speech = MessageFilter::WithoutTools;
        let without_tools: Session = system.held_by(view.clone().into());
        view.filter.without = [usr.clone(), removed.clone()].into();
        let without_pages: Session = system.held_by(view.into());
        for flushed in [false, true] {
            if flushed {
                index.flush().await.unwrap();
            }
            let sorted = async |session: &Session| {
                let mut pages = found(&index, session, "copper").await;
                pages.sort();
                pages
            };
            let archived = format!("{removed}*");
            let all = [free.to_string(), format!("{gone}*"), usr.to_string(), archived.clone()];
            assert_eq!(sorted(&host).await, [&all[..], &[tools.to_string()]].concat());
            let seen = [usr.to_string(), archived.clone(), tools.to_string()];
            assert_eq!(sorted(&open).await, seen);
            assert_eq!(sorted(&without_tools).await, seen[..2]);
            assert_eq!(sorted(&without_pages).await, [""; 0]);
        }
        // Finding in the archive is reading; restoring needs write permission.
        let permission = Permission::ReadOnly;
        host.apply(Edit::SetPermission { segment: segment("usr"), permission }).await.unwrap();
        let restore = Edit::RestorePage { page: removed.clone(), to: None };
        assert!(open.apply(restore.clone()).await.is_err());
        let archive = FindQuery { archived: Some(true), ..FindQuery::new("copper") };
        let hits = index.find(&open, &archive).await.unwrap();
        assert!(hits.len() == 1 && *hits[0].index() == removed);
        let permission = Permission::ReadWrite;
        host.apply(Edit::SetPermission { segment: segment("usr"), permission }).await.unwrap();
        open.apply(restore).await.unwrap();
        assert!(index.find(&open, &archive).await.unwrap().is_empty());
    });
}

pub(crate) fn a_fork_finds_what_it_inherited(world: &World) {
    let (storage, index) = world.open();
    block_on(async {
        let system = begin(&storage).await;
        let host = system.as_system();
        let changed = say(&system, "usr", "the copper lantern").await;
        let removed = say(&system, "usr", "the granite lantern").await;
        let add = Edit::AddSegment(NewSegment::new(segment("fork"), SegmentKind::Custom));
        host.apply(add).await.unwrap();
        let parent = BranchParent::Session(host.principal());
        let branch = system.branch(parent, &valid("fixer"), 1, &segment("fork")).await.unwrap();
        let opened = system.open_branch(&branch).await.unwrap();
        let fork = AgentContext::new(opened, branch.view);
        for flushed in [false, true] {
            let detail = Some("the meadow".to_owned());
            let update = PageUpdate { detail, ..PageUpdate::of(changed.clone()) };
            host.apply(Edit::UpdatePage(update)).await.unwrap();
            // It is gone the second time.
            let _ = host.apply(Edit::RemovePage(removed.clone())).await;
            say(&system, "usr", "the orchard").await;
            let messages = vec![user("the thunder")];
            fork.apply(Edit::AddTurn { segment: segment("fork"), messages }).await.unwrap();
            if flushed {
                index.catch_up(host.id()).await.unwrap();
                index.flush().await.unwrap();
            }
            let found = async |session: &Session, text| found(&index, session, text).await;
            assert_eq!(found(&fork, "copper").await, [changed.to_string()]);
            assert_eq!(found(&fork, "granite").await, [removed.to_string()]);
            assert_eq!(found(&fork, "meadow").await, [""; 0]);
            assert_eq!(found(&fork, "orchard").await, [""; 0]);
            assert!(!found(&fork, "thunder").await.is_empty());
            assert_eq!(found(&host, "meadow").await, [changed.to_string()]);
            assert_eq!(found(&host, "granite").await, [format!("{removed}*")]);
        }
    });
}
