//! `store scrub`, and what `page purge` says when something is left.

use std::{fs, path::Path};

use serde_json::json;

use crate::support::Sandbox;

fn is_stored(sandbox: &Sandbox) -> bool {
    let files = fs::read_dir(sandbox.path().join(".contexture")).unwrap();
    files
        .filter_map(|file| fs::read(file.unwrap().path()).ok())
        .any(|bytes| bytes.windows(6).any(|window| window == b"CANARY"))
}

// A reader of an earlier state keeps the text: the purge says so with an exit code of its own, and
// scrubbing finishes it.
#[test]
fn traces_have_an_exit_code_and_are_scrubbed() {
    let sandbox = Sandbox::new();
    sandbox.run(&["init"]);
    let page = ["page", "create", "--parent", "usr-0", "--name", "Key", "--detail", "CANARY"];
    assert_eq!(sandbox.run(&page).code, 0);
    let reader = sandbox.meddle();
    reader.execute_batch("BEGIN").unwrap();
    reader.query_row("SELECT count(*) FROM pages", [], |row| row.get::<_, i64>(0)).unwrap();
    let purged = sandbox.run(&["--json", "page", "purge", "usr-1"]);
    assert_eq!(purged.code, 3, "{}{}", purged.out, purged.err);
    let told: serde_json::Value = serde_json::from_str(&purged.out).unwrap();
    assert_eq!(told["purged"], json!(["usr-1"]));
    let until = told["traces"][0]["until"].as_str().unwrap();
    assert!(until.contains("all readers of an earlier state have ended"), "{told}");
    drop(reader);
    let scrubbed = sandbox.run(&["store", "scrub"]);
    assert_eq!(scrubbed.code, 0, "{}{}", scrubbed.out, scrubbed.err);
    assert!(scrubbed.out.starts_with("no traces of purged or removed data remain"));
    assert!(!is_stored(&sandbox));
}

fn holds(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => holds(&path),
            false => fs::read(&path).unwrap().windows(6).any(|window| window == b"CANARY"),
        }
    })
}

// What a repair set aside may hold a purged text: everybody says so until it is emptied.
#[test]
fn the_quarantine_is_reported_until_it_is_emptied() {
    let sandbox = Sandbox::empty();
    let run = |args: &[&str]| sandbox.run(&[&["--store", "files:ctx"], args].concat());
    assert_eq!(run(&["init"]).code, 0);
    let page = ["page", "create", "--parent", "usr-0", "--name", "Key", "--detail", "CANARY"];
    assert_eq!(run(&page).code, 0);
    let file = sandbox.path().join("ctx/sessions/default/pages/usr-1.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("CANARY", "CANARY, edited")).unwrap();
    let repaired = run(&["store", "check", "--repair"]);
    assert_eq!(repaired.code, 0, "{}{}", repaired.out, repaired.err);

    let left = "traces remain: in the quarantine of ";
    let until = "ctx until a scrub that includes the quarantine empties it\n";
    let purged = run(&["page", "purge", "usr-1"]);
    assert_eq!(purged.code, 3, "{}{}", purged.out, purged.err);
    assert!(purged.out.starts_with(&format!("purged: usr-1\n{left}")), "{}", purged.out);
    assert!(purged.out.contains(until), "{}", purged.out);
    let scrubbed = run(&["store", "scrub"]);
    assert_eq!(scrubbed.code, 3, "{}{}", scrubbed.out, scrubbed.err);
    assert!(scrubbed.out.starts_with(left) && scrubbed.out.ends_with(until), "{}", scrubbed.out);
    assert!(holds(&sandbox.path().join("ctx")), "it is left alone");
    let scrubbed = run(&["store", "scrub", "--quarantine"]);
    assert_eq!(scrubbed.code, 0, "{}{}", scrubbed.out, scrubbed.err);
    assert!(!holds(&sandbox.path().join("ctx")));
}

// A creation that was undone is purged by its number.
#[test]
fn an_undone_creation_is_purged_by_its_number() {
    let sandbox = Sandbox::new();
    sandbox.run(&["init"]);
    let page = ["page", "create", "--parent", "usr-0", "--name", "Key", "--detail", "CANARY"];
    assert_eq!(sandbox.run(&page).code, 0);
    assert_eq!(sandbox.run(&["undo"]).code, 0);
    assert!(is_stored(&sandbox), "a redo could bring it back");
    let purged = sandbox.run(&["page", "purge", "usr-1"]);
    assert_eq!(
        (purged.code, purged.out.as_str()),
        (0, "purged for good: usr-1\n"),
        "{}",
        purged.err
    );
    assert!(!is_stored(&sandbox));
}
