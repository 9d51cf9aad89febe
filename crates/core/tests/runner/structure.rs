//! Structure: move, remove, restore, purge, segments, and what is loaded for it.

use std::sync::Arc;

use contexture_core::{
    ContextSystem, Edit, Error, ErrorKind, Lifecycle, MemoryStorage, NewContentsPage,
    NewDetailPage, NewSegment, PageIndex, PageUpdate, Permission, SegmentKind, Standing, Trust,
    Visibility,
    check::check_session,
    system::{ListQuery, ResidentLimits, Settings},
};
use contexture_testkit::{
    fake::WatchedStorage,
    fixture::{
        TickingClock, add_segment, agent, apply, description, directory, leaf, memory,
        new_directory, new_leaf, page, segment, session, session_id, user, valid,
    },
    state::state,
};
use futures::executor::block_on;

fn hop(from: &str, to: &str) -> Edit {
    Edit::MovePage { page: page(from), to: page(to) }
}

fn restore(index: &str, to: Option<&str>) -> Edit {
    Edit::RestorePage { page: page(index), to: to.map(page) }
}

async fn children(system: &ContextSystem, parent: &str) -> Vec<String> {
    let agent = agent(system, "reader");
    let children = agent.get_children(parent).await.unwrap();
    children.iter().map(|child| child.page.index.to_string()).collect()
}

async fn refused(system: &ContextSystem, edit: Edit) -> Error {
    let told = format!("{edit:?}");
    let before = state(system).await;
    let error = system.apply_internal(edit).await.expect_err(&told);
    assert_eq!(state(system).await, before, "{told} was refused but did something");
    error
}

/// `usr-1` holds `usr-2`, a directory with `usr-3`, and `usr-4`; `oth` is empty.
async fn prepared() -> ContextSystem {
    let system = memory().await;
    add_segment(&system, "oth", SegmentKind::Custom, Permission::ReadWrite).await;
    directory(&system, "usr-0", "outer").await;
    directory(&system, "usr-1", "inner").await;
    leaf(&system, "usr-2", "deep").await;
    leaf(&system, "usr-1", "flat").await;
    system
}

// B-44, B-45, C09, P-17, P-18, P-19, P-20: to the end of a directory; to its own parent too;
// order of the rest kept.
#[test]
fn moves_go_to_the_end() {
    block_on(async {
        let system = prepared().await;
        leaf(&system, "usr-1", "last").await; // usr-5
        apply(&system, hop("usr-4", "usr-1")).await;
        assert_eq!(children(&system, "usr-1").await, ["usr-2", "usr-5", "usr-4"]);
        apply(&system, hop("usr-4", "usr-2")).await;
        assert_eq!(children(&system, "usr-2").await, ["usr-3", "usr-4"]);
        assert_eq!(children(&system, "usr-1").await, ["usr-2", "usr-5"]);
        assert_eq!(system.reader().child_count(&page("usr-2")).await.unwrap(), 2);
        let parent = system.reader().parent(&page("usr-4")).await.unwrap().unwrap();
        assert_eq!(parent.page.index, page("usr-2"));
        let above = system.reader().ancestors(&page("usr-4")).await.unwrap();
        let above: Vec<String> = above.iter().map(|page| page.page.index.to_string()).collect();
        assert_eq!(above, ["usr-2", "usr-1", "usr-0"]);
    });
}

// C09, B-44, P-17: onto itself, under its own descendant, of a root, onto a DetailPage, missing.
#[test]
fn moves_that_make_no_sense_are_refused() {
    block_on(async {
        let system = prepared().await;
        for (from, to, expected) in [
            (
                "usr-1",
                "usr-1",
                "page usr-1 cannot go under usr-1, which is itself or one of its descendants",
            ),
            (
                "usr-1",
                "usr-2",
                "page usr-1 cannot go under usr-2, which is itself or one of its descendants",
            ),
            ("usr-0", "oth-0", "page usr-0 is the root of its segment and cannot be moved"),
            ("usr-2", "usr-4", "page usr-4 is not a ContentsPage"),
            ("usr-2", "oth-9", "page oth-9 not found"),
            ("usr-9", "oth-0", "page usr-9 not found"),
        ] {
            let error = refused(&system, hop(from, to)).await;
            assert_eq!(error.to_string(), expected);
            let kind =
                if expected.ends_with("found") { ErrorKind::NotFound } else { ErrorKind::Invalid };
            assert_eq!(error.kind(), kind);
            assert!(!error.hint().is_empty());
        }
    });
}

