//! Reads messages as OpenAI and Anthropic write them.
//!
//! One reader serves both dialects, for their roles and part types never clash, and histories that
//! went through several providers mix them. A message becomes fields, its content becomes blocks, a
//! block becomes a [`Part`]. What we do not know stays the text it was: fields in `extra`, whole
//! parts in [`Part::Other`]. An object in which a field appears twice is refused, since readers
//! differ in which of the two they believe.
//!
//! Deliberately absent: writing messages back, the rest of a request (tools, settings), and whether
//! calls and results match, which [`exchange`](super::exchange) checks. The author is never read:
//! who wrote a message is for the system to say, not for the message.

use std::collections::HashSet;

use serde::de::DeserializeOwned;

use super::{
    Fields, Image, Message, Origin, Part, RawJson, Role, Text, Thinking, ToolCall, ToolResult,
};
use crate::{Error, index::shorten};

/// Reads an OpenAI- or Anthropic-style array of messages, or an object that has it as `messages`.
///
/// An object's `system` becomes a leading system message. An Anthropic user message with tool
/// results becomes a tool message and, if it says more, a user message after it. Messages that hold
/// nothing are left out.
pub fn parse_messages(json: &[u8]) -> Result<Vec<Message>, Error> {
    read_document(json).map_err(|reason| Error::InvalidMessages { reason })
}

/// A value read, or the reason why it cannot be.
type Reading<T> = Result<T, String>;

fn read_document(json: &[u8]) -> Reading<Vec<Message>> {
    let text = std::str::from_utf8(json).map_err(|error| format!("not UTF-8: {error}"))?;
    let document = RawJson::new(text).map_err(|error| format!("not JSON: {error}"))?;
    let mut messages = Vec::new();
    let list = if document.as_str().starts_with('{') {
        let mut fields = read_object(&document)?;
        if let Some(system) = fields.take("system") {
            messages.extend(read_system(&system).map_err(|reason| format!("'system': {reason}"))?);
        }
        fields.take("messages").ok_or("the object has no 'messages'")?
    } else {
        document
    };
    let list: Vec<RawJson> = list.read().map_err(|_| "messages must be an array")?;
    for (number, message) in (1..).zip(&list) {
        let read = read_message(message).map_err(|reason| format!("message {number}: {reason}"))?;
        messages.extend(read);
    }
    Ok(messages)
}

fn read_system(system: &RawJson) -> Reading<Option<Message>> {
    let parts = read_parts(read_blocks(system)?, read_plain_part)?;
    if !parts.iter().all(|part| matches!(part, Part::Text(_))) {
        return Err("only text is allowed here".to_owned());
    }
    let message = new_message(Role::System, parts, Fields::default());
    Ok(Some(message).filter(|message| !message.parts.is_empty()))
}

fn read_message(message: &RawJson) -> Reading<Vec<Message>> {
    let mut fields = read_object(message)?;
    let role_name = take_string(&mut fields, "role")?;
    let role = read_role(&role_name)?;
    let at = take_if_readable(&mut fields, "timestamp");
    let blocks = match fields.take("content") {
        Some(content) => read_blocks(&content)?,
        None if role == Role::Assistant => Vec::new(),
        None => return Err(format!("a {role_name} message needs 'content'")),
    };
    let calls = read_tool_calls(&mut fields)?;
    if role != Role::Assistant && !calls.is_empty() {
        return Err(format!("a {role_name} message cannot have 'tool_calls'"));
    }
    let mut messages = match role {
        Role::System | Role::User => read_said(role, blocks, fields)?,
        Role::Assistant => vec![read_assistant(blocks, calls, fields)?],
        Role::Tool => vec![read_tool(blocks, fields)?],
    };
    messages.retain(|message| !message.parts.is_empty() || !message.extra.is_empty());
    messages.iter_mut().for_each(|message| message.at = at);
    Ok(messages)
}

fn read_role(name: &str) -> Reading<Role> {
    match name {
        "system" | "developer" => Ok(Role::System),
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        "tool" => Ok(Role::Tool),
        "function" => Err("role 'function' is obsolete; use a 'tool' message".to_owned()),
        _ => Err(format!(
            "unknown role '{}'; roles are system, developer, user, assistant, tool",
            shorten(name)
        )),
    }
}

