//! What a session is made of, as counts and checksums: two sessions are the same when these are.

use crate::{
    PageStorage, SessionId,
    storage::{Checksum, ImportPart, SessionInfo, StorageResult, ViewHead},
};

use super::walk::Walk;

/// The kinds of records a session is made of.
const KINDS: [&str; 8] = [
    "segments",
    "pages",
    "history entries",
    "level states",
    "views",
    "custom state entries",
    "run records",
    "sent windows",
];

/// How many of the kinds, the first ones, are made by edits alone.
const EDITED: usize = 6;

/// Counts and checksums of all that a session holds.
///
/// Contents are not hashed again: entries name them by their hash, and whoever reads one checks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDigest {
    /// How many records of each kind, and a checksum over them.
    kinds: [(u64, Checksum); KINDS.len()],
    /// How many assignments of contents, each of which could be read.
    contents: u64,
    /// The session's head.
    info: SessionInfo,
}

impl SessionDigest {
    /// Reads a session whole; none where there is no such session.
    ///
    /// The storage must stand still meanwhile: a snapshot.
    pub async fn of(
        storage: &dyn PageStorage,
        session: &SessionId,
    ) -> StorageResult<Option<SessionDigest>> {
        let Some(mut walk) = Walk::of(storage, session).await? else { return Ok(None) };
        let mut tally = Tally::default();
        while let Some(part) = walk.next().await? {
            tally.add(&part);
        }
        Ok(Some(tally.end(walk.info().clone())))
    }

    /// Returns how many pages the session holds, of whatever standing.
    pub fn pages(&self) -> u64 {
        self.kinds[1].0
    }

    /// Returns how many edits its history holds.
    pub fn entries(&self) -> u64 {
        self.kinds[2].0
    }

    /// Returns how many records of windows sent it holds.
    pub fn windows(&self) -> u64 {
        self.kinds[7].0
    }

    /// Returns how often a content was assigned to a page.
    pub fn contents(&self) -> u64 {
        self.contents
    }

    /// Returns the session's head.
    pub fn info(&self) -> &SessionInfo {
        &self.info
    }

    /// Returns one checksum over everything.
    pub fn checksum(&self) -> Checksum {
        let mut all = blake3::Hasher::new();
        for (count, sum) in &self.kinds {
            all.update(&count.to_le_bytes()).update(&sum.0);
        }
        put(&mut all, head(&self.info).as_bytes());
        checksum(&all)
    }

    /// Tells whether all is the same that edits make: what may differ are run records and windows sent.
    pub(super) fn has_same_edits(&self, other: &SessionDigest) -> bool {
        self.kinds[..EDITED] == other.kinds[..EDITED]
    }

    /// Says what differs in `other`; none when they are the same.
    pub fn difference(&self, other: &SessionDigest) -> Option<String> {
        let kinds = KINDS.iter().zip(self.kinds.iter().zip(&other.kinds));
        for (kind, ((count, sum), (other_count, other_sum))) in kinds {
            if count != other_count {
                return Some(format!("it has {other_count} {kind} instead of {count}"));
            }
            if sum != other_sum {
                return Some(format!("its {kind} differ"));
            }
        }
        (self.info != other.info).then(|| "its head differs".to_owned())
    }
}

/// A digest being made. Where parts begin and end makes no difference.
#[derive(Default)]
pub(super) struct Tally {
    kinds: [(u64, blake3::Hasher); KINDS.len()],
    contents: u64,
}

impl Tally {
    /// Returns how many pages were counted so far.
    pub(super) fn pages(&self) -> u64 {
        self.kinds[1].0
    }

    /// Takes in a part.
    pub(super) fn add(&mut self, part: &ImportPart) {
        match part {
            ImportPart::Begin
            | ImportPart::BeginOver(_)
            | ImportPart::Contents(_)
            | ImportPart::Finish(_) => {}
            ImportPart::Segments(segments) => {
                segments.iter().for_each(|segment| self.record(0, &[&json(segment)]));
            }
            ImportPart::Pages(pages) => {
                pages.iter().for_each(|page| self.record(1, &[&page.encode()]));
            }
            ImportPart::History(entries) => {
                for entry in entries {
                    let assigned = entry.inverse.pages.iter().filter(|at| at.assigned.is_some());
                    self.contents += assigned.count() as u64;
                    self.record(2, &[&json(entry)]);
                }
            }
            ImportPart::Levels(chunks) => {
                for (key, chunk) in chunks {
                    let name = format!("{} {} {}", key.view, key.segment, key.chunk);
                    self.record(3, &[name.as_bytes(), &json(chunk)]);
                }
            }
            ImportPart::Views(heads) => {
                for ViewHead { view, focus, touched } in heads {
                    let focus = focus.as_ref().map(ToString::to_string).unwrap_or_default();
                    self.record(4, &[format!("{view} {touched} {focus}").as_bytes()]);
                }
            }
            ImportPart::Custom(custom) => {
                for (key, value) in custom {
                    self.record(5, &[key.as_str().as_bytes(), value.as_bytes()]);
                }
            }
            ImportPart::Runs(records) => {
                for run in records {
                    let stamp = format!("{} {}", run.version, run.updated_at.as_millis());
                    let parts = [run.key.as_str(), &stamp, &run.value];
                    self.record(6, &parts.map(str::as_bytes));
                }
            }
            ImportPart::Ledger(key, records) => {
                let name = format!("{} {}", key.view, key.format);
                for sent in records {
                    self.record(7, &[name.as_bytes(), &json(sent)]);
                }
            }
        }
    }

    /// Counts a record of a kind, by its parts.
    fn record(&mut self, kind: usize, parts: &[&[u8]]) {
        let (count, hasher) = &mut self.kinds[kind];
        *count += 1;
        parts.iter().for_each(|part| put(hasher, part));
    }

    /// Ends it.
    pub(super) fn end(self, info: SessionInfo) -> SessionDigest {
        let kinds = self.kinds.map(|(count, hasher)| (count, checksum(&hasher)));
        SessionDigest { kinds, contents: self.contents, info }
    }
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("records have only string keys")
}

/// Hashes a part with its length, so that what moves from one to the next is noticed.
fn put(hasher: &mut blake3::Hasher, part: &[u8]) {
    hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
}

fn checksum(hasher: &blake3::Hasher) -> Checksum {
    let mut sum = [0; 16];
    sum.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    Checksum(sum)
}

fn head(info: &SessionInfo) -> String {
    let times = [info.created_at, info.updated_at].map(|at| at.as_millis());
    let (mark, app) = (info.mark.as_str(), &info.app);
    format!("{} {} {} {times:?} {mark} {app}", info.id, info.revision, info.next_place.0)
}
