use serde_json::{Value, json};

use crate::support::{Sandbox, error};

#[test]
fn segments_are_added_shown_updated_listed_and_removed() {
    let sandbox = Sandbox::new();
    let notes = |name: &str, permission: &str, capacity: u64| {
        json!({
            "id": "notes", "name": name, "description": "for later", "segmentType": "custom",
            "permission": permission, "rootIndex": "notes-0", "maxCapacity": capacity,
            "nextIndex": 0, "owner": null,
        })
    };
    let added = sandbox.json(&[
        "segment",
        "add",
        "notes",
        "--kind",
        "custom",
        "--permission",
        "read-write",
        "--name",
        "My notes",
        "--description",
        "for later",
        "--capacity",
        "100",
    ]);
    assert_eq!(added, notes("My notes", "read-write", 100));
    assert_eq!(sandbox.json(&["segment", "show", "notes"]), added);
    assert_eq!(sandbox.json(&["page", "show", "notes-0"])["type"], "ContentsPage");

    let updated = sandbox.json(&[
        "segment",
        "update",
        "notes",
        "--name",
        "Notes",
        "--permission",
        "system-managed",
        "--capacity",
        "0",
        "--description",
        "",
    ]);
    assert_eq!(updated, notes("Notes", "system-managed", 0), "empty is unchanged");

    let ids = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().unwrap().iter();
        items.map(|segment| segment["id"].as_str().unwrap().to_owned()).collect()
    };
    let list = sandbox.json(&["segment", "list"]);
    assert_eq!(
        (ids(&list), &list["next"]),
        (vec!["sys".into(), "usr".into(), "notes".into()], &Value::Null)
    );
    let list = sandbox.json(&["segment", "list", "--limit", "1", "--cursor", "sys"]);
    assert_eq!((ids(&list), &list["next"]), (vec!["usr".into()], &json!("usr")));

    assert_eq!(sandbox.json(&["segment", "remove", "notes"]), updated);
    assert_eq!(
        sandbox.refused(&["segment", "show", "notes"]),
        error("not-found", "segment notes not found")
    );
    assert_eq!(sandbox.refused(&["segment", "list", "--cursor", "notes"]).0, "not-found");
}

#[test]
fn the_numbers_of_the_seed_are_read() {
    let sandbox = Sandbox::new();
    let added = sandbox.json(&["segment", "add", "t", "--kind", "2", "--permission", "1"]);
    assert_eq!(
        (&added["segmentType"], &added["permission"]),
        (&json!("tool"), &json!("read-write"))
    );
}

#[test]
fn a_segment_is_owned_by_the_agent_it_is_named_after() {
    let sandbox = Sandbox::new();
    let added =
        sandbox.json(&["segment", "add", "agent-bee", "--kind", "user", "--permission", "1"]);
    assert_eq!(added["owner"], "agent:bee");
}

// Pages need --cascade, kind system needs --force.
#[test]
fn removal_needs_to_be_meant() {
    let sandbox = Sandbox::with_pages();
    assert_eq!(
        sandbox.unchanged(&["segment", "remove", "usr"]),
        error("conflict", "segment usr still holds pages")
    );
    assert_eq!(sandbox.unchanged(&["segment", "remove", "sys", "--cascade"]).0, "invalid");
    sandbox.json(&["segment", "remove", "usr", "--cascade"]);
    sandbox.json(&["segment", "remove", "sys", "--cascade", "--force"]);
    assert_eq!(sandbox.indices(&["page", "list"]), [""; 0]);
    sandbox.json(&["undo"]);
    sandbox.json(&["undo"]);
    assert_eq!(sandbox.indices(&["page", "list"]), ["sys-0", "sys-1", "usr-0", "usr-1", "usr-2"]);
}

#[test]
fn giving_agents_write_access_to_system_prompts_needs_yes() {
    let sandbox = Sandbox::with_pages();
    let loosened = |permission: &str| {
        let says = format!(
            "segment sys holds system prompts: with {permission}, agents that see it can rewrite, hide, move and remove all of its pages except the root, and so their own instructions"
        );
        error("invalid", &says)
    };
    let update = ["segment", "update", "sys", "--permission"];
    for permission in ["read-write", "system-managed"] {
        let asked = [&update[..], &[permission]].concat();
        assert_eq!(sandbox.unchanged(&asked), loosened(permission));
        let add = ["segment", "add", "sys", "--kind", "system", "--permission", permission];
        assert_eq!(sandbox.unchanged(&add), loosened(permission));
    }
    let rename = ["--as", "bee", "page", "update", "sys-1", "--name", "Mine"];
    assert_eq!(sandbox.unchanged(&rename).0, "permission-denied");

    sandbox.json(&[&update[..], &["read-write", "--yes"]].concat());
    assert_eq!(sandbox.json(&rename)["name"], "Mine", "what the matrix allows stays allowed");
    // Nothing is loosened by saying again what holds, nor by tightening.
    sandbox.json(&[&update[..], &["read-write", "--name", "Prompts"]].concat());
    sandbox.json(&[&update[..], &["read-only"]].concat());
    assert_eq!(sandbox.unchanged(&rename).0, "permission-denied");
    // Other kinds need no confirmation.
    sandbox.json(&["segment", "update", "usr", "--permission", "system-managed"]);
}

#[test]
fn bad_segments_change_nothing() {
    let sandbox = Sandbox::new();
    let add = |id: &str, kind: &str, permission: &str, more: &[&str]| {
        let args = ["segment", "add", id, "--kind", kind, "--permission", permission];
        sandbox.unchanged(&[&args[..], more].concat())
    };
    assert_eq!(
        add("usr", "user", "read-only", &[]),
        error("conflict", "segment usr already exists")
    );
    assert_eq!(
        add("a", "robot", "read-only", &[]),
        error("invalid", "unknown segment kind 'robot'")
    );
    assert_eq!(add("a", "user", "root", &[]), error("invalid", "unknown permission 'root'"));
    assert_eq!(add("a", "user", "3", &[]), error("invalid", "unknown permission '3'"));
    assert_eq!(add("a/b", "user", "read-only", &[]).0, "invalid");
    assert_eq!(add("a", "user", "read-only", &["--name", "a\nb"]).0, "invalid");
    for capacity in ["-1", "many", "1.5"] {
        assert_eq!(add("a", "user", "read-only", &["--capacity", capacity]).0, "invalid");
    }
    assert_eq!(
        sandbox.unchanged(&["segment", "update", "usr"]),
        error("invalid", "nothing to change in segment usr")
    );
    assert_eq!(sandbox.unchanged(&["segment", "update", "gone", "--name", "x"]).0, "not-found");
    assert_eq!(sandbox.unchanged(&["segment", "remove", "gone"]).0, "not-found");
}
