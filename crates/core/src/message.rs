//! Messages: what was said, called and returned, typed, with everything a provider produced kept
//! byte for byte.
//!
//! [`parse_messages`] reads OpenAI- and Anthropic-style arrays, [`group_exchanges`] groups messages into what
//! may not be parted, [`RawJson`] keeps foreign JSON as the text it was.

pub(crate) mod exchange;
mod raw;
pub(crate) mod wire;

use serde::{Deserialize, Serialize};

pub use exchange::{Exchange, FULL_PAGE_BYTES, group_exchanges, open_calls};
pub use raw::{Fields, RawJson};
pub use wire::parse_messages;

pub use crate::system::{AdmittedMessage, AdmittedMessages, AdmittedPage};
pub use crate::view::{Hearing, MessageFilter};

use crate::{AgentName, Timestamp, Trust};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions from the system side.
    System,
    /// The person, or the caller standing in for one.
    User,
    /// The model.
    Assistant,
    /// Results of the model's tool calls.
    Tool,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// Which agent wrote it, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<AgentName>,
    /// When, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Which provider and model produced it, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// What it says, in order.
    pub parts: Vec<Part>,
    /// Fields of the original message that we do not know.
    #[serde(default, skip_serializing_if = "Fields::is_empty")]
    pub extra: Fields,
}

/// The provider and model behind a message: opaque parts go back only to the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The provider's dialect: `openai` or `anthropic`.
    pub provider: String,
    /// The model, where the message names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// Plain text.
    Text(Text),
    /// A call the model asks for.
    ToolCall(ToolCall),
    /// What a call returned.
    ToolResult(ToolResult),
    /// A reference to an image, never the pixels' meaning.
    Image(Image),
    /// The model's own reasoning, opaque but for its text.
    Thinking(Thinking),
    /// A part of a kind we do not know, as it was.
    Other(RawJson),
}

/// Plain text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// The text.
    pub text: String,
    /// Unknown fields of the original part, such as citations.
    #[serde(default, skip_serializing_if = "Fields::is_empty")]
    pub extra: Fields,
}

/// A call the model asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id its result refers to.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as the model wrote them: JSON text, byte for byte, valid or not.
    pub arguments: String,
    /// Unknown fields, such as a thought signature beside the call.
    #[serde(default, skip_serializing_if = "Fields::is_empty")]
    pub extra: Fields,
}

/// What a call returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call it answers.
    pub call: String,
    /// What came back: text, images or parts we do not know.
    pub content: Vec<Part>,
    /// Whether the tool said it failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub error: bool,
    /// Unknown fields.
    #[serde(default, skip_serializing_if = "Fields::is_empty")]
    pub extra: Fields,
}

impl ToolResult {
    /// What stands for the result of a call that was given up.
    pub const INTERRUPTED: &str = "interrupted: no result was recorded";

    /// Makes the result of a call that was given up.
    pub fn interrupted(call: impl Into<String>) -> Self {
        Self { error: true, ..Self::text(call, Self::INTERRUPTED) }
    }

    /// Makes a result of one text.
    pub fn text(call: impl Into<String>, text: impl Into<String>) -> Self {
        let text = Part::Text(Text { text: text.into(), extra: Fields::default() });
        Self { call: call.into(), content: vec![text], error: false, extra: Fields::default() }
    }
}

/// A reference to an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The original part, as it was: a URL, a file id or inline data.
    pub source: RawJson,
}

/// The model's own reasoning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinking {
    /// Its readable text, empty when the provider hides it.
    pub text: String,
    /// The original part with its signature, as it was.
    pub source: RawJson,
}

impl Message {
    /// Makes a message of one text.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        let part = Part::Text(Text { text: text.into(), extra: Fields::default() });
        Self {
            role,
            author: None,
            at: None,
            origin: None,
            parts: vec![part],
            extra: Fields::default(),
        }
    }

    /// Makes a tool message of one result.
    pub fn result(result: ToolResult) -> Self {
        Self { parts: vec![Part::ToolResult(result)], ..Self::text(Role::Tool, "") }
    }

    /// Returns the calls this message asks for.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Returns the results this message carries.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// Returns its texts, joined by line breaks.
    pub fn plain_text(&self) -> String {
        let texts: Vec<&str> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text(text) => Some(text.text.as_str()),
                _ => None,
            })
            .collect();
        texts.join("\n")
    }

    /// Returns the bytes of text, arguments and results: what the rule for full pages counts.
    pub fn weight(&self) -> u64 {
        self.parts.iter().map(Part::weight).sum()
    }

    /// Returns how far what it says can be trusted.
    pub fn trust(&self) -> Trust {
        match self.role {
            Role::System => Trust::System,
            Role::User => Trust::User,
            Role::Assistant => Trust::Agent,
            Role::Tool => Trust::Tool,
        }
    }
}

impl Part {
    fn weight(&self) -> u64 {
        match self {
            Part::Text(text) => text.text.len() as u64,
            Part::ToolCall(call) => call.arguments.len() as u64,
            Part::ToolResult(result) => result.content.iter().map(Part::weight).sum(),
            Part::Thinking(thinking) => thinking.text.len() as u64,
            Part::Image(_) | Part::Other(_) => 0,
        }
    }
}

/// Returns messages as the one text a person reads: the seed's `detail`.
///
/// A single text stands alone; several messages carry a label each.
pub fn detail_text(messages: &[Message]) -> String {
    if let [message] = messages
        && message.parts.iter().all(|part| matches!(part, Part::Text(_)))
    {
        return message.plain_text();
    }
    messages.iter().map(labelled).collect::<Vec<_>>().join("\n")
}

fn labelled(message: &Message) -> String {
    let label = match message.role {
        Role::System => "System",
        Role::User => "User",
        Role::Assistant => "Assistant",
        Role::Tool => "Tool",
    };
    let parts: Vec<String> = message.parts.iter().map(part_text).collect();
    format!("{label}: {}", parts.join("\n"))
}

fn part_text(part: &Part) -> String {
    match part {
        Part::Text(text) => text.text.clone(),
        Part::ToolCall(call) => format!("→ {}({})", call.name, call.arguments),
        Part::ToolResult(result) => {
            result.content.iter().map(part_text).collect::<Vec<_>>().join("\n")
        }
        Part::Image(_) => "(image)".to_owned(),
        Part::Thinking(thinking) if thinking.text.is_empty() => "(thinking)".to_owned(),
        Part::Thinking(thinking) => format!("(thinking) {}", thinking.text),
        Part::Other(raw) => raw.as_str().to_owned(),
    }
}
