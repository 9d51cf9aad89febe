//! What a person reads.

use insta::assert_snapshot;

use crate::support::Sandbox;

fn sample() -> Sandbox {
    let sandbox = Sandbox::with_pages();
    sandbox.json(&["turn", "add", "--user", "What is 6 x 7?", "--assistant", "42"]);
    sandbox.json(&["page", "move", "usr-1", "--to", "usr-2"]);
    sandbox.json(&["page", "pin", "usr-1"]);
    sandbox.json(&["page", "archive", "usr-3"]);
    sandbox.json(&["page", "create", "--parent", "usr-0", "--name", "goroutine原理"]);
    sandbox
}

#[test]
fn a_tree_is_drawn() {
    assert_snapshot!(sample().text(&["page", "tree"]), @r"
    sys-0  System/  system, read-only, 1 page
    └── sys-1  System prompt  1 message
    usr-0  User/  user, read-write, 3 pages
    ├── usr-2  Drawer/  hidden, 1 page
    │   └── usr-1  Note  pinned, out, 1 message
    ├── usr-3  What is 6 x 7?  turn, archived, 2 messages
    └── usr-4  goroutine原理  no messages
    ");
}

#[test]
fn a_large_directory_is_drawn_in_part() {
    let sandbox = Sandbox::new();
    for _ in 0..5 {
        sandbox.json(&["page", "create", "--parent", "usr-0", "--name", "Page"]);
    }
    sandbox.json(&[
        "page",
        "create",
        "--contents",
        "--parent",
        "usr-0",
        "--name",
        "D",
        "--child",
        "usr-5",
    ]);
    assert_snapshot!(sandbox.text(&["page", "tree", "usr-0", "--limit", "2"]), @r"
    usr-0  User/  user, read-write, 5 pages
    ├── usr-1  Page  no messages
    ├── usr-2  Page  no messages
    └── … 3 more (page children usr-0; newest first: page tree usr-0 --newest)
    ");
    assert_snapshot!(sandbox.text(&["page", "tree", "usr-0", "--limit", "2", "--newest"]), @r"
    usr-0  User/  user, read-write, 5 pages
    ├── usr-6  D/  1 page
    │   └── usr-5  Page  no messages
    ├── usr-4  Page  no messages
    └── … 3 older (page children usr-0)
    ");
    assert_snapshot!(sandbox.text(&["page", "tree", "usr-6", "--depth", "1"]), @r"
    usr-6  D/  1 page
    └── usr-5  Page  no messages
    ");
    let deep = sandbox.text(&["page", "tree", "usr-0", "--depth", "1"]);
    assert!(deep.ends_with("└── usr-6  D/  1 page\n    └── … 1 below (page tree usr-6)\n"));
}

#[test]
fn lists_are_aligned() {
    let sandbox = sample();
    assert_snapshot!(sandbox.text(&["page", "list"]), @r"
    sys-0  System/
    sys-1  System prompt  1 message
    usr-0  User/
    usr-1  Note  pinned, out, 1 message
    usr-2  Drawer/  hidden
    usr-3  What is 6 x 7?  turn, archived, 2 messages
    usr-4  goroutine原理  no messages
    ");
    assert_snapshot!(sandbox.text(&["segment", "list"]), @r"
    sys  system  read-only       System
    usr  user    read-write      User
    ");
    let ran = sandbox.run(&["page", "list", "--limit", "1"]);
    assert_eq!(
        (ran.out.as_str(), ran.err.as_str()),
        ("sys-0  System/\n", "… 6 more: --cursor sys-0\n")
    );
}

// What a list leaves out is counted where that is known, and every list can begin at its new end.
#[test]
fn lists_say_what_they_leave_out() {
    let sandbox = sample();
    let notes = |args: &[&str]| sandbox.run(args).err;
    assert_eq!(notes(&["history", "--limit", "2"]), "… 6 more: --cursor 7\n");
    assert_eq!(notes(&["segment", "list", "--limit", "1"]), "… 1 more: --cursor sys\n");
    let first = notes(&["page", "children", "usr-0", "--limit", "1"]);
    assert!(first.starts_with("… 2 more: --cursor "), "{first}");
    let last = notes(&["page", "children", "usr-0", "--last", "1"]);
    assert_eq!(last, "… 2 earlier: page children usr-0\n");
    assert_eq!(notes(&["page", "children", "usr-0", "--last", "3"]), "");
}

#[test]
fn pages_are_listed_from_the_newest_on() {
    let sandbox = sample();
    sandbox.json(&["page", "remove", "usr-3"]);
    let newest = ["page", "list", "--newest"];
    let all = sandbox.indices(&newest);
    assert_eq!(all, ["sys-1", "sys-0", "usr-4", "usr-2", "usr-1", "usr-0"]);
    assert_eq!(sandbox.indices(&[&newest[..], &["--archived"]].concat()), ["usr-3"]);
    // In pieces it is the same list.
    let mut pieces = Vec::new();
    let mut cursor = None::<String>;
    loop {
        let mut args = [&newest[..], &["--limit", "1"]].concat();
        args.extend(cursor.iter().flat_map(|cursor| ["--cursor", cursor]));
        let piece = sandbox.json(&args);
        pieces.push(piece["items"][0]["index"].as_str().unwrap().to_owned());
        match piece["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(pieces, all);
    // An agent lists what it sees.
    let own = sandbox.indices(&["--as", "bee", "page", "list", "--newest"]);
    assert_eq!(own, all);
    let (kind, _) = sandbox.refused(&[&newest[..], &["--cursor", "none-1"]].concat());
    assert_eq!(kind, "not-found");
}

// A page may hold anything; what a person reads cannot move the cursor or change colours.
#[test]
fn escapes_in_stored_text_are_harmless() {
    let sandbox = Sandbox::new();
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2Jred\r\n\u{9b}31m \u{202e}txt";
    sandbox.json(&[
        "page",
        "create",
        "--parent",
        "usr-0",
        "--name",
        "rtl \u{202e}gnp",
        "--description",
        "two\nlines",
        "--detail",
        evil,
    ]);
    sandbox.json(&["turn", "add", "--user", "\u{1b}[31mturn"]);
    for args in [
        &["page", "show", "usr-1"][..],
        &["page", "tree"],
        &["page", "list"],
        &["page", "find", "rtl"],
        &["history"],
    ] {
        let text = sandbox.text(args);
        let bad = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        assert!(!text.contains(bad), "{args:?}: {text:?}");
    }
    assert!(sandbox.text(&["page", "show", "usr-1"]).contains("␛[2Jred␍\n"));
    assert_eq!(sandbox.json(&["page", "show", "usr-1"])["detail"], evil, "data stays as it is");
    let ran = sandbox.run(&["page", "show", "\u{1b}[31m"]);
    assert!(!ran.err.contains('\u{1b}'), "{:?}", ran.err);
}

#[test]
fn colour_is_for_terminals_and_those_who_ask() {
    let sandbox = Sandbox::new();
    let tree = |variables: &[(&str, &str)]| {
        let mut command = sandbox.command(&["page", "tree"]);
        command.envs(variables.iter().copied());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(!tree(&[]).contains('\u{1b}'));
    assert!(tree(&[("CLICOLOR_FORCE", "1")]).contains('\u{1b}'));
    assert!(!tree(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "0")]).contains('\u{1b}'));
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let sandbox = Sandbox::new();
    let detail = "x".repeat(1 << 20);
    sandbox.write("large.txt", &detail);
    sandbox.json(&[
        "page",
        "create",
        "--parent",
        "usr-0",
        "--name",
        "x",
        "--detail-file",
        "large.txt",
    ]);
    for args in ["page show usr-1", "export", "page list --json", "--help", "completions bash"] {
        let script = format!("(contexture {args}; echo $? >&3) 3>code 2>err | true");
        let mut shell = sandbox.shell(&script);
        shell.output().unwrap();
        let read = |name: &str| std::fs::read_to_string(sandbox.path().join(name)).unwrap();
        assert_eq!((read("code").as_str(), read("err").as_str()), ("0\n", ""), "{args}");
    }
}

#[test]
fn the_log_reports_refusals() {
    let sandbox = Sandbox::with_pages();
    let mut command = sandbox.command(&["--as", "bee", "page", "remove", "sys-1"]);
    let output = command.env("CONTEXTURE_LOG", "info").output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("refused: permission denied: operation 'removePage' on sys-1"), "{log}");
    let mut command = sandbox.command(&["page", "list"]);
    let output = command.env("CONTEXTURE_LOG", "a=b=c").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn reports_what_a_full_disk_loses() {
    let sandbox = Sandbox::new();
    let mut full = sandbox.shell("contexture page list --json > /dev/full");
    let output = full.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains(r#""kind":"unavailable""#));
}
