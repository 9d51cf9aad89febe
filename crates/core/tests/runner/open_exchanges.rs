//! Open exchanges: stored before their results, answered in any order, and then as if stored whole.

use std::sync::Arc;

use contexture_core::{
    ContextSystem, Conversation, Edit, ErrorKind, Format, MemoryStorage, Message, ProviderFormat,
    Session, Timestamp, document,
    message::{Part, ToolResult, open_calls},
    window::validate_body,
};
use contexture_testkit::{
    fixture::{
        BEGIN, agent, apply, assistant, calls, confined, empty, memory, new_directory, page,
        returned, segment, session, user,
    },
    random::Random,
    state::state,
    window::options,
};
use futures::executor::block_on;

/// An assistant message with these calls.
fn calling(ids: &[&str]) -> Message {
    let parts = ids.iter().flat_map(|id| calls(id, &format!("{{\"of\":\"{id}\"}}")).parts);
    Message { parts: parts.collect(), ..assistant("") }
}

/// The same message, said at the same time whenever it is stored.
fn timed(message: Message) -> Message {
    Message { at: Some(Timestamp::from_millis(BEGIN)), ..message }
}

async fn open_ids(session: &Session, index: &str) -> Vec<String> {
    session.get_page(index).await.unwrap().page.detail().unwrap().open.clone()
}

fn text_of(message: &Message) -> String {
    let texts = message.tool_results().flat_map(|result| &result.content).map(|part| match part {
        Part::Text(text) => text.text.clone(),
        other => panic!("{other:?}"),
    });
    texts.collect()
}

// Whatever the order of results, alone or several at once, and wherever pages are cut: when the exchange is
// closed, the session is what it would be had all of it been stored at once.
#[test]
fn closed_exchanges_are_as_if_stored_whole() {
    let mut cuts = 0;
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let sizes = [1, 40, 3_000, 4_200, 6_000];
        let mut whole: Vec<Vec<Message>> = vec![vec![timed(user("question"))]];
        for number in 0..1 + random.below(4) {
            let ids: Vec<String> =
                (0..1 + random.below(4)).map(|call| format!("c{number}-{call}")).collect();
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let mut exchange = vec![timed(calling(&ids))];
            for id in &ids {
                exchange.push(timed(returned(id, &"y".repeat(*random.pick(&sizes)))));
            }
            whole.push(exchange);
            if random.chance(30) {
                whole.push(vec![timed(user("and?"))]);
            }
        }
        block_on(async {
            let (at_once, by_and_by) = (memory().await, memory().await);
            let helper = agent(&at_once, "helper");
            helper.add_turn(whole.concat()).await.unwrap();
            let helper = agent(&by_and_by, "helper");
            for mut exchange in whole {
                let mut results = exchange.split_off(1);
                // Some may be there when it is opened.
                for _ in 0..random.below(results.len() as u64 + 1) {
                    let at = random.below(results.len() as u64) as usize;
                    exchange.push(results.remove(at));
                }
                helper.open_exchange(exchange).await.unwrap();
                while !results.is_empty() {
                    let refused = helper.add_turn(vec![user("too early")]).await.unwrap_err();
                    assert_eq!(refused.kind(), ErrorKind::Invalid, "seed {seed}: {refused}");
                    let mut some = Vec::new();
                    for _ in 0..1 + random.below(results.len() as u64) {
                        let at = random.below(results.len() as u64) as usize;
                        some.push(results.remove(at));
                    }
                    helper.add_results(some).await.unwrap();
                }
            }
            let (mut left, mut right) = (state(&at_once).await, state(&by_and_by).await);
            for page in left.pages.values_mut().chain(right.pages.values_mut()) {
                page.created_at = Timestamp::from_millis(0);
            }
            for segment in left.segments.values_mut().chain(right.segments.values_mut()) {
                segment.created_at = Timestamp::from_millis(0);
            }
            cuts += left.pages.len();
            assert_eq!(right.differences(&left), [""; 0], "seed {seed}");
            assert!(left.custom.is_empty(), "nothing of it is left: {:?}", left.custom);
        });
    }
    assert!(cuts > 800, "pages were cut: {cuts}");
}

