//! Commands through a server that runs: what they print and how they end is the same as without.

use std::{fs, path::Path, process::Command as Process, thread};

use serde_json::json;

use crate::{
    serve::Serving,
    support::{Ran, Sandbox},
};

/// What every command begins with, for each of those who call.
const CALLERS: &[&[&str]] =
    &[&[], &["--by", "anna"], &["--as", "fixer"], &["--as", "reader"], &["--as", "No Name"]];

/// Commands that only read: what is there, what is not, and what cannot be asked.
const READS: &[&[&str]] = &[
    &["window"],
    &["window", "--account"],
    &["window", "--budget", "1500"],
    &["window", "--budget", "1500", "--account", "--share", "requests=0.5"],
    &["window", "--budget", "3"],
    &["window", "--level", "gist"],
    &["window", "--level", "none"],
    &["window", "--format", "anthropic", "--model", "claude-sonnet-4"],
    &["window", "--format", "openai", "--model", "gpt-4o", "--account"],
    &["window", "--format", "context"],
    &["window", "--format", "none"],
    &["window", "--shares", "--share", "recent=0.1"],
    &["window", "--share", "requests=7"],
    &["window", "--sent", "last"],
    &["window", "--sent", "1", "--account"],
    &["window", "--sent", "9"],
    &["window", "--session", "none"],
    &["find", "module 3"],
    &["find", "says little", "--role", "assistant", "--explain", "--limit", "2"],
    &["find", "module", "--in", "usr", "--tool", "read_file"],
    &["find", "module", "--author", "user:anna", "--since", "2020-01-01"],
    &["find", "nowhere to be found"],
    &["find", "module", "--archived"],
    &["find", "module", "--in", "none"],
    &["find", ""],
    &["page", "find", "garden"],
    &["recall", "module 2", "--preview", "--budget", "300"],
    &["recall", "module 2", "--preview", "--into", "usr-99"],
    &["recall", "module 2", "--budget", "0"],
    &["page", "show", "usr-1"],
    &["page", "show", "usr-0"],
    &["page", "show", "sys-1"],
    &["page", "show", "own-1"],
    &["page", "show", "usr-3", "--archived"],
    &["page", "show", "usr-3"],
    &["page", "show", "usr-99"],
    &["page", "show", "nonsense"],
];

/// Commands that write, in an order in which some are refused.
const WRITES: &[&[&str]] = &[
    &["turn", "add", "--user", "Hello", "--assistant", "Hello!"],
    &["turn", "add", "--user", "Once", "--key", "k1"],
    &["turn", "add", "--user", "Once", "--key", "k1"],
    &["turn", "add", "--user", "Another", "--key", "k1"],
    &["turn", "add", "--user", "Where?", "--segment", "none"],
    &["turn", "add", "--user", "Where?", "--segment", "sys"],
    &["turn", "add", "--messages", "turn.json"],
    &["turn", "add", "--messages", "no.json"],
    &["turn", "add", "--messages", "broken.json"],
    &["turn", "add", "--messages", "empty.json"],
    &["turn", "extend", "--messages", "more.json"],
    &["turn", "open", "--messages", "open.json"],
    &["turn", "add", "--user", "Too early"],
    &["turn", "result", "call_9", "--text", "It is \u{1b}[31mred."],
    &["turn", "result", "call_8", "--text", "Nobody asked."],
    &["turn", "close", "--interrupted"],
    &["window", "--budget", "1500", "--fold"],
    &["window", "--budget", "1500", "--fold", "--account"],
    &[
        "window",
        "--format",
        "anthropic",
        "--budget",
        "1500",
        "--fold",
        "--model",
        "claude-sonnet-4",
    ],
    &["window", "--format", "anthropic", "--sent", "last", "--account"],
    &["window", "--sent", "1"],
    &["recall", "module 2", "--budget", "900"],
    &["recall", "module 2", "--budget", "900"],
    &["window", "--account"],
    &["find", "module 2"],
    &["page", "show", "usr-9"],
];

