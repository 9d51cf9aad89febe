//! Undo: what it restores, what it refuses, and how it is told.

use std::sync::Arc;

use contexture_core::{
    ContextSystem, Edit, Error, ErrorKind, NewSegment, Operation, PageUpdate, Permission, Revision,
    SegmentKind, SegmentUpdate, Tokens,
    storage::{Fold, LevelEntry, PageRun, PageRunForm, Place, ViewId},
    window::{FoldPlan, FoldReport, FoldStep},
};
use contexture_testkit::{
    fixture::{
        add_segment, agent, apply, assistant, calls, description, directory, leaf, memory,
        new_directory, new_leaf, page, segment, user, valid,
    },
    state::state,
};
use futures::executor::block_on;

/// A session in which every kind of edit can be made: see [`every_kind`].
async fn prepared() -> ContextSystem {
    let system = memory().await;
    add_segment(&system, "oth", SegmentKind::Custom, Permission::ReadWrite).await;
    directory(&system, "usr-0", "plans").await; // usr-1
    leaf(&system, "usr-1", "one").await; // usr-2
    leaf(&system, "usr-1", "two").await; // usr-3
    leaf(&system, "usr-0", "loose").await; // usr-4
    let turn = Edit::AddTurn { segment: segment("usr"), messages: vec![user("hello")] };
    apply(&system, turn).await; // usr-5
    apply(&system, Edit::RemovePage(page("usr-4"))).await;
    apply(&system, Edit::PinPage(page("usr-2"))).await;
    agent(&system, "other").expand_details("usr-1").await.unwrap();
    agent(&system, "other").focus_page("usr-2").await.unwrap();
    system
}

fn update(index: &str, name: &str) -> Edit {
    Edit::UpdatePage(PageUpdate { name: Some(valid(name)), ..PageUpdate::of(page(index)) })
}

fn custom(value: Option<&str>) -> Edit {
    Edit::SetCustom { key: valid("goal"), value: value.map(str::to_owned) }
}

fn turn(text: &str) -> Edit {
    Edit::AddTurn { segment: segment("usr"), messages: vec![user(text), assistant("yes")] }
}

fn extend(text: &str) -> Edit {
    Edit::ExtendTurn { segment: segment("usr"), messages: vec![assistant(text)] }
}

fn hop(from: &str, to: &str) -> Edit {
    Edit::MovePage { page: page(from), to: page(to) }
}

/// Lowers a page, and lets a run stand for all that stands under a directory.
fn fold() -> Edit {
    let run = PageRun {
        first: Place(0),
        last: Place(99),
        from: page("usr-2"),
        to: page("usr-3"),
        pages: 2,
        messages: 0,
        calls: 0,
        requests: Vec::new(),
        filter: Default::default(),
        form: PageRunForm::Line,
        cited: Vec::new(),
        apart: vec![page("usr-2")],
    };
    let none = LevelEntry::default;
    let runs = LevelEntry { runs: Arc::new([run]), ..none() };
    let gist = LevelEntry { fold: Some(Fold::Gist), ..none() };
    let step = |index, after| FoldStep { page: page(index), before: none(), after };
    let steps = vec![step("usr-1", runs), step("usr-3", gist)];
    Edit::FoldPages(FoldPlan { steps, report: FoldReport::default() })
}

fn undo(revision: Revision) -> Edit {
    Edit::Undo { revision: Some(revision) }
}

