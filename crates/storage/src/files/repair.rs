//! Mending: what cannot be read is moved into a quarantine, what others still know of it is written
//! again, and the index is made anew.
//!
//! ```text
//! all files of a session ─► quarantine ─► written again from the index, or from what they still say
//!     ─► stand-ins for lost entries ─► lost segments ─► the head counts what is there
//! ```
//!
//! Words that are lost stay lost here: `contexture_core::storage::check::repair_session` puts others in their
//! place, as an edit: those that a file edited by hand still says, or a placeholder.

mod findings;
mod history;
mod local;
mod restore;
mod unproven;

use std::collections::{BTreeSet, HashSet};

use contexture_core::{
    Page, Revision, SegmentId, SessionId, Timestamp,
    storage::{ContentHash, Place, SessionInfo, StorageResult, Trace, check::Remains},
};

use super::{
    folder::{Folder, Form},
    index::{self, FilesFaultResult},
    names::{self, HEAD, QUARANTINE, SESSIONS, Spot},
    record::{Head, Record},
    store::Store,
    sync::{decode, session_folders, walk},
    verify::problems,
};
use findings::Findings;

pub(crate) use local::make_ready;
pub(crate) use unproven::unproven;

impl Store {
    /// Repairs what can be repaired, and returns what was done. Nothing is deleted.
    pub(crate) fn repair(&mut self) -> FilesFaultResult<Vec<String>> {
        let mut report = Vec::new();
        // What the journal holds would be put over what is mended after a restart of the machine.
        self.checkpoint()?;
        let known: BTreeSet<SessionId> =
            index::sessions(&self.index.db).unwrap_or_default().into_iter().collect();
        self.clear_places(&known, &mut report)?;
        let mut gone = known;
        for name in session_folders(&self.shared.folder)? {
            if self.repair_session(&name, &mut report)? {
                gone.retain(|session| names::session(session) != format!("{SESSIONS}/{name}"));
            }
        }
        for session in gone {
            report.push(format!("session '{session}' is lost: none of its files is left"));
        }
        // An index that says what the files say is left as it is.
        let is_sound =
            problems(&self.shared.folder, &self.index.db).is_ok_and(|all| all.is_empty());
        if !report.is_empty() || !is_sound {
            self.remake_index()?;
            report.push("the index was rebuilt from the files".to_owned());
        }
        Ok(report)
    }

    /// Moves away what lies in the place of a session's folder and is none.
    fn clear_places(
        &mut self,
        known: &BTreeSet<SessionId>,
        report: &mut Vec<String>,
    ) -> FilesFaultResult<()> {
        let entries = self.shared.folder.list(SESSIONS)?.into_iter();
        let safe = entries.filter(|entry| names::is_safe(&entry.name));
        for (name, form) in safe.map(|entry| (entry.name, entry.form)) {
            let path = format!("{SESSIONS}/{name}");
            let is_known = known.iter().any(|session| names::session(session) == path);
            let what = match form {
                Form::Folder => continue,
                Form::File if !is_known => continue,
                Form::File => "it is a file where a session's folder should be",
                Form::Other => "it is a symlink or special file, which is never followed",
            };
            report.push(self.quarantine(&path, what)?);
        }
        Ok(())
    }

    /// Repairs a session; tells whether anything of it is left.
    fn repair_session(&mut self, name: &str, report: &mut Vec<String>) -> FilesFaultResult<bool> {
        let root = format!("{SESSIONS}/{name}");
        let mut found = Findings::of(&self.shared.folder, &root)?;
        let damaged = self.damaged(name, &found);
        let mut done = report.len();
        for (inner, reason) in &found.bad {
            report.push(self.quarantine(&format!("{root}/{inner}"), reason)?);
        }
        self.restore(name, &found, &damaged, report)?;
        self.look_again(&root, &mut found, &mut done, report)?;
        self.salvage(name, &found, &damaged, report)?;
        self.look_again(&root, &mut found, &mut done, report)?;
        if !found.is_there() {
            return Ok(false);
        }
        self.fill_history(&root, &found, report)?;
        self.drop_taken_away(&root, &found, report)?;
        self.look_again(&root, &mut found, &mut done, report)?;
        self.forget_lost(&root, &found, report)?;
        self.rebuild_segments(&root, &found, report)?;
        self.look_again(&root, &mut found, &mut done, report)?;
        self.recount(name, &found, report)?;
        Ok(true)
    }

    /// Reads a session again where something was done to it.
    fn look_again(
        &self,
        root: &str,
        found: &mut Findings,
        done: &mut usize,
        report: &[String],
    ) -> FilesFaultResult<()> {
        if report.len() > *done {
            *done = report.len();
            *found = Findings::of(&self.shared.folder, root)?;
        }
        Ok(())
    }

    /// Writes entries for the revisions that have none.
    fn fill_history(
        &mut self,
        root: &str,
        found: &Findings,
        report: &mut Vec<String>,
    ) -> FilesFaultResult<()> {
        for entry in history::stand_ins(found) {
            let revision = entry.revision;
            let path = format!("{root}/{}", Spot::Entry(revision).path());
            self.write_again(&path, &Record::Entry(entry))?;
            report.push(format!("{path} was written as a stand-in for the lost entry"));
        }
        Ok(())
    }

