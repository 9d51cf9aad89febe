//! A window whose counts are stored is rendered without a tokenizer, and to the same bytes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use contexture_core::{
    ContextSystem, Edit, Format, ManualClock, MemoryStorage, NewSegment, PageStorage,
    ProviderFormat, SegmentKind, TokenCounter, Tokens, Window, WindowOptions,
    message::parse_messages,
};
use contexture_tokens::{KeptCounter, Tokenizer, counter_for};
use futures::executor::block_on;

/// Without a budget, with large parts cut, and with a fold that is due.
const BUDGETS: [Option<u64>; 3] = [None, Some(8_000), Some(900)];

const FORMATS: [Format; 3] = [
    Format::Markdown,
    Format::Provider(ProviderFormat::OpenAi),
    Format::Provider(ProviderFormat::Anthropic),
];

/// Counts by another rule under a tokenizer's name, so that its counts can be told from real ones.
struct StandIn(&'static str);

impl TokenCounter for StandIn {
    fn name(&self) -> &str {
        self.0
    }

    fn count(&self, text: &str) -> Tokens {
        Tokens(text.len().div_ceil(4) as u64)
    }
}

/// Must not be asked to count anything.
struct Forbidden;

impl TokenCounter for Forbidden {
    fn name(&self) -> &str {
        "o200k_base"
    }

    fn count(&self, text: &str) -> Tokens {
        panic!("counted again: {text}");
    }
}

async fn add_turn(system: &ContextSystem, number: usize, lines: usize) {
    let listing: String =
        (0..lines).map(|line| format!("{line}: fn module_{number}_{line}() {{ … }}\n")).collect();
    let messages = serde_json::json!([
        {"role": "user", "content": format!("What is in module {number}?")},
        {"role": "assistant", "content": null, "tool_calls": [{"id": format!("call_{number}"),
            "type": "function", "function": {"name": "read_file", "arguments": "{\"path\":\"a\"}"}}]},
        {"role": "tool", "tool_call_id": format!("call_{number}"), "content": listing},
        {"role": "assistant", "content": format!("Module {number} has {lines} functions.")},
    ]);
    let messages = parse_messages(messages.to_string().as_bytes()).unwrap();
    let segment = "usr".parse().unwrap();
    system.as_system().apply(Edit::AddTurn { segment, messages }).await.unwrap();
}

/// Makes a session of a few turns; the third has a result that a budget cuts.
async fn session() -> Arc<dyn PageStorage> {
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    let name = "demo".parse().unwrap();
    let clock = Arc::new(ManualClock::at_millis(1_760_000_000_000));
    let system = ContextSystem::create(storage.clone(), name, "demo", clock).await.unwrap();
    let segment = NewSegment::new("usr".parse().unwrap(), SegmentKind::User);
    system.as_system().apply(Edit::AddSegment(segment)).await.unwrap();
    for number in 1..=6 {
        add_turn(&system, number, if number == 3 { 400 } else { 20 }).await;
    }
    storage
}

/// Opens the session as a new process does.
async fn open(storage: &Arc<dyn PageStorage>) -> ContextSystem {
    let clock = Arc::new(ManualClock::at_millis(1_760_000_000_000));
    ContextSystem::open(storage.clone(), "demo".parse().unwrap(), clock).await.unwrap()
}

/// Renders a window in a new process with a counter that looks counts up; keeps what was counted.
async fn window(
    storage: &Arc<dyn PageStorage>,
    counter: Arc<dyn TokenCounter>,
    (format, budget): (Format, Option<u64>),
) -> Window {
    let system = open(storage).await;
    let counter = Arc::new(KeptCounter::new(counter, storage.clone()));
    let mut options = WindowOptions::new(format, counter.clone());
    options.budget = budget.map(Tokens);
    let window = system.as_system().reader().window(&options).await.unwrap();
    system.keep_counts().await.unwrap();
    counter.keep().await.unwrap();
    window
}

#[test]
fn stored_counts_are_the_fresh_ones_and_nothing_is_counted_again() {
    block_on(async {
        for asked in FORMATS.into_iter().flat_map(|format| BUDGETS.map(|budget| (format, budget))) {
            let storage = session().await;
            let mut options = WindowOptions::new(asked.0, counter_for("o200k_base"));
            options.budget = asked.1.map(Tokens);
            let fresh =
                open(&session().await).await.as_system().reader().window(&options).await.unwrap();
            assert_eq!(fresh.due.is_some(), asked.1 == Some(900), "{asked:?}");

            let first = window(&storage, counter_for("o200k_base"), asked).await;
            let again = window(&storage, Arc::new(Forbidden), asked).await;
            for window in [first, again] {
                assert_eq!(window.body, fresh.body, "{asked:?}");
                assert_eq!(window.account, fresh.account, "{asked:?}");
            }
        }
    });
}

#[test]
fn the_vocabulary_is_loaded_at_the_first_text_that_is_not_stored() {
    const CL100K: Tokenizer = Tokenizer::Cl100kBase;
    block_on(async {
        let storage = session().await;
        for asked in BUDGETS.map(|budget| (Format::Markdown, budget)) {
            window(&storage, Arc::new(StandIn("cl100k_base")), asked).await;
            window(&storage, counter_for("cl100k_base"), asked).await;
            assert!(!CL100K.is_loaded(), "{asked:?}");
        }
        add_turn(&open(&storage).await, 7, 20).await;
        window(&storage, counter_for("cl100k_base"), (Format::Markdown, None)).await;
        assert!(CL100K.is_loaded());
    });
}