// An exchange may have all its results when it is opened; they too stand in the order of the calls.
#[test]
fn a_whole_exchange_can_be_opened_too() {
    block_on(async {
        let system = memory().await;
        let helper = agent(&system, "helper");
        let messages =
            vec![user("q"), calling(&["a", "b"]), returned("b", "2"), returned("a", "1")];
        assert_eq!(helper.open_exchange(messages).await.unwrap(), [page("usr-1")]);
        helper.add_turn(vec![user("next")]).await.unwrap();
        let stored = helper.get_messages("usr-1").await.unwrap();
        assert_eq!(stored.iter().skip(2).map(text_of).collect::<Vec<_>>(), ["1", "2"]);
    });
}

// While calls are open their author adds nothing else to the segment; others do, and so does the author
// elsewhere. Errors say which calls, and what kind of mistake it is.
#[test]
fn only_the_author_waits() {
    block_on(async {
        let system = memory().await;
        contexture_testkit::fixture::add_segment(
            &system,
            "oth",
            contexture_core::SegmentKind::User,
            contexture_core::Permission::ReadWrite,
        )
        .await;
        let (helper, other) = (agent(&system, "helper"), agent(&system, "other"));
        let nothing = helper.add_results(vec![returned("a", "1")]).await.unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::NotFound);
        assert_eq!(helper.close_exchange().await.unwrap_err().kind(), ErrorKind::NotFound);

        helper.open_exchange(vec![user("q"), calling(&["a", "b", "c"])]).await.unwrap();
        assert_eq!(open_ids(&helper, "usr-1").await, ["a", "b", "c"]);
        for refused in [
            helper.add_turn(vec![user("x")]).await.unwrap_err(),
            helper.extend_turn(vec![assistant("x")]).await.unwrap_err(),
            helper.open_exchange(vec![calling(&["d"])]).await.unwrap_err(),
        ] {
            assert_eq!(refused.kind(), ErrorKind::Invalid);
            let told = "page usr-1 still waits for results of tool calls 'a', 'b', 'c'";
            assert_eq!(refused.to_string(), told);
        }
        other.add_turn(vec![user("mine")]).await.unwrap();
        apply(&system, Edit::AddTurn { segment: segment("usr"), messages: vec![user("ours")] })
            .await;
        let elsewhere = confined(&system, "helper", &["oth"]);
        elsewhere.add_turn(vec![user("elsewhere")]).await.unwrap();
        let stranger = other.add_results(vec![returned("a", "1")]).await.unwrap_err();
        assert_eq!(stranger.kind(), ErrorKind::NotFound, "{stranger}");

        helper.add_results(vec![returned("b", "2")]).await.unwrap();
        assert_eq!(open_ids(&helper, "usr-1").await, ["a", "c"]);
        let unknown = helper.add_results(vec![returned("z", "1")]).await.unwrap_err();
        assert_eq!(unknown.kind(), ErrorKind::NotFound);
        assert_eq!(unknown.to_string(), "tool call 'z' not found in page usr-1");
        assert!(unknown.advice().to_string().ends_with("a, c"), "{}", unknown.advice());
        let answered = helper.add_results(vec![returned("b", "again")]).await.unwrap_err();
        assert_eq!(answered.kind(), ErrorKind::Conflict);
        assert_eq!(answered.to_string(), "tool call 'b' in page usr-1 already has a result");
        let twice = vec![returned("a", "1"), returned("a", "2")];
        assert_eq!(helper.add_results(twice).await.unwrap_err().kind(), ErrorKind::Conflict);
        for wrong in [vec![], vec![user("no result")], vec![returned("a", "1"), assistant("so")]] {
            let refused = helper.add_results(wrong).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
        }
        assert_eq!(open_ids(&helper, "usr-1").await, ["a", "c"], "nothing of it was stored");

        helper.close_exchange().await.unwrap();
        assert_eq!(open_ids(&helper, "usr-1").await, [""; 0]);
        let stored = helper.get_messages("usr-1").await.unwrap();
        let texts: Vec<String> = stored.iter().skip(2).map(text_of).collect();
        assert_eq!(texts, [ToolResult::INTERRUPTED, "2", ToolResult::INTERRUPTED]);
        assert!(stored[2].tool_results().all(|result| result.error));
        let late = helper.add_results(vec![returned("a", "late")]).await.unwrap_err();
        assert_eq!(late.kind(), ErrorKind::Conflict, "{late}");
        helper.extend_turn(vec![assistant("so")]).await.unwrap();
        let gone = helper.add_results(vec![returned("a", "later")]).await.unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound, "{gone}");
    });
}

