//! `pin_page` and `unpin_page`: what stays in every window of one agent's view.

use contexture_agents::{
    definition::{ToolName, ToolRules, canonical_tool},
    tool::Effect,
    tools::{Toolbox, context},
};
use contexture_core::{AccessLevel, Permission, SegmentKind, WindowLevel, WindowOptions};
use contexture_testkit::fixture::{add_segment, agent, assistant, directory, leaf, page, user};
use serde_json::json;

use super::{
    call,
    context::{Hand, begun, options, words},
    find, right, wrong,
};

/// Says so many words of its own, so that a page can be told by them.
fn told(word: &str) -> String {
    vec![word; 100].join(" ")
}

fn tight() -> WindowOptions {
    options().budget(1_500)
}

/// Goes on until the window has been folded.
async fn go_on(hand: &Hand) {
    for number in 0..30 {
        let turn = vec![user(&format!("more {number}")), assistant(&words(100))];
        hand.context.add_turn(turn).await.unwrap();
    }
    hand.context.fold(&tight()).await.unwrap().expect("a fold was due");
}

async fn level(hand: &Hand, index: &str) -> WindowLevel {
    hand.context.get_page(page(index)).await.unwrap().level
}

/// Returns what stands in the window of a tight budget.
async fn body(hand: &Hand) -> String {
    hand.context.window(&tight()).await.unwrap().body
}

#[tokio::test]
async fn a_pinned_page_stands_in_every_later_window_until_it_is_unpinned() {
    let (system, _) = begun().await;
    let hand = Hand::new(&system, agent(&system, "scribe"), tight());
    let other = Hand::new(&system, agent(&system, "reader"), tight());
    let turn = vec![user("the rule"), assistant(&told("canary"))];
    hand.context.add_turn(turn).await.unwrap();
    let before = body(&hand).await;
    let text = right(hand.call("pin_page", json!({"page": "usr-4"})).await);
    assert_eq!(
        text,
        "pinned: usr-4 \"the rule\": it stays in full in every window until unpin_page; nothing earlier changed, the cache stays valid"
    );
    assert_eq!(body(&hand).await, before);
    let text = right(hand.call("pin_page", json!({"page": "usr-4"})).await);
    assert_eq!(text, "usr-4 \"the rule\" is already pinned: nothing changed");
    for _ in 0..3 {
        go_on(&hand).await;
        assert_eq!(level(&hand, "usr-4").await, WindowLevel::Full);
        assert!(body(&hand).await.contains(&told("canary")));
    }
    // Nobody else's view has the pin.
    assert!(!other.context.get_page(page("usr-4")).await.unwrap().pinned);
    other.context.fold(&tight()).await.unwrap().expect("a fold was due");
    assert_ne!(level(&other, "usr-4").await, WindowLevel::Full);
    assert!(!body(&other).await.contains(&told("canary")));

    let text = right(hand.call("unpin_page", json!({"page": "usr-4"})).await);
    assert!(text.starts_with("unpinned: usr-4 \"the rule\": it may fold when room is needed; "));
    go_on(&hand).await;
    assert_ne!(level(&hand, "usr-4").await, WindowLevel::Full);
    assert!(!body(&hand).await.contains(&told("canary")));
    let text = right(hand.call("unpin_page", json!({"page": "usr-4"})).await);
    assert_eq!(text, "usr-4 \"the rule\" is not pinned: nothing changed");
}

#[tokio::test]
async fn a_folded_or_hidden_page_rises_when_it_is_pinned() {
    let (system, _) = begun().await;
    let hand = Hand::new(&system, agent(&system, "scribe"), tight());
    let turn = vec![user("the rule"), assistant(&told("canary"))];
    hand.context.add_turn(turn).await.unwrap();
    go_on(&hand).await;
    assert_ne!(level(&hand, "usr-4").await, WindowLevel::Full);
    let text = right(hand.call("pin_page", json!({"page": "usr-4"})).await);
    assert!(text.contains("applies at once: the next request reads everything"), "{text}");
    assert!(body(&hand).await.contains(&told("canary")));

    hand.context.unpin_page("usr-4").await.unwrap();
    hand.context.hide_details("usr-4").await.unwrap();
    right(hand.call("pin_page", json!({"page": "usr-4"})).await);
    assert_eq!(level(&hand, "usr-4").await, WindowLevel::Full);
    // One edit: taking it back leaves the page hidden and not pinned.
    hand.context.undo(None).await.unwrap();
    let view = hand.context.get_page("usr-4").await.unwrap();
    assert!(!view.pinned && view.level == WindowLevel::Summary);
}

