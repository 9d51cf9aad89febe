//! Every kind of answer, plain and streamed, comes to the same message.

use contexture_agents::{ModelEvent, model::Stop};
use contexture_core::message::{Part, Thinking};
use contexture_testkit::provider::{self, Charged, ProviderServer, Reply};

use super::{KEY, MODELS, ask, event_text, model, request};

/// Arguments that any reading and writing again would change.
const ARGUMENTS: &str = r#"{ "z" : "é\u00e9𝄞", "n":1.50,"a":[ ] }"#;

/// Asks every model, plain and streamed, and hands over each answer.
async fn everywhere(reply: Reply, check: impl Fn(&str, &contexture_agents::Answer, &[ModelEvent])) {
    for name in MODELS {
        for stream in [false, true] {
            let server = ProviderServer::scripted([reply.clone()]).requiring_key(KEY);
            let (answer, events) = ask(&*model(&server, name), &request(name, stream)).await;
            assert_eq!(server.violations(), [""; 0], "{name}");
            let answer = answer.unwrap_or_else(|error| panic!("{name} {stream}: {error}"));
            let origin = answer.message.origin.as_ref().unwrap();
            assert_eq!(origin.provider, name.split('/').next().unwrap());
            assert_eq!(origin.model.as_deref(), Some(name));
            check(&format!("{name}, stream {stream}"), &answer, &events);
        }
    }
}

#[tokio::test]
async fn a_text_comes_whole_and_piece_by_piece() {
    let said = "Hällo 👩‍👩‍👧, \"wörld\"\n\u{1}\\ ok";
    everywhere(Reply::text(said), |case, answer, events| {
        assert_eq!(answer.message.plain_text(), said, "{case}");
        assert_eq!(answer.message.parts.len(), 1, "{case}");
        assert_eq!(event_text(events), said, "{case}");
        assert_eq!(answer.stop, Stop::End, "{case}");
    })
    .await;
}

