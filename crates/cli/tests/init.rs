use serde_json::{Value, json};

use crate::support::{Sandbox, error};

#[test]
fn it_makes_a_session_with_its_two_segments() {
    let sandbox = Sandbox::empty();
    let segment = |id: &str, name: &str, kind: &str, permission: &str| {
        json!({
            "id": id, "name": name, "description": "", "segmentType": kind, "permission": permission,
            "rootIndex": format!("{id}-0"), "maxCapacity": 0, "nextIndex": 0, "owner": null,
        })
    };
    let made = |created: bool| {
        json!({
            "session": "default",
            "store": "sqlite:.contexture/contexture.db",
            "created": created,
            "segments": [segment("sys", "System", "system", "read-only"), segment("usr", "User", "user", "read-write")],
        })
    };
    assert_eq!(sandbox.json(&["init"]), made(true));
    let state = sandbox.state();
    assert_eq!(sandbox.json(&["init"]), made(false));
    assert_eq!(sandbox.state(), state, "a second init changes nothing");
    assert_eq!(sandbox.json(&["history"])["items"].as_array().unwrap().len(), 1);
}

#[test]
fn the_system_prompt_is_put_updated_and_left_alone() {
    let sandbox = Sandbox::empty();
    sandbox.write("system.md", "Be careful.");
    sandbox.json(&["init", "--system", "system.md"]);
    let prompt = sandbox.json(&["page", "show", "sys-1"]);
    assert_eq!(
        (&prompt["name"], &prompt["detail"], &prompt["visibility"]),
        (&json!("System prompt"), &json!("Be careful."), &json!("Expanded"))
    );

    sandbox.json(&["init", "--system", "system.md"]);
    assert_eq!(sandbox.json(&["page", "show", "sys-1"]), prompt, "the same text changes nothing");

    sandbox.json_from(&["init", "--system", "-"], "Be bold.");
    let updated = sandbox.json(&["page", "show", "sys-1"]);
    assert_eq!((&updated["detail"], &updated["version"]), (&json!("Be bold."), &json!(2)));
    assert_eq!(sandbox.indices(&["page", "children", "sys-0"]), ["sys-1"]);
}

#[test]
fn what_a_session_lacks_is_added() {
    let sandbox = Sandbox::empty();
    sandbox.json(&["session", "create", "default"]);
    sandbox.write("system.md", "Be careful.");
    let made = sandbox.json(&["init", "--system", "system.md"]);
    assert_eq!((&made["created"], made["segments"].as_array().unwrap().len()), (&json!(false), 2));
    assert_eq!(sandbox.json(&["page", "show", "sys-1"])["detail"], "Be careful.");
}

#[test]
fn a_prompt_that_cannot_be_read_makes_nothing() {
    let sandbox = Sandbox::empty();
    sandbox.write("latin1.md", b"caf\xe9");
    assert_eq!(
        sandbox.refused(&["init", "--system", "latin1.md"]),
        error("invalid", "latin1.md is not valid UTF-8 at byte 3")
    );
    assert_eq!(
        sandbox.refused(&["init", "--system", "nowhere.md"]),
        error("not-found", "file nowhere.md not found")
    );
    assert_eq!(sandbox.refused(&["init", "--system", "."]).0, "invalid");
    assert_eq!(sandbox.files(), ["latin1.md"]);
}

// Several at once: one makes the session, the others find it.
#[test]
fn it_can_be_run_by_several_at_once() {
    let sandbox = Sandbox::empty();
    std::thread::scope(|scope| {
        let runs: Vec<_> =
            (0..8).map(|_| scope.spawn(|| sandbox.json(&["init"])["created"].clone())).collect();
        let created: Vec<Value> = runs.into_iter().map(|run| run.join().unwrap()).collect();
        assert_eq!(created.iter().filter(|created| **created == json!(true)).count(), 1);
    });
    assert_eq!(sandbox.json(&["history"])["items"].as_array().unwrap().len(), 1);
}
