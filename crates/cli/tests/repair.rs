//! `store check --repair` on files: what is lost is said, and everything around it stays.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use contexture_testkit::provider::Reply;
use serde_json::{Value, json};

use crate::{agent_support::Stage, support::Sandbox};

/// Makes a store of files with a few pages.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::empty();
    let run = |args: &[&str]| sandbox.json(&[&["--store", "files:ctx"], args].concat());
    run(&["init"]);
    for (parent, name, detail) in [
        ("sys-0", "Rules", "Be careful."),
        ("usr-0", "Plan", "First this, then that."),
        ("usr-0", "Notes", "Remember the milk."),
    ] {
        run(&["page", "create", "--parent", parent, "--name", name, "--detail", detail]);
    }
    sandbox
}

fn file(sandbox: &Sandbox, inner: &str) -> PathBuf {
    sandbox.path().join("ctx/sessions/default").join(inner)
}

/// Checks a store; returns what is printed and the exit code.
fn check(sandbox: &Sandbox, options: &[&str]) -> (Value, i32) {
    let ran =
        sandbox.run(&[&["--store", "files:ctx", "store", "check", "--json"], options].concat());
    (serde_json::from_str(&ran.out).unwrap(), ran.code)
}

/// Repairs a store, which must leave nothing wrong; returns what was done.
fn repaired(sandbox: &Sandbox) -> String {
    let (repaired, code) = check(sandbox, &["--repair"]);
    assert_eq!((&repaired["problems"], code), (&json!([]), 0), "{repaired}");
    assert_eq!(check(sandbox, &[]), (json!({ "ok": true, "problems": [] }), 0));
    repaired["repaired"].to_string()
}

fn show(sandbox: &Sandbox, page: &str) -> Value {
    sandbox.json(&["--store", "files:ctx", "page", "show", page])
}

// With the index, and as git brings it to another machine.
#[test]
fn a_page_whose_file_is_deleted_or_edited_stays_where_it_stood() {
    for cloned in [false, true] {
        for edited in [false, true] {
            let sandbox = sandbox();
            let page = file(&sandbox, "pages/usr-1.json");
            let text = fs::read_to_string(&page).unwrap();
            if edited {
                fs::write(&page, text.replace("then that", "then this")).unwrap();
            } else {
                fs::remove_file(&page).unwrap();
            }
            if cloned {
                fs::remove_dir_all(sandbox.path().join("ctx/.local")).unwrap();
            }
            assert_eq!(check(&sandbox, &[]).1, 1);
            let done = repaired(&sandbox);
            assert_eq!(done.contains("adopted as the new content"), edited, "{done}");
            let shown = show(&sandbox, "usr-1");
            let detail = shown["detail"].as_str().unwrap();
            if edited {
                assert_eq!(detail, "First this, then this.");
            } else {
                assert!(detail.contains("was lost"), "{shown}");
            }
            // What the record said is known from the index, or from what the file still says.
            let name = if cloned && !edited { "Lost page" } else { "Plan" };
            assert_eq!((&shown["name"], &shown["parent"]), (&json!(name), &json!("usr-0")));
            let listed = sandbox.indices(&["--store", "files:ctx", "page", "list"]);
            assert_eq!(listed, ["sys-0", "sys-1", "usr-0", "usr-1", "usr-2"]);
            assert_eq!(show(&sandbox, "usr-2")["detail"], "Remember the milk.");
        }
    }
}

#[test]
fn an_edit_by_hand_that_leaves_the_text_alone_loses_no_text() {
    for cloned in [false, true] {
        let sandbox = sandbox();
        let page = file(&sandbox, "pages/usr-1.json");
        let text = fs::read_to_string(&page).unwrap();
        fs::write(&page, text.replace("\"Plan\"", "\"Idea\"")).unwrap();
        if cloned {
            fs::remove_dir_all(sandbox.path().join("ctx/.local")).unwrap();
        }
        repaired(&sandbox);
        assert_eq!(show(&sandbox, "usr-1")["detail"], "First this, then that.");
    }
}