// C09: across segments the subtree gets new indices, the originals are retired and say where they
// went.
#[test]
fn moves_across_segments_give_new_indices() {
    block_on(async {
        let system = prepared().await;
        let helper = agent(&system, "helper");
        helper.hide_details("usr-1").await.unwrap();
        helper.pin_page("usr-3").await.unwrap();
        helper.focus_page("usr-3").await.unwrap();
        apply(&system, Edit::RemovePage(page("usr-4"))).await;
        let moved = apply(&system, hop("usr-1", "oth-0")).await;
        let pairs: Vec<(String, String)> =
            moved.moved.iter().map(|(from, to)| (from.to_string(), to.to_string())).collect();
        let expected = [("usr-1", "oth-1"), ("usr-2", "oth-2"), ("usr-3", "oth-3")];
        assert_eq!(pairs, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!(moved.pages, [page("oth-1")]);
        assert_eq!(children(&system, "oth-1").await, ["oth-2"]);
        assert_eq!(children(&system, "oth-2").await, ["oth-3"]);
        let copy = system.reader().page(&page("oth-3")).await.unwrap().page;
        assert_eq!(copy.sources, [page("usr-3")]);
        assert_eq!(copy.name.as_str(), "deep");
        for old in ["usr-1", "usr-2", "usr-3"] {
            let told = system.reader().page(&page(old)).await.unwrap_err().to_string();
            assert_eq!(told, format!("page {old} not found: moved to oth-{}", &old[4..]));
        }
        // What views say goes along; what lay in the archive stays there.
        assert_eq!(helper.get_page("oth-1").await.unwrap().visibility, Visibility::Hidden);
        assert!(helper.get_page("oth-3").await.unwrap().pinned);
        assert_eq!(helper.reader().focus().await.unwrap(), Some(page("oth-3")));
        let left = system.reader().page_or_archived(&page("usr-4")).await.unwrap();
        assert_eq!(left.lifecycle, Lifecycle::ColdArchived);
        apply(&system, restore("usr-4", None)).await;
        assert_eq!(children(&system, "usr-0").await, ["usr-4"]);
        // Retired numbers are not used again.
        assert_eq!(leaf(&system, "usr-0", "next").await, page("usr-5"));
    });
}

// A batch sees what it has done so far: nothing is left behind under a page it moves away.
#[test]
fn a_batch_moves_what_it_has_just_put_there() {
    block_on(async {
        let system = prepared().await;
        let batch = vec![new_leaf("usr-2", "fresh"), hop("usr-4", "usr-2"), hop("usr-2", "oth-0")];
        let moved = apply(&system, Edit::Batch(batch)).await;
        let from: Vec<PageIndex> = moved.moved.iter().map(|(from, _)| from.clone()).collect();
        assert_eq!(from, ["usr-2", "usr-3", "usr-5", "usr-4"].map(page));
        assert_eq!(children(&system, "oth-1").await, ["oth-2", "oth-3", "oth-4"]);
        assert_eq!(children(&system, "usr-1").await, [""; 0]);
        let problems = check_session(&**system.storage(), &session_id()).await.unwrap();
        assert_eq!(problems, [""; 0]);
        let batch =
            vec![hop("oth-4", "oth-0"), Edit::ExpandDetails(page("oth-1")), hop("oth-1", "usr-1")];
        apply(&system, Edit::Batch(batch)).await;
        assert_eq!(children(&system, "oth-0").await, ["oth-4"]);
        let shown = system.reader().page(&page("usr-6")).await.unwrap();
        assert_eq!(shown.visibility, Visibility::Expanded);
    });
}

// A-19, B-32, B-33, B-46, C10: removing takes the subtree to the archive, from where it comes back.
#[test]
fn remove_archives_and_restore_brings_back() {
    block_on(async {
        let system = prepared().await;
        leaf(&system, "usr-0", "after").await; // usr-5
        apply(&system, Edit::RemovePage(page("usr-1"))).await;
        assert_eq!(children(&system, "usr-0").await, ["usr-5"]);
        for gone in ["usr-1", "usr-2", "usr-3", "usr-4"] {
            let error = system.reader().page(&page(gone)).await.unwrap_err();
            assert_eq!(error.to_string(), format!("page {gone} not found: it is in the archive"));
            assert_eq!(error.kind(), ErrorKind::NotFound);
        }
        let helper = agent(&system, "helper");
        assert!(helper.find_page("deep", 10).await.unwrap().is_empty());
        let archive = ListQuery {
            limit: 10,
            archived: true,
            matching: Some("DEEP".to_owned()),
            ..ListQuery::default()
        };
        assert_eq!(helper.list_pages(&archive).await.unwrap().items.len(), 1);
        assert_eq!(
            refused(&system, Edit::RemovePage(page("usr-1"))).await.kind(),
            ErrorKind::NotFound
        );
        assert_eq!(refused(&system, new_leaf("usr-2", "x")).await.kind(), ErrorKind::NotFound);
        // It keeps its index and its old place.
        apply(&system, restore("usr-1", None)).await;
        assert_eq!(children(&system, "usr-0").await, ["usr-1", "usr-5"]);
        assert_eq!(children(&system, "usr-1").await, ["usr-2", "usr-4"]);
        let root = refused(&system, Edit::RemovePage(page("usr-0"))).await;
        assert_eq!(root.to_string(), "page usr-0 is the root of its segment and cannot be removed");
        assert_eq!(root.kind(), ErrorKind::Invalid);
    });
}

// C10: restored to the root where the parent is gone or archived; to a named place; refused where
// it
// is not archived.
#[test]
fn restore_finds_a_place() {
    block_on(async {
        let system = prepared().await;
        let error = refused(&system, restore("usr-2", None)).await;
        assert_eq!(error.to_string(), "page usr-2 is not archived");
        apply(&system, Edit::RemovePage(page("usr-3"))).await;
        apply(&system, Edit::RemovePage(page("usr-1"))).await;
        apply(&system, restore("usr-3", None)).await;
        assert_eq!(children(&system, "usr-0").await, ["usr-3"]);
        // A page that went along with its directory comes back alone, too.
        apply(&system, restore("usr-4", None)).await;
        assert_eq!(children(&system, "usr-0").await, ["usr-3", "usr-4"]);
        apply(&system, restore("usr-2", Some("oth-0"))).await;
        let told = system.reader().page(&page("usr-2")).await.unwrap_err();
        assert_eq!(told.to_string(), "page usr-2 not found: moved to oth-1");
        let detail = refused(&system, restore("usr-1", Some("usr-3"))).await;
        assert_eq!(detail.kind(), ErrorKind::Invalid);
    });
}

// C27: hot archive: out of the window, still in the tree and found.
#[test]
fn archived_hot_stays_in_the_tree() {
    block_on(async {
        let system = prepared().await;
        apply(&system, Edit::ExpandDetails(page("usr-1"))).await;
        apply(&system, Edit::ArchivePage(page("usr-2"))).await;
        let hot = system.reader().page(&page("usr-2")).await.unwrap();
        assert_eq!(hot.lifecycle, Lifecycle::HotArchived);
        let below = system.reader().page(&page("usr-3")).await.unwrap();
        assert_eq!(below.lifecycle, Lifecycle::HotArchived);
        assert_eq!(children(&system, "usr-1").await, ["usr-2", "usr-4"]);
        let again = refused(&system, Edit::ArchivePage(page("usr-2"))).await;
        assert_eq!(again.kind(), ErrorKind::Invalid);
        apply(&system, restore("usr-2", None)).await;
        let back = system.reader().page(&page("usr-2")).await.unwrap();
        assert_eq!(back.lifecycle, Lifecycle::Active);
    });
}

// C10: purge takes the subtree for good, archived or not; roots are refused; what was archived on
// its
// own before its directory moved away is not below the moved one.
#[test]
fn purge_takes_what_is_below_and_no_more() {
    block_on(async {
        let system = prepared().await;
        apply(&system, Edit::RemovePage(page("usr-4"))).await;
        apply(&system, hop("usr-1", "oth-0")).await; // oth-1, oth-2, oth-3
        apply(&system, hop("oth-2", "oth-0")).await;
        let purged = apply(&system, Edit::PurgePage(page("oth-1"))).await;
        assert_eq!(purged.pages, ["oth-1", "usr-1"].map(page));
        assert_eq!(children(&system, "oth-0").await, ["oth-2"]);
        let told = system.reader().page(&page("usr-2")).await.unwrap_err();
        assert_eq!(told.to_string(), "page usr-2 not found: moved to oth-2");
        apply(&system, restore("usr-4", None)).await;
        assert_eq!(children(&system, "usr-0").await, ["usr-4"]);
        let root = refused(&system, Edit::PurgePage(page("usr-0"))).await;
        assert_eq!(root.kind(), ErrorKind::Invalid);
        let twice = refused(&system, Edit::PurgePage(page("oth-1"))).await;
        assert_eq!(twice.to_string(), "page oth-1 not found");
        let purged = apply(&system, Edit::PurgePage(page("oth-2"))).await;
        assert_eq!(purged.pages, ["oth-2", "oth-3", "usr-2", "usr-3"].map(page));
        let helper = agent(&system, "helper");
        let denied = helper.apply(Edit::PurgePage(page("usr-4"))).await.unwrap_err();
        assert_eq!(denied.kind(), ErrorKind::PermissionDenied);
    });
}

// B-20, C24: a segment with pages goes only when told to cascade; a System-kind one only with
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
        assert_eq!(system.reader().segments().len(), 0);
        assert_eq!(
            system.reader().page(&page("usr-3")).await.unwrap_err().kind(),
            ErrorKind::NotFound
        );
        let archive = ListQuery { limit: 100, archived: true, ..ListQuery::default() };
        let archived = system.reader().list(&archive).await.unwrap().items;
        assert!(archived.iter().any(|page| page.page.index.to_string() == "usr-3"));
        // Its pages come back elsewhere, under new indices.
        let error = refused(&system, restore("usr-2", None)).await;
        assert_eq!(error.to_string(), "segment usr of page usr-2 is gone");
        add_segment(&system, "new", SegmentKind::Custom, Permission::ReadWrite).await;
        let back = apply(&system, restore("usr-2", Some("new-0"))).await;
        assert_eq!(back.moved, [(page("usr-2"), page("new-1")), (page("usr-3"), page("new-2"))]);
    });
}

