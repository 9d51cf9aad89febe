//! A folded window is a state one can go on from: requests stand, calls stay longest, a folded turn
//! tells what happened, and what an agent wished for holds.

use contexture_core::{AgentContext, Edit, Message, WindowLevel, WindowOptions, message::Part};
use contexture_testkit::{
    fixture::{agent, assistant, calls, memory, returned, user},
    window::options,
};
use futures::executor::block_on;

const BUDGET: u64 = 4_000;

fn asked(budget: u64) -> WindowOptions {
    options("openai".parse().unwrap()).budget(budget)
}

/// Does a turn: a request, a call that writes a file, its result, and a conclusion.
async fn work(agent: &AgentContext, number: u64) {
    let id = format!("call_{number}");
    let arguments =
        format!(r#"{{"path":"src/part_{number}.rs","content":"fn part_{number}() {{}}"}}"#);
    let result = format!("line {number} of a listing nobody needs again\n").repeat(40);
    let turn = vec![
        user(&format!("Please build part {number} now.")),
        calls(&id, &arguments),
        returned(&id, &result),
        assistant(&format!("Part {number} is built. {}", "It took a while. ".repeat(30))),
    ];
    agent.add_turn(turn).await.unwrap();
}

/// Works through many turns, and returns the last window.
async fn worked(
    agent: &AgentContext,
    turns: std::ops::Range<u64>,
    options: &WindowOptions,
) -> String {
    let mut body = String::new();
    for number in turns {
        work(agent, number).await;
        body = agent.send(options).await.unwrap().window.body;
    }
    body
}

#[test]
fn requests_stand_and_turns_tell_what_happened() {
    block_on(async {
        let agent = agent(&memory().await, "alpha");
        let body = worked(&agent, 0..40, &asked(BUDGET)).await;
        // The latest requests stand as messages of their own, far beyond what stands in full.
        for number in 30..40 {
            let request = format!(r#""content":"Please build part {number} now.""#);
            assert!(body.contains(&request), "{number}: {body}");
        }
        let in_full = body.matches("of a listing nobody needs again").count();
        assert!(in_full < 5 * 40, "{body}");
        // Of the work on them the calls stand, with how they ended and what was concluded.
        assert!(body.contains("path=src/part_3"), "{body}");
        assert!(body.contains("\\n said: Part 3"), "{body}");
        // What is older stands in lines that say what was asked, written and concluded.
        assert!(body.contains("calls folded)"), "{body}");
        assert!(body.contains("; said usr-"), "{body}");
    });
}

#[test]
fn old_requests_are_told_where_they_no_longer_stand() {
    block_on(async {
        let agent = agent(&memory().await, "alpha");
        let mut options = asked(BUDGET);
        options.shares.requests = 0;
        let body = worked(&agent, 0..40, &options).await;
        assert!(!body.contains(r#""content":"Please build part 10 now.""#), "{body}");
        assert!(body.contains(r#"; asked usr-"#), "{body}");
        // The one that is being worked on stands whatever the share.
        assert!(body.contains(r#""content":"Please build part 39 now.""#), "{body}");
    });
}

#[test]
fn what_harnesses_say_is_no_request() {
    block_on(async {
        let agent = agent(&memory().await, "alpha");
        agent
            .add_turn(vec![user("Never touch the third file."), assistant("Good.")])
            .await
            .unwrap();
        let noise = "<system-reminder>The list is empty.</system-reminder>";
        for number in 0..30 {
            agent.add_turn(vec![user(noise)]).await.unwrap();
            let id = format!("call_{number}");
            let result = "a result that is long enough to be folded ".repeat(20);
            let more = vec![calls(&id, r#"{"path":"a.rs"}"#), returned(&id, &result)];
            agent.extend_turn(more).await.unwrap();
            let body = agent.send(&asked(2_000)).await.unwrap().window.body;
            assert!(
                body.contains(r#""content":"Never touch the third file.""#),
                "{number}: {body}"
            );
        }
        let body = agent.window(&asked(2_000)).await.unwrap().body;
        let reminders = body.matches("The list is empty.").count();
        assert!(reminders < 20, "{reminders}: {body}");
    });
}

async fn level(agent: &AgentContext, page: &str) -> WindowLevel {
    agent.get_page(page).await.unwrap().level
}

#[test]
fn an_expanded_page_stays_for_some_folds_and_longer_while_it_is_mentioned() {
    for mentioned in [false, true] {
        block_on(async {
            let agent = agent(&memory().await, "alpha");
            worked(&agent, 0..30, &asked(BUDGET)).await;
            assert!(level(&agent, "usr-3").await < WindowLevel::Full);
            agent.expand_details("usr-3").await.unwrap();
            let (mut folds, mut stood) = (0, 0);
            for number in 30..90 {
                work(&agent, number).await;
                if mentioned {
                    let said = assistant("As usr-3 says, this comes next.");
                    agent.extend_turn(vec![said]).await.unwrap();
                }
                let folded = agent.send(&asked(BUDGET)).await.unwrap().record.fold.is_some();
                folds += usize::from(folded);
                if folded && level(&agent, "usr-3").await == WindowLevel::Full {
                    stood += 1;
                }
            }
            assert!(folds > 8, "{folds}");
            let expected = if mentioned { folds } else { 3 };
            assert_eq!(stood, expected, "mentioned: {mentioned}");
        });
    }
}

#[test]
fn hiding_ends_what_expanding_began() {
    block_on(async {
        let agent = agent(&memory().await, "alpha");
        worked(&agent, 0..30, &asked(BUDGET)).await;
        agent.expand_details("usr-3").await.unwrap();
        agent.hide_details("usr-3").await.unwrap();
        worked(&agent, 30..40, &asked(BUDGET)).await;
        assert!(level(&agent, "usr-3").await < WindowLevel::Full);
    });
}

#[test]
fn expanded_pages_yield_before_an_error_and_pins_do_not() {
    block_on(async {
        let agent = agent(&memory().await, "alpha");
        for number in 0..12 {
            work(&agent, number).await;
        }
        for number in 1..8 {
            agent.expand_details(&format!("usr-{number}")).await.unwrap();
        }
        let window = agent.send(&asked(1_600)).await.unwrap().window;
        assert!(window.account.tokens <= 1_600);
        for number in 1..8 {
            agent.pin_page(&format!("usr-{number}")).await.unwrap();
        }
        let error = agent.send(&asked(1_600)).await.unwrap_err();
        assert!(error.to_string().contains("7 pinned pages take "), "{error}");
    });
}

#[test]
fn a_pin_does_not_make_the_rest_collapse() {
    block_on(async {
        let agent = agent(&memory().await, "alpha");
        for number in 0..40 {
            work(&agent, number).await;
        }
        agent.send(&asked(BUDGET)).await.unwrap();
        let before = agent.window(&asked(BUDGET)).await.unwrap();
        agent.pin_page("usr-5").await.unwrap();
        let after = agent.send(&asked(BUDGET)).await.unwrap().window;
        assert_eq!(level(&agent, "usr-5").await, WindowLevel::Full);
        // What stood beside it stands still: the window grew by the page and was not folded for it.
        assert!(after.account.tokens >= before.account.tokens, "{:?}", after.account.tokens);
        assert!(after.account.tokens <= BUDGET);
        let logs = |body: &str| body.matches("said: Part").count();
        assert!(logs(&after.body) * 2 > logs(&before.body), "{}", after.body);
    });
}

// The window says how it is to be read, from the first on, and changes no byte of that when it folds.
#[test]
fn the_window_explains_itself_from_the_first_on() {
    block_on(async {
        let agent = agent(&memory().await, "alpha");
        work(&agent, 0).await;
        let first = agent.window(&asked(BUDGET)).await.unwrap().body;
        let explained = |body: &str| {
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            let system = &body["messages"][0];
            assert_eq!(system["role"], "system");
            system["content"].as_str().unwrap().to_owned()
        };
        assert!(explained(&first).contains("Nothing is lost"), "{first}");
        let last = worked(&agent, 1..40, &asked(BUDGET)).await;
        assert_eq!(explained(&last), explained(&first));
        // A host whose prompts say so themselves, or without a budget, has no such lines.
        let silent = WindowOptions { explain: None, ..asked(BUDGET) };
        for options in [silent, options("openai".parse().unwrap())] {
            let body = agent.window(&options).await.unwrap().body;
            assert!(!body.contains("Nothing is lost"), "{body}");
        }
    });
}

/// A call of a tool.
fn called(tool: &str, id: &str, arguments: &str) -> Message {
    let mut message = calls(id, arguments);
    if let Some(Part::ToolCall(call)) = message.parts.first_mut() {
        call.name = tool.to_owned();
    }
    message
}

/// Does a turn of one call, and returns the window and whether it was folded for it.
async fn does(
    agent: &AgentContext,
    (tool, arguments): (&str, &str),
    result: &str,
) -> (String, bool) {
    let turn = vec![
        user("Go on."),
        called(tool, "call", arguments),
        returned("call", result),
        assistant("Done."),
    ];
    agent.add_turn(turn).await.unwrap();
    let sent = agent.send(&asked(BUDGET)).await.unwrap();
    (sent.window.body, sent.record.fold.is_some())
}

#[test]
fn the_latest_reading_stays_though_the_last_calls_name_other_files() {
    block_on(async {
        let agent = agent(&memory().await, "alpha");
        let text = |name: &str| format!("pub fn {name}(input: &str) -> Token\n").repeat(12);
        let read = |path: &str| format!(r#"{{"path":"{path}"}}"#);
        does(&agent, ("read_file", &read("src/parser.rs")), &text("parse")).await;
        does(&agent, ("read_file", &read("src/lexer.rs")), &text("lex")).await;
        // Running a program reads nothing, though it names files and returns much.
        let noise = "test passes_all ... ok\n".repeat(30);
        let run =
            r#"{"command":"cat > try.py <<'EOF'\ncat src/lexer.rs\nEOF\npython try.py lexer.rs"}"#;
        does(&agent, ("run", run), &noise).await;
        let mut last = (String::new(), false);
        for number in 0..40 {
            let run = format!(r#"{{"command":"python try_{number}.py"}}"#);
            last = does(&agent, ("run", &run), &noise).await;
            if last.1 {
                break;
            }
        }
        let (body, is_folded) = last;
        assert!(is_folded && body.contains("pub fn lex("), "{body}");
        assert!(!body.contains("pub fn parse(input: &str) -> Token\\npub fn parse("), "{body}");
    });
}

#[test]
fn a_text_that_is_written_again_stands_where_it_was_written_last() {
    block_on(async {
        let agent = agent(&memory().await, "alpha");
        let write = |path: &str, name: &str| {
            let text = format!("{name} holds what was found so far\\n").repeat(30);
            format!(r#"{{"path":"{path}","content":"{text}"}}"#)
        };
        does(&agent, ("write_file", &write("once.md", "once")), "written").await;
        let mut body = String::new();
        for number in 0..40 {
            let arguments = write("notes.md", &format!("version {number}"));
            let folded = does(&agent, ("write_file", &arguments), "written").await;
            body = folded.0;
            if folded.1 {
                assert!(number > 1, "{body}");
                assert!(body.contains(&format!("version {number} holds")), "{body}");
                break;
            }
        }
        // Of what was replaced since, only the call stands.
        assert!(body.contains("write_file path=notes.md\\n content: …\\n → written"), "{body}");
        assert!(!body.contains("version 0 holds"), "{body}");
        assert!(body.contains("once holds what was found so far\\n once holds"), "{body}");
    });
}

#[test]
fn merged_lines_say_longest_which_files_were_written() {
    block_on(async {
        let agent = agent(&memory().await, "alpha");
        let early = r#"{"path":"src/early.rs","content":"fn early() {}"}"#;
        does(&agent, ("write_file", early), "written").await;
        let noise = "test passes_all ... ok\n".repeat(30);
        let (mut body, mut folds) = (String::new(), 0);
        for number in 0..150 {
            let run = format!(r#"{{"command":"python try_{number}.py"}}"#);
            let (now, is_folded) = does(&agent, ("run", &run), &noise).await;
            (body, folds) = (now, folds + usize::from(is_folded));
        }
        assert!(folds > 3, "{folds}");
        assert!(body.contains("folded); wrote src/early.rs; said"), "{body}");
    });
}

// A purge reaches the logs and lines of folded pages: they hold no text of their own.
#[test]
fn what_is_purged_is_in_no_log_and_no_line() {
    block_on(async {
        let system = memory().await;
        let agent = agent(&system, "alpha");
        worked(&agent, 0..40, &asked(BUDGET)).await;
        for number in [2_u64, 36] {
            let page = format!("usr-{}", number + 1);
            system.as_system().apply(Edit::PurgePage(page.parse().unwrap())).await.unwrap();
            let body = agent.window(&asked(BUDGET)).await.unwrap().body;
            assert!(!body.contains(&format!("part_{number}.rs")), "{body}");
            assert!(!body.contains(&format!("build part {number} now")), "{body}");
        }
    });
}
