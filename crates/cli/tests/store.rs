use serde_json::{Value, json};

use crate::support::{Sandbox, error};

#[test]
fn a_sound_store_is_ok() {
    let sandbox = Sandbox::with_pages();
    sandbox.json(&["session", "create", "other"]);
    assert_eq!(sandbox.json(&["store", "check"]), json!({ "ok": true, "problems": [] }));
    assert_eq!(
        sandbox.text(&["store", "check"]),
        "sqlite:.contexture/contexture.db: no problems found\n"
    );
}

#[test]
fn a_flipped_byte_is_noticed() {
    let sandbox = Sandbox::with_pages();
    let database = sandbox.meddle();
    let changed = database
        .execute(
            "UPDATE pages SET data = CAST(replace(CAST(data AS TEXT), 'Note', 'Nope') AS BLOB)",
            [],
        )
        .unwrap();
    assert!(changed > 0);
    drop(database);
    let ran = sandbox.run(&["store", "check", "--json"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    let checked: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(checked["ok"], false);
    assert!(!checked["problems"].as_array().unwrap().is_empty());
    assert_eq!(sandbox.refused(&["page", "show", "usr-1"]).0, "corrupt");
}

// A sector that a disk lost is an error at once, and after a repair everything can be read.
#[test]
fn a_lost_sector_is_never_an_empty_answer() {
    let sandbox = Sandbox::with_talk(12);
    let windows = ["window", "--format", "openai"];
    let (window, document) = (sandbox.text(&windows), sandbox.text(&["export"]));
    let whole = std::fs::read(sandbox.database()).unwrap();
    let mut refused = 0;
    for sector in (1..whole.len() / 512).step_by(29) {
        let mut bytes = whole.clone();
        bytes[sector * 512..][..512].fill(0);
        std::fs::write(sandbox.database(), &bytes).unwrap();
        for (args, expected) in [(&windows[..], &window), (&["export"], &document)] {
            let ran = sandbox.run(args);
            match ran.code {
                0 => assert_eq!(&ran.out, expected, "sector {sector}: {args:?}"),
                _ => {
                    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "sector {sector}: {args:?}");
                    refused += 1;
                }
            }
        }
        let repaired = sandbox.run(&["store", "check", "--repair"]);
        assert_eq!(repaired.code, 0, "sector {sector}: {}{}", repaired.out, repaired.err);
        assert_eq!(
            sandbox.text(&["store", "check"]),
            "sqlite:.contexture/contexture.db: no problems found\n"
        );
        for left in std::fs::read_dir(sandbox.path().join(".contexture")).unwrap() {
            std::fs::remove_file(left.unwrap().path()).unwrap();
        }
    }
    assert!(refused > 0);
}

// What a folder lacks is named by the command, and it is in order again once that is back.
#[test]
fn a_file_that_is_gone_is_named() {
    let sandbox = Sandbox::new();
    let store = ["--store", "files:day"];
    let run = |args: &[&str]| sandbox.run(&[&store[..], args].concat());
    assert_eq!(run(&["init"]).code, 0);
    let page = ["page", "create", "--parent", "usr-0", "--name", "Plan", "--detail", "Mend it."];
    assert_eq!(run(&page).code, 0);
    for file in ["pages/usr-1.json", "segments/sys.json", "history/00000001.json"] {
        let path = sandbox.path().join("day/sessions/default").join(file);
        let whole = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let checked = run(&["store", "check"]);
        assert_eq!(checked.code, 1, "{file}: {}", checked.out);
        assert!(checked.out.contains(file), "{file}: {}", checked.out);
        std::fs::write(&path, &whole).unwrap();
        let checked = run(&["store", "check"]);
        assert_eq!(
            (checked.code, checked.out.as_str()),
            (0, "files:day: no problems found\n"),
            "{file}"
        );
    }
}

const COPY: [&str; 2] = ["--store", "sqlite:copy/copy.db"];

/// Everything there is to see of a session in two stores, byte for byte.
fn assert_same(sandbox: &Sandbox, session: &str) {
    for args in [
        &["export"][..],
        &["history", "--json"],
        &["page", "list", "--json"],
        &["page", "list", "--archived", "--json"],
        &["window", "--format", "markdown"],
        &["window", "--format", "openai"],
        &["window", "--format", "anthropic"],
        &["window", "--format", "context"],
        &["window", "--account", "--json"],
    ] {
        let args = [&["--session", session], args].concat();
        let here = sandbox.text(&args);
        assert_eq!(sandbox.text(&[&COPY[..], &args].concat()), here, "{args:?}");
    }
}

// A copy in another store exports the same bytes and gives the same windows; copying it again
// changes nothing.
#[test]
fn sessions_are_copied_to_another_store() {
    let sandbox = Sandbox::with_talk(4);
    sandbox.json(&["page", "remove", "usr-2"]);
    sandbox.json(&["window", "--format", "openai", "--fold"]);
    sandbox.json(&["session", "create", "other"]);
    let copied = sandbox.json(&["store", "copy", "--to", "sqlite:copy/copy.db"]);
    assert_eq!(copied["to"], "sqlite:copy/copy.db");
    let sessions = copied["sessions"].as_array().unwrap();
    let said = |name: &str| {
        let all = sessions.iter().map(|session| session[name].clone());
        all.collect::<Vec<Value>>()
    };
    assert_eq!(said("session"), ["default", "other"]);
    assert_eq!(said("outcome"), ["copied", "copied"]);
    assert_eq!(sessions[0]["windows"], 1);
    assert!(sessions[0]["pages"].as_u64().unwrap() > 4);
    assert_same(&sandbox, "default");
    assert_same(&sandbox, "other");
    let sent = ["window", "--format", "openai", "--sent", "1"];
    assert_eq!(sandbox.text(&[&COPY[..], &sent].concat()), sandbox.text(&sent));
    assert_eq!(sandbox.json(&[&COPY[..], &["store", "check"]].concat())["ok"], true);
    let again = sandbox.json(&["store", "copy", "--to", "sqlite:copy/copy.db"]);
    assert_eq!(again["sessions"][0]["outcome"], "already-there");
    assert_eq!(again["sessions"][0]["hash"], sessions[0]["hash"]);
    let text = sandbox.text(&["store", "copy", "--to", "sqlite:copy/copy.db"]);
    assert!(text.contains("default already up to date: revision"), "{text}");
    assert!(text.ends_with("2 sessions are in sqlite:copy/copy.db\n"), "{text}");
}

#[test]
fn a_backup_is_repeated() {
    for to in ["sqlite:backup.db", "files:backup"] {
        let sandbox = Sandbox::with_pages();
        let there = |args: &[&str]| sandbox.json(&[&["--store", to], args].concat());
        let copy = || sandbox.json(&["store", "copy", "--to", to])["sessions"][0].clone();
        assert_eq!(copy()["outcome"], "copied");
        sandbox.write("turn.json", r#"[{"role": "user", "content": "And now?"}]"#);
        sandbox.json(&["turn", "add", "--messages", "turn.json"]);
        assert_eq!(copy()["outcome"], "brought-forward");
        assert_eq!(there(&["export"]), sandbox.json(&["export"]));
        assert_eq!(there(&["history"]), sandbox.json(&["history"]));
        assert_eq!(there(&["store", "check"])["ok"], true);
        assert_eq!(copy()["outcome"], "already-there");
        // A session that is edited there goes its own way.
        there(&["page", "create", "--parent", "usr-0", "--name", "Mine", "--detail", "x"]);
        let before = there(&["export"]);
        sandbox.json(&["page", "create", "--parent", "usr-0", "--name", "Ours", "--detail", "x"]);
        let refused = sandbox.run(&["store", "copy", "--to", to]);
        assert_eq!(refused.code, 1, "{}", refused.err);
        assert!(refused.err.contains("is a different edit there"), "{}", refused.err);
        assert!(refused.err.contains("session remove default"), "{}", refused.err);
        assert_eq!(there(&["export"]), before);
    }
}

#[test]
fn only_the_sessions_named_are_copied() {
    let sandbox = Sandbox::with_pages();
    for name in ["a", "b", "c"] {
        sandbox.json(&["session", "create", name]);
    }
    let names = |copied: &Value| {
        let all = copied["sessions"].as_array().unwrap().iter();
        all.map(|copied| copied["session"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let copied = sandbox.json(&["store", "copy", "--to", "sqlite:1.db", "--session", "b"]);
    assert_eq!(names(&copied), ["b"]);
    let copied = sandbox.json(&["--session=c", "store", "copy", "--to", "sqlite:2.db", "a"]);
    assert_eq!(names(&copied), ["c", "a"]);
    let refused = sandbox.refused(&["store", "copy", "--to", "sqlite:3.db", "nobody"]);
    assert_eq!(refused, error("not-found", "session 'nobody' not found"));
    assert!(!sandbox.path().join("3.db").exists());
}

#[test]
fn a_store_is_not_copied_onto_itself_or_over_another() {
    let sandbox = Sandbox::with_pages();
    std::os::unix::fs::symlink(sandbox.database(), sandbox.path().join("link.db")).unwrap();
    std::fs::hard_link(sandbox.database(), sandbox.path().join("hard.db")).unwrap();
    let absolute = format!("sqlite:{}?durability=process", sandbox.database().display());
    for to in ["sqlite:.contexture/contexture.db", &absolute, "sqlite:link.db", "sqlite:hard.db"] {
        let (kind, message) = sandbox.unchanged(&["store", "copy", "--to", to]);
        assert_eq!(kind, "invalid");
        assert!(message.contains("they are the same store"), "{message}");
    }
    std::fs::remove_file(sandbox.path().join("hard.db")).unwrap();
    assert_eq!(sandbox.refused(&["store", "copy", "--to", "memory:"]).0, "invalid");
    // Another session of the name is left as it is.
    sandbox.json(&["--store", "sqlite:other.db", "init"]);
    let (kind, message) = sandbox.unchanged(&["store", "copy", "--to", "sqlite:other.db"]);
    assert_eq!(kind, "conflict");
    assert!(message.contains("session 'default' has diverged in the target"), "{message}");
    let (kind, message) =
        sandbox.refused(&["store", "copy", "--to", "postgres://me:s3cret@127.0.0.1:1/db"]);
    assert_eq!(kind, "unavailable");
    assert!(!message.contains("s3cret") && message.contains("127.0.0.1"), "{message}");
    let refused = sandbox.refused(&["--as", "bee", "store", "copy", "--to", "sqlite:x.db"]);
    assert_eq!(refused.0, "permission-denied");
}

#[test]
fn damage_is_repaired_when_asked_for() {
    let sandbox = Sandbox::with_pages();
    sandbox.json(&["page", "create", "--parent", "usr-2", "--name", "Inside", "--detail", "two"]);
    let meddle = |sql: &str| {
        let database = sandbox.meddle();
        assert_eq!(database.execute(sql, []).unwrap(), 1, "{sql}");
    };
    // The directory goes, and the content of the note.
    meddle(
        "UPDATE pages SET data = CAST(replace(CAST(data AS TEXT), 'Drawer', 'Drawes') AS BLOB)
         WHERE data LIKE '%Drawer%'",
    );
    meddle(
        "UPDATE contents SET raw = 7 WHERE hash IN (
                SELECT hash FROM contents JOIN blobs ON blobs.id = blob
                WHERE CAST(data AS TEXT) LIKE '%\"one\"%')",
    );
    let checked = sandbox.run(&["store", "check", "--json"]);
    assert_eq!(checked.code, 1);
    let before: Value = serde_json::from_str(&checked.out).unwrap();
    assert_eq!(before.get("repaired"), None);
    // Looking changes nothing.
    assert_eq!(sandbox.run(&["store", "check", "--json"]).out, checked.out);
    let repaired = sandbox.json(&["store", "check", "--repair"]);
    assert_eq!((&repaired["ok"], &repaired["problems"]), (&json!(true), &json!([])));
    let done = repaired["repaired"].as_array().unwrap();
    let did = |what: &str| done.iter().any(|done| done.as_str().unwrap().contains(what));
    assert!(did("page usr-2 of session 'default' is corrupt"), "{done:?}");
    assert!(did("page usr-2 was lost and was rebuilt from the history"), "{done:?}");
    assert!(did("the content of page usr-1 is lost, and the page now says so"), "{done:?}");
    assert_eq!(sandbox.json(&["store", "check"]), json!({ "ok": true, "problems": [] }));
    let shown = sandbox.json(&["page", "show", "usr-1"]);
    assert!(shown["detail"].as_str().unwrap().contains("was lost"), "{shown}");
    assert_eq!(sandbox.json(&["page", "show", "usr-3"])["parent"], "usr-2");
    let text = sandbox.text(&["store", "check", "--repair"]);
    assert_eq!(text, "sqlite:.contexture/contexture.db: no problems found\n");
    // What is repaired can be copied.
    sandbox.json(&["store", "copy", "--to", "sqlite:copy/copy.db"]);
    assert_same(&sandbox, "default");
}