// C08, C17, B-17, B-29, B-30: numbers begin at 1 in each segment and are never used again, also
// when
// the segment itself comes back; a segment that exists is not added.
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
        let system = contexture_testkit::fixture::reopen(storage).await;
        assert_eq!(leaf(&system, "usr-0", "d").await, page("usr-4"));
        assert_eq!(children(&system, "usr-0").await, ["usr-4"]);
        apply(&system, restore("usr-1", None)).await;
        assert_eq!(children(&system, "usr-0").await, ["usr-1", "usr-4"]);
        let usr = agent(&system, "helper").get_segment(&segment("usr")).unwrap();
        assert_eq!(usr.next_number, 5);
    });
}

// C04: a name that views had hidden stands expanded in all of them once it is a system root.
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
        let problems = check_session(&**system.storage(), &session_id()).await.unwrap();
        assert_eq!(problems, [""; 0]);
        // In the core, not only in the proxy.
        let error = refused(&system, Edit::HideDetails(page("usr-0"))).await;
        assert_eq!(error.to_string(), "system root page usr-0 cannot be hidden");
    });
}

// C25: a page that was kept as a system prompt is read anew when its segment comes back as
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
        let back = system.reader().page(&page("sys-1")).await.unwrap();
        assert_eq!(back.lifecycle, Lifecycle::Active);
        assert_eq!(children(&system, "sys-0").await, ["sys-1"]);
    });
}

