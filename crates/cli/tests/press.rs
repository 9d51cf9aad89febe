use serde_json::json;

use crate::support::{Sandbox, error};

#[test]
fn each_anchor_prints_what_its_command_prints() {
    let sandbox = Sandbox::with_pages();
    let pressed = sandbox.json(&["press", "expand-usr-1"]);
    assert_eq!(pressed, sandbox.json(&["page", "show", "usr-1"]));
    assert_eq!(pressed["visibility"], "Expanded");
    assert_eq!(sandbox.json(&["press", "hide-usr-1"])["visibility"], "Hidden");

    let made = sandbox.json(&["press", "create-usr-0", "name=Plan", "detail=a=b"]);
    assert_eq!((&made["index"], &made["detail"]), (&json!("usr-3"), &json!("a=b")));
    let changed = sandbox.json(&["press", "update-usr-3", "description=-what to do"]);
    assert_eq!(
        (&changed["name"], &changed["description"]),
        (&json!("Plan"), &json!("-what to do"))
    );
    assert_eq!(
        sandbox.json(&["press", "move-usr-3", "to=usr-2"]),
        json!({ "moved": [{ "from": "usr-3", "to": "usr-3" }] })
    );
    assert_eq!(
        sandbox.json(&["press", "find", "query=plan"]),
        sandbox.json(&["page", "find", "plan"])
    );
    assert_eq!(sandbox.text(&["press", "find", "query=plan"]), "usr-3  Plan  name, out\n");
    let operations: Vec<String> = sandbox.json(&["history"])["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["operation"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        operations[..5],
        ["movePage", "updatePage", "createDetailPage", "hideDetails", "expandDetails"]
    );
}

#[test]
fn the_buttons_of_the_window_can_be_pressed() {
    let sandbox = Sandbox::with_pages();
    let window = sandbox.text(&["window"]);
    let buttons: Vec<&str> =
        window.split("[button:").skip(1).map(|rest| rest.split_once(']').unwrap().0).collect();
    assert!(buttons.contains(&"expand-usr-1"), "{window}");
    for button in buttons {
        sandbox.json(&["press", button]);
    }
}

// An anchor whose page has moved on is a conflict that names the fresh one.
#[test]
fn a_stale_anchor_names_the_fresh_one() {
    let sandbox = Sandbox::with_pages();
    sandbox.json(&["press", "expand-usr-1"]);
    assert_eq!(
        sandbox.unchanged(&["press", "expand-usr-1"]),
        error("conflict", "anchor 'expand-usr-1' is stale: usr-1 is already expanded")
    );
    let ran = sandbox.run(&["press", "expand-usr-1"]);
    assert!(ran.err.ends_with("hint: press hide-usr-1\n"), "{}", ran.err);
    sandbox.json(&["page", "remove", "usr-1"]);
    assert_eq!(sandbox.unchanged(&["press", "hide-usr-1"]).0, "conflict");
}

#[test]
fn what_is_no_anchor_or_no_parameter_is_refused() {
    let sandbox = Sandbox::with_pages();
    for (kind, args) in [
        ("not-found", &["press", "nothing"][..]),
        ("not-found", &["press", "expand-usr-99"]),
        ("invalid", &["press", "usr-1"]),
        ("invalid", &["press", "find"]),
        ("invalid", &["press", "find", "query"]),
        ("invalid", &["press", "find", "query=a", "query=b"]),
        ("invalid", &["press", "create-usr-0", "colour=red", "name=x"]),
        ("invalid", &["press", "move-usr-1", "to=nowhere"]),
    ] {
        assert_eq!(sandbox.unchanged(args).0, kind, "{args:?}");
    }
    assert_eq!(sandbox.unchanged(&["--as", "bee", "press", "hide-sys-0"]).0, "permission-denied");
    let denied = sandbox.unchanged(&["--as", "bee", "press", "update-sys-1", "name=Mine"]);
    assert_eq!(denied.0, "permission-denied");
}
