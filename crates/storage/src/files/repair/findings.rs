//! What the files of a session say, all of them taken together, and which of them cannot be read.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use contexture_core::{
    HistoryEntry, Operation, Page, PageIndex, Revision, Segment, SegmentId, Timestamp,
    storage::{ContentHash, PageBefore, Version},
};

use super::super::{
    folder::{Folder, Form, Look},
    index::FilesFaultResult,
    names::{HEAD, Kind},
    record::{Head, Record, corrupt},
    sync::decode,
    tally::Tally,
};

/// Folders of a session: what lies in the place of one and is none is in the way.
const FOLDERS: [&str; 7] = ["segments", "pages", "history", "contents", "views", "runs", "ledger"];

/// What lies in a session's folder.
#[derive(Default)]
pub(super) struct Findings {
    /// What cannot be read or lies in the way, from the session's folder on, and why.
    pub(super) bad: Vec<(String, String)>,
    /// The files that can be read.
    pub(super) sound: BTreeSet<String>,
    pub(super) files: Tally,
    pub(super) head: Option<Head>,
    /// Each with its place in their order.
    pub(super) segments: BTreeMap<SegmentId, u64>,
    pub(super) pages: BTreeMap<PageIndex, Page>,
    pub(super) entries: BTreeMap<u64, Entry>,
    /// The newest state before an edit that history remembers of each segment.
    pub(super) earlier: BTreeMap<SegmentId, Segment>,
    /// Contents that some file holds.
    pub(super) stored: HashSet<ContentHash>,
    /// Contents with a file of their own.
    pub(super) apart: BTreeSet<ContentHash>,
}

/// What repairing needs to know of an edit.
pub(super) struct Entry {
    pub(super) at: Timestamp,
    pub(super) touches: Vec<Touch>,
}

/// What repairing needs to know of what an edit did to a page.
pub(super) struct Touch {
    pub(super) index: PageIndex,
    /// The page as it was before: its version, the edit that made it so, its content.
    pub(super) before: Option<(Version, Revision, Option<ContentHash>)>,
    pub(super) after: Option<Version>,
    pub(super) previous: Option<Revision>,
    pub(super) assigned: Option<ContentHash>,
    /// Whether nobody can tell any more what became of the page: what purged it, or undid this edit,
    /// may be lost.
    pub(super) is_void: bool,
}

impl Findings {
    /// Reads everything below a session's folder.
    pub(super) fn of(folder: &Folder, root: &str) -> FilesFaultResult<Self> {
        let mut findings = Self::default();
        findings.walk(folder, &mut folder.look(), root, "")?;
        Ok(findings)
    }

    fn walk(
        &mut self,
        folder: &Folder,
        look: &mut Look<'_>,
        root: &str,
        below: &str,
    ) -> FilesFaultResult<()> {
        let here = if below.is_empty() { root.to_owned() } else { format!("{root}/{below}") };
        for entry in folder.list(&here)? {
            let name = &entry.name;
            let inner = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
            match entry.form {
                Form::Folder if inner.ends_with(".json") => {
                    let reason = "there is a folder where a file should be";
                    self.bad.push((inner, reason.to_owned()));
                }
                Form::Folder if inner.matches('/').count() < 8 => {
                    self.walk(folder, look, root, &inner)?;
                }
                Form::Folder => {}
                Form::File | Form::Other => self.file(look, root, &inner),
            }
        }
        Ok(())
    }

    fn file(&mut self, look: &mut Look<'_>, root: &str, inner: &str) {
        let path = format!("{root}/{inner}");
        let Some(kind) = Kind::of(inner) else {
            // People may keep notes beside ours, but nothing that leads elsewhere or is in the way.
            let wrong = match look.stamp(&path) {
                Ok(_) if FOLDERS.contains(&inner) => {
                    Some(corrupt(&path, "there is a file where a folder should be"))
                }
                Ok(_) => None,
                Err(error) => Some(error),
            };
            self.bad.extend(wrong.map(|error| (inner.to_owned(), error.to_string())));
            return;
        };
        let read = look.read(&path).and_then(|read| match read {
            Some((bytes, _)) => decode(&path, inner, &bytes).map(Some),
            None => Ok(None),
        });
        match read {
            Ok(Some(record)) => {
                self.files.add(kind);
                self.sound.insert(inner.to_owned());
                self.note(record);
            }
            Ok(None) => {}
            Err(error) => self.bad.push((inner.to_owned(), error.to_string())),
        }
    }

