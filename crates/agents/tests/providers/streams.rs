//! Streams: cut anywhere, broken off, strange.

use std::{sync::Arc, time::Duration};

use contexture_agents::{ModelError, ModelEvent, model::Stop, provider::Timeouts};
use contexture_testkit::provider::{ProviderServer, Reply};

use super::{MODELS, ask, event_text, model, model_with, request, retries};

#[tokio::test]
async fn where_bytes_are_cut_makes_no_difference() {
    let reply = Reply::empty().thinking("hm 𝄞", "c2ln").say("Grüße 👋🏽 an alle").tool_call(
        "a",
        "search",
        r#"{"q":"日本語 \" "}"#,
    );
    for name in MODELS {
        let mut answers = Vec::new();
        for sizes in [&[1][..], &[2, 3], &[7, 1, 1], &[4096], &[5, 64]] {
            let server = ProviderServer::scripted([reply.clone()]).chunked(sizes);
            answers.push(ask(&*model(&server, name), &request(name, true)).await.0.unwrap());
        }
        assert_eq!(answers[0].message.plain_text(), "Grüße 👋🏽 an alle", "{name}");
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{name}: {answers:?}");
        // The plain answer is the same message too.
        let server = ProviderServer::scripted([reply.clone()]);
        let plain = ask(&*model(&server, name), &request(name, false)).await.0.unwrap();
        assert_eq!(plain, answers[0], "{name}");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_asked_for_again() {
    for name in MODELS {
        // Cut everywhere before the answer is whole.
        for after in [0, 1, 2, 3] {
            let broken = Reply::text("abcdefghi").cut_stream_after(after);
            let server = ProviderServer::scripted([broken, Reply::text("whole")]);
            let (answer, events) = ask(&*model(&server, name), &request(name, true)).await;
            assert_eq!(answer.unwrap().message.plain_text(), "whole", "{name} {after}");
            assert_eq!((retries(&events), server.requests().len()), (1, 2), "{name} {after}");
            // The retry voids what was told before it.
            let retry =
                events.iter().position(|it| matches!(it, ModelEvent::Retry { .. })).unwrap();
            assert_eq!(event_text(&events[retry..]), "whole", "{name} {after}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_always_breaks_off_fails_in_the_end() {
    for name in MODELS {
        let broken = || Reply::text("abcdefghi").cut_stream_after(2);
        let server = ProviderServer::answering(move |_| broken());
        let (answer, events) = ask(&*model(&server, name), &request(name, true)).await;
        assert!(matches!(answer, Err(ModelError::Failing { attempts: 4, .. })), "{name}");
        assert_eq!((retries(&events), server.requests().len()), (3, 4), "{name}");
    }
}

#[tokio::test]
async fn a_stream_that_stands_still_is_asked_for_again() {
    let timeouts = Timeouts { idle: Duration::from_millis(60), ..Timeouts::default() };
    for name in MODELS {
        let still = Reply::text("abcdef").hang_after(2);
        let server = ProviderServer::scripted([still, Reply::text("on")]);
        let model = model_with(&server, name, timeouts);
        let (answer, events) = ask(&*model, &request(name, true)).await;
        assert_eq!((answer.unwrap().message.plain_text(), retries(&events)), ("on".to_owned(), 1));
    }
}

// A server that says over and over that it lives, and nothing else, is not waited for for ever.
#[tokio::test]
async fn a_stream_of_nothing_but_signs_of_life_is_given_up() {
    let short = Duration::from_millis(60);
    let early = Timeouts { first_byte: short, ..Timeouts::default() };
    let late = Timeouts { plain: short, ..Timeouts::default() };
    let events = "text/event-stream";
    for (content_type, line, timeouts) in [
        (events, ": keep-alive\n\n", early),
        (events, "event: x\nid: 1\n\n", early),
        (events, "data:\n\n", early),
        (events, "data: {\"type\": \"ping\"}\n\n", late),
        ("application/json", "\n", late),
    ] {
        for name in MODELS {
            let server = ProviderServer::answering(move |_| Reply::chatter(content_type, line));
            let model = model_with(&server, name, timeouts);
            let (answer, events) = ask(&*model, &request(name, true)).await;
            let Err(ModelError::Failing { attempts: 4, reason, .. }) = answer else {
                panic!("{name} {line:?}: {answer:?}")
            };
            assert!(reason.contains("stalled for 60ms"), "{reason}");
            assert_eq!((retries(&events), server.requests().len()), (3, 4), "{name}");
        }
    }
}

#[tokio::test]
async fn a_server_that_does_not_begin_is_given_up() {
    let short = Duration::from_millis(60);
    let timeouts = Timeouts { first_byte: short, plain: short, ..Timeouts::default() };
    for name in MODELS {
        for stream in [false, true] {
            let server = ProviderServer::answering(|_| Reply::hang());
            let model = model_with(&server, name, timeouts);
            let (answer, events) = ask(&*model, &request(name, stream)).await;
            let Err(ModelError::Unreachable { url, reason, .. }) = answer else {
                panic!("{answer:?}")
            };
            assert!(url.contains("127.0.0.1") && reason.contains("60ms"), "{url}: {reason}");
            assert_eq!((retries(&events), server.requests().len()), (3, 4), "{name}");
        }
    }
}

#[tokio::test]
async fn dropping_the_question_closes_the_connection() {
    for name in MODELS {
        for reply in [Reply::hang(), Reply::text("abcdef").hang_after(2)] {
            let server = Arc::new(ProviderServer::scripted([reply]));
            let model = model(&server, name);
            let asking = tokio::spawn(async move { ask(&*model, &request(name, true)).await.0 });
            let waiting = server.clone();
            tokio::task::spawn_blocking(move || waiting.wait_for_requests(1)).await.unwrap();
            asking.abort();
            assert!(asking.await.unwrap_err().is_cancelled());
            let waiting = server.clone();
            tokio::task::spawn_blocking(move || waiting.wait_for_closed(1)).await.unwrap();
            assert_eq!(server.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn a_held_answer_goes_on_when_released() {
    let server = Arc::new(ProviderServer::scripted([Reply::text("abcdef").hang_after(2)]));
    let model = model(&server, MODELS[0]);
    let asking = tokio::spawn(async move { ask(&*model, &request(MODELS[0], true)).await.0 });
    let waiting = server.clone();
    tokio::task::spawn_blocking(move || waiting.wait_for_requests(1)).await.unwrap();
    server.release();
    assert_eq!(asking.await.unwrap().unwrap().message.plain_text(), "abcdef");
}

/// Streams that servers really send, against the letter of the API.
#[tokio::test]
async fn what_servers_really_stream_is_read() {
    let stream = |body: &'static str| Reply::raw(200, "text/event-stream", body);
    // Calls without index or id, a whole call per event, `stop` where calls were made, no [DONE].
    let loose = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"a\",\"arguments\":{\"x\": 1}}}]}}]}\n\n\
        : keep-alive\n\n\
        data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"b\",\"arguments\":\"{}\"}}]}}]}\n\n\
        data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}";
    // The same index beside different ids, names repeated with every piece.
    let same_index = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"p\",\"function\":{\"name\":\"a\",\"arguments\":\"{\\\"x\\\"\"}}]}}]}\n\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"p\",\"function\":{\"name\":\"a\",\"arguments\":\": 1}\"}}]}}]}\n\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"q\",\"function\":{\"name\":\"b\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n\
        data: [DONE]\n\n";
    for (body, ids) in [(loose, ["call-1", "call-2"]), (same_index, ["p", "q"])] {
        let server = ProviderServer::scripted([stream(body)]);
        let (answer, _) = ask(&*model(&server, MODELS[0]), &request(MODELS[0], true)).await;
        let answer = answer.unwrap();
        let calls: Vec<_> = answer.message.tool_calls().collect();
        let read: Vec<_> = calls
            .iter()
            .map(|it| (it.id.as_str(), it.name.as_str(), it.arguments.as_str()))
            .collect();
        assert_eq!(read, [(ids[0], "a", "{\"x\": 1}"), (ids[1], "b", "{}")]);
        assert_eq!(answer.stop, Stop::ToolCalls);
    }
    // Reasoning under both of its names.
    let twice = "data: {\"choices\":[{\"delta\":{\"reasoning\":\"a\",\"reasoning_content\":\"a\"}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\n";
    let server = ProviderServer::scripted([stream(twice)]);
    let (answer, events) = ask(&*model(&server, MODELS[0]), &request(MODELS[0], true)).await;
    let expected = [ModelEvent::Thinking("a".to_owned()), ModelEvent::Text("b".to_owned())];
    assert_eq!((answer.unwrap().message.plain_text().as_str(), events), ("b", expected.to_vec()));
    // A server that knows no streams answers plainly.
    let plain =
        r#"{"choices":[{"message":{"role":"assistant","content":[{"type":"text","text":"hi"}]}}]}"#;
    let server = ProviderServer::scripted([Reply::raw(200, "application/json", plain)]);
    let (answer, _) = ask(&*model(&server, MODELS[0]), &request(MODELS[0], true)).await;
    assert_eq!(answer.unwrap().message.plain_text(), "hi");
    // Gemini's last event may carry only the signature of what was said.
    let signed = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"1+1\"}]}}]}\r\n\r\n\
        data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\" = 2\"}]}}]}\r\n\r\n\
        data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\",\"thoughtSignature\":\"c2ln\"}]},\"finishReason\":\"STOP\"}]}\r\n\r\n";
    let server = ProviderServer::scripted([stream(signed)]);
    let (answer, _) = ask(&*model(&server, MODELS[2]), &request(MODELS[2], true)).await;
    let message = answer.unwrap().message;
    assert_eq!((message.plain_text().as_str(), message.parts.len()), ("1+1 = 2", 1));
}

#[tokio::test]
async fn arguments_that_were_cut_off_are_kept_as_they_are() {
    let cut = "data: {\"type\":\"message_start\",\"message\":{}}\n\n\
        data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"b\",\"input\":{}}}\n\n\
        data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"q\\\": \\\"ha\"}}\n\n\
        data: {\"type\":\"new_event\",\"message\":\"hello\"}\n\n\
        data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"}}\n\n\
        data: {\"type\":\"message_stop\"}\n\n";
    let server = ProviderServer::scripted([Reply::raw(200, "text/event-stream", cut)]);
    let (answer, _) = ask(&*model(&server, MODELS[1]), &request(MODELS[1], true)).await;
    let answer = answer.unwrap();
    assert_eq!(answer.message.tool_calls().next().unwrap().arguments, "{\"q\": \"ha");
    assert_eq!(answer.stop, Stop::Length);
}