// B-24, B-25, B-26, B-27, B-47, C05, C06, P-01, P-11, P-16, P-21, P-23,
// P-27: creation, and what it refuses.
#[test]
fn pages_are_created_once_under_a_directory() {
    block_on(async {
        let system = prepared().await;
        let helper = agent(&system, "helper");
        let index =
            helper.create_detail_page("goroutine原理", "解释", "第一行\n第二行", "usr-1").await;
        assert_eq!(index.unwrap(), page("usr-5"));
        assert_eq!(children(&system, "usr-1").await, ["usr-2", "usr-4", "usr-5"]);
        let text = helper.get_messages("usr-5").await.unwrap();
        assert_eq!(contexture_core::message::detail_text(&text), "第一行\n第二行");
        let adopted = [page("usr-5"), page("usr-3")];
        let dir = helper.create_contents_page("dir", "", "usr-1", &adopted).await.unwrap();
        assert_eq!(children(&system, &dir.to_string()).await, ["usr-5", "usr-3"]);
        assert_eq!(children(&system, "usr-2").await, [""; 0]);
        leaf(&system, "oth-0", "elsewhere").await;
        for (parent, adopted, kind) in [
            ("usr-4", &[][..], ErrorKind::Invalid),
            ("usr-99", &[], ErrorKind::NotFound),
            ("usr-2", &["usr-4", "usr-4"], ErrorKind::Invalid),
            ("usr-2", &["usr-0"], ErrorKind::Invalid),
            ("usr-2", &["usr-1"], ErrorKind::Invalid),
            ("usr-2", &["usr-2"], ErrorKind::Invalid),
            ("usr-2", &["oth-1"], ErrorKind::Invalid),
            ("usr-2", &["usr-4", "usr-98"], ErrorKind::NotFound),
        ] {
            let error = refused(&system, new_directory(parent, "x", adopted)).await;
            assert_eq!(error.kind(), kind, "{parent} {adopted:?}: {error}");
        }
        assert_eq!(
            refused(&system, new_leaf("usr-4", "x")).await.to_string(),
            "page usr-4 is not a ContentsPage"
        );
        assert_eq!(helper.get_children("usr-4").await.unwrap_err().kind(), ErrorKind::Invalid);
        assert!("".parse::<contexture_core::PageName>().is_err());
        assert_eq!(leaf(&system, "usr-0", "next").await, page("usr-7"), "refusals take no number");
    });
}

