//! Mending: what cannot be read is moved into a quarantine, and the index is made anew.

use std::collections::HashSet;

use contexture_core::{
    ContentHash, HistoryEntry, Page, Place, Revision, SessionId, Timestamp,
    storage::{SessionInfo, StorageResult},
};

use super::{
    folder::Folder,
    index::{self, Attempt},
    names::{self, HEAD, Kind, QUARANTINE, SESSIONS, Spot},
    record::{Head, Record},
    store::Store,
    sync::{decode, read_head, session_folders, walk},
    tally::Tally,
    verify::problems,
};

impl Store {
    /// Mends what can be mended, and tells what was done. Nothing is deleted.
    pub(crate) fn repair(&mut self) -> Attempt<Vec<String>> {
        let mut told = Vec::new();
        // What the journal holds would be put over what is mended after a restart of the machine.
        self.checkpoint()?;
        for name in session_folders(&self.shared.folder)? {
            self.repair_session(&name, &mut told)?;
        }
        // An index that says what the files say is left as it is.
        let is_sound =
            problems(&self.shared.folder, &self.index.db).is_ok_and(|all| all.is_empty());
        if !told.is_empty() || !is_sound {
            self.remake_index()?;
            told.push("the index was made anew from the files".to_owned());
        }
        Ok(told)
    }

