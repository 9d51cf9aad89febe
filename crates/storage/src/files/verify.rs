//! Verifying everything: every file, the index against the files, and what refers to what.

use std::collections::{BTreeMap, BTreeSet};

use contexture_core::{
    PageIndex, Revision, SegmentId, SessionId,
    storage::{ContentHash, Version},
};
use rusqlite::Connection;

use super::{
    folder::{Folder, Form},
    index::{self, FilesFault, FilesFaultResult},
    names::{self, HEAD, Kind, SESSIONS, Spot},
    record::{Head, Record},
    sync::{decode, read_head, session_folders, walk},
    tally::Tally,
};
use crate::sqlite::{lookup, read};

/// Lists what is wrong, one sentence each.
pub(crate) fn problems(folder: &Folder, db: &Connection) -> FilesFaultResult<Vec<String>> {
    let mut problems = index_problems(db)?;
    let mut known: BTreeSet<SessionId> = index::sessions(db)?.into_iter().collect();
    for name in session_folders(folder)? {
        match read_head(folder, &name) {
            Ok(Some(head)) => {
                known.remove(&head.info.id);
                let mut survey = Survey::new(folder, db, &head);
                survey.files()?;
                survey.compare();
                problems.append(&mut survey.problems);
            }
            // A folder that a crash left empty is no session.
            Ok(None) if is_empty(folder, &format!("{SESSIONS}/{name}"))? => {}
            Ok(None) => problems.push(format!("{SESSIONS}/{name}/{HEAD} is missing")),
            Err(error) => {
                known.retain(|session| names::session(session) != format!("{SESSIONS}/{name}"));
                problems.push(error.to_string());
            }
        }
    }
    problems.extend(known.iter().map(|gone| format!("session '{gone}' has no files")));
    let entries = folder.list(SESSIONS)?.into_iter();
    for entry in entries.filter(|entry| entry.form == Form::Other && names::is_safe(&entry.name)) {
        let name = entry.name;
        problems.push(format!(
            "{SESSIONS}/{name} is a symlink or special file, which is never followed"
        ));
    }
    Ok(problems)
}

/// Tells whether a folder holds no file of ours.
fn is_empty(folder: &Folder, path: &str) -> FilesFaultResult<bool> {
    let mut is_empty = true;
    walk(folder, path, "", &mut |inner| {
        is_empty &= Kind::of(inner).is_none();
        Ok(())
    })?;
    Ok(is_empty)
}

/// Lists what is wrong with the index itself.
pub(crate) fn index_problems(db: &Connection) -> FilesFaultResult<Vec<String>> {
    let lines =
        read::collect(db, "PRAGMA integrity_check(100)", [], |row| Ok(row.get::<_, String>(0)?))?;
    let mut problems: Vec<String> = lines.into_iter().filter(|line| line != "ok").collect();
    let sql = "SELECT segments.name, counted.number, sum(counted.by) FROM (
                   SELECT segment, parent AS number, 1 AS by FROM pages
                   WHERE standing = 0 AND parent IS NOT NULL
                   UNION ALL SELECT segment, number, -listed FROM directories) AS counted
               LEFT JOIN segments ON segments.id = counted.segment
               GROUP BY counted.segment, counted.number HAVING sum(counted.by) <> 0";
    problems.extend(read::collect(db, sql, [], |row| {
        let segment: Option<String> = row.get(0)?;
        let (number, by): (i64, i64) = (row.get(1)?, row.get(2)?);
        let segment = segment.unwrap_or_default();
        Ok(format!("page {segment}-{number} lists {by} more pages than the index counts"))
    })?);
    Ok(problems)
}

/// Looks through one session.
struct Survey<'a> {
    folder: &'a Folder,
    db: &'a Connection,
    session: &'a SessionId,
    head: &'a Head,
    /// The session's key, if the index knows the state the head speaks of.
    key: Option<i64>,
    problems: Vec<String>,
    seen: BTreeSet<String>,
    /// How many files there are, with those that are missed by name.
    found: Tally,
    segments: BTreeSet<SegmentId>,
    pages: BTreeMap<PageIndex, Version>,
    /// Contents carried by pages.
    carried: BTreeSet<ContentHash>,
    /// Contents with a file of their own.
    apart: BTreeSet<ContentHash>,
    /// How often history says each content was assigned.
    references: BTreeMap<ContentHash, u64>,
    /// What the newest edit of each page left of it, if that can still be told.
    newest: BTreeMap<PageIndex, (u64, Option<Option<Version>>)>,
    entries: BTreeSet<u64>,
}

impl<'a> Survey<'a> {
    fn new(folder: &'a Folder, db: &'a Connection, head: &'a Head) -> Self {
        Self {
            folder,
            db,
            session: &head.info.id,
            head,
            key: None,
            problems: Vec::new(),
            seen: BTreeSet::new(),
            found: Tally::default(),
            segments: BTreeSet::new(),
            pages: BTreeMap::new(),
            carried: BTreeSet::new(),
            apart: BTreeSet::new(),
            references: BTreeMap::new(),
            newest: BTreeMap::new(),
            entries: BTreeSet::new(),
        }
    }