    /// Moves pages away that are there although an edit took them away.
    fn drop_taken_away(
        &mut self,
        root: &str,
        found: &Findings,
        report: &mut Vec<String>,
    ) -> FilesFaultResult<()> {
        let newest = found.newest_touches();
        for page in found.pages.values() {
            let Some((revision, touch)) = newest.get(&page.index) else { continue };
            if touch.after.is_none() && *revision > page.revision.0 {
                let path = format!("{root}/{}", Spot::Page(page.index.clone()).path());
                report.push(self.quarantine(&path, &format!("revision {revision} removed it"))?);
            }
        }
        Ok(())
    }

    /// Scrubs what refers to contents that are lost from a session's history, and moves contents away
    /// that nothing refers to. The entries as they were go to the quarantine.
    fn forget_lost(
        &mut self,
        root: &str,
        found: &Findings,
        report: &mut Vec<String>,
    ) -> FilesFaultResult<()> {
        let shared = self.shared.clone();
        let is_lost = |hash: &ContentHash| !found.stored.contains(hash);
        let missing = found.missing();
        for (revision, entry) in &found.entries {
            let lost = || {
                let touches = entry.touches.iter();
                touches.filter(|touch| touch.contents().any(|hash| is_lost(&hash)))
            };
            // What became of a page that is gone is read here, until a page stands in its place.
            if lost().next().is_none() || lost().any(|touch| missing.contains(&touch.index)) {
                continue;
            }
            let inner = Spot::Entry(Revision(*revision)).path();
            let path = format!("{root}/{inner}");
            let Some((was, _)) = shared.folder.look().read(&path)? else { continue };
            let Record::Entry(mut entry) = decode(&path, &inner, &was)? else { continue };
            if !entry.forget(is_lost) {
                continue;
            }
            let bytes = Record::Entry(entry).encode(&path)?;
            let away = self.replace(&path, &bytes, "it referred to lost content")?;
            report.push(format!(
                "{path} no longer refers to lost content; the previous file is {away}"
            ));
        }
        let touches = || found.entries.values().flat_map(|entry| &entry.touches);
        let assigned: HashSet<ContentHash> = touches().filter_map(|touch| touch.assigned).collect();
        for hash in found.apart.iter().filter(|hash| !assigned.contains(*hash)) {
            let path = format!("{root}/{}", Spot::Content(*hash).path());
            report.push(self.quarantine(&path, "no history entry refers to it")?);
        }
        Ok(())
    }

    /// Makes the segments again whose pages are there and whose own files are not.
    fn rebuild_segments(
        &mut self,
        root: &str,
        found: &Findings,
        report: &mut Vec<String>,
    ) -> FilesFaultResult<()> {
        let of_pages: BTreeSet<&SegmentId> =
            found.pages.keys().map(contexture_core::PageIndex::segment).collect();
        let mut behind = found.segments.values().map(|place| place + 1).max().unwrap_or(0);
        for id in of_pages.into_iter().filter(|id| !found.segments.contains_key(*id)) {
            let pages: Vec<&Page> =
                found.pages.values().filter(|page| page.index.segment() == id).collect();
            let at = found.entries.last_key_value().map(|(_, entry)| entry.at);
            let remains = Remains {
                id,
                pages: &pages,
                before: found.earlier.get(id),
                behind,
                revision: Revision(found.newest()),
                at: at.unwrap_or(Timestamp::from_millis(0)),
            };
            let path = format!("{root}/{}", Spot::Segment(id.clone()).path());
            let segment = remains.rebuild();
            behind = behind.max(segment.ordinal + 1);
            report.push(format!(
                "{path} was lost and was rebuilt from its pages, with kind {} and permission {}: \
                 change them if they are wrong",
                segment.kind, segment.permission
            ));
            self.write_again(&path, &Record::Segment(segment))?;
        }
        Ok(())
    }

    /// Lets the head count the files that are there, beyond all that they speak of. One that is lost
    /// is made again.
    fn recount(
        &mut self,
        name: &str,
        found: &Findings,
        report: &mut Vec<String>,
    ) -> FilesFaultResult<()> {
        let Some(head) = found.head.clone() else { return self.make_head(name, found, report) };
        let path = format!("{}/{HEAD}", names::session(&head.info.id));
        let other = head.files.differences(&found.files).into_iter();
        let mut other: Vec<_> = other.map(|(place, wrong)| format!("{place}: {wrong}")).collect();
        let mut info = head.info.clone();
        info.revision = Revision(found.newest());
        info.next_place = Place(found.next_place());
        if info != head.info {
            other.push("other files mention later edits or places".to_owned());
        }
        if other.is_empty() {
            return Ok(());
        }
        let new = Head { info, files: found.files, ..head };
        let bytes = Record::Head(new).encode(&path)?;
        let away = self.replace(&path, &bytes, "its counts of files were wrong")?;
        let other = other.join("; ");
        report.push(format!(
            "{path} now counts the files that exist; the previous file is {away} ({other})"
        ));
        Ok(())
    }

