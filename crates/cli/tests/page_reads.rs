use serde_json::{Value, json};

use crate::support::{Sandbox, error, timeless};

#[test]
fn a_page_object_has_all_fields_of_the_contract() {
    let sandbox = Sandbox::with_pages();
    sandbox.json(&["page", "move", "usr-1", "--to", "usr-2"]);
    assert_eq!(
        timeless(sandbox.json(&["page", "show", "usr-1"])),
        json!({
            "index": "usr-1", "type": "DetailPage", "name": "Note", "description": "",
            "lifecycle": "HotArchived", "visibility": "Hidden", "level": "out",
            "parent": "usr-2", "detail": "one",
            "messages": [{ "role": "system", "at": "TIME", "parts": [{ "text": { "text": "one" } }] }],
            "messageCount": 1, "turn": null, "pinned": false,
            "version": 2, "createdAt": "TIME", "updatedAt": "TIME", "author": "system",
            "trust": "system", "sources": [],
        })
    );
    assert_eq!(
        timeless(sandbox.json(&["page", "show", "usr-0"])),
        json!({
            "index": "usr-0", "type": "ContentsPage", "name": "User", "description": "",
            "lifecycle": "Active", "visibility": "Expanded", "level": "full", "parent": null,
            "children": ["usr-2"], "childCount": 1, "turn": null, "pinned": false, "version": 1,
            "createdAt": "TIME", "updatedAt": "TIME", "author": "system", "trust": "system",
            "sources": [],
        })
    );
}

#[test]
fn parent_children_and_ancestors() {
    let sandbox = Sandbox::with_pages();
    sandbox.json(&["page", "move", "usr-1", "--to", "usr-2"]);
    assert_eq!(sandbox.json(&["page", "parent", "usr-1"])["index"], "usr-2");
    assert_eq!(sandbox.json(&["page", "parent", "usr-0"]), Value::Null);
    assert_eq!(sandbox.indices(&["page", "ancestors", "usr-1"]), ["usr-2", "usr-0"]);
    assert_eq!(sandbox.json(&["page", "ancestors", "usr-1", "--limit", "1"])["next"], "usr-2");
    assert_eq!(sandbox.indices(&["page", "ancestors", "usr-1", "--cursor", "usr-2"]), ["usr-0"]);
    assert_eq!(sandbox.indices(&["page", "children", "usr-0"]), ["usr-2"]);
    assert_eq!(
        sandbox.refused(&["page", "children", "usr-1"]),
        error("invalid", "page usr-1 is not a ContentsPage")
    );
}