#[test]
fn a_lost_segment_comes_back_with_its_pages() {
    for cloned in [false, true] {
        let sandbox = sandbox();
        fs::remove_file(file(&sandbox, "segments/usr.json")).unwrap();
        if cloned {
            fs::remove_dir_all(sandbox.path().join("ctx/.local")).unwrap();
        }
        assert_eq!(check(&sandbox, &[]).1, 1);
        repaired(&sandbox);
        let segment = sandbox.json(&["--store", "files:ctx", "segment", "show", "usr"]);
        // What agents were allowed is not known without the index: then they may read.
        let permission = if cloned { "read-only" } else { "read-write" };
        assert_eq!(
            (&segment["segmentType"], &segment["permission"]),
            (&json!("user"), &json!(permission))
        );
        let listed = sandbox.indices(&["--store", "files:ctx", "page", "list"]);
        assert_eq!(listed, ["sys-0", "sys-1", "usr-0", "usr-1", "usr-2"]);
        assert_eq!(show(&sandbox, "usr-2")["detail"], "Remember the milk.");
    }
}

#[test]
fn a_lone_symlink_for_a_session_is_said_to_be_its_end() {
    let sandbox = sandbox();
    let folder = sandbox.path().join("ctx/sessions/default");
    fs::rename(&folder, sandbox.path().join("elsewhere")).unwrap();
    symlink(sandbox.path().join("elsewhere"), &folder).unwrap();
    let (checked, code) = check(&sandbox, &[]);
    assert!(checked.to_string().contains("sessions/default is a symlink"), "{checked}");
    assert_eq!(code, 1);
    let (repaired, code) = check(&sandbox, &["--repair"]);
    assert!(repaired["repaired"].to_string().contains("session 'default' is lost"), "{repaired}");
    assert_eq!(code, 0, "{repaired}");
    // What the link led to is left as it is.
    assert!(sandbox.path().join("elsewhere/session.json").is_file());
}

// A database keeps texts apart from pages, and history knows which was whose.
#[test]
fn a_lost_page_of_a_database_comes_back_with_its_text() {
    let sandbox = Sandbox::with_pages();
    let database = rusqlite::Connection::open(sandbox.database()).unwrap();
    let sql = "UPDATE pages SET checksum = zeroblob(16) WHERE data LIKE '%\"usr-1\"%'";
    assert_eq!(database.execute(sql, []).unwrap(), 1);
    drop(database);
    assert_eq!(sandbox.run(&["store", "check"]).code, 1);
    let repaired = sandbox.json(&["store", "check", "--repair"]);
    assert_eq!(repaired["problems"], json!([]), "{repaired}");
    let shown = sandbox.json(&["page", "show", "usr-1"]);
    assert_eq!((&shown["detail"], &shown["name"]), (&json!("one"), &json!("Lost name")));
}

// What is written in place must be ours alone.
#[test]
fn hard_links_are_refused_and_nothing_is_written_to_them() {
    for name in ["journal", "applied", "lock", "index.db"] {
        let sandbox = sandbox();
        let victim = sandbox.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        let link = sandbox.path().join("ctx/.local").join(name);
        fs::remove_file(&link).unwrap();
        fs::hard_link(&victim, &link).unwrap();
        let (kind, message) = sandbox.refused(&["--store", "files:ctx", "page", "list"]);
        assert_eq!(kind, "corrupt", "{message}");
        assert!(message.contains(name) && message.contains("hard link"), "{message}");
        repaired(&sandbox);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    }
}

#[test]
fn a_folder_that_no_longer_says_whose_it_is_is_taken_back() {
    for bytes in [None, Some("{"), Some("{\"format\":\"other\",\"schemaVersion\":1}")] {
        let sandbox = sandbox();
        let identity = sandbox.path().join("ctx/contexture.json");
        match bytes {
            Some(bytes) => fs::write(&identity, bytes).unwrap(),
            None => fs::remove_file(&identity).unwrap(),
        }
        repaired(&sandbox);
        assert_eq!(show(&sandbox, "usr-2")["detail"], "Remember the milk.");
    }
}