// Only the last assistant message may have open calls, wherever the messages come from.
#[test]
fn earlier_calls_must_have_their_results() {
    block_on(async {
        let system = memory().await;
        let helper = agent(&system, "helper");
        for broken in [
            vec![user("q"), calling(&["a"]), user("next")],
            vec![calling(&["a"]), calling(&["b"])],
            vec![user("q"), calling(&["a", "a"])],
            vec![returned("a", "1"), calling(&["b"])],
        ] {
            let refused = helper.open_exchange(broken).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
        }
        assert!(helper.get_page("usr-1").await.is_err());
    });
}

// Undo takes back a result, and the call is open again; it takes back the closing, and the opening.
#[test]
fn undo_opens_calls_again() {
    block_on(async {
        let system = memory().await;
        let helper = agent(&system, "helper");
        let empty = state(&system).await;
        let opened = Edit::OpenExchange {
            segment: segment("usr"),
            messages: vec![user("q"), calling(&["a", "b"])],
        };
        let first = helper.apply(opened).await.unwrap().revision;
        let mut states = vec![empty, state(&system).await];
        helper.add_results(vec![returned("b", "2")]).await.unwrap();
        states.push(state(&system).await);
        helper.close_exchange().await.unwrap();
        states.push(state(&system).await);
        let after = states.pop().unwrap();
        let built_upon = helper.undo(Some(first)).await.unwrap_err();
        assert_eq!(built_upon.kind(), ErrorKind::Conflict);
        for before in states.iter().rev() {
            helper.undo(None).await.unwrap();
            assert_eq!(state(&system).await.differences(before), [""; 0]);
        }
        // What was undone can be done again, and then the rest.
        let newest = helper.history(None, 1).await.unwrap().items.remove(0).revision;
        helper.undo(Some(newest)).await.unwrap();
        assert_eq!(open_ids(&helper, "usr-1").await, ["a", "b"]);
        helper.add_results(vec![returned("b", "2")]).await.unwrap();
        helper.close_exchange().await.unwrap();
        let messages = |state: &contexture_testkit::state::SessionState| {
            state.pages[&page("usr-1")].detail().unwrap().messages
        };
        assert_eq!(messages(&state(&system).await), messages(&after));
    });
}

// An agent's tools may move its pages while a call is open: the result finds its page all the same.
#[test]
fn results_find_a_page_that_moved() {
    block_on(async {
        let system = memory().await;
        let helper = agent(&system, "helper");
        helper.add_turn(vec![user("first")]).await.unwrap();
        helper.open_exchange(vec![user("second"), calling(&["a"])]).await.unwrap();
        // The page of the first turn now stands behind the open one.
        helper.apply(new_directory("usr-0", "put aside", &["usr-1"])).await.unwrap();
        helper.add_turn(vec![user("x")]).await.unwrap_err();
        helper.move_page("usr-2", "usr-3").await.unwrap();
        assert_eq!(helper.add_results(vec![returned("a", "1")]).await.unwrap(), [page("usr-2")]);
        helper.add_turn(vec![user("x")]).await.unwrap();
    });
}

