//! The flows of the source documents, in their order and with their texts, and the documents' names.

use contexture_core::{
    AgentContext, ContextSystem, Edit, ErrorKind, Lifecycle, NewContentsPage, NewDetailPage,
    NewSegment, PageIndex, Permission, SegmentKind, View, Visibility, document::LoadPage,
};
use contexture_testkit::fixture::{
    TickingClock, agent, apply, assistant, directory, leaf, memory, page, segment, user, valid,
};
use futures::executor::block_on;

fn new_segment(id: &str, name: &str, description: &str, kind: SegmentKind) -> NewSegment {
    let mut new = NewSegment::new(segment(id), kind);
    (new.name, new.description) = (Some(valid(name)), valid(description));
    new
}

// 000, the typical flow., B-14.
#[test]
fn the_typical_flow_of_the_proxy() {
    block_on(async {
        // 1, 2: a context system with two segments.
        let context_system = ContextSystem::in_memory(TickingClock::new()).await.unwrap();
        let sys_seg = new_segment("sys", "System", "System context", SegmentKind::System)
            .permission(Permission::ReadOnly);
        context_system.add_segment(sys_seg).await.unwrap();
        let usr_seg = new_segment("usr", "User", "User context", SegmentKind::User)
            .permission(Permission::ReadWrite);
        context_system.add_segment(usr_seg).await.unwrap();
        // The pages the flow speaks of.
        leaf(&context_system, "sys-0", "System Prompt").await;
        leaf(&context_system, "usr-0", "Chat 1").await;
        // 3, 4: an agent works through its proxy.
        let agent_ctx = AgentContext::new(context_system.clone(), View::common(valid("helper")));
        let segments = agent_ctx.list_segments().unwrap();
        let ids: Vec<&str> = segments.iter().map(|segment| segment.id.as_str()).collect();
        assert_eq!(ids, ["sys", "usr"]);
        agent_ctx.update_page("usr-1", "新名称", "新描述").await.unwrap();
        let updated = agent_ctx.get_page("usr-1").await.unwrap().page;
        assert_eq!((updated.name.as_str(), updated.description.as_str()), ("新名称", "新描述"));
        let refused = agent_ctx.update_page("sys-1", "修改系统", "...").await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "permission denied: operation 'updatePage' on sys-1 requires higher permission"
        );
        let refused = agent_ctx.hide_details("sys-0").await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "permission denied: cannot hide system prompt root page sys-0: agent must remain \
             constrained by system prompts"
        );
    });
}

// 001, the default storage, and the last flow: a segment, its root, a child, a proxy. B-14, B-16,
// B-25, B-58.
#[test]
fn the_set_up_in_memory() {
    block_on(async {
        let context_system = ContextSystem::in_memory(TickingClock::new()).await.unwrap();
        let mut sys_seg = new_segment("sys", "System", "System context", SegmentKind::System)
            .permission(Permission::ReadOnly);
        context_system.add_segment(sys_seg.clone()).await.unwrap();
        // It was taken by value.
        sys_seg.permission = Permission::SystemManaged;
        let sys = context_system.get_segment(&segment("sys")).unwrap();
        assert_eq!((sys.permission, sys.root()), (Permission::ReadOnly, page("sys-0")));
        // The root comes with its segment.
        let root = context_system.get_page(&page("sys-0")).await.unwrap();
        assert!(root.page.is_contents() && root.page.parent.is_none());
        assert_eq!(root.visibility, Visibility::Expanded);
        let mut sys_prompt =
            NewDetailPage::new(page("sys-0"), valid("System Prompt"), "You are...");
        sys_prompt.description = valid("Main prompt");
        let made = apply(&context_system, Edit::CreateDetailPage(sys_prompt)).await;
        assert_eq!(made.pages, [page("sys-1")]);
        let agent_ctx = agent(&context_system, "helper");
        assert_eq!(agent_ctx.get_detail("sys-1").await.unwrap(), "You are...");
        let parent = agent_ctx.get_parent("sys-1").await.unwrap().unwrap();
        assert_eq!(parent.page.index, page("sys-0"));
    });
}