// A lost prompt stands as a placeholder, and nobody runs on it until somebody decides.
#[test]
fn agents_refuse_to_run_on_a_lost_prompt() {
    for accept in [true, false] {
        let stage = Stage::openai([Reply::text("yes")]);
        let run = |args: &[&str]| stage.run(&[&["--store", "files:ctx"], args].concat());
        assert_eq!(run(&["init"]).code, 0);
        let rules = ["page", "create", "--parent", "sys-0", "--name", "Rules", "--detail", "Care."];
        assert_eq!(run(&rules).code, 0);
        let sandbox = &stage.sandbox;
        fs::remove_file(file(sandbox, "pages/sys-1.json")).unwrap();
        let checked = run(&["store", "check", "--repair"]);
        assert_eq!(checked.code, 1);
        let problem = "system prompt page sys-1 was lost";
        assert!(checked.out.contains(problem), "{}", checked.out);
        assert!(checked.err.contains("--accept-losses"), "{}", checked.err);
        let window = run(&["window"]);
        assert!(window.out.contains("The content of this page was lost"), "{}", window.out);
        let refused = run(&["agents", "run", "code-reviewer", "hello", "--json"]);
        assert_ne!(refused.code, 0);
        assert!(refused.err.contains(problem), "{}", refused.err);
        assert_eq!(stage.requests().len(), 0);
        if accept {
            let accepted = run(&["store", "check", "--accept-losses"]);
            assert_eq!(accepted.code, 0, "{}", accepted.out);
        } else {
            let again = run(&["page", "update", "sys-1", "--detail", "Care again."]);
            assert_eq!(again.code, 0, "{}", again.err);
        }
        assert_eq!(run(&["store", "check"]).code, 0);
        let ran = run(&["agents", "run", "code-reviewer", "hello"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "yes\n"), "{}", ran.err);
        assert_eq!(stage.last_request().contains("Care again."), !accept);
    }
}

/// A store with a segment of every kind, one of them removed and added again, in which an agent ran.
fn ran(stage: &Stage, store: &str) {
    let run = |args: &[&str]| stage.run(&[&["--store", store], args].concat());
    for args in [
        &["init"][..],
        &["page", "create", "--parent", "sys-0", "--name", "Rules", "--detail", "Be careful."],
        &["segment", "add", "notes", "--kind", "custom", "--permission", "read-write"],
        &["segment", "remove", "notes"],
        &["segment", "add", "rules", "--kind", "system", "--permission", "read-only"],
        &["segment", "add", "notes", "--kind", "custom", "--permission", "read-write"],
        &["page", "create", "--parent", "rules-0", "--name", "More", "--detail", "Ask first."],
        &["agents", "run", "code-reviewer", "hello"],
    ] {
        let ran = run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
    }
}

/// Repairs a store, accepts what cannot be repaired, and runs an agent on it. While something is `open` it
/// is said, and nobody runs.
fn runs_after_repair(stage: &Stage, store: &str, what: &str, open: Option<&str>) {
    let run = |args: &[&str]| stage.run(&[&["--store", store], args].concat());
    let repaired = run(&["store", "check", "--repair"]);
    assert_eq!(repaired.code, i32::from(open.is_some()), "{what}: {}", repaired.out);
    if let Some(open) = open {
        assert!(repaired.out.contains(open), "{what}: {}", repaired.out);
        let sent = stage.requests().len();
        let refused = run(&["agents", "run", "code-reviewer", "again"]);
        assert_ne!(refused.code, 0, "{what}: {}", refused.out);
        assert_eq!(stage.requests().len(), sent, "{what}");
    }
    let accepted = run(&["store", "check", "--accept-losses"]);
    assert_eq!(accepted.code, 0, "{what}: {}", accepted.out);
    let checked = run(&["store", "check"]);
    assert_eq!(checked.code, 0, "{what}: {}", checked.out);
    let ran = run(&["agents", "run", "code-reviewer", "again"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "yes\n"), "{what}: {}", ran.err);
}

