//! Values: how each thing is kept under its key, and read back only if it belongs there.

use std::collections::BTreeMap;

use contexture_core::{
    HistoryEntry, Page, PageIndex, Revision, Segment, Timestamp,
    storage::{ContentHash, LevelChunk, Place, RunKey, RunRecord, SentWindow, Version, ViewId},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    fault::{Fault, FaultResult},
    frame::{Parts, put_number},
    keys,
    root::Id,
    table::{Key, Value},
};
use crate::packing::PackedContent;

fn corrupt(key: &[u8], reason: impl Into<String>) -> Fault {
    Fault::corrupt(keys::named(key), reason)
}

pub(crate) fn json<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("what is kept has only string keys")
}

fn from_json<T: DeserializeOwned>(key: &[u8], value: &[u8]) -> FaultResult<T> {
    serde_json::from_slice(value).map_err(|error| corrupt(key, error.to_string()))
}

pub(crate) fn page(key: &[u8], value: &[u8]) -> FaultResult<Page> {
    let page = Page::decode(value).map_err(|error| corrupt(key, error))?;
    if *keys::page(&page.index) == *key {
        Ok(page)
    } else {
        Err(corrupt(key, "it is stored under another index"))
    }
}

pub(crate) fn segment(key: &[u8], value: &[u8]) -> FaultResult<Segment> {
    let segment: Segment = from_json(key, value)?;
    if *keys::segment(&segment.id) == *key {
        Ok(segment)
    } else {
        Err(corrupt(key, "it is stored under another name"))
    }
}

pub(crate) fn entry(key: &[u8], value: &[u8]) -> FaultResult<HistoryEntry> {
    let entry: HistoryEntry = from_json(key, value)?;
    if *keys::history(entry.revision) == *key {
        Ok(entry)
    } else {
        Err(corrupt(key, "it is stored under another revision"))
    }
}

pub(crate) fn level(key: &[u8], value: &[u8]) -> FaultResult<LevelChunk> {
    from_json(key, value)
}

pub(crate) fn sent(key: &[u8], value: &[u8]) -> FaultResult<SentWindow> {
    let sent: SentWindow = from_json(key, value)?;
    if keys::read_sent(key).is_some_and(|(_, number)| number == sent.number) {
        Ok(sent)
    } else {
        Err(corrupt(key, "it is stored under another number"))
    }
}

pub(crate) fn text(key: &[u8], value: &[u8]) -> FaultResult<String> {
    String::from_utf8(value.to_vec()).map_err(|error| corrupt(key, error.to_string()))
}

pub(crate) fn number(key: &[u8], value: &[u8]) -> FaultResult<u64> {
    let bytes = value.try_into().map_err(|_| corrupt(key, "it is not a number"))?;
    Ok(u64::from_le_bytes(bytes))
}

pub(crate) fn focus(key: &[u8], value: &[u8]) -> FaultResult<PageIndex> {
    text(key, value)?.parse().map_err(|error| corrupt(key, format!("{error}")))
}

pub(crate) fn view(key: &[u8], value: &[u8]) -> FaultResult<(ViewId, Revision)> {
    let view = keys::read_view(key).ok_or_else(|| corrupt(key, "its name cannot be read"))?;
    Ok((view, Revision(number(key, value)?)))
}

/// Returns the page a key of a list leads to, with its place.
pub(crate) fn listed(key: &[u8]) -> FaultResult<(PageIndex, Place)> {
    let found = keys::read_derived(key).zip(keys::place_and_number(key));
    let (index, (place, _)) = found.ok_or_else(|| corrupt(key, "it cannot be read"))?;
    Ok((index, place))
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RunValue {
    version: Version,
    value: String,
    updated_at: Timestamp,
}

pub(crate) fn encode_run(record: &RunRecord) -> Vec<u8> {
    let RunRecord { version, value, updated_at, .. } = record.clone();
    json(&RunValue { version, value, updated_at })
}

pub(crate) fn run(key: &[u8], value: &[u8]) -> FaultResult<RunRecord> {
    let RunValue { version, value, updated_at } = from_json(key, value)?;
    let name = keys::last_text(key).and_then(|name| name.parse::<RunKey>().ok());
    let name = name.ok_or_else(|| corrupt(key, "its name cannot be read"))?;
    Ok(RunRecord { key: name, version, value, updated_at })
}

/// Where a copy of a content lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Copy {
    /// Here, as it was packed.
    Inline { raw: Option<i64>, data: Vec<u8> },
    /// In a pack.
    Packed { raw: Option<i64>, pack: Id, offset: u64, length: u64 },
}

impl Copy {
    /// What is smaller stays in its record: where it lies would take as much.
    pub(crate) const LEAST_PACKED: usize = 200;

    pub(crate) fn inline(packed: &PackedContent) -> Self {
        let data = packed.packed.stored(packed.content.bytes()).to_vec();
        Copy::Inline { raw: packed.packed.raw, data }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let (Copy::Inline { raw, .. } | Copy::Packed { raw, .. }) = self;
        // Nought says that it is stored as it is.
        put_number(&mut bytes, raw.map_or(0, |raw| raw.unsigned_abs() + 1));
        match self {
            Copy::Inline { data, .. } => bytes.extend_from_slice(data),
            Copy::Packed { offset, length, .. } => {
                put_number(&mut bytes, *offset);
                put_number(&mut bytes, *length);
            }
        }
        bytes
    }

    pub(crate) fn decode(key: &[u8], value: &[u8]) -> FaultResult<Self> {
        Self::read(key, value).ok_or_else(|| corrupt(key, "its location cannot be read"))
    }

    fn read(key: &[u8], value: &[u8]) -> Option<Self> {
        let mut parts = Parts(value);
        let raw = match parts.number()? {
            0 => None,
            raw => Some(i64::try_from(raw - 1).ok()?),
        };
        let Some(pack) = keys::read_copy(key)?.1 else {
            return Some(Copy::Inline { raw, data: parts.0.to_vec() });
        };
        let (offset, length) = (parts.number()?, parts.number()?);
        offset.checked_add(length)?;
        parts.0.is_empty().then_some(Copy::Packed { raw, pack, offset, length })
    }
}

/// Returns how often an entry assigns each content.
pub(crate) fn references(entry: &HistoryEntry) -> BTreeMap<ContentHash, u64> {
    let mut counts = BTreeMap::new();
    for hash in entry.inverse.pages.iter().filter_map(|before| before.assigned) {
        *counts.entry(hash).or_default() += 1;
    }
    counts
}

/// Returns the records of a history entry.
pub(crate) fn of_entry(entry: &HistoryEntry) -> Vec<(Key, Value)> {
    let mut all = vec![(keys::history(entry.revision), json(entry).into())];
    all.extend(beside_entry(entry));
    all
}

/// Returns the records that a history entry has in lists.
pub(crate) fn beside_entry(entry: &HistoryEntry) -> Vec<(Key, Value)> {
    let undoable = [u8::from(entry.is_undoable())];
    let mut all: Vec<(Key, Value)> =
        vec![(keys::actor(&entry.actor, entry.revision), undoable.as_slice().into())];
    all.extend(references(entry).iter().map(|(hash, count)| {
        (keys::reference(hash, entry.revision), count.to_le_bytes().as_slice().into())
    }));
    all
}
