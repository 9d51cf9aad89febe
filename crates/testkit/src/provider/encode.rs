//! Replies as each provider writes them, whole and as the events of a stream.

mod anthropic;
mod gemini;
mod openai;

use super::{HttpRequest, Protocol, Reply};

/// Writes a whole answer.
pub(super) fn plain(protocol: Protocol, reply: &Reply, request: &HttpRequest) -> String {
    let model = quoted(&request.model());
    match protocol {
        Protocol::OpenAi => openai::plain(reply, &model),
        Protocol::Anthropic => anthropic::plain(reply, &model),
        Protocol::Gemini => gemini::plain(reply, &model),
    }
}

/// Writes the events of a stream, each with the empty line behind it.
pub(super) fn stream(protocol: Protocol, reply: &Reply, request: &HttpRequest) -> Vec<String> {
    let model = quoted(&request.model());
    match protocol {
        Protocol::OpenAi => {
            let with_usage = request.json()["stream_options"]["include_usage"] == true;
            openai::stream(reply, &model, with_usage)
        }
        Protocol::Anthropic => anthropic::stream(reply, &model),
        Protocol::Gemini => gemini::stream(reply, &model),
    }
}

/// Writes an error.
pub(super) fn error(protocol: Protocol, status: u16, message: &str) -> String {
    let message = quoted(message);
    match protocol {
        Protocol::OpenAi => {
            let kind = if status == 429 { "requests" } else { "invalid_request_error" };
            format!(
                r#"{{"error":{{"message":{message},"type":"{kind}","param":null,"code":null}}}}"#
            )
        }
        Protocol::Anthropic => {
            let kind = match status {
                401 => "authentication_error",
                403 => "permission_error",
                404 => "not_found_error",
                413 => "request_too_large",
                429 => "rate_limit_error",
                529 => "overloaded_error",
                500.. => "api_error",
                _ => "invalid_request_error",
            };
            format!(r#"{{"type":"error","error":{{"type":"{kind}","message":{message}}}}}"#)
        }
        Protocol::Gemini => {
            let kind = match status {
                401 => "UNAUTHENTICATED",
                403 => "PERMISSION_DENIED",
                404 => "NOT_FOUND",
                429 => "RESOURCE_EXHAUSTED",
                500.. => "UNAVAILABLE",
                _ => "INVALID_ARGUMENT",
            };
            format!(r#"{{"error":{{"code":{status},"message":{message},"status":"{kind}"}}}}"#)
        }
    }
}

/// Says that a request is too long, with the status that goes with it.
pub(super) fn context_length(protocol: Protocol) -> (u16, String) {
    let body = match protocol {
        Protocol::OpenAi => {
            r#"{"error":{"message":"Your input is longer than the model reads.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#.to_owned()
        }
        Protocol::Anthropic => {
            error(protocol, 400, "prompt is too long: 210000 tokens > 200000 maximum")
        }
        Protocol::Gemini => error(
            protocol,
            400,
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        ),
    };
    (400, body)
}

/// Writes a text as a JSON string.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is always JSON")
}

/// Cuts a text into pieces of that many characters.
fn pieces(text: &str, size: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(size).map(|piece| piece.iter().collect()).collect()
}
