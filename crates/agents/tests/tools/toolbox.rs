//! The toolbox: rules at each call, arguments, and tools that break down.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use contexture_agents::{
    Tool, ToolOutput, ToolSpec,
    definition::ToolRules,
    tool::Effect,
    tools::{ALWAYS, CHANGE_PAGES, Refusal, Toolbox, mcp},
};
use contexture_core::message::RawJson;
use serde_json::{Value, json};

use super::{call, wrong};

struct Fake {
    spec: ToolSpec,
    calls: Arc<AtomicU64>,
    /// The server it is of, and what it is called there.
    origin: Option<(String, String)>,
}

#[async_trait]
impl Tool for Fake {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        Effect::Changes
    }

    fn origin(&self) -> Option<(&str, &str)> {
        self.origin.as_ref().map(|(server, tool)| (server.as_str(), tool.as_str()))
    }

    async fn call(&self, arguments: &Value) -> ToolOutput {
        self.calls.fetch_add(1, Ordering::Relaxed);
        assert_ne!(arguments["text"], "boom", "told to break");
        ToolOutput::of(arguments.to_string())
    }
}

const SCHEMA: &str =
    r#"{"type":"object","properties":{"text":{"type":"string"}},"additionalProperties":false}"#;

const NAMES: [&str; 12] = [
    "create_contents_page",
    "update_page",
    "read_window",
    "mcp__time_zone__now",
    "write_file",
    "mcp__time__now",
    "grep",
    "mcp__time__zones",
    "get_page",
    "hide_details",
    "find_page",
    "expand_details",
];

fn boxed(allow: Option<&[&str]>, deny: &[&str]) -> (Toolbox, Arc<AtomicU64>) {
    let calls = Arc::new(AtomicU64::new(0));
    let tool = |name: &&str| {
        let (name, schema) = ((*name).to_owned(), RawJson::new(SCHEMA).unwrap());
        let spec = ToolSpec { name, description: String::new(), schema };
        Arc::new(Fake { spec, calls: calls.clone(), origin: None }) as Arc<dyn Tool>
    };
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let rules = ToolRules { allow: allow.map(owned), deny: owned(deny) };
    let toolbox = Toolbox::new(NAMES.iter().map(tool).collect(), &rules);
    (toolbox.for_agent(&"scribe".parse().unwrap()), calls)
}

fn names(toolbox: &Toolbox) -> Vec<&str> {
    toolbox.specs().iter().map(|spec| spec.name.as_str()).collect()
}

const OWN: [&str; 5] = ["expand_details", "find_page", "get_page", "hide_details", "read_window"];

#[test]
fn rules_decide_what_is_listed_in_a_fixed_order() {
    let all = [
        "expand_details",
        "find_page",
        "get_page",
        "grep",
        "hide_details",
        "read_window",
        "write_file",
        "mcp__time__now",
        "mcp__time__zones",
        "mcp__time_zone__now",
    ];
    assert_eq!(names(&boxed(None, &[]).0), all);
    assert_eq!(names(&boxed(Some(&["*"]), &[]).0), all);
    // What concerns the agent's own window is there without being named.
    assert_eq!(names(&boxed(Some(&[]), &[]).0), OWN);
    assert_eq!(names(&boxed(Some(&["*"]), &["*"]).0), [""; 0]);
    // Deny wins, also over what is always there.
    let (toolbox, _) = boxed(Some(&["grep", "write_file"]), &["write_file", "hide_details"]);
    assert_eq!(names(&toolbox), ["expand_details", "find_page", "get_page", "grep", "read_window"]);
    for rule in ["mcp__time", "mcp__time__*"] {
        let with = [&OWN[..], &["mcp__time__now", "mcp__time__zones"]].concat();
        assert_eq!(names(&boxed(Some(&[rule]), &[]).0), with, "{rule}");
        let without: Vec<&str> =
            all.into_iter().filter(|name| !name.starts_with("mcp__time__")).collect();
        assert_eq!(names(&boxed(None, &[rule]).0), without, "{rule}");
    }
    // No rule reaches further than it says.
    for rule in ["mcp__ti", "mcp__time__", "mcp__", "mcp", "gre", "grep*", "", "m*"] {
        assert_eq!(names(&boxed(Some(&[rule]), &[]).0), OWN, "{rule}");
    }
}

// What changes pages that others may see is there when it is allowed by its own name, and only
// then; what concerns the agent's own view is there unless denied.
#[test]
fn tools_that_change_pages_are_named_or_not_there() {
    let tools = || {
        let tool = |name: &&str| {
            let (name, schema) = ((*name).to_owned(), RawJson::new(SCHEMA).unwrap());
            let spec = ToolSpec { name, description: String::new(), schema };
            Arc::new(Fake { spec, calls: Arc::default(), origin: None }) as Arc<dyn Tool>
        };
        ALWAYS.iter().chain(&CHANGE_PAGES).chain(&["grep"]).map(tool).collect()
    };
    let given = |allow: Option<&[&str]>, deny: &[&str]| -> BTreeSet<String> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let rules = ToolRules { allow: allow.map(owned), deny: owned(deny) };
        let toolbox = Toolbox::new(tools(), &rules);
        for name in CHANGE_PAGES {
            let there = toolbox.specs().iter().any(|spec| spec.name == name);
            assert_eq!(toolbox.get(name).is_ok(), there, "{name}");
        }
        toolbox.specs().iter().map(|spec| spec.name.clone()).collect()
    };
    let with = |more: &[&str]| -> BTreeSet<String> {
        ALWAYS.iter().chain(more).map(|name| (*name).to_owned()).collect()
    };
    assert_eq!(given(None, &[]), with(&["grep"]));
    assert_eq!(given(Some(&["*"]), &[]), with(&["grep"]));
    assert_eq!(given(Some(&[]), &[]), with(&[]));
    for name in CHANGE_PAGES {
        assert_eq!(given(Some(&[name]), &[]), with(&[name]));
        assert_eq!(given(Some(&[name, "*"]), &[]), with(&[name, "grep"]));
        assert_eq!(given(Some(&[name]), &[name]), with(&[]));
        assert_eq!(given(Some(&[name]), &["*"]), BTreeSet::new());
    }
    for name in ALWAYS {
        assert!(!given(Some(&[name]), &[name]).contains(name), "{name}");
    }
}

