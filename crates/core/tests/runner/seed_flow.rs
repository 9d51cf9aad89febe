//! The seed's own walk-throughs and vectors.

use std::sync::Arc;

use async_trait::async_trait;
use contexture_core::{
    AgentContext, ContextSystem, Edit, Engine, ErrorKind, Finder, MemoryStorage, Mounts,
    NewDetailPage, NewSegment, Operation, PageIndex, PageView, Permission, Principal, Result,
    SegmentKind, SegmentUpdate, Session, View, Visibility,
};
use contexture_testkit::fixture::{
    TickingClock, agent, apply, leaf, memory, page, segment, session_id, valid,
};
use futures::executor::block_on;

// B-58, B-14, B-16, B-18, B-19, B-25, A-03, P-07, P-14: segment, root, child,
// proxy, end to end; the root is
// made with its segment and stands expanded.
#[test]
fn the_documented_set_up_works() {
    block_on(async {
        let (storage, clock) = (Arc::new(MemoryStorage::new()), TickingClock::new());
        let system = ContextSystem::create(storage, session_id(), "app", clock).await.unwrap();
        assert_eq!(system.as_system().reader().segments().len(), 0);
        let mut sys =
            NewSegment::new(segment("sys"), SegmentKind::System).permission(Permission::ReadOnly);
        sys.name = Some(valid("System"));
        sys.description = valid("System context");
        let added = apply(&system, Edit::AddSegment(sys.clone())).await;
        // The caller's own copy is its own.
        sys.permission = Permission::SystemManaged;
        assert_eq!(added.pages, [page("sys-0")]);
        let root = system.as_system().reader().page(&page("sys-0")).await.unwrap();
        assert!(root.page.is_contents() && root.page.parent.is_none());
        assert_eq!(root.visibility, Visibility::Expanded);
        let mut prompt = NewDetailPage::new(page("sys-0"), valid("System Prompt"), "You are...");
        prompt.description = valid("Main prompt");
        let made = apply(&system, Edit::CreateDetailPage(prompt)).await;
        assert_eq!(made.pages, [page("sys-1")]);
        let usr = NewSegment::new(segment("usr"), SegmentKind::User);
        apply(&system, Edit::AddSegment(usr)).await;
        let before = system.now();
        let agent = AgentContext::new(system.clone(), View::common(valid("helper")));
        assert_eq!(agent.view().agent, valid("helper"));
        assert!(before < agent.created_at() && agent.created_at() < system.now());
        let children = agent.get_children("sys-0").await.unwrap();
        assert_eq!(children.len(), 1);
        assert_eq!(children[0].page.name.as_str(), "System Prompt");
        let text = agent.get_messages("sys-1").await.unwrap();
        assert_eq!(contexture_core::message::detail_text(&text), "You are...");
        assert_eq!(agent.get_segment(&segment("sys")).unwrap().permission, Permission::ReadOnly);
        let updated = agent.updated_at().await.unwrap();
        leaf(&system, "usr-0", "note").await;
        assert!(agent.updated_at().await.unwrap() > updated);
    });
}

// B-21, P-19: what is read is a copy; changing it changes nothing.
#[test]
fn reads_are_copies() {
    block_on(async {
        let system = memory().await;
        leaf(&system, "usr-0", "note").await;
        let agent = agent(&system, "helper");
        let mut copy = agent.get_segment(&segment("usr")).unwrap();
        copy.permission = Permission::ReadOnly;
        copy.name = valid("mine");
        let mut list = agent.list_segments().unwrap();
        list[0].permission = Permission::SystemManaged;
        list.reverse();
        let ids: Vec<String> =
            agent.list_segments().unwrap().iter().map(|segment| segment.id.to_string()).collect();
        assert_eq!(ids, ["sys", "usr"]);
        let segment_now = agent.get_segment(&segment("usr")).unwrap();
        assert_eq!(
            (segment_now.permission, segment_now.name.as_str()),
            (Permission::ReadWrite, "usr")
        );
        let mut page = (*agent.get_page("usr-1").await.unwrap().page).clone();
        page.name = valid("mine");
        assert_eq!(agent.get_page("usr-1").await.unwrap().page.name.as_str(), "note");
        let mut children = agent.get_children("usr-0").await.unwrap();
        children.clear();
        assert_eq!(agent.get_children("usr-0").await.unwrap().len(), 1);
    });
}

// B-23: segments change through updateSegment and setPermission only, and keep what is not given.
#[test]
fn segments_are_updated() {
    block_on(async {
        let system = memory().await;
        let update =
            SegmentUpdate { name: Some(valid("Talk")), ..SegmentUpdate::of(segment("usr")) };
        apply(&system, Edit::UpdateSegment(update)).await;
        let set = Edit::SetPermission { segment: segment("usr"), permission: Permission::ReadOnly };
        apply(&system, set).await;
        let usr = system.as_system().reader().segment(&segment("usr")).unwrap();
        assert_eq!((usr.name.as_str(), usr.permission), ("Talk", Permission::ReadOnly));
        assert_eq!(usr.kind, SegmentKind::User);
        let nothing = Edit::UpdateSegment(SegmentUpdate::of(segment("usr")));
        assert_eq!(system.as_system().apply(nothing).await.unwrap_err().kind(), ErrorKind::Invalid);
        let missing = SegmentUpdate { name: Some(valid("x")), ..SegmentUpdate::of(segment("nil")) };
        let error = system.as_system().apply(Edit::UpdateSegment(missing)).await.unwrap_err();
        assert_eq!(error.to_string(), "segment nil not found");
    });
}