/// One edit of every kind that can be undone.
fn every_kind() -> Vec<Edit> {
    let oth = segment("oth");
    let new = NewSegment::new(segment("new"), SegmentKind::Tool);
    vec![
        Edit::AddSegment(new),
        Edit::UpdateSegment(SegmentUpdate {
            name: Some(valid("Other")),
            description: Some(description("changed")),
            permission: Some(Permission::ReadOnly),
            capacity: Some(Tokens(9)),
            ..SegmentUpdate::of(oth.clone())
        }),
        Edit::RemoveSegment { segment: oth.clone(), cascade: false, force: false },
        Edit::RemoveSegment { segment: segment("usr"), cascade: true, force: false },
        Edit::RemoveSegment { segment: segment("sys"), cascade: true, force: true },
        Edit::SetPermission { segment: oth, permission: Permission::SystemManaged },
        new_leaf("usr-1", "three"),
        new_directory("usr-0", "empty", &[]),
        new_directory("usr-0", "adopting", &["usr-3", "usr-2"]),
        turn("a new turn"),
        extend("and on"),
        extend(&"long ".repeat(2_000)),
        Edit::OpenExchange { segment: segment("usr"), messages: vec![calls("c1", "{}")] },
        Edit::OpenExchange {
            segment: segment("usr"),
            messages: vec![assistant("so"), user("more"), calls("c1", "{}")],
        },
        Edit::PublishTurn {
            segment: segment("usr"),
            agent: valid("scout"),
            messages: vec![assistant("found"), assistant(&"long ".repeat(2_000)), user("more")],
            sources: vec![page("usr-2")],
        },
        update("usr-2", "renamed"),
        Edit::UpdatePage(PageUpdate {
            detail: Some("other text".to_owned()),
            ..PageUpdate::of(page("usr-2"))
        }),
        Edit::ExpandDetails(page("usr-1")),
        Edit::HideDetails(page("usr-0")),
        Edit::PinPage(page("usr-3")),
        Edit::UnpinPage(page("usr-2")),
        Edit::FocusPage(page("usr-3")),
        fold(),
        Edit::BranchView {
            view: valid("delta.1"),
            parent: ViewId::SYSTEM,
            levels: vec![(page("usr-1"), LevelEntry::shown(contexture_core::Visibility::Hidden))],
        },
        hop("usr-2", "usr-0"),
        hop("usr-2", "usr-1"),
        hop("usr-1", "oth-0"),
        Edit::ArchivePage(page("usr-2")),
        Edit::RemovePage(page("usr-1")),
        Edit::RestorePage { page: page("usr-4"), to: None },
        Edit::RestorePage { page: page("usr-4"), to: Some(page("usr-1")) },
        Edit::RestorePage { page: page("usr-4"), to: Some(page("oth-0")) },
        custom(Some("win")),
        Edit::Batch(vec![update("usr-2", "a"), hop("usr-2", "oth-0"), new_leaf("oth-0", "b")]),
        Edit::Init(vec![new_leaf("usr-0", "begun")]),
        Edit::Import(vec![new_leaf("usr-0", "taken in")]),
    ]
}

// After every kind of edit, undo leaves pages, segments and level states as they were, redo
// does it
// again, and undo once more takes it back again.
#[test]
fn every_kind_of_edit_is_undone_and_redone() {
    let mut kinds: Vec<Operation> = Vec::new();
    for edit in every_kind() {
        kinds.push(edit.operation());
        block_on(async {
            let system = prepared().await;
            let before = state(&system).await;
            let made = apply(&system, edit.clone()).await;
            let after = state(&system).await;
            assert_ne!(before, after, "{edit:?} does nothing");
            let undone = apply(&system, undo(made.revision)).await;
            assert_eq!(state(&system).await.differences(&before), [""; 0], "undo of {edit:?}");
            assert_eq!(undone.undone, Some(made.revision));
            let redone = apply(&system, undo(undone.revision)).await;
            assert_eq!(state(&system).await.differences(&after), [""; 0], "redo of {edit:?}");
            apply(&system, undo(made.revision)).await;
            assert_eq!(state(&system).await.differences(&before), [""; 0], "again {edit:?}");
            // What was redone and undone again is not undone twice.
            let twice = system.as_system().apply(undo(made.revision)).await.unwrap_err();
            assert_eq!(twice.kind(), ErrorKind::Conflict, "{edit:?}");
            assert!(redone.revision > undone.revision && undone.revision > made.revision);
        });
    }
    // The test grows with the operations: only these have nothing to take back.
    let reads =
        |operation: &Operation| operation.required_level() == contexture_core::AccessLevel::Read;
    let levels = [
        Operation::ExpandDetails,
        Operation::PinPage,
        Operation::UnpinPage,
        Operation::FocusPage,
        Operation::FoldPages,
    ];
    let apart = [
        Operation::CreatePage,
        Operation::PurgePage,
        Operation::Undo,
        // `open_exchanges::undo_opens_calls_again`
        Operation::AddResults,
        Operation::CloseExchange,
        Operation::Load,
        Operation::Lost,
    ];
    for operation in Operation::ALL {
        let edits = levels.contains(operation) || !reads(operation);
        let covered = kinds.contains(operation) || apart.contains(operation);
        assert!(covered || !edits, "no undo of {operation} is tested");
    }
}