// 002, the example: a leaf and a directory, one in the other, both expanded, stored and restored.
// P-01, P-11, P-16, P-17, P-20, P-26, P-27.
#[test]
fn the_example_of_pages() {
    block_on(async {
        let system = memory().await;
        let agent_ctx = agent(&system, "helper");
        let detail = "User: Go的goroutine是如何调度的？\nAssistant: ...";
        let detail_page = agent_ctx
            .create_detail_page("goroutine原理", "解释goroutine的调度机制", detail, "usr-0")
            .await
            .unwrap();
        let contents_page = agent_ctx
            .create_contents_page(
                "Go语言讨论",
                "关于Go语言的专题讨论",
                "usr-0",
                std::slice::from_ref(&detail_page),
            )
            .await
            .unwrap();
        agent_ctx.expand_details(&contents_page).await.unwrap();
        agent_ctx.expand_details(&detail_page).await.unwrap();
        for index in [&contents_page, &detail_page] {
            let seen = agent_ctx.get_page(index).await.unwrap();
            assert_eq!(
                (seen.visibility, seen.lifecycle),
                (Visibility::Expanded, Lifecycle::Active)
            );
        }
        assert!(agent_ctx.has_child(&contents_page, &detail_page).await.unwrap());
        assert_eq!(agent_ctx.child_count(&contents_page).await.unwrap(), 1);

        let data = system.marshal_page(&detail_page).await.unwrap();
        let restored_page = LoadPage::unmarshal(&data).unwrap();
        assert_eq!(restored_page.page, *system.get_page(&detail_page).await.unwrap().page);
        assert_eq!(restored_page.detail(), detail);
    });
}

// P-10, P-25, P-26: a page's own bytes hold all it says, of either type, archived or not; bytes that
// were changed are refused.
#[test]
fn a_pages_bytes_restore_it() {
    block_on(async {
        let system = memory().await;
        let chat = vec![user("hi"), assistant("hello")];
        apply(&system, Edit::AddTurn { segment: segment("usr"), messages: chat }).await;
        directory(&system, "usr-0", "Folder").await;
        leaf(&system, "usr-2", "note").await;
        system.remove_page(&page("usr-1")).await.unwrap();
        system.evict_all();
        for index in ["usr-0", "usr-1", "usr-2", "usr-3"] {
            let bytes = system.marshal_page(&page(index)).await.unwrap();
            let restored = LoadPage::unmarshal(&bytes).unwrap();
            let stored =
                system.as_system().reader().page_or_archived(&page(index)).await.unwrap().page;
            assert_eq!(restored.page, *stored);
            assert_eq!(restored.marshal(), bytes);
        }
        let bytes = system.marshal_page(&page("usr-1")).await.unwrap();
        let restored = LoadPage::unmarshal(&bytes).unwrap();
        assert_eq!(restored.detail(), "User: hi\nAssistant: hello");
        assert_eq!(restored.page.detail().unwrap().messages, 2);
        let changed = String::from_utf8(bytes).unwrap().replace("hello", "other");
        let refused = LoadPage::unmarshal(changed.as_bytes()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "invalid document: the messages do not belong to page usr-1"
        );
        let missing = system.marshal_page(&page("usr-9")).await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    });
}