// A page that was removed or replaced no longer waits; one that comes back does again.
#[test]
fn removed_pages_do_not_wait() {
    block_on(async {
        let system = memory().await;
        let helper = agent(&system, "helper");
        helper.open_exchange(vec![user("q"), calling(&["a"])]).await.unwrap();
        helper.remove_page("usr-1").await.unwrap();
        helper.add_turn(vec![user("another")]).await.unwrap();
        helper.restore_page("usr-1").await.unwrap();
        helper.add_turn(vec![user("x")]).await.unwrap_err();
        helper.add_results(vec![returned("a", "1")]).await.unwrap();
        helper.open_exchange(vec![user("q"), calling(&["b"])]).await.unwrap();
        let mut update = contexture_core::PageUpdate::of(page("usr-3"));
        update.detail = Some("never mind".to_owned());
        helper.apply(Edit::UpdatePage(update)).await.unwrap();
        helper.add_turn(vec![user("x")]).await.unwrap();
    });
}

/// The messages of a window as they stand in its body, without marks for the cache.
async fn shown(session: &Session, format: ProviderFormat) -> Vec<String> {
    let asked = options(Format::Provider(format));
    let window = session.window(&asked).await.unwrap();
    let body = serde_json::from_str(&window.body).unwrap();
    validate_body(format, &body).unwrap_or_else(|broken| panic!("{format}: {broken}"));
    assert_eq!(window.repaired, [""; 0], "{format}: nothing of it is broken");
    let unmarked = |text: &str| text.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    window.messages.iter().map(|range| unmarked(&window.body[range.clone()])).collect()
}

// Every provider format shows a fixed line for an open call and is valid; when results come, nothing before
// the last exchange changes.
#[test]
fn windows_show_open_calls_and_keep_what_is_before() {
    for format in ProviderFormat::ALL {
        block_on(async {
            let system = memory().await;
            let helper: Session = agent(&system, "helper").into();
            let before = vec![user("q"), calling(&["a"]), returned("a", "1"), assistant("so")];
            helper.add_turn(before).await.unwrap();
            let stood = shown(&helper, format).await;
            helper.open_exchange(vec![calling(&["b", "c"])]).await.unwrap();
            let mut windows = vec![shown(&helper, format).await];
            helper.add_results(vec![returned("c", "three")]).await.unwrap();
            windows.push(shown(&helper, format).await);
            helper.add_results(vec![returned("b", "two")]).await.unwrap();
            windows.push(shown(&helper, format).await);
            let line = "no result yet: the call is still open";
            for (window, open) in windows.iter().zip([2, 1, 0]) {
                assert_eq!(window[..stood.len()], stood, "{format}");
                let found: usize = window.iter().map(|text| text.matches(line).count()).sum();
                assert_eq!(found, open, "{format}: {window:?}");
            }
            assert!(windows[1].concat().contains("three") && windows[2].concat().contains("two"));
        });
    }
}

// Formats for people show the call and say that it has no result.
#[test]
fn people_are_told_of_open_calls() {
    block_on(async {
        let system = memory().await;
        let helper: Session = agent(&system, "helper").into();
        helper.open_exchange(vec![user("q"), calling(&["a", "b"])]).await.unwrap();
        helper.add_results(vec![returned("a", "1")]).await.unwrap();
        for format in ["markdown", "context"] {
            let window = helper.window(&options(format.parse().unwrap())).await.unwrap();
            assert_eq!(window.body.matches("**no result yet:** read_file").count(), 1, "{format}");
        }
        helper.close_exchange().await.unwrap();
        let window = helper.window(&options("markdown".parse().unwrap())).await.unwrap();
        assert!(!window.body.contains("no result yet"), "{}", window.body);
    });
}

