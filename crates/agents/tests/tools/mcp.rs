//! MCP tools against a real server: `examples/mcp_notes.rs`, a program of its own.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use contexture_agents::{
    Tool,
    definition::{McpConfig, ToolRules},
    tool::Effect,
    tools::{
        Toolbox,
        mcp::{McpOptions, connect},
    },
};
use serde_json::json;

use super::{call, find, right, wrong};

/// Long enough that only a server that never answers reaches it.
const PATIENT: Duration = Duration::from_secs(60);

/// Returns the example server, which is built beside the tests.
fn notes() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.parent().and_then(|deps| deps.parent()).unwrap();
    let program = target.join("examples").join("mcp_notes");
    assert!(program.exists(), "{} is built by `cargo build --examples`", program.display());
    program
}

fn stdio(name: &str, arguments: &[&str]) -> (String, McpConfig) {
    let command = notes().to_str().unwrap().to_owned();
    let args = arguments.iter().map(|text| (*text).to_owned()).collect();
    (name.to_owned(), McpConfig::Stdio { command, args, env: BTreeMap::new() })
}

async fn connected() -> Vec<Arc<dyn Tool>> {
    let (tools, warnings) = connect(&[stdio("my notes", &[])], &McpOptions::new(PATIENT)).await;
    assert_eq!(warnings, [""; 0]);
    tools
}