/// Reads what the system or the user says; Anthropic puts tool results there too.
fn read_said(role: Role, blocks: Vec<Block>, fields: Fields) -> Reading<Vec<Message>> {
    let parts = read_parts(blocks, read_part)?;
    if parts.iter().any(|part| matches!(part, Part::ToolCall(_))) {
        return Err("only an assistant message can have 'tool_use'".to_owned());
    }
    let (results, said): (Vec<_>, Vec<_>) =
        parts.into_iter().partition(|part| matches!(part, Part::ToolResult(_)));
    if results.is_empty() {
        return Ok(vec![new_message(role, said, fields)]);
    }
    if role == Role::System {
        return Err("a system message cannot have 'tool_result'".to_owned());
    }
    // Anthropic wants results first, so what stands before them was said after them as well.
    Ok(vec![new_message(Role::Tool, results, fields), new_message(role, said, Fields::default())])
}

fn read_assistant(blocks: Vec<Block>, calls: Vec<Part>, mut fields: Fields) -> Reading<Message> {
    if fields.get("function_call").is_some_and(|call| call.as_str() != "null") {
        return Err("'function_call' is obsolete; use 'tool_calls'".to_owned());
    }
    let provider = provider_of(&blocks, &calls, &fields);
    let mut parts = read_parts(blocks, read_part)?;
    if parts.iter().any(|part| matches!(part, Part::ToolResult(_))) {
        return Err("an assistant message cannot have 'tool_result'".to_owned());
    }
    parts.extend(calls);
    let origin = provider.map(|provider| Origin {
        provider: provider.to_owned(),
        model: take_if_readable(&mut fields, "model"),
    });
    Ok(Message { origin, ..new_message(Role::Assistant, parts, fields) })
}

/// Returns the provider whose dialect an assistant message speaks, where it shows.
fn provider_of(blocks: &[Block], calls: &[Part], fields: &Fields) -> Option<&'static str> {
    const OPENAI_FIELDS: [&str; 6] =
        ["refusal", "reasoning_content", "reasoning", "reasoning_details", "annotations", "audio"];
    let by_block = blocks.iter().find_map(|block| match block.kind.as_str() {
        "tool_use" | "thinking" | "redacted_thinking" | "server_tool_use" | "mcp_tool_use" => {
            Some("anthropic")
        }
        kind if kind.ends_with("_tool_result") => Some("anthropic"),
        "output_text" | "refusal" => Some("openai"),
        _ => None,
    });
    let by_field =
        if !calls.is_empty() || OPENAI_FIELDS.iter().any(|name| fields.get(name).is_some()) {
            Some("openai")
        } else {
            fields.get("stop_reason").is_some().then_some("anthropic")
        };
    by_block.or(by_field)
}

/// Reads OpenAI's form of a result: a message of its own.
fn read_tool(blocks: Vec<Block>, mut fields: Fields) -> Reading<Message> {
    let result = ToolResult {
        call: take_string(&mut fields, "tool_call_id")?,
        content: read_parts(blocks, read_plain_part)?,
        error: false,
        extra: Fields::default(),
    };
    Ok(new_message(Role::Tool, vec![Part::ToolResult(result)], fields))
}

fn read_tool_calls(fields: &mut Fields) -> Reading<Vec<Part>> {
    let Some(calls) = fields.take("tool_calls") else { return Ok(Vec::new()) };
    let calls: Option<Vec<RawJson>> =
        calls.read().map_err(|_| "'tool_calls' must be an array or null")?;
    let read = |(number, call)| {
        read_tool_call(call).map_err(|reason| format!("tool call {number}: {reason}"))
    };
    (1..).zip(calls.iter().flatten()).map(read).collect()
}

fn read_tool_call(call: &RawJson) -> Reading<Part> {
    let mut fields = read_object(call)?;
    let kind = fields.take("type").map_or(Ok("function".to_owned()), |raw| string(&raw, "type"))?;
    if kind != "function" {
        return Err(format!("unknown type '{}'; the type must be function", shorten(&kind)));
    }
    let id = take_string(&mut fields, "id")?;
    let function = fields.take("function").ok_or("'function' is missing")?;
    let mut function = read_object(&function).map_err(|reason| format!("'function': {reason}"))?;
    let name = take_string(&mut function, "name")?;
    let arguments = take_string(&mut function, "arguments")?;
    if !function.is_empty() {
        // What is left of the function stays where it was, for whoever writes the call back.
        let rest = serde_json::to_string(&function).and_then(|text| RawJson::new(&text));
        fields.push("function", rest.map_err(|error| format!("'function': {error}"))?);
    }
    Ok(Part::ToolCall(ToolCall { id, name, arguments, extra: fields }))
}

/// One element of a content array before it is known what it says.
struct Block {
    kind: String,
    fields: Fields,
    source: RawJson,
}

