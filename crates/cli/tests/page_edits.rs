use serde_json::{Value, json};

use crate::support::{Sandbox, error};

fn fields(page: &Value, names: [&str; 3]) -> [Value; 3] {
    names.map(|name| page[name].clone())
}

#[test]
fn pages_are_created_with_texts_from_anywhere() {
    let sandbox = Sandbox::new();
    sandbox.write("text.md", "from a file\n");
    let create = ["page", "create", "--parent", "usr-0", "--name"];
    let page =
        sandbox.json(&[&create[..], &["A", "--description", "d", "--detail", "- item"]].concat());
    assert_eq!(fields(&page, ["index", "description", "detail"]), ["usr-1", "d", "- item"]);
    assert_eq!(page["visibility"], "Expanded");
    let page =
        sandbox.json(&[&create[..], &["B", "--detail-file", "text.md", "--hidden"]].concat());
    assert_eq!(
        fields(&page, ["index", "detail", "visibility"]),
        ["usr-2", "from a file\n", "Hidden"]
    );
    let page =
        sandbox.json_from(&[&create[..], &["C", "--detail-file", "-"]].concat(), "from stdin");
    assert_eq!(fields(&page, ["index", "detail", "level"]), ["usr-3", "from stdin", "full"]);
    let page = sandbox.json(&[&create[..], &["D"]].concat());
    assert_eq!((&page["detail"], &page["messageCount"]), (&json!(""), &json!(0)));
    let page = sandbox.json(
        &[&create[..], &["E", "--contents", "--child", "usr-3", "--child", "usr-1"]].concat(),
    );
    assert_eq!((&page["index"], &page["children"]), (&json!("usr-5"), &json!(["usr-3", "usr-1"])));
}

#[test]
fn updates_change_what_is_given() {
    let sandbox = Sandbox::with_pages();
    let update = |args: &[&str]| sandbox.json(&[&["page", "update", "usr-1"], args].concat());
    let page = update(&["--name", "New", "--description", "about"]);
    assert_eq!(fields(&page, ["name", "description", "detail"]), ["New", "about", "one"]);
    let page = update(&["--name", "", "--detail", "two", "--description", ""]);
    assert_eq!(fields(&page, ["name", "description", "detail"]), ["New", "about", "two"]);
    let page = update(&["--clear", "description", "--clear", "detail"]);
    assert_eq!(fields(&page, ["name", "description", "detail"]), ["New", "", ""]);
    assert_eq!(page["version"], 4);
    let page = update(&["--detail", "three", "--if-version", "4"]);
    assert_eq!(page["version"], 5);
    assert_eq!(
        sandbox.unchanged(&["page", "update", "usr-1", "--name", "x", "--if-version", "4"]),
        error("conflict", "page usr-1 is at version 5, not 4")
    );
}

#[test]
fn updates_that_make_no_sense_change_nothing() {
    let sandbox = Sandbox::with_pages();
    let update = |args: &[&str]| sandbox.unchanged(&[&["page", "update", "usr-1"], args].concat());
    assert_eq!(update(&[]), error("invalid", "nothing to change in page usr-1"));
    assert_eq!(update(&["--name", ""]), error("invalid", "nothing to change in page usr-1"));
    assert_eq!(update(&["--clear", "name"]), error("invalid", "unknown value for --clear 'name'"));
    assert_eq!(update(&["--clear", "detail", "--detail", "x"]).0, "invalid");
    assert_eq!(
        sandbox.unchanged(&["page", "update", "usr-2", "--detail", "x"]),
        error("invalid", "page usr-2 is not a DetailPage")
    );
}

#[test]
fn levels_pins_and_focus() {
    let sandbox = Sandbox::with_pages();
    let act = |verb: &str| sandbox.json(&["page", verb, "usr-1"]);
    assert_eq!(
        fields(&act("expand"), ["index", "visibility", "level"]),
        ["usr-1", "Expanded", "full"]
    );
    assert_eq!(
        fields(&act("hide"), ["index", "visibility", "level"]),
        ["usr-1", "Hidden", "summary"]
    );
    assert_eq!(act("pin")["pinned"], true);
    assert_eq!(act("unpin")["pinned"], false);
    assert_eq!(act("focus")["index"], "usr-1");
}

