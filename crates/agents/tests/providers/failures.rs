//! Failures: asked again where that helps, told in words where not, and never with the key.

use std::{collections::BTreeMap, time::Duration};

use contexture_agents::{
    ModelError, ModelEvent,
    provider::{Retry, Timeouts, connect, resolve},
};
use contexture_core::ErrorKind;
use contexture_testkit::provider::{ProviderServer, Reply};

use super::{KEY, MODELS, ask, endpoint, model, request, retries};

#[tokio::test]
async fn what_passes_is_asked_again() {
    for name in MODELS {
        for status in [408, 409, 429, 500, 502, 503, 529] {
            let server = ProviderServer::scripted([Reply::status(status), Reply::text("ok")]);
            let (answer, events) = ask(&*model(&server, name), &request(name, true)).await;
            assert_eq!(answer.unwrap().message.plain_text(), "ok", "{name} {status}");
            let Some(ModelEvent::Retry { reason, .. }) = events.first() else {
                panic!("{events:?}")
            };
            assert!(reason.contains(&format!("scripted failure {status}")), "{reason}");
        }
        let server = ProviderServer::answering(|_| Reply::status(503));
        let (answer, events) = ask(&*model(&server, name), &request(name, false)).await;
        let error = answer.unwrap_err();
        assert!(matches!(error, ModelError::Failing { attempts: 4, .. }), "{error}");
        assert_eq!((error.kind(), retries(&events)), (ErrorKind::Unavailable, 3));
        assert_eq!(server.requests().len(), 4);
    }
}

#[tokio::test]
async fn what_does_not_pass_is_not_asked_again() {
    for name in MODELS {
        for status in [400, 404, 422] {
            let server = ProviderServer::scripted([Reply::status(status)]);
            let (answer, events) = ask(&*model(&server, name), &request(name, true)).await;
            let Err(ModelError::Refused { status: said, reason, .. }) = answer else {
                panic!("{name} {status}: {answer:?}")
            };
            assert_eq!((said, reason), (status, format!("scripted failure {status}")));
            assert_eq!((events.len(), server.requests().len()), (0, 1));
        }
    }
    let quota = r#"{"error":{"message":"no money","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let server = ProviderServer::scripted([Reply::raw(429, "application/json", quota)]);
    let (answer, _) = ask(&*model(&server, MODELS[0]), &request(MODELS[0], true)).await;
    assert!(matches!(answer, Err(ModelError::Refused { status: 429, .. })), "{answer:?}");
}

#[tokio::test]
async fn a_provider_is_waited_for_as_long_as_it_asks_within_reason() {
    let name = MODELS[1];
    let busy = |wait: &str| Reply::status(429).retry_after(wait);
    let server = ProviderServer::scripted([busy("0.02"), busy("0"), Reply::text("ok")]);
    // Without what the provider asks, this would wait for an hour.
    let hour = Duration::from_secs(3_600);
    let retry = Retry { first: hour, longest: hour, ..Retry::default() };
    let model = connect(endpoint(&server, name), Timeouts::default(), retry);
    let (answer, events) = ask(&*model, &request(name, true)).await;
    answer.unwrap();
    let waits = events.iter().filter_map(|event| match event {
        ModelEvent::Retry { wait, .. } => Some(*wait),
        _ => None,
    });
    assert_eq!(waits.collect::<Vec<_>>(), [Duration::from_millis(20), Duration::ZERO]);

    let server = ProviderServer::scripted([busy("86400")]);
    let (answer, _) = ask(&*super::model(&server, name), &request(name, true)).await;
    let error = answer.unwrap_err();
    assert!(error.to_string().contains("86400s"), "{error}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_refused_key_is_named_and_never_shown() {
    for (name, variable) in
        MODELS.into_iter().zip(["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"])
    {
        for status in [401, 403] {
            let words = format!("bad key {KEY}\u{1b}[31m in {KEY}");
            let server = ProviderServer::scripted([Reply::failing(status, &words)]);
            let model = model(&server, name);
            let error = ask(&*model, &request(name, true)).await.0.unwrap_err();
            assert!(matches!(error, ModelError::Key { .. }), "{error}");
            assert!(error.hint().contains(variable), "{}", error.hint());
            let shown = format!("{error} {error:?} {} {:?}", error.hint(), endpoint(&server, name));
            assert!(!shown.contains(KEY) && !shown.contains("-4711-"), "{shown}");
            assert!(!shown.contains('\u{1b}'), "{shown}");
            assert!(shown.contains("(key)"), "{shown}");
            assert_eq!(server.requests().len(), 1);
        }
        // The server itself refuses a key that is not its own.
        let server = ProviderServer::scripted([]).requiring_key("another");
        let error = ask(&*model(&server, name), &request(name, false)).await.0.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    }
    let gemini = r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#;
    let server = ProviderServer::scripted([Reply::raw(400, "application/json", gemini)]);
    let (answer, _) = ask(&*model(&server, MODELS[2]), &request(MODELS[2], true)).await;
    assert!(matches!(answer, Err(ModelError::Key { .. })), "{answer:?}");
}

#[tokio::test]
async fn a_request_that_is_too_long_is_known_as_that() {
    let is_length = |error: &ModelError| matches!(error, ModelError::ContextLength { .. });
    for name in MODELS {
        for reply in [Reply::context_length(), Reply::status(413)] {
            let server = ProviderServer::scripted([reply]);
            let error = ask(&*model(&server, name), &request(name, true)).await.0.unwrap_err();
            assert!(is_length(&error) && error.kind() == ErrorKind::TooLarge, "{name}: {error:?}");
        }
    }
    // Servers that speak like OpenAI say it in their own ways, also within a stream.
    let llama = r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_ctx":4096}}"#;
    let vllm = r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}"#;
    let replies = [
        Reply::raw(400, "application/json", llama),
        Reply::raw(400, "application/json", vllm),
        Reply::raw(200, "text/event-stream", &format!("data: {llama}\n\n")),
        Reply::raw(200, "application/json", llama),
    ];
    for reply in replies {
        let server = ProviderServer::scripted([reply]);
        let (answer, _) = ask(&*model(&server, MODELS[0]), &request(MODELS[0], true)).await;
        assert!(is_length(&answer.unwrap_err()));
    }
}