/// Reads content; a plain string is one block of text.
fn read_blocks(content: &RawJson) -> Reading<Vec<Block>> {
    if content.as_str().starts_with('"') {
        let mut fields = Fields::default();
        fields.push("text", content.clone());
        return Ok(vec![Block { kind: "text".to_owned(), fields, source: content.clone() }]);
    }
    let list: Option<Vec<RawJson>> =
        content.read().map_err(|_| "content must be a string, an array of parts or null")?;
    let read = |(number, source): (usize, RawJson)| {
        read_block(source).map_err(|reason| format!("part {number}: {reason}"))
    };
    (1..).zip(list.into_iter().flatten()).map(read).collect()
}

fn read_block(source: RawJson) -> Reading<Block> {
    let mut fields = read_object(&source)?;
    Ok(Block { kind: take_string(&mut fields, "type")?, fields, source })
}

/// Reads blocks as parts, leaving out those that hold nothing.
fn read_parts(
    blocks: Vec<Block>,
    read_part: impl Fn(Block) -> Reading<Part>,
) -> Reading<Vec<Part>> {
    let mut parts = Vec::with_capacity(blocks.len());
    for (number, block) in (1..).zip(blocks) {
        match read_part(block).map_err(|reason| format!("part {number}: {reason}"))? {
            Part::Text(text) if text.text.is_empty() && text.extra.is_empty() => {}
            part => parts.push(part),
        }
    }
    Ok(parts)
}

fn read_part(block: Block) -> Reading<Part> {
    let Block { kind, mut fields, source } = block;
    match kind.as_str() {
        "tool_use" => {
            let id = take_string(&mut fields, "id")?;
            let name = take_string(&mut fields, "name")?;
            let arguments = fields.take("input").ok_or("'input' is missing")?.as_str().to_owned();
            Ok(Part::ToolCall(ToolCall { id, name, arguments, extra: fields }))
        }
        "tool_result" => {
            let call = take_string(&mut fields, "tool_use_id")?;
            let blocks = fields.take("content").map_or(Ok(Vec::new()), |raw| read_blocks(&raw))?;
            let content = read_parts(blocks, read_plain_part)?;
            let error: Option<bool> = match fields.take("is_error") {
                Some(raw) => raw.read().map_err(|_| "'is_error' must be true or false")?,
                None => None,
            };
            let error = error.unwrap_or(false);
            Ok(Part::ToolResult(ToolResult { call, content, error, extra: fields }))
        }
        "thinking" | "redacted_thinking" => {
            let text = fields.take("thinking").map(|raw| string(&raw, "thinking")).transpose()?;
            Ok(Part::Thinking(Thinking { text: text.unwrap_or_default(), source }))
        }
        _ => read_plain_part(Block { kind, fields, source }),
    }
}

/// Reads what may stand inside a result as well. It never calls itself, so depth costs no stack.
fn read_plain_part(block: Block) -> Reading<Part> {
    let Block { kind, mut fields, source } = block;
    match kind.as_str() {
        "text" | "input_text" | "output_text" => {
            Ok(Part::Text(Text { text: take_string(&mut fields, "text")?, extra: fields }))
        }
        "image" | "image_url" | "input_image" => Ok(Part::Image(Image { source })),
        _ => Ok(Part::Other(source)),
    }
}

fn new_message(role: Role, parts: Vec<Part>, extra: Fields) -> Message {
    Message { role, author: None, at: None, origin: None, parts, extra }
}

fn read_object(raw: &RawJson) -> Reading<Fields> {
    let fields: Fields = raw.read().map_err(|_| "it must be a JSON object")?;
    let mut seen = HashSet::new();
    if let Some((name, _)) = fields.iter().find(|(name, _)| !seen.insert(*name)) {
        return Err(format!("field '{}' appears twice", shorten(name)));
    }
    Ok(fields)
}

fn take_string(fields: &mut Fields, name: &str) -> Reading<String> {
    string(&fields.take(name).ok_or_else(|| format!("'{name}' is missing"))?, name)
}

/// Reads a string. One with half a surrogate pair is valid JSON, but no text.
fn string(raw: &RawJson, name: &str) -> Reading<String> {
    raw.read().map_err(|_| format!("'{name}' must be a string of Unicode text"))
}

/// Takes a field out if it is what we think it is; else it stays as it was.
fn take_if_readable<T: DeserializeOwned>(fields: &mut Fields, name: &str) -> Option<T> {
    let value = fields.get(name)?.read().ok()?;
    fields.take(name);
    Some(value)
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