#[test]
fn agents_run_after_a_segment_was_lost_and_made_again() {
    for id in ["sys", "usr", "notes", "rules", "prompt-code-reviewer", "agent-code-reviewer"] {
        let stage = Stage::openai([Reply::text("yes"), Reply::text("yes")]);
        ran(&stage, "files:ctx");
        fs::remove_file(file(&stage.sandbox, &format!("segments/{id}.json"))).unwrap();
        fs::remove_dir_all(stage.sandbox.path().join("ctx/.local")).unwrap();
        // History remembers what the one was that was removed and came back.
        let open = (id == "rules").then_some("the kind of segment rules is");
        runs_after_repair(&stage, "files:ctx", id, open);
    }
}

// All segments of a database lie in one page of its file.
#[test]
fn agents_run_after_all_segments_of_a_database_were_lost() {
    let stage = Stage::openai([Reply::text("yes"), Reply::text("yes")]);
    let store = "sqlite:.contexture/contexture.db";
    ran(&stage, store);
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'segments'";
    let page: u32 = stage.sandbox.meddle().query_row(sql, [], |row| row.get(0)).unwrap();
    let mut bytes = fs::read(stage.sandbox.database()).unwrap();
    bytes[(page as usize - 1) * 4_096..][..4_096].fill(0);
    fs::write(stage.sandbox.database(), bytes).unwrap();
    runs_after_repair(&stage, store, "segments", Some("the kind of segment rules is"));
}

// Of the prompt neither its row nor its text nor its history is left.
#[test]
fn a_prompt_that_left_no_trace_is_missed() {
    let stage = Stage::openai([Reply::text("yes")]);
    let run = |args: &[&str]| stage.run(&[&["--store", "files:ctx"], args].concat());
    assert_eq!(run(&["init"]).code, 0);
    let rules = ["page", "create", "--parent", "sys-0", "--name", "Rules", "--detail", "Care."];
    assert_eq!(run(&rules).code, 0);
    fs::remove_file(file(&stage.sandbox, "pages/sys-1.json")).unwrap();
    let entries = fs::read_dir(file(&stage.sandbox, "history")).unwrap();
    for entry in entries.map(|entry| entry.unwrap().path()) {
        if fs::read_to_string(&entry).unwrap().contains("sys-1") {
            fs::remove_file(&entry).unwrap();
        }
    }
    fs::remove_dir_all(stage.sandbox.path().join("ctx/.local")).unwrap();
    let said = "perhaps system prompt page sys-1 with them";
    runs_after_repair(&stage, "files:ctx", "sys-1", Some(said));
}

// An edit that is lost left its sign on the one it took back: nothing is missed that is gone rightly.
#[test]
fn agents_run_though_the_edit_that_took_a_page_away_is_lost() {
    for away in [&["undo"][..], &["page", "purge", "sys-2"]] {
        let stage = Stage::openai([Reply::text("yes"), Reply::text("yes")]);
        let store = "files:ctx";
        ran(&stage, store);
        let run = |args: &[&str]| stage.run(&[&["--store", store], args].concat());
        let slip = ["page", "create", "--parent", "sys-0", "--name", "Slip", "--detail", "Oh."];
        assert_eq!(run(&slip).code, 0);
        assert_eq!(run(away).code, 0);
        let newest = fs::read_dir(file(&stage.sandbox, "history")).unwrap();
        let newest = newest.map(|entry| entry.unwrap().path()).max().unwrap();
        fs::remove_file(newest).unwrap();
        fs::remove_dir_all(stage.sandbox.path().join("ctx/.local")).unwrap();
        runs_after_repair(&stage, store, away[0], None);
    }
}
