use serde_json::{Value, json};

use crate::support::{Ran, Sandbox, timeless};

const FORMATS: [&str; 6] = ["markdown", "context", "openai", "responses", "anthropic", "gemini"];

#[test]
fn every_format_prints_itself() {
    let sandbox = Sandbox::with_talk(2);
    let markdown = sandbox.text(&["window"]);
    assert!(markdown.starts_with("## **[sys-0]** System\n"), "{markdown}");
    assert!(
        markdown.contains("\n[FULL] **[usr-2]** \"What is in module 2?\" [button:hide-usr-2]\n")
    );
    assert_eq!(sandbox.json(&["window"]), json!({ "content": markdown }));
    let parts = [
        ("context", "content"),
        ("openai", "messages"),
        ("responses", "input"),
        ("anthropic", "messages"),
        ("gemini", "contents"),
    ];
    for (format, part) in parts {
        let text = sandbox.text(&["window", "--format", format]);
        let object: Value = serde_json::from_str(&text).unwrap();
        assert!(!object[part].is_null(), "{format}: {text}");
        assert_eq!(text.lines().count(), 1, "compact");
        assert_eq!(sandbox.json(&["window", "--format", format]), object);
    }
    assert_eq!(sandbox.refused(&["window", "--format", "xml"]).0, "invalid");
    assert_eq!(sandbox.refused(&["window", "--level", "more"]).0, "invalid");
}

// D-20: a level caps what is shown; system prompts stay in full.
#[test]
fn a_level_lowers_all_but_the_system_prompt() {
    let sandbox = Sandbox::with_talk(2);
    for (level, tag) in [("summary", "[SUMMARY]"), ("gist", "[GIST]")] {
        let window = sandbox.text(&["window", "--level", level]);
        assert!(window.contains("[FULL] **[sys-1]**") && window.contains("You are careful."));
        assert!(window.contains(&format!("{tag} **[usr-1]**")), "{window}");
        assert!(!window.contains("**tool result:**"), "{window}");
    }
}

#[test]
fn it_never_writes_without_fold() {
    let sandbox = Sandbox::with_talk(12);
    let state = sandbox.state();
    for format in FORMATS {
        let ran = sandbox.run(&["window", "--format", format, "--budget", "1200"]);
        assert_eq!(ran.code, 0);
        assert!(ran.err.contains("the fold that is due") && ran.err.contains(" saved, "));
        sandbox.json(&["window", "--format", format, "--account", "--level", "gist"]);
    }
    assert_eq!(sandbox.state(), state);
    assert_eq!(sandbox.refused(&["window", "--sent", "1"]).0, "not-found");

    // What it shows over its budget is what it shows once the fold is committed.
    let shown = sandbox.run(&["window", "--budget", "1200"]).out;
    assert_eq!(sandbox.text(&["window", "--budget", "1200", "--fold"]), shown);
    assert_eq!(sandbox.json(&["history"])["items"][0]["operation"], "foldPages");
    assert_eq!(sandbox.text(&["window", "--budget", "1200"]), shown);
}

// D-19: equal inputs give equal bytes, whatever the process, its zone, its language, the time.
#[test]
fn two_processes_print_the_same_bytes() {
    let sandbox = Sandbox::with_talk(12);
    sandbox.json(&["page", "create", "--parent", "usr-0", "--name", "Übung 原理", "--detail", "é"]);
    sandbox.json(&["window", "--format", "anthropic", "--budget", "3000", "--fold"]);
    let environments: [&[(&str, &str)]; 3] = [
        &[],
        &[("TZ", "Asia/Kathmandu"), ("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")],
        &[("TZ", "America/St_Johns"), ("LC_ALL", "tr_TR.UTF-8"), ("COLUMNS", "20")],
    ];
    for format in FORMATS {
        for more in
            [&[][..], &["--budget", "2500"], &["--level", "summary"], &["--account", "--json"]]
        {
            let args = [&["window", "--format", format], more].concat();
            let outputs = environments.map(|environment| {
                let mut command = sandbox.command(&args);
                Ran::of(command.envs(environment.iter().copied())).out
            });
            assert!(!outputs[0].is_empty());
            assert!(outputs.iter().all(|output| *output == outputs[0]), "{args:?}");
        }
    }
}

