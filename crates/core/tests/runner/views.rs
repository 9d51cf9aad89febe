//! Views: two agents on one session, and what an agent can know of what it does not see.

use contexture_core::{
    Advice, AgentContext, ContextSystem, Edit, Error, ErrorKind, Lifecycle, ListQuery, NewSegment,
    Operation, PageIndex, PageView, Permission, Revision, SegmentKind, Visibility, WindowLevel,
};
use contexture_testkit::fixture::{
    add_segment, agent, apply, assistant, confined, directory, leaf, memory, new_directory,
    new_leaf, page, segment, user,
};
use futures::executor::block_on;

async fn listing(agent: &AgentContext) -> Vec<PageView> {
    let query = ListQuery { limit: 1_000, ..ListQuery::default() };
    agent.list_pages(&query).await.unwrap().items
}

/// `usr-1` holds `usr-2` and `usr-3`, all expanded by the system side.
async fn prepared() -> ContextSystem {
    let system = memory().await;
    leaf(&system, "sys-0", "Prompt").await;
    directory(&system, "usr-0", "plans").await;
    leaf(&system, "usr-1", "one").await;
    leaf(&system, "usr-1", "two").await;
    for index in ["usr-1", "usr-2"] {
        apply(&system, Edit::ExpandDetails(page(index))).await;
    }
    system
}

// what one agent expands, hides, pins or focuses leaves the other's listing,
// levels
// and focus untouched.
#[test]
fn agents_do_not_change_each_others_levels() {
    block_on(async {
        let system = prepared().await;
        let (left, right) = (agent(&system, "left"), agent(&system, "right"));
        apply(&system, Edit::HideDetails(page("usr-3"))).await;
        let (before, children) =
            (listing(&right).await, right.get_children("usr-1").await.unwrap());
        let side = system.as_system().reader().page(&page("usr-2")).await.unwrap();
        left.expand_details("usr-3").await.unwrap();
        left.hide_details("usr-2").await.unwrap();
        left.pin_page("usr-3").await.unwrap();
        left.unpin_page("usr-1").await.unwrap();
        left.focus_page("usr-3").await.unwrap();
        left.hide_details("usr-1").await.unwrap();
        left.hide_details("usr-0").await.unwrap();
        assert_eq!(listing(&right).await, before);
        assert_eq!(right.get_children("usr-1").await.unwrap(), children);
        assert_eq!(right.reader().focus().await.unwrap(), None);
        assert_eq!(system.as_system().reader().page(&page("usr-2")).await.unwrap(), side);
        let own = left.get_page("usr-3").await.unwrap();
        assert_eq!((own.visibility, own.pinned), (Visibility::Expanded, true));
        assert_eq!(own.lifecycle, Lifecycle::HotArchived);
        assert_eq!(left.reader().focus().await.unwrap(), Some(page("usr-3")));
    });
}

// B-43: the system side's expand, hide and pin are everybody's default until they say
// otherwise; its
// focus is its own.
#[test]
fn the_system_sides_levels_are_defaults() {
    block_on(async {
        let system = prepared().await;
        let (left, right) = (agent(&system, "left"), agent(&system, "right"));
        left.hide_details("usr-2").await.unwrap();
        left.unpin_page("usr-3").await.unwrap();
        for edit in [
            Edit::HideDetails(page("usr-2")),
            Edit::ExpandDetails(page("usr-3")),
            Edit::PinPage(page("usr-3")),
            Edit::FocusPage(page("usr-3")),
            Edit::ExpandDetails(page("usr-2")),
        ] {
            apply(&system, edit).await;
        }
        let seen = |page: PageView| (page.visibility, page.level, page.pinned);
        let expanded = (Visibility::Expanded, WindowLevel::Full, true);
        assert_eq!(seen(right.get_page("usr-3").await.unwrap()), expanded);
        assert_eq!(right.get_page("usr-2").await.unwrap().visibility, Visibility::Expanded);
        assert_eq!(right.reader().focus().await.unwrap(), None);
        assert_eq!(left.get_page("usr-2").await.unwrap().visibility, Visibility::Hidden);
        assert!(!left.get_page("usr-3").await.unwrap().pinned);
        apply(&system, Edit::HideDetails(page("usr-1"))).await;
        assert_eq!(right.get_page("usr-1").await.unwrap().visibility, Visibility::Hidden);
    });
}

