use serde_json::{Value, json};

use crate::support::Sandbox;

const TIGHT: &[&str] = &["fold", "--budget", "2000"];

#[test]
fn a_preview_says_what_a_fold_saves_and_changes_nothing() {
    let sandbox = Sandbox::with_talk(12);
    let state = sandbox.state();
    let preview = sandbox.json(&[TIGHT, &["--preview"]].concat());
    assert_eq!(sandbox.state(), state);
    let field = |name: &str| preview[name].as_u64().unwrap();
    assert_eq!(preview["revision"], Value::Null);
    assert!(field("folded") > 0 && field("tokensAfter") <= 2_000, "{preview}");
    assert_eq!(field("tokensBefore") - field("tokensAfter"), field("savedTokens"));
    assert!((1..=field("tokensAfter")).contains(&field("rereadTokens")), "{preview}");
    let text = sandbox.text(&[TIGHT, &["--preview"]].concat());
    assert!(text.starts_with("would fold: "), "{text}");
    assert!(text.contains(" saved, ") && text.contains(" read again\nwindow: "), "{text}");

    let mut folded = sandbox.json(TIGHT);
    assert_eq!(folded["revision"].take(), 3);
    assert_eq!(folded, preview, "what was said is what happened");
}

#[test]
fn when_none_is_due_it_says_so() {
    let sandbox = Sandbox::with_talk(12);
    sandbox.json(TIGHT);
    let state = sandbox.state();
    let after =
        sandbox.json(&["window", "--budget", "2000", "--account"])["account"]["tokens"].clone();
    let none = json!({
        "revision": null, "folded": 0, "tokensBefore": after, "tokensAfter": after,
        "rereadTokens": 0, "savedTokens": 0,
    });
    assert_eq!(sandbox.json(TIGHT), none);
    assert_eq!(sandbox.json(&[TIGHT, &["--preview"]].concat()), none);
    let text = sandbox.text(TIGHT);
    assert!(text.starts_with("no fold is due: the window takes "), "{text}");
    assert!(sandbox.text(&["fold"]).contains("no budget is set"));
    assert_eq!(sandbox.state(), state);
}

#[test]
fn levels_are_shown_and_undo_brings_them_back() {
    let sandbox = Sandbox::with_talk(12);
    let levels = || -> Vec<Value> {
        let list = sandbox.json(&["page", "list"]);
        let pages = list["items"].as_array().unwrap().iter();
        pages.map(|page| json!([page["index"], page["level"], page["visibility"]])).collect()
    };
    let before = levels();
    let folded = sandbox.json(TIGHT)["folded"].as_u64().unwrap();
    let lowered: Vec<Value> = levels().into_iter().filter(|page| page[1] != "full").collect();
    assert_eq!(lowered.len() as u64, folded);
    assert!(lowered.iter().all(|page| page[2] == "Hidden"), "{lowered:?}");

    let page = lowered[0][0].as_str().unwrap();
    assert_eq!(sandbox.json(&["page", "expand", page])["level"], "full");
    sandbox.json(&["undo"]);
    assert_eq!(sandbox.json(&["page", "show", page])["level"], lowered[0][1]);
    sandbox.json(&["undo"]);
    assert_eq!(levels(), before);
}

#[test]
fn history_says_what_a_fold_saved_and_cost() {
    let sandbox = Sandbox::with_talk(12);
    let mut folded = sandbox.json(TIGHT);
    let entry = sandbox.json(&["history"])["items"][0].clone();
    folded.as_object_mut().unwrap().remove("revision");
    assert_eq!((&entry["operation"], &entry["fold"]), (&json!("foldPages"), &folded));
    let text = sandbox.text(&["history"]);
    let line = text.lines().next().unwrap();
    let pages = format!("foldPages  {} pages, ", folded["folded"]);
    assert!(line.contains(&pages) && line.contains(" saved, ") && line.ends_with(" read again"));
    assert!(!text.lines().nth(1).unwrap().contains("saved"));
    assert!(sandbox.json(&["history"])["items"][1].get("fold").is_none());
}

// At the lowest level everywhere and still too large is an error that names what is too big.
#[test]
fn a_budget_that_cannot_be_met_names_the_culprit() {
    let sandbox = Sandbox::with_talk(3);
    for args in [&["fold", "--budget", "20"][..], &["window", "--budget", "20", "--fold"]] {
        let (kind, message) = sandbox.unchanged(args);
        assert_eq!(kind, "too-large");
        assert!(message.contains("the budget is 20: usr-3 alone takes "), "{message}");
    }
    assert_eq!(sandbox.run(&["fold", "--budget", "x"]).code, 2);
}

// A fold is its view's own: nobody else's window changes by a byte.
#[test]
fn an_agents_fold_is_its_own() {
    let sandbox = Sandbox::with_talk(12);
    let windows = |agent: &[&str]| -> Vec<String> {
        let formats = ["markdown", "openai", "anthropic"];
        let window =
            |format: &&str| sandbox.text(&[agent, &["window", "--format", format]].concat());
        formats.iter().map(window).collect()
    };
    let (ant, bee, system) = (windows(&["--as", "ant"]), windows(&["--as", "bee"]), windows(&[]));
    let folded = sandbox.json(&[&["--as", "bee"], TIGHT].concat());
    assert!(folded["revision"].is_u64());
    assert_eq!(windows(&["--as", "ant"]), ant);
    assert_eq!(windows(&[]), system);
    for (now, before) in windows(&["--as", "bee"]).iter().zip(&bee) {
        assert!(now.len() < before.len());
    }
    sandbox.json(&["--as", "bee", "undo"]);
    assert_eq!(windows(&["--as", "bee"]), bee);
}

#[test]
fn the_sessions_budget_and_capacities_apply() {
    let sandbox = Sandbox::with_talk(12);
    sandbox.json(&["session", "set", "budget", "2000"]);
    assert!(sandbox.json(&["fold", "--preview"])["folded"].as_u64().unwrap() > 0);
    sandbox.json(&["session", "set", "budget", "--clear"]);
    assert_eq!(sandbox.json(&["fold", "--preview"])["folded"], 0);
    sandbox.json(&["segment", "update", "usr", "--capacity", "2000"]);
    assert!(sandbox.json(&["fold"])["folded"].as_u64().unwrap() > 0);
}