// A page that waits for results stands in full while everything around it folds, and folds once it is
// closed.
#[test]
fn open_pages_do_not_fold() {
    block_on(async {
        let system = memory().await;
        let helper: Session = agent(&system, "helper").into();
        let marker = "what is being worked on";
        helper.open_exchange(vec![user(marker), calling(&["a"])]).await.unwrap();
        let other: Session = agent(&system, "other").into();
        for number in 0..40 {
            let text = format!("turn {number} {}", "word ".repeat(100));
            other.add_turn(vec![user(&text), assistant(&text)]).await.unwrap();
        }
        let asked = options("openai".parse().unwrap()).budget(2_500);
        helper.send(&asked).await.unwrap();
        let level =
            |session: Session| async move { session.get_page("usr-1").await.unwrap().level };
        assert_eq!(level(helper.clone()).await.as_str(), "full");
        let window = helper.window(&asked).await.unwrap();
        assert!(window.body.contains("no result yet") && window.account.tokens <= 2_500);
        helper.close_exchange().await.unwrap();
        for number in 0..20 {
            let text = format!("more {number} {}", "word ".repeat(100));
            other.add_turn(vec![user(&text), assistant(&text)]).await.unwrap();
        }
        helper.send(&asked).await.unwrap();
        assert_ne!(level(helper).await.as_str(), "full");
    });
}

// A host appends everything as it gets it, and what it appends in one call is there together or not at all.
#[test]
fn conversations_append_what_they_get() {
    block_on(async {
        let system = memory().await;
        let talk = Conversation::new(agent(&system, "helper"), options("openai".parse().unwrap()));
        talk.append(vec![user("q")]).await.unwrap();
        talk.append(vec![calling(&["a", "b"])]).await.unwrap();
        assert!(talk.request().await.unwrap().body.contains("no result yet"));
        talk.append(vec![returned("b", "2")]).await.unwrap();
        let early = talk.append(vec![returned("a", "1"), calling(&["c"]), user("x")]).await;
        assert_eq!(early.unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(open_ids(talk.session(), "usr-1").await, ["a"], "nothing of it was stored");
        let pages = talk.append(vec![returned("a", "1"), calling(&["c"])]).await.unwrap();
        assert_eq!(pages, [page("usr-1")]);
        talk.append(vec![returned("c", "3"), assistant("done")]).await.unwrap();
        talk.append(vec![user("thanks")]).await.unwrap();
        let messages = talk.session().get_messages("usr-1").await.unwrap();
        assert_eq!(messages.len(), 7);
        assert!(open_calls(&messages).is_empty());
    });
}

// An export holds an open exchange, and where it is loaded the results can still come.
#[test]
fn documents_keep_open_exchanges() {
    block_on(async {
        let system = memory().await;
        let opened = Edit::OpenExchange {
            segment: segment("usr"),
            messages: vec![user("q"), calling(&["a", "b"]), returned("b", "2")],
        };
        apply(&system, opened).await;
        let text = exported(&system).await;
        let copy = empty(Arc::new(MemoryStorage::new())).await;
        let parsed = document::parse(text.as_bytes(), Timestamp::from_millis(BEGIN)).unwrap();
        apply(&copy, Edit::Load(Box::new(parsed.plan))).await;
        let session = copy.as_system();
        assert_eq!(open_ids(&session, "usr-1").await, ["a"]);
        session.add_turn(vec![user("x")]).await.unwrap_err();
        session.add_results(vec![returned("a", "1")]).await.unwrap();
        session.add_turn(vec![user("x")]).await.unwrap();
    });
}

async fn exported(system: &ContextSystem) -> String {
    document::export(system).await.unwrap()
}

// Two that append as the same author race with one that opens: no exchange is left behind unanswerable.
#[test]
fn opening_is_checked_at_the_commit() {
    block_on(async {
        let storage = Arc::new(MemoryStorage::new());
        let system = session(storage.clone()).await;
        let helper = agent(&system, "helper");
        // Another process opens an exchange that this one has not heard of.
        let elsewhere = contexture_testkit::fixture::reopen(storage).await;
        let there = agent(&elsewhere, "helper");
        there.open_exchange(vec![user("q"), calling(&["a"])]).await.unwrap();
        let refused = helper.add_turn(vec![user("x")]).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
        helper.add_results(vec![returned("a", "1")]).await.unwrap();
        there.add_turn(vec![user("x")]).await.unwrap();
    });
}
