//! What only a terminal gets: a pager for long windows, the line that shows work, colours.

use contexture_testkit::provider::Protocol;

use crate::{
    chat_support::Room,
    serve::Serving,
    support::{Ran, talk},
};

/// A project with a session whose window is longer than the screen.
fn long() -> Room {
    let room = Room::new(Protocol::OpenAi, []);
    room.sandbox.write("talk.json", talk(4).to_string());
    room.sandbox.json(&["import", "talk.json"]);
    room
}

/// A pager that marks each line it is given, and the end.
const MARKS: &str = "sed 's/^/| /'; echo the pager ended";

#[test]
fn a_long_window_goes_through_the_pager() {
    let room = long();
    let shown = |args: &[&str], variables: &[(&str, &str)]| {
        let mut terminal = room.terminal(args, variables);
        assert_eq!(terminal.end(), 0, "{}", terminal.text());
        terminal.text().replace("\r\n", "\n")
    };
    let (pager, off) = (("CONTEXTURE_PAGER", MARKS), ("CONTEXTURE_PAGER", ""));
    let no_colour = ("NO_COLOR", "1");
    let paged = shown(&["window"], &[pager, no_colour]);
    let (text, after) = paged.split_once("the pager ended\n").unwrap();
    assert!(text.lines().all(|line| line.starts_with("| ")), "{text}");
    let window = room.sandbox.text(&["window"]);
    let lines: Vec<&str> = text.lines().map(|line| &line[2..]).collect();
    assert_eq!(lines, window.lines().collect::<Vec<_>>());
    // What has no budget says how large it is, and how to bound it.
    assert!(after.contains(" tokens, no budget; --budget N fits the window into one"), "{after}");

    // The common variable counts where ours is not set; where ours is empty, no pager is used.
    for (variables, is_paged) in [
        (&[pager, ("PAGER", "cat")][..], true),
        (&[off, ("PAGER", MARKS)], false),
        (&[("CONTEXTURE_PAGER", "cat")], false),
        (&[("CONTEXTURE_PAGER", "no-such-pager")], false),
    ] {
        let shown = shown(&["window"], variables);
        assert_eq!(shown.contains("the pager ended"), is_paged, "{variables:?}: {shown}");
        assert!(shown.contains("Actions: "), "{shown}");
    }
    // What fits on the screen, and what is no text for people, is not paged.
    for args in [&["window", "--json"][..], &["window", "--level", "gist", "--budget", "1000"]] {
        let shown = shown(args, &[pager]);
        assert!(!shown.contains("the pager ended"), "{args:?}: {shown}");
        assert!(!shown.contains("--budget N fits"), "{args:?}: {shown}");
    }
    let mut piped = room.sandbox.command(&["window"]);
    let output = piped.env("CONTEXTURE_PAGER", MARKS).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), window);
    assert!(output.stderr.is_empty());
}

// A pager that is left before the end of the text is no failure.
// A server runs no command whose output goes to a terminal: the pager belongs to the person's own process.
#[test]
fn a_terminal_is_served_by_its_own_process() {
    let room = long();
    let server = Serving::with(&room.sandbox, room.environment());
    let variables = [("CONTEXTURE_PAGER", MARKS)];
    let mut terminal = room.terminal(&["window"], &variables);
    assert_eq!(terminal.end(), 0, "{}", terminal.text());
    assert!(terminal.text().contains("the pager ended"));
    assert_eq!(server.commands(), 0);
    // It is the terminal that decides, nothing else.
    let ran = Ran::of(room.sandbox.command(&["window"]).envs(room.environment()));
    assert_eq!((ran.code, server.commands()), (0, 1));
}

#[test]
fn a_pager_may_be_left_early() {
    let room = long();
    let mut terminal = room.terminal(&["window"], &[("CONTEXTURE_PAGER", "head -1")]);
    assert_eq!(terminal.end(), 0, "{}", terminal.text());
    assert!(!terminal.text().contains("Actions: "), "{}", terminal.text());
}

// What waits for another process says so until it goes on, whatever the command.
#[test]
fn long_work_is_shown() {
    let room = long();
    room.sandbox.write("more.json", r#"[{"role":"user","content":"And now?"}]"#);
    let document = room.sandbox.text(&["export"]);
    room.sandbox.write("session.json", document);
    for (args, doing) in [
        (&["import", "more.json"][..], "writing 1 of 1 exchanges … "),
        (&["undo"], "undoing … "),
        (&["--session", "other", "load", "session.json"], "loading … "),
        (&["session", "remove", "other", "--yes"], "removing the session … "),
        (&["page", "purge", "usr-1"], "purging … "),
        (&["store", "scrub"], "scrubbing the store … "),
        (&["page", "create", "--parent", "usr-0", "--name", "Note"], "working … "),
    ] {
        let database = room.sandbox.meddle();
        database.execute_batch("BEGIN IMMEDIATE").unwrap();
        let mut terminal = room.terminal(args, &[]);
        terminal.expect(doing);
        terminal.expect(" s");
        database.execute_batch("COMMIT").unwrap();
        drop(database);
        assert_eq!(terminal.end(), 0, "{args:?}: {}", terminal.text());
        // The line is taken away before what the command has to say.
        let shown = terminal.text();
        let (_, after) = shown.rsplit_once("\r\u{1b}[K").unwrap();
        assert!(!after.contains(doing) && !after.trim().is_empty(), "{args:?}: {shown:?}");
    }
}

#[test]
fn colour_is_for_terminals() {
    let room = long();
    let shown = |args: &[&str], variables: &[(&str, &str)]| {
        let mut terminal = room.terminal(args, variables);
        terminal.end();
        terminal.text()
    };
    for args in [
        &["page", "tree"][..],
        &["page", "list"],
        &["page", "show", "usr-1"],
        &["history"],
        &["window"],
        &["window", "--account"],
        &["segment", "list"],
        &["session", "list"],
        &["agents", "list"],
        &["page", "show", "usr-99"],
        &["page", "shwo"],
    ] {
        assert!(shown(args, &[]).contains("\u{1b}["), "{args:?}");
        let plain = shown(args, &[("NO_COLOR", "1")]);
        assert!(!plain.contains('\u{1b}'), "{args:?}: {plain:?}");
    }
}
