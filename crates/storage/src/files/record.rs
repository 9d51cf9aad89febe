//! Records: what one file says, and how it is written and read back only if it is what was written.
//!
//! The last key of a file is a checksum over its path and everything before it. So a flipped byte, a
//! file cut short and a file that lies in another's place are all noticed by the file alone.

mod page;

use std::collections::BTreeMap;

use contexture_core::{
    Format, HistoryEntry, Message, Page, PageIndex, Revision, Segment, SegmentId, SessionId,
    Timestamp,
    storage::{
        ChunkKey, Content, ContentHash, CustomKey, LedgerKey, LevelChunk, Mark, Place, RunKey,
        RunRecord, SentWindow, SessionInfo, StorageError, Version, ViewHead, ViewId,
        signs::{self, AFTER_CHECKSUM, BEFORE_CHECKSUM},
    },
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{
    layout,
    names::{Kind, Spot},
    tally::Tally,
};
use crate::packing::checksum;
use page::{PageFile, Words};

/// A session's head as it stands in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) info: SessionInfo,
    /// Counts what is written beside edits: run records and windows sent. With it the head changes
    /// whenever anything of the session does, so that one look at it tells.
    pub(crate) beside: u64,
    /// What stands beside it.
    pub(crate) files: Tally,
}

/// What one file says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Record {
    Head(Head),
    Segment(Segment),
    /// A page with its words, where they are known.
    Page(Page, Option<Content>),
    Entry(HistoryEntry),
    Content(Content),
    View(ViewHead),
    Chunk(ChunkKey, LevelChunk),
    Custom(BTreeMap<CustomKey, String>),
    Run(RunRecord),
    Sent(LedgerKey, SentWindow),
}

impl Record {
    /// Returns what it is about.
    pub(crate) fn spot(&self) -> Spot {
        match self {
            Record::Head(_) => Spot::Head,
            Record::Segment(segment) => Spot::Segment(segment.id.clone()),
            Record::Page(page, _) => Spot::Page(page.index.clone()),
            Record::Entry(entry) => Spot::Entry(entry.revision),
            Record::Content(content) => Spot::Content(content.hash()),
            Record::View(head) => Spot::View(head.view.clone()),
            Record::Chunk(key, _) => Spot::Chunk(key.clone()),
            Record::Custom(_) => Spot::Custom,
            Record::Run(record) => Spot::Run(record.key.clone()),
            Record::Sent(key, sent) => Spot::Sent(key.clone(), sent.number),
        }
    }

    /// Returns the bytes of its file. `path` is the file's, from the storage's folder on.
    pub(crate) fn encode(&self, path: &str) -> Result<Vec<u8>, StorageError> {
        let spread = layout::spread(&self.to_json()).map_err(|reason| corrupt(path, reason))?;
        let body = spread.strip_suffix("\n}").unwrap_or(&spread);
        let sum = Sum::of(path, body);
        Ok(format!("{body}{BEFORE_CHECKSUM}{sum}{AFTER_CHECKSUM}").into_bytes())
    }

    /// Reads the bytes of a file.
    pub(crate) fn decode(path: &str, kind: Kind, bytes: &[u8]) -> Result<Self, StorageError> {
        let text = std::str::from_utf8(bytes).map_err(|_| corrupt(path, "it is not UTF-8"))?;
        let cut = || corrupt(path, "it does not end in its checksum");
        let rest = text.strip_suffix(AFTER_CHECKSUM).ok_or_else(cut)?;
        let at = rest.len().checked_sub(Sum::LENGTH).ok_or_else(cut)?;
        let (body, sum) = rest.split_at_checked(at).ok_or_else(cut)?;
        let body = body.strip_suffix(BEFORE_CHECKSUM).ok_or_else(cut)?;
        if Sum::of(path, body) != sum {
            return Err(corrupt(path, "its checksum does not match its content and path"));
        }
        let compact = layout::gather(&format!("{body}\n}}"));
        let compact = compact.map_err(|reason| corrupt(path, reason))?;
        Self::from_json(kind, &compact).map_err(|reason| corrupt(path, &reason))
    }