// A-28, B-48: found by name, description and text whatever the case, in any script, resident or not. An engine
// that was given a finder asks it.
#[test]
fn find_matches_names_descriptions_and_messages() {
    block_on(async {
        let system = memory().await;
        let agent = agent(&system, "helper");
        agent
            .create_detail_page("Goroutine原理", "Explains the SCHEDULER", "x", "usr-0")
            .await
            .unwrap();
        agent.create_detail_page("other", "über", "scheduler", "usr-0").await.unwrap();
        system.evict_all();
        let found = |text: &'static str| {
            let agent = &agent;
            async move {
                let found = agent.find_page(text, 10).await.unwrap();
                found.iter().map(|page| page.page.index.to_string()).collect::<Vec<_>>()
            }
        };
        assert_eq!(found("scheduler").await, ["usr-1", "usr-2"]);
        assert_eq!(found("原理").await, ["usr-1"]);
        assert_eq!(found("ÜBER").await, ["usr-2"]);
        assert_eq!(found("nowhere").await, [""; 0]);
        assert_eq!(agent.find_page("e", 1).await.unwrap().len(), 1);
    });
}

/// Answers each search with the same pages, whatever is asked.
#[derive(Debug)]
struct Answers(Vec<PageIndex>);

#[async_trait]
impl Finder for Answers {
    async fn find(&self, _: &Session, _: &str, limit: usize) -> Result<Vec<PageIndex>> {
        Ok(self.0.iter().take(limit).cloned().collect())
    }
}

// What a finder answers is looked at through the view, and pages that have gone since are left out.
#[test]
fn an_engines_finder_finds_for_all_its_sessions() {
    block_on(async {
        let storage = Arc::new(MemoryStorage::new());
        let answers = ["usr-2", "free-1", "usr-9", "usr-1"].map(page).to_vec();
        let engine =
            Engine::new(storage, TickingClock::new()).finding_with(Arc::new(Answers(answers)));
        let new = |id: &str| Edit::AddSegment(NewSegment::new(segment(id), SegmentKind::User));
        let mut edits = vec![new("usr"), new("free")];
        for parent in ["usr-0", "usr-0", "free-0"] {
            edits.push(Edit::CreateDetailPage(NewDetailPage::new(
                page(parent),
                valid("Page"),
                "x",
            )));
        }
        engine.create(&session_id(), "app", &Edit::Batch(edits)).await.unwrap();
        let host = engine.session(&session_id(), Principal::System).await.unwrap();
        let mut view = View::common(valid("helper"));
        view.mounts = Mounts::Listed(vec![segment("usr")]);
        let agent = engine.session(&session_id(), view.into()).await.unwrap();
        let found = |pages: Vec<PageView>| {
            pages.iter().map(|page| page.page.index.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found(host.find_page("x", 9).await.unwrap()), ["usr-2", "free-1", "usr-1"]);
        assert_eq!(found(agent.find_page("x", 9).await.unwrap()), ["usr-2", "usr-1"]);
        let system = engine.open(&session_id()).await.unwrap();
        assert_eq!(found(system.find_page("x", 1).await.unwrap()), ["usr-2"]);
        let snapshot = system.snapshot().await.unwrap();
        assert_eq!(found(snapshot.find_page("x", 9).await.unwrap()), ["usr-2", "free-1", "usr-1"]);
    });
}

// B-56: one check for every operation, by name, and it lets nothing unknown
// through.
#[test]
fn one_check_for_all() {
    block_on(async {
        let system = memory().await;
        leaf(&system, "sys-0", "Prompt").await;
        let agent = agent(&system, "helper");
        let denied = [
            Operation::UpdatePage,
            Operation::MovePage,
            Operation::RemovePage,
            Operation::HideDetails,
            Operation::CreatePage,
            Operation::ArchivePage,
            Operation::RestorePage,
            Operation::PurgePage,
            Operation::AddTurn,
            Operation::Batch,
            Operation::SetCustom,
        ];
        for operation in Operation::ALL {
            let level = operation.required_level();
            let reads = level == contexture_core::AccessLevel::Read;
            let answer = agent.check_permission("sys-1", *operation).await;
            assert_eq!(answer.is_ok(), reads, "{operation}");
            assert!(!(reads && denied.contains(operation)), "{operation}");
        }
        let missing = agent.check_permission("sys-7", Operation::GetPage).await.unwrap_err();
        assert_eq!(missing.to_string(), "page sys-7 not found");
    });
}
