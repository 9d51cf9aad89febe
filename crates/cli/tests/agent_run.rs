//! `agents run`: how requests and options are read, and whose history is seen.

use contexture_testkit::provider::{Protocol, ProviderServer, Reply};
use serde_json::{Value, json};

use crate::agent_support::{PROTOCOLS, Stage};

/// Returns the request as the model of a bare project was sent it, and the mode it ran in.
fn asked(words: &[&str]) -> (String, String) {
    let server = ProviderServer::answering(|_| Reply::text("yes"));
    let stage = Stage::with(Protocol::OpenAi, server);
    let ran = stage.run(&[&["agents", "run", "code-reviewer"], words].concat());
    assert_eq!((ran.code, ran.out.as_str()), (0, "yes\n"), "{words:?}: {}", ran.err);
    let body = stage.requests().pop().unwrap().json();
    let messages = body["messages"].as_array().unwrap();
    let last = messages.iter().rev().find(|message| message["role"] == "user").unwrap();
    let text = match &last["content"] {
        Value::String(text) => text.clone(),
        parts => parts[0]["text"].as_str().unwrap().to_owned(),
    };
    let status = ran.err.lines().last().unwrap().to_owned();
    (text, status.split(" · ").nth(1).unwrap().to_owned())
}

// M-24: any number of options stands before and behind the request; `--` ends them; the rest is
// byte for byte what was typed.
#[test]
fn options_and_the_request() {
    let cases: [(&[&str], &str, &str); 13] = [
        (&["修复代码"], "修复代码", "isolated"),
        (&["修复代码", "--context", "shared"], "修复代码", "shared"),
        (&["--context", "shared", "修复代码"], "修复代码", "shared"),
        (&["--", "修复代码", "--context", "shared"], "修复代码 --context shared", "isolated"),
        (
            &["fix  this\n\ttwice --context shared"],
            "fix  this\n\ttwice --context shared",
            "isolated",
        ),
        (
            &["explain", "git", "commit", "--amend", "-m"],
            "explain git commit --amend -m",
            "isolated",
        ),
        (&["a", "b", "--context", "shared", "--max-turns", "3"], "a b", "shared"),
        (&["--context=shared", "--max-turns", "3", "a"], "a", "shared"),
        (&["--max-turns", "3", "a", "--context", "shared"], "a", "shared"),
        (&["--context", "shared", "a", "--max-turns=3", "--no-stream"], "a", "shared"),
        (&["a", "--context shared", "b"], "a --context shared b", "isolated"),
        (&["--context", "shared", "--", "a", "--context"], "a --context", "shared"),
        (&["what", "is", "--", "--context", "shared"], "what is -- --context shared", "isolated"),
    ];
    for (words, prompt, mode) in cases {
        let (text, ran) = asked(words);
        assert!(text == prompt || text.ends_with(&format!("\n{prompt}")), "{words:?}: {text}");
        assert_eq!(ran, mode, "{words:?}");
    }
}

// A mode that was asked for is never ignored, nor sent to the model as text.
#[test]
fn options_that_would_be_ignored_are_refused() {
    let within = "the option '--context' is inside the request";
    let cases: [(&[&str], &str); 6] = [
        (&["a", "--context", "shared", "b"], within),
        (&["a", "--context=shared", "b", "--max-turns", "3"], within),
        (&["a", "--context", "shared", "--", "b"], within),
        (&["a", "--context"], "'--context' has no value"),
        (&["a", "--contex", "shared"], "unknown option '--contex'"),
        (&["a", "--context", "open"], "open"),
    ];
    let stage = Stage::openai([]);
    for (words, said) in cases {
        let ran = stage.run(&[&["agents", "run", "code-reviewer"], words].concat());
        assert_eq!(ran.code, 1, "{words:?}: {}", ran.err);
        assert!(ran.err.contains(said), "{words:?}: {}", ran.err);
        assert!(said == "open" || ran.err.contains("put -- before the request"), "{}", ran.err);
    }
    // Asked for on both sides, one of the two would be ignored.
    let both = ["agents", "run", "code-reviewer", "--context", "shared", "a", "--context=isolated"];
    let ran = stage.run(&both);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("'--context <MODE>' cannot be used multiple times"), "{}", ran.err);
    assert_eq!(stage.requests().len(), 0);
    assert_eq!(stage.sandbox.indices(&["page", "children", "usr-0"]), [""; 0]);
}