#[test]
fn archive_remove_restore() {
    let sandbox = Sandbox::with_pages();
    let act = |args: &[&str]| sandbox.json(&[&["page"], args].concat())["lifecycle"].clone();
    assert_eq!(act(&["archive", "usr-1"]), "HotArchived");
    assert_eq!(act(&["restore", "usr-1"]), "Active");
    assert_eq!(act(&["remove", "usr-1"]), "ColdArchived");
    assert_eq!(sandbox.indices(&["page", "children", "usr-0"]), ["usr-2"]);
    assert_eq!(act(&["restore", "usr-1"]), "Active");
    assert_eq!(sandbox.indices(&["page", "children", "usr-0"]), ["usr-1", "usr-2"]);
    sandbox.json(&["page", "expand", "usr-2"]);
    assert_eq!(act(&["remove", "usr-1"]), "ColdArchived");
    let page = sandbox.json(&["page", "restore", "usr-1", "--to", "usr-2"]);
    assert_eq!(fields(&page, ["index", "parent", "lifecycle"]), ["usr-1", "usr-2", "Active"]);
    assert_eq!(
        sandbox.unchanged(&["page", "restore", "usr-1"]),
        error("invalid", "page usr-1 is not archived")
    );
}

// Of a removed segment a page is restored to a named place, under a new index.
#[test]
fn a_page_of_a_removed_segment_is_restored_elsewhere() {
    let sandbox = Sandbox::with_pages();
    sandbox.json(&["segment", "remove", "usr", "--cascade"]);
    assert_eq!(sandbox.unchanged(&["page", "restore", "usr-1"]).0, "invalid");
    let page = sandbox.json(&["page", "restore", "usr-1", "--to", "sys-0"]);
    assert_eq!(fields(&page, ["index", "parent", "detail"]), ["sys-2", "sys-0", "one"]);
    assert_eq!(page["sources"], json!(["usr-1"]));
}

#[test]
fn moves_list_old_and_new_indices() {
    let sandbox = Sandbox::with_pages();
    let moved = sandbox.json(&["page", "move", "usr-1", "--to", "usr-2"]);
    assert_eq!(moved, json!({ "moved": [{ "from": "usr-1", "to": "usr-1" }] }));
    let moved = sandbox.json(&["page", "move", "usr-2", "--to", "sys-0"]);
    assert_eq!(
        moved,
        json!({ "moved": [{ "from": "usr-2", "to": "sys-2" }, { "from": "usr-1", "to": "sys-3" }] })
    );
    assert_eq!(
        sandbox.refused(&["page", "show", "usr-1"]),
        error("not-found", "page usr-1 not found: moved to sys-3")
    );
}

#[test]
fn purge_destroys_for_good() {
    let sandbox = Sandbox::with_pages();
    sandbox.json(&["page", "update", "usr-1", "--detail", "very secret"]);
    sandbox.json(&["page", "move", "usr-1", "--to", "usr-2"]);
    let purged = json!({ "purged": ["usr-1", "usr-2"], "runsGivenUp": [], "traces": [] });
    assert_eq!(sandbox.json(&["page", "purge", "usr-2"]), purged);
    assert_eq!(
        sandbox.refused(&["page", "show", "usr-1", "--archived"]),
        error("not-found", "page usr-1 not found")
    );
    let (kind, message) = sandbox.refused(&["undo"]);
    assert_eq!((kind.as_str(), message.contains("purge")), ("conflict", true), "{message}");
    assert!(!sandbox.json(&["export"]).to_string().contains("very secret"));
}

// M-39: a page whose text someone other than its author replaced says who, until that is undone.
#[test]
fn a_rewritten_page_says_who_rewrote_it() {
    let sandbox = Sandbox::new();
    sandbox.json(&[
        "--as",
        "alpha",
        "turn",
        "add",
        "--user",
        "look",
        "--assistant",
        "three issues",
    ]);
    assert_eq!(sandbox.json(&["page", "show", "usr-1"]).get("rewrittenBy"), None);
    sandbox.json(&["--as", "beta", "page", "update", "usr-1", "--detail", "all is well"]);
    assert_eq!(sandbox.json(&["page", "show", "usr-1"])["rewrittenBy"], "beta");
    let shown = sandbox.text(&["page", "show", "usr-1"]);
    assert!(shown.contains("rewritten by beta\n"), "{shown}");
    let own = sandbox.text(&["--as", "alpha", "window", "--format", "openai"]);
    assert!(own.contains("usr-1 rewritten by agent beta"), "{own}");
    // Another storage, and a document, keep it.
    sandbox.json(&["store", "copy", "--to", "files:copied"]);
    let copied = sandbox.json(&["--store", "files:copied", "page", "show", "usr-1"]);
    assert_eq!(copied["rewrittenBy"], "beta");
    sandbox.write("session.json", sandbox.text(&["export"]));
    sandbox.json(&["--session", "loaded", "load", "session.json"]);
    let loaded = sandbox.json(&["--session", "loaded", "page", "show", "usr-1"]);
    assert_eq!(loaded["rewrittenBy"], "beta");
    sandbox.json(&["--as", "beta", "undo"]);
    assert_eq!(sandbox.json(&["page", "show", "usr-1"]).get("rewrittenBy"), None);
}
