//! Undo: the inverse of an edit, committed as a new edit.
//!
//! An edit can be taken back while everything it touched is still as it left it. For pages and
//! segments that is so while the edit that last touched them is this one, or undos have brought back
//! what this one left; for levels, focus and custom state their values decide.

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{BTreeMap, HashMap, HashSet},
};

use super::{Decision, Draft, Halt, Need, Subject};
use crate::{
    AccessLevel, Actor, Advice, Error, HistoryEntry, Operation, Page, PageIndex, Revision, Segment,
    SegmentId, Visibility, permission,
    storage::{
        ChunkKey, FocusDelta, Inverse, LevelDelta, PageBefore, PageStanding, SegmentBefore,
        UndoneMark, ViewId,
    },
};

/// Takes an edit back: the one named, or the caller's own newest.
pub(super) fn undo(draft: &mut Draft<'_>, revision: Option<Revision>) -> Decision {
    let revision = match revision {
        Some(revision) => revision,
        None => draft
            .newest_undoable()?
            .ok_or_else(|| Error::NothingToUndo { actor: draft.request.actor.clone() })?,
    };
    let missing =
        || Error::NothingFound { what: format!("revision {revision}"), advice: Advice::History };
    let entry = draft.history(revision)?.ok_or_else(missing)?;
    may_undo(draft, entry)?;
    if let Some(by) = entry.undone_by {
        let reason = format!("revision {by} already undid it; undo revision {by} to redo it");
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
    let reverse = Reverse::new(revision, source.revision);
    let veiled = seen_among(draft, entry)? < entry.pages.len();
    let done = reverse.all(draft, &with_other_views(source, entry));
    done.map_err(|halt| if veiled { reverse.veil(halt) } else { halt })?;
    draft.subjects = source.pages.clone();
    Ok(())
}

/// Returns the inverse of the edit in force, with what only the original did to other views: where
/// one of these had gone its own way meanwhile, the edit that redid it left it alone.
fn with_other_views<'a>(source: &'a HistoryEntry, entry: &HistoryEntry) -> Cow<'a, Inverse> {
    let mut inverse = Cow::Borrowed(&source.inverse);
    if source.revision == entry.revision {
        return inverse;
    }
    let levels = source.inverse.levels.iter().map(|delta| (&delta.view, &delta.page));
    let levels: HashSet<(&ViewId, &PageIndex)> = levels.collect();
    let others = entry.inverse.levels.iter().filter(|delta| delta.view != entry.view);
    let others: Vec<&LevelDelta> =
        others.filter(|delta| !levels.contains(&(&delta.view, &delta.page))).collect();
    let focus = entry.inverse.focus.iter().filter(|delta| delta.view != entry.view);
    let known = |view: &ViewId| source.inverse.focus.iter().any(|delta| delta.view == *view);
    let focus: Vec<&FocusDelta> = focus.filter(|delta| !known(&delta.view)).collect();
    if !others.is_empty() || !focus.is_empty() {
        let inverse = inverse.to_mut();
        inverse.levels.extend(others.into_iter().cloned());
        inverse.focus.extend(focus.into_iter().cloned());
    }
    inverse
}

/// Counts the pages an edit named that exist for the caller: as they stand, or as they stood before
/// it, for an edit may have taken a page out of its author's own view.
fn seen_among(draft: &mut Draft<'_>, entry: &HistoryEntry) -> Decision<usize> {
    let mut seen = 0;
    for page in &entry.pages {
        seen += usize::from(draft.sees_page(page)? || saw(draft, entry, page)?);
    }
    Ok(seen)
}

fn saw(draft: &mut Draft<'_>, entry: &HistoryEntry, page: &PageIndex) -> Decision<bool> {
    let stood = entry.inverse.pages.iter().find(|before| before.index == *page);
    let Some(stood) = stood.and_then(|before| before.before.as_ref()) else { return Ok(false) };
    match draft.seen_segment(page.segment()) {
        Some(segment) => draft.sees(&segment, stood),
        None => Ok(false),
    }
}