    fn files(&mut self) -> FilesFaultResult<()> {
        if index::head(self.db, self.session)?.as_ref() == Some(self.head) {
            self.key = index::key(self.db, self.session)?;
        }
        if self.key.is_none() {
            let line = format!("session '{}' is not in the index", self.session);
            self.problems.push(line);
        }
        let root = names::session(self.session);
        let mut look = self.folder.look();
        let (folder, db) = (self.folder, self.db);
        walk(folder, &root, "", &mut |inner| {
            let path = format!("{root}/{inner}");
            let Some(kind) = Kind::of(inner) else {
                // People may keep notes beside ours, but nothing that leads elsewhere.
                if let Err(error) = look.stamp(&path) {
                    self.problems.push(error.to_string());
                }
                return Ok(());
            };
            self.found.add(kind);
            self.seen.insert(inner.to_owned());
            let read = look.read(&path).and_then(|read| match read {
                Some((bytes, stamp)) => decode(&path, inner, &bytes).map(|it| Some((it, stamp))),
                None => Ok(None),
            });
            match read {
                Ok(Some((record, stamp))) => {
                    let known = self.key.map(|key| index::stamp(db, key, inner)).transpose()?;
                    if known.is_some_and(|known| known != Some(stamp)) {
                        self.problems.push(format!("{path} is not the file that the index knows"));
                    } else if let Some(key) = self.key
                        && !self.is_indexed(key, &record)?
                    {
                        self.problems.push(format!("{path} and the index disagree"));
                    }
                    self.note(record);
                }
                Ok(None) => {}
                Err(error) => self.problems.push(error.to_string()),
            }
            Ok(())
        })?;
        let Some(key) = self.key else { return Ok(()) };
        for (path, _) in index::files(self.db, key)? {
            if !self.seen.contains(&path) {
                Kind::of(&path).into_iter().for_each(|kind| self.found.add(kind));
                self.problems.push(format!("{root}/{path} is missing"));
            }
        }
        Ok(())
    }

    /// Tells whether the index says what a file says.
    fn is_indexed(&self, key: i64, record: &Record) -> Result<bool, FilesFault> {
        let (db, session) = (self.db, self.session);
        Ok(match record {
            Record::Head(head) => index::head(db, session)?.as_ref() == Some(head),
            Record::Segment(segment) => {
                let row = lookup::segment(db, key, session, &segment.id)?;
                row.and_then(|row| row.segment).as_ref() == Some(segment)
            }
            Record::Page(page, _) => {
                let indices = std::slice::from_ref(&page.index);
                read::pages(db, session, indices)?.pop().flatten().as_ref() == Some(page)
            }
            Record::Entry(entry) => {
                lookup::entry(db, key, session, entry.revision)?.as_ref() == Some(entry)
            }
            Record::Content(content) => index::is_carried(db, key, content.hash())?.1,
            // Their rows are read whole where they are asked for, and checked then.
            Record::View(_) | Record::Chunk(..) | Record::Custom(_) | Record::Run(_) => true,
            Record::Sent(..) => true,
        })
    }

    fn note(&mut self, record: Record) {
        match record {
            Record::Segment(segment) => drop(self.segments.insert(segment.id)),
            Record::Page(page, content) => {
                match (page.detail(), content) {
                    (Some(detail), Some(_)) => drop(self.carried.insert(detail.content)),
                    (Some(_), None) => {
                        self.problems.push(format!("page {} has no text", page.index));
                    }
                    (None, _) => {}
                }
                self.pages.insert(page.index, page.version);
            }
            Record::Content(content) => drop(self.apart.insert(content.hash())),
            Record::Entry(entry) => {
                self.entries.insert(entry.revision.0);
                for before in entry.inverse.pages {
                    if let Some(hash) = before.assigned {
                        *self.references.entry(hash).or_default() += 1;
                    }
                    let newest = self.newest.entry(before.index).or_default();
                    // What purged or undid it may be lost: then nobody knows whether it must be there.
                    let is_void =
                        before.after.is_some() && (before.purged || entry.undone_by.is_some());
                    if entry.revision.0 >= newest.0 {
                        *newest = (entry.revision.0, (!is_void).then_some(before.after));
                    }
                }
            }
            Record::Head(_)
            | Record::View(_)
            | Record::Chunk(..)
            | Record::Custom(_)
            | Record::Run(_)
            | Record::Sent(..) => {}
        }
    }

    /// Compares what history says with what is there.
    fn compare(&mut self) {
        let of = format!("of session '{}'", self.session);
        let root = names::session(self.session);
        for (place, wrong) in self.head.files.differences(&self.found) {
            self.problems.push(format!("{root}/{place}: {wrong}"));
        }
        let revision = self.head.info.revision.0;
        let entries = self.entries.len();
        if u64::try_from(entries) != Ok(revision) {
            let gap = (1..=revision).find(|number| !self.entries.contains(number));
            let gap = gap.map(|number| Spot::Entry(Revision(number)).path());
            let gap =
                gap.map_or(String::new(), |path| format!("; the first one missing is {path}"));
            self.problems.push(format!(
                "the history {of} has {entries} entries, but its revision is {revision}{gap}"
            ));
        }
        let of_pages: BTreeSet<&SegmentId> = self.pages.keys().map(PageIndex::segment).collect();
        for segment in of_pages.into_iter().filter(|segment| !self.segments.contains(*segment)) {
            let path = Spot::Segment(segment.clone()).path();
            self.problems.push(format!("{root}/{path} is missing, but pages of the segment exist"));
        }
        for (index, (revision, version)) in &self.newest {
            let stands = self.pages.get(index).copied();
            if version.is_some_and(|version| version != stands) {
                let path = Spot::Page(index.clone()).path();
                let line = format!("{path} {of} is not as revision {revision} left it");
                self.problems.push(line);
            }
        }
        for (hash, count) in &self.references {
            if !self.carried.contains(hash) && !self.apart.contains(hash) {
                let line = format!(
                    "content {hash} {of} is missing, but the history refers to it {count} times"
                );
                self.problems.push(line);
            }
        }
        for hash in &self.apart {
            if !self.references.contains_key(hash) {
                self.problems.push(format!("nothing refers to content {hash} {of}"));
            }
        }
    }
}
