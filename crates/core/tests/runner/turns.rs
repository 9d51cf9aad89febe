//! Turns: cut into pages by content alone, extended exchange by exchange, attributed.

use contexture_core::{
    AgentContext, ContextSystem, Edit, ErrorKind, Message, PageIndex, Role, Trust,
};
use contexture_testkit::{
    fixture::{agent, apply, assistant, calls, leaf, memory, page, returned, segment, user},
    state::state,
};
use futures::executor::block_on;

async fn texts(system: &ContextSystem, index: &str) -> Vec<String> {
    let messages = system.as_system().reader().messages(&page(index)).await.unwrap();
    messages.iter().map(Message::plain_text).collect()
}

fn long(name: &str) -> Message {
    assistant(&format!("{name}\n{}", "x".repeat(4_200)))
}

async fn turn_of(system: &ContextSystem, index: &PageIndex) -> Option<PageIndex> {
    system.as_system().reader().page(index).await.unwrap().page.turn.clone()
}

// P-09, P-10: a page holds whole exchanges; a new page begins with each turn and when the open one
// already holds more than 4,096 bytes; every page knows its turn.
#[test]
fn turns_are_cut_by_content() {
    block_on(async {
        let system = memory().await;
        let helper = agent(&system, "helper");
        let messages = vec![
            user("first question"),
            calls("c1", "{\"path\":\"a\"}"),
            returned("c1", &"y".repeat(5_000)),
            assistant("so far"),
            long("long"),
            assistant("done"),
            user("second question"),
            assistant("answer"),
        ];
        let pages = helper.add_turn(messages).await.unwrap();
        // The exchange with the large result still goes into the open page, which is then full.
        assert_eq!(pages, ["usr-1", "usr-2", "usr-3", "usr-4"].map(page));
        let mut counts = Vec::new();
        for index in &pages {
            let page = helper.get_page(index).await.unwrap().page;
            counts.push((page.name.to_string(), page.detail().unwrap().messages));
        }
        let expected = [
            ("first question", 3),
            ("first question (2)", 2),
            ("first question (3)", 1),
            ("second question", 2),
        ];
        assert_eq!(counts, expected.map(|(name, count)| (name.to_owned(), count)));
        for index in ["usr-1", "usr-2", "usr-3"] {
            assert_eq!(turn_of(&system, &page(index)).await, Some(page("usr-1")));
        }
        assert_eq!(turn_of(&system, &page("usr-4")).await, Some(page("usr-4")));
    });
}

/// What each leaf is called, which turn it belongs to and what it says.
async fn shape(system: &ContextSystem) -> Vec<(String, Option<PageIndex>, Trust, Vec<String>)> {
    let mut shape = Vec::new();
    for page in state(system).await.pages.into_values().filter(|page| page.detail().is_some()) {
        let texts = texts(system, &page.index.to_string()).await;
        shape.push((format!("{} {}", page.index, page.name), page.turn, page.trust, texts));
    }
    shape
}

// The rule depends on content alone: in one piece or exchange by exchange, the pages are the same.
#[test]
fn the_cut_does_not_depend_on_how_messages_arrive() {
    block_on(async {
        let exchanges = [
            vec![user("question")],
            vec![calls("c1", "{}"), returned("c1", &"y".repeat(3_000))],
            vec![long("one")],
            vec![assistant("two")],
            vec![calls("c2", "{}"), returned("c2", &"z".repeat(9_000))],
            vec![assistant("three")],
        ];
        let whole = memory().await;
        agent(&whole, "helper").add_turn(exchanges.concat()).await.unwrap();
        let pieces = memory().await;
        let helper = agent(&pieces, "helper");
        helper.add_turn(exchanges[0].clone()).await.unwrap();
        for exchange in &exchanges[1..] {
            helper.extend_turn(exchange.clone()).await.unwrap();
        }
        let (pieces, whole) = (shape(&pieces).await, shape(&whole).await);
        assert_eq!(pieces, whole);
        assert!(whole.len() > 2);
    });
}

