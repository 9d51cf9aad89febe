use super::*;
use crate::message::{Fields, Part, Text, ToolCall, ToolResult};

fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

fn assistant(calls: &[&str]) -> Message {
    let call = |id: &&str| {
        Part::ToolCall(ToolCall {
            id: (*id).to_owned(),
            name: "f".to_owned(),
            arguments: "{}".to_owned(),
            extra: Fields::default(),
        })
    };
    let text = Message::text(Role::Assistant, "好");
    Message { parts: text.parts.into_iter().chain(calls.iter().map(call)).collect(), ..text }
}

fn tool(results: &[&str]) -> Message {
    let result = |id: &&str| {
        let content =
            vec![Part::Text(Text { text: "结果".to_owned(), extra: Fields::default() })];
        let call = (*id).to_owned();
        Part::ToolResult(ToolResult { call, content, error: false, extra: Fields::default() })
    };
    Message { role: Role::Tool, parts: results.iter().map(result).collect(), ..user("") }
}

fn reason(messages: Vec<Message>) -> String {
    match group_exchanges(messages) {
        Err(Error::InvalidMessages { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

fn sizes(exchanges: &[Exchange]) -> Vec<usize> {
    exchanges.iter().map(|exchange| exchange.messages.len()).collect()
}

#[test]
fn an_exchange_is_a_message_with_the_results_of_its_calls() {
    let messages = vec![
        Message::text(Role::System, "rules"),
        user("go"),
        assistant(&["a", "b", "c"]),
        tool(&["c"]),
        tool(&["a", "b"]),
        assistant(&["a"]),
        tool(&["a"]),
        assistant(&[]),
        user("more"),
    ];
    let exchanges = group_exchanges(messages.clone()).unwrap();
    assert_eq!(sizes(&exchanges), [1, 1, 3, 2, 1, 1]);
    let starts: Vec<bool> = exchanges.iter().map(Exchange::starts_turn).collect();
    assert_eq!(starts, [false, true, false, false, false, true]);
    assert_eq!(exchanges[2].weight(), 3 + 3 * 2 + 3 * 6);
    let back: Vec<Message> = exchanges.into_iter().flat_map(|each| each.messages).collect();
    assert_eq!(back, messages);
    assert_eq!(group_exchanges(Vec::new()).unwrap(), []);
}

#[test]
fn calls_and_results_must_match() {
    let no_result = |id| {
        format!("message 2: tool call '{id}' has no result in the tool messages directly after it")
    };
    let calls = assistant(&["a", "b"]);
    assert_eq!(reason(vec![user("x"), calls.clone()]), no_result("a"));
    assert_eq!(reason(vec![user("x"), calls.clone(), tool(&["a"])]), no_result("b"));
    for between in [user("y"), assistant(&[]), Message::text(Role::System, "z")] {
        let messages = vec![user("x"), calls.clone(), tool(&["a"]), between, tool(&["b"])];
        assert_eq!(reason(messages), no_result("b"));
    }
    assert_eq!(
        reason(vec![tool(&["a"])]),
        "message 1: a result for tool call 'a', which was not made"
    );
    assert_eq!(
        reason(vec![calls.clone(), tool(&["a", "b"]), user("x"), tool(&["a"])]),
        "message 4: a result for tool call 'a', which was not made"
    );
    assert_eq!(
        reason(vec![calls.clone(), tool(&["a", "c"])]),
        "message 2: a result for tool call 'c', which was not made"
    );
    assert_eq!(
        reason(vec![calls, tool(&["a"]), tool(&["b", "a"])]),
        "message 3: a second result for tool call 'a'"
    );
    assert_eq!(
        reason(vec![assistant(&["a", "b", "a"])]),
        "message 1: two tool calls have the id 'a'"
    );
}

#[test]
fn calls_and_results_stand_in_their_roles() {
    assert_eq!(
        reason(vec![Message { role: Role::User, ..assistant(&["a"]) }]),
        "message 1: tool call 'a' is not in an assistant message"
    );
    assert_eq!(
        reason(vec![assistant(&["a"]), Message { role: Role::User, ..tool(&["a"]) }]),
        "message 2: the result of call 'a' is not in a tool message"
    );
    assert_eq!(
        reason(vec![assistant(&[]), tool(&[])]),
        "message 2: a tool message must have a result"
    );
}

#[test]
fn a_turn_begins_with_each_user_message() {
    let system = || Message::text(Role::System, "rules");
    let messages =
        vec![system(), assistant(&[]), user("a"), assistant(&[]), system(), user("b"), user("c")];
    let turns = turns(group_exchanges(messages).unwrap());
    assert_eq!(turns.iter().map(Vec::len).collect::<Vec<_>>(), [2, 3, 1, 1]);
    assert!(turns[1..].iter().all(|turn| turn[0].starts_turn()));
    assert!(super::turns(Vec::new()).is_empty());
}

fn exchange(weight: usize) -> Exchange {
    Exchange { messages: vec![Message::text(Role::Assistant, "x".repeat(weight))] }
}

#[test]
fn a_page_is_full_when_it_holds_more_than_the_limit() {
    let pages = |open, weights: &[usize]| {
        let cut = cut(open, weights.iter().map(|weight| exchange(*weight)).collect());
        (cut.into_open.len(), cut.pages.iter().map(Vec::len).collect::<Vec<_>>())
    };
    assert_eq!(pages(None, &[]), (0, vec![]));
    assert_eq!(pages(Some(0), &[1]), (1, vec![]));
    assert_eq!(pages(None, &[1]), (0, vec![1]));
    assert_eq!(pages(Some(4096), &[1, 1]), (1, vec![1]));
    assert_eq!(pages(Some(4097), &[1, 1]), (0, vec![2]));
    assert_eq!(pages(None, &[4096, 0, 1, 1]), (0, vec![3, 1]));
    assert_eq!(pages(Some(u64::MAX), &[100_000, 1]), (0, vec![1, 1]));
    // 1,366 Chinese characters are 4,098 bytes: bytes count, not characters.
    let chinese = Exchange { messages: vec![user(&"字".repeat(1_366))] };
    assert_eq!(cut(None, vec![chinese, exchange(1)]).pages.len(), 2);
}

/// What a storage does with a cut: fills the open page, then adds the new ones.
fn append(pages: &mut Vec<Vec<Exchange>>, exchanges: Vec<Exchange>) {
    let open = pages.last().map(|page| page.iter().map(Exchange::weight).sum());
    let cut = cut(open, exchanges);
    match pages.last_mut() {
        Some(page) => page.extend(cut.into_open),
        None => assert!(cut.into_open.is_empty()),
    }
    pages.extend(cut.pages);
}

#[test]
fn pages_do_not_depend_on_how_messages_arrive() {
    let mut seed = 1_u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for _ in 0..50 {
        let exchanges: Vec<Exchange> = (0..60)
            .map(|_| match next(5) {
                0 => exchange(0),
                1 => exchange(4_096),
                2 => exchange(next(9_000) as usize),
                _ => exchange(next(1_500) as usize),
            })
            .collect();
        let (mut at_once, mut singly, mut in_pieces) = (Vec::new(), Vec::new(), Vec::new());
        append(&mut at_once, exchanges.clone());
        exchanges.iter().for_each(|each| append(&mut singly, vec![each.clone()]));
        let mut rest = exchanges.as_slice();
        while !rest.is_empty() {
            let (piece, others) = rest.split_at(rest.len().min(next(9) as usize));
            append(&mut in_pieces, piece.to_vec());
            rest = others;
        }
        assert_eq!(at_once, singly);
        assert_eq!(at_once, in_pieces);
        assert_eq!(at_once.concat(), exchanges);
        let full =
            |page: &Vec<Exchange>| page.iter().map(Exchange::weight).sum::<u64>() > FULL_PAGE_BYTES;
        assert!(at_once[..at_once.len() - 1].iter().all(full));
    }
}