// An undo is an edit in the view of the original, and versions only grow.
#[test]
fn undo_happens_in_the_view_of_the_original() {
    block_on(async {
        let system = prepared().await;
        let other = agent(&system, "other");
        let made = other.hide_details("usr-3").await.unwrap();
        let before = other.get_page("usr-2").await.unwrap().page.version;
        let updated = other.update_page("usr-2", "renamed", "").await.unwrap();
        apply(&system, undo(made.revision)).await;
        let undone = apply(&system, undo(updated.revision)).await;
        assert!(other.get_page("usr-2").await.unwrap().page.version > before.next());
        let entry = system.as_system().reader().history(None, 1).await.unwrap().items.remove(0);
        assert_eq!((entry.revision, entry.undoes), (undone.revision, Some(updated.revision)));
        assert_eq!(entry.view.to_string(), "other");
        assert_eq!(entry.actor.to_string(), "system");
    });
}

// Undo without a name takes back the caller's own newest edit, then the one before it.
#[test]
fn undo_takes_the_callers_own_newest() {
    block_on(async {
        let system = prepared().await;
        let (left, right) = (agent(&system, "left"), agent(&system, "right"));
        let first = left.update_page("usr-2", "left one", "").await.unwrap();
        let second = left.update_page("usr-3", "left two", "").await.unwrap();
        right.update_page("usr-1", "right one", "").await.unwrap();
        assert_eq!(left.undo(None).await.unwrap().undone, Some(second.revision));
        assert_eq!(left.undo(None).await.unwrap().undone, Some(first.revision));
        let nothing = left.undo(None).await.unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::NotFound);
        assert_eq!(right.get_page("usr-1").await.unwrap().page.name.as_str(), "right one");
    });
}

// An undone redo can be undone and redone again, however long the chain; the newest own edit is
// found
// through all of it.
#[test]
fn chains_of_undo_and_redo_hold() {
    block_on(async {
        let system = prepared().await;
        for edit in [update("usr-2", "renamed"), Edit::ExpandDetails(page("usr-1"))] {
            let before = state(&system).await;
            let made = apply(&system, edit.clone()).await;
            let after = state(&system).await;
            let mut last = made.revision;
            for round in 0..6 {
                last = apply(&system, undo(last)).await.revision;
                let expected = if round % 2 == 0 { &before } else { &after };
                assert_eq!(state(&system).await.differences(expected), [""; 0], "round {round}");
                if round % 2 == 0 {
                    let twice = system.as_system().apply(undo(made.revision)).await.unwrap_err();
                    let told = format!("revision {last} already undid it");
                    assert!(twice.to_string().contains(&told), "round {round}: {twice}");
                }
            }
            // It is in force again, through an undo of an undo of …: it is the newest to take back.
            let newest = apply(&system, Edit::Undo { revision: None }).await;
            assert_eq!(newest.undone, Some(made.revision));
            assert_eq!(state(&system).await.differences(&before), [""; 0]);
        }
    });
}

/// Makes two edits and expects that the first cannot be undone because of the second, then that both
/// can in reverse order.
fn built_upon(first: Edit, second: Edit) {
    block_on(async {
        let told = format!("{first:?}, then {second:?}");
        let system = prepared().await;
        let before = state(&system).await;
        let first = apply(&system, first).await;
        let second = apply(&system, second).await;
        let between = state(&system).await;
        let refused = system.as_system().apply(undo(first.revision)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict, "{told}: {refused}");
        let Error::BuiltUpon { revision, later, .. } = &refused else {
            panic!("{told}: {refused}")
        };
        assert_eq!((*revision, *later), (first.revision, second.revision), "{told}: {refused}");
        assert!(refused.to_string().contains(&format!("revision {}", second.revision)));
        assert_eq!(state(&system).await, between, "{told}: refused but did something");
        apply(&system, undo(second.revision)).await;
        apply(&system, undo(first.revision)).await;
        assert_eq!(state(&system).await.differences(&before), [""; 0], "{told}");
    });
}