    fn repair_session(&mut self, name: &str, told: &mut Vec<String>) -> Attempt<()> {
        let shared = self.shared.clone();
        let root = format!("{SESSIONS}/{name}");
        let mut bad: Vec<(String, String)> = Vec::new();
        let mut history = Vec::new();
        let mut next_place = 1;
        let mut files = Tally::default();
        let (mut stored, mut wanted) = (HashSet::new(), HashSet::new());
        let mut look = shared.folder.look();
        walk(&shared.folder, &root, "", &mut |inner| {
            let Some(kind) = Kind::of(inner) else { return Ok(()) };
            let path = format!("{root}/{inner}");
            let read = look.read(&path).and_then(|read| match read {
                Some((bytes, _)) => decode(&path, inner, &bytes).map(Some),
                None => Ok(None),
            });
            if matches!(read, Ok(Some(_))) {
                files.add(kind);
            }
            match read {
                Ok(Some(Record::Entry(entry))) => {
                    history.push((entry.revision, entry.at));
                    wanted.extend(referred(&entry));
                }
                Ok(Some(Record::Page(page, content))) => {
                    next_place = next_place.max(page.place.0 + 1);
                    stored.extend(content.map(|content| content.hash()));
                }
                Ok(Some(Record::Content(content))) => drop(stored.insert(content.hash())),
                Ok(_) => {}
                Err(error) => bad.push((inner.to_owned(), error.to_string())),
            }
            Ok(())
        })?;
        let gone = self.missing(name).into_iter();
        told.extend(gone.map(|path| format!("{path} is missing and was not found elsewhere")));
        for (inner, reason) in &bad {
            told.push(self.quarantine(&format!("{root}/{inner}"), reason)?);
        }
        let lost: HashSet<ContentHash> = wanted.difference(&stored).copied().collect();
        if !lost.is_empty() {
            self.forget_lost(&root, &history, &lost, told)?;
        }
        match read_head(&shared.folder, name) {
            Ok(Some(head)) if head.files != files => self.count_anew(head, files, told)?,
            Ok(None) if files.total() > 0 => {
                self.make_head(name, &history, next_place, files, told)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Names the files of a session that are gone, if the index knows the state its head speaks of.
    fn missing(&self, name: &str) -> Vec<String> {
        let (folder, db) = (&self.shared.folder, &self.index.db);
        let Ok(Some(head)) = read_head(folder, name) else { return Vec::new() };
        // Who asks a damaged index learns nothing.
        let known = index::head(db, &head.info.id).ok().flatten();
        let key = index::key(db, &head.info.id).ok().flatten();
        let Some(key) = key.filter(|_| known == Some(head)) else { return Vec::new() };
        let mut look = folder.look();
        let files = index::files(db, key).unwrap_or_default().into_iter();
        let paths = files.map(|(inner, _)| format!("{SESSIONS}/{name}/{inner}"));
        paths.filter(|path| matches!(look.stamp(path), Ok(None))).collect()
    }

    /// Lets a head count the files that are there, whatever became of the others.
    fn count_anew(&mut self, head: Head, files: Tally, told: &mut Vec<String>) -> Attempt<()> {
        let root = names::session(&head.info.id);
        let other = head.files.differences(&files).into_iter();
        let other: Vec<_> = other.map(|(place, wrong)| format!("{place}: {wrong}")).collect();
        let path = format!("{root}/{HEAD}");
        let bytes = Record::Head(Head { files, ..head }).encode(&path)?;
        let why = "it counted other files than are there";
        let away = self.replace(&path, &bytes, why)?;
        let other = other.join("; ");
        told.push(format!("{path} counts the files that are there; as it was: {away} ({other})"));
        Ok(())
    }

    /// Puts other bytes in a file's place. What it held goes to the quarantine; returns where it lies.
    fn replace(&mut self, path: &str, bytes: &[u8], why: &str) -> Attempt<String> {
        let shared = self.shared.clone();
        let folder = &shared.folder;
        let (away, time) = (free_place(folder, path)?, self.tick());
        if let Some((was, _)) = folder.look().read(path)? {
            let note = format!("{path} was like this when {why}\n");
            folder.write(&away, &was, time)?;
            folder.write(&format!("{away}.note"), note.as_bytes(), time)?;
        }
        let (new, time) = (format!("{}/mended", names::TMP), self.tick());
        folder.remove(&new)?;
        folder.write(&new, bytes, time)?;
        folder.rename(&new, path)?;
        Ok(away)
    }

    /// Scrubs what refers to contents that are lost from a session's history. The entries as they were
    /// go to the quarantine.
    fn forget_lost(
        &mut self,
        root: &str,
        history: &[(Revision, Timestamp)],
        lost: &HashSet<ContentHash>,
        told: &mut Vec<String>,
    ) -> Attempt<()> {
        let shared = self.shared.clone();
        let folder = &shared.folder;
        for (revision, _) in history {
            let inner = Spot::Entry(*revision).path();
            let path = format!("{root}/{inner}");
            let Some((was, _)) = folder.look().read(&path)? else { continue };
            let Record::Entry(mut entry) = decode(&path, &inner, &was)? else { continue };
            if !entry.forget(|hash| lost.contains(hash)) {
                continue;
            }
            let bytes = Record::Entry(entry).encode(&path)?;
            let away = self.replace(&path, &bytes, "it referred to a content that is lost")?;
            told.push(format!("{path} no longer refers to a lost content; as it was: {away}"));
        }
        Ok(())
    }

    /// Moves a file that cannot be read out of the way.
    fn quarantine(&mut self, path: &str, reason: &str) -> StorageResult<String> {
        let time = self.tick();
        let why = format!("it could not be read: {reason}");
        let away = set_aside(&self.shared.folder, path, &why, time)?;
        Ok(format!("{path} was moved to {away}: {reason}"))
    }

    /// Makes a head for a session that has lost it, from what its other files say.
    fn make_head(
        &mut self,
        name: &str,
        history: &[(Revision, Timestamp)],
        next_place: u64,
        files: Tally,
        told: &mut Vec<String>,
    ) -> Attempt<()> {
        let Some(id) = names::decode(name).and_then(|name| name.parse::<SessionId>().ok()) else {
            told.push(format!(
                "{SESSIONS}/{name} has no {HEAD}, and its name does not tell which session it is"
            ));
            return Ok(());
        };
        let epoch = Timestamp::from_millis(0);
        let info = SessionInfo {
            id: id.clone(),
            app: String::new(),
            revision: history.iter().map(|(revision, _)| *revision).max().unwrap_or_default(),
            next_place: Place(next_place),
            mark: crate::seed::mark("a session's mark")?,
            created_at: history.iter().map(|(_, at)| *at).min().unwrap_or(epoch),
            updated_at: history.iter().map(|(_, at)| *at).max().unwrap_or(epoch),
        };
        let path = format!("{}/{HEAD}", names::session(&id));
        let bytes = Record::Head(Head { info, beside: 0, files }).encode(&path)?;
        let time = self.tick();
        self.shared.folder.write(&path, &bytes, time)?;
        told.push(format!(
            "{path} was made anew from the history; the session's app is not known any more"
        ));
        Ok(())
    }
}

/// Returns the contents that an entry refers to.
fn referred(entry: &HistoryEntry) -> impl Iterator<Item = ContentHash> {
    entry.inverse.pages.iter().flat_map(|before| {
        let content = before.before.as_ref().and_then(Page::detail).map(|detail| detail.content);
        before.assigned.into_iter().chain(content)
    })
}

/// Moves what a session without a head has left out of the way of a new one of its name. Folders that
/// hold no file stay.
pub(crate) fn set_remains_aside(folder: &Folder, place: &str, time: i64) -> Attempt<()> {
    let mut holds_something = false;
    walk(folder, place, "", &mut |_| {
        holds_something = true;
        Ok(())
    })?;
    if holds_something {
        let why = format!("it has no {HEAD}, and a session of its name was made");
        let away = set_aside(folder, place, &why, time)?;
        tracing::warn!(place, away, "what a session without a head had left was set aside");
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

/// Returns a path in the quarantine that nothing has taken.
fn free_place(folder: &Folder, path: &str) -> StorageResult<String> {
    let flat = path.replace('/', "__");
    let taken = folder.list(QUARANTINE)?;
    let is_taken = |name: &str| taken.iter().any(|entry| entry.name == name);
    let mut name = flat.clone();
    let mut count = 1;
    while is_taken(&name) || is_taken(&format!("{name}.note")) {
        count += 1;
        name = format!("{count}__{flat}");
    }
    Ok(format!("{QUARANTINE}/{name}"))
}
