use serde_json::Value;

use crate::support::{Sandbox, error};

// Both refusals, word for word.
#[test]
fn refusals_name_the_operation_and_the_page() {
    let sandbox = Sandbox::with_pages();
    assert_eq!(
        sandbox.unchanged(&["--as", "bee", "page", "update", "sys-1", "--name", "Mine"]),
        error(
            "permission-denied",
            "permission denied: operation 'updatePage' on sys-1 requires higher permission"
        )
    );
    assert_eq!(
        sandbox.unchanged(&["--as", "bee", "page", "hide", "sys-0"]),
        error(
            "permission-denied",
            "permission denied: cannot hide system prompt root page sys-0: agent must remain constrained by system prompts"
        )
    );
    let ran = sandbox.run(&["--as", "bee", "page", "update", "sys-1", "--name", "Mine"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert_eq!(
        ran.err,
        "error: permission denied: operation 'updatePage' on sys-1 requires higher permission\n\
         hint: ask the system side to do it or to change the segment's permission\n"
    );
}

#[test]
fn a_read_only_segment_can_be_read_and_arranged_but_not_changed() {
    let sandbox = Sandbox::with_pages();
    let denied = [
        &["page", "create", "--parent", "sys-0", "--name", "x"][..],
        &["page", "create", "--contents", "--parent", "sys-0", "--name", "x"],
        &["page", "move", "sys-1", "--to", "usr-0"],
        &["page", "move", "usr-1", "--to", "sys-0"],
        &["page", "archive", "sys-1"],
        &["page", "remove", "sys-1"],
        &["page", "hide", "sys-1"],
        &["turn", "add", "--segment", "sys", "--user", "x"],
        &["segment", "add", "own", "--kind", "user", "--permission", "1"],
        &["segment", "update", "usr", "--permission", "2"],
        &["segment", "remove", "usr", "--cascade"],
    ];
    for args in denied {
        let (kind, message) = sandbox.unchanged(&[&["--as", "bee"], args].concat());
        assert_eq!(kind, "permission-denied", "{args:?}: {message}");
        assert!(message.starts_with("permission denied: "), "{message}");
    }
    for verb in ["show", "expand", "pin", "unpin", "focus"] {
        sandbox.json(&["--as", "bee", "page", verb, "sys-1"]);
    }
}

// The system side's commands are refused before anything is opened or made.
#[test]
fn an_agent_is_kept_from_the_system_sides_commands() {
    let sandbox = Sandbox::empty();
    sandbox.write("document.json", "{}");
    for args in [
        &["init"][..],
        &["session", "list"],
        &["session", "create", "x"],
        &["session", "remove", "x"],
        &["session", "set", "a", "b"],
        &["import", "document.json"],
        &["export"],
        &["load", "document.json"],
        &["store", "check"],
        &["agents", "list"],
        &["tour"],
    ] {
        let (kind, message) = sandbox.refused(&[&["--as", "bee"], args].concat());
        assert_eq!(kind, "permission-denied");
        let expected = format!("permission denied: '{}' belongs to the system side", args[0]);
        assert_eq!(message, expected);
    }
    assert_eq!(
        sandbox.refused(&["--as", "bee", "page", "purge", "usr-1"]),
        error(
            "permission-denied",
            "permission denied: operation 'purgePage' on usr-1 belongs to the system side"
        )
    );
    assert_eq!(sandbox.files(), ["document.json"]);
    assert_eq!(sandbox.run(&["--as", "bee", "completions", "bash"]).code, 0);
}

#[test]
fn the_agent_can_be_named_after_the_command() {
    let sandbox = Sandbox::with_pages();
    assert_eq!(sandbox.refused(&["page", "hide", "sys-0", "--as", "bee"]).0, "permission-denied");
    assert_eq!(sandbox.refused(&["page", "--as", "bee", "hide", "sys-0"]).0, "permission-denied");
}

#[test]
fn agents_need_a_proper_name() {
    let sandbox = Sandbox::empty();
    for name in ["", "Bee", "system", "a--b", "../x"] {
        let (kind, message) = sandbox.refused(&["--as", name, "page", "list"]);
        assert_eq!(kind, "invalid");
        assert!(message.starts_with("invalid agent name"), "{message}");
    }
}

// What is not in view does not exist, whatever it is asked for.
#[test]
fn what_is_anothers_own_does_not_exist() {
    let sandbox = Sandbox::with_pages();
    sandbox.json(&["segment", "add", "agent-ant", "--kind", "user", "--permission", "1"]);
    sandbox.json(&["page", "create", "--parent", "agent-ant-0", "--name", "Note of ant"]);
    for (secret, missing) in [("agent-ant-1", "usr-99"), ("agent-ant-0", "gone-0")] {
        for verb in ["show", "children", "ancestors", "tree", "expand", "remove"] {
            let seen = sandbox.refused(&["--as", "bee", "page", verb, secret]);
            let gone = sandbox.refused(&["--as", "bee", "page", verb, missing]);
            assert_eq!(seen.0, "not-found");
            assert_eq!(seen.1.replace(secret, missing), gone.1, "both look the same");
        }
    }
    assert_eq!(sandbox.refused(&["--as", "bee", "segment", "show", "agent-ant"]).0, "not-found");
    assert_eq!(sandbox.indices(&["--as", "bee", "page", "find", "note"]), ["usr-1"]);
    assert_eq!(sandbox.indices(&["--as", "ant", "page", "find", "note"]), ["usr-1", "agent-ant-1"]);
    assert!(!sandbox.text(&["--as", "bee", "page", "tree"]).contains("agent-ant"));
}

// Two agents on one session: what one expands, hides or pins leaves the other's listing untouched.
#[test]
fn views_do_not_touch_each_other() {
    let sandbox = Sandbox::with_pages();
    let listing =
        |caller: &[&str]| -> Value { sandbox.json(&[caller, &["page", "list"]].concat()) };
    let (ant, system) = (listing(&["--as", "ant"]), listing(&[]));
    for args in [["expand", "usr-1"], ["pin", "usr-1"], ["hide", "usr-0"], ["focus", "usr-2"]] {
        sandbox.json(&[&["--as", "bee", "page"], &args[..]].concat());
    }
    let bee = listing(&["--as", "bee"]);
    let page = |list: &Value, at: usize, field: &str| list["items"][at][field].clone();
    assert_eq!(page(&bee, 3, "index"), "usr-1");
    assert_eq!(page(&bee, 3, "visibility"), "Expanded");
    assert_eq!(page(&bee, 3, "lifecycle"), "HotArchived", "its own root is hidden");
    assert_eq!(page(&bee, 3, "pinned"), true);
    assert_eq!(listing(&["--as", "ant"]), ant);
    assert_eq!(listing(&[]), system);

    // The system side's levels are everybody's default, except where a view has its own.
    sandbox.json(&["page", "expand", "usr-2"]);
    sandbox.json(&["page", "hide", "usr-1"]);
    assert_eq!(page(&listing(&["--as", "ant"]), 4, "visibility"), "Expanded");
    assert_eq!(sandbox.unchanged(&["page", "hide", "sys-1"]).0, "invalid");
    assert_eq!(page(&listing(&["--as", "ant"]), 1, "visibility"), "Expanded");
    assert_eq!(page(&listing(&["--as", "bee"]), 3, "visibility"), "Expanded");
}
