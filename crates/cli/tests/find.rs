//! `find` and `recall`: what was said, wherever it is now.

use std::process::{Command, Stdio};

use crate::support::Sandbox;

/// A session with a turn about each of these.
fn told(things: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.text(&["init"]);
    for (asked, answered) in things {
        sandbox.text(&["turn", "add", "--user", asked, "--assistant", answered]);
    }
    sandbox
}

fn talk() -> Sandbox {
    told(&[
        ("When is the launch?", "On Friday, after the tests."),
        ("东京的发布会是哪天?", "星期五下午,在测试以后。"),
        ("Fix parse_quotes in lexer.rs", "E0432 came from `lex_quote_7`."),
        ("東京の天気は?", "晴れのち曇りです。"),
        ("회의는 언제입니까?", "회의는 월요일입니다."),
    ])
}

/// Returns the pages that are found.
fn found(sandbox: &Sandbox, args: &[&str]) -> Vec<String> {
    let listed = sandbox.json(&[&["find"], args].concat());
    let items = listed["items"].as_array().unwrap().clone();
    items.iter().map(|item| item["index"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn finds_in_any_language_and_shows_where() {
    let sandbox = talk();
    for (query, page) in [
        ("launch", "usr-1"),
        ("发布会", "usr-2"),
        ("where did E0432 come from", "usr-3"),
        ("parse quotes", "usr-3"),
        ("lex_quo*", "usr-3"),
        ("\"after the tests\"", "usr-1"),
        ("天気", "usr-4"),
        ("회의", "usr-5"),
    ] {
        assert_eq!(found(&sandbox, &[query])[0], page, "{query}");
        assert_eq!(sandbox.text(&["find", query]), sandbox.text(&["page", "find", query]));
    }
    assert_eq!(
        sandbox.text(&["find", "friday tests"]),
        "usr-1  When is the launch?  assistant\n       On Friday, after the tests.\n"
    );
    assert_eq!(found(&sandbox, &["\"tests the after\""]), Vec::<String>::new());
    assert_eq!(found(&sandbox, &["zebra"]), Vec::<String>::new());
    let none = sandbox.run(&["find", "zebra"]);
    assert_eq!((none.code, none.out.as_str(), none.err.as_str()), (0, "", "nothing was found\n"));
}

#[test]
fn filters_narrow_the_search() {
    let sandbox = talk();
    sandbox.text(&[
        "--as",
        "fixer",
        "turn",
        "add",
        "--user",
        "tests?",
        "--assistant",
        "tests pass",
    ]);
    assert_eq!(found(&sandbox, &["tests", "--author", "fixer"]), ["usr-6"]);
    assert_eq!(found(&sandbox, &["tests", "--author", "system"]), ["usr-1"]);
    assert_eq!(found(&sandbox, &["launch", "--role", "assistant"]), Vec::<String>::new());
    assert_eq!(found(&sandbox, &["tests", "--in", "sys"]), Vec::<String>::new());
    assert_eq!(found(&sandbox, &["tests", "--until", "2001-01-01"]), Vec::<String>::new());
    assert_eq!(found(&sandbox, &["tests", "--since", "2001-01-01"]).len(), 2);
    for (args, words) in [
        (["tests", "--in", "nosuch"], "segment nosuch not found"),
        (["tests", "--role", "judge"], "use user, assistant, tool or system"),
        (["tests", "--since", "soon"], "use a date such as 2026-05-01"),
    ] {
        let ran = sandbox.run(&[&["find"][..], &args].concat());
        assert!(ran.code != 0 && ran.err.contains(words), "{args:?}: {}", ran.err);
    }
    let explained = sandbox.text(&["find", "launch", "--explain"]);
    assert!(explained.contains("  match 1.00\n"), "{explained}");
}

/// Returns the files of the search index, of which there are some.
fn files_of_index(sandbox: &Sandbox) -> Vec<std::path::PathBuf> {
    let folder = sandbox.path().join(".contexture/contexture.db.search");
    let paths = |folder: &std::path::Path| {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    let files: Vec<_> = paths(&folder).iter().flat_map(|inside| paths(inside)).collect();
    assert!(files.len() > 3, "{files:?}");
    files
}

/// Returns the files of the index that hold words, in a form in which they cannot be searched for.
fn dictionaries(sandbox: &Sandbox) -> std::collections::BTreeSet<std::path::PathBuf> {
    let files = files_of_index(sandbox).into_iter();
    files.filter(|file| file.extension().is_some_and(|end| end == "term")).collect()
}

// Removed, folded, archived, purged: found, found, found in the archive, never found.
#[test]
fn what_is_gone_is_never_found_and_nothing_else_is_missed() {
    let sandbox = talk();
    sandbox.text(&["page", "hide", "usr-1"]);
    assert_eq!(found(&sandbox, &["launch"]), ["usr-1"]);
    sandbox.text(&["page", "archive", "usr-1"]);
    assert_eq!(found(&sandbox, &["launch"]), ["usr-1"]);
    sandbox.text(&["page", "remove", "usr-3"]);
    assert_eq!(found(&sandbox, &["E0432"]), ["usr-3"]);
    assert_eq!(found(&sandbox, &["E0432", "--archived"]), ["usr-3"]);
    assert!(sandbox.text(&["find", "E0432"]).contains("in the archive"));
    sandbox.text(&["page", "update", "usr-2", "--detail", "rewritten entirely"]);
    assert_eq!(found(&sandbox, &["星期五"]), Vec::<String>::new());
    assert_eq!(found(&sandbox, &["rewritten"]), ["usr-2"]);
    sandbox.text(&["undo"]);
    assert_eq!(found(&sandbox, &["星期五"]), ["usr-2"]);
    let before = dictionaries(&sandbox);
    assert!(!before.is_empty());
    sandbox.text(&["page", "purge", "usr-3"]);
    assert_eq!(found(&sandbox, &["E0432"]), Vec::<String>::new());
    assert_eq!(found(&sandbox, &["launch"]), ["usr-1"]);
    let after = dictionaries(&sandbox);
    assert!(
        !before.is_subset(&after),
        "the file that its words were written to is left: {after:?}"
    );
    sandbox.text(&["session", "remove", "default", "--yes"]);
    assert!(dictionaries(&sandbox).is_empty(), "nothing is left of a session that was destroyed");
}

// Another process is writing the index: what was purged is gone from the store, and where its words still lie is said.
#[test]
fn a_purge_says_where_the_index_still_holds_words() {
    let sandbox = talk();
    assert_eq!(found(&sandbox, &["E0432"]), ["usr-3"]);
    let files = files_of_index(&sandbox);
    let lock = files.iter().find(|file| file.ends_with(".tantivy-writer.lock")).unwrap();
    let lock = std::fs::File::open(lock).unwrap();
    lock.lock().unwrap();
    let purged = sandbox.run(&["page", "purge", "usr-3", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&purged.out).unwrap();
    assert_eq!(told["purged"], serde_json::json!(["usr-3"]));
    let place = told["traces"][0]["place"].as_str().unwrap();
    assert!(place.starts_with("the search index of ") && place.contains("db.search"), "{place}");
    assert_ne!(purged.code, 0, "a program notices");
    assert_eq!(found(&sandbox, &["E0432"]), Vec::<String>::new());
    drop(lock);
    let scrubbed = sandbox.json(&["store", "scrub"]);
    assert_eq!(scrubbed["traces"], serde_json::json!([]));
    assert_eq!(found(&sandbox, &["launch"]), ["usr-1"]);
}

// A process that is killed while it takes in what was committed leaves nothing wrong behind.
#[cfg(unix)]
#[test]
fn an_index_survives_kill_9() {
    let sandbox = Sandbox::new();
    sandbox.text(&["init"]);
    let lines: Vec<String> = (0..3_000)
        .map(|number| {
            format!("{{\"role\":\"user\",\"content\":\"question {number} about heron{number}\"}}")
        })
        .collect();
    sandbox.write("talk.jsonl", lines.join("\n"));
    sandbox.text(&["import", "talk.jsonl"]);
    for round in 0..12_u64 {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("contexture"))
            .current_dir(sandbox.path())
            .args(["find", "heron7"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Later each time, wherever that may be.
        std::thread::sleep(std::time::Duration::from_millis(round * round));
        child.kill().unwrap();
        child.wait().unwrap();
        if round == 6 {
            sandbox.text(&["page", "purge", "usr-8"]);
        }
        if round % 3 == 0 {
            let is_found = found(&sandbox, &["heron7"]).first().is_some_and(|page| page == "usr-8");
            assert_eq!(is_found, round < 6, "round {round}");
        }
    }
    assert_eq!(found(&sandbox, &["heron2999"])[0], "usr-3000");
    assert!(!found(&sandbox, &["heron7"]).contains(&"usr-8".to_owned()));
    // An index that is damaged is made again.
    for file in files_of_index(&sandbox) {
        std::fs::write(file, b"nonsense").unwrap();
    }
    assert_eq!(found(&sandbox, &["heron2999"])[0], "usr-3000");
}

#[test]
fn agents_find_what_they_see() {
    let sandbox = talk();
    sandbox.text(&[
        "segment",
        "add",
        "agent-spy",
        "--kind",
        "custom",
        "--permission",
        "read-write",
    ]);
    sandbox.text(&[
        "turn",
        "add",
        "--segment",
        "agent-spy",
        "--user",
        "the heron flies at midnight",
    ]);
    assert_eq!(found(&sandbox, &["heron"]), ["agent-spy-1"]);
    assert_eq!(found(&sandbox, &["--as", "fixer", "heron"]).len(), 0);
    let hidden = sandbox.run(&["--as", "fixer", "find", "heron", "--in", "agent-spy"]);
    let missing = sandbox.run(&["--as", "fixer", "find", "heron", "--in", "agent-none"]);
    assert_eq!(hidden.err.replace("spy", "none"), missing.err);
    // What was removed is found in the archive by agents that saw it, and by no others.
    sandbox.text(&["page", "remove", "usr-3"]);
    sandbox.text(&["page", "remove", "agent-spy-1"]);
    assert_eq!(found(&sandbox, &["--as", "fixer", "E0432", "--archived"]), ["usr-3"]);
    assert_eq!(found(&sandbox, &["--as", "fixer", "heron", "--archived"]).len(), 0);
    assert_eq!(found(&sandbox, &["heron", "--archived"]), ["agent-spy-1"]);
    let shown = sandbox.text(&["--as", "fixer", "page", "show", "usr-3", "--archived"]);
    assert!(shown.contains("E0432"), "{shown}");
    sandbox.text(&["--as", "fixer", "recall", "E0432", "--archived", "--budget", "2000"]);
    assert_eq!(found(&sandbox, &["--as", "fixer", "E0432", "--archived"]).len(), 0);
    assert_eq!(found(&sandbox, &["--as", "fixer", "E0432"]), ["usr-3"]);
    let alone = sandbox.json(&["--as", "fixer", "find", "launch"]);
    sandbox.text(&["turn", "add", "--segment", "agent-spy", "--user", "launch launch launch"]);
    assert_eq!(sandbox.json(&["--as", "fixer", "find", "launch"]), alone, "scores tell nothing");
}

#[test]
fn recall_is_one_edit() {
    let sandbox = talk();
    for page in ["usr-1", "usr-3"] {
        sandbox.text(&["page", "hide", page]);
    }
    sandbox.text(&["page", "remove", "usr-2"]);
    let before = sandbox.text(&["window"]);
    let preview = sandbox.text(&["recall", "launch tests", "--preview"]);
    assert!(preview.contains("would bring back 1 page"), "{preview}");
    assert_eq!(sandbox.text(&["window"]), before);
    let done = sandbox.json(&["recall", "launch tests"]);
    assert_eq!(done["pages"][0]["index"], "usr-1");
    assert!(done["revision"].is_number() && done["tokens"].as_u64() > Some(5), "{done}");
    assert!(sandbox.text(&["window"]).contains("On Friday, after the tests."));
    let history = sandbox.text(&["history"]);
    assert!(history.contains("  recall       usr-1"), "{history}");
    let again = sandbox.run(&["recall", "launch tests"]);
    assert_eq!(again.out, "nothing to bring back\n");
    assert_eq!(again.err, "1 more page: already shown in full\n");
    sandbox.text(&["undo"]);
    assert_eq!(sandbox.text(&["window"]), before);
    // From the archive, under a directory that is named.
    let into =
        sandbox.json(&["page", "create", "--contents", "--parent", "usr-0", "--name", "Back"]);
    let into = into["index"].as_str().unwrap();
    let done = sandbox.json(&["recall", "发布会", "--into", into]);
    assert_eq!(done["pages"][0]["index"], "usr-2");
    let shown = sandbox.json(&["page", "show", "usr-2"]);
    assert_eq!(shown["parent"], into);
    // What does not fit stays out.
    let small = sandbox.json(&["recall", "E0432", "--budget", "2"]);
    assert_eq!((small["pages"].as_array().unwrap().len(), &small["leftOut"]), (0, &1.into()));
    let none = sandbox.run(&["recall", "E0432", "--budget", "0"]);
    assert!(none.code != 0 && none.err.contains("the budget is 0"), "{}", none.err);
}

#[test]
fn queries_are_never_a_syntax_error() {
    let sandbox = talk();
    for query in [
        "",
        " ",
        "\"",
        "\"\"",
        "*",
        "a*",
        "((",
        "AND OR NOT",
        "title:launch^2",
        "\\",
        "[a TO b]",
        "launch AND (",
        "/.*.*.*.*(a+)+$/",
        "\u{1b}[31m\u{7}",
        "'; DROP TABLE pages; --",
        "🦀🦀",
        "\u{202e}launch",
    ] {
        let ran = sandbox.run(&["find", "--", query]);
        assert_eq!(ran.code, 0, "{query:?}: {}", ran.err);
        assert!(!ran.out.contains('\u{1b}'), "{query:?}");
    }
    let long = "launch ".repeat(15_000);
    assert!(sandbox.text(&["find", "--", &long]).starts_with("usr-1  When is the launch?"));
}