// P-02, P-22: lifecycle is derived for each view; levels are remembered while archived.
#[test]
fn lifecycle_is_derived_for_each_view() {
    block_on(async {
        let system = prepared().await;
        let (left, right) = (agent(&system, "left"), agent(&system, "right"));
        left.hide_details("usr-1").await.unwrap();
        let hidden = left.get_page("usr-2").await.unwrap();
        assert_eq!(
            (hidden.lifecycle, hidden.visibility),
            (Lifecycle::HotArchived, Visibility::Expanded)
        );
        assert_eq!(left.get_page("usr-1").await.unwrap().lifecycle, Lifecycle::Active);
        assert_eq!(right.get_page("usr-2").await.unwrap().lifecycle, Lifecycle::Active);
        let refused = left.expand_details("usr-3").await.unwrap_err();
        assert_eq!(refused.to_string(), "page usr-3 is under usr-1, which is hidden");
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        right.archive_page("usr-1").await.unwrap();
        assert_eq!(right.get_page("usr-2").await.unwrap().lifecycle, Lifecycle::HotArchived);
        right.restore_page("usr-1").await.unwrap();
        left.expand_details("usr-1").await.unwrap();
        assert_eq!(left.get_page("usr-2").await.unwrap().lifecycle, Lifecycle::Active);
        right.remove_page("usr-1").await.unwrap();
        let archived = left.reader().page_or_archived(&page("usr-2")).await.unwrap();
        assert_eq!(archived.lifecycle, Lifecycle::ColdArchived);
    });
}

/// A session with a segment `hid` (a directory `hid-1` with `hid-2`) that `keeper` sees and `helper`
/// does not.
async fn divided() -> (ContextSystem, AgentContext, AgentContext) {
    let system = prepared().await;
    add_segment(&system, "hid", SegmentKind::Custom, Permission::SystemManaged).await;
    directory(&system, "hid-0", "hidden plans").await;
    leaf(&system, "hid-1", "hidden one").await;
    let helper = confined(&system, "helper", &["sys", "usr"]);
    let keeper = confined(&system, "keeper", &["usr", "hid"]);
    (system, helper, keeper)
}

/// Every operation that names a page, on `index`.
async fn name_everywhere(agent: &AgentContext, index: &str) -> Vec<Error> {
    let named = page(index);
    let root: PageIndex = named.segment().root();
    let mut errors: Vec<Error> = Vec::new();
    errors.push(agent.get_page(index).await.unwrap_err());
    errors.push(agent.get_messages(index).await.unwrap_err());
    errors.push(agent.get_children(index).await.unwrap_err());
    errors.push(agent.get_parent(index).await.unwrap_err());
    errors.push(agent.get_ancestors(index).await.unwrap_err());
    errors.push(agent.check_permission(index, Operation::UpdatePage).await.unwrap_err());
    errors.push(agent.reader().page_or_archived(&named).await.unwrap_err());
    errors.push(agent.reader().child_count(&named).await.unwrap_err());
    errors.push(agent.get_segment(named.segment()).unwrap_err());
    let id = named.segment().clone();
    let mut with_source = match new_leaf("usr-1", "copy") {
        Edit::CreateDetailPage(new) => new,
        other => panic!("{other:?}"),
    };
    with_source.sources = vec![named.clone()];
    for edit in [
        Edit::UpdatePage(contexture_core::PageUpdate::of(named.clone())),
        Edit::ExpandDetails(named.clone()),
        Edit::HideDetails(named.clone()),
        Edit::PinPage(named.clone()),
        Edit::UnpinPage(named.clone()),
        Edit::FocusPage(named.clone()),
        Edit::ArchivePage(named.clone()),
        Edit::RemovePage(named.clone()),
        Edit::PurgePage(named.clone()),
        Edit::RestorePage { page: named.clone(), to: None },
        Edit::RestorePage { page: named.clone(), to: Some(page("usr-1")) },
        Edit::MovePage { page: named.clone(), to: page("usr-1") },
        Edit::MovePage { page: page("usr-2"), to: named.clone() },
        new_leaf(index, "x"),
        new_directory(index, "x", &[]),
        new_directory("usr-1", "x", &[index]),
        Edit::CreateDetailPage(with_source),
        Edit::AddTurn { segment: id.clone(), messages: vec![user("x")] },
        Edit::ExtendTurn { segment: id.clone(), messages: vec![assistant("x")] },
        Edit::SetPermission { segment: id.clone(), permission: Permission::ReadOnly },
        Edit::RemoveSegment { segment: id, cascade: true, force: true },
        Edit::RestorePage { page: root, to: None },
    ] {
        let told = format!("{edit:?}");
        errors.push(agent.apply(edit).await.expect_err(&told));
    }
    errors
}