#[tokio::test]
async fn pins_leave_half_of_the_budget_for_work() {
    let (system, _) = begun().await;
    let hand = Hand::new(&system, agent(&system, "scribe"), options().budget(1_000));
    right(hand.call("pin_page", json!({"page": "usr-3"})).await);
    let text = wrong(hand.call("pin_page", json!({"page": "usr-2"})).await);
    assert_eq!(
        text,
        "usr-2 \"turn 200\" cannot be pinned: it takes about 202 tokens, 310 are already pinned, and pinned pages may take 500, half of the budget. Unpin another page first."
    );
    assert!(!hand.context.get_page("usr-2").await.unwrap().pinned);
    right(hand.call("pin_page", json!({"page": "usr-1"})).await);
    right(hand.call("unpin_page", json!({"page": "usr-3"})).await);
    right(hand.call("pin_page", json!({"page": "usr-2"})).await);
    // Without a budget there is nothing to keep free.
    let free = Hand::new(&system, agent(&system, "scribe"), options());
    right(free.call("pin_page", json!({"page": "usr-3"})).await);
}

#[tokio::test]
async fn reading_is_enough_to_pin() {
    for operation in ["pinPage", "unpinPage"] {
        assert_eq!(AccessLevel::required_by(operation), AccessLevel::Read, "{operation}");
    }
    let (system, hand) = begun().await;
    add_segment(&system, "docs", SegmentKind::Custom, Permission::ReadOnly).await;
    leaf(&system, "docs-0", "Rules").await;
    right(hand.call("pin_page", json!({"page": "docs-1"})).await);
    assert!(hand.context.get_page("docs-1").await.unwrap().pinned);
    right(hand.call("unpin_page", json!({"page": "docs-1"})).await);
    assert!(!hand.context.get_page("docs-1").await.unwrap().pinned);
}

#[tokio::test]
async fn directories_stay_open_and_missing_pages_are_reported() {
    let (system, hand) = begun().await;
    let notes = directory(&system, "usr-0", "Notes").await;
    let text = right(hand.call("pin_page", json!({"page": notes.to_string()})).await);
    assert!(text.contains("it stays open in every window until unpin_page"), "{text}");
    for name in ["pin_page", "unpin_page"] {
        let text = wrong(hand.call(name, json!({"page": "usr-77"})).await);
        assert_eq!(text, "page usr-77 not found; find_page finds pages by what they say");
    }
    // A page below a hidden directory has no place in the window.
    let note = leaf(&system, &notes.to_string(), "note").await;
    hand.context.unpin_page(&notes).await.unwrap();
    hand.context.hide_details(&notes).await.unwrap();
    let text = wrong(hand.call("pin_page", json!({"page": note.to_string()})).await);
    assert!(text.contains(&format!("expand_details {notes} first")), "{text}");
    assert!(!hand.context.get_page(&note).await.unwrap().pinned);
}

#[tokio::test]
async fn rules_decide_who_may_pin() {
    let (_, hand) = begun().await;
    for name in ["pin_page", "unpin_page"] {
        assert_eq!(canonical_tool(name), ToolName::Ours(name));
        assert_eq!(find(&hand.tools, name).effect(), Effect::Changes);
    }
    let tools = || context::tools(hand.context.clone(), options(), hand.index.clone());
    let rules = |deny: &[&str]| ToolRules {
        allow: Some(Vec::new()),
        deny: deny.iter().map(|name| (*name).to_owned()).collect(),
    };
    let pin = call("pin_page", &json!({"page": "usr-1"}));
    let denied = Toolbox::new(tools(), &rules(&["pin_page"])).for_agent(hand.context.agent());
    let text = wrong(denied.run(&pin).await);
    assert_eq!(text, "permission denied: tool 'pin_page' is not allowed for agent 'scribe'");
    assert!(!hand.context.get_page("usr-1").await.unwrap().pinned);
    assert!(denied.specs().iter().all(|spec| spec.name != "pin_page"));
    // It concerns the agent's own window alone, so it is there without being named.
    right(Toolbox::new(tools(), &rules(&[])).run(&pin).await);
    assert!(hand.context.get_page("usr-1").await.unwrap().pinned);
}