fn refuse_purged(entry: &HistoryEntry, inverse: &Inverse) -> Decision {
    let lost = inverse.pages.iter().find(|before| before.purged);
    let reason = match (entry.operation, lost) {
        (Operation::PurgePage, _) => "a purge is permanent".to_owned(),
        (Operation::PressAnchor, _) => {
            "an application made it, and applications keep their own state".to_owned()
        }
        (_, Some(before)) => format!("page {} has been purged since", before.index),
        (_, None) => return Ok(()),
    };
    Err(Error::CannotUndo { revision: entry.revision, reason }.into())
}

/// An agent takes back its own edits only, on what it sees, as far as it may still write there.
fn may_undo(draft: &mut Draft<'_>, entry: &HistoryEntry) -> Decision {
    let Some(view) = draft.guard() else { return Ok(()) };
    let missing = || Error::NothingFound {
        what: format!("revision {}", entry.revision),
        advice: Advice::History,
    };
    let own = entry.actor == Actor::Agent(view.agent.clone());
    if !own && !entry.actor.is_system_side() {
        return Err(missing().into());
    }
    let written = entry.inverse.pages.iter().map(|before| (&before.index, AccessLevel::Write));
    let shown = entry.inverse.levels.iter().map(|delta| (&delta.page, AccessLevel::Read));
    let named = entry.pages.iter().map(|page| (page, AccessLevel::Read));
    // What else it took along need not be seen any more: others may have changed it since.
    let (seen, named_any) = (seen_among(draft, entry)?, !entry.pages.is_empty());
    if named_any && seen == 0 {
        return Err(missing().into());
    }
    for (page, level) in written.chain(shown).chain(named) {
        let segment = draft.seen_segment(page.segment()).ok_or_else(missing)?;
        if own {
            permission::check_undo(&segment, page, level)?;
        }
    }
    for id in &entry.segments {
        let segment = draft.seen_segment(id).ok_or_else(missing)?;
        if own {
            permission::check_segment(&segment, Operation::Undo)?;
        }
    }
    if !own {
        let subject = format!("revision {}", entry.revision);
        return Err(Error::Refused { operation: Operation::Undo, subject }.into());
    }
    // Putting back that a page was hidden is hiding it.
    for LevelDelta { page, before, .. } in &entry.inverse.levels {
        let segment = draft.seen_segment(page.segment()).ok_or_else(missing)?;
        if before.shown == Some(Visibility::Hidden) {
            permission::check_page(Some(view), &segment, page, Operation::HideDetails)?;
        }
    }
    Ok(())
}

/// Notes in history what this edit undoes, what it thereby redoes, what that undoes, and so on.
fn mark(draft: &mut Draft<'_>, entry: &HistoryEntry) -> Decision {
    draft.undoes = Some(entry.revision);
    draft.marks.push(UndoneMark { revision: entry.revision, before: None, undone: true });
    let (mut next, mut undone) = (entry.undoes, false);
    while let Some(revision) = next {
        let Some(earlier) = draft.history(revision)? else { break };
        draft.marks.push(UndoneMark { revision, before: earlier.undone_by, undone });
        (next, undone) = (earlier.undoes, !undone);
    }
    Ok(())
}

/// Returns the edit whose work an edit left: itself, or the one it brought back.
fn origin<'a>(
    draft: &Draft<'a>,
    mut revision: Revision,
    restored: &impl Fn(&'a HistoryEntry) -> Option<Revision>,
) -> Decision<Revision> {
    while let Some(earlier) = draft.history(revision)?.and_then(restored) {
        revision = earlier;
    }
    Ok(revision)
}

/// What an edit brought back of each page it touched.
type Restored<'a> = HashMap<&'a PageIndex, Option<Revision>>;

struct Reverse<'a> {
    /// The edit to be taken back, for error messages.
    revision: Revision,
    /// The edit whose inverse is used.
    source: Revision,
    /// What edits brought back, by page: an edit may have touched very many.
    restored: RefCell<HashMap<Revision, Restored<'a>>>,
}

