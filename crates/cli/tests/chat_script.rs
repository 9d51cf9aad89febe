use contexture_testkit::provider::{Protocol, Reply};

use crate::{agent_support::PROTOCOLS, chat_support::Room};

fn room(replies: impl IntoIterator<Item = Reply>) -> Room {
    Room::new(Protocol::OpenAi, replies)
}

// Lines that are piped in are taken without prompts; answers go to standard output, talk to the other.
#[test]
fn lines_can_be_piped_in() {
    let room = room([Reply::text("Hello."), Reply::text("Reviewed.")]);
    let ran = room.script(&[], "say\\\n  hello\r\n\n@code-reviewer --shared look \n/quit\nnever");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "Assistant:\nHello.\nCode Reviewer:\nReviewed.\n")
    );
    let told: Vec<&str> = ran.err.lines().collect();
    let [made, first, second] = told.as_slice() else { panic!("{}", ran.err) };
    assert_eq!(*made, "created session default in sqlite:.contexture/contexture.db");
    assert!(first.starts_with("chat · shared · openai/gpt-4o · "), "{first}");
    assert!(second.starts_with("code-reviewer · shared · openai/gpt-4o · "), "{second}");
    assert!(second.contains(" · window ") && second.contains(" of 100,000"), "{second}");
    let requests = room.requests();
    assert!(requests[0].contains(r"say\n  hello"), "{}", requests[0]);
    assert!(requests[1].contains("look \""), "{}", requests[1]);
    assert!(requests[1].contains("Hello."), "{}", requests[1]);
    // Nothing is remembered of a script.
    assert!(!room.sandbox.path().join("home/state").exists());
}

// Nothing that goes wrong ends the chat.
#[test]
fn reports_errors_and_the_chat_continues() {
    let room = room([Reply::status(401), Reply::text("Back.")]);
    let lines = [
        "/windwo",
        "/etc/hosts",
        "@code-reviewr look",
        "@code-reviewer",
        "@code-reviewer --sharde look",
        "/agents run",
        "/agents context nobody",
        "/agents lst",
        "/expand usr-99",
        "/undo",
        "/window --budget much",
        "ask",
        "ask again",
    ];
    room.sandbox.write(".gemini/agents/broken.md", "---\nkind: agent\nname: Broken!\n---\n");
    let mut input = lines.join("\n").into_bytes();
    input.extend(b"\n\xff\xfe\n/status\n");
    let ran = room.script(&[], input);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for told in [
        "warning: some agent files are broken; `/agents validate` shows what is wrong",
        "error: unknown command '/windwo'\nhint: did you mean /window?",
        "error: unknown command '/etc/hosts'\nhint: /help lists the commands; start the line with a space",
        "error: Agent 'code-reviewr' not found\nhint: did you mean 'code-reviewer'",
        "error: the request for agent 'code-reviewer' is empty",
        "error: unknown option '--sharde'\nhint: did you mean --shared?",
        "error: no agent was named",
        "error: Agent 'nobody' not found",
        "error: unrecognized subcommand 'lst'",
        "error: page usr-99 not found",
        "error: there is nothing to undo",
        "error: invalid value 'much' for '--budget'",
        "/resume continues from here",
        "error: the line is not valid UTF-8",
    ] {
        assert!(ran.err.contains(told), "{told:?} is not in\n{}", ran.err);
    }
    // What failed left no run behind that would be in the way.
    assert!(ran.out.contains("Assistant:\nBack.\n"), "{}\n{}", ran.out, ran.err);
    assert!(ran.out.ends_with("@bug-fixer @code-reviewer\n"), "{}", ran.out);
    assert_eq!(room.requests().len(), 2);
}

// An answer that a failure cut off is gone on with, without asking again.
#[test]
fn what_was_interrupted_is_resumed() {
    let room = room([Reply::status(401), Reply::text("Here I am."), Reply::text("Reviewed.")]);
    let ran = room.script(&[], "are you there?\n/resume\n/resume\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "Assistant:\nAssistant:\nHere I am.\n"));
    assert!(ran.err.contains("error: agent 'chat' has no interrupted run"), "{}", ran.err);
    let requests = room.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[1].matches("are you there?").count(), 1, "{}", requests[1]);
}