/// Makes a session with turns, tool calls, a fold, an archived page, a segment of an agent, and agents with files.
fn talk() -> Sandbox {
    let sandbox = Sandbox::with_talk(6);
    fs::create_dir_all(sandbox.path().join(".contexture/agents")).unwrap();
    let agent =
        |name: &str, text: &str| sandbox.write(&format!(".contexture/agents/{name}.md"), text);
    agent(
        "reader",
        "---\nkind: agent\nname: reader\ntitle: Reader\ncontextMode: isolated\n---\nRead.\n",
    );
    let own = ["segment", "add", "own", "--kind", "custom", "--permission", "1"];
    sandbox.json(&own);
    sandbox.json(&["turn", "add", "--segment", "own", "--user", "of my own"]);
    sandbox.json(&[
        "--by",
        "anna",
        "turn",
        "add",
        "--user",
        "The garden \u{1b}[31m花園",
        "--assistant",
        "grows",
    ]);
    sandbox.json(&["page", "remove", "usr-3"]);
    sandbox.json(&["--as", "fixer", "page", "hide", "usr-2"]);
    sandbox.json(&["fold", "--budget", "2500"]);
    sandbox.text(&["window", "--format", "markdown", "--fold"]);
    let messages = json!([
        { "role": "user", "content": "What is in it?" },
        { "role": "assistant", "content": null, "tool_calls": [{ "id": "call_7", "type": "function",
            "function": { "name": "read_file", "arguments": "{\"n\": 1.50}" } }] },
        { "role": "tool", "tool_call_id": "call_7", "content": "nothing" },
    ]);
    sandbox.write("turn.json", messages.to_string());
    sandbox.write("more.json", json!([{ "role": "assistant", "content": "Nothing." }]).to_string());
    let open = json!([{ "role": "assistant", "content": null, "tool_calls": [{ "id": "call_9",
        "type": "function", "function": { "name": "read_file", "arguments": "{}" } }] }]);
    sandbox.write("open.json", open.to_string());
    sandbox.write("broken.json", "[{");
    sandbox.write("empty.json", "[]");
    sandbox
}

/// Makes a second folder with the same files.
fn copy(sandbox: &Sandbox) -> Sandbox {
    let copied = Sandbox::empty();
    let from = format!("{}/.", sandbox.path().display());
    let status = Process::new("cp").args(["-a", &from]).arg(copied.path()).status().unwrap();
    assert!(status.success());
    copied
}

impl Serving {
    /// Returns how many commands it has run for others.
    pub(crate) fn commands(&self) -> u64 {
        self.counted("method=\"POST\",route=\"/command\",status=\"200\"")
    }

    /// Returns how often it was asked to prove who it is.
    pub(crate) fn challenges(&self) -> u64 {
        self.counted("method=\"GET\",route=\"/command\",status=\"200\"")
    }

    fn counted(&self, labels: &str) -> u64 {
        let (status, text) = self.send(&self.token, "GET", "/metrics", "");
        assert_eq!(status, 200);
        let name = format!("contexture_request_seconds_count{{{labels}}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&name));
        line.map_or(0, |count| count.trim().parse().unwrap())
    }
}

fn words<'a>(caller: &[&'a str], command: &[&'a str], form: &[&'a str]) -> Vec<&'a str> {
    [caller, command, form].concat()
}

fn said(ran: &Ran) -> (i32, &str, &str) {
    (ran.code, &ran.out, &ran.err)
}