// C44, P-03, P-04, A-34: hidden unless asked otherwise; roots, turns and System-kind pages are
// expanded.
#[test]
fn new_pages_stand_as_they_should() {
    block_on(async {
        let system = prepared().await;
        leaf(&system, "sys-0", "Prompt").await;
        let visibility = |index: &'static str| {
            let system = &system;
            async move { system.reader().page(&page(index)).await.unwrap().visibility }
        };
        assert_eq!(visibility("usr-1").await, Visibility::Hidden);
        assert_eq!(visibility("usr-4").await, Visibility::Hidden);
        assert_eq!(visibility("usr-0").await, Visibility::Expanded);
        assert_eq!(visibility("sys-1").await, Visibility::Expanded);
        agent(&system, "helper").add_turn(vec![user("hi")]).await.unwrap();
        assert_eq!(visibility("usr-5").await, Visibility::Expanded);
        let mut asked = NewDetailPage::new(page("usr-0"), valid("shown"), "");
        asked.visibility = Some(Visibility::Expanded);
        apply(&system, Edit::CreateDetailPage(asked)).await;
        assert_eq!(visibility("usr-6").await, Visibility::Expanded);
        let mut asked = NewContentsPage::new(page("sys-0"), valid("folded"));
        asked.visibility = Some(Visibility::Hidden);
        apply(&system, Edit::CreateContentsPage(asked)).await;
        assert_eq!(visibility("sys-2").await, Visibility::Hidden);
    });
}

