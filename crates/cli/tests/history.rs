use serde_json::{Value, json};

use crate::support::{Sandbox, error, timeless};

#[test]
fn history_is_newest_first_and_undo_is_part_of_it() {
    let sandbox = Sandbox::new();
    sandbox.json(&["page", "create", "--parent", "usr-0", "--name", "A"]);
    sandbox.json(&["--as", "bee", "page", "update", "usr-1", "--name", "B"]);
    let undone = sandbox.json(&["undo", "3"]);
    assert_eq!(undone, json!({ "revision": 4, "undone": 3, "pages": ["usr-1"] }));
    let entry = |revision: u64, actor: &str, operation: &str, pages: &[&str], more: Value| {
        let mut entry = json!({
            "revision": revision, "at": "TIME", "actor": actor, "view": actor,
            "operation": operation, "pages": pages,
        });
        entry.as_object_mut().unwrap().append(&mut more.as_object().unwrap().clone());
        entry
    };
    let mut undo = entry(4, "system", "undo", &["usr-1"], json!({ "undoes": 3 }));
    undo["view"] = "bee".into();
    assert_eq!(
        timeless(sandbox.json(&["history"])),
        json!({
            "items": [
                undo,
                entry(3, "bee", "updatePage", &["usr-1"], json!({ "undoneBy": 4 })),
                entry(2, "system", "createDetailPage", &["usr-1"], json!({})),
                entry(1, "system", "init", &["sys-0", "usr-0"], json!({ "segments": ["sys", "usr"] })),
            ],
            "next": null,
        })
    );
    let part = sandbox.json(&["history", "--limit", "1"]);
    assert_eq!((&part["items"][0]["revision"], &part["next"]), (&json!(4), &json!("4")));
    let rest = sandbox.json(&["history", "--cursor", "2"]);
    assert_eq!((&rest["items"][0]["revision"], &rest["next"]), (&json!(1), &json!(null)));
}

#[test]
fn undo_takes_back_newest_first_until_nothing_is_left() {
    let sandbox = Sandbox::new();
    sandbox.json(&["--as", "bee", "page", "create", "--parent", "usr-0", "--name", "A"]);
    sandbox.json(&["--as", "bee", "page", "pin", "usr-1"]);
    let undo = || sandbox.json(&["--as", "bee", "undo"])["undone"].clone();
    assert_eq!([undo(), undo()], [3, 2]);
    assert_eq!(
        sandbox.unchanged(&["--as", "bee", "undo"]),
        error("not-found", "nothing to undo: bee has made no edit that is still in effect")
    );
    assert_eq!(sandbox.refused(&["page", "show", "usr-1", "--archived"]).0, "not-found");
    // Naming an undo does the edit again.
    sandbox.json(&["--as", "bee", "undo", "5"]);
    assert_eq!(sandbox.json(&["page", "show", "usr-1"])["name"], "A");
}

#[test]
fn what_was_built_upon_is_a_conflict_that_names_it() {
    let sandbox = Sandbox::new();
    sandbox.json(&["page", "create", "--parent", "usr-0", "--name", "A"]);
    sandbox.json(&["page", "update", "usr-1", "--name", "B"]);
    assert_eq!(
        sandbox.unchanged(&["undo", "2"]),
        error("conflict", "revision 2 cannot be undone: revision 3 changed page usr-1 since")
    );
    assert_eq!(sandbox.unchanged(&["undo", "99"]), error("not-found", "revision 99 not found"));
    assert_eq!(sandbox.unchanged(&["undo", "two"]).0, "invalid");
    assert_eq!(sandbox.unchanged(&["history", "--cursor", "x"]).0, "invalid");
}

// With --as only the caller's own edits and the system side's, on pages in view.
#[test]
fn an_agent_sees_its_own_history() {
    let sandbox = Sandbox::new();
    sandbox.json(&["segment", "add", "agent-ant", "--kind", "user", "--permission", "1"]);
    sandbox.json(&["page", "create", "--parent", "agent-ant-0", "--name", "Hidden from bee"]);
    sandbox.json(&["--as", "ant", "page", "pin", "usr-0"]);
    sandbox.json(&["--as", "bee", "page", "pin", "usr-0"]);
    let revisions = |agent: &str| -> Vec<u64> {
        let list = sandbox.json(&["--as", agent, "history"]);
        let items = list["items"].as_array().unwrap().iter();
        items.map(|entry| entry["revision"].as_u64().unwrap()).collect()
    };
    assert_eq!(revisions("bee"), [5, 1]);
    assert_eq!(revisions("ant"), [4, 3, 2, 1]);
    assert_eq!(sandbox.unchanged(&["--as", "bee", "undo", "4"]).0, "not-found");
    assert_eq!(sandbox.unchanged(&["--as", "bee", "undo", "1"]).0, "permission-denied");
}

#[test]
fn history_names_users() {
    let sandbox = Sandbox::new();
    let newest = || {
        let entry = sandbox.json(&["history", "--limit", "1"])["items"][0].clone();
        (entry["actor"].clone(), entry["view"].clone(), entry["operation"].clone())
    };
    sandbox.json(&["--by", "anna", "page", "create", "--parent", "usr-0", "--name", "A"]);
    assert_eq!(newest(), ("user:anna".into(), "system".into(), "createDetailPage".into()));
    assert_eq!(sandbox.json(&["page", "show", "usr-1"])["author"], "user:anna");
    sandbox.write("talk.jsonl", "{\"role\":\"user\",\"content\":\"Hello.\"}\n");
    sandbox.json(&["--by", "anna", "import", "talk.jsonl"]);
    assert_eq!(newest(), ("user:anna".into(), "system".into(), "import".into()));
    // Who is no agent and gives no name is the system side, with edits of its own to take back.
    assert_eq!(sandbox.refused(&["undo"]).0, "not-found");
    let mut named = sandbox.command(&["undo"]);
    named.env("CONTEXTURE_USER", "anna").assert().success();
    assert_eq!(newest(), ("user:anna".into(), "system".into(), "undo".into()));
    sandbox.json(&["--by", "anna", "page", "purge", "usr-1"]);
    assert_eq!(newest(), ("user:anna".into(), "system".into(), "purgePage".into()));
    // One cannot act as two.
    sandbox.command(&["--by", "anna", "--as", "bee", "undo"]).assert().code(2);
    assert_eq!(sandbox.refused(&["--by", "two words", "undo"]).0, "invalid");
}
