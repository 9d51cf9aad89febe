//! A page's file: its record under the seed's names, and its words.

use contexture_core::{
    Actor, Page, PageIndex, PageName, Revision, Timestamp, Trust, Visibility,
    storage::{Content, ContentHash, PageBody, PageDetail, PageStanding, Place, Version},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PageFile {
    index: PageIndex,
    r#type: Type,
    name: PageName,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<PageIndex>,
    place: Place,
    visibility: Visibility,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    archived: Option<Archived>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    moved_to: Option<PageIndex>,
    author: Actor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rewritten_by: Option<Actor>,
    trust: Trust,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sources: Vec<PageIndex>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<PageIndex>,
    version: Version,
    revision: Revision,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<ContentHash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message_count: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weight: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    open_calls: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    messages: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoded: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
}

/// Decides what is read back (B-05).
#[derive(Serialize, Deserialize)]
enum Type {
    ContentsPage,
    DetailPage,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Archived {
    Hot,
    Cold,
}

impl PageFile {
    pub(super) fn of(page: &Page, content: Option<&Content>) -> Self {
        let detail = page.detail();
        let Words { messages, encoded, bytes } = content.map(Words::of).unwrap_or_default();
        Self {
            index: page.index.clone(),
            r#type: if page.is_contents() { Type::ContentsPage } else { Type::DetailPage },
            name: page.name.clone(),
            description: page.description.to_string(),
            parent: page.parent.clone(),
            place: page.place,
            visibility: page.visibility,
            archived: match page.standing {
                PageStanding::InTree | PageStanding::Moved(_) => None,
                PageStanding::HotArchived => Some(Archived::Hot),
                PageStanding::ColdArchived => Some(Archived::Cold),
            },
            moved_to: match &page.standing {
                PageStanding::Moved(to) => Some(to.clone()),
                _ => None,
            },
            author: page.author.clone(),
            rewritten_by: page.rewritten_by.clone(),
            trust: page.trust,
            sources: page.sources.clone(),
            turn: page.turn.clone(),
            version: page.version,
            revision: page.revision,
            created_at: page.created_at,
            updated_at: page.updated_at,
            content: detail.map(|detail| detail.content),
            message_count: detail.map(|detail| detail.messages),
            counted: detail.and_then(|detail| detail.counted),
            weight: detail.map(|detail| detail.weight),
            open_calls: detail.map(|detail| detail.open.clone()).unwrap_or_default(),
            messages,
            encoded,
            bytes,
        }
    }

    pub(super) fn page(self) -> Result<(Page, Option<Content>), String> {
        let words = Words { messages: self.messages, encoded: self.encoded, bytes: self.bytes };
        let (body, content) = match (self.r#type, self.content, self.message_count, self.weight) {
            (Type::ContentsPage, None, None, None) => (PageBody::Contents, None),
            (Type::DetailPage, Some(content), Some(messages), Some(weight)) => {
                let (counted, open) = (self.counted, self.open_calls);
                let detail = PageDetail { content, messages, counted, weight, open };
                (PageBody::Detail(detail), words.content(content)?)
            }
            _ => return Err("its type does not match what it holds".to_owned()),
        };
        let standing = match (self.archived, self.moved_to) {
            (None, None) => PageStanding::InTree,
            (Some(Archived::Hot), None) => PageStanding::HotArchived,
            (Some(Archived::Cold), None) => PageStanding::ColdArchived,
            (None, Some(to)) => PageStanding::Moved(to),
            (Some(_), Some(_)) => return Err("it is both archived and moved".to_owned()),
        };
        let page = Page {
            index: self.index,
            parent: self.parent,
            place: self.place,
            body,
            name: self.name,
            description: super::exactly(&self.description)?,
            visibility: self.visibility,
            standing,
            author: self.author,
            rewritten_by: self.rewritten_by,
            trust: self.trust,
            sources: self.sources,
            turn: self.turn,
            version: self.version,
            revision: self.revision,
            created_at: self.created_at,
            updated_at: self.updated_at,
        };
        Ok((page, content))
    }
}

/// A content in a file: its messages as JSON; what is no JSON as text; what is no text as digits.
#[derive(Default)]
pub(super) struct Words {
    pub(super) messages: Option<Box<RawValue>>,
    pub(super) encoded: Option<String>,
    pub(super) bytes: Option<String>,
}

impl Words {
    pub(super) fn of(content: &Content) -> Self {
        let Ok(text) = std::str::from_utf8(content.bytes()) else {
            let digits = content.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            return Self { bytes: Some(digits), ..Self::default() };
        };
        match as_json(text) {
            Some(messages) => Self { messages: Some(messages), ..Self::default() },
            None => Self { encoded: Some(text.to_owned()), ..Self::default() },
        }
    }

    /// Returns the content, if it has the hash expected; none where there are no words.
    pub(super) fn content(self, hash: ContentHash) -> Result<Option<Content>, String> {
        let bytes = match (self.messages, self.encoded, self.bytes) {
            (None, None, None) => return Ok(None),
            (Some(messages), None, None) => messages.get().as_bytes().to_vec(),
            (None, Some(text), None) => text.into_bytes(),
            (None, None, Some(digits)) => unhex(&digits).ok_or("its bytes are not hexadecimal")?,
            _ => return Err("it holds its text twice".to_owned()),
        };
        let content = Content::verify(hash, bytes);
        content.map(Some).ok_or_else(|| "its text does not match its hash".to_owned())
    }
}

/// Returns a text as JSON, if it is a list or an object without white space around it.
pub(super) fn as_json(text: &str) -> Option<Box<RawValue>> {
    if !text.starts_with(['[', '{']) {
        return None;
    }
    let json = RawValue::from_string(text.to_owned()).ok()?;
    (json.get() == text).then_some(json)
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
        _ => None,
    };
    pairs.map(byte).collect()
}