// B-17, B-20 to B-23: segments by the documents' names; all of it is recorded and can be undone.
#[test]
fn segments_by_the_documents_names() {
    block_on(async {
        let system = memory().await;
        let usr = segment("usr");
        let again = system.add_segment(NewSegment::new(usr.clone(), SegmentKind::User)).await;
        assert_eq!(again.unwrap_err().to_string(), "segment usr already exists");
        // A new one stands last and changes the session's time.
        let before = system.info().await.unwrap().updated_at;
        system.add_segment(NewSegment::new(segment("new"), SegmentKind::Custom)).await.unwrap();
        let ids: Vec<String> =
            system.list_segments().iter().map(|segment| segment.id.to_string()).collect();
        assert_eq!(ids, ["sys", "usr", "new"]);
        assert!(system.info().await.unwrap().updated_at > before);
        // What is listed is a copy.
        system.list_segments()[1].permission = Permission::SystemManaged;
        assert_eq!(system.get_segment(&usr).unwrap().permission, Permission::ReadWrite);
        let found = system.get_segment_by_page_index(&page("usr-7")).unwrap();
        assert_eq!(found.id, usr);
        let none = system.get_segment_by_page_index(&page("us-1")).unwrap_err();
        assert_eq!(none.kind(), ErrorKind::NotFound);
        assert_eq!(agent(&system, "helper").get_segment_by_page_index("usr-7").unwrap().id, usr);

        system.update_segment(&usr, "Talk", "").await.unwrap();
        system.update_segment(&usr, "", "about things").await.unwrap();
        system.set_segment_permission(&usr, Permission::ReadOnly).await.unwrap();
        let changed = system.get_segment(&usr).unwrap();
        assert_eq!(
            (changed.name.as_str(), changed.description.as_str(), changed.permission),
            ("Talk", "about things", Permission::ReadOnly)
        );
        let refused = agent(&system, "helper").set_detail("usr-0", "x").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        apply(&system, Edit::Undo { revision: None }).await;
        assert_eq!(system.get_segment(&usr).unwrap().permission, Permission::ReadWrite);

        leaf(&system, "usr-0", "note").await;
        assert!(system.remove_segment(&usr).await.is_err(), "it holds a page");
        system.remove_page(&page("usr-1")).await.unwrap();
        system.remove_segment(&usr).await.unwrap();
        let ids: Vec<String> =
            system.list_segments().iter().map(|segment| segment.id.to_string()).collect();
        assert_eq!(ids, ["sys", "new"]);
        let gone = system.remove_segment(&usr).await.unwrap_err();
        assert_eq!(gone.to_string(), "segment usr not found");
    });
}

// B-48, A-25 to A-27, P-12, P-18 to P-20: pages by the documents' names.
#[test]
fn pages_by_the_documents_names() {
    block_on(async {
        let system = memory().await;
        let folder = directory(&system, "usr-0", "Folder").await;
        for name in ["one", "two", "three"] {
            leaf(&system, "usr-1", name).await;
        }
        let names = async |index: &PageIndex| -> Vec<String> {
            let children = system.get_children(index).await.unwrap();
            children.iter().map(|child| child.page.name.to_string()).collect()
        };
        assert_eq!(names(&folder).await, ["one", "two", "three"]);
        let above = system.get_ancestors(&page("usr-2")).await.unwrap();
        let above: Vec<String> = above.iter().map(|above| above.page.index.to_string()).collect();
        assert_eq!(above, ["usr-1", "usr-0"]);
        assert_eq!(system.get_parent(&page("usr-0")).await.unwrap(), None);
        assert_eq!(system.find_page("TWO", 10).await.unwrap()[0].page.index, page("usr-3"));

        let helper = agent(&system, "helper");
        let above = helper.get_ancestors("usr-2").await.unwrap();
        let above: Vec<String> = above.iter().map(|above| above.page.index.to_string()).collect();
        assert_eq!(above, ["usr-1", "usr-0"]);
        let missing = system.get_page(&page("usr-9")).await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        let before = helper.get_page("usr-2").await.unwrap().page;
        helper.set_detail("usr-2", "第一行\n第二行").await.unwrap();
        let after = helper.get_page("usr-2").await.unwrap().page;
        assert_eq!(helper.get_detail("usr-2").await.unwrap(), "第一行\n第二行");
        assert!(after.updated_at > before.updated_at && after.created_at == before.created_at);
        let leaf = helper.has_child("usr-2", "usr-3").await.unwrap_err();
        assert_eq!(leaf.kind(), ErrorKind::Invalid);
        assert!(!helper.has_child("usr-0", "usr-2").await.unwrap(), "it lies further down");
        let long = helper.update_page("usr-2", &"x".repeat(201), "").await.unwrap_err();
        assert_eq!(long.kind(), ErrorKind::Invalid);
        // What is only in the storage is removed all the same.
        system.evict_all();
        let before = system.info().await.unwrap().updated_at;
        system.remove_page(&page("usr-3")).await.unwrap();
        assert!(system.info().await.unwrap().updated_at > before);
        let nowhere = system.remove_page(&page("usr-9")).await.unwrap_err();
        assert_eq!(nowhere.to_string(), "page usr-9 not found");
        assert!(!helper.has_child("usr-1", "usr-3").await.unwrap());
        assert_eq!(names(&folder).await, ["one", "three"]);
        assert_eq!(helper.child_count("usr-1").await.unwrap(), 2);
    });
}

