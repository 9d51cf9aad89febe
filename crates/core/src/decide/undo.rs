//! Undo: the inverse of an edit, committed as a new edit.
//!
//! An edit can be taken back while everything it touched is still as it left it. Versions decide
//! that for pages and segments, values for levels, focus and custom state.

use super::{Decision, Draft, Halt, Subject};
use crate::{
    Actor, Error, HistoryEntry, Inverse, Operation, Page, PageBefore, PageIndex, Revision, Segment,
    SegmentBefore, Standing, UndoneMark,
    permission::{self, AccessLevel},
};

/// Takes an edit back: the one named, or the caller's own newest.
pub(super) fn undo(draft: &mut Draft<'_>, revision: Option<Revision>) -> Decision {
    let revision = match revision {
        Some(revision) => revision,
        None => draft.newest_undoable()?.ok_or_else(|| Error::NothingFound {
            what: format!("an edit of {} to undo", draft.request.actor),
            hint: "`history` shows what was done",
        })?,
    };
    let missing = || Error::NothingFound {
        what: format!("revision {revision}"),
        hint: "`history` shows what was done",
    };
    let entry = draft.history(revision)?.ok_or_else(missing)?;
    may_undo(draft, entry)?;
    if let Some(by) = entry.undone_by {
        let reason = format!("revision {by} undid it already; undo that one to redo it");
        return Err(Error::CannotUndo { revision, reason }.into());
    }
    // An edit that was redone is in force through the edit that redid it.
    let source = match entry.redone_by {
        Some(by) => draft.history(by)?.ok_or_else(missing)?,
        None => entry,
    };
    refuse_purged(entry, &source.inverse)?;
    draft.view = entry.view.clone();
    mark(draft, entry)?;
    let reverse = Reverse { revision, source: source.revision };
    reverse.segments(draft, &source.inverse)?;
    reverse.pages(draft, &source.inverse)?;
    reverse.rest(draft, &source.inverse)?;
    draft.subjects = source.pages.clone();
    Ok(())
}

fn refuse_purged(entry: &HistoryEntry, inverse: &Inverse) -> Decision {
    let lost = inverse.pages.iter().find(|before| before.purged);
    let reason = match (entry.operation, lost) {
        (Operation::PurgePage, _) => "a purge destroys for good".to_owned(),
        (_, Some(before)) => format!("page {} was purged since", before.index),
        (_, None) => return Ok(()),
    };
    Err(Error::CannotUndo { revision: entry.revision, reason }.into())
}

/// An agent takes back its own edits only, on what it sees, as far as it may still write there.
fn may_undo(draft: &mut Draft<'_>, entry: &HistoryEntry) -> Decision {
    let Some(view) = draft.guard() else { return Ok(()) };
    let missing = || Error::NothingFound {
        what: format!("revision {}", entry.revision),
        hint: "`history` shows what was done",
    };
    let level_only = entry.inverse.pages.is_empty();
    let level = if level_only { AccessLevel::Read } else { AccessLevel::Write };
    for page in &entry.pages {
        let segment = draft.seen_segment(page.segment()).ok_or_else(missing)?;
        if entry.actor == Actor::Agent(view.agent.clone()) {
            permission::check_undo(&segment, page, level)?;
        }
    }
    for id in &entry.segments {
        let segment = draft.seen_segment(id).ok_or_else(missing)?;
        permission::check_segment(&segment, Operation::Undo)?;
    }
    match &entry.actor {
        Actor::Agent(name) if *name == view.agent => Ok(()),
        Actor::Agent(_) => Err(missing().into()),
        Actor::System => {
            let subject = format!("revision {}", entry.revision);
            Err(Error::Refused { operation: Operation::Undo, subject }.into())
        }
    }
}

/// Notes in history what this edit undoes, and what it thereby redoes.
fn mark(draft: &mut Draft<'_>, entry: &HistoryEntry) -> Decision {
    draft.undoes = Some(entry.revision);
    draft.marks.push(UndoneMark { revision: entry.revision, before: None, undone: true });
    if let Some(original) = entry.undoes {
        let before = draft.history(original)?.and_then(|original| original.undone_by);
        draft.marks.push(UndoneMark { revision: original, before, undone: false });
    }
    Ok(())
}

struct Reverse {
    /// The edit to be taken back, for error messages.
    revision: Revision,
    /// The edit whose inverse is used.
    source: Revision,
}

impl Reverse {
    fn built_upon(&self, later: Revision, subject: impl ToString) -> Halt {
        let (revision, subject) = (self.revision, subject.to_string());
        Error::BuiltUpon { revision, later, subject }.into()
    }

    fn cannot(&self, reason: String) -> Halt {
        Error::CannotUndo { revision: self.revision, reason }.into()
    }

