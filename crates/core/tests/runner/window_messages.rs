//! The bound on messages: met by folds that are rare, that part no exchange and can be undone.

use std::{collections::HashSet, sync::Arc};

use contexture_core::{
    AgentContext, ContextSystem, Edit, Format, ManualClock, MemoryStorage, PageIndex,
    ProviderFormat, Timestamp, Window, WindowOptions, document, storage::SentSource,
    window::validate_body,
};
use contexture_testkit::{
    fixture::{agent, assistant, calls, leaf, memory, returned, user},
    random::Random,
    window::options,
};
use futures::executor::block_on;
use serde_json::json;

const MOST: u64 = 100;

fn bounded(format: &str) -> WindowOptions {
    options(format.parse().unwrap()).max_messages(MOST)
}

/// Adds a turn of two to ten messages, some of them long.
fn talk(agent: &AgentContext, random: &mut Random, number: u64) -> Vec<PageIndex> {
    let mut said = vec![user(&format!("question {number}"))];
    for call in 0..random.below(4) {
        let id = format!("call{number}x{call}");
        said.push(calls(&id, "{}"));
        let bytes = *random.pick(&[4, 40, 3_000]);
        said.push(returned(&id, &format!("Result_{number} ").repeat(bytes / 8)));
    }
    said.push(assistant(&format!("answer {number}")));
    block_on(agent.add_turn(said)).unwrap()
}

fn messages(window: &Window) -> Vec<String> {
    let unmarked = |text: &str| text.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    window.messages.iter().map(|range| unmarked(&window.body[range.clone()])).collect()
}

/// Counts the messages of pages that stand in a window.
fn standing(agent: &AgentContext, window: &Window) -> u64 {
    let shown = window.pieces.iter().filter(|piece| !piece.system).map(|piece| {
        let speech = match piece.source {
            SentSource::Messages { speech, .. } | SentSource::Note { speech, .. } => speech,
            SentSource::Turn { speech, .. } => speech,
            SentSource::Engine(_) | SentSource::Purged => return 0,
        };
        let messages = block_on(agent.get_messages(&piece.page)).unwrap();
        speech.heard(messages).len() as u64
    });
    shown.sum()
}

// M-37: over three hundred turns no window sent holds more messages than may stand; folds are
// few, nothing but a fold changes an earlier message, and no call is ever parted from its result.
#[test]
fn the_bound_is_met_by_rare_folds() {
    for (format, budget) in [("openai", None), ("anthropic", Some(30_000)), ("gemini", Some(6_000))]
    {
        let system = block_on(memory());
        block_on(leaf(&system, "sys-0", "Prompt"));
        let agent = agent(&system, "alpha");
        let mut random = Random::new(37);
        let mut asked = bounded(format);
        asked.budget = budget.map(contexture_core::Tokens);
        let mut before: Option<Window> = None;
        let mut fewest = u64::MAX;
        let (mut folds, mut said) = (0, 0);
        for number in 0..300 {
            let at = format!("{format} turn {number}");
            for index in talk(&agent, &mut random, number) {
                said += block_on(agent.get_messages(&index)).unwrap().len();
            }
            let sent = block_on(agent.send(&asked)).unwrap();
            let account = &sent.window.account;
            let stand = standing(&agent, &sent.window);
            assert_eq!((account.messages, account.max_messages), (Some(stand), Some(MOST)), "{at}");
            assert!(stand <= MOST, "{at}: {stand}");
            if said as u64 > MOST {
                fewest = fewest.min(stand);
            }
            assert!(budget.is_none_or(|budget| account.tokens <= budget), "{at}");
            let Ok(Format::Provider(provider)) = format.parse() else { panic!("{format}") };
            let body = serde_json::from_str(&sent.window.body).unwrap();
            validate_body(provider, &body).unwrap_or_else(|broken| panic!("{at}: {broken}"));
            assert_eq!(sent.window.repaired, Vec::<String>::new(), "{at}");
            folds += u64::from(sent.record.fold.is_some());
            if let (Some(before), None) = (&before, sent.record.fold) {
                let (was, is) = (messages(before), messages(&sent.window));
                assert_eq!(was[..], is[..was.len()], "{at}");
            }
            before = Some(sent.window);
        }
        assert!(said > 1_200, "{said}");
        // Where nothing else is short, a fold goes down to three fifths of the bound, less the rest of a
        // turn, and never further.
        assert!(budget.is_some() || fewest >= MOST / 2, "{format}: {fewest}");
        // A fold makes room for two fifths of the bound.
        let most = if budget == Some(6_000) { 120 } else { said as u64 / (MOST / 4) };
        assert!(folds > 5 && folds < most, "{format}: {folds} folds over {said} messages");
    }
}

