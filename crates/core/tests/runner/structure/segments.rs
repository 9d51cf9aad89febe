//! Segments: removed with care, never numbered twice, of one kind at a time.

use std::sync::Arc;

use contexture_core::{
    Edit, ErrorKind, Lifecycle, ListQuery, MemoryStorage, NewSegment, Permission, SegmentKind,
    Visibility, storage::check::check_session,
};
use contexture_testkit::fixture::{
    add_segment, agent, apply, leaf, memory, new_leaf, page, reopen, segment, session, session_id,
};
use futures::executor::block_on;

use super::{children, prepared, refused, restore};

// B-20: a segment with pages goes only when told to cascade; a System-kind one only with
// force.
#[test]
fn segments_are_removed_with_care() {
    block_on(async {
        let system = prepared().await;
        leaf(&system, "sys-0", "Prompt").await;
        let remove =
            |id: &str, cascade, force| Edit::RemoveSegment { segment: segment(id), cascade, force };
        let error = refused(&system, remove("usr", false, true)).await;
        assert_eq!(error.to_string(), "segment usr still holds pages");
        assert_eq!(error.kind(), ErrorKind::Conflict);
        let error = refused(&system, remove("sys", true, false)).await;
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let error = refused(&system, remove("nil", true, true)).await;
        assert_eq!(error.to_string(), "segment nil not found");
        apply(&system, remove("oth", false, false)).await;
        apply(&system, remove("usr", true, false)).await;
        apply(&system, remove("sys", true, true)).await;
        assert_eq!(system.as_system().reader().segments().len(), 0);
        assert_eq!(
            system.as_system().reader().page(&page("usr-3")).await.unwrap_err().kind(),
            ErrorKind::NotFound
        );
        let archive = ListQuery { limit: 100, archived: true, ..ListQuery::default() };
        let archived = system.as_system().reader().list(&archive).await.unwrap().items;
        assert!(archived.iter().any(|page| page.page.index.to_string() == "usr-3"));
        // Its pages come back elsewhere, under new indices.
        let error = refused(&system, restore("usr-2", None)).await;
        assert_eq!(error.to_string(), "segment usr of page usr-2 no longer exists");
        add_segment(&system, "new", SegmentKind::Custom, Permission::ReadWrite).await;
        let back = apply(&system, restore("usr-2", Some("new-0"))).await;
        assert_eq!(back.moved, [(page("usr-2"), page("new-1")), (page("usr-3"), page("new-2"))]);
    });
}

// B-17, B-29, B-30: numbers begin at 1 in each segment and are never used again, also
// when the segment itself comes back; a segment that exists is not added.
#[test]
fn numbers_are_never_used_again() {
    block_on(async {
        let storage = Arc::new(MemoryStorage::new());
        let system = session(storage.clone()).await;
        assert_eq!(leaf(&system, "sys-0", "a").await, page("sys-1"));
        assert_eq!(leaf(&system, "usr-0", "a").await, page("usr-1"));
        let made = apply(&system, new_leaf("usr-0", "b")).await;
        apply(&system, Edit::Undo { revision: Some(made.revision) }).await;
        assert_eq!(leaf(&system, "usr-0", "c").await, page("usr-3"));
        apply(&system, Edit::PurgePage(page("usr-3"))).await;
        let add = || Edit::AddSegment(NewSegment::new(segment("usr"), SegmentKind::User));
        let error = refused(&system, add()).await;
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::Conflict, "segment usr already exists")
        );
        let remove = Edit::RemoveSegment { segment: segment("usr"), cascade: true, force: false };
        apply(&system, remove).await;
        apply(&system, add()).await;
        drop(system);
        let system = reopen(storage).await;
        assert_eq!(leaf(&system, "usr-0", "d").await, page("usr-4"));
        assert_eq!(children(&system, "usr-0").await, ["usr-4"]);
        apply(&system, restore("usr-1", None)).await;
        assert_eq!(children(&system, "usr-0").await, ["usr-1", "usr-4"]);
        let usr = agent(&system, "helper").get_segment(&segment("usr")).unwrap();
        assert_eq!(usr.next_number, 5);
    });
}

// A name that views had hidden stands expanded in all of them once it is a system root.
#[test]
fn a_segment_that_becomes_a_system_segment_is_shown() {
    block_on(async {
        let system = memory().await;
        let helper = agent(&system, "helper");
        helper.hide_details("usr-0").await.unwrap();
        let shown = helper.expand_details("usr-0").await.unwrap();
        helper.hide_details("usr-0").await.unwrap();
        helper.undo(None).await.unwrap();
        apply(&system, Edit::HideDetails(page("usr-0"))).await;
        let remove = Edit::RemoveSegment { segment: segment("usr"), cascade: true, force: false };
        apply(&system, remove).await;
        let new = NewSegment::new(segment("usr"), SegmentKind::System);
        apply(&system, Edit::AddSegment(new)).await;
        let undo = Edit::Undo { revision: Some(shown.revision) };
        assert_eq!(refused(&system, undo).await.kind(), ErrorKind::Conflict);
        assert_eq!(helper.get_page("usr-0").await.unwrap().visibility, Visibility::Expanded);
        let problems = check_session(&*system.storage(), &session_id()).await.unwrap();
        assert_eq!(problems, [""; 0]);
        // In the core, not only in the proxy.
        let error = refused(&system, Edit::HideDetails(page("usr-0"))).await;
        assert_eq!(error.to_string(), "system root page usr-0 cannot be hidden");
    });
}

// A page that was kept as a system prompt is read anew when its segment comes back as
// another kind.
#[test]
fn a_segment_that_comes_back_as_another_kind_is_read_anew() {
    block_on(async {
        let system = memory().await;
        leaf(&system, "sys-0", "Prompt").await;
        let remove = Edit::RemoveSegment { segment: segment("sys"), cascade: true, force: true };
        apply(&system, remove).await;
        let new = NewSegment::new(segment("sys"), SegmentKind::Custom);
        apply(&system, Edit::AddSegment(new)).await;
        apply(&system, restore("sys-1", None)).await;
        let back = system.as_system().reader().page(&page("sys-1")).await.unwrap();
        assert_eq!(back.lifecycle, Lifecycle::Active);
        assert_eq!(children(&system, "sys-0").await, ["sys-1"]);
    });
}
