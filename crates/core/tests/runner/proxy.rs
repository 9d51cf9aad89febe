//! The agent's proxy: the one layer an agent has, which checks and holds nothing of its own.

use std::{fs, path::Path};

use contexture_core::{
    AgentContext, ContextSystem, Edit, ErrorKind, PageUpdate, Permission, SegmentKind,
};
use contexture_testkit::{
    fixture::{
        add_segment, agent, apply, directory, leaf, memory, new_directory, new_leaf, page, valid,
    },
    state::state,
};
use futures::executor::block_on;

/// A session with a read-only segment: a directory `ro-1` with a page `ro-2` in it, and `ro-3`.
async fn prepared() -> (ContextSystem, AgentContext) {
    let system = memory().await;
    add_segment(&system, "ro", SegmentKind::Custom, Permission::ReadOnly).await;
    directory(&system, "ro-0", "dir").await;
    leaf(&system, "ro-1", "note").await;
    leaf(&system, "ro-0", "other").await;
    let agent = agent(&system, "helper");
    (system, agent)
}

fn update(index: &str) -> Edit {
    Edit::UpdatePage(PageUpdate { name: Some(valid("new")), ..PageUpdate::of(page(index)) })
}

// B-56: what the proxy refuses under ReadOnly, the context system makes unchecked, for each
// of the seed's operations; what the proxy refuses leaves no trace.
#[test]
fn the_proxy_checks_and_the_context_system_does_not() {
    let edits = [
        (update("ro-2"), false),
        (Edit::MovePage { page: page("ro-2"), to: page("ro-0") }, false),
        (Edit::RemovePage(page("ro-2")), false),
        (Edit::ExpandDetails(page("ro-2")), true),
        (Edit::HideDetails(page("ro-2")), true),
        (new_leaf("ro-1", "x"), false),
        (new_directory("ro-1", "x", &["ro-3"]), false),
    ];
    for (edit, may) in edits {
        block_on(async {
            let (system, agent) = prepared().await;
            let before = state(&system).await;
            match agent.apply(edit.clone()).await {
                Ok(_) => assert!(may, "{edit:?}"),
                Err(error) => {
                    assert_eq!(
                        (error.kind(), may),
                        (ErrorKind::PermissionDenied, false),
                        "{edit:?}"
                    );
                    assert_eq!(state(&system).await, before, "{edit:?}");
                }
            }
            apply(&system, edit).await;
        });
    }
}

// what is wrong with an operation beyond permission reaches the agent in the system's words.
#[test]
fn errors_pass_through_the_proxy_unchanged() {
    block_on(async {
        let (system, agent) = prepared().await;
        directory(&system, "usr-0", "outer").await;
        directory(&system, "usr-1", "inner").await;
        for edit in [
            Edit::MovePage { page: page("usr-1"), to: page("usr-2") },
            Edit::RemovePage(page("usr-0")),
            Edit::UpdatePage(PageUpdate::of(page("usr-1"))),
            new_leaf("usr-9", "x"),
            new_directory("usr-0", "x", &["usr-1", "usr-1"]),
        ] {
            let told = agent.apply(edit.clone()).await.unwrap_err();
            let own = system.as_system().apply(edit).await.unwrap_err();
            assert_eq!((told.to_string(), told.kind()), (own.to_string(), own.kind()));
            assert_ne!(told.kind(), ErrorKind::PermissionDenied);
        }
    });
}

// a proxy that was made earlier sees every later change at once, whoever makes it: it has
// no page or segment of its own.
#[test]
fn a_proxy_sees_every_change_at_once() {
    block_on(async {
        let (system, early) = prepared().await;
        let name = |index: &'static str| {
            let early = &early;
            async move { early.get_page(index).await.unwrap().page.name.to_string() }
        };
        assert_eq!(name("ro-2").await, "note");
        apply(&system, update("ro-2")).await;
        assert_eq!(name("ro-2").await, "new");
        agent(&system, "other").create_detail_page("by other", "", "", "usr-0").await.unwrap();
        assert_eq!(name("usr-1").await, "by other");
        add_segment(&system, "late", SegmentKind::Custom, Permission::ReadWrite).await;
        assert!(early.list_segments().unwrap().iter().any(|segment| segment.id == valid("late")));
        apply(&system, Edit::RemovePage(page("usr-1"))).await;
        assert_eq!(early.get_page("usr-1").await.unwrap_err().kind(), ErrorKind::NotFound);
    });
}

/// Reads the sources below a folder.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(fs::read_to_string(path).unwrap());
        }
    }
}

// nothing that an agent's proxy, or the reader it gives, hands out leads to the context system or
// the storage behind it: no public function of theirs returns one, and no field is public.
#[test]
fn nothing_leads_from_the_proxy_to_the_context_system() {
    let mut tools = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/src/tools"), &mut tools);
    assert!(tools.len() > 5 && tools.iter().all(|file| !file.contains("ContextSystem")));
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let mut looked_at = 0;
    for file in &files {
        let mut rest = file.as_str();
        while let Some(at) = rest.find("\nimpl") {
            let block = &rest[at + 1..];
            let end = block.find("\n}").unwrap_or(block.len());
            let (head, body) = block[..end].split_once('{').unwrap_or((&block[..end], ""));
            rest = &block[end..];
            let of = |name: &str| head.split([' ', '<', '>']).any(|word| word == name);
            if !of("AgentContext") && !of("Reader") && !of("Session") {
                continue;
            }
            for function in body.split("\n    pub ").skip(1) {
                let signature = function.split(['{', ';']).next().unwrap_or_default();
                let Some((_, returned)) = signature.rsplit_once("->") else { continue };
                looked_at += 1;
                for inner in ["ContextSystem", "PageStorage"] {
                    assert!(!returned.contains(inner), "{signature}");
                }
            }
        }
        for name in ["pub struct AgentContext {", "pub struct Session {", "pub struct Reader<'a> {"]
        {
            if let Some((_, fields)) = file.split_once(name) {
                let fields = fields.split_once('}').unwrap().0;
                assert!(!fields.contains("\n    pub "), "{name}{fields}");
            }
        }
    }
    assert!(looked_at > 40, "{looked_at}");
}

// what puts a session into somebody's hands, and what takes an edit past one, by name.
#[test]
fn unchecked_doors_are_known() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let (mut doors, mut hands) = (Vec::new(), Vec::new());
    for file in &files {
        for block in file.split("\nimpl ContextSystem {").skip(1) {
            let body = block.split("\n}").next().unwrap();
            for function in body.split("\n    pub ").skip(1) {
                let signature = function.split(['{', ';']).next().unwrap();
                let (given, returned) = signature.split_once("->").unwrap_or((signature, ""));
                if given.starts_with('(') {
                    continue;
                }
                let name = given.split("fn ").nth(1).and_then(|it| it.split(['(', '<']).next());
                if given.contains("Edit") {
                    doors.extend(name.map(str::to_owned));
                }
                if returned.trim() == "Session" {
                    hands.extend(name.map(str::to_owned));
                }
            }
        }
    }
    doors.sort();
    hands.sort();
    assert_eq!(hands, ["as_system", "held_by"]);
    assert_eq!(doors, ["apply_with_runs", "create_with"]);
}