#[test]
fn a_request_from_standard_input() {
    let stage = Stage::openai([Reply::text("yes")]);
    let mut command = stage.command(&["agents", "run", "code-reviewer", "-"]);
    let output = command.write_stdin("first line\nsecond line\n").output().unwrap();
    assert!(output.status.success());
    assert!(stage.last_request().contains("first line\\nsecond line"));
}

// M-10: what the call says reaches the provider.
#[test]
fn options_reach_the_provider() {
    for protocol in PROTOCOLS {
        let stage = Stage::new(protocol, [Reply::text("yes")]);
        let ran = stage.run(&[
            "agents",
            "run",
            "code-reviewer",
            "--no-stream",
            "--max-tokens",
            "77",
            "--temperature",
            "0.5",
            "look",
        ]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "yes\n"), "{}", ran.err);
        let request = stage.requests().pop().unwrap();
        assert!(!request.wants_stream());
        let body = request.json();
        let (most, temperature) = match protocol {
            Protocol::OpenAi => {
                let most = if body["max_tokens"].is_null() {
                    "max_completion_tokens"
                } else {
                    "max_tokens"
                };
                (body[most].clone(), body["temperature"].clone())
            }
            Protocol::Anthropic => (body["max_tokens"].clone(), body["temperature"].clone()),
            Protocol::Gemini => {
                let config = &body["generationConfig"];
                (config["maxOutputTokens"].clone(), config["temperature"].clone())
            }
        };
        assert_eq!((most, temperature), (json!(77), json!(0.5)), "{protocol:?}: {body}");
    }
}

// The model of the call goes before the agent's, and that before the settings' (M-21).
#[test]
fn which_model_is_asked() {
    let stage = Stage::openai([Reply::text("yes"), Reply::text("yes"), Reply::text("yes")]);
    stage.agent("own", "---\nkind: agent\nname: own\ntitle: Own\nmodel: openai/gpt-4.1\n---\nx\n");
    for (args, model) in [
        (&["code-reviewer", "look"][..], "gpt-4o"),
        (&["own", "look"], "gpt-4.1"),
        (&["own", "look", "--model", "openai/o3"], "o3"),
    ] {
        stage.text(&[&["agents", "run"], args].concat());
        assert_eq!(stage.requests().pop().unwrap().model(), model);
    }
    // Where nobody names one, the seed's.
    stage.settings(&json!({}));
    let shown = stage.json(&["agents", "show", "code-reviewer"]).to_string();
    assert!(shown.contains("gemini-2.0-flash"), "{shown}");
}

// M-40: groups see their own and nothing of each other, nor of the main session.
#[test]
fn groups_are_apart() {
    for protocol in PROTOCOLS {
        let stage = Stage::new(protocol, ["one", "two", "three"].map(Reply::text));
        for (name, group) in [("ant", "hill"), ("aphid", "hill"), ("bee", "hive")] {
            stage.agent(
                name,
                &format!(
                    "---\nkind: agent\nname: {name}\ntitle: {name}\ncontextGroup: {group}\n---\nx\n"
                ),
            );
        }
        stage.sandbox.json(&["turn", "add", "--user", "CANARY-MAIN"]);
        stage.text(&["agents", "run", "ant", "CANARY-HILL"]);
        stage.text(&["agents", "run", "bee", "CANARY-HIVE"]);
        let body = stage.last_request();
        assert!(body.contains("CANARY-HIVE"), "{body}");
        assert!(!body.contains("CANARY-HILL") && !body.contains("CANARY-MAIN"), "{body}");
        stage.text(&["agents", "run", "aphid", "look"]);
        let body = stage.last_request();
        assert!(body.contains("CANARY-HILL"), "{body}");
        assert!(!body.contains("CANARY-HIVE") && !body.contains("CANARY-MAIN"), "{body}");
    }
}