    /// Makes a head for a session that has lost it, from what its other files say.
    fn make_head(
        &mut self,
        name: &str,
        found: &Findings,
        report: &mut Vec<String>,
    ) -> FilesFaultResult<()> {
        let Some(id) = names::decode(name).and_then(|name| name.parse::<SessionId>().ok()) else {
            let root = format!("{SESSIONS}/{name}");
            let reason = format!("it has no {HEAD}, and its name does not say which session it is");
            report.push(self.quarantine(&root, &reason)?);
            return Ok(());
        };
        let times = || found.entries.values().map(|entry| entry.at);
        let epoch = Timestamp::from_millis(0);
        let info = SessionInfo {
            id: id.clone(),
            app: String::new(),
            revision: Revision(found.newest()),
            next_place: Place(found.next_place()),
            mark: crate::random::mark("a session's mark")?,
            created_at: times().min().unwrap_or(epoch),
            updated_at: times().max().unwrap_or(epoch),
        };
        let path = format!("{}/{HEAD}", names::session(&id));
        self.write_again(&path, &Record::Head(Head { info, beside: 0, files: found.files }))?;
        report.push(format!(
            "{path} was rebuilt from the history; the session's app is no longer known"
        ));
        Ok(())
    }

    /// Writes a file that is not there.
    fn write_again(&mut self, path: &str, record: &Record) -> FilesFaultResult<()> {
        let bytes = record.encode(path)?;
        Ok(self.put_in_place(path, &bytes)?)
    }

    /// Puts other bytes in a file's place. What it held goes to the quarantine; returns where it lies.
    fn replace(&mut self, path: &str, bytes: &[u8], why: &str) -> FilesFaultResult<String> {
        let shared = self.shared.clone();
        let folder = &shared.folder;
        let (away, time) = (free_place(folder, path)?, self.tick());
        if let Some((was, _)) = folder.look().read(path)? {
            let note = format!("{path} was like this when {why}\n");
            folder.write(&away, &was, time)?;
            folder.write(&format!("{away}.note"), note.as_bytes(), time)?;
        }
        self.put_in_place(path, bytes)?;
        Ok(away)
    }

    fn put_in_place(&mut self, path: &str, bytes: &[u8]) -> StorageResult<()> {
        let (new, time) = (format!("{}/mended", names::TMP), self.tick());
        let folder = &self.shared.folder;
        folder.remove(&new)?;
        folder.write(&new, bytes, time)?;
        folder.rename(&new, path)
    }

    /// Moves a file that cannot be read out of the way.
    fn quarantine(&mut self, path: &str, reason: &str) -> StorageResult<String> {
        let time = self.tick();
        let why = format!("it could not be used: {reason}");
        let away = set_aside(&self.shared.folder, path, &why, time)?;
        Ok(format!("{path} was moved to {away}: {reason}"))
    }
}

/// Moves what a session without a head has left out of the way of a new one of its name. Folders that
/// hold no file stay.
pub(crate) fn set_remains_aside(folder: &Folder, place: &str, time: i64) -> FilesFaultResult<()> {
    let mut holds_something = false;
    walk(folder, place, "", &mut |_| {
        holds_something = true;
        Ok(())
    })?;
    if holds_something {
        let why = format!("it has no {HEAD}, and a session of its name was made");
        let away = set_aside(folder, place, &why, time)?;
        tracing::warn!(place, away, "the remains of a session without a head were set aside");
    }
    Ok(())
}

/// Moves a file or folder into the quarantine, with a note why; returns where it lies now.
fn set_aside(folder: &Folder, path: &str, why: &str, time: i64) -> StorageResult<String> {
    let away = free_place(folder, path)?;
    folder.rename(path, &away)?;
    let note = format!("{path} was moved here, because {why}\n");
    folder.write(&format!("{away}.note"), note.as_bytes(), time)?;
    Ok(away)
}

/// Returns the quarantine as a trace, where there is something in it.
pub(crate) fn quarantine_trace(folder: &Folder) -> StorageResult<Option<Trace>> {
    let is_empty = folder.list(QUARANTINE)?.is_empty();
    Ok((!is_empty).then(|| Trace::quarantine(folder.path().display())))
}

/// Returns a path in the quarantine that nothing has taken.
fn free_place(folder: &Folder, path: &str) -> StorageResult<String> {
    let taken = folder.list(QUARANTINE)?;
    let is_taken = |name: &str| taken.iter().any(|entry| entry.name == name);
    let name = names_away(path).find(|name| !is_taken(name) && !is_taken(&format!("{name}.note")));
    Ok(format!("{QUARANTINE}/{}", name.expect("there are names without end")))
}

/// Returns the names that what lay at a path gets in the quarantine, oldest first.
fn names_away(path: &str) -> impl Iterator<Item = String> {
    let flat = path.replace('/', "__");
    (1_u64..).map(move |count| match count {
        1 => flat.clone(),
        count => format!("{count}__{flat}"),
    })
}
