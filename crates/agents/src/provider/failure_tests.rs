use std::collections::BTreeMap;

use super::*;

fn endpoint() -> Endpoint {
    let env = |name: &str| (name == "OPENAI_API_KEY").then(|| "sk-4711".to_owned());
    crate::provider::resolve("gpt-4o", &env, &BTreeMap::new()).unwrap()
}

#[test]
fn errors_are_read_in_every_form() {
    let error = |text: &str| ProviderError::read(text).unwrap();
    let message = |text: &str| error(text).message;
    assert_eq!(message(r#"{"error":{"message":"m","type":"t","code":"c"}}"#), "m");
    assert_eq!(message(r#"{"error":"model 'x' not found"}"#), "model 'x' not found");
    assert_eq!(message(r#"[{"error":{"code":503,"message":"m","status":"UNAVAILABLE"}}]"#), "m");
    assert_eq!(message(r#"{"detail":"Not Found"}"#), "Not Found");
    assert_eq!(error(r#"{"object":"error","message":"m","code":400}"#).code, "400");
    for none in ["", "[]", "{}", "1", "{\"error\":null}", "{\"error\":[]}", "<html>", "{\"a\":1}"] {
        assert_eq!(ProviderError::read(none), None, "{none}");
    }
}

#[test]
fn quotes_are_short_plain_and_without_the_key() {
    let endpoint = endpoint();
    assert_eq!(
        quote(&endpoint, " a\n\n\tb\u{202e}c \u{1b}[2Jsk-4711! "),
        "a b c [2J[key redacted]!"
    );
    // A key across the place where a quote is cut stays whole until it is taken out.
    let text = format!("{}sk-4711", "x".repeat(LONGEST - 3));
    assert!(!quote(&endpoint, &text).contains("sk-"), "{}", quote(&endpoint, &text));
    assert_eq!(quote(&endpoint, &"é".repeat(1_000)).chars().count(), LONGEST + 1);
    assert_eq!(quote(&endpoint, " \n "), "");
}

#[test]
fn only_length_is_taken_for_length() {
    let is_length = |status, message: &str| {
        let error = ProviderError { message: message.to_owned(), ..ProviderError::default() };
        matches!(
            judge_provider_error(&endpoint(), status, None, &error),
            Failure::Final(ModelError::ContextLength { .. })
        )
    };
    assert!(is_length(400, "input length and `max_tokens` exceed context limit: 1 + 2 > 3"));
    assert!(is_length(400, "Requested tokens (9) exceed context window of 8"));
    assert!(!is_length(400, "max_tokens: 9 is more than this model can answer"));
    assert!(!is_length(429, "the maximum context length per minute"));
    assert!(!is_length(500, "context length"));
}
