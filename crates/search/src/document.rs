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