impl<'a> Reverse<'a> {
    fn new(revision: Revision, source: Revision) -> Self {
        Self { revision, source, restored: RefCell::default() }
    }

    fn all(&self, draft: &mut Draft<'a>, inverse: &Inverse) -> Decision {
        self.need(draft, inverse)?;
        self.segments(draft, inverse)?;
        self.pages(draft, inverse)?;
        self.rest(draft, inverse)
    }

    /// Asks at once for all that is known to be looked at, so that an edit on many pages is not
    /// decided again for each of them.
    fn need(&self, draft: &mut Draft<'a>, inverse: &Inverse) -> Decision {
        let parent = |before: &PageBefore| before.before.as_ref()?.parent.clone();
        let pages = inverse.pages.iter();
        let pages = pages.flat_map(|before| [Some(before.index.clone()), parent(before)]);
        draft.need_all(pages.flatten().map(Need::Lineage))?;
        draft.need_chunks(
            inverse.levels.iter().map(|delta| ChunkKey::of(&delta.view, &delta.page)),
        )?;
        let mut earlier = Vec::new();
        for PageBefore { index, .. } in &inverse.pages {
            let Some(page) = draft.page(index)? else { continue };
            let left = self.is_as_left(draft, page.revision, &self.restored_page(index));
            if let Err(Halt::Need(need)) = left {
                earlier.push(need);
            }
        }
        draft.need_all(earlier.into_iter().collect::<HashSet<Need>>())
    }

    /// Finds whose work an entry brought back in a page.
    fn restored_page(&self, index: &PageIndex) -> impl Fn(&'a HistoryEntry) -> Option<Revision> {
        move |entry| {
            let mut restored = self.restored.borrow_mut();
            let pages = restored.entry(entry.revision).or_insert_with(|| {
                let pages = entry.inverse.pages.iter().rev();
                pages.map(|before| (&before.index, before.restores)).collect()
            });
            pages.get(index).copied().flatten()
        }
    }

    /// Says why an edit cannot be taken back without naming what the caller does not see.
    fn veil(&self, halt: Halt) -> Halt {
        match halt {
            Halt::Need(need) => Halt::Need(need),
            Halt::Refused(_) => {
                self.cannot("something it changed has changed again since".to_owned())
            }
        }
    }

    fn built_upon(&self, later: Revision, subject: impl ToString) -> Halt {
        let (revision, subject) = (self.revision, subject.to_string());
        Error::BuiltUpon { revision, later, subject }.into()
    }

    fn cannot(&self, reason: String) -> Halt {
        Error::CannotUndo { revision: self.revision, reason }.into()
    }

    fn segments(&self, draft: &mut Draft<'a>, inverse: &Inverse) -> Decision {
        for SegmentBefore { id, before, .. } in &inverse.segments {
            let current = draft.any_segment(id);
            let current =
                current.ok_or_else(|| self.cannot(format!("segment {id} no longer exists")))?;
            let restored = |entry: &HistoryEntry| {
                let item = entry.inverse.segments.iter().find(|before| before.id == *id);
                item.and_then(|before| before.restores)
            };
            if !self.is_as_left(draft, current.revision, &restored)? {
                return Err(self.built_upon(current.revision, format!("segment {id}")));
            }
            // A segment's row stays, so that its numbers are never used again.
            let restored = match before {
                Some(before) => before.clone(),
                None => Segment { removed: true, ..current },
            };
            draft.change_segment(restored);
            draft.note_restored_segment(id, before.as_ref().map(|before| before.revision));
        }
        Ok(())
    }

