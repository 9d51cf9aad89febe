//! A long session as its window shows it: docs/window/after.txt is what the engine renders, and ten
//! questions are answered from it alone.
//!
//! `UPDATE_DOCS=1 cargo test -p contexture-tokens --test window_story` writes the file again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{fs, path::Path, sync::Arc};

use contexture_core::{
    ContextSystem, Edit, Format, ManualClock, MemoryStorage, Message, NewDetailPage, NewSegment,
    ProviderFormat, Role, SegmentKind, WindowOptions, message::parse_messages,
};
use contexture_tokens::counter_for;
use futures::executor::block_on;

/// What the window may take.
const BUDGET: u64 = 8_000;

/// The recorded session: a person and an agent on a program that bills rides of a bike-sharing scheme.
const SESSION: &str = include_str!("texts/long-session.jsonl");

fn messages() -> Vec<Message> {
    let list = SESSION.lines().collect::<Vec<_>>().join(",");
    parse_messages(format!("[{list}]").as_bytes()).unwrap()
}

/// Replays the session: before each message of the model the window is sent, folded where that is due.
async fn replayed() -> (ContextSystem, WindowOptions, usize) {
    let clock = Arc::new(ManualClock::at_millis(1_760_000_000_000));
    let storage = Arc::new(MemoryStorage::new());
    let session = "rides".parse().unwrap();
    let system = ContextSystem::create(storage, session, "demo", clock).await.unwrap();
    let segment = |name: &str, kind| Edit::AddSegment(NewSegment::new(name.parse().unwrap(), kind));
    let segments = vec![segment("sys", SegmentKind::System), segment("usr", SegmentKind::User)];
    system.as_system().apply(Edit::Batch(segments)).await.unwrap();
    let (root, name) = ("sys-0".parse().unwrap(), "Prompt".parse().unwrap());
    let prompt = NewDetailPage::new(root, name, "You are a careful engineer.");
    system.as_system().apply(Edit::CreateDetailPage(prompt)).await.unwrap();
    let format = Format::Provider(ProviderFormat::OpenAi);
    let options = WindowOptions::new(format, counter_for("o200k_base")).budget(BUDGET);
    let mut folds = 0;
    let mut pending: Vec<Message> = Vec::new();
    let mut begun = false;
    for message in messages() {
        if matches!(message.role, Role::User | Role::Assistant) && !pending.is_empty() {
            append(&system, std::mem::take(&mut pending), &mut begun).await;
        }
        if message.role == Role::Assistant {
            folds +=
                usize::from(system.as_system().send(&options).await.unwrap().record.fold.is_some());
        }
        pending.push(message);
    }
    append(&system, pending, &mut begun).await;
    system.as_system().send(&options).await.unwrap();
    (system, options, folds)
}

async fn append(system: &ContextSystem, messages: Vec<Message>, begun: &mut bool) {
    let segment = "usr".parse().unwrap();
    let edit = match messages[0].role {
        Role::Assistant if *begun => Edit::ExtendTurn { segment, messages },
        _ => Edit::AddTurn { segment, messages },
    };
    *begun = true;
    system.as_system().apply(edit).await.unwrap();
}

/// Writes a request of OpenAI's form as people read it.
fn printed(body: &str) -> String {
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let mut text = String::new();
    for message in body["messages"].as_array().unwrap() {
        text.push_str(&format!("── {}\n", message["role"].as_str().unwrap()));
        if let Some(said) = message["content"].as_str() {
            text.push_str(&format!("{said}\n"));
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let (name, arguments) = (&call["function"]["name"], &call["function"]["arguments"]);
            let (name, arguments) = (name.as_str().unwrap(), arguments.as_str().unwrap());
            text.push_str(&format!("calls {name} {arguments}\n"));
        }
    }
    text
}

#[test]
fn the_window_of_a_long_session_is_as_shown() {
    let (window, folds) = block_on(async {
        let (system, options, folds) = replayed().await;
        (system.as_system().reader().window(&options).await.unwrap(), folds)
    });
    assert!(folds >= 3, "{folds}");
    assert!(window.account.tokens <= BUDGET, "{}", window.account.tokens);
    let shown = printed(&window.body);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/window/after.txt");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &shown).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), shown, "docs/window/after.txt shows another");
}

/// What must be known to go on, and where that stands in the window.
const QUESTIONS: [(&str, &[&str]); 10] = [
    ("What was asked third?", &["stray fee"]),
    (
        "Which constraint holds for everything?",
        &["never change the public names in ridebill/api.py"],
    ),
    ("Below which amount is a charge turned down?", &["below 180 cents"]),
    ("Which file was renamed, to what?", &["util.py", "money.py"]),
    ("What did the user correct?", &["per started minute", "04:00"]),
    ("What was decided against, and why?", &["SQLite", "NFS"]),
    ("Which test failed, and what decided it?", &["midnight", "month"]),
    ("Which failure is still open?", &["J-0417"]),
    ("Which files were written for passes?", &["passes.py"]),
    (
        "What is being worked on now?",
        &["collect --month 2024-05", "No module named 'ridebill.collect'"],
    ),
];

#[test]
fn ten_questions_are_answered_from_the_window_alone() {
    let shown = block_on(async {
        let (system, options, _) = replayed().await;
        printed(&system.as_system().reader().window(&options).await.unwrap().body)
    });
    for (question, answers) in QUESTIONS {
        for answer in answers {
            assert!(shown.contains(answer), "{question} {answer} does not stand in:\n{shown}");
        }
    }
}