#[tokio::test]
async fn an_error_within_a_stream_is_judged_like_any_other() {
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let passing = Reply::raw(200, "text/event-stream", overloaded);
    let server = ProviderServer::scripted([passing, Reply::text("ok")]);
    let (answer, events) = ask(&*model(&server, MODELS[1]), &request(MODELS[1], true)).await;
    assert_eq!((answer.unwrap().message.plain_text(), retries(&events)), ("ok".to_owned(), 1));
    let malformed = r#"{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#;
    let passing = Reply::raw(200, "application/json", malformed);
    let server = ProviderServer::scripted([passing, Reply::text("ok")]);
    let (answer, events) = ask(&*model(&server, MODELS[2]), &request(MODELS[2], false)).await;
    assert_eq!((answer.unwrap().message.plain_text(), retries(&events)), ("ok".to_owned(), 1));
}

#[tokio::test]
async fn reports_the_first_words_of_what_is_no_answer() {
    let json = "application/json";
    let replies = [
        (Reply::html(), "<!doctype html> <title>Wel [31mcome"),
        (Reply::raw(404, "text/html", "<html>\n nothing"), "<html> nothing (404)"),
        (Reply::raw(404, "text/plain", "404 page not found"), "404 page not found (404)"),
        (Reply::raw(200, json, ""), "the body is empty"),
        (Reply::raw(200, json, "[1]"), "[1]"),
        (Reply::raw(200, json, "{\"a\":1}"), "{\"a\":1}"),
        (Reply::redirect("http://evil.example/v1"), "redirect (307) to http://evil.example/v1"),
    ];
    for name in MODELS {
        for (reply, words) in &replies {
            let server = ProviderServer::scripted([reply.clone()]);
            let error = ask(&*model(&server, name), &request(name, true)).await.0.unwrap_err();
            assert!(matches!(error, ModelError::BadAnswer { .. }), "{name}: {error:?}");
            assert!(error.to_string().contains(words), "{name}: {error}");
            assert!(!error.to_string().contains(char::is_control), "{error}");
        }
        let long = "x".repeat(100_000);
        let server = ProviderServer::scripted([Reply::raw(200, json, &long)]);
        let error = ask(&*model(&server, name), &request(name, true)).await.0.unwrap_err();
        assert!(error.to_string().len() < 500, "{error}");
    }
}

#[tokio::test]
async fn where_nobody_listens_is_said_at_once() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let env = |name: &str| (name == "OLLAMA_HOST").then(|| format!("127.0.0.1:{port}"));
    let endpoint = resolve("ollama/llama3", &env, &BTreeMap::new()).unwrap();
    let hour = Duration::from_secs(3_600);
    let retry = Retry { first: hour, ..Retry::default() };
    let model = connect(endpoint, Timeouts::default(), retry);
    let (answer, events) = ask(&*model, &request("openai/x", true)).await;
    let Err(ModelError::Unreachable { provider, url, .. }) = answer else { panic!("{answer:?}") };
    assert_eq!((provider.as_str(), url), ("ollama", format!("http://127.0.0.1:{port}/v1")));
    assert_eq!(events, []);
}

#[tokio::test]
async fn a_key_no_header_can_carry_is_not_sent() {
    let server = ProviderServer::scripted([]);
    let url = server.url();
    let env = |name: &str| match name {
        "OPENAI_BASE_URL" => Some(url.clone()),
        "OPENAI_API_KEY" => Some("sk\u{7}4711".to_owned()),
        _ => None,
    };
    let endpoint = resolve(MODELS[0], &env, &BTreeMap::new()).unwrap();
    let model = connect(endpoint, Timeouts::default(), Retry::default());
    let error = ask(&*model, &request(MODELS[0], true)).await.0.unwrap_err();
    assert!(matches!(error, ModelError::Key { .. }) && !format!("{error:?}").contains("4711"));
    assert_eq!(server.requests().len(), 0);
}