    fn segments(&self, draft: &mut Draft<'_>, inverse: &Inverse) -> Decision {
        for SegmentBefore { id, before, after } in &inverse.segments {
            let current = draft.any_segment(id);
            let current = current.ok_or_else(|| self.cannot(format!("segment {id} is gone")))?;
            if current.version != *after {
                return Err(self.built_upon(current.revision, format!("segment {id}")));
            }
            // A segment's row stays, so that its numbers are never used again.
            let restored = match before {
                Some(before) => before.clone(),
                None => Segment { removed: true, ..current },
            };
            draft.change_segment(restored);
        }
        Ok(())
    }

    fn pages(&self, draft: &mut Draft<'_>, inverse: &Inverse) -> Decision {
        for before in &inverse.pages {
            self.page(draft, before)?;
        }
        for PageBefore { index, before, .. } in &inverse.pages {
            match before {
                Some(page) if page.standing.is_listed() => self.can_stand(draft, page)?,
                Some(_) => {}
                None => self.can_go(draft, index)?,
            }
        }
        Ok(())
    }

    fn page(&self, draft: &mut Draft<'_>, item: &PageBefore) -> Decision {
        let PageBefore { index, before, after, .. } = item;
        let current = draft.page(index)?;
        match (&current, after) {
            (Some(current), Some(after)) if current.version == *after => {}
            (None, None) => {}
            (Some(current), _) => {
                return Err(self.built_upon(current.revision, format!("page {index}")));
            }
            (None, Some(_)) => return Err(self.cannot(format!("page {index} is gone"))),
        }
        let newest = current.map(|current| current.version);
        let restored = before.as_ref().map(|before| Page {
            version: newest.unwrap_or(before.version).next(),
            updated_at: draft.request.at,
            ..before.clone()
        });
        draft.put_page(index.clone(), restored, Some(self.source))
    }

    /// Checks that a page that comes back has a directory to stand in and does not stand in itself.
    fn can_stand(&self, draft: &mut Draft<'_>, page: &Page) -> Decision {
        let Some(parent) = &page.parent else { return Ok(()) };
        let stands_in = draft.page(parent)?;
        let gone = || self.cannot(format!("{parent}, where page {} stood, is gone", page.index));
        let stands_in = stands_in.ok_or_else(gone)?;
        let mut above = draft.ancestors(&stands_in)?;
        above.push(stands_in);
        if let Some(itself) = above.iter().find(|ancestor| ancestor.index == page.index) {
            let current = above.iter().map(|page| page.revision).max().unwrap_or(itself.revision);
            return Err(self.built_upon(current, format!("where page {parent} stands")));
        }
        // Both a page and a directory above it may come back from the archive in one undo.
        let archived = above.iter().find(|ancestor| !ancestor.standing.is_listed());
        match archived {
            Some(page) if page.standing == Standing::ColdArchived => {
                Err(self.built_upon(page.revision, format!("page {}", page.index)))
            }
            Some(_) => Err(gone()),
            None => Ok(()),
        }
    }

    /// Checks that a page that goes leaves no page behind without a parent.
    fn can_go(&self, draft: &mut Draft<'_>, index: &PageIndex) -> Decision {
        let leaving = draft.left(index);
        let list = draft.children(index, Some(leaving + 1))?;
        for child in &list.pages {
            let stays =
                draft.page(&child.index)?.is_some_and(|page| page.parent.as_ref() == Some(index));
            if stays {
                return Err(self.built_upon(child.revision, format!("page {index}")));
            }
        }
        Ok(())
    }

    fn rest(&self, draft: &mut Draft<'_>, inverse: &Inverse) -> Decision {
        for delta in &inverse.levels {
            if draft.entry(&delta.view, &delta.page)? != delta.after {
                return Err(
                    self.later(draft, Subject::Level(delta.view.clone(), delta.page.clone()))?
                );
            }
            draft.set_entry(&delta.view, &delta.page, delta.before)?;
        }
        for delta in &inverse.focus {
            if draft.focus(&delta.view)? != delta.after {
                return Err(self.later(draft, Subject::Focus(delta.view.clone()))?);
            }
            draft.set_focus(&delta.view, delta.before.clone())?;
        }
        for delta in &inverse.custom {
            if draft.custom(&delta.key)? != delta.after {
                return Err(self.later(draft, Subject::Custom(delta.key.clone()))?);
            }
            draft.set_custom(&delta.key, delta.before.clone())?;
        }
        Ok(())
    }

    fn later(&self, draft: &Draft<'_>, subject: Subject) -> Decision<Halt> {
        let later = draft.later_edit(self.source, subject.clone())?;
        Ok(match later {
            Some(later) => self.built_upon(later, subject),
            None => self.cannot(format!("{subject} is no longer what it was")),
        })
    }
}
