//! What is indexed: a message of a page, or the page's own name and description.

mod marks;

use std::collections::HashSet;

use contexture_core::{
    Message, Page, PageIndex, PageName, Role, Timestamp,
    message::{Part, ToolResult},
};

pub use marks::Marks;

/// Which part of a message a text is. A view that does not see a part does not find by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// The name and description of a page.
    Name,
    /// What somebody asked: the text of a user's message, or of the system's.
    Request,
    /// What a model answered.
    Answer,
    /// What a model thought.
    Thinking,
    /// Calls of tools, and what they returned.
    Tool,
}

impl Field {
    /// All of them.
    pub const ALL: [Field; 5] =
        [Field::Name, Field::Request, Field::Answer, Field::Thinking, Field::Tool];
}

/// Names a document within a search: keys are in the order of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocKey {
    /// Which of the view's segments.
    pub segment: u16,
    /// The number of the page.
    pub page: u32,
    /// The place of the message in the page, counted from 1; 0 for the page's own name and description.
    pub message: u16,
}

/// One document, as it is taken into an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The page.
    pub page: PageIndex,
    /// The place of the message in the page, counted from 1; 0 for the page's own name and description.
    pub message: u16,
    /// How many messages the page has.
    pub messages: u16,
    /// Its texts.
    pub texts: Vec<(Field, String)>,
    /// Who said it: an agent's name, the name of a speaker or a role. Nobody says a note or a page's
    /// name.
    pub speaker: Option<String>,
    /// When it was said.
    pub at: Timestamp,
    /// The number of the directory that the page stands in.
    pub chapter: u32,
}

impl Document {
    /// Returns the documents of a page: its name and description, unless its text begins with that
    /// name, and each of its messages.
    pub fn of_page(page: &Page, messages: &[Message]) -> Vec<Document> {
        let own = Document {
            page: page.index.clone(),
            message: 0,
            messages: u16::try_from(messages.len()).unwrap_or(u16::MAX),
            texts: own_texts(page, messages),
            speaker: None,
            at: page.created_at,
            chapter: page.parent.as_ref().map_or(0, |parent| short(parent.number())),
        };
        let looks = looks(messages);
        let numbers = 1..=u16::MAX;
        let said = messages.iter().zip(numbers).map(|(message, number)| Document {
            message: number,
            texts: message_texts(message, &looks),
            speaker: page.turn.as_ref().and_then(|_| speaker(message)),
            at: message.at.unwrap_or(page.created_at),
            ..own.clone()
        });
        let said: Vec<Document> = said.collect();
        let own = (!own.texts.is_empty()).then_some(own);
        own.into_iter().chain(said).collect()
    }

    /// Returns what the ranking wants to know of the texts, of those fields alone.
    pub fn marks(&self, seen: impl Fn(Field) -> bool) -> Marks {
        let texts = self.texts.iter().filter(|(field, _)| seen(*field));
        texts.fold(Marks::default(), |marks, (_, text)| marks.and(Marks::of(text)))
    }

    /// Returns the texts that vectors are made of.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().flat_map(|(_, text)| crate::embedding::pieces(text))
    }

    /// Returns the hash of the speaker's name; 0 where nobody says it.
    pub fn speaker_hash(&self) -> u32 {
        self.speaker.as_deref().map_or(0, speaker_hash)
    }
}

/// Returns the hash by which a speaker is known: equal for names that differ in case or accents only,
/// and never 0 for a name with letters.
pub fn speaker_hash(name: &str) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    let mut any = false;
    for letter in name.chars().filter(|letter| letter.is_alphanumeric()) {
        crate::text::fold(letter, &mut |folded| {
            any = true;
            let mut bytes = [0; 4];
            for byte in folded.encode_utf8(&mut bytes).bytes() {
                hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
            }
        });
    }
    if any { hash.max(1) } else { 0 }
}

/// Returns the texts of a page's own: none where its name only repeats how its text begins.
fn own_texts(page: &Page, messages: &[Message]) -> Vec<(Field, String)> {
    let name = page.name.as_str();
    let base = match name.strip_suffix(')').and_then(|name| name.rsplit_once(" (")) {
        Some((base, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => base,
        _ => name,
    };
    let first = messages.iter().map(Message::plain_text).find(|text| !text.trim().is_empty());
    let repeats = first.is_some_and(|text| {
        let line = PageName::from_first_line(&text, "Turn");
        line.as_str() == name || (page.turn.is_some() && line.as_str() == base)
    });
    let continued = page.turn.as_ref().is_some_and(|turn| *turn != page.index) && base != name;
    let mut texts = Vec::new();
    if !repeats && !continued {
        texts.push((Field::Name, name.to_owned()));
    }
    if !page.description.is_empty() {
        texts.push((Field::Name, page.description.as_str().to_owned()));
    }
    texts
}

/// The tools with which agents look at what is stored: what they return stands somewhere else already.
const LOOKING: [&str; 5] = ["expand_details", "find_page", "get_page", "read_window", "recall"];

/// Returns the ids of calls that only look at what is stored: a search must not find other searches.
fn looks(messages: &[Message]) -> HashSet<&str> {
    let calls = messages.iter().flat_map(Message::tool_calls);
    let looking = calls.filter(|call| LOOKING.contains(&call.name.as_str()));
    looking.map(|call| call.id.as_str()).collect()
}

fn message_texts(message: &Message, looks: &HashSet<&str>) -> Vec<(Field, String)> {
    let said = match message.role {
        Role::Assistant => Field::Answer,
        Role::Tool => Field::Tool,
        Role::System | Role::User => Field::Request,
    };
    let mut texts = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text(text) => texts.push((said, text.text.clone())),
            Part::ToolCall(call) if looks.contains(call.id.as_str()) => {}
            Part::ToolResult(result) if looks.contains(result.call.as_str()) => {}
            Part::ToolCall(call) => {
                texts.push((Field::Tool, format!("{} {}", call.name, call.arguments)));
            }
            Part::ToolResult(result) => result_texts(result, &mut texts),
            Part::Thinking(thinking) => texts.push((Field::Thinking, thinking.text.clone())),
            Part::Image(_) | Part::Other(_) => {}
        }
    }
    texts.retain(|(_, text)| !text.trim().is_empty());
    texts
}

fn result_texts(result: &ToolResult, texts: &mut Vec<(Field, String)>) {
    for part in &result.content {
        if let Part::Text(text) = part {
            texts.push((Field::Tool, text.text.clone()));
        }
    }
}

/// Returns who says a message: the agent that wrote it, the `name` that chat messages can carry, or the
/// role.
fn speaker(message: &Message) -> Option<String> {
    if let Some(agent) = &message.author {
        return Some(agent.to_string());
    }
    let name = message.extra.get("name").and_then(|name| name.read::<String>().ok());
    let name = name.filter(|name| !name.trim().is_empty());
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    Some(name.unwrap_or_else(|| role.to_owned()))
}

fn short(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
