//! docs/window.md shows what an agent sees: its examples are what the engine renders.
//!
//! `UPDATE_DOCS=1 cargo test -p contexture-tokens --test window_doc` writes them anew.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{fs, path::Path, sync::Arc};

use contexture_core::{
    ContextSystem, Edit, Format, ManualClock, MemoryStorage, Message, NewDetailPage, NewSegment,
    ProviderFormat, SegmentKind, WindowOptions, message::parse_messages,
};
use contexture_tokens::counter_for;
use futures::executor::block_on;

/// What the window may take in the example.
const BUDGET: u64 = 420;

fn turns() -> Vec<Vec<Message>> {
    let turn = |ask: &str, id: &str, path: &str, result: &str, answer: &str| {
        let call = serde_json::json!([{"id": id, "type": "function", "function":
            {"name": "read_file", "arguments": format!("{{\"path\":\"{path}\"}}")}}]);
        let messages = serde_json::json!([
            {"role": "user", "content": ask},
            {"role": "assistant", "content": null, "tool_calls": call},
            {"role": "tool", "tool_call_id": id, "content": result},
            {"role": "assistant", "content": answer},
        ]);
        parse_messages(messages.to_string().as_bytes()).unwrap()
    };
    let listing = |name: &str| {
        (1..=14).map(|line| format!("{line:>3}  fn {name}_{line}() {{ … }}\n")).collect::<String>()
    };
    vec![
        turn(
            "The test parses_quotes fails since yesterday. Find out why.",
            "call_1",
            "tests/quotes.rs",
            "assert_eq!(parse(\"'a'\"), Ok(\"a\")); // left: Err(UnexpectedEnd)",
            "The test expects 'a' to parse; it gets UnexpectedEnd.",
        ),
        turn(
            "Look at the lexer.",
            "call_2",
            "src/lexer.rs",
            &listing("lex_quote"),
            "lex_quote_7 stops one character early.",
        ),
        turn(
            "Who calls it?",
            "call_3",
            "src/parser.rs",
            &listing("parse_item"),
            "Only parse_item_3, through Lexer::next_token.",
        ),
        turn(
            "Was it changed lately?",
            "call_4",
            "CHANGELOG.md",
            "0.4.2: lex_quote no longer copies (commit 9f3c21a)",
            "Yes, in 0.4.2, commit 9f3c21a.",
        ),
        turn(
            "Then fix it, please.",
            "call_5",
            "src/lexer.rs",
            "let end = start + len;",
            "Fixed: the end is now exclusive, `start + len + 1`.",
        ),
    ]
}

async fn session() -> ContextSystem {
    let clock = Arc::new(ManualClock::at_millis(1_760_000_000_000));
    let storage = Arc::new(MemoryStorage::new());
    let system =
        ContextSystem::create(storage, "demo".parse().unwrap(), "demo", clock).await.unwrap();
    let segment = |name: &str, kind| Edit::AddSegment(NewSegment::new(name.parse().unwrap(), kind));
    let segments = vec![segment("sys", SegmentKind::System), segment("usr", SegmentKind::User)];
    system.as_system().apply(Edit::Batch(segments)).await.unwrap();
    let prompt = NewDetailPage::new(
        "sys-0".parse().unwrap(),
        "Prompt".parse().unwrap(),
        "You mend programs. Say what you found before you change anything.",
    );
    system.as_system().apply(Edit::CreateDetailPage(prompt)).await.unwrap();
    for messages in turns() {
        let segment = "usr".parse().unwrap();
        system.as_system().apply(Edit::AddTurn { segment, messages }).await.unwrap();
    }
    system
}

/// Renders the examples: name and text.
async fn examples() -> Vec<(&'static str, String)> {
    let system = session().await;
    let counter = counter_for("o200k_base");
    let markdown = WindowOptions::new(Format::Markdown, counter.clone());
    let openai = WindowOptions::new(Format::Provider(ProviderFormat::OpenAi), counter);
    let before = system.as_system().reader().window(&markdown).await.unwrap();
    let tight = markdown.clone().budget(BUDGET);
    let fold = system.as_system().fold(&tight).await.unwrap().unwrap();
    let after = system.as_system().reader().window(&tight).await.unwrap();
    let messages = system.as_system().reader().window(&openai.budget(BUDGET)).await.unwrap();
    let messages: Vec<&str> =
        messages.messages.iter().map(|range| &messages.body[range.clone()]).collect();
    let report = fold.report;
    let cost = format!(
        "{} pages folded: {} tokens before, {} after, {} read again",
        report.folded, report.tokens_before, report.tokens_after, report.reread_tokens
    );
    vec![
        ("before", before.body.trim_end().to_owned()),
        ("cost", cost),
        ("after", after.body.trim_end().to_owned()),
        ("openai", messages.join("\n")),
    ]
}

#[test]
fn the_examples_are_what_the_engine_renders() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/window.md");
    let mut text = fs::read_to_string(&path).unwrap();
    for (name, example) in block_on(examples()) {
        let (begin, end) = (format!("<!-- {name}: begin -->"), format!("<!-- {name}: end -->"));
        let from = text.find(&begin).unwrap_or_else(|| panic!("no {begin}")) + begin.len();
        let to = text.find(&end).unwrap_or_else(|| panic!("no {end}"));
        let block = format!("\n````text\n{example}\n````\n");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            text.replace_range(from..to, &block);
            fs::write(&path, &text).unwrap();
            continue;
        }
        assert_eq!(&text[from..to], block, "docs/window.md shows another {name}");
    }
}