// M-37: the line says how many are folded and that they can be had back, and they can: one by
// one, or all with undo.
#[test]
fn what_is_folded_is_told_and_comes_back() {
    let system = block_on(memory());
    let agent = agent(&system, "alpha");
    let count = |number: u64| vec![user(&format!("ask {number}")), assistant("yes")];
    for number in 0..50 {
        block_on(agent.add_turn(count(number))).unwrap();
    }
    let asked = bounded("markdown");
    let before = block_on(agent.window(&asked)).unwrap();
    assert_eq!((before.due, before.account.messages), (None, Some(100)));
    block_on(agent.add_turn(count(50))).unwrap();
    let full = block_on(agent.window(&options(asked.format))).unwrap();
    let fold = block_on(agent.fold(&asked)).unwrap().expect("one is due");
    let folded = block_on(agent.window(&asked)).unwrap();
    assert_eq!((folded.due, folded.account.messages), (None, Some(60)));
    let line = folded.body.lines().find(|line| line.contains("[RUN]")).unwrap();
    assert!(
        line.starts_with(
            "[RUN] **[usr-1]** to usr-21 (21 pages, 42 messages folded; expand any to see it)"
        ),
        "{line}"
    );
    block_on(agent.expand_details("usr-4")).unwrap();
    let expanded = block_on(agent.window(&asked)).unwrap();
    assert!(expanded.body.contains("ask 3"), "{}", expanded.body);
    block_on(agent.undo(None)).unwrap();
    block_on(agent.undo(fold.revision)).unwrap();
    let again = block_on(agent.window(&options(asked.format))).unwrap();
    assert_eq!(again.body, full.body);
}

// M-37: pinned pages and the last one stay, whatever the bound; that is no error.
#[test]
fn what_never_folds_stays() {
    let system = block_on(memory());
    let agent = agent(&system, "alpha");
    for number in 0..6 {
        let said = vec![user(&format!("ask {number}")), assistant("yes"), assistant("no")];
        block_on(agent.add_turn(said)).unwrap();
    }
    block_on(agent.pin_page("usr-2")).unwrap();
    for format in ProviderFormat::ALL {
        let asked = options(Format::Provider(format)).max_messages(2);
        let window = block_on(agent.window(&asked)).unwrap();
        assert_eq!(window.account.messages, Some(6), "{}", window.body);
        assert!(window.body.contains("ask 1") && window.body.contains("ask 5"));
        assert!(!window.body.contains("\"content\":\"ask 4"), "{}", window.body);
    }
    let sent: Vec<_> = (0..3)
        .map(|_| block_on(agent.send(&options("openai".parse().unwrap()).max_messages(2))).unwrap())
        .collect();
    assert_eq!(sent.iter().filter(|sent| sent.record.fold.is_some()).count(), 1);
    let bodies: HashSet<&str> = sent.iter().map(|sent| sent.window.body.as_str()).collect();
    assert_eq!(bodies.len(), 1);
}

// P-10, M-37: the bound goes by the messages that stand, not by what a document counts.
#[test]
fn what_a_document_counts_folds_nothing() {
    let page = |number: u64| {
        json!({ "type": "DetailPage", "index": format!("usr-{number}"), "name": "Chat",
            "parent": "usr-0", "detail": "User: hi", "messageCount": 150 })
    };
    let document = json!({
        "segments": [{ "id": "usr", "name": "User", "rootIndex": "usr-0",
            "segmentType": "user", "permission": "read-write" }],
        "pages": {
            "usr-0": { "type": "ContentsPage", "index": "usr-0", "name": "User",
                "children": ["usr-1", "usr-2"] },
            "usr-1": page(1), "usr-2": page(2),
        },
        "nextIndex": 2,
    });
    let plan = document::parse(document.to_string().as_bytes(), Timestamp::from_millis(0)).unwrap();
    let clock = Arc::new(ManualClock::at_millis(0));
    let (storage, edit) = (Arc::new(MemoryStorage::new()), Edit::Load(Box::new(plan.plan)));
    let system = ContextSystem::create_with(storage, "s".parse().unwrap(), "test", clock, &edit);
    let agent = agent(&block_on(system).unwrap(), "alpha");
    let options = bounded("openai");
    assert!(block_on(agent.fold(&options)).unwrap().is_none());
    assert_eq!(block_on(agent.window(&options)).unwrap().account.messages, Some(2));
}