#[test]
fn reading_through_a_server_prints_the_same() {
    let alone = talk();
    let served = copy(&alone);
    let server = Serving::start(&served);
    let mut through = 0;
    for (number, (caller, command)) in
        CALLERS.iter().flat_map(|caller| READS.iter().map(move |read| (caller, read))).enumerate()
    {
        // Each form comes with each command, if not for each caller.
        let form: &[&str] =
            if (number + number / READS.len()).is_multiple_of(2) { &["--json"] } else { &[] };
        let line = words(caller, command, form);
        let (wanted, ran) = (alone.run(&line), served.run(&line));
        assert_eq!(said(&wanted), said(&ran), "{line:?}");
        // What is refused before anything is opened is refused here.
        let refused_here = wanted.code == 2 || caller.contains(&"No Name");
        through += u64::from(!refused_here);
        assert_eq!(server.commands(), through, "{line:?} was run elsewhere: {ran:?}");
    }
    // A broken file is named by its path, which differs.
    let broken = "---\nkind: agent\nname: broken\ncontextMode: [\n---\nRead.\n";
    for sandbox in [&alone, &served] {
        sandbox.write(".contexture/agents/broken.md", broken);
    }
    for agent in ["broken", "fixer", "reader"] {
        let line = ["--as", agent, "window"];
        let here = |sandbox: &Sandbox, ran: Ran| {
            let folder = sandbox.path().display().to_string();
            (ran.code, ran.out, ran.err.replace(&folder, "FOLDER"))
        };
        let (wanted, ran) = (here(&alone, alone.run(&line)), here(&served, served.run(&line)));
        assert_eq!(wanted, ran, "{line:?}");
        through += 1;
        assert_eq!(server.commands(), through, "{line:?} was run elsewhere");
    }
    fs::remove_file(alone.path().join(".contexture/agents/broken.md")).unwrap();
    fs::remove_file(served.path().join(".contexture/agents/broken.md")).unwrap();
    // Colours are those of who reads.
    for command in
        [&["window"][..], &["find", "module 3"], &["page", "show", "usr-1"], &["find", "nowhere"]]
    {
        let coloured =
            |sandbox: &Sandbox| Ran::of(sandbox.command(command).env("CLICOLOR_FORCE", "1"));
        let (wanted, ran) = (coloured(&alone), coloured(&served));
        assert_eq!(said(&wanted), said(&ran), "{command:?}");
        assert!(ran.out.contains("\u{1b}[") || ran.err.contains("\u{1b}["), "{ran:?}");
        through += 1;
        assert_eq!(server.commands(), through, "{command:?} was run elsewhere");
    }
}

// Two stores are written to at different times, so times are left out; everything else is compared.
#[test]
fn writing_through_a_server_does_the_same() {
    for caller in [&[][..], &["--by", "anna"], &["--as", "fixer"], &["--as", "reader"]] {
        for form in [&[][..], &["--json"]] {
            let alone = talk();
            let served = copy(&alone);
            let server = Serving::start(&served);
            for (number, command) in WRITES.iter().enumerate() {
                let line = words(caller, command, form);
                let (wanted, ran) = (alone.run(&line), served.run(&line));
                let (wanted, ran) = (
                    (wanted.code, timeless(&wanted.out), timeless(&wanted.err)),
                    (ran.code, timeless(&ran.out), timeless(&ran.err)),
                );
                assert_eq!(wanted, ran, "{line:?}");
                // Messages that cannot be read are not sent.
                let read = WRITES[..=number]
                    .iter()
                    .filter(|line| !line.contains(&"no.json") && !line.contains(&"broken.json"));
                assert_eq!(server.commands(), read.count() as u64, "{line:?} was run elsewhere");
            }
            drop(server);
            let state = |sandbox: &Sandbox| timeless(&sandbox.state().to_string());
            assert_eq!(state(&alone), state(&served), "{caller:?}");
        }
    }
}

/// Replaces times, and what is derived from them: hashes of windows that show them.
fn timeless(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (String::new(), 0);
    while at < text.len() {
        let is_date = |from: usize| {
            let shape = b"0000-00-00";
            bytes.get(from..from + shape.len()).is_some_and(|piece| {
                piece.iter().zip(shape).all(|(byte, wanted)| match wanted {
                    b'0' => byte.is_ascii_digit(),
                    _ => byte == wanted,
                })
            })
        };
        if is_date(at) {
            at += 10;
            let rest = text[at..].find(|c: char| !matches!(c, '0'..='9' | ':' | '.' | 'T' | ' '));
            at += rest.unwrap_or(text.len() - at);
            out.push_str("TIME");
            continue;
        }
        let Some(next) = text[at..].chars().next() else { break };
        out.push(next);
        at += next.len_utf8();
    }
    out
}