// `turn extend`: the caller's own latest turn; none is not-found; in line goes into the open
// page, else
// a new page begins at the end.
#[test]
fn extend_continues_the_callers_own_turn() {
    block_on(async {
        let system = memory().await;
        let (left, right) = (agent(&system, "left"), agent(&system, "right"));
        let none = left.extend_turn(vec![assistant("x")]).await.unwrap_err();
        assert_eq!(none.to_string(), "a turn of left in segment usr not found");
        assert_eq!(none.kind(), ErrorKind::NotFound);
        left.add_turn(vec![user("left asks")]).await.unwrap(); // usr-1
        assert_eq!(left.extend_turn(vec![assistant("a")]).await.unwrap(), [page("usr-1")]);
        right.add_turn(vec![user("right asks")]).await.unwrap(); // usr-2
        assert_eq!(right.extend_turn(vec![assistant("b")]).await.unwrap(), [page("usr-2")]);
        // left's page is no longer the last in line.
        assert_eq!(left.extend_turn(vec![assistant("c")]).await.unwrap(), [page("usr-3")]);
        assert_eq!(turn_of(&system, &page("usr-3")).await, Some(page("usr-1")));
        assert_eq!(texts(&system, "usr-1").await, ["left asks", "a"]);
        assert_eq!(texts(&system, "usr-3").await, ["c"]);
        let named = left.get_page("usr-3").await.unwrap().page;
        assert_eq!(named.name.as_str(), "left asks (2)");
        // A page of no turn in between does the same.
        leaf(&system, "usr-0", "note").await; // usr-4
        assert_eq!(left.extend_turn(vec![assistant("d")]).await.unwrap(), [page("usr-5")]);
    });
}

// In one batch, too, what is extended is the turn just added.
#[test]
fn a_batch_extends_the_turn_it_has_added() {
    block_on(async {
        let system = memory().await;
        let helper = agent(&system, "helper");
        helper.add_turn(vec![user("old")]).await.unwrap();
        let segment = segment("usr");
        let batch = vec![
            Edit::AddTurn { segment: segment.clone(), messages: vec![user("new")] },
            Edit::ExtendTurn { segment, messages: vec![assistant("answer")] },
        ];
        helper.apply(Edit::Batch(batch)).await.unwrap();
        assert_eq!(texts(&system, "usr-1").await, ["old"]);
        assert_eq!(texts(&system, "usr-2").await, ["new", "answer"]);
    });
}

// Messages that are no whole exchanges are invalid and change nothing.
#[test]
fn split_exchanges_are_refused() {
    block_on(async {
        let system = memory().await;
        let helper = agent(&system, "helper");
        helper.add_turn(vec![user("hello")]).await.unwrap();
        let before = state(&system).await;
        let add = |messages: Vec<Message>| helper.add_turn(messages);
        let extend = |messages: Vec<Message>| helper.extend_turn(messages);
        for refused in [
            add(vec![]).await,
            add(vec![user("x"), calls("c", "{}")]).await,
            add(vec![returned("c", "x")]).await,
            extend(vec![]).await,
            extend(vec![user("x")]).await,
            extend(vec![calls("c", "{}")]).await,
            extend(vec![calls("c", "{}"), returned("d", "x")]).await,
        ] {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
        }
        assert_eq!(state(&system).await, before);
    });
}

async fn message(agent: &AgentContext, index: &str, at: usize) -> Message {
    agent.get_messages(index).await.unwrap().remove(at)
}

// Messages carry author and time; an agent speaks in its own name only; trust is that of the least
// trusted message and of who brings it.
#[test]
fn turns_carry_author_time_and_trust() {
    block_on(async {
        let system = memory().await;
        let helper = agent(&system, "helper");
        let mut forged = assistant("I am another");
        forged.author = Some("another".parse().unwrap());
        helper.add_turn(vec![user("hello"), forged]).await.unwrap(); // usr-1
        let said = message(&helper, "usr-1", 1).await;
        assert_eq!(said.author.map(|author| author.to_string()).as_deref(), Some("helper"));
        assert!(said.at.is_some());
        let first = helper.get_page("usr-1").await.unwrap().page;
        assert_eq!((first.author.to_string().as_str(), first.trust), ("helper", Trust::Agent));
        let turn = |messages| Edit::AddTurn { segment: segment("usr"), messages };
        apply(&system, turn(vec![user("from a person")])).await; // usr-2
        apply(&system, turn(vec![Message::text(Role::System, "from us")])).await; // usr-3
        let used = vec![user("q"), calls("c", "{}"), returned("c", "anything")];
        apply(&system, turn(used)).await; // usr-4
        let expected = [Trust::User, Trust::System, Trust::Tool];
        for (index, trust) in ["usr-2", "usr-3", "usr-4"].into_iter().zip(expected) {
            assert_eq!(helper.get_page(index).await.unwrap().page.trust, trust, "{index}");
        }
        // Extending lowers it, never the other way.
        helper.extend_turn(vec![calls("d", "{}"), returned("d", "x")]).await.unwrap(); // usr-5
        helper.extend_turn(vec![assistant("done")]).await.unwrap();
        assert_eq!(helper.get_page("usr-5").await.unwrap().page.trust, Trust::Tool);
    });
}
