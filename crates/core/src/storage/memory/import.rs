//! Taking over a session into memory.

use std::collections::BTreeMap;

use super::{StoredSessions, session::Session};
use crate::{
    HistoryEntry, SessionId, Timestamp,
    storage::{
        Content, ContentHash, ImportPart, NewSession, SessionInfo, StorageError, StorageResult,
        ViewHead,
    },
};

/// A session being taken over.
#[derive(Debug, Clone)]
pub(super) struct Import {
    pub(super) session: Session,
    /// Contents that no entry has assigned yet.
    contents: BTreeMap<ContentHash, Content>,
    /// The head of the session whose place it takes.
    over: Option<SessionInfo>,
}

impl StoredSessions {
    pub(super) fn import(&mut self, id: &SessionId, part: ImportPart) -> StorageResult<()> {
        let over = match &part {
            ImportPart::Begin => None,
            ImportPart::BeginOver(over) => Some(over),
            _ => self.imports.get(id).and_then(|import| import.over.as_ref()),
        };
        ImportPart::admit(id, self.sessions.get(id).map(|session| &session.info), over)?;
        if let ImportPart::Begin | ImportPart::BeginOver(_) = part {
            let over = over.cloned();
            self.drop_import(id);
            let at = Timestamp::from_millis(0);
            let session = Session::new(id, NewSession { app: String::new(), at, mark: None });
            self.imports.insert(id.clone(), Import { session, contents: BTreeMap::new(), over });
            return Ok(());
        }
        let Some(import) = self.imports.get_mut(id) else {
            return Err(StorageError::SessionMissing { session: id.clone() });
        };
        let session = &mut import.session;
        match part {
            ImportPart::Begin | ImportPart::BeginOver(_) => {}
            ImportPart::Segments(segments) => {
                let named = segments.into_iter().map(|segment| (segment.id.clone(), segment));
                session.segments.extend(named);
            }
            ImportPart::Pages(pages) => {
                for page in pages {
                    session.put_page(&page.index.clone(), Some(page));
                }
            }
            ImportPart::Contents(contents) => {
                let named = contents.into_iter().map(|content| (content.hash(), content));
                import.contents.extend(named);
            }
            ImportPart::History(entries) => self.import_history(id, entries),
            ImportPart::Levels(chunks) => session.levels.extend(chunks),
            ImportPart::Views(heads) => {
                for ViewHead { view, focus, touched } in heads {
                    session.focus.extend(focus.map(|focus| (view.clone(), focus)));
                    session.views.insert(view, touched);
                }
            }
            ImportPart::Custom(custom) => session.custom.extend(custom),
            ImportPart::Runs(records) => {
                session.runs.extend(records.into_iter().map(|record| (record.key.clone(), record)));
            }
            ImportPart::Ledger(key, records) => session.ledgers.import(key, records),
            ImportPart::Finish(info) => {
                session.info = info;
                let Some((id, import)) = self.imports.remove_entry(id) else { return Ok(()) };
                if let Some(earlier) = self.sessions.insert(id, import.session) {
                    self.release(&earlier.references());
                }
            }
        }
        Ok(())
    }

    /// Drops what was begun and never finished.
    pub(super) fn drop_import(&mut self, id: &SessionId) {
        if let Some(left) = self.imports.remove(id) {
            self.release(&left.session.references());
        }
    }

    fn import_history(&mut self, id: &SessionId, entries: Vec<HistoryEntry>) {
        let Some(import) = self.imports.get_mut(id) else { return };
        for entry in entries {
            for hash in entry.inverse.pages.iter().filter_map(|before| before.assigned) {
                if let Some((_, references)) = self.contents.get_mut(&hash) {
                    *references += 1;
                } else if let Some(content) = import.contents.get(&hash) {
                    self.contents.insert(hash, (content.clone(), 1));
                }
            }
            import.session.history.insert(entry.revision, entry);
        }
    }
}
