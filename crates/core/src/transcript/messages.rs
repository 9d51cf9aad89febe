//! OpenAI- and Anthropic-style messages: an array, an object around it, or one message a line.
//!
//! [`wire`] reads each message strictly and alone, so a bad one costs only itself. Before it does,
//! forms that many exports use are brought into the form it knows: calls without the `function`
//! around name and arguments, arguments as an object, half a surrogate pair.

use super::{
    Entry, Transcript, TranscriptFormat,
    lines::{Line, json_lines, without_mark},
    string_of,
};
use crate::{
    Error, Message, Role,
    message::{Fields, Part, RawJson, wire},
};

/// A list of messages before they are read.
#[derive(Default)]
pub(super) struct Document {
    system: Option<RawJson>,
    source: Option<String>,
    messages: Vec<(u64, RawJson)>,
}

impl Document {
    /// Finds the messages in a text that is one JSON value.
    pub(super) fn find(text: &str) -> Option<Self> {
        let value = RawJson::new(without_mark(text)).ok()?;
        if !value.as_str().starts_with('{') {
            let list: Vec<RawJson> = value.read().ok()?;
            return Some(Self { messages: (1..).zip(list).collect(), ..Self::default() });
        }
        let mut fields: Fields = value.read().ok()?;
        let list: Vec<RawJson> = fields.take("messages")?.read().ok()?;
        let source = ["session_id", "sessionId", "conversation_id"]
            .into_iter()
            .find_map(|name| string_of(fields.get(name)));
        Some(Self { system: fields.take("system"), source, messages: (1..).zip(list).collect() })
    }

    /// Takes each line of a text as a message.
    pub(super) fn of_lines(text: &str) -> Self {
        let message = |(number, line)| match line {
            Line::Object(fields) => Some((number, written(&fields)?)),
            Line::Bad(_) | Line::Unfinished => None,
        };
        Self { messages: json_lines(text).filter_map(message).collect(), ..Self::default() }
    }
}

/// Returns the dialect of the first message that shows one, or nothing if no message is there.
pub(super) fn dialect(document: &Document) -> Option<TranscriptFormat> {
    let shown = document.messages.iter().find_map(|(_, message)| dialect_of(message));
    let is_message = |message: &RawJson| {
        message.read::<Fields>().is_ok_and(|fields| fields.get("role").is_some())
    };
    let any = document.messages.is_empty()
        || document.messages.iter().any(|(_, message)| is_message(message));
    let default = match document.system {
        Some(_) => TranscriptFormat::Anthropic,
        None => TranscriptFormat::OpenAi,
    };
    any.then(|| shown.unwrap_or(default))
}

fn dialect_of(message: &RawJson) -> Option<TranscriptFormat> {
    let fields: Fields = message.read().ok()?;
    let role = string_of(fields.get("role"))?;
    if matches!(role.as_str(), "system" | "developer" | "tool")
        || fields.get("tool_calls").is_some_and(|calls| calls.as_str() != "null")
    {
        return Some(TranscriptFormat::OpenAi);
    }
    let blocks: Vec<Fields> = fields.get("content")?.read().ok()?;
    blocks.iter().find_map(|block| match string_of(block.get("type"))?.as_str() {
        "tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "image" => {
            Some(TranscriptFormat::Anthropic)
        }
        "image_url" | "input_text" | "output_text" | "input_image" | "refusal" => {
            Some(TranscriptFormat::OpenAi)
        }
        _ => None,
    })
}

/// Reads the messages of a text, as a whole or line by line.
pub(super) fn read(text: &str, format: TranscriptFormat) -> Transcript {
    let mut transcript = Transcript::new(format);
    let Some(document) = Document::find(text) else {
        read_lines(text, &mut transcript);
        return transcript;
    };
    transcript.source = document.source;
    if let Some(system) = document.system {
        match read_system(&system) {
            Ok(messages) => push(&mut transcript, 0, messages),
            Err(what) => transcript.problem(0, what),
        }
    }
    for (number, message) in &document.messages {
        read_into(&mut transcript, *number, message);
    }
    transcript
}

fn read_lines(text: &str, transcript: &mut Transcript) {
    for (number, line) in json_lines(text) {
        match line {
            Line::Object(fields) => match written(&fields) {
                Some(message) => read_into(transcript, number, &message),
                None => transcript.problem(number, "it cannot be read"),
            },
            Line::Bad(what) => transcript.problem(number, what),
            Line::Unfinished => transcript.notes.push("unfinished last line".to_owned()),
        }
    }
}

fn read_into(transcript: &mut Transcript, number: u64, message: &RawJson) {
    match read_message(message) {
        Ok(read) => {
            if read.repaired {
                transcript.problem(number, "unpaired surrogates were replaced");
            }
            push(transcript, number, read.messages);
        }
        Err(what) => transcript.problem(number, what),
    }
}