#[test]
fn what_was_sent_is_shown_again_byte_for_byte() {
    let sandbox = Sandbox::with_talk(12);
    for format in FORMATS {
        let window = ["window", "--format", format];
        let print = |args: &[&str]| {
            let ran = sandbox.run(&[&window[..], args].concat());
            assert_eq!(ran.code, 0, "{}", ran.err);
            ran.out
        };
        let sent = |number: &str| print(&["--sent", number]);
        let fold = ["--budget", "3000", "--fold"];
        let first = print(&fold);
        sandbox.json(&["turn", "add", "--user", "And now?", "--assistant", "Nothing."]);
        sandbox.json(&["page", "update", "usr-12", "--name", "Renamed"]);
        sandbox.json(&["page", "hide", "usr-1"]);
        let second = print(&fold);
        assert_ne!(first, second);
        sandbox.json(&["page", "remove", "usr-2"]);
        assert_eq!((sent("1"), sent("2")), (first, second), "{format}");
        assert_eq!(sandbox.refused(&[&window[..], &["--sent", "3"]].concat()).0, "not-found");
        sandbox.json(&["page", "restore", "usr-2"]);
        sandbox.json(&["page", "expand", "usr-1"]);
        sandbox.json(&["page", "update", "usr-12", "--name", "Named"]);
    }
    // Each view has its own.
    assert_eq!(sandbox.refused(&["--as", "bee", "window", "--sent", "1"]).0, "not-found");
    assert_eq!(sandbox.run(&["window", "--sent", "1", "--fold"]).code, 2);
}

#[test]
fn the_account_says_where_the_tokens_go() {
    let sandbox = Sandbox::with_talk(6);
    let whole = sandbox.json(&["window", "--format", "openai", "--account"]);
    assert_eq!(whole["window"], sandbox.json(&["window", "--format", "openai"]));
    assert_eq!(whole["ledger"], Value::Null);
    let account = &whole["account"];
    let sum = |list: &str| -> u64 {
        let items = account[list].as_array().unwrap().iter();
        items.map(|item| item["tokens"].as_u64().unwrap()).sum()
    };
    let tokens = account["tokens"].as_u64().unwrap();
    assert_eq!([sum("segments"), sum("pages"), sum("kinds")], [tokens; 3], "{account}");
    assert_eq!((&account["tokenizer"], &account["exact"]), (&json!("o200k_base"), &json!(true)));
    let kinds = account["kinds"].as_array().unwrap();
    let largest = kinds.iter().max_by_key(|kind| kind["tokens"].as_u64()).unwrap();
    assert_eq!(largest["kind"], "tool results");

    let sent = ["window", "--format", "openai", "--budget", "2000", "--fold", "--account"];
    let sent = timeless(sandbox.json(&sent));
    let (account, ledger) = (&sent["account"], &sent["ledger"]);
    assert_eq!((&ledger["number"], &ledger["tokens"]), (&json!(1), &account["tokens"]));
    assert_eq!((&ledger["at"], &account["budget"]), (&json!("TIME"), &json!(2000)));
    let later = sandbox.json(&["window", "--format", "openai", "--account"]);
    assert_eq!(timeless(later)["ledger"], *ledger);

    let again = sandbox.json(&["window", "--format", "openai", "--account", "--sent", "1"]);
    assert_eq!((&again["window"], &again["account"]), (&sent["window"], &Value::Null));
}

#[test]
fn the_account_can_be_read() {
    let sandbox = Sandbox::with_talk(3);
    insta::assert_snapshot!(sandbox.text(&["window", "--account"]));
    let model = sandbox.text(&["window", "--account", "--model", "claude-opus-4-6"]);
    assert!(model.contains("estimated with o200k_base"), "{model}");
    let about =
        "about 1,915 tokens as claude-opus-4-6 counts, ±20 % (no reports from its provider yet)";
    assert!(model.contains(about), "{model}");
    let claude = sandbox.json(&["window", "--account", "--model", "claude-opus-4-6"]);
    let expected = json!({
        "model": "claude-opus-4-6", "tokens": 1915, "error": 0.2, "observations": 0
    });
    assert_eq!(claude["account"]["estimate"], expected);
    // What is counted with the model's own tokenizer is no estimate.
    let exact = sandbox.json(&["window", "--account", "--model", "gpt-4o"]);
    assert_eq!(exact["account"]["estimate"], Value::Null);
    sandbox.json(&["window", "--fold"]);
    let text = sandbox.text(&["window", "--account"]);
    assert!(text.contains("\nlast sent: window 1  2"), "{text}");
    let text = sandbox.text(&["window", "--account", "--sent", "1"]);
    assert!(text.contains("sent as window 1") && text.contains(" cached, "), "{text}");
}