// /hide and /expand are the system side's: the views of all agents follow; /undo takes them back.
#[test]
fn pages_are_hidden_for_everyone_and_shown_again() {
    let replies = ["noted", "one", "two", "three"].map(Reply::text);
    let room = room(replies);
    let ran = room.script(
        &[],
        "a longer remark about the weather\n/hide usr-1\n@bug-fixer first\n/undo\n@bug-fixer second\n\
         /hide usr-1\n/expand usr-1\n@bug-fixer third\n/find weather\n",
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    let requests = room.requests();
    let told = |request: &String| request.contains("noted");
    assert!(!told(&requests[1]), "{}", requests[1]);
    assert!(told(&requests[2]), "{}", requests[2]);
    assert!(told(&requests[3]), "{}", requests[3]);
    assert!(ran.out.contains("undone by revision"), "{}", ran.out);
    let found: Vec<&str> = ran.out.lines().rev().take(2).collect();
    assert!(found[1].starts_with("usr-1  a longer remark"), "{found:?}");
}

// /fold folds what the assistant sees, pinned pages stay; /undo REVISION takes a fold back.
#[test]
fn the_assistants_window_is_folded_by_hand() {
    let room = room([]);
    room.sandbox.write("talk.json", crate::support::talk(6).to_string());
    room.sandbox.json(&["import", "talk.json"]);
    let ran = room.script(
        &[],
        "/fold\n/pin usr-2\n/fold --budget 3000\n/window --budget 3000\n/unpin usr-2\n\
         /fold --budget 1200\n/window --budget 1200\n/fold now\n",
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.starts_with("no fold is due: the window takes "), "{}", ran.out);
    assert!(ran.out.contains("usr-2  What is in module 1?  turn, pinned"), "{}", ran.out);
    assert!(ran.out.contains("\nfolded: "), "{}", ran.out);
    assert!(ran.err.contains("/fold takes no arguments except --budget N"), "{}", ran.err);
    let windows: Vec<&str> = ran.out.split("## **[usr-0]**").skip(1).collect();
    let [pinned, unpinned] = windows.as_slice() else { panic!("{}", ran.out) };
    let full = "[FULL] **[usr-2]**";
    assert!(pinned.contains(full) && !pinned.contains("[FULL] **[usr-3]**"), "{pinned}");
    assert!(!unpinned.contains(full) && unpinned.contains("[RUN] "), "{unpinned}");
    // Each fold says how it is taken back.
    let undo = ran.err.lines().rfind(|line| line.starts_with("/undo ")).unwrap();
    let (command, _) = undo.split_once(" undoes it").unwrap();
    let ran = room.script(&[], format!("{command}\n"));
    assert!(ran.out.contains("undone by revision"), "{}{}", ran.out, ran.err);
}

// What the line below an answer says of the window, /status says too.
#[test]
fn the_status_agrees_with_the_line_below_an_answer() {
    for protocol in PROTOCOLS {
        let room = Room::new(protocol, [Reply::text("Noted."), Reply::text("Noted again.")]);
        let ran = room.script(&[], "remember the milk\n/status\nand the bread\n/status\n");
        assert_eq!(ran.code, 0, "{}", ran.err);
        let runs: Vec<&str> = ran
            .err
            .lines()
            .filter_map(|line| line.split_once(" · window "))
            .map(|(_, window)| window)
            .collect();
        let told: Vec<&str> =
            ran.out.lines().filter_map(|line| line.strip_prefix("window ")).collect();
        assert_eq!((runs.len(), told.len()), (2, 2), "{}{}", ran.out, ran.err);
        let number = |text: &str| -> u64 {
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            digits.parse().unwrap()
        };
        for (run, status) in runs.iter().zip(&told) {
            let (tokens, budget) = run.split_once(" of ").unwrap();
            let (now, rest) = status.split_once(" of ").unwrap();
            assert_eq!(rest, format!("{budget} tokens, {tokens} at the last request"));
            // The answer came on top, and nothing that the request counted is left out.
            assert!(number(now) > number(tokens), "{run} and {status}");
        }
        // What was asked next came on top of what the status said.
        assert!(
            number(told[0].split_once(" of ").unwrap().0)
                < number(runs[1].split_once(" of ").unwrap().0),
            "{runs:?} {told:?}"
        );
    }
}

// M-26, M-27, M-28: the same commands as on the command line, on the same session.
#[test]
fn modes_are_shown_and_switched() {
    let room = room([]);
    let ran = room.script(
        &[],
        "/agents context --all\n/agents context bug-fixer --mode isolated\n/agents context --all --graph\n\
         /agents\n/agents list --json\n/help\n",
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("shared (agent file)"), "{}", ran.out);
    assert!(ran.out.contains("✓ Context mode changed to isolated for this session"));
    assert!(ran.out.contains("isolated (session override)"), "{}", ran.out);
    assert!(ran.out.contains("Main Session"));
    assert!(ran.out.contains("{\"items\":"));
    // JSON was asked for once.
    assert!(ran.out.contains("/quit"), "{}", ran.out);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
}

#[test]
fn the_window_is_that_of_the_assistant() {
    let room = room([Reply::text("Noted.")]);
    let ran =
        room.script(&[], "remember the milk\n/window\n/window --budget 9000\n/window x\n/status\n");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("remember the milk") && ran.out.contains("prompt-chat"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("Assistant on openai/gpt-4o\nwindow "), "{}", ran.out);
    assert!(ran.err.contains("/window takes no arguments except --budget N"), "{}", ran.err);
}

#[test]
fn what_chat_cannot_do_is_refused() {
    let room = room([]);
    let refused = |args: &[&str]| room.sandbox.run(args).err;
    assert!(refused(&["chat", "--json"]).contains("chat is interactive"));
    assert!(refused(&["chat", "--store", "memory:"]).contains("memory:"));
    let denied = room.sandbox.run(&["--as", "bug-fixer", "chat"]);
    assert_eq!(denied.code, 1);
    assert!(denied.err.contains("'chat' belongs to the system side"), "{}", denied.err);
    assert!(!room.sandbox.database().exists());
}