    fn pages(&self, draft: &mut Draft<'a>, inverse: &Inverse) -> Decision {
        for before in &inverse.pages {
            self.page(draft, before)?;
        }
        let going = inverse.pages.iter().filter(|item| item.before.is_none());
        let going: Vec<&PageIndex> = going.map(|item| &item.index).collect();
        let lists = self.lists_to_look_at(draft, &going)?;
        let mut sound = HashSet::new();
        for PageBefore { index, before, .. } in &inverse.pages {
            if let Some(page) = before {
                self.takes_along(draft, page)?;
            }
            match before {
                Some(page) if page.standing.is_listed() => {
                    self.can_stand(draft, page, &mut sound)?;
                }
                Some(_) => {}
                None => self.can_go(draft, index, lists.get(index).copied())?,
            }
        }
        self.ends_turns(draft, &going)
    }

    fn page(&self, draft: &mut Draft<'a>, item: &PageBefore) -> Decision {
        let PageBefore { index, before, after, .. } = item;
        let current = draft.page(index)?;
        let restored = self.restored_page(index);
        match (&current, after) {
            (Some(current), Some(_)) if self.is_as_left(draft, current.revision, &restored)? => {}
            (None, None) => {}
            (Some(current), _) => {
                return Err(self.built_upon(current.revision, format!("page {index}")));
            }
            (None, Some(_)) => return Err(self.cannot(format!("page {index} no longer exists"))),
        }
        let newest = current.map(|current| current.version);
        let restored = before.as_ref().map(|before| Page {
            version: newest.unwrap_or(before.version).next(),
            updated_at: draft.request.at,
            ..before.clone()
        });
        draft.put_page(index.clone(), restored, Some(self.source))?;
        draft.note_restored_page(index, before.as_ref().map(|before| before.revision));
        Ok(())
    }