#[tokio::test]
async fn tools_are_named_sorted_described_and_called() {
    let tools = connected().await;
    let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    assert_eq!(
        names,
        [
            "mcp__my_notes__add_note",
            "mcp__my_notes__add_note_2",
            "mcp__my_notes__environment",
            "mcp__my_notes__fail",
            "mcp__my_notes__list_notes",
            "mcp__my_notes__picture",
            "mcp__my_notes__sleep",
        ]
    );
    let add = find(&tools, "mcp__my_notes__add_note").spec();
    assert_eq!(add.description, "Adds a note.");
    assert_eq!(
        add.schema.as_str(),
        r#"{"properties":{"text":{"type":"string"}},"required":["text"],"type":"object"}"#
    );
    assert_eq!(find(&tools, "mcp__my_notes__sleep").spec().schema.as_str(), r#"{"type":"object"}"#);
    let long = &find(&tools, "mcp__my_notes__add_note_2").spec().description;
    assert!(long.len() <= 2048 && long.ends_with('…'), "{}", long.len());
    assert_eq!(find(&tools, "mcp__my_notes__list_notes").effect(), Effect::Reads);
    assert_eq!(find(&tools, "mcp__my_notes__add_note").effect(), Effect::Changes);

    let toolbox = Toolbox::new(tools, &ToolRules::default());
    let add = call("mcp__my_notes__add_note", &json!({"text": "buy ink"}));
    assert_eq!(right(toolbox.run(&add).await), "1 notes");
    // Both names reach their own tool of one and the same program.
    let add = call("mcp__my_notes__add_note_2", &json!({"text": "buy paper"}));
    assert_eq!(right(toolbox.run(&add).await), "2 notes");
    let list = call("mcp__my_notes__list_notes", &json!({}));
    assert_eq!(right(toolbox.run(&list).await), "buy ink\nbuy paper");
    let picture = call("mcp__my_notes__picture", &json!({}));
    let shown = right(toolbox.run(&picture).await);
    assert_eq!(shown, "(image, image/png, about 3 bytes, not shown)");
    let fail = call("mcp__my_notes__fail", &json!({}));
    assert_eq!(wrong(toolbox.run(&fail).await), "the pen is dry");
    // Arguments are checked before the server sees them.
    let missing = call("mcp__my_notes__add_note", &json!({}));
    assert!(wrong(toolbox.run(&missing).await).starts_with("missing: 'text'"));
}

#[tokio::test]
async fn servers_that_do_not_work_are_warnings_and_the_others_stay() {
    let servers = [
        stdio("silent", &["silent"]),
        stdio("broken", &["broken"]),
        stdio("notes", &[]),
        stdio("no.tes", &[]),
        stdio("no tes", &[]),
        (
            "absent".to_owned(),
            McpConfig::Stdio {
                command: "/nowhere/to/be/found".to_owned(),
                args: Vec::new(),
                env: BTreeMap::new(),
            },
        ),
        (
            "web".to_owned(),
            McpConfig::Http {
                // Nobody listens on the discard port.
                url: "http://me:secret@127.0.0.1:9/mcp?apiKey=secret".to_owned(),
                headers: BTreeMap::from([("X-Key".to_owned(), "secret".to_owned())]),
            },
        ),
        (
            "bad".to_owned(),
            McpConfig::Http {
                url: "http://127.0.0.1:9/mcp".to_owned(),
                headers: BTreeMap::from([("X Key".to_owned(), "secret".to_owned())]),
            },
        ),
    ];
    let mut options = McpOptions::new(PATIENT);
    options.start = Duration::from_secs(8);
    let (tools, warnings) = connect(&servers, &options).await;
    let count =
        |server: &str| tools.iter().filter(|tool| tool.spec().name.starts_with(server)).count();
    assert_eq!((tools.len(), count("mcp__notes__"), count("mcp__no_tes__")), (14, 7, 7));
    assert_eq!(warnings.len(), 6, "{warnings:#?}");
    let says = |text: &str| {
        assert!(warnings.iter().any(|warning| warning.contains(text)), "{text}: {warnings:#?}");
    };
    says("'no tes' is left out: its tools would have the same names as those of 'no.tes'");
    says("MCP server 'silent' is left out: no answer within 8 s");
    says("MCP server 'broken' is left out: ");
    says("; it said: no notes folder");
    says("MCP server 'absent' is left out: '/nowhere/to/be/found' cannot be started");
    says("MCP server 'web' is left out: ");
    says("MCP server 'bad' is left out: 'X Key' cannot be the name of a header");
    assert!(!warnings.iter().any(|warning| warning.contains("secret")), "{warnings:#?}");
}

#[tokio::test]
async fn a_call_that_hangs_ends_and_the_server_stays_of_use() {
    let mut options = McpOptions::new(PATIENT);
    options.call = Duration::from_secs(1);
    let (tools, _) = connect(&[stdio("notes", &[])], &options).await;
    let text = wrong(find(&tools, "mcp__notes__sleep").call(&json!({})).await);
    assert_eq!(
        text,
        "MCP server 'notes' did not answer within 1 s: whether the call took effect is unknown. Check before you repeat it."
    );
    let list = find(&tools, "mcp__notes__list_notes").call(&json!({})).await;
    assert_eq!(right(list), "(no output)");
}

#[tokio::test]
async fn keys_of_providers_are_not_inherited_but_can_be_given() {
    let (name, config) = stdio("notes", &[]);
    let McpConfig::Stdio { command, args, .. } = config else { unreachable!() };
    let env = BTreeMap::from([("OPENAI_API_KEY".to_owned(), "given".to_owned())]);
    let mut options = McpOptions::new(PATIENT);
    // A variable that every run of the tests has.
    options.withheld.push("CARGO_MANIFEST_DIR".to_owned());
    let servers = [(name, McpConfig::Stdio { command, args, env })];
    let (tools, _) = connect(&servers, &options).await;
    let named = right(find(&tools, "mcp__notes__environment").call(&json!({})).await);
    let has = |wanted: &str| named.lines().any(|name| name == wanted);
    assert!(has("PATH") && has("OPENAI_API_KEY") && !has("CARGO_MANIFEST_DIR"), "{named}");
}

/// A server's program ends with the runtime it ran in, also one that never reads its input.
#[test]
#[cfg(target_os = "linux")]
fn no_program_is_left_behind() {
    fn running(marker: &str) -> usize {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.map(|process| std::fs::read(process.path().join("cmdline")));
        lines.flatten().filter(|line| String::from_utf8_lossy(line).contains(marker)).count()
    }
    let marker = format!("left-behind-{}", std::process::id());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let servers = [stdio("notes", &["serve", &marker]), stdio("silent", &["silent", &marker])];
        let mut options = McpOptions::new(PATIENT);
        options.start = Duration::from_secs(3);
        let (tools, warnings) = connect(&servers, &options).await;
        assert_eq!((tools.len(), warnings.len()), (7, 1));
        assert!(running(&marker) >= 1);
        // The tools are dropped when the runtime ends, not before.
        std::mem::forget(tools);
    });
    drop(runtime);
    // Killing is asked for; the system takes a moment to do it.
    let gone = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        running(&marker) == 0
    });
    assert!(gone, "{} left", running(&marker));
}

/// What a server's program has started ends with it, also when a shell stands between.
#[test]
#[cfg(target_os = "linux")]
fn no_child_of_a_server_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("sleep 1000 & echo $! > pid; exec {} serve", notes().display());
    let wrapped = McpConfig::Stdio {
        command: "sh".to_owned(),
        args: vec!["-c".to_owned(), script],
        env: BTreeMap::new(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut options = McpOptions::new(PATIENT);
        options.folder = Some(folder.path().to_owned());
        let (tools, warnings) = connect(&[("notes".to_owned(), wrapped)], &options).await;
        assert_eq!((tools.len(), warnings.len()), (7, 0), "{warnings:?}");
    });
    drop(runtime);
    let child = std::fs::read_to_string(folder.path().join("pid")).unwrap();
    let runs = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.trim()));
        stat.is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
    };
    let gone = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        !runs()
    });
    assert!(gone, "process {child} is left");
}