// Asked for, a person decides on each call that changes something; no answer is no.
#[test]
fn a_person_may_be_asked() {
    let write = r#"{"path":"x.txt","content":"x"}"#;
    for (answer, written) in [("y\n", true), ("n\n", false)] {
        let replies = [
            Reply::call("c1", "read_file", r#"{"path":"y.txt"}"#),
            Reply::call("c2", "write_file", write),
            Reply::text("done"),
        ];
        let stage = Stage::openai(replies);
        stage.agent("writer", "---\nkind: agent\nname: writer\ntitle: Writer\n---\nx\n");
        let mut command = stage.command(&["agents", "run", "writer", "--ask", "write"]);
        let output = command.write_stdin(answer).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{err}");
        assert_eq!(err.matches("\nallow ").count(), 1, "{err}");
        let asked = "\nwrite_file x.txt: creates a new file of 1 byte\n  content: x\nallow this call? [y/N]";
        assert!(err.contains(asked), "{err}");
        assert_eq!(stage.sandbox.path().join("x.txt").exists(), written, "{answer:?}");
        assert_eq!(stage.last_request().contains("the user did not allow this call"), !written);
    }
}

// What decides is seen before anything else, however long and in whatever order a model writes its call.
#[test]
fn a_person_sees_what_a_call_would_change() {
    let (path, long) = ("deep/down/keys.txt", "x".repeat(3_000));
    let content = format!("{long}\\nallow this call? [y/N]\\n\u{202e}LAST");
    let replies = [
        Reply::call("c1", "write_file", &format!(r#"{{"content":"{content}","path":"{path}"}}"#)),
        Reply::call(
            "c2",
            "edit_file",
            &format!(r#"{{"new_text":"{long}b","old_text":"{long}a","path":"old.txt"}}"#),
        ),
        // A call that is refused anyway is not asked about.
        Reply::call("c3", "write_file", r#"{"path":"x.txt"}"#),
        Reply::text("done"),
    ];
    let stage = Stage::openai(replies);
    stage.agent("writer", "---\nkind: agent\nname: writer\ntitle: Writer\n---\nx\n");
    stage.sandbox.write("old.txt", format!("{long}a"));
    let mut command = stage.command(&["agents", "run", "writer", "--ask", "write"]);
    let output = command.write_stdin("?\ny\ny\n").output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{err}");
    let lines: Vec<&str> = err.lines().collect();
    let at = |text: &str| lines.iter().position(|line| line.starts_with(text)).expect(text);
    let asked = at("write_file deep/down/keys.txt: creates a new file of 3031 bytes");
    assert!(lines[asked + 1].starts_with("  content: (3031 bytes) xxx"), "{err}");
    assert!(lines[asked + 1].ends_with("\\u{202e}LAST"), "{err}");
    assert_eq!(lines[asked + 2], "allow this call? [y/N] (? shows all of it)");
    // All of it, and no line of it passes for one of ours.
    assert_eq!(lines[asked + 3], "write_file");
    let all = [format!("    | {long}"), "    | allow this call? [y/N]".to_owned()];
    assert!(all.iter().all(|line| lines.contains(&line.as_str())), "{err}");
    assert_eq!(err.matches("\nallow this call? [y/N]").count(), 3, "{err}");
    let asked = at("edit_file old.txt");
    let around = "x".repeat(40);
    assert_eq!(
        lines[asked + 1..=asked + 2],
        [format!("  - … {around}a"), format!("  + … {around}b")]
    );
    assert!(stage.sandbox.path().join(path).exists());
    let edited = std::fs::read_to_string(stage.sandbox.path().join("old.txt")).unwrap();
    assert!(edited.ends_with('b'));
    assert!(stage.last_request().contains("missing: 'content'"));
}

// A key that the provider quotes is in nothing that is shown or stored.
#[test]
fn a_key_that_is_quoted_is_stored_nowhere() {
    for protocol in PROTOCOLS {
        let write = r#"{"path":"x.txt","content":"loopback-key"}"#;
        let replies = [
            Reply::text("It is loopback-key.").tool_call("c1", "write_file", write),
            Reply::text("Yes: loopback-key"),
            Reply::failing(400, "loopback-key or loopback***key is wrong"),
        ];
        let stage = Stage::new(protocol, replies);
        stage.agent("writer", "---\nkind: agent\nname: writer\ntitle: Writer\n---\nx\n");
        let ran = stage.run(&["agents", "run", "writer", "what is it?"]);
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (0, "It is [key redacted].\nYes: [key redacted]\n")
        );
        let failed = stage.run(&["agents", "run", "writer", "again"]);
        assert!(failed.err.contains("[key redacted] or [key redacted] is wrong"), "{}", failed.err);
        for text in [&ran.err, &failed.err, &failed.out] {
            assert!(!text.contains("loopback"), "{text}");
        }
        let written = std::fs::read_to_string(stage.sandbox.path().join("x.txt")).unwrap();
        assert_eq!(written, "[key redacted]");
        let store = std::fs::read_dir(stage.sandbox.path().join(".contexture")).unwrap();
        for file in store.flatten().filter(|file| file.path().is_file()) {
            let bytes = std::fs::read(file.path()).unwrap();
            let found = bytes.windows(12).any(|window| window == b"loopback-key");
            assert!(!found, "{}", file.path().display());
        }
    }
}

// A slip in what is denied ends in an error, not in a run with the tool.
#[test]
fn a_slip_in_what_is_denied_is_not_run() {
    let stage = Stage::openai([]);
    let text = "---\nkind: agent\nname: safe\ntitle: Safe\ntools: {deny: [write_flie]}\n---\nx\n";
    stage.agent("safe", text);
    let (kind, message) = stage.refused(&["agents", "run", "safe", "go"]);
    assert_eq!(kind, "invalid", "{message}");
    assert!(message.contains("the file of agent 'safe' is broken"), "{message}");
    let said = stage.run(&["agents", "validate", "safe"]);
    let said = format!("{}{}", said.out, said.err);
    assert!(said.contains("there is no tool 'write_flie', so nothing would be denied"), "{said}");
    assert!(said.contains("did you mean 'write_file'?"), "{said}");
    assert_eq!(stage.requests().len(), 0);
}

// What an agent's file says about thinking reaches the provider.
#[test]
fn an_agents_effort_is_sent() {
    let stage = Stage::openai([Reply::text("deep")]);
    stage
        .agent("thinker", "---\nkind: agent\nname: thinker\ntitle: T\neffort: high\n---\nThink.\n");
    stage.text(&["agents", "run", "thinker", "--model", "openai/gpt-5", "think"]);
    assert_eq!(stage.requests()[0].json()["reasoning_effort"], "high");
}

// The task and its constraint stand in every request, however much is read and was read before.
#[test]
fn a_long_run_never_loses_its_task() {
    const FILES: usize = 40;
    let task = "Read all big*.py. IMPORTANT: never touch big3.py, and answer in German.";
    let read = |number: usize| {
        let arguments = format!(r#"{{"path":"big{number}.py"}}"#);
        Reply::call(&format!("c{number}"), "read_file", &arguments)
    };
    let replies = || (0..FILES).map(read).chain([Reply::text("Fertig.")]);
    let stage = Stage::openai(replies().chain(replies()));
    for number in 0..FILES {
        let line = |line: usize| format!("def f{number}_{line}(): return '{line} of {number}'\n");
        stage.sandbox.write(&format!("big{number}.py"), (0..200).map(line).collect::<String>());
    }
    let run = |task: &str| {
        let limits = ["--budget", "16000", "--max-turns", "50"];
        stage.text(&[&["agents", "run", "code-reviewer", task], &limits[..]].concat())
    };
    run("Read them once.");
    assert_eq!(run(task), "Fertig.\n");
    let requests = stage.requests();
    assert_eq!(requests.len(), 2 * (FILES + 1));
    for request in &requests[FILES + 1..] {
        assert!(request.body.contains(task), "{}", request.body);
    }
    let history = stage.json(&["history", "--limit", "200"]).to_string();
    assert!(history.matches("foldPages").count() > 1, "{history}");
}