// Undo of what a later edit built upon is a conflict that names it; after that one is undone,
// it can be.
#[test]
fn what_was_built_upon_is_not_undone() {
    let id = || segment("oth");
    let name = |name: &str| {
        Edit::UpdateSegment(SegmentUpdate { name: Some(valid(name)), ..SegmentUpdate::of(id()) })
    };
    built_upon(update("usr-2", "a"), update("usr-2", "b"));
    built_upon(new_directory("usr-0", "dir", &[]), new_leaf("usr-6", "child"));
    built_upon(new_leaf("usr-0", "leaf"), update("usr-6", "renamed"));
    built_upon(new_directory("usr-0", "dir", &["usr-2"]), hop("usr-3", "usr-6"));
    built_upon(Edit::ExpandDetails(page("usr-1")), Edit::HideDetails(page("usr-1")));
    built_upon(Edit::PinPage(page("usr-3")), Edit::UnpinPage(page("usr-3")));
    built_upon(Edit::FocusPage(page("usr-3")), Edit::FocusPage(page("usr-2")));
    built_upon(custom(Some("a")), custom(Some("b")));
    built_upon(name("a"), name("b"));
    built_upon(name("a"), Edit::SetPermission { segment: id(), permission: Permission::ReadOnly });
    built_upon(turn("hello"), extend("more"));
    built_upon(extend("more"), extend("and more"));
    built_upon(hop("usr-2", "usr-0"), hop("usr-2", "usr-1"));
    built_upon(hop("usr-2", "usr-0"), Edit::RemovePage(page("usr-1")));
    built_upon(hop("usr-2", "oth-0"), update("oth-1", "renamed"));
    built_upon(Edit::RemovePage(page("usr-2")), Edit::RemovePage(page("usr-1")));
    built_upon(
        Edit::RemovePage(page("usr-2")),
        Edit::RestorePage { page: page("usr-2"), to: None },
    );
    built_upon(Edit::ArchivePage(page("usr-2")), Edit::RemovePage(page("usr-2")));
    built_upon(
        Edit::AddSegment(NewSegment::new(segment("new"), SegmentKind::Tool)),
        new_leaf("new-0", "leaf"),
    );
}