fn push(transcript: &mut Transcript, line: u64, messages: Vec<Message>) {
    transcript.entries.extend(messages.into_iter().map(|message| Entry { line, message }));
}

fn read_system(system: &RawJson) -> Result<Vec<Message>, String> {
    parse(&format!(r#"{{"system":{},"messages":[]}}"#, system.as_str()))
}

/// What one foreign message says.
pub(super) struct ReadMessage {
    /// Our messages: none where it says nothing, two where it answers calls and says more.
    pub(super) messages: Vec<Message>,
    /// Whether some of its text had to be replaced.
    pub(super) repaired: bool,
}

/// Reads one message, or says what is wrong with it.
pub(super) fn read_message(message: &RawJson) -> Result<ReadMessage, String> {
    let known = with_known_calls(message);
    let text = known.as_ref().unwrap_or(message).as_str();
    let (mut messages, repaired) = match parse(&format!("[{text}]")) {
        Ok(messages) => (messages, false),
        Err(what) => match whole_characters(text) {
            Some(text) => (parse(&format!("[{text}]"))?, true),
            None => return Err(what),
        },
    };
    messages.iter_mut().for_each(read_error_mark);
    Ok(ReadMessage { messages, repaired })
}

fn parse(json: &str) -> Result<Vec<Message>, String> {
    wire::parse_messages(json.as_bytes()).map_err(|error| match error {
        // We count messages ourselves.
        Error::InvalidMessages { reason } => match reason.strip_prefix("message 1: ") {
            Some(what) => what.to_owned(),
            None => reason,
        },
        other => other.to_string(),
    })
}

/// Reads the mark of a failed tool beside OpenAI's form of a result, where it has no place.
fn read_error_mark(message: &mut Message) {
    let mark = message.extra.get("is_error").map(RawJson::read::<Option<bool>>);
    if message.role != Role::Tool || !matches!(mark, Some(Ok(_))) {
        return;
    }
    let failed = matches!(mark, Some(Ok(Some(true))));
    message.extra.take("is_error");
    for part in &mut message.parts {
        if let Part::ToolResult(result) = part {
            result.error |= failed;
        }
    }
}

/// Writes a message's calls the way [`wire`] reads them, if it has any.
fn with_known_calls(message: &RawJson) -> Option<RawJson> {
    let mut fields: Fields = message.read().ok()?;
    let calls: Vec<RawJson> = fields.get("tool_calls")?.read().ok()?;
    let calls: Vec<RawJson> =
        calls.into_iter().map(|call| known_call(&call).unwrap_or(call)).collect();
    fields.take("tool_calls");
    fields.push("tool_calls", written(&calls)?);
    written(&fields)
}

fn known_call(call: &RawJson) -> Option<RawJson> {
    let mut fields: Fields = call.read().ok()?;
    let function = match fields.take("function") {
        Some(function) => {
            let mut function: Fields = function.read().ok()?;
            let arguments = function.take("arguments")?;
            function.push("arguments", as_text(arguments)?);
            function
        }
        None => {
            fields.take("type");
            let arguments =
                ["arguments", "args", "input"].into_iter().find_map(|name| fields.take(name))?;
            let mut function = Fields::default();
            function.push("name", fields.take("name")?);
            function.push("arguments", as_text(arguments)?);
            function
        }
    };
    fields.push("function", written(&function)?);
    written(&fields)
}

/// Returns a string as it is, and any other value as a string of its text.
fn as_text(value: RawJson) -> Option<RawJson> {
    if value.as_str().starts_with('"') { Some(value) } else { written(&value.as_str()) }
}

fn written(value: &impl serde::Serialize) -> Option<RawJson> {
    RawJson::new(&serde_json::to_string(value).ok()?).ok()
}

/// Replaces halves of surrogate pairs in JSON, or returns nothing if there are none.
///
/// Programs that cut strings by UTF-16 units leave them behind. They are valid JSON, but no text.
fn whole_characters(json: &str) -> Option<String> {
    let mut whole = String::with_capacity(json.len());
    let mut replaced = false;
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        whole.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match (surrogate(rest), rest.get(6..).and_then(surrogate)) {
            (Some(Half::First), Some(Half::Second)) => 12,
            (Some(_), _) => {
                replaced = true;
                whole.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            // The character after the backslash may be one of its own kind.
            (None, _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        whole.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    whole.push_str(rest);
    replaced.then_some(whole)
}

enum Half {
    First,
    Second,
}

fn surrogate(escape: &str) -> Option<Half> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
}

#[cfg(test)]
#[path = "messages_tests.rs"]
mod tests;
