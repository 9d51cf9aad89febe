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

// M-24, C33: options stand before the request or are its last two words; `--` ends them; the rest is
// byte for byte what was typed.
#[test]
fn options_and_the_request() {
    let cases: [(&[&str], &str, &str); 8] = [
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
        (&["a", "--context", "shared", "b"], "a --context shared b", "isolated"),
        (&["what", "is", "--", "--context", "shared"], "what is -- --context shared", "isolated"),
    ];
    for (words, prompt, mode) in cases {
        let (text, ran) = asked(words);
        assert!(text.ends_with(prompt), "{words:?}: {text}");
        assert_eq!(ran, mode, "{words:?}");
    }
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
    for (answer, written) in [("y\n", true), ("n\n", false), ("", false)] {
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
        assert!(err.contains(&format!("allow write_file {write}? y/N")), "{err}");
        assert_eq!(stage.sandbox.path().join("x.txt").exists(), written, "{answer:?}");
        assert_eq!(stage.last_request().contains("the user did not allow this call"), !written);
    }
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