// B-36, B-41: pages in memory are listed as pages and bounded by count, those used longest ago first;
// what is stored stays.
#[test]
fn pages_in_memory_are_listed_and_bounded_by_count() {
    block_on(async {
        let system = memory().await;
        for number in 1..=20 {
            leaf(&system, "usr-0", &format!("page {number}")).await;
        }
        system.evict_all();
        assert_eq!(system.list_pages(), []);
        for number in 1..=20 {
            system.get_page(&PageIndex::new(segment("usr"), number)).await.unwrap();
        }
        system.get_page(&page("usr-3")).await.unwrap();
        let resident = || -> Vec<String> {
            system.list_pages().iter().map(|page| page.index.to_string()).collect()
        };
        let all = system.list_pages();
        assert_eq!(all.len(), 21, "20 pages and their root");
        assert_eq!(all[1].name.as_str(), "page 1");
        assert_eq!(system.evict_lru_pages(21), 0);
        // Listing has used none of them.
        assert_eq!(system.evict_lru_pages(4), 17);
        assert_eq!(resident(), ["usr-0", "usr-3", "usr-19", "usr-20"]);
        assert_eq!(system.evict_lru_pages(0), 3);
        assert_eq!(resident(), ["usr-0"], "roots stay");
        let all = contexture_core::ListQuery { limit: 100, ..Default::default() };
        let listed = system.as_system().reader().list(&all).await.unwrap().items;
        assert_eq!(listed.len(), 22, "20 pages and two roots, in memory or not");
        assert_eq!(system.get_page(&page("usr-7")).await.unwrap().page.name.as_str(), "page 7");
    });
}

// B-49: the whole system as bytes and back, all or nothing.
#[test]
fn a_system_is_marshalled_and_filled() {
    block_on(async {
        let system = memory().await;
        leaf(&system, "usr-0", "note").await;
        let bytes = system.marshal().await.unwrap();
        let copy = ContextSystem::in_memory(TickingClock::new()).await.unwrap();
        let broken = bytes.replace("\"read-write\"", "7");
        assert_eq!(copy.unmarshal(broken.as_bytes()).await.unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(copy.list_segments(), []);
        assert_eq!(copy.unmarshal(bytes.as_bytes()).await.unwrap(), [""; 0]);
        let again = copy.marshal().await.unwrap();
        // Places are given again; all else is as it was.
        let lines = |text: &str| -> Vec<String> {
            let kept = text.lines().filter(|line| !line.contains("\"place\""));
            kept.map(str::to_owned).collect()
        };
        assert_eq!(lines(&again), lines(&bytes));
        let full = copy.unmarshal(bytes.as_bytes()).await.unwrap_err();
        assert_eq!(full.kind(), ErrorKind::Conflict);
    });
}

// 001, AddPage: a page needs a parent that is there and is a directory. B-24 to B-27.
#[test]
fn pages_are_added_under_directories() {
    block_on(async {
        let system = memory().await;
        let added = async |parent: &str| {
            let new = NewContentsPage::new(page(parent), valid("Folder"));
            system.as_system().apply(Edit::CreateContentsPage(new)).await
        };
        assert_eq!(added("usr-0").await.unwrap().pages, [page("usr-1")]);
        assert_eq!(
            added("usr-7").await.unwrap_err().to_string(),
            "page usr-7 not found, so page 'Folder' was not created in it"
        );
        leaf(&system, "usr-1", "note").await;
        let refused = added("usr-2").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        // A parent that is only in the storage is loaded.
        system.evict_all();
        assert_eq!(added("usr-1").await.unwrap().pages, [page("usr-3")]);
    });
}