    fn note(&mut self, record: Record) {
        match record {
            Record::Head(head) => self.head = Some(head),
            Record::Segment(segment) => drop(self.segments.insert(segment.id, segment.ordinal)),
            Record::Page(page, content) => {
                self.stored.extend(content.map(|content| content.hash()));
                self.pages.insert(page.index.clone(), page);
            }
            Record::Entry(entry) => self.note_entry(entry),
            Record::Content(content) => {
                self.stored.insert(content.hash());
                self.apart.insert(content.hash());
            }
            Record::View(_)
            | Record::Chunk(..)
            | Record::Custom(_)
            | Record::Run(_)
            | Record::Sent(..) => {}
        }
    }

    fn note_entry(&mut self, entry: HistoryEntry) {
        // Entries come in the order of their names, which is that of their numbers within a folder.
        let newest = self.entries.last_key_value().is_none_or(|(last, _)| *last < entry.revision.0);
        let removed = entry.operation == Operation::RemoveSegment;
        for changed in entry.inverse.segments {
            if let Some(before) = changed.before
                && (newest || !self.earlier.contains_key(&changed.id))
            {
                self.earlier.insert(changed.id, Segment { removed, ..before });
            }
        }
        let undone = entry.undone_by.is_some();
        let touch = |before: PageBefore| Touch::of(before, undone);
        let touches = entry.inverse.pages.into_iter().map(touch).collect();
        self.entries.insert(entry.revision.0, Entry { at: entry.at, touches });
    }

    /// Returns the newest revision that anything speaks of.
    pub(super) fn newest(&self) -> u64 {
        let head = self.head.as_ref().map_or(0, |head| head.info.revision.0);
        let entry = self.entries.last_key_value().map_or(0, |(revision, _)| *revision);
        let page = self.pages.values().map(|page| page.revision.0).max().unwrap_or(0);
        head.max(entry).max(page)
    }

    /// Returns a number beyond all places that were given out.
    pub(super) fn next_place(&self) -> u64 {
        let last = self.pages.values().map(|page| page.place.0).max().unwrap_or(0);
        let head = self.head.as_ref().map_or(1, |head| head.info.next_place.0);
        head.max(last.saturating_add(1))
    }

    /// Returns what the newest edit of each page left of it.
    pub(super) fn newest_touches(&self) -> BTreeMap<&PageIndex, (u64, &Touch)> {
        let touches = self.entries.iter().flat_map(|(revision, entry)| {
            entry.touches.iter().map(move |touch| (&touch.index, (*revision, touch)))
        });
        touches.collect()
    }

    /// Returns the pages that history left and that are gone.
    pub(super) fn missing(&self) -> BTreeSet<&PageIndex> {
        let touches = self.newest_touches().into_iter();
        let kept = touches.filter(|(_, (_, touch))| touch.after.is_some() && !touch.is_void);
        kept.map(|(index, _)| index).filter(|index| !self.pages.contains_key(*index)).collect()
    }

    /// Tells whether anything of the session is there.
    pub(super) fn is_there(&self) -> bool {
        self.sound.contains(HEAD) || self.files.total() > 0
    }
}

impl Touch {
    fn of(before: PageBefore, undone: bool) -> Self {
        let state =
            |page: &Page| (page.version, page.revision, page.detail().map(|detail| detail.content));
        Self {
            before: before.before.as_ref().map(state),
            index: before.index,
            after: before.after,
            previous: before.previous,
            assigned: before.assigned,
            is_void: before.purged || undone,
        }
    }

    /// Returns the contents it refers to.
    pub(super) fn contents(&self) -> impl Iterator<Item = ContentHash> {
        let before = self.before.and_then(|(_, _, content)| content);
        self.assigned.into_iter().chain(before)
    }
}
