//! The whole permission matrix, run on the real operations.

use std::sync::Arc;

use contexture_core::{
    AgentContext, ContextSystem, Edit, ErrorKind, MemoryStorage, NewSegment, Operation, Permission,
    Result, SegmentKind, document::LoadPlan,
};
use contexture_testkit::{
    fixture::{
        add_segment, agent, apply, assistant, calls, confined, directory, empty, leaf, page,
        returned, segment, user,
    },
    state::state,
};
use futures::executor::block_on;

/// ✓ allowed; ✗ permission denied; ! permitted, but a root cannot have that done to it.
///
/// Each pair is (root, child). The seed's matrix with our rulings: expand is a read, and so are pin, unpin and
/// focus; archive, restore and turns are writes; system-level operations pass on a SystemManaged
/// segment; System-kind segments are held against agents; purge, publishing and custom
/// state belong to the system side.
const MATRIX: &[(&str, [&str; 6])] = &[
    //                          System kind          other kinds
    //                          RO    RW    SM       RO    RW    SM
    ("getSegment", ["✓✓", "✓✓", "✓✓", "✓✓", "✓✓", "✓✓"]),
    ("listSegments", ["✓✓", "✓✓", "✓✓", "✓✓", "✓✓", "✓✓"]),
    ("getPage", ["✓✓", "✓✓", "✓✓", "✓✓", "✓✓", "✓✓"]),
    ("getChildren", ["✓✓", "✓✓", "✓✓", "✓✓", "✓✓", "✓✓"]),
    ("getParent", ["✓✓", "✓✓", "✓✓", "✓✓", "✓✓", "✓✓"]),
    ("getAncestors", ["✓✓", "✓✓", "✓✓", "✓✓", "✓✓", "✓✓"]),
    ("findPage", ["✓✓", "✓✓", "✓✓", "✓✓", "✓✓", "✓✓"]),
    ("updatePage", ["✗✗", "✓✓", "✓✓", "✗✗", "✓✓", "✓✓"]),
    ("expandDetails", ["✓✓", "✓✓", "✓✓", "✓✓", "✓✓", "✓✓"]),
    ("hideDetails", ["✗✗", "✗✓", "✗✓", "✓✓", "✓✓", "✓✓"]),
    ("movePage from", ["✗✗", "!✓", "!✓", "✗✗", "!✓", "!✓"]),
    ("movePage to", ["✗✗", "✓✓", "✓✓", "✗✗", "✓✓", "✓✓"]),
    ("removePage", ["✗✗", "!✓", "!✓", "✗✗", "!✓", "!✓"]),
    ("createDetailPage", ["✗✗", "✓✓", "✓✓", "✗✗", "✓✓", "✓✓"]),
    ("createContentsPage", ["✗✗", "✓✓", "✓✓", "✗✗", "✓✓", "✓✓"]),
    ("createContentsPage adopting", ["✗✗", "!✓", "!✓", "✗✗", "!✓", "!✓"]),
    ("addSegment", ["✗✗", "✗✗", "✓✓", "✗✗", "✗✗", "✓✓"]),
    ("removeSegment", ["✗✗", "✗✗", "✗✗", "✗✗", "✗✗", "✓✓"]),
    ("setPermission", ["✗✗", "✗✗", "✗✗", "✗✗", "✗✗", "✓✓"]),
    ("updateSegment", ["✗✗", "✗✗", "✗✗", "✗✗", "✗✗", "✓✓"]),
    ("pinPage", ["✓✓", "✓✓", "✓✓", "✓✓", "✓✓", "✓✓"]),
    ("unpinPage", ["✓✓", "✓✓", "✓✓", "✓✓", "✓✓", "✓✓"]),
    ("focusPage", ["✓✓", "✓✓", "✓✓", "✓✓", "✓✓", "✓✓"]),
    ("archivePage", ["✗✗", "!✓", "!✓", "✗✗", "!✓", "!✓"]),
    ("restorePage", ["✗✗", "!✓", "!✓", "✗✗", "!✓", "!✓"]),
    ("addTurn", ["✗✗", "✓✓", "✓✓", "✗✗", "✓✓", "✓✓"]),
    ("openExchange", ["✗✗", "✓✓", "✓✓", "✗✗", "✓✓", "✓✓"]),
    ("addResults", ["✗✗", "✓✓", "✓✓", "✗✗", "✓✓", "✓✓"]),
    ("closeExchange", ["✗✗", "✓✓", "✓✓", "✗✗", "✓✓", "✓✓"]),
    ("extendTurn", ["✗✗", "✓✓", "✓✓", "✗✗", "✓✓", "✓✓"]),
    ("purgePage", ["✗✗", "✗✗", "✗✗", "✗✗", "✗✗", "✗✗"]),
    ("publishTurn", ["✗✗", "✗✗", "✗✗", "✗✗", "✗✗", "✗✗"]),
    ("setCustom", ["✗✗", "✗✗", "✗✗", "✗✗", "✗✗", "✗✗"]),
    ("load", ["✗✗", "✗✗", "✗✗", "✗✗", "✗✗", "✗✗"]),
];