    /// Tells whether what an edit gave is what the source left: by the same edit, or by undos that
    /// brought it back.
    fn is_as_left(
        &self,
        draft: &Draft<'a>,
        current: Revision,
        restored: &impl Fn(&'a HistoryEntry) -> Option<Revision>,
    ) -> Decision<bool> {
        let left = |revision| origin(draft, revision, restored);
        Ok(current == self.source || left(current)? == left(self.source)?)
    }

    /// Checks that a directory that goes elsewhere, to the archive or back takes nothing along that the
    /// caller does not see: others may have put something into it since.
    fn takes_along(&self, draft: &mut Draft<'_>, page: &Page) -> Decision {
        let stood = draft.before(&page.index);
        let stays =
            |stood: &Page| (&stood.parent, &stood.standing) == (&page.parent, &page.standing);
        if !page.is_contents() || stood.is_some_and(stays) {
            return Ok(());
        }
        match draft.seen_segment(page.index.segment()) {
            Some(segment) if !draft.sees_within(&segment, &page.index)? => {
                Err(self.cannot("your view shows only some of the pages it would move".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Checks that a page that comes back has a directory to stand in and does not stand in itself.
    ///
    /// `sound` holds the directories that were found to be fit to stand in.
    fn can_stand(
        &self,
        draft: &mut Draft<'a>,
        page: &Page,
        sound: &mut HashSet<PageIndex>,
    ) -> Decision {
        let Some(parent) = page.parent.as_ref().filter(|parent| !sound.contains(parent)) else {
            return Ok(());
        };
        let stands_in = draft.page(parent)?;
        let gone = || {
            self.cannot(format!(
                "{parent}, the directory that page {} was in, no longer exists",
                page.index
            ))
        };
        let stands_in = stands_in.ok_or_else(gone)?;
        let (mut above, ended) = draft.ancestors_below(&stands_in, sound)?;
        above.push(stands_in);
        if let Some(itself) = above.iter().find(|ancestor| ancestor.index == page.index) {
            let current = above.iter().map(|page| page.revision).max().unwrap_or(itself.revision);
            return Err(self.built_upon(current, format!("the place of page {parent}")));
        }
        for above in above.iter().filter(|above| !above.standing.is_listed()) {
            if above.standing != PageStanding::ColdArchived {
                return Err(gone());
            }
            // It may go back to where it was in the archive, but not follow what went there since.
            if origin(draft, above.revision, &self.restored_page(&above.index))? >= self.source {
                return Err(self.built_upon(above.revision, format!("page {}", above.index)));
            }
        }
        if ended {
            sound.extend(above.into_iter().map(|above| above.index.clone()));
        }
        Ok(())
    }

    /// Returns how many pages of each directory that goes must be looked at: one more than leave it.
    fn lists_to_look_at(
        &self,
        draft: &Draft<'a>,
        going: &[&PageIndex],
    ) -> Decision<HashMap<PageIndex, usize>> {
        let leaving = draft.leaving();
        let directories = going.iter().copied();
        // Nothing ever lies under a leaf.
        let directories =
            directories.filter(|index| draft.before(index).is_some_and(Page::is_contents));
        let limit = |index: &PageIndex| leaving.get(index).copied().unwrap_or(0) + 1;
        let lists: HashMap<PageIndex, usize> =
            directories.map(|index| (index.clone(), limit(index))).collect();
        draft.need_all(lists.iter().map(|(parent, &limit)| Need::Children {
            parent: parent.clone(),
            limit: Some(limit),
        }))?;
        Ok(lists)
    }

    /// Checks that a page that goes leaves no page behind without a parent.
    fn can_go(&self, draft: &mut Draft<'a>, index: &PageIndex, look_at: Option<usize>) -> Decision {
        let Some(limit) = look_at else { return Ok(()) };
        let list = draft.children(index, Some(limit))?;
        for child in &list.pages {
            let stays =
                draft.page(&child.index)?.is_some_and(|page| page.parent.as_ref() == Some(index));
            if stays {
                return Err(self.built_upon(child.revision, format!("page {index}")));
            }
        }
        Ok(())
    }

    /// Checks that pages that go leave no page of their turns behind that a later edit added.
    ///
    /// What an edit makes takes places in a row, and a later page has a larger one: so of each
    /// author's pages in a segment only the last can have a page of its turn behind it that stays.
    fn ends_turns(&self, draft: &Draft<'a>, going: &[&PageIndex]) -> Decision {
        let mut last: BTreeMap<(&SegmentId, &Actor), &Page> = BTreeMap::new();
        let pages = going.iter().filter_map(|index| draft.before(index));
        for page in pages.filter(|page| page.turn.is_some()) {
            let newest = last.entry((page.index.segment(), &page.author)).or_insert(page);
            if newest.place < page.place {
                *newest = page;
            }
        }
        draft.need_all(last.iter().map(|((segment, author), page)| {
            Need::NextTurn((*segment).clone(), (*author).clone(), page.place)
        }))?;
        for page in last.values() {
            let next = draft.next_turn_page(page)?.filter(|next| next.turn == page.turn);
            if let Some(next) = next.filter(|next| draft.before(&next.index).is_none()) {
                let subject = format!("the turn of page {}", page.index);
                return Err(self.built_upon(next.revision, subject));
            }
        }
        Ok(())
    }

    fn rest(&self, draft: &mut Draft<'a>, inverse: &Inverse) -> Decision {
        for delta in &inverse.levels {
            if draft.entry(&delta.view, &delta.page)? != delta.after {
                // What another view has said since is its own, and nobody else's business.
                if delta.view != draft.view {
                    continue;
                }
                return Err(
                    self.later(draft, Subject::Level(delta.view.clone(), delta.page.clone()))?
                );
            }
            if delta.before.shown == Some(Visibility::Hidden) && draft.is_system_root(&delta.page) {
                let page = &delta.page;
                return Err(
                    self.cannot(format!("{page} is now a system root and must stay expanded"))
                );
            }
            draft.set_entry(&delta.view, &delta.page, delta.before.clone())?;
        }
        for delta in &inverse.focus {
            if draft.focus(&delta.view)? != delta.after {
                if delta.view != draft.view {
                    continue;
                }
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

    fn later(&self, draft: &Draft<'a>, subject: Subject) -> Decision<Halt> {
        let later = draft.later_edit(self.source, subject.clone())?;
        Ok(match later {
            Some(later) => self.built_upon(later, subject),
            None => self.cannot(format!("{subject} has changed since")),
        })
    }
}