#[test]
fn children_come_in_order_and_in_parts() {
    let sandbox = Sandbox::new();
    for name in ["a", "b", "c", "d", "e"] {
        sandbox.json(&["page", "create", "--parent", "usr-0", "--name", name]);
    }
    sandbox.json(&["page", "move", "usr-2", "--to", "usr-0"]);
    let order = ["usr-1", "usr-3", "usr-4", "usr-5", "usr-2"];
    assert_eq!(sandbox.indices(&["page", "children", "usr-0"]), order);
    assert_eq!(sandbox.indices(&["page", "children", "usr-0", "--last", "2"]), order[3..]);

    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let mut args = vec!["page", "children", "usr-0", "--limit", "2"];
        args.extend(cursor.iter().flat_map(|cursor: &String| ["--cursor", cursor]));
        let list = sandbox.json(&args);
        let items = list["items"].as_array().unwrap();
        assert!(items.len() <= 2);
        seen.extend(items.iter().map(|page| page["index"].as_str().unwrap().to_owned()));
        match list["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(seen, order);
}

// Natural order; the archive only with --archived.
#[test]
fn lists_are_in_natural_order() {
    let sandbox = Sandbox::new();
    for _ in 0..11 {
        sandbox.json(&["page", "create", "--parent", "usr-0", "--name", "Page"]);
    }
    sandbox.json(&["page", "remove", "usr-3"]);
    let list = sandbox.indices(&["page", "list"]);
    assert_eq!(list[..4], ["sys-0", "usr-0", "usr-1", "usr-2"]);
    assert_eq!(list[list.len() - 2..], ["usr-10", "usr-11"]);
    assert_eq!(sandbox.indices(&["page", "list", "--archived"]), ["usr-3"]);
    let part = sandbox.json(&["page", "list", "--limit", "2"]);
    assert_eq!(part["next"], "usr-0");
    assert_eq!(sandbox.indices(&["page", "list", "--cursor", "usr-9"]), ["usr-10", "usr-11"]);
    assert_eq!(sandbox.refused(&["page", "list", "--cursor", "gone-1"]).0, "not-found");
    assert_eq!(sandbox.refused(&["page", "list", "--cursor", "gone"]).0, "invalid");
}

#[test]
fn pages_are_found_by_name_and_description_whatever_the_case() {
    let sandbox = Sandbox::new();
    let create = |name: &str, description: &str| {
        sandbox.json(&[
            "page",
            "create",
            "--parent",
            "usr-0",
            "--name",
            name,
            "--description",
            description,
        ]);
    };
    create("Straße nach Süden", "");
    create("Other", "über SÜDEN");
    create("goroutine原理", "");
    assert_eq!(sandbox.indices(&["page", "find", "süden"]), ["usr-1", "usr-2"]);
    assert_eq!(sandbox.indices(&["page", "find", "süden", "--limit", "1"]), ["usr-1"]);
    assert_eq!(sandbox.indices(&["page", "find", "原理"]), ["usr-3"]);
    sandbox.json(&["page", "remove", "usr-2"]);
    assert_eq!(sandbox.indices(&["page", "find", "süden"]), ["usr-1", "usr-2"]);
    assert_eq!(sandbox.indices(&["page", "find", "süden", "--archived"]), ["usr-2"]);
}

#[test]
fn the_archive_is_shown_when_asked_for() {
    let sandbox = Sandbox::with_pages();
    sandbox.json(&["page", "move", "usr-1", "--to", "usr-2"]);
    sandbox.json(&["page", "remove", "usr-2"]);
    assert_eq!(
        sandbox.refused(&["page", "show", "usr-1"]),
        error("not-found", "page usr-1 not found: it is in the archive")
    );
    let archived = sandbox.json(&["page", "show", "usr-1", "--archived"]);
    assert_eq!(
        (&archived["lifecycle"], &archived["detail"]),
        (&json!("ColdArchived"), &json!("one"))
    );
    let drawer = sandbox.json(&["page", "show", "usr-2", "--archived"]);
    assert_eq!((&drawer["children"], &drawer["childCount"]), (&json!(["usr-1"]), &json!(1)));
}

// The archive of a removed segment is listed with its texts too.
#[test]
fn the_archive_of_a_removed_segment_is_listed() {
    let sandbox = Sandbox::with_pages();
    sandbox.json(&["segment", "remove", "usr", "--cascade"]);
    let list = sandbox.json(&["page", "list", "--archived", "--full"]);
    assert_eq!(list["items"][1]["detail"], "one");
}

#[test]
fn trees_are_nested() {
    let sandbox = Sandbox::with_pages();
    sandbox.json(&["page", "move", "usr-1", "--to", "usr-2"]);
    let tree = sandbox.json(&["page", "tree", "usr-0", "--full"]);
    assert_eq!((&tree["index"], &tree["childCount"]), (&json!("usr-0"), &json!(1)));
    let drawer = &tree["children"][0];
    assert_eq!((&drawer["index"], &drawer["childCount"]), (&json!("usr-2"), &json!(1)));
    assert_eq!(drawer["children"][0], sandbox.json(&["page", "show", "usr-1"]));
    let all = sandbox.json(&["page", "tree", "--full"]);
    assert_eq!(all["items"][1], tree);
    assert_eq!(all["items"][0]["children"][0]["index"], "sys-1");
    let shallow = sandbox.json(&["page", "tree", "usr-0", "--depth", "1"]);
    assert_eq!(shallow["children"][0]["children"], json!([]));
    assert_eq!(shallow["children"][0]["childCount"], json!(1));
    assert_eq!(sandbox.json(&["page", "tree", "usr-1", "--full"])["detail"], "one");
}

// A bare number is a page only where the view holds one segment.
#[test]
fn a_bare_number_needs_a_single_segment() {
    let sandbox = Sandbox::with_pages();
    assert_eq!(
        sandbox.refused(&["page", "show", "1"]),
        error(
            "invalid",
            "invalid page index '1': a bare number needs a view with exactly one segment"
        )
    );
    sandbox.json(&["segment", "remove", "sys", "--cascade", "--force"]);
    assert_eq!(sandbox.json(&["page", "show", "1"])["index"], "usr-1");
    assert_eq!(sandbox.json(&["--as", "bee", "page", "show", "1"])["index"], "usr-1");
}
