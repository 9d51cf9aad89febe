//! How deep a tree may be: a page stands in 256 directories at most, a root in none.

use std::sync::Arc;

use contexture_core::{
    ContextSystem, Edit, Error, ErrorKind, MemoryStorage, Page, PageIndex, Permission, SegmentKind,
    Visibility, WindowLevel,
    storage::{MAX_DEPTH, Order, PageStore},
};
use contexture_testkit::{
    fixture::{
        TickingClock, add_segment, agent, apply, directory, memory, new_directory, new_leaf, page,
        session, session_id,
    },
    window::options,
};
use futures::executor::block_on;

/// Makes directories in each other, that many; returns them from the top down.
async fn chain(system: &ContextSystem, parent: &str, count: usize) -> Vec<PageIndex> {
    let mut made: Vec<PageIndex> = Vec::with_capacity(count);
    for _ in 0..count {
        let parent = made.last().map_or_else(|| parent.to_owned(), PageIndex::to_string);
        made.push(directory(system, &parent, "d").await);
    }
    made
}

async fn assert_too_deep(system: &ContextSystem, edit: Edit, told: &str) {
    let before = system.info().await.unwrap().revision;
    let error = system.as_system().apply(edit).await.unwrap_err();
    assert!(matches!(error, Error::TooDeep { .. }), "{error}");
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Invalid, told));
    assert_eq!(system.info().await.unwrap().revision, before);
}

fn hop(page: &PageIndex, to: &PageIndex) -> Edit {
    Edit::MovePage { page: page.clone(), to: to.clone() }
}

fn told(under: &PageIndex, depth: usize) -> String {
    format!("a page under {under} would be {depth} directories deep; the limit is 256")
}

#[test]
fn trees_are_at_most_256_deep() {
    block_on(async {
        assert_eq!(MAX_DEPTH, 256);
        let system = memory().await;
        let deep = chain(&system, "usr-0", 256).await;
        let last = &deep[255];
        for new in [new_leaf, |parent: &str, name: &str| new_directory(parent, name, &[])] {
            assert_too_deep(&system, new(&last.to_string(), "x"), &told(last, 257)).await;
        }
        // A tree of 101 goes as far down as there is room, in its segment and from another.
        add_segment(&system, "free", SegmentKind::Custom, Permission::ReadWrite).await;
        let other = chain(&system, "usr-0", 101).await;
        assert_too_deep(&system, hop(&other[0], &deep[155]), &told(&other[0], 257)).await;
        apply(&system, hop(&other[0], &deep[154])).await;
        apply(&system, hop(&other[0], &page("usr-0"))).await;
        let foreign = chain(&system, "free-0", 101).await;
        assert_too_deep(&system, hop(&foreign[0], &deep[155]), &told(&deep[155], 257)).await;
        apply(&system, hop(&foreign[0], &deep[154])).await;
        // Adopted pages stand one deeper than their new directory.
        let adopt = |parent: &PageIndex| {
            new_directory(&parent.to_string(), "new", &[&other[0].to_string()])
        };
        assert_too_deep(&system, adopt(&deep[154]), &told(&other[0], 257)).await;
        apply(&system, adopt(&deep[153])).await;
        // What was archived goes no deeper either.
        apply(&system, Edit::RemovePage(other[0].clone())).await;
        let restore =
            |to: usize| Edit::RestorePage { page: other[0].clone(), to: Some(deep[to].clone()) };
        assert_too_deep(&system, restore(155), &told(&other[0], 257)).await;
        apply(&system, restore(154)).await;
        let helper = agent(&system, "helper");
        assert!(helper.create_detail_page("n", "", "t", last).await.is_err());
    });
}

// Several edits at once, and edits taken back, come to no more than one edit.
#[test]
fn neither_a_batch_nor_an_undo_goes_deeper() {
    block_on(async {
        let system = memory().await;
        let long = chain(&system, "usr-0", 200).await;
        let (one, two) = (chain(&system, "usr-0", 40).await, chain(&system, "usr-0", 40).await);
        // Each move alone would fit.
        let batch = Edit::Batch(vec![hop(&two[0], &one[39]), hop(&one[0], &long[199])]);
        assert_too_deep(&system, batch, &told(&two[0], 280)).await;

        apply(&system, hop(&one[0], &long[199])).await;
        let up = apply(&system, hop(&one[0], &page("usr-0"))).await;
        apply(&system, hop(&two[0], &one[39])).await;
        let undo = Edit::Undo { revision: Some(up.revision) };
        assert_too_deep(&system, undo.clone(), &told(&one[0], 280)).await;
        apply(&system, hop(&two[0], &page("usr-0"))).await;
        apply(&system, undo).await;
    });
}

// Trees that earlier versions let grow are read, listed, shown and moved up as they are.
#[test]
fn deeper_trees_of_earlier_versions_are_read() {
    block_on(async {
        let storage = Arc::new(MemoryStorage::new());
        let system = session(storage.clone()).await;
        let first = directory(&system, "usr-0", "d").await;
        let record: Page = (*system.as_system().reader().page(&first).await.unwrap().page).clone();
        let store = PageStore::new(storage.clone(), session_id(), TickingClock::new());
        for number in 2..=1_500 {
            let (index, parent) =
                (page(&format!("usr-{number}")), page(&format!("usr-{}", number - 1)));
            let visibility = Visibility::Expanded;
            let deeper = Page { index, parent: Some(parent), visibility, ..record.clone() };
            store.save(&deeper).await.unwrap();
        }
        let system = contexture_testkit::fixture::reopen(storage).await;
        apply(&system, Edit::ExpandDetails(first.clone())).await;
        let last = page("usr-1500");
        let seen = system.as_system().reader().page(&last).await.unwrap();
        assert_eq!(seen.level, WindowLevel::Full);
        assert_eq!(system.as_system().reader().ancestors(&last).await.unwrap().len(), 1_500);
        let window = system
            .as_system()
            .reader()
            .window(&options("markdown".parse().unwrap()))
            .await
            .unwrap();
        assert!(window.body.contains("usr-1500"));
        let helper = agent(&system, "helper");
        assert!(helper.create_detail_page("n", "", "t", &last).await.is_err());
        helper.move_page(&last, "usr-0").await.unwrap();
        helper.move_page("usr-1000", "usr-0").await.unwrap();
        helper.remove_page(&first).await.unwrap();
        let children = helper.reader().children(&page("usr-0"), Order::Forward, None, 9).await;
        assert_eq!(children.unwrap().items.len(), 2);
    });
}

// A blank text is found nowhere.
#[test]
fn nothing_is_found_by_nothing() {
    block_on(async {
        let system = memory().await;
        directory(&system, "usr-0", "two words").await;
        let helper = agent(&system, "helper");
        for blank in ["", " ", "\t\n", "\u{3000}"] {
            assert!(helper.find_page(blank, 9).await.unwrap().is_empty(), "{blank:?}");
        }
        assert_eq!(helper.find_page(" words", 9).await.unwrap().len(), 1);
    });
}
