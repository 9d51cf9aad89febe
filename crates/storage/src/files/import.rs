//! Taking over a session: its files are written aside, in the very form they will have, and the folder
//! is put in place at the end. Where it takes the place of a session, the two folders are exchanged in one
//! step, and the earlier one goes.

use std::collections::HashSet;

use contexture_core::{
    SessionId,
    storage::{ContentHash, ImportPart, SessionInfo, StorageError, StorageResult},
};

use super::{
    folder::Folder,
    index::FilesFaultResult,
    names::{self, HEAD, IMPORTS, Kind, SESSIONS, Spot},
    record::{Head, Record, corrupt},
    repair::set_remains_aside,
    store::Store,
    sync::{decode, walk},
    tally::Tally,
};
use crate::{options::Durability, sqlite::traces::Due};

/// Marks an import that was begun.
const BEGUN: &str = "begun";

/// Returns the folder in which a session is taken over.
pub(crate) fn staging(session: &SessionId) -> String {
    let path = names::session(session);
    format!("{IMPORTS}/{}", path.rsplit('/').next().unwrap_or_default())
}

impl Store {
    /// Takes over a part of a session.
    pub(crate) fn import(
        &mut self,
        session: &SessionId,
        part: &ImportPart,
    ) -> FilesFaultResult<()> {
        let shared = self.shared.clone();
        let (folder, aside) = (&shared.folder, staging(session));
        let head = format!("{}/{HEAD}", names::session(session));
        let there = folder.look().read(&head)?.map(|(bytes, _)| bytes);
        let begun = format!("{aside}/{BEGUN}");
        if let ImportPart::Begin | ImportPart::BeginOver(_) = part {
            let over = match part {
                ImportPart::BeginOver(over) => Some(over),
                _ => None,
            };
            let known = there.as_ref().map(|bytes| decode_head(&head, bytes)).transpose()?;
            ImportPart::admit(session, known.as_ref(), over)?;
            folder.remove_all(&aside)?;
            let time = self.tick();
            return Ok(folder.write(&begun, &there.unwrap_or_default(), time)?);
        }
        let over = match folder.look().read(&begun)? {
            Some((over, _)) => Some(over).filter(|over| !over.is_empty()),
            None if there.is_some() => {
                return Err(StorageError::SessionExists { session: session.clone() }.into());
            }
            None => return Err(StorageError::SessionMissing { session: session.clone() }.into()),
        };
        // The head counts all that is ever written to a session.
        match (&there, &over) {
            (there, over) if there == over => {}
            (Some(_), None) => {
                return Err(StorageError::SessionExists { session: session.clone() }.into());
            }
            _ => {
                let subject = format!("session '{session}'");
                return Err(StorageError::Conflict { subject }.into());
            }
        }
        let put = |store: &mut Self, record: Record| store.put_aside(session, &aside, &record);
        match part.clone() {
            ImportPart::Begin | ImportPart::BeginOver(_) => {}
            ImportPart::Segments(segments) => {
                for segment in segments {
                    put(self, Record::Segment(segment))?;
                }
            }
            // Their words come later, and go into them at the end.
            ImportPart::Pages(pages) => {
                for page in pages {
                    put(self, Record::Page(page, None))?;
                }
            }
            ImportPart::Contents(contents) => {
                for content in contents {
                    put(self, Record::Content(content))?;
                }
            }
            ImportPart::History(entries) => {
                for entry in entries {
                    put(self, Record::Entry(entry))?;
                }
            }
            ImportPart::Levels(chunks) => {
                for (key, chunk) in chunks {
                    put(self, Record::Chunk(key, chunk))?;
                }
            }
            ImportPart::Views(heads) => {
                for head in heads {
                    put(self, Record::View(head))?;
                }
            }
            ImportPart::Custom(custom) => {
                let mut all = match read_aside(folder, session, &aside, "custom.json")? {
                    Some(Record::Custom(all)) => all,
                    _ => Default::default(),
                };
                all.extend(custom);
                if !all.is_empty() {
                    put(self, Record::Custom(all))?;
                }
            }
            ImportPart::Runs(records) => {
                for record in records {
                    put(self, Record::Run(record))?;
                }
            }
            ImportPart::Ledger(key, records) => {
                for sent in records {
                    put(self, Record::Sent(key.clone(), sent))?;
                }
            }
            ImportPart::Finish(info) => {
                if info.id != *session {
                    return Err(corrupt(&aside, "its head belongs to another session").into());
                }
                self.finish(session, &aside, info, over.is_some())?;
            }
        }
        Ok(())
    }

    fn put_aside(
        &mut self,
        session: &SessionId,
        aside: &str,
        record: &Record,
    ) -> StorageResult<()> {
        let inner = record.spot().path();
        let bytes = record.encode(&format!("{}/{inner}", names::session(session)))?;
        let (path, new, time) = (format!("{aside}/{inner}"), format!("{aside}/new"), self.tick());
        let folder = &self.shared.folder;
        folder.remove(&new)?;
        folder.write(&new, &bytes, time)?;
        folder.rename(&new, &path)
    }