    fn to_json(&self) -> String {
        match self {
            Record::Head(head) => json(&HeadFile::of(head)),
            Record::Segment(segment) => json(&SegmentFile::of(segment)),
            Record::Page(page, content) => json(&PageFile::of(page, content.as_ref())),
            Record::Entry(entry) => json(entry),
            Record::Content(content) => {
                let Words { messages, encoded, bytes } = Words::of(content);
                json(&ContentFile { hash: content.hash(), messages, encoded, bytes })
            }
            Record::View(ViewHead { view, focus, touched }) => {
                let (view, focus) = (view.clone(), focus.clone());
                json(&ViewFile { view, focus, touched: *touched })
            }
            Record::Chunk(ChunkKey { view, segment, chunk }, levels) => json(&ChunkFile {
                view: view.clone(),
                segment: segment.clone(),
                chunk: *chunk,
                levels: levels.clone(),
            }),
            Record::Custom(custom) => json(&CustomFile { custom: custom.clone() }),
            Record::Run(record) => json(&RunFile::of(record)),
            Record::Sent(LedgerKey { view, format }, window) => {
                json(&SentFile { view: view.clone(), format: *format, window: window.clone() })
            }
        }
    }

    fn from_json(kind: Kind, json: &str) -> Result<Self, String> {
        Ok(match kind {
            Kind::Head => Record::Head(read::<HeadFile>(json)?.head()?),
            Kind::Segment => Record::Segment(read::<SegmentFile>(json)?.segment()?),
            Kind::Page => {
                let (page, content) = read::<PageFile>(json)?.page()?;
                Record::Page(page, content)
            }
            Kind::Entry => Record::Entry(read(json)?),
            Kind::Content => {
                let ContentFile { hash, messages, encoded, bytes } = read(json)?;
                let words = Words { messages, encoded, bytes };
                Record::Content(words.content(hash)?.ok_or("it has no messages")?)
            }
            Kind::View => {
                let ViewFile { view, focus, touched } = read(json)?;
                Record::View(ViewHead { view, focus, touched })
            }
            Kind::Chunk => {
                let ChunkFile { view, segment, chunk, levels } = read(json)?;
                Record::Chunk(ChunkKey { view, segment, chunk }, levels)
            }
            Kind::Custom => Record::Custom(read::<CustomFile>(json)?.custom),
            Kind::Run => Record::Run(read::<RunFile>(json)?.record()?),
            Kind::Sent => {
                let SentFile { view, format, window } = read(json)?;
                Record::Sent(LedgerKey { view, format }, window)
            }
        })
    }
}

/// The checksum of a file.
struct Sum;

impl Sum {
    const LENGTH: usize = signs::CHECKSUM;

    fn of(path: &str, body: &str) -> String {
        contexture_core::storage::Checksum(checksum(&[path.as_bytes(), body.as_bytes()]))
            .to_string()
    }
}

/// Returns the error for a damaged file.
pub(crate) fn corrupt(path: &str, reason: &str) -> StorageError {
    let reason = format!("{reason}; restore an earlier version of it, or repair the store");
    StorageError::Corrupt { what: path.to_owned(), reason }
}

/// Returns the page that a damaged file seems to be about, without its words. Nothing proves it.
pub(crate) fn page_of(bytes: &[u8]) -> Option<Page> {
    let mut fields = fields(bytes)?;
    for apart in ["checksum", "messages", "encoded", "bytes"] {
        fields.remove(apart);
    }
    let (page, _) = read::<PageFile>(&json(&fields)).ok()?.page().ok()?;
    Some(page)
}

/// Returns the words of a damaged file, if they are those of that hash.
pub(crate) fn words(bytes: &[u8], hash: ContentHash) -> Option<Content> {
    let mut fields = fields(bytes)?;
    let mut text = |name: &str| {
        let value = fields.remove(name);
        value.map(|value| serde_json::from_str(value.get())).transpose().ok().flatten()
    };
    let (encoded, bytes) = (text("encoded"), text("bytes"));
    let words = Words { messages: fields.remove("messages"), encoded, bytes };
    words.content(hash).ok().flatten()
}

/// Returns the messages of a damaged file, whatever they are. Nothing proves them.
pub(crate) fn unproven_words(bytes: &[u8]) -> Option<Vec<Message>> {
    serde_json::from_str(fields(bytes)?.get("messages")?.get()).ok()
}

