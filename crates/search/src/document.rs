//! What is indexed: a message of a page, or the page's own name and description.

use contexture_core::{PageIndex, Timestamp};

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
    /// Who wrote it: an agent's name, the name of a speaker, or nothing.
    pub speaker: Option<String>,
    /// When it was said.
    pub at: Timestamp,
    /// The number of the directory that the page stands in.
    pub chapter: u32,
}

/// Returns the documents of a page.
pub fn of_page(page: &contexture_core::Page, messages: &[contexture_core::Message]) -> Vec<Document> {
    use contexture_core::{Role, message::Part};
    let chapter = page.parent.as_ref().map_or(0, |parent| parent.number() as u32);
    let own = Document {
        page: page.index.clone(),
        message: 0,
        messages: messages.len() as u16,
        texts: vec![
            (Field::Name, page.name.to_string()),
            (Field::Name, page.description.to_string()),
        ],
        speaker: None,
        at: page.created_at,
        chapter,
    };
    let said = messages.iter().enumerate().map(|(at, message)| {
        let words = if message.role == Role::Assistant { Field::Answer } else { Field::Request };
        let texts = message.parts.iter().flat_map(|part| match part {
            Part::Text(text) => vec![(words, text.text.clone())],
            Part::ToolCall(call) => vec![(Field::Tool, format!("{} {}", call.name, call.arguments))],
            Part::ToolResult(result) => {
                let texts = result.content.iter().filter_map(|part| match part {
                    Part::Text(text) => Some((Field::Tool, text.text.clone())),
                    _ => None,
                });
                texts.collect()
            }
            Part::Thinking(thinking) => vec![(Field::Thinking, thinking.text.clone())],
            Part::Image(_) | Part::Other(_) => Vec::new(),
        });
        Document {
            message: at as u16 + 1,
            texts: texts.collect(),
            speaker: message.author.as_ref().map(ToString::to_string),
            at: message.at.unwrap_or(page.created_at),
            ..own.clone()
        }
    });
    let said: Vec<Document> = said.collect();
    std::iter::once(own).chain(said).collect()
}

/// Returns a speaker's hash.
pub fn speaker_hash(name: &str) -> u32 {
    let name = name.to_lowercase();
    name.bytes().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)).max(1)
}

/// Tells whether a document asks something.
pub fn is_question(document: &Document) -> bool {
    document.texts.iter().any(|(_, text)| text.contains(['?', '？']))
}