#[test]
fn commands_at_once_go_through_one_server() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    thread::scope(|scope| {
        for number in 0..6 {
            let (sandbox, server) = (&sandbox, &server);
            scope.spawn(move || {
                let text = format!("number {number}");
                sandbox.json(&["turn", "add", "--user", &text, "--key", &text]);
                assert!(sandbox.text(&["window"]).contains(&text));
                // Nobody else stands in the way.
                assert_eq!(server.send(&server.token, "GET", "/readyz", "").0, 200);
            });
        }
    });
    assert_eq!(server.commands(), 12);
    assert_eq!(
        sandbox.json(&["history", "--server", "never"])["items"].as_array().unwrap().len(),
        7
    );
}

#[test]
fn a_server_can_be_named_or_refused() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let url = format!("http://{}", server.address);
    sandbox.json(&["turn", "add", "--user", "one", "--server", &url]);
    let ran = Ran::of(sandbox.command(&["window"]).env("CONTEXTURE_SERVER", &url));
    assert!(ran.code == 0 && ran.out.contains("one"), "{ran:?}");
    assert_eq!(server.commands(), 2);
    sandbox.text(&["window", "--server", "never"]);
    let ran = Ran::of(sandbox.command(&["window"]).env("CONTEXTURE_SERVER", "never"));
    // A log is about the work of the process that writes it.
    let logged = Ran::of(sandbox.command(&["window"]).env("CONTEXTURE_LOG", "error"));
    assert_eq!((ran.code, logged.code, server.commands()), (0, 0, 2));
    // What cannot go through a server says so.
    for command in [
        &["fold"][..],
        &["page", "list"],
        &["init"],
        &["store", "check"],
        &["agents", "list"],
        &["mcp"],
        &["serve", "--port", "0"],
    ] {
        let (kind, message) = sandbox.refused(&[command, &["--server", &url]].concat());
        assert_eq!(
            (kind.as_str(), message.as_str()),
            ("invalid", "this command does not go through a server")
        );
    }
    assert_eq!(sandbox.run(&["completions", "bash", "--server", &url]).code, 0);
    for wrong in ["http://10.0.0.1:7373", "https://localhost", "http://example.com", "sometimes"] {
        let ran = sandbox.run(&["window", "--server", wrong, "--json"]);
        assert!(ran.code == 2 && ran.err.contains("\"kind\":\"invalid\""), "{ran:?}");
    }
    // From elsewhere, the token is given.
    let elsewhere = Sandbox::empty();
    let from = ["window", "--server", &url];
    assert_eq!(elsewhere.refused(&from).0, "not-found");
    let with = |token: &str| Ran::of(elsewhere.command(&from).env("CONTEXTURE_TOKEN", token));
    let ran = with(&server.token);
    assert!(ran.code == 0 && ran.out.contains("one"), "{ran:?}");
    let ran = with(&format!("ctx_owner_{}", "0".repeat(48)));
    assert!(ran.code == 1 && ran.err.contains("does not know the owner's token"), "{ran:?}");
    assert!(with("nonsense").err.contains("CONTEXTURE_TOKEN holds no token"));
    drop(server);
    let (kind, message) = sandbox.refused(&["window", "--server", &url]);
    assert!(kind == "unavailable" && message.contains(&url), "{message}");
}

#[test]
fn a_server_that_ends_takes_its_file_away() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    let file = sandbox.path().join(".contexture/contexture.db.server");
    let mut server = Serving::start(&sandbox);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(&server.address) && !text.contains(&server.token), "{text}");
    let terminate = |server: &mut Serving| {
        let status = Process::new("kill").arg(server.child.id().to_string()).status().unwrap();
        assert!(status.success() && server.child.wait().unwrap().success());
    };
    // Another server takes its place and keeps it.
    let mut second = Serving::start(&sandbox);
    terminate(&mut server);
    assert!(file.exists());
    sandbox.text(&["window"]);
    assert_eq!(second.commands(), 1);
    terminate(&mut second);
    assert!(!file.exists());
    assert!(is_only_store(&sandbox.path().join(".contexture")), "a draft is left");
}

fn is_only_store(folder: &Path) -> bool {
    let mut names = fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name());
    names.all(|name| !name.to_string_lossy().contains(".server"))
}