#[tokio::test]
async fn parallel_calls_keep_order_ids_and_bytes() {
    let reply = Reply::text("Let me look.")
        .tool_call("id-a", "read_page", ARGUMENTS)
        .signed("c2lnbmVk")
        .tool_call("id-b", "search", "{}")
        .tool_call("id-c", "read_page", r#"{"n": 0.10}"#);
    everywhere(reply, |case, answer, events| {
        let calls: Vec<_> = answer.message.tool_calls().collect();
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["read_page", "search", "read_page"], "{case}");
        let arguments: Vec<&str> = calls.iter().map(|call| call.arguments.as_str()).collect();
        assert_eq!(arguments, [ARGUMENTS, "{}", r#"{"n": 0.10}"#], "{case}");
        let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        if case.starts_with("gemini") {
            assert_eq!(ids, ["gemini-1", "gemini-2", "gemini-3"], "{case}");
            assert_eq!(calls[0].extra.get("thoughtSignature").unwrap().as_str(), "\"c2lnbmVk\"");
        } else {
            assert_eq!(ids, ["id-a", "id-b", "id-c"], "{case}");
        }
        assert_eq!(answer.message.plain_text(), "Let me look.", "{case}");
        assert_eq!(answer.stop, Stop::ToolCalls, "{case}");
        let begun = events.iter().filter_map(|event| match event {
            ModelEvent::ToolCall(name) => Some(name.as_str()),
            _ => None,
        });
        assert_eq!(begun.collect::<Vec<_>>(), names, "{case}");
    })
    .await;
}

#[tokio::test]
async fn thinking_is_kept_as_its_provider_gave_it() {
    let reply = Reply::empty().thinking("Hm… \"two\"?", "c2ln+/=").say("Two.");
    everywhere(reply, |case, answer, events| {
        let thought: String = events
            .iter()
            .filter_map(|event| match event {
                ModelEvent::Thinking(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(thought, "Hm… \"two\"?", "{case}");
        assert_eq!(answer.message.plain_text(), "Two.", "{case}");
        let first = &answer.message.parts[0];
        match case.split('/').next().unwrap() {
            "openai" => {
                let kept = answer.message.extra.get("reasoning_content").unwrap();
                assert_eq!(kept.as_str(), r#""Hm… \"two\"?""#, "{case}");
            }
            "anthropic" => {
                let Part::Thinking(Thinking { text, source }) = first else { panic!("{first:?}") };
                assert_eq!(text, "Hm… \"two\"?");
                let whole =
                    r#"{"type":"thinking","thinking":"Hm… \"two\"?","signature":"c2ln+/="}"#;
                assert_eq!(source.as_str(), whole, "{case}");
            }
            _ => {
                let Part::Thinking(Thinking { source, .. }) = first else { panic!("{first:?}") };
                assert_eq!(source.as_str(), r#"{"text":"Hm… \"two\"?","thought":true}"#, "{case}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn usage_counts_all_input_and_its_cached_part() {
    let charged = Charged { input: 1_000, cached: 700, written: 200, output: 42 };
    everywhere(Reply::text("ok").charged(charged), |case, answer, _| {
        let usage = answer.usage.as_ref().unwrap();
        let written = if case.starts_with("anthropic") { 200 } else { 0 };
        assert_eq!((usage.input, usage.cached, usage.written), (1_000, 700, written), "{case}");
        assert_eq!(usage.output, 42, "{case}");
        let model = case.split(['/', ',']).nth(1);
        assert_eq!(usage.model.as_deref(), model, "{case}");
    })
    .await;
}

#[tokio::test]
async fn an_empty_answer_is_an_answer() {
    everywhere(Reply::empty(), |case, answer, events| {
        assert!(answer.message.parts.is_empty(), "{case}: {:?}", answer.message.parts);
        assert_eq!((answer.stop.clone(), events.len()), (Stop::End, 0), "{case}");
    })
    .await;
}

#[tokio::test]
async fn reports_why_an_answer_ended() {
    everywhere(Reply::text("cut").stop(provider::Stop::Length), |case, answer, _| {
        assert_eq!(answer.stop, Stop::Length, "{case}");
    })
    .await;
    let cut = Reply::call("a", "search", "{}").stop(provider::Stop::Length);
    everywhere(cut, |case, answer, _| assert_eq!(answer.stop, Stop::Length, "{case}")).await;
    everywhere(Reply::text("no").stop(provider::Stop::Refused), |case, answer, _| {
        assert!(matches!(&answer.stop, Stop::Refused(why) if !why.is_empty()), "{case}");
    })
    .await;
}

// A provider that quotes the key it was sent gets it no further: not in texts, wherever they are cut,
// not in thoughts, not in calls.
#[tokio::test]
async fn a_key_that_a_provider_quotes_is_taken_out() {
    let arguments = format!(r#"{{"q":"\u0073{}","{KEY}":1}}"#, &KEY[1..]);
    let reply = Reply::empty()
        .thinking(&format!("they sent {KEY}, hm"), "c2ln")
        .say(format!("Your key is {KEY}. Again: {KEY}"))
        .tool_call(&format!("id-{KEY}"), "search", &arguments);
    everywhere(reply, |case, answer, events| {
        let shown = format!("{answer:?} {events:?}");
        assert!(!shown.contains(KEY) && !shown.contains(&KEY[1..]), "{case}: {shown}");
        let expected = "Your key is [key redacted]. Again: [key redacted]";
        assert_eq!(answer.message.plain_text(), expected, "{case}");
        assert_eq!(event_text(events), expected, "{case}");
        let call = answer.message.tool_calls().next().unwrap();
        assert_eq!(call.arguments, r#"{"[key redacted]":1,"q":"[key redacted]"}"#, "{case}");
    })
    .await;
    for name in MODELS {
        let words = format!("Incorrect API key provided: {}********{}.", &KEY[..9], &KEY[15..]);
        let server = ProviderServer::scripted([Reply::failing(401, &words)]);
        let error = ask(&*model(&server, name), &request(name, true)).await.0.unwrap_err();
        let shown = format!("{error} {error:?} {}", error.hint());
        assert!(shown.contains("provided: [key redacted]."), "{shown}");
        assert!(!shown.contains(&KEY[..9]) && !shown.contains(&KEY[15..]), "{shown}");
    }
}
