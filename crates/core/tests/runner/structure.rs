//! Structure: move, remove, restore, purge. Segments, pages and what is resident are beside it.

#[path = "structure/loads.rs"]
mod loads;
#[path = "structure/pages.rs"]
mod pages;
#[path = "structure/resident.rs"]
mod resident;
#[path = "structure/segments.rs"]
mod segments;

use contexture_core::{
    ContextSystem, Edit, Error, ErrorKind, Lifecycle, ListQuery, PageIndex, Permission,
    SegmentKind, Visibility,
    storage::{PageStanding, check::check_session},
};
use contexture_testkit::{
    fixture::{add_segment, agent, apply, directory, leaf, memory, new_leaf, page, session_id},
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
    let error = system.as_system().apply(edit).await.expect_err(&told);
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

// B-44, B-45, P-17, P-18, P-19, P-20: to the end of a directory; to its own parent too;
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
        assert_eq!(system.as_system().reader().child_count(&page("usr-2")).await.unwrap(), 2);
        let parent = system.as_system().reader().parent(&page("usr-4")).await.unwrap().unwrap();
        assert_eq!(parent.page.index, page("usr-2"));
        let above = system.as_system().reader().ancestors(&page("usr-4")).await.unwrap();
        let above: Vec<String> = above.iter().map(|page| page.page.index.to_string()).collect();
        assert_eq!(above, ["usr-2", "usr-1", "usr-0"]);
    });
}

// B-44, P-17: onto itself, under its own descendant, of a root, onto a DetailPage, missing.
#[test]
fn moves_that_make_no_sense_are_refused() {
    block_on(async {
        let system = prepared().await;
        for (from, to, expected) in [
            (
                "usr-1",
                "usr-1",
                "page usr-1 cannot be placed under usr-1, which is the page itself or one of its descendants",
            ),
            (
                "usr-1",
                "usr-2",
                "page usr-1 cannot be placed under usr-2, which is the page itself or one of its descendants",
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
            assert!(!error.advice().to_string().is_empty());
        }
    });
}

// Across segments the subtree gets new indices, the originals are retired and say where they
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
        let copy = system.as_system().reader().page(&page("oth-3")).await.unwrap().page;
        assert_eq!(copy.sources, [page("usr-3")]);
        assert_eq!(copy.name.as_str(), "deep");
        for old in ["usr-1", "usr-2", "usr-3"] {
            let told = system.as_system().reader().page(&page(old)).await.unwrap_err().to_string();
            assert_eq!(told, format!("page {old} not found: moved to oth-{}", &old[4..]));
        }
        // What views say goes along; what lay in the archive stays there.
        assert_eq!(helper.get_page("oth-1").await.unwrap().visibility, Visibility::Hidden);
        assert!(helper.get_page("oth-3").await.unwrap().pinned);
        assert_eq!(helper.reader().focus().await.unwrap(), Some(page("oth-3")));
        let left = system.as_system().reader().page_or_archived(&page("usr-4")).await.unwrap();
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
        let problems = check_session(&*system.storage(), &session_id()).await.unwrap();
        assert_eq!(problems, [""; 0]);
        let batch =
            vec![hop("oth-4", "oth-0"), Edit::ExpandDetails(page("oth-1")), hop("oth-1", "usr-1")];
        apply(&system, Edit::Batch(batch)).await;
        assert_eq!(children(&system, "oth-0").await, ["oth-4"]);
        let shown = system.as_system().reader().page(&page("usr-6")).await.unwrap();
        assert_eq!(shown.visibility, Visibility::Expanded);
    });
}

// A-19, B-32, B-33, B-46: removing takes the subtree to the archive, from where it comes back.
#[test]
fn remove_archives_and_restore_brings_back() {
    block_on(async {
        let system = prepared().await;
        leaf(&system, "usr-0", "after").await; // usr-5
        apply(&system, Edit::RemovePage(page("usr-1"))).await;
        assert_eq!(children(&system, "usr-0").await, ["usr-5"]);
        for gone in ["usr-1", "usr-2", "usr-3", "usr-4"] {
            let error = system.as_system().reader().page(&page(gone)).await.unwrap_err();
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

// Restored to the root where the parent is gone or archived; to a named place; refused where
// it is not archived.
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
        let told = system.as_system().reader().page(&page("usr-2")).await.unwrap_err();
        assert_eq!(told.to_string(), "page usr-2 not found: moved to oth-1");
        let detail = refused(&system, restore("usr-1", Some("usr-3"))).await;
        assert_eq!(detail.kind(), ErrorKind::Invalid);
    });
}

// Hot archive: out of the window, still in the tree and found.
#[test]
fn archived_hot_stays_in_the_tree() {
    block_on(async {
        let system = prepared().await;
        apply(&system, Edit::ExpandDetails(page("usr-1"))).await;
        apply(&system, Edit::ArchivePage(page("usr-2"))).await;
        let hot = system.as_system().reader().page(&page("usr-2")).await.unwrap();
        assert_eq!(hot.lifecycle, Lifecycle::HotArchived);
        let below = system.as_system().reader().page(&page("usr-3")).await.unwrap();
        assert_eq!(below.lifecycle, Lifecycle::HotArchived);
        assert_eq!(children(&system, "usr-1").await, ["usr-2", "usr-4"]);
        let again = refused(&system, Edit::ArchivePage(page("usr-2"))).await;
        assert_eq!(again.kind(), ErrorKind::Invalid);
        apply(&system, restore("usr-2", None)).await;
        let back = system.as_system().reader().page(&page("usr-2")).await.unwrap();
        assert_eq!(back.lifecycle, Lifecycle::Active);
    });
}

// Purge takes the subtree for good, archived or not; roots are refused; what was archived on
// its own before its directory moved away is not below the moved one.
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
        let told = system.as_system().reader().page(&page("usr-2")).await.unwrap_err();
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

// P-03: standing is a page's own; a retired page is in no list.
#[test]
fn retired_pages_are_listed_nowhere() {
    block_on(async {
        let system = prepared().await;
        apply(&system, hop("usr-4", "oth-0")).await;
        for archived in [false, true] {
            let query = ListQuery { limit: 100, archived, ..ListQuery::default() };
            let listed = system.as_system().reader().list(&query).await.unwrap().items;
            assert!(
                listed.iter().all(|page| !matches!(page.page.standing, PageStanding::Moved(_)))
            );
            assert!(listed.iter().all(|listed| listed.page.index != page("usr-4")));
        }
        assert_eq!(
            refused(&system, restore("usr-4", None)).await.to_string(),
            "page usr-4 not found: moved to oth-1"
        );
    });
}