#[test]
fn rules_may_write_servers_and_tools_as_they_call_themselves() {
    let long_server = "notes-of-the-whole-department-and-more";
    let long_tool = "t".repeat(80);
    let tool = |server: &str, own: &str, name: &str| {
        let origin = Some((server.to_owned(), own.to_owned()));
        let (name, schema) = (name.to_owned(), RawJson::new(SCHEMA).unwrap());
        let spec = ToolSpec { name, description: String::new(), schema };
        Arc::new(Fake { spec, calls: Arc::default(), origin }) as Arc<dyn Tool>
    };
    let offered = |server: &str, own: &str| format!("{}__{own}", mcp::prefix(server));
    let tools = [
        ("my.notes", "delete", "mcp__my_notes__delete".to_owned()),
        // Two that become alike: the second is told apart by a number.
        ("my.notes", "a.b", "mcp__my_notes__a_b".to_owned()),
        ("my.notes", "a/b", "mcp__my_notes__a_b_2".to_owned()),
        ("my.notes", &long_tool, "mcp__my_notes__ttt-12345678".to_owned()),
        (long_server, "delete", offered(long_server, "delete")),
        ("a__b", "c__d", "mcp__a_b__c__d".to_owned()),
        ("other", "delete", "mcp__other__delete".to_owned()),
    ];
    for (server, own, name) in &tools {
        let all = || tools.iter().map(|(server, own, name)| tool(server, own, name)).collect();
        for rule in [format!("mcp__{server}__{own}"), name.clone(), offered(server, own)] {
            let rules = ToolRules { allow: None, deny: vec![rule.clone()] };
            let denied = Toolbox::new(all(), &rules);
            assert_eq!(denied.specs().len(), tools.len() - 1, "{rule}");
            assert!(matches!(denied.get(name), Err(Refusal::Denied { .. })), "{rule}");
            let rules = ToolRules { allow: Some(vec![rule.clone()]), deny: Vec::new() };
            assert_eq!(names(&Toolbox::new(all(), &rules)), [name], "{rule}");
        }
        let of_server = tools.iter().filter(|(other, ..)| other == server).count();
        for rule in [format!("mcp__{server}"), format!("mcp__{server}__*"), mcp::prefix(server)] {
            let rules = ToolRules { allow: Some(vec![rule.clone()]), deny: Vec::new() };
            assert_eq!(Toolbox::new(all(), &rules).specs().len(), of_server, "{rule}");
        }
    }
}

#[tokio::test]
async fn rules_are_checked_at_each_call_and_a_refused_tool_is_never_reached() {
    let (toolbox, calls) = boxed(Some(&["grep"]), &["mcp__time", "rm"]);
    let refused = "permission denied: tool 'write_file' is not allowed for agent 'scribe'";
    assert_eq!(wrong(toolbox.run(&call("write_file", &json!({}))).await), refused);
    for name in ["mcp__time__now", "rm", "mcp__time__made_up"] {
        let text = wrong(toolbox.run(&call(name, &json!({}))).await);
        assert!(text.starts_with(&format!("permission denied: tool '{name}'")), "{text}");
    }
    let there = "expand_details, find_page, get_page, grep, hide_details, read_window";
    let unknown = wrong(toolbox.run(&call("expand_detail", &json!({}))).await);
    let meant = "did you mean 'expand_details'?";
    assert_eq!(
        unknown,
        format!("there is no tool 'expand_detail': {meant} The tools are: {there}")
    );
    let unknown = wrong(toolbox.run(&call("Zzz", &json!({}))).await);
    assert_eq!(unknown, format!("there is no tool 'Zzz'; the tools are: {there}"));
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    assert!(matches!(toolbox.get("write_file"), Err(Refusal::Denied { .. })));
    assert_eq!(toolbox.effect("grep"), Effect::Changes);
    assert_eq!(toolbox.effect("write_file"), Effect::Reads);
}

#[tokio::test]
async fn wrong_arguments_and_panics_are_answers() {
    let (toolbox, calls) = boxed(None, &[]);
    let mut bad = call("grep", &json!({}));
    bad.arguments = "{\"text\"".to_owned();
    let text = wrong(toolbox.run(&bad).await);
    assert!(text.starts_with("the arguments are not valid JSON"), "{text}");
    let text = wrong(toolbox.run(&call("grep", &json!({"txt": "a"}))).await);
    assert_eq!(text, "unknown field 'txt'. grep takes {text?: string}");
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    bad.arguments = String::new();
    assert_eq!(toolbox.run(&bad).await, ToolOutput::of("{}"));
    let text = wrong(toolbox.run(&call("grep", &json!({"text": "boom"}))).await);
    assert!(text.starts_with("tool 'grep' crashed"), "{text}");
    // The box is still of use.
    assert_eq!(toolbox.run(&bad).await, ToolOutput::of("{}"));
}