/// Reads a file whose checksum does not fit.
fn fields(bytes: &[u8]) -> Option<BTreeMap<String, Box<RawValue>>> {
    let compact = layout::gather(std::str::from_utf8(bytes).ok()?).ok()?;
    serde_json::from_str(&compact).ok()
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a record has only string keys")
}

fn read<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HeadFile {
    session: SessionId,
    app: String,
    revision: Revision,
    next_place: Place,
    mark: String,
    beside: u64,
    files: Tally,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl HeadFile {
    fn of(Head { info, beside, files }: &Head) -> Self {
        Self {
            session: info.id.clone(),
            app: info.app.clone(),
            revision: info.revision,
            next_place: info.next_place,
            mark: info.mark.as_str().to_owned(),
            beside: *beside,
            files: *files,
            created_at: info.created_at,
            updated_at: info.updated_at,
        }
    }

    fn head(self) -> Result<Head, String> {
        let info = SessionInfo {
            id: self.session,
            app: self.app,
            revision: self.revision,
            next_place: self.next_place,
            mark: Mark::try_from(self.mark).map_err(|error| error.to_string())?,
            created_at: self.created_at,
            updated_at: self.updated_at,
        };
        Ok(Head { info, beside: self.beside, files: self.files })
    }
}

/// A segment under the seed's names.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SegmentFile {
    id: SegmentId,
    name: contexture_core::PageName,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    description: String,
    segment_type: contexture_core::SegmentKind,
    permission: contexture_core::Permission,
    root_index: PageIndex,
    max_capacity: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<contexture_core::Owner>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    removed: bool,
    ordinal: u64,
    next_index: u64,
    touched: Revision,
    version: Version,
    revision: Revision,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl SegmentFile {
    fn of(segment: &Segment) -> Self {
        Self {
            id: segment.id.clone(),
            name: segment.name.clone(),
            description: segment.description.to_string(),
            segment_type: segment.kind,
            permission: segment.permission,
            root_index: segment.root(),
            max_capacity: segment.capacity.0,
            owner: segment.owner.clone(),
            removed: segment.removed,
            ordinal: segment.ordinal,
            next_index: segment.next_number,
            touched: segment.touched,
            version: segment.version,
            revision: segment.revision,
            created_at: segment.created_at,
            updated_at: segment.updated_at,
        }
    }

    fn segment(self) -> Result<Segment, String> {
        if self.root_index != self.id.root() {
            return Err(format!("its root is {}", self.root_index));
        }
        Ok(Segment {
            id: self.id,
            name: self.name,
            description: exactly(&self.description)?,
            kind: self.segment_type,
            permission: self.permission,
            capacity: contexture_core::Tokens(self.max_capacity),
            owner: self.owner,
            ordinal: self.ordinal,
            next_number: self.next_index,
            touched: self.touched,
            removed: self.removed,
            version: self.version,
            revision: self.revision,
            created_at: self.created_at,
            updated_at: self.updated_at,
        })
    }
}

/// Reads a text that was valid when it was written.
fn exactly<T: std::str::FromStr<Err = contexture_core::Error>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: contexture_core::Error| error.to_string())
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ContentFile {
    hash: ContentHash,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    messages: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoded: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ViewFile {
    view: ViewId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    focus: Option<PageIndex>,
    touched: Revision,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ChunkFile {
    view: ViewId,
    segment: SegmentId,
    chunk: u64,
    levels: LevelChunk,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CustomFile {
    custom: BTreeMap<CustomKey, String>,
}

/// A run's record. What it says is JSON by custom, and then stands here as such.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunFile {
    key: RunKey,
    version: Version,
    updated_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    record: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

impl RunFile {
    fn of(record: &RunRecord) -> Self {
        let json = page::as_json(&record.value);
        Self {
            key: record.key.clone(),
            version: record.version,
            updated_at: record.updated_at,
            value: json.is_none().then(|| record.value.clone()),
            record: json,
        }
    }

    fn record(self) -> Result<RunRecord, String> {
        let value = match (self.record, self.value) {
            (Some(json), None) => json.get().to_owned(),
            (None, Some(value)) => value,
            _ => return Err("it has no record".to_owned()),
        };
        let (key, version, updated_at) = (self.key, self.version, self.updated_at);
        Ok(RunRecord { key, version, value, updated_at })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SentFile {
    view: ViewId,
    format: Format,
    window: SentWindow,
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