// Undo never ties a knot: what stood in a directory that now stands in itself stays where it
// is.
#[test]
fn undo_never_makes_a_page_its_own_ancestor() {
    block_on(async {
        let system = memory().await;
        directory(&system, "usr-0", "outer").await; // usr-1
        directory(&system, "usr-1", "inner").await; // usr-2
        let out = apply(&system, hop("usr-2", "usr-0")).await;
        let under = apply(&system, hop("usr-1", "usr-2")).await;
        let refused = system.as_system().apply(undo(out.revision)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        assert!(refused.to_string().contains(&under.revision.to_string()), "{refused}");
    });
}

// A purge cannot be undone and says so; edits that would need the purged text say so too.
#[test]
fn purge_is_for_good() {
    block_on(async {
        let system = prepared().await;
        let updated = apply(&system, update("usr-2", "renamed")).await;
        let bystander = apply(&system, update("usr-3", "renamed too")).await;
        let purged = apply(&system, Edit::PurgePage(page("usr-2"))).await;
        let refused = system.as_system().apply(undo(purged.revision)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        assert_eq!(
            refused.to_string(),
            format!("revision {} cannot be undone: a purge is permanent", purged.revision)
        );
        let refused = system.as_system().apply(undo(updated.revision)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        assert!(refused.to_string().ends_with("page usr-2 has been purged since"), "{refused}");
        apply(&system, undo(bystander.revision)).await;
    });
}

// Nothing of a purged page's text is left in pages, contents or history.
#[test]
fn purge_leaves_no_text_behind() {
    block_on(async {
        let system = memory().await;
        apply(&system, new_leaf("usr-0", "secret-name")).await;
        let mut change = PageUpdate::of(page("usr-1"));
        change.detail = Some("secret-detail".to_owned());
        change.description = Some(description("secret-description"));
        let changed = apply(&system, Edit::UpdatePage(change)).await;
        apply(&system, undo(changed.revision)).await;
        add_segment(&system, "oth", SegmentKind::Custom, Permission::ReadWrite).await;
        apply(&system, hop("usr-1", "oth-0")).await;
        apply(&system, Edit::PurgePage(page("oth-1"))).await;
        let storage = system.storage();
        let history = system.as_system().reader().history(None, 100).await.unwrap().items;
        let left = format!("{history:?} {:?}", state(&system).await);
        assert!(!left.contains("secret"), "{left}");
        assert!(storage.verify().await.unwrap().is_empty());
        assert_eq!(
            system.as_system().reader().page(&page("usr-1")).await.unwrap_err().kind(),
            ErrorKind::NotFound
        );
    });
}

// An agent takes back its own edits only, as far as it may still write; others' do not exist for
// it.
#[test]
fn agents_undo_their_own_edits_only() {
    block_on(async {
        let system = prepared().await;
        let (left, right) = (agent(&system, "left"), agent(&system, "right"));
        let theirs = right.update_page("usr-2", "right", "").await.unwrap();
        let systems = apply(&system, update("usr-3", "system")).await;
        let own = left.update_page("usr-1", "left", "").await.unwrap();
        let shown = left.expand_details("usr-1").await.unwrap();
        let told = |error: Error| (error.kind(), error.to_string());
        let missing = left.undo(Some(Revision(999))).await.unwrap_err().to_string();
        assert_eq!(
            told(left.undo(Some(theirs.revision)).await.unwrap_err()),
            (ErrorKind::NotFound, missing.replace("999", &theirs.revision.to_string()))
        );
        let refused = left.undo(Some(systems.revision)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        let read_only =
            Edit::SetPermission { segment: segment("usr"), permission: Permission::ReadOnly };
        apply(&system, read_only).await;
        let refused = left.undo(Some(own.revision)).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "permission denied: operation 'undo' on usr-1 requires higher permission"
        );
        // What it shows and hides is its own affair, also under ReadOnly.
        left.undo(Some(shown.revision)).await.unwrap();
    });
}

// Undo is no way around it: under ReadOnly no page of a system prompt gets hidden again.
#[test]
fn undo_hides_no_system_prompt() {
    block_on(async {
        let system = memory().await;
        leaf(&system, "sys-0", "Prompt").await;
        let open = |permission| Edit::SetPermission { segment: segment("sys"), permission };
        apply(&system, open(Permission::ReadWrite)).await;
        let agent = agent(&system, "helper");
        agent.hide_details("sys-1").await.unwrap();
        let shown = agent.expand_details("sys-1").await.unwrap();
        apply(&system, open(Permission::ReadOnly)).await;
        let refused = agent.undo(Some(shown.revision)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{refused}");
        let seen = agent.get_page("sys-1").await.unwrap();
        assert_eq!(seen.visibility, contexture_core::Visibility::Expanded);
    });
}

// Undoing a turn that a later edit went on with is a conflict that names it, also when the later
// edit opened a page of its own.
#[test]
fn a_turn_that_went_on_is_not_undone() {
    block_on(async {
        let system = memory().await;
        let bot = agent(&system, "bot");
        bot.add_turn(vec![user(&"x".repeat(5_000))]).await.expect("it may");
        let begun = system.info().await.expect("it is there").revision;
        bot.extend_turn(vec![assistant("more")]).await.expect("it may");
        let refused = bot.undo(Some(begun)).await.expect_err("it went on");
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        assert!(refused.to_string().contains(&format!("revision {}", begun.next())), "{refused}");
        bot.undo(None).await.expect("the newest goes first");
        bot.undo(None).await.expect("then the turn");
    });
}

// What another view has said since neither blocks an undo nor is told of.
#[test]
fn another_views_levels_do_not_block_undo() {
    block_on(async {
        let system = memory().await;
        add_segment(&system, "w1", SegmentKind::Custom, Permission::ReadWrite).await;
        let (alice, bob) = (agent(&system, "alice"), agent(&system, "bob"));
        let note = alice.create_detail_page("note", "", "x", "usr-0").await.expect("it may");
        bob.pin_page(&note).await.expect("it may");
        let moved = alice.move_page(&note, "w1-0").await.expect("it may").moved[0].1.clone();
        bob.hide_details(&moved).await.expect("it may");
        alice.undo(None).await.expect("bob's levels are his own");
        assert!(bob.get_page(&note).await.expect("it is back").pinned);
    });
}

// An edit that was undone and redone while another view had gone its own way still takes that
// view back to where it was.
#[test]
fn what_a_redo_left_to_another_view_is_undone_with_the_edit() {
    block_on(async {
        let system = memory().await;
        add_segment(&system, "w1", SegmentKind::Custom, Permission::ReadWrite).await;
        let (alice, bob) = (agent(&system, "alice"), agent(&system, "bob"));
        let note = alice.create_detail_page("note", "", "x", "usr-0").await.expect("it may");
        bob.pin_page(&note).await.expect("it may");
        bob.focus_page(&note).await.expect("it may");
        let before = state(&system).await;
        let moving = alice.move_page(&note, "w1-0").await.expect("it may");
        let moved = moving.moved[0].1.clone();
        let after = state(&system).await;
        let hiding = bob.hide_details(&moved).await.expect("it may");
        let looking_away = bob.focus_page("usr-0").await.expect("it may");
        let undone = apply(&system, undo(moving.revision)).await;
        apply(&system, undo(undone.revision)).await;
        apply(&system, undo(looking_away.revision)).await;
        apply(&system, undo(hiding.revision)).await;
        assert_eq!(state(&system).await.differences(&after), [""; 0]);
        apply(&system, undo(moving.revision)).await;
        assert_eq!(state(&system).await.differences(&before), [""; 0]);
    });
}