    /// Puts words into pages, and the session in its place.
    fn finish(
        &mut self,
        session: &SessionId,
        aside: &str,
        info: SessionInfo,
        replaces: bool,
    ) -> FilesFaultResult<()> {
        let shared = self.shared.clone();
        let folder = &shared.folder;
        let mut carried: HashSet<ContentHash> = HashSet::new();
        for inner in below(folder, aside, "pages")? {
            let Some(Record::Page(page, _)) = read_aside(folder, session, aside, &inner)? else {
                continue;
            };
            let Some(hash) = page.detail().map(|detail| detail.content) else { continue };
            let words = read_aside(folder, session, aside, &Spot::Content(hash).path())?;
            if let Some(Record::Content(content)) = words {
                carried.insert(hash);
                self.put_aside(session, aside, &Record::Page(page, Some(content)))?;
            }
        }
        drop_idle(folder, session, aside, &carried)?;
        let mut files = Tally::default();
        let all = below(folder, aside, "")?;
        all.iter().filter_map(|inner| Kind::of(inner)).for_each(|kind| files.add(kind));
        self.put_aside(session, aside, &Record::Head(Head { info, beside: 0, files }))?;
        folder.remove(&format!("{aside}/{BEGUN}"))?;
        if shared.options.durability == Durability::PowerCut {
            folder.sync()?;
        }
        let place = names::session(session);
        if replaces {
            return self.exchange(session, aside, &place);
        }
        // What a session of that name left is in the way: its files are kept, its empty folders are not.
        let time = self.tick();
        set_remains_aside(folder, &place, time)?;
        folder.remove_all(&place)?;
        folder.make(SESSIONS)?;
        folder.rename(aside, &place)?;
        if shared.options.durability == Durability::PowerCut {
            folder.sync()?;
        }
        self.heal(session, &[])
    }
}

impl Store {
    /// Puts what was taken over in the place of a session, which goes.
    fn exchange(&mut self, session: &SessionId, aside: &str, place: &str) -> FilesFaultResult<()> {
        let shared = self.shared.clone();
        let folder = &shared.folder;
        // What the journal holds would be put over the new files after a crash.
        self.empty_journal()?;
        Due::of(&self.index.path).begin()?;
        // People may keep notes beside ours. They are in both folders until the earlier one goes.
        for inner in below(folder, place, "")?.iter().filter(|inner| Kind::of(inner).is_none()) {
            if let Some((bytes, stamp)) = folder.look().read(&format!("{place}/{inner}"))? {
                folder.write(&format!("{aside}/{inner}"), &bytes, stamp.time)?;
            }
        }
        if shared.options.durability == Durability::PowerCut {
            folder.sync()?;
        }
        folder.exchange(aside, place)?;
        if shared.options.durability == Durability::PowerCut {
            folder.sync()?;
        }
        folder.remove_all(aside)?;
        self.heal(session, &[])?;
        self.tidy(true);
        Ok(())
    }
}

fn decode_head(path: &str, bytes: &[u8]) -> StorageResult<SessionInfo> {
    match decode(path, HEAD, bytes)? {
        Record::Head(head) => Ok(head.info),
        _ => Err(corrupt(path, "it is not a session head")),
    }
}

/// Removes contents that pages carry, or that history does not refer to.
fn drop_idle(
    folder: &Folder,
    session: &SessionId,
    aside: &str,
    carried: &HashSet<ContentHash>,
) -> FilesFaultResult<()> {
    let mut wanted: HashSet<String> = HashSet::new();
    for inner in below(folder, aside, "history")? {
        if let Some(Record::Entry(entry)) = read_aside(folder, session, aside, &inner)? {
            let assigned = entry.inverse.pages.iter().filter_map(|before| before.assigned);
            let apart = assigned.filter(|hash| !carried.contains(hash));
            wanted.extend(apart.map(|hash| Spot::Content(hash).path()));
        }
    }
    for inner in below(folder, aside, "contents")? {
        if !wanted.contains(&inner) {
            folder.remove(&format!("{aside}/{inner}"))?;
        }
    }
    Ok(())
}

/// Lists the files below a folder of what is taken over.
fn below(folder: &Folder, aside: &str, below: &str) -> FilesFaultResult<Vec<String>> {
    let mut all = Vec::new();
    walk(folder, aside, below, &mut |inner| {
        all.push(inner.to_owned());
        Ok(())
    })?;
    Ok(all)
}

fn read_aside(
    folder: &Folder,
    session: &SessionId,
    aside: &str,
    inner: &str,
) -> StorageResult<Option<Record>> {
    if Kind::of(inner).is_none() {
        return Ok(None);
    }
    let read = folder.look().read(&format!("{aside}/{inner}"))?;
    let path = format!("{}/{inner}", names::session(session));
    read.map(|(bytes, _)| decode(&path, inner, &bytes)).transpose()
}