// B-42, C26, P-12, P-13: empty is unchanged, clearing is explicit, nothing to change is an error; a
// directory has no text; the version asked for must be there.
#[test]
fn updates_change_what_is_given() {
    block_on(async {
        let system = prepared().await;
        let helper = agent(&system, "helper");
        let before = helper.get_page("usr-4").await.unwrap().page;
        helper.update_page("usr-4", "", "new words").await.unwrap();
        let after = helper.get_page("usr-4").await.unwrap().page;
        assert_eq!((after.name.as_str(), after.description.as_str()), ("flat", "new words"));
        assert!(after.version > before.version && after.updated_at > before.updated_at);
        assert_eq!((after.created_at, after.trust), (before.created_at, Trust::Agent));
        let update = PageUpdate {
            description: Some(description("")),
            detail: Some(String::new()),
            ..PageUpdate::of(page("usr-4"))
        };
        helper.apply(Edit::UpdatePage(update)).await.unwrap();
        let cleared = helper.get_page("usr-4").await.unwrap().page;
        assert!(cleared.description.is_empty());
        assert_eq!(cleared.detail().unwrap().messages, 0);
        assert_eq!(
            helper.update_page("usr-4", "", "").await.unwrap_err().kind(),
            ErrorKind::Invalid
        );
        let text = PageUpdate { detail: Some("x".to_owned()), ..PageUpdate::of(page("usr-1")) };
        assert_eq!(refused(&system, Edit::UpdatePage(text)).await.kind(), ErrorKind::Invalid);
        let stale = PageUpdate {
            name: Some(valid("x")),
            if_version: Some(after.version),
            ..PageUpdate::of(page("usr-4"))
        };
        let error = refused(&system, Edit::UpdatePage(stale)).await;
        assert_eq!(error.to_string(), "page usr-4 is at version 3, not 2");
        assert_eq!(error.kind(), ErrorKind::Conflict);
    });
}

// Provenance: trust is the lowest of the sources' and never rises.
#[test]
fn trust_never_rises() {
    block_on(async {
        let system = prepared().await;
        let helper = agent(&system, "helper");
        helper.update_page("usr-4", "touched", "").await.unwrap();
        let mut made = NewDetailPage::new(page("usr-0"), valid("summary"), "short");
        made.sources = vec![page("usr-3"), page("usr-4")];
        apply(&system, Edit::CreateDetailPage(made)).await;
        let page_of = |index: &'static str| {
            let system = &system;
            async move { system.reader().page(&page(index)).await.unwrap().page }
        };
        assert_eq!(page_of("usr-3").await.trust, Trust::System);
        assert_eq!(page_of("usr-5").await.trust, Trust::Agent);
        apply(
            &system,
            Edit::UpdatePage(PageUpdate {
                name: Some(valid("x")),
                ..PageUpdate::of(page("usr-5"))
            }),
        )
        .await;
        assert_eq!(page_of("usr-5").await.trust, Trust::Agent);
        apply(&system, hop("usr-5", "oth-0")).await;
        assert_eq!(page_of("oth-1").await.trust, Trust::Agent);
    });
}

