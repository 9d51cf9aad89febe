use serde_json::json;

use crate::support::{Sandbox, error};

/// A document as the seed writes them.
const SEED: &str = r#"{
  "segments": [
    {"id": "sys", "name": "System", "rootIndex": "sys-0", "permission": 0, "maxCapacity": 10000},
    {"id": "usr", "name": "User", "rootIndex": "usr-0", "permission": 1, "maxCapacity": 0}
  ],
  "pages": {
    "sys-0": {"type": "ContentsPage", "name": "System Prompts"},
    "usr-0": {"type": "ContentsPage", "name": "User Interactions"}
  },
  "nextIndex": 42,
  "createdAt": "2025-02-06T10:00:00Z",
  "updatedAt": "2025-02-06T10:30:00Z"
}"#;

#[test]
fn what_is_exported_loads_again() {
    let sandbox = Sandbox::with_pages();
    sandbox.json(&["turn", "add", "--user", "Hello"]);
    sandbox.json(&["page", "remove", "usr-2"]);
    let document = sandbox.text(&["export"]);
    sandbox.write("session.json", &document);
    let loaded = sandbox.json(&["--session", "copy", "load", "session.json"]);
    assert_eq!(loaded, json!({ "session": "copy", "segments": 2, "pages": 6, "warnings": [] }));
    let pages = |session: &str| {
        let mut list = sandbox.json(&["--session", session, "page", "list"]);
        for page in list["items"].as_array_mut().unwrap() {
            page.as_object_mut().unwrap().remove("version");
        }
        list
    };
    assert_eq!(pages("copy"), pages("default"));
    assert_eq!(sandbox.indices(&["--session", "copy", "page", "list", "--archived"]), ["usr-2"]);
    let next = ["--session", "copy", "page", "create", "--parent", "usr-0", "--name", "Next"];
    assert_eq!(sandbox.json(&next)["index"], "usr-4", "numbers are never reused");
}

#[test]
fn the_sample_of_the_seed_loads() {
    let sandbox = Sandbox::empty();
    let sample = include_str!("../../core/src/document/sample.txt").replace(", ...", "");
    let loaded = sandbox.json_from(&["load", "-"], &sample);
    assert_eq!((&loaded["segments"], &loaded["pages"]), (&json!(2), &json!(4)));
    let segment = sandbox.json(&["segment", "show", "usr"]);
    assert_eq!(
        (&segment["segmentType"], &segment["permission"], &segment["maxCapacity"]),
        (&json!("user"), &json!("read-write"), &json!(4_000))
    );
    assert_eq!(segment["nextIndex"], 5);
    let exported: serde_json::Value = serde_json::from_str(&sandbox.text(&["export"])).unwrap();
    let given: serde_json::Value = serde_json::from_str(&sample).unwrap();
    for key in ["nextIndex", "createdAt", "updatedAt"] {
        assert_eq!(exported[key], given[key], "{key}");
    }
}

#[test]
fn a_session_that_holds_something_is_not_loaded_into() {
    let sandbox = Sandbox::with_pages();
    sandbox.write("seed.json", SEED);
    let before = sandbox.state();
    let (kind, _) = sandbox.refused(&["load", "seed.json"]);
    assert!(kind == "conflict" || kind == "invalid", "{kind}");
    assert_eq!(sandbox.state(), before);
    sandbox.json(&["session", "create", "empty"]);
    sandbox.json(&["--session", "empty", "load", "seed.json"]);
}

#[test]
fn a_document_with_anything_wrong_makes_nothing() {
    let sandbox = Sandbox::empty();
    let invalid = |document: &[u8]| {
        sandbox.write("document.json", document);
        let (kind, message) = sandbox.refused(&["load", "document.json"]);
        assert_eq!(kind, "invalid");
        assert!(message.starts_with("invalid document: "), "{message}");
        assert_eq!(sandbox.files(), ["document.json"], "nothing is made");
    };
    let with = |from: &str, to: &str| {
        assert!(SEED.contains(from));
        SEED.replace(from, to)
    };
    invalid(b"");
    invalid(b"not JSON");
    invalid(b"[]");
    invalid(b"{\"segments\": [], \"pages\": {\"\xff\": 1}}");
    invalid(with("\"permission\": 1", "\"permission\": 7").as_bytes());
    invalid(with("\"permission\": 1", "\"permission\": \"root\"").as_bytes());
    invalid(with("\"maxCapacity\": 0", "\"maxCapacity\": -1").as_bytes());
    invalid(with("\"id\": \"usr\"", "\"id\": \"../usr\"").as_bytes());
    invalid(
        with("ContentsPage\", \"name\": \"User Interactions\"", "Robot\", \"name\": \"x\"")
            .as_bytes(),
    );
    let page = |page: &str| with("\"usr-0\": {", &format!("{page}, \"usr-0\": {{"));
    invalid(page(r#""usr-1": {"type": "DetailPage", "name": "x", "parent": "usr-9"}"#).as_bytes());
    invalid(page(r#""usr-01": {"type": "DetailPage", "name": "x"}"#).as_bytes());
    invalid(page(r#""usr-1": {"type": "DetailPage", "name": ""}"#).as_bytes());
    invalid(page(r#""usr-1": {"type": "DetailPage", "name": "x", "visibility": 9}"#).as_bytes());
    invalid(
        page(
            r#""usr-1": {"type": "ContentsPage", "name": "x", "parent": "usr-2"},
               "usr-2": {"type": "ContentsPage", "name": "y", "parent": "usr-1"}"#,
        )
        .as_bytes(),
    );
    invalid(
        page(
            r#""usr-1": {"type": "DetailPage", "name": "x"},
               "usr-2": {"type": "DetailPage", "name": "y", "parent": "usr-1"}"#,
        )
        .as_bytes(),
    );
    assert_eq!(
        sandbox.refused(&["load", "nowhere.json"]),
        error("not-found", "file nowhere.json not found")
    );
}

// A file that hides the system prompt's root is repaired, with a warning.
#[test]
fn reports_repairs() {
    let sandbox = Sandbox::empty();
    let hidden = SEED.replace(
        r#""name": "System Prompts""#,
        r#""name": "System Prompts", "visibility": "Hidden""#,
    );
    sandbox.write("document.json", &hidden);
    let ran = sandbox.run(&["load", "document.json"]);
    assert_eq!(ran.code, 0);
    assert!(ran.err.starts_with("warning: ") && ran.err.contains("sys-0"), "{}", ran.err);
    assert_eq!(sandbox.json(&["page", "show", "sys-0"])["visibility"], "Expanded");
}