// missing and outside the view give the same error, whatever is tried.
#[test]
fn missing_and_outside_are_the_same() {
    block_on(async {
        let (_, helper, _) = divided().await;
        let outside = name_everywhere(&helper, "hid-1").await;
        let missing = name_everywhere(&helper, "nil-1").await;
        for (outside, missing) in outside.iter().zip(&missing) {
            assert_eq!(outside.kind(), ErrorKind::NotFound, "{outside}");
            assert_eq!(outside.to_string().replace("hid", "nil"), missing.to_string());
            assert_eq!(outside.advice(), missing.advice());
        }
    });
}

// nothing outside the view is listed, found, or in the history an agent is shown.
#[test]
fn what_is_not_mounted_does_not_exist() {
    block_on(async {
        let (system, helper, keeper) = divided().await;
        let both = apply(
            &system,
            Edit::Batch(vec![new_leaf("hid-1", "hidden two"), new_leaf("usr-1", "open two")]),
        )
        .await;
        keeper.create_detail_page("keeper's", "", "", "usr-0").await.unwrap();
        let seen = listing(&helper).await;
        assert!(seen.iter().all(|page| page.page.index.segment().as_str() != "hid"));
        assert_eq!(helper.find_page("HIDDEN", 10).await.unwrap(), []);
        assert_eq!(keeper.find_page("HIDDEN", 10).await.unwrap().len(), 3);
        let ids = |agent: &AgentContext| {
            let segments = agent.list_segments().unwrap();
            segments.iter().map(|segment| segment.id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(ids(&helper), ["sys", "usr"]);
        let history = helper.history(None, 100).await.unwrap().items;
        assert!(!format!("{history:?}").contains("hid-"), "{history:?}");
        let of_both = history.iter().find(|entry| entry.revision == both.revision).unwrap();
        assert_eq!(of_both.pages, [page("usr-4")]);
        assert!(history.iter().all(|entry| entry.actor.to_string() != "keeper"));
        assert!(history.iter().all(|entry| entry.inverse == Default::default()));
        // The archive is seen within the view only, too.
        apply(&system, Edit::RemovePage(page("hid-1"))).await;
        let archive = ListQuery { limit: 10, archived: true, ..ListQuery::default() };
        assert_eq!(helper.list_pages(&archive).await.unwrap().items, []);
        assert_eq!(keeper.list_pages(&archive).await.unwrap().items.len(), 3);
    });
}

// a view is an ordered list; everything is listed in its order.
#[test]
fn a_view_has_its_own_order() {
    block_on(async {
        let (system, _, _) = divided().await;
        let agent = confined(&system, "helper", &["hid", "usr", "sys"]);
        let ids: Vec<String> =
            agent.list_segments().unwrap().iter().map(|segment| segment.id.to_string()).collect();
        assert_eq!(ids, ["hid", "usr", "sys"]);
        let pages: Vec<String> =
            listing(&agent).await.iter().map(|page| page.page.index.to_string()).collect();
        let expected =
            ["hid-0", "hid-1", "hid-2", "usr-0", "usr-1", "usr-2", "usr-3", "sys-0", "sys-1"];
        assert_eq!(pages, expected);
        // In pieces it is the same list.
        let mut pieces: Vec<String> = Vec::new();
        let mut after = None;
        loop {
            let query = ListQuery { after, limit: 2, ..ListQuery::default() };
            let piece = agent.list_pages(&query).await.unwrap();
            after = piece.items.last().map(|page| page.page.index.clone());
            pieces.extend(piece.items.iter().map(|page| page.page.index.to_string()));
            if !piece.more {
                break;
            }
        }
        assert_eq!(pieces, expected);
    });
}

// Other agents' and groups' own segments are not in the common view.
#[test]
fn own_segments_are_invisible_to_others() {
    block_on(async {
        let system = memory().await;
        for id in ["agent-left", "prompt-left", "agent-right", "group-team"] {
            add_segment(&system, id, SegmentKind::Custom, Permission::ReadWrite).await;
        }
        let ids = |name: &str| {
            let segments = agent(&system, name).list_segments().unwrap();
            segments.iter().map(|segment| segment.id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(ids("left"), ["sys", "usr", "agent-left", "prompt-left"]);
        assert_eq!(ids("right"), ["sys", "usr", "agent-right"]);
        let missing = agent(&system, "right").get_page("agent-left-0").await.unwrap_err();
        assert_eq!(missing.to_string(), "page agent-left-0 not found");
    });
}

// An old index says where the page went only to those who see that place.
#[test]
fn moved_pages_are_followed_only_within_the_view() {
    block_on(async {
        let (system, helper, keeper) = divided().await;
        let moved = apply(&system, Edit::MovePage { page: page("usr-2"), to: page("hid-1") }).await;
        assert_eq!(moved.moved, [(page("usr-2"), page("hid-3"))]);
        let told = keeper.get_page("usr-2").await.unwrap_err();
        assert_eq!(told.to_string(), "page usr-2 not found: moved to hid-3");
        assert_eq!((told.kind(), told.advice()), (ErrorKind::NotFound, Advice::text("use hid-3")));
        assert_eq!(helper.get_page("usr-2").await.unwrap_err().to_string(), "page usr-2 not found");
        let write = keeper.update_page("usr-2", "x", "").await.unwrap_err();
        assert_eq!(write.to_string(), "page usr-2 not found: moved to hid-3");
        let write = helper.update_page("usr-2", "x", "").await.unwrap_err();
        assert_eq!(write.to_string(), "page usr-2 not found");
        // Moved on and back into view, it is told again, at its last place.
        apply(&system, Edit::MovePage { page: page("hid-3"), to: page("usr-1") }).await;
        let told = helper.get_page("usr-2").await.unwrap_err();
        assert_eq!(told.to_string(), "page usr-2 not found: moved to usr-4");
    });
}

// The archive of a removed segment does not come into view with its name.
#[test]
fn a_removed_segments_name_stays_taken_for_those_who_did_not_see_it() {
    block_on(async {
        let (system, _, keeper) = divided().await;
        add_segment(&system, "lab", SegmentKind::Custom, Permission::SystemManaged).await;
        let intruder = confined(&system, "intruder", &["usr", "lab"]);
        let remove = Edit::RemoveSegment { segment: segment("hid"), cascade: true, force: false };
        apply(&system, remove).await;
        let new = || contexture_core::NewSegment::new(segment("hid"), SegmentKind::Custom);
        let refused = intruder.add_segment(new()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        let gone = intruder.reader().page_or_archived(&page("hid-2")).await.unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound);
        drop(keeper);
        // The system side may use the name again, and its archive is there again for those who see it.
        apply(&system, Edit::AddSegment(new())).await;
        let archived = system.as_system().reader().page_or_archived(&page("hid-2")).await.unwrap();
        assert_eq!(archived.lifecycle, Lifecycle::ColdArchived);
    });
}

// P-05: a bare number names a page only where the view holds exactly one segment.
#[test]
fn bare_numbers_need_a_view_of_one_segment() {
    block_on(async {
        let (system, helper, _) = divided().await;
        let single = confined(&system, "single", &["usr"]);
        assert_eq!(single.get_page("2").await.unwrap().page.index, page("usr-2"));
        assert_eq!(helper.get_page("2").await.unwrap_err().kind(), ErrorKind::Invalid);
    });
}

// B-22, B-57: the owner is looked up exactly, never by prefix.
#[test]
fn segments_are_never_found_by_prefix() {
    block_on(async {
        let system = memory().await;
        add_segment(&system, "pub", SegmentKind::Custom, Permission::ReadWrite).await;
        add_segment(&system, "pub-secure", SegmentKind::Custom, Permission::ReadOnly).await;
        leaf(&system, "pub-secure-0", "vault").await;
        leaf(&system, "pub-0", "note").await;
        let both = agent(&system, "helper");
        let refused = both.update_page("pub-secure-1", "x", "").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        both.update_page("pub-1", "x", "").await.unwrap();
        let one = confined(&system, "one", &["pub"]);
        let missing = one.get_page("pub-secure-1").await.unwrap_err();
        assert_eq!(missing.to_string(), "page pub-secure-1 not found");
    });
}

// History is in order, in pieces, newest first.
#[test]
fn history_is_read_in_pieces() {
    block_on(async {
        let system = prepared().await;
        let agent = agent(&system, "helper");
        for name in ["a", "b", "c", "d"] {
            agent.update_page("usr-2", name, "").await.unwrap();
        }
        let all = agent.history(None, 100).await.unwrap();
        assert!(!all.more && all.items.is_sorted_by(|a, b| a.revision > b.revision));
        let first = agent.history(None, 2).await.unwrap();
        assert!(first.more);
        let before: Option<Revision> = first.items.last().map(|entry| entry.revision);
        let rest = agent.history(before, 100).await.unwrap();
        assert_eq!([first.items, rest.items].concat(), all.items);
    });
}

// What a page was made from, and the turn it was part of, are not named where they are out of view.
#[test]
fn links_to_what_is_out_of_view_are_left_out() {
    block_on(async {
        let system = memory().await;
        add_segment(&system, "agent-bob", SegmentKind::User, Permission::ReadWrite).await;
        let origin = leaf(&system, "agent-bob-0", "secret").await;
        let moved = Edit::MovePage { page: origin.clone(), to: page("usr-0") };
        let at = apply(&system, moved).await.pages[0].clone();
        let alice = agent(&system, "alice").get_page(&at).await.expect("it is in view");
        assert_eq!(alice.page.sources, []);
        let bob = agent(&system, "bob").get_page(&at).await.expect("it is in view");
        assert_eq!(bob.page.sources, [origin]);
    });
}

// An agent takes neither a name that stands for another nor one whose archive is not its own.
#[test]
fn names_of_others_are_not_taken() {
    block_on(async {
        let system = memory().await;
        let usr = segment("usr");
        apply(&system, Edit::SetPermission { segment: usr, permission: Permission::SystemManaged })
            .await;
        add_segment(&system, "policy", SegmentKind::Custom, Permission::ReadOnly).await;
        let gone = Edit::RemoveSegment { segment: segment("policy"), cascade: true, force: true };
        apply(&system, gone).await;
        let alice = agent(&system, "alice");
        let add = |id: &str| alice.add_segment(NewSegment::new(segment(id), SegmentKind::Custom));
        for id in ["agent-bob", "prompt-bob", "group-team"] {
            let refused = add(id).await.expect_err("it is not hers");
            assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{id}");
        }
        assert_eq!(add("policy").await.expect_err("it is not hers").kind(), ErrorKind::Conflict);
        add("agent-alice").await.expect("it is hers");
        add("scratch").await.expect("it is free");
    });
}