// P-24, P-15, B-31: reading a directory does not load its children; what is resident is not read
// again.
#[test]
fn reading_is_lazy() {
    block_on(async {
        let storage = WatchedStorage::new(Arc::new(MemoryStorage::new()));
        let system = session(storage.clone()).await;
        directory(&system, "usr-0", "dir").await;
        for number in 0..50 {
            leaf(&system, "usr-1", &format!("page {number}")).await;
        }
        drop(system);
        storage.reset();
        let system = contexture_testkit::fixture::reopen(storage.clone()).await;
        let directory = system.reader().page(&page("usr-1")).await.unwrap();
        assert!(directory.page.is_contents());
        assert_eq!(storage.count("pages"), 2, "the directory and the root above it");
        assert_eq!(storage.count("children") + storage.count("scan"), 0);
        assert_eq!(storage.count("contents"), 0);
        storage.reset();
        system.reader().page(&page("usr-1")).await.unwrap();
        assert_eq!(storage.count("pages"), 0);
        // Appending to it does not read the others either.
        leaf(&system, "usr-1", "one more").await;
        assert_eq!(storage.count("children") + storage.count("scan") + storage.count("pages"), 0);
        assert!(system.evict(&page("usr-1")));
        assert!(!system.evict(&page("usr-1")), "B-35: it is not resident any more");
        system.reader().page(&page("usr-1")).await.unwrap();
        assert_eq!(storage.count("pages"), 1);
    });
}

// B-35, B-36, B-41, C25: what is resident is bounded; roots and System-kind pages stay.
#[test]
fn resident_pages_are_bounded() {
    block_on(async {
        let storage = WatchedStorage::new(Arc::new(MemoryStorage::new()));
        let system = session(storage.clone()).await;
        leaf(&system, "sys-0", "Prompt").await;
        for number in 0..200 {
            leaf(&system, "usr-0", &format!("page {number}")).await;
        }
        let limits = ResidentLimits { page_bytes: 4_000, content_bytes: 1_000 };
        let settings = Settings { resident: limits, ..Settings::default() };
        let clock = TickingClock::new();
        let system =
            ContextSystem::open_with(storage.clone(), session_id(), clock, settings).await.unwrap();
        for index in ["sys-0", "sys-1", "usr-0"] {
            system.reader().page(&page(index)).await.unwrap();
        }
        for number in 1..=200 {
            let index = PageIndex::new(segment("usr"), number);
            system.reader().page(&index).await.unwrap();
            system.reader().messages(&index).await.unwrap();
            let (_, bytes) = system.resident_usage();
            assert!(bytes <= limits.page_bytes, "{bytes} bytes are resident");
        }
        let (pages, _) = system.resident_usage();
        assert!((3..50).contains(&pages), "{pages} pages are resident");
        storage.reset();
        for index in ["sys-0", "sys-1", "usr-0", "usr-200"] {
            system.reader().page(&page(index)).await.unwrap();
        }
        assert_eq!(storage.count("pages"), 0, "roots, system pages and the last used stay");
        system.reader().page(&page("usr-1")).await.unwrap();
        assert_eq!(storage.count("pages"), 1, "the least recently used is read again");
    });
}

// C26: content over the limit is refused.
#[test]
fn too_much_text_is_refused() {
    block_on(async {
        let storage = Arc::new(MemoryStorage::new());
        session(storage.clone()).await;
        let limits = contexture_core::decide::Limits { detail_bytes: 500 };
        let settings = Settings { limits, ..Settings::default() };
        let clock = TickingClock::new();
        let system =
            ContextSystem::open_with(storage, session_id(), clock, settings).await.unwrap();
        let new = NewDetailPage::new(page("usr-0"), valid("big"), "x".repeat(600));
        let error = refused(&system, Edit::CreateDetailPage(new)).await;
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(error.to_string().contains("the limit is 500"), "{error}");
    });
}

// P-03: standing is a page's own; a retired page is in no list.
#[test]
fn retired_pages_are_listed_nowhere() {
    block_on(async {
        let system = prepared().await;
        apply(&system, hop("usr-4", "oth-0")).await;
        for archived in [false, true] {
            let query = ListQuery { limit: 100, archived, ..ListQuery::default() };
            let listed = system.reader().list(&query).await.unwrap().items;
            assert!(listed.iter().all(|page| !matches!(page.page.standing, Standing::Moved(_))));
            assert!(listed.iter().all(|listed| listed.page.index != page("usr-4")));
        }
        assert_eq!(
            refused(&system, restore("usr-4", None)).await.to_string(),
            "page usr-4 not found: moved to oth-1"
        );
    });
}
