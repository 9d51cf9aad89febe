//! Writing files again that are lost: from the index, where it knows the very state the other files
//! are of, and from what a damaged file still says.

use std::collections::BTreeMap;

use contexture_core::{Page, SessionId, storage::Content};

use super::{
    super::{
        index::{self, FilesFaultResult},
        names::{self, HEAD, SESSIONS, Spot},
        reading::carried_by,
        record::{self, Record},
        store::Store,
        sync::decode,
    },
    findings::Findings,
};

/// The bytes of files that cannot be read, from the session's folder on.
pub(super) type Damaged = BTreeMap<String, Vec<u8>>;

impl Store {
    /// Writes the files of a session again that the index knows and that are gone or damaged.
    ///
    /// Only where it says the same as every file that can be read: then it is of the state they are of.
    pub(super) fn restore(
        &mut self,
        name: &str,
        found: &Findings,
        damaged: &Damaged,
        report: &mut Vec<String>,
    ) -> FilesFaultResult<()> {
        let Some((key, session)) = self.indexed(name, found) else { return Ok(()) };
        // Anybody who asks a damaged index learns nothing.
        let Ok(files) = index::files(&self.index.db, key) else { return Ok(()) };
        let lost = files.into_iter().filter(|(inner, _)| !found.sound.contains(inner));
        let lost: Vec<String> = lost.map(|(inner, _)| inner).collect();
        if lost.is_empty() || self.agrees(name, found, key, &session).is_none() {
            return Ok(());
        }
        for inner in lost {
            let Some(spot) = index::spot(&self.index.db, key, &inner)? else { continue };
            let record = index::record(&self.index.db, key, &session, &spot)?;
            let path = format!("{SESSIONS}/{name}/{inner}");
            let Some(record) = self.with_words(key, name, &spot, record, damaged)? else {
                report.push(format!("{path} is missing and was not found elsewhere"));
                continue;
            };
            let without = match &record {
                Record::Page(page, None) if page.detail().is_some() => ", without its text",
                _ => "",
            };
            self.write_again(&path, &record)?;
            report.push(format!("{path} was written again from the index{without}"));
        }
        Ok(())
    }

    /// Returns a session that the index knows, with its key there.
    fn indexed(&self, name: &str, found: &Findings) -> Option<(i64, SessionId)> {
        let session: SessionId = match &found.head {
            Some(head) => head.info.id.clone(),
            None => names::decode(name)?.parse().ok()?,
        };
        Some((index::key(&self.index.db, &session).ok()??, session))
    }

    /// Finds out whether the index says the same as every file that can be read; none where it does not.
    fn agrees(&self, name: &str, found: &Findings, key: i64, session: &SessionId) -> Option<()> {
        let db = &self.index.db;
        let mut look = self.shared.folder.look();
        for inner in &found.sound {
            let path = format!("{SESSIONS}/{name}/{inner}");
            let (bytes, _) = look.read(&path).ok()??;
            let same = match decode(&path, inner, &bytes).ok()? {
                Record::Content(content) => index::is_carried(db, key, content.hash()).ok()?.1,
                Record::Page(page, _) => {
                    let known = index::record(db, key, session, &Spot::Page(page.index.clone()));
                    known.ok()? == Some(Record::Page(page, None))
                }
                says => index::record(db, key, session, &says.spot()).ok()? == Some(says),
            };
            same.then_some(())?;
        }
        Some(())
    }

    /// Adds the words to a page, or makes the file of a content, where they are found.
    fn with_words(
        &self,
        key: i64,
        name: &str,
        spot: &Spot,
        record: Option<Record>,
        damaged: &Damaged,
    ) -> FilesFaultResult<Option<Record>> {
        let hash = match (spot, &record) {
            (Spot::Content(hash), _) => *hash,
            (_, Some(Record::Page(page, _))) => match page.detail() {
                Some(detail) => detail.content,
                None => return Ok(record),
            },
            _ => return Ok(record),
        };
        let mut content = damaged.get(&spot.path()).and_then(|bytes| record::words(bytes, hash));
        let mut look = self.shared.folder.look();
        let root = format!("{SESSIONS}/{name}");
        for other in index::carriers(&self.index.db, key, hash)? {
            content = content.or_else(|| carried_by(&mut look, &root, &other, hash).ok());
        }
        Ok(match (record, content) {
            (Some(Record::Page(page, _)), content) => Some(Record::Page(page, content)),
            (_, content) => content.map(Record::Content),
        })
    }

    /// Writes pages again from files that are damaged, where history says that there was such a page.
    /// Their words come with them only if they are proven by their hash.
    pub(super) fn salvage(
        &mut self,
        name: &str,
        found: &Findings,
        damaged: &Damaged,
        report: &mut Vec<String>,
    ) -> FilesFaultResult<()> {
        let newest = found.newest_touches();
        let mut salvaged: Vec<(String, Page, Option<Content>)> = Vec::new();
        for (inner, bytes) in damaged.iter().filter(|(inner, _)| !found.sound.contains(*inner)) {
            let Some(page) = record::page_of(bytes) else { continue };
            let is_own = Spot::Page(page.index.clone()).path() == *inner;
            let is_newest = newest
                .get(&page.index)
                .is_some_and(|(_, touch)| touch.after == Some(page.version) && !touch.is_void);
            if is_own && is_newest {
                let hash = page.detail().map(|detail| detail.content);
                let content = hash.and_then(|hash| record::words(bytes, hash));
                salvaged.push((format!("{SESSIONS}/{name}/{inner}"), page, content));
            }
        }
        for (path, page, content) in salvaged {
            let without = match (page.detail(), &content) {
                (Some(_), None) => ", without its text",
                _ => "",
            };
            self.write_again(&path, &Record::Page(page, content))?;
            report.push(format!("{path} was written again from its readable data{without}"));
        }
        Ok(())
    }

    /// Returns the bytes of files that cannot be read and may still say something.
    pub(super) fn damaged(&self, name: &str, found: &Findings) -> Damaged {
        let mut look = self.shared.folder.look();
        let pages = found.bad.iter().filter(|(inner, _)| inner != HEAD);
        let read = pages.filter_map(|(inner, _)| {
            let (bytes, _) = look.read(&format!("{SESSIONS}/{name}/{inner}")).ok()??;
            Some((inner.clone(), bytes))
        });
        read.collect()
    }
}