/// Operations that have their own tests, or are none that anybody asks for.
const ELSEWHERE: [&str; 12] = [
    // `branches::only_the_system_side_begins_a_branch`
    "branchView",
    // What each of its edits is checked as.
    "batch",
    "init",
    "import",
    "recall",
    // `undo::agents_undo_their_own_edits_only`
    "undo",
    // `window_press::anchors_are_checked_like_any_operation`
    "pressAnchor",
    // A view's own state, which is nobody else's.
    "switchLevel",
    "foldPages",
    // What the check of both kinds of creation is called, and names of the two below.
    "createPage",
    "movePage",
    "lost",
];

const PERMISSIONS: [Permission; 3] =
    [Permission::ReadOnly, Permission::ReadWrite, Permission::SystemManaged];
const OTHERS: [SegmentKind; 3] = [SegmentKind::User, SegmentKind::Tool, SegmentKind::Custom];

//
// every
// operation × permission × kind × root and child, on fresh sessions; what is refused changes
// nothing.
#[test]
fn the_permission_matrix_is_the_seeds() {
    for operation in Operation::ALL.iter().map(|operation| operation.as_str()) {
        let known = MATRIX.iter().map(|(name, _)| *name).chain(ELSEWHERE);
        assert!(known.into_iter().any(|name| name == operation), "{operation} is in no test");
    }
    println!("{:28} System RO  RW  SM   other RO  RW  SM   (root, child)", "");
    let mut wrong = Vec::new();
    for (operation, expected) in MATRIX {
        let mut found: Vec<String> = Vec::new();
        for permission in PERMISSIONS {
            found.push(cell(operation, SegmentKind::System, permission));
        }
        for permission in PERMISSIONS {
            let cells = OTHERS.map(|kind| cell(operation, kind, permission));
            assert!(cells.iter().all(|one| *one == cells[0]), "{operation}: {cells:?}");
            found.push(cells[0].clone());
        }
        let line = |cells: &[String]| cells.join("  ");
        println!("{operation:28}        {}         {}", line(&found[..3]), line(&found[3..]));
        if found != expected.map(str::to_owned) {
            wrong.push(format!("{operation}: {found:?}, expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs an operation on the root and on a child and says what came of it.
fn cell(operation: &str, kind: SegmentKind, permission: Permission) -> String {
    let on = |subject: &str| {
        block_on(async {
            let (system, agent) = prepared(operation, kind, permission).await;
            let before = state(&system).await;
            let answer = run(&agent, operation, subject).await;
            let error = match answer {
                Ok(()) => return '✓',
                Err(error) => error,
            };
            let kind = error.kind();
            let begins = error.to_string().starts_with("permission denied: ");
            assert_eq!(begins, kind == ErrorKind::PermissionDenied, "{error}");
            assert_eq!(state(&system).await, before, "{operation} was refused but did something");
            match kind {
                ErrorKind::PermissionDenied => '✗',
                ErrorKind::Invalid => '!',
                other => panic!("{operation} on {subject}: {other}"),
            }
        })
    };
    [on("seg-0"), on("seg-1")].iter().collect()
}

/// A session with the segment under test (a directory `seg-1` with a page in it) and a free one.
async fn prepared(
    operation: &str,
    kind: SegmentKind,
    permission: Permission,
) -> (ContextSystem, AgentContext) {
    let system = empty(Arc::new(MemoryStorage::new())).await;
    add_segment(&system, "seg", kind, Permission::ReadWrite).await;
    add_segment(&system, "oth", SegmentKind::Custom, Permission::SystemManaged).await;
    directory(&system, "seg-0", "child").await;
    leaf(&system, "seg-1", "grandchild").await;
    leaf(&system, "oth-0", "elsewhere").await;
    let agent = confined(&system, "helper", &["oth", "seg"]);
    match operation {
        "extendTurn" => drop(agent.add_turn(vec![user("hello")]).await.unwrap()),
        "addResults" | "closeExchange" => {
            drop(agent.open_exchange(vec![calls("c1", "{}")]).await.unwrap());
        }
        "restorePage" => drop(apply(&system, Edit::RemovePage(page("seg-1"))).await),
        _ => {}
    }
    apply(&system, Edit::SetPermission { segment: segment("seg"), permission }).await;
    (system, agent)
}

async fn run(agent: &AgentContext, operation: &str, subject: &str) -> Result<()> {
    let index = page(subject);
    let id = segment("seg");
    match operation {
        "getSegment" => drop(agent.get_segment(&id)?),
        "listSegments" => assert_eq!(agent.list_segments()?.len(), 2),
        "getPage" => drop(agent.get_page(subject).await?),
        "getChildren" => assert_eq!(agent.get_children(subject).await?.len(), 1),
        "getParent" => {
            let parent = agent.get_parent(subject).await?;
            assert_eq!(parent.is_none(), index.is_root());
        }
        "getAncestors" => drop(agent.get_ancestors(subject).await?),
        "findPage" => {
            let name = if index.is_root() { "SEG" } else { "Child" };
            let found = agent.find_page(name, 10).await?;
            assert!(found.iter().any(|found| found.page.index == index), "{subject} not found");
        }
        "updatePage" => drop(agent.update_page(subject, "New name", "").await?),
        "expandDetails" => drop(agent.expand_details(subject).await?),
        "hideDetails" => drop(agent.hide_details(subject).await?),
        "movePage from" => {
            let to = if index.is_root() { "oth-0" } else { "seg-0" };
            drop(agent.move_page(subject, to).await?);
        }
        "movePage to" => drop(agent.move_page("oth-1", subject).await?),
        "removePage" => drop(agent.remove_page(subject).await?),
        "createDetailPage" => drop(agent.create_detail_page("Leaf", "", "text", subject).await?),
        "createContentsPage" => drop(agent.create_contents_page("Dir", "", subject, &[]).await?),
        "createContentsPage adopting" => {
            let parent = if index.is_root() { "seg-1" } else { "seg-0" };
            drop(agent.create_contents_page("Dir", "", parent, &[index]).await?);
        }
        "addSegment" => {
            let new = NewSegment::new(segment("new"), SegmentKind::Custom);
            drop(agent.add_segment(new).await?);
        }
        "removeSegment" => drop(agent.remove_segment(id).await?),
        "setPermission" => drop(agent.set_permission(id, Permission::ReadOnly).await?),
        "updateSegment" => drop(agent.update_segment(id, "New name", "").await?),
        "pinPage" => drop(agent.pin_page(subject).await?),
        "unpinPage" => drop(agent.unpin_page(subject).await?),
        "focusPage" => drop(agent.focus_page(subject).await?),
        "archivePage" => drop(agent.archive_page(subject).await?),
        "restorePage" => drop(agent.restore_page(subject).await?),
        "addTurn" => drop(agent.add_turn(vec![user("hello")]).await?),
        "extendTurn" => drop(agent.extend_turn(vec![assistant("hello")]).await?),
        "openExchange" => drop(agent.open_exchange(vec![calls("c1", "{}")]).await?),
        "addResults" => drop(agent.add_results(vec![returned("c1", "hello")]).await?),
        "closeExchange" => drop(agent.close_exchange().await?),
        "purgePage" => drop(agent.apply(Edit::PurgePage(index)).await?),
        "publishTurn" => {
            let (segment, agent_name) = (index.segment().clone(), agent.agent().clone());
            let messages = vec![assistant("done")];
            let edit = Edit::PublishTurn { segment, agent: agent_name, messages, sources: vec![] };
            drop(agent.apply(edit).await?);
        }
        "setCustom" => {
            let value = Some("x".to_owned());
            drop(agent.apply(Edit::SetCustom { key: "goal".parse()?, value }).await?);
        }
        "load" => {
            let plan = LoadPlan { segments: Vec::new(), pages: Vec::new(), times: None };
            drop(agent.apply(Edit::Load(Box::new(plan))).await?);
        }
        unknown => panic!("{unknown} is not in the test"),
    }
    Ok(())
}

// both refusals, word for word.
#[test]
fn refusals_read_as_the_seed_says() {
    block_on(async {
        let system = contexture_testkit::fixture::memory().await;
        leaf(&system, "sys-0", "Prompt").await;
        leaf(&system, "usr-0", "Note").await;
        let agent = agent(&system, "helper");
        agent.update_page("usr-1", "新名称", "新描述").await.unwrap();
        let refused = agent.update_page("sys-1", "修改系统", "...").await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "permission denied: operation 'updatePage' on sys-1 requires higher permission"
        );
        let refused = agent.hide_details("sys-0").await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "permission denied: cannot hide system prompt root page sys-0: agent must remain constrained by system prompts"
        );
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        // The hints are true: the system side cannot hide them either, and can do what they say.
        let hint = refused.advice().to_string();
        assert!(hint.starts_with("leave it: nobody can hide"), "{hint}");
        let page_hint = agent.hide_details("sys-1").await.unwrap_err().advice().to_string();
        assert!(page_hint.contains("archive it or make the segment read-write"), "{page_hint}");
        for prompt in ["sys-0", "sys-1"] {
            let own = system.as_system().apply(Edit::HideDetails(page(prompt))).await.unwrap_err();
            let hint = own.advice().to_string();
            assert!(!hint.contains("hide a page below"), "{hint}");
        }
        apply(&system, Edit::ArchivePage(page("sys-1"))).await;
        apply(&system, Edit::RestorePage { page: page("sys-1"), to: None }).await;
        let permission = Permission::ReadWrite;
        apply(&system, Edit::SetPermission { segment: segment("sys"), permission }).await;
        apply(&system, Edit::HideDetails(page("sys-1"))).await;
    });
}

// index, then existence, then permission; the system root before the
// level; of two pages the first that fails is told.
#[test]
fn checks_come_in_order() {
    block_on(async {
        let system = contexture_testkit::fixture::memory().await;
        leaf(&system, "sys-0", "Prompt").await;
        leaf(&system, "usr-0", "Note").await;
        let agent = agent(&system, "helper");
        let told = |result: Result<_>| result.map(drop).unwrap_err().to_string();
        let index = told(agent.update_page("sys-01", "x", "").await);
        assert!(index.starts_with("invalid page index 'sys-01'"), "{index}");
        assert_eq!(told(agent.update_page("sys-9", "x", "").await), "page sys-9 not found");
        let moved = told(agent.move_page("usr-1", "sys-0").await);
        assert_eq!(
            moved,
            "permission denied: operation 'movePage' on sys-0 requires higher permission"
        );
        let both = told(agent.move_page("sys-1", "usr-1").await);
        assert!(both.contains("'movePage' on sys-1"), "{both}");
        // Of two that are refused, the page itself is named.
        let first = told(agent.move_page("sys-1", "sys-0").await);
        assert!(first.contains("'movePage' on sys-1"), "{first}");
        let created = told(agent.apply(contexture_testkit::fixture::new_leaf("sys-0", "x")).await);
        assert!(created.contains("operation 'createPage' on sys-0"), "{created}");
    });
}

// What an agent adds joins its own view only; System-kind segments come from the system side.
#[test]
fn agents_add_segments_to_their_own_view_only() {
    block_on(async {
        let system = contexture_testkit::fixture::memory().await;
        add_segment(&system, "own", SegmentKind::Custom, Permission::SystemManaged).await;
        let builder = confined(&system, "builder", &["usr", "own"]);
        let other = agent(&system, "other");
        builder.add_segment(NewSegment::new(segment("lab"), SegmentKind::Tool)).await.unwrap();
        assert!(builder.get_segment(&segment("lab")).is_ok());
        assert_eq!(
            other.get_segment(&segment("lab")).unwrap_err().to_string(),
            "segment lab not found"
        );
        let forged = NewSegment::new(segment("sys2"), SegmentKind::System);
        let refused = builder.add_segment(forged).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
    });
}