// An agent's window holds its own view and nothing else.
#[test]
fn an_agent_sees_only_its_view() {
    let sandbox = Sandbox::with_talk(1);
    sandbox.json(&["segment", "add", "agent-ant", "--kind", "user", "--permission", "1"]);
    let secret = ["--parent", "agent-ant-0", "--name", "Own", "--detail", "of ant"];
    sandbox.json(&[&["page", "create"], &secret[..]].concat());
    for format in FORMATS {
        let window = |agent: &str| sandbox.text(&["--as", agent, "window", "--format", format]);
        assert!(window("ant").contains("of ant"), "{format}");
        let bee = window("bee");
        assert!(!bee.contains("of ant") && !bee.contains("agent-ant"), "{format}: {bee}");
        let account = sandbox.json(&["--as", "bee", "window", "--format", format, "--account"]);
        assert!(!account.to_string().contains("agent-ant"), "{format}");
    }
}

// Text for a person is painted and harmless; text for a program is exactly what was rendered.
#[test]
fn colour_is_for_people() {
    let sandbox = Sandbox::new();
    sandbox.json(&["turn", "add", "--user", "red \u{1b}[31m alert"]);
    let mut command = sandbox.command(&["window"]);
    let painted = Ran::of(command.env("CLICOLOR_FORCE", "1")).out;
    let plain = sandbox.text(&["window"]);
    assert!(painted.contains("\u{1b}[1m## **[usr-0]** User\u{1b}[0m"), "{painted:?}");
    assert!(!painted.contains("\u{1b}[31m") && painted.contains("[31m alert"), "{painted:?}");
    assert!(plain.contains("## **[usr-0]** User\n"), "{plain:?}");
    assert_eq!(sandbox.json(&["window"])["content"], plain);
}

// D-25: whoever asks for a Context of a broken source gets one that tells of it.
#[test]
fn a_broken_source_gives_an_error_context() {
    let sandbox = Sandbox::with_talk(1);
    let whole = sandbox.json(&["window", "--format", "context"]);
    let database = sandbox.meddle();
    database.execute("DELETE FROM contents", []).unwrap();
    drop(database);
    let ran = sandbox.run(&["window", "--format", "context", "--json"]);
    assert_eq!(ran.code, 1);
    let context: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(context["header"]["sessionId"], "default");
    assert_eq!(context["diagnostics"][0]["code"], "corrupt", "{context}");
    // D-21: the version of the state that could not be rendered.
    assert_eq!(context["header"]["version"], whole["header"]["version"]);
    assert_eq!(context["header"]["timestamp"], whole["header"]["timestamp"]);
    assert!(ran.err.contains(r#""kind":"corrupt""#), "{}", ran.err);
    assert_eq!(sandbox.run(&["window", "--format", "openai"]).out, "");
}

// D-10: a view keeps the level it was switched to; another view keeps its own.
#[test]
fn the_level_is_switched() {
    let sandbox = Sandbox::with_talk(2);
    assert_eq!(sandbox.json(&["level"]), json!({ "level": "full", "revision": null }));
    let full = sandbox.text(&["window"]);
    let switched = sandbox.json(&["level", "gist"]);
    assert_eq!(switched["level"], "gist");
    assert!(switched["revision"].is_u64(), "{switched}");
    assert_eq!(sandbox.text(&["level"]), "gist\n");
    assert_eq!(sandbox.json(&["level", "gist"])["revision"], json!(null), "it is there already");
    let gist = sandbox.text(&["window"]);
    assert_ne!(gist, full);
    assert_eq!(sandbox.json(&["window", "--format", "context"])["state"]["currentLod"], "Gist");
    assert_eq!(sandbox.text(&["window", "--level", "full"]), full);
    assert_eq!(sandbox.text(&["window"]), gist);
    assert_eq!(sandbox.text(&["--as", "alpha", "level"]), "full\n");
    sandbox.json(&["undo"]);
    assert_eq!(sandbox.text(&["window"]), full);
    assert_eq!(sandbox.unchanged(&["level", "most"]).0, "invalid");
}

#[test]
fn a_window_that_was_counted_before_loads_no_vocabulary() {
    let sandbox = Sandbox::with_talk(12);
    // Without a fold, and with one that is due.
    for budget in ["100000", "1200"] {
        for format in FORMATS {
            let window = || {
                let mut command =
                    sandbox.command(&["window", "--format", format, "--budget", budget]);
                let ran = Ran::of(command.env("CONTEXTURE_LOG", "contexture_tokens=debug"));
                (ran.code, ran.out, ran.err.contains("loading a vocabulary"))
            };
            let (first, again) = (window(), window());
            assert_eq!((again.0, again.1, again.2), (0, first.1, false), "{format} {budget}");
        }
    }
    let mut command = sandbox.command(&["window", "--model", "gpt-4"]);
    let ran = Ran::of(command.env("CONTEXTURE_LOG", "contexture_tokens=debug"));
    assert!(ran.err.contains("loading a vocabulary"), "another tokenizer: {}", ran.err);
}
