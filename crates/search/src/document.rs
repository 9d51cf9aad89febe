//! What is indexed: a message of a page, or the page's own name and description.

mod marks;

use std::{borrow::Cow, collections::HashSet};

use contexture_core::{
    Message, Page, PageIndex, PageName, Role, Timestamp,
    message::{Part, ToolResult},
};

pub use marks::Marks;

/// The part of a message that a text belongs to. A view that does not see a part finds nothing by it.
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
pub struct Document<'a> {
    /// The page.
    pub page: PageIndex,
    /// The place of the message in the page, counted from 1; 0 for the page's own name and description.
    pub message: u16,
    /// How many messages the page has.
    pub messages: u16,
    /// Its texts.
    pub texts: Vec<(Field, Cow<'a, str>)>,
    /// Who said it: an agent's name, the name of a speaker or a role. Notes and names of pages have no
    /// speaker.
    pub speaker: Option<Cow<'a, str>>,
    /// When it was said.
    pub at: Timestamp,
    /// The number of the directory that the page stands in.
    pub chapter: u32,
}

impl<'a> Document<'a> {
    /// Returns the documents of a page: its name and description, unless its text begins with that
    /// name, and each of its messages.
    pub fn of_page(page: &'a Page, messages: &'a [Message]) -> Vec<Document<'a>> {
        let chapter = page.parent.as_ref().map_or(0, |parent| short(parent.number()));
        let count = u16::try_from(messages.len()).unwrap_or(u16::MAX);
        let document = |message, texts, speaker, at| {
            let page = page.index.clone();
            Document { page, message, messages: count, texts, speaker, at, chapter }
        };
        let looks = looks(messages);
        let own = document(0, own_texts(page, messages), None, page.created_at);
        let own = (!own.texts.is_empty()).then_some(own);
        let said = messages.iter().zip(1..=u16::MAX).map(|(message, number)| {
            let speaker = page.turn.as_ref().map(|_| speaker(message));
            let at = message.at.unwrap_or(page.created_at);
            document(number, message_texts(message, &looks), speaker, at)
        });
        own.into_iter().chain(said).collect()
    }

    /// Returns it with texts of its own.
    pub fn into_owned(self) -> Document<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Document {
            page: self.page,
            message: self.message,
            messages: self.messages,
            texts: self.texts.into_iter().map(|(field, text)| (field, owned(text))).collect(),
            speaker: self.speaker.map(owned),
            at: self.at,
            chapter: self.chapter,
        }
    }

    /// Returns the facts that the ranking needs about the texts of some fields.
    pub fn marks(&self, seen: impl Fn(Field) -> bool) -> Marks {
        let texts = self.texts.iter().filter(|(field, _)| seen(*field));
        texts.fold(Marks::default(), |marks, (_, text)| marks.and(Marks::of(text)))
    }

    /// Returns the texts that vectors are made of.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().flat_map(|(_, text)| crate::embedding::pieces(text))
    }

    /// Returns the hash of the speaker's name; 0 if there is no speaker.
    pub fn speaker_hash(&self) -> u32 {
        self.speaker.as_deref().map_or(0, speaker_hash)
    }
}

/// Returns the hash of a speaker's name: equal for names that differ only in case or accents,
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

/// Returns the page's own texts; none if its name only repeats the beginning of its text.
fn own_texts<'a>(page: &'a Page, messages: &[Message]) -> Vec<(Field, Cow<'a, str>)> {
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
        texts.push((Field::Name, name.into()));
    }
    if !page.description.is_empty() {
        texts.push((Field::Name, page.description.as_str().into()));
    }
    texts
}

/// The tools with which agents look at stored pages. The text that they return is indexed where it is stored.
const LOOKING: [&str; 5] = ["expand_details", "find_page", "get_page", "read_window", "recall"];

/// Returns the ids of calls that only look at what is stored: a search must not find other searches.
fn looks(messages: &[Message]) -> HashSet<&str> {
    let calls = messages.iter().flat_map(Message::tool_calls);
    let looking = calls.filter(|call| LOOKING.contains(&call.name.as_str()));
    looking.map(|call| call.id.as_str()).collect()
}

fn message_texts<'a>(message: &'a Message, looks: &HashSet<&str>) -> Vec<(Field, Cow<'a, str>)> {
    let said = match message.role {
        Role::Assistant => Field::Answer,
        Role::Tool => Field::Tool,
        Role::System | Role::User => Field::Request,
    };
    let mut texts = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text(text) => texts.push((said, text.text.as_str().into())),
            Part::ToolCall(call) if looks.contains(call.id.as_str()) => {}
            Part::ToolResult(result) if looks.contains(result.call.as_str()) => {}
            Part::ToolCall(call) => {
                let call = format!("{} {}", call.name, call.arguments);
                texts.push((Field::Tool, call.into()));
            }
            Part::ToolResult(result) => result_texts(result, &mut texts),
            Part::Thinking(thinking) => {
                texts.push((Field::Thinking, thinking.text.as_str().into()));
            }
            Part::Image(_) | Part::Other(_) => {}
        }
    }
    texts.retain(|(_, text)| !text.trim().is_empty());
    texts
}

fn result_texts<'a>(result: &'a ToolResult, texts: &mut Vec<(Field, Cow<'a, str>)>) {
    for part in &result.content {
        if let Part::Text(text) = part {
            texts.push((Field::Tool, text.text.as_str().into()));
        }
    }
}

/// Returns who says a message: the agent that wrote it, the `name` that chat messages can carry, or the
/// role.
fn speaker(message: &Message) -> Cow<'_, str> {
    if let Some(agent) = &message.author {
        return agent.to_string().into();
    }
    let name = message.extra.get("name").and_then(|name| name.read::<String>().ok());
    let name = name.filter(|name| !name.trim().is_empty());
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    name.map_or(Cow::Borrowed(role), Cow::Owned)
}

fn short(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
