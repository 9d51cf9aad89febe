//! Shares of windows: where they are set, what is shown of them, and that they are used.

use std::fs;

use contexture_testkit::provider::Reply;
use serde_json::{Value, json};

use crate::{
    agent_support::Stage,
    support::{Sandbox, error},
};

const WRITER: &str = "---\nkind: agent\nname: writer\ntitle: Writer\ncontextMode: shared\nwindow:\n  shares:\n    recent: 0.2\n    held: 5\n---\nWrite.\n";

/// A project whose settings, user and agent file each say something about shares.
fn stage() -> Stage {
    let stage = Stage::openai([Reply::text("Fine."), Reply::text("Good.")]);
    stage.agent("writer", WRITER);
    let shares = json!({ "recent": 0.1, "lines": 0.2, "highWater": 0.8 });
    stage.settings(&json!({
        "agents": { "defaultModel": "openai/gpt-4o" }, "window": { "shares": shares },
    }));
    let config = stage.sandbox.path().join("home/.config/contexture");
    fs::create_dir_all(&config).unwrap();
    let user = json!({ "window": { "shares": { "lines": 0.3, "part": 0.4 } } });
    fs::write(config.join("settings.json"), user.to_string()).unwrap();
    stage
}

#[test]
fn shares_are_shown_with_where_they_came_from() {
    let stage = stage();
    let show = |args: &[&str]| stage.json(&[args, &["window", "--shares"]].concat());
    let said = |value: Value, by: &str| json!({ "value": value, "by": by });
    let project = "project settings .contexture/settings.json";
    let shares = show(&[]);
    assert_eq!(shares["requests"]["by"], "default");
    assert_eq!(shares["recent"], said(json!(0.1), project));
    assert_eq!(shares["lines"], said(json!(0.2), project));
    let user = "user settings home/.config/contexture/settings.json";
    assert_eq!(shares["part"], said(json!(0.4), user));
    assert_eq!(shares.as_object().unwrap().len(), 7);
    let shares = show(&["--as", "writer"]);
    let file = "agent file .gemini/agents/writer.md";
    assert_eq!(shares["recent"], said(json!(0.2), file));
    assert_eq!(shares["held"], said(json!(5), file));
    assert_eq!(shares["lines"], said(json!(0.2), project));
    // An agent without a file has what the settings say.
    assert_eq!(show(&["--as", "nobody"]), show(&[]));

    let text = stage.text(&[
        "--as",
        "writer",
        "window",
        "--shares",
        "--share",
        "requests=0",
        "--share",
        "lowWater=0.25",
    ]);
    insta::assert_snapshot!(text, @"
    requests   0      the call
    recent     0.2    agent file .gemini/agents/writer.md
    highWater  0.8    project settings .contexture/settings.json
    lowWater   0.25   the call
    lines      0.2    project settings .contexture/settings.json
    part       0.4    user settings home/.config/contexture/settings.json
    held       5      agent file .gemini/agents/writer.md
    ");
    let shown = stage.text(&["agents", "show", "writer"]);
    assert!(shown.contains("\nshares       recent 0.2, held 5\n"), "{shown}");
    assert_eq!(
        stage.json(&["agents", "show", "writer"])["shares"],
        json!({ "recent": 0.2, "held": 5 })
    );
}

#[test]
fn a_wrong_share_is_refused_and_nothing_is_done() {
    let stage = stage();
    let before = stage.sandbox.state();
    let names = "the shares are requests, recent, highWater, lowWater, lines, part, held";
    let wanted = "it must be a number from 0 to 1 with at most three decimals";
    for command in [&["window"][..], &["fold"], &["agents", "run", "writer"]] {
        let request = if command.len() > 1 { &["go"][..] } else { &[] };
        let refused = |given: &[&str]| {
            let flags: Vec<&str> = given.iter().flat_map(|given| ["--share", given]).collect();
            stage.refused(&[command, &flags, request].concat())
        };
        assert_eq!(
            refused(&["request=0.1"]),
            error(
                "invalid",
                &format!("--share: there is no share 'request'; {names}; did you mean 'requests'?")
            )
        );
        assert_eq!(
            refused(&["requests=1.5"]),
            error("invalid", &format!("--share requests is '1.5': {wanted}"))
        );
        assert_eq!(
            refused(&["held=0.5"]),
            error("invalid", "--share held is '0.5': it must be a whole number from 0 to 255")
        );
        assert_eq!(refused(&["requests"]), error("invalid", "--share 'requests' has no value"));
        assert_eq!(refused(&["part=0", "part=1"]), error("invalid", "--share part is given twice"));
        let (kind, message) = refused(&["lowWater=0.9"]);
        assert_eq!(kind, "invalid");
        let told = "lowWater is set to 0.9 by the call, above highWater, which is set to 0.8 by project settings ";
        assert!(message.starts_with(told), "{message}");
    }
    assert_eq!(stage.run(&["window", "--sent", "1", "--share", "part=1"]).code, 2);
    stage.settings(&json!({ "window": { "shares": { "requests": 7 } } }));
    for command in [&["window"][..], &["fold"], &["window", "--shares"]] {
        let (kind, message) = stage.refused(command);
        assert_eq!(kind, "invalid");
        assert!(message.ends_with(&format!("window.shares.requests is 7: {wanted}")), "{message}");
    }
    assert_eq!(stage.sandbox.state(), before);
    assert_eq!(stage.requests().len(), 0);
    // A broken agent file is not taken for one that sets nothing.
    stage.settings(&json!({}));
    stage.agent("writer", &WRITER.replace("0.2", "2"));
    let (kind, message) = stage.refused(&["--as", "writer", "window", "--shares"]);
    assert_eq!(kind, "invalid");
    assert!(message.starts_with("the file of agent 'writer' is broken: "), "{message}");
}

/// Counts the earlier requests that are told.
fn requests(window: &str) -> usize {
    (1..12).filter(|turn| window.contains(&format!("What is in module {turn}?"))).count()
}

// A share really changes the window, wherever it is set.
#[test]
fn without_a_share_for_requests_fewer_of_them_stand() {
    let sandbox = Sandbox::with_talk(12);
    let window = |args: &[&str]| {
        let ran = sandbox.run(&[&["window", "--budget", "1200"], args].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out
    };
    let (default, none) = (window(&[]), window(&["--share", "requests=0"]));
    assert!(requests(&default) > requests(&none), "{default}\n────\n{none}");
    let fold =
        |args: &[&str]| sandbox.json(&[&["fold", "--budget", "1200", "--preview"], args].concat());
    assert_ne!(fold(&[]), fold(&["--share", "requests=0"]));
    let usual = &sandbox.json(&["window", "--shares"])["requests"]["value"];
    let usual = format!("requests={usual}");
    sandbox.write(".contexture/settings.json", r#"{"window":{"shares":{"requests":0}}}"#);
    assert_eq!(window(&[]), none);
    assert_eq!(fold(&[]), fold(&["--share", "requests=0"]));
    assert_eq!(window(&["--share", &usual]), default);
    assert_eq!(sandbox.json(&["window", "--shares"])["requests"]["value"], 0);
    // The fold that is committed is the one that was shown.
    assert_eq!(window(&["--fold"]), none);
}

// A run uses them: here the largest part that is shown whole.
#[test]
fn a_run_uses_the_shares_of_the_call() {
    let stage = stage();
    let long = "many words about the weather ".repeat(200);
    let turn = ["turn", "add", "--user", "tell me", "--assistant", &long];
    stage.sandbox.json(&turn);
    let run = ["agents", "run", "writer", "--budget", "10000"];
    stage.text(&[&run[..], &["go on"]].concat());
    assert!(stage.last_request().contains(long.trim()));
    stage.text(&[&run[..], &["--share", "part=0.01", "go on"]].concat());
    assert!(!stage.last_request().contains(long.trim()));
}
