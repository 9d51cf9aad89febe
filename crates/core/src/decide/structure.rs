//! Structure: moved, archived, removed, restored, purged.
//!
//! A page taken to the archive keeps its parent and place; what lies below it goes along without
//! being touched, because a page counts as archived when any page above it is. So removing a
//! directory of a million pages writes one page.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use super::{Decision, Draft, Halt, Need, draft::Lineage};
use crate::{
    Advice, Edit, Error, Operation, Page, PageIndex, Revision, Segment,
    storage::{ChunkKey, LevelEntry, PageStanding, Version, ViewId},
};

/// Moves a page, with all below it, to the end of a directory.
pub(super) fn move_page(draft: &mut Draft<'_>, index: &PageIndex, to: &PageIndex) -> Decision {
    let source = draft.allowed(index, Operation::MovePage)?;
    let target = draft.allowed(to, Operation::MovePage)?;
    let source = source.not_a_root("moved")?;
    let target = target.directory()?;
    refuse_cycle(&source.page, &target)?;
    draft.whole(&source.segment, &source.page, Operation::MovePage)?;
    if index.segment() != to.segment() {
        return transplant(draft, &source.page, &target);
    }
    let place = draft.claim_place();
    draft.subjects.push(index.clone());
    let parent = Some(to.clone());
    draft.change_page(Page { parent, place, ..(*source.page).clone() })
}

/// Asks for what moves to other segments will look at, all of a batch at once: deciding begins again
/// after each need.
pub(super) fn need_for_moves(draft: &Draft<'_>, edits: &[Edit]) -> Decision {
    let moved: Vec<&PageIndex> = edits
        .iter()
        .filter_map(|edit| match edit {
            Edit::MovePage { page, to } if page.segment() != to.segment() => Some(page),
            _ => None,
        })
        .collect();
    if moved.is_empty() {
        return Ok(());
    }
    let directories = moved.iter().copied().filter(|page| draft.is_stored_directory(page));
    need_children(draft, &directories.cloned().collect::<Vec<_>>())?;
    let views = draft.views()?;
    let keys = moved.iter().flat_map(|page| views.iter().map(|view| ChunkKey::of(view, page)));
    draft.need_chunks(keys)
}

fn refuse_cycle(page: &Page, target: &Lineage) -> Decision {
    let above = target.ancestors.iter().any(|ancestor| ancestor.index == page.index);
    if above || target.page.index == page.index {
        let target = target.page.index.clone();
        return Err(Error::Cycle { page: page.index.clone(), target }.into());
    }
    Ok(())
}

/// Copies a subtree into another segment with provenance and retires the originals.
fn transplant(draft: &mut Draft<'_>, top: &Page, target: &Lineage) -> Decision {
    let originals = subtree(draft, top)?;
    let segment: &Segment = &target.segment;
    let views = draft.views()?;
    let chunks = originals.iter().map(|original| &original.index);
    let chunks = chunks.flat_map(|page| views.iter().map(|view| ChunkKey::of(view, page)));
    draft.need_chunks(chunks)?;
    let mut renamed: HashMap<PageIndex, PageIndex> = HashMap::new();
    for original in &originals {
        let (index, place) = draft.claim(segment);
        let parent = original.parent.as_ref().and_then(|parent| renamed.get(parent));
        let is_top = original.index == top.index;
        let copy = Page {
            index: index.clone(),
            parent: Some(parent.cloned().unwrap_or_else(|| target.page.index.clone())),
            place,
            standing: if is_top { PageStanding::InTree } else { original.standing.clone() },
            sources: vec![original.index.clone()],
            turn: original.turn.as_ref().map(|turn| {
                if *turn == original.index {
                    index.clone()
                } else {
                    renamed.get(turn).unwrap_or(turn).clone()
                }
            }),
            version: Version(1),
            revision: Revision(0),
            updated_at: draft.request.at,
            ..original.clone()
        };
        renamed.insert(original.index.clone(), index.clone());
        carry_levels(draft, &views, &original.index, &index)?;
        draft.put_page(index.clone(), Some(copy), None)?;
        draft.change_page(Page {
            standing: PageStanding::Moved(index.clone()),
            ..original.clone()
        })?;
        draft.moved.push((original.index.clone(), index.clone()));
    }
    draft.subjects.extend(renamed.get(&top.index).cloned());
    Ok(())
}

/// Returns a page and all listed below it, parents before children, siblings in order.
fn subtree(draft: &mut Draft<'_>, top: &Page) -> Decision<Vec<Page>> {
    let mut pages = vec![top.clone()];
    let mut seen = 0;
    while seen < pages.len() {
        // One generation at a time, so that its lists are asked for together.
        let generation = pages[seen..].iter().filter(|page| page.is_contents());
        let directories: Vec<PageIndex> = generation.map(|page| page.index.clone()).collect();
        seen = pages.len();
        need_children(draft, &directories)?;
        for directory in &directories {
            let children = draft.listed_children(directory)?;
            pages.extend(children.iter().map(|child| (**child).clone()));
        }
    }
    Ok(pages)
}

/// Asks for all that lies in directories, at once.
fn need_children(draft: &Draft<'_>, directories: &[PageIndex]) -> Decision {
    let need = |parent: &PageIndex| Need::Children { parent: parent.clone(), limit: None };
    draft.need_all(directories.iter().map(need))
}

/// Gives the new index what every view says of the old one.
fn carry_levels(
    draft: &mut Draft<'_>,
    views: &BTreeSet<ViewId>,
    old: &PageIndex,
    new: &PageIndex,
) -> Decision {
    for view in views {
        let mut entry = draft.entry(view, old)?;
        // A fold speaks of where pages stood; elsewhere they are folded anew when that is due.
        (entry.fold, entry.runs) = (None, Arc::default());
        if entry != LevelEntry::default() {
            draft.set_new_entry(view, new, entry);
        }
        if draft.focus(view)?.as_ref() == Some(old) {
            draft.set_focus(view, Some(new.clone()))?;
        }
    }
    Ok(())
}

/// Archives a page hot: out of the window, still in the tree.
pub(super) fn archive(draft: &mut Draft<'_>, index: &PageIndex) -> Decision {
    let lineage = draft.allowed(index, Operation::ArchivePage)?.not_a_root("archived")?;
    draft.whole(&lineage.segment, &lineage.page, Operation::ArchivePage)?;
    if lineage.page.standing == PageStanding::HotArchived {
        return Err(Error::InvalidRequest {
            reason: format!("page {index} is already archived"),
            advice: Advice::RestorePage { page: None },
        }
        .into());
    }
    set_standing(draft, &lineage.page, PageStanding::HotArchived)
}

/// Takes a page, with all below it, to the archive.
pub(super) fn remove(draft: &mut Draft<'_>, index: &PageIndex) -> Decision {
    let lineage = draft.allowed(index, Operation::RemovePage)?.not_a_root("removed")?;
    draft.whole(&lineage.segment, &lineage.page, Operation::RemovePage)?;
    set_standing(draft, &lineage.page, PageStanding::ColdArchived)
}

fn set_standing(draft: &mut Draft<'_>, page: &Page, standing: PageStanding) -> Decision {
    draft.subjects.push(page.index.clone());
    draft.change_page(Page { standing, ..page.clone() })
}

/// Brings a page back, from either archive.
pub(super) fn restore(
    draft: &mut Draft<'_>,
    index: &PageIndex,
    to: Option<&PageIndex>,
) -> Decision {
    let (page, segment) = archived(draft, index)?;
    let target = match to {
        Some(to) => Some(draft.allowed(to, Operation::RestorePage)?.directory()?),
        None => None,
    };
    if let Some(target) = &target {
        refuse_cycle(&page, target)?;
        if segment.removed || index.segment() != target.page.index.segment() {
            return transplant(draft, &page, target);
        }
    } else if segment.removed {
        return Err(Error::InvalidRequest {
            reason: format!("segment {} of page {index} no longer exists", segment.id),
            advice: Advice::NameTarget,
        }
        .into());
    }
    let stays = target.is_none() && old_place_is_free(draft, &page)?;
    draft.subjects.push(index.clone());
    let mut restored = Page { standing: PageStanding::InTree, ..page };
    if !stays {
        let end = target.map_or_else(|| segment.root(), |target| target.page.index.clone());
        restored.parent = Some(end);
        restored.place = draft.claim_place();
    }
    draft.change_page(restored)
}

/// Tells whether the directory a page stood in is still in the tree.
fn old_place_is_free(draft: &mut Draft<'_>, page: &Page) -> Decision<bool> {
    let Some(parent) = &page.parent else { return Ok(false) };
    match draft.lineage(parent) {
        Ok(_) => Ok(true),
        Err(Halt::Refused(_)) => Ok(false),
        Err(Halt::Need(need)) => Err(Halt::Need(need)),
    }
}

/// Returns a page that is in either archive and that the caller may restore.
fn archived(draft: &mut Draft<'_>, index: &PageIndex) -> Decision<(Page, Segment)> {
    let missing = || Error::PageNotFound { page: index.clone() };
    let segment = match draft.guard() {
        Some(_) => draft.segment(index.segment())?,
        None => draft.any_segment(index.segment()),
    };
    let segment = segment.ok_or_else(missing)?;
    let page = draft.page(index)?.ok_or_else(missing)?;
    if !matches!(page.standing, PageStanding::Moved(_)) && !draft.sees(&segment, &page)? {
        return Err(missing().into());
    }
    draft.check(&segment, index, Operation::RestorePage)?;
    let under_archive =
        draft.ancestors(&page)?.iter().any(|ancestor| !ancestor.standing.is_listed());
    match &page.standing {
        _ if index.is_root() => Err(Error::Root { page: index.clone(), verb: "restored" }.into()),
        PageStanding::Moved(_) => {
            // Says where it went, or that there is no such page.
            draft.lineage(index)?;
            Err(missing().into())
        }
        PageStanding::InTree if !under_archive && !segment.removed => Err(Error::InvalidRequest {
            reason: format!("page {index} is not archived"),
            advice: Advice::ListArchived,
        }
        .into()),
        PageStanding::InTree | PageStanding::HotArchived | PageStanding::ColdArchived => {
            draft.whole(&segment, &page, Operation::RestorePage)?;
            Ok(((*page).clone(), segment))
        }
    }
}

/// Destroys a page, with all below it, for good.
///
/// Creations that were undone exist only in history, from where a redo could bring them back: they are
/// purged by their number, and go along with the page they stood under.
pub(super) fn purge(draft: &mut Draft<'_>, index: &PageIndex) -> Decision {
    if draft.guard().is_some() {
        draft.allowed(index, Operation::PurgePage)?;
    }
    let page = draft.page(index)?;
    if page.is_none() && draft.undone_pages()?.taken_by(index).is_none() {
        return Err(Error::PageNotFound { page: index.clone() }.into());
    }
    if index.is_root() {
        return Err(Error::Root { page: index.clone(), verb: "purged" }.into());
    }
    if page.as_ref().is_some_and(|page| matches!(page.standing, PageStanding::Moved(_))) {
        draft.lineage(index)?;
    }
    draft.purge = true;
    let mut doomed = Vec::new();
    if let Some(page) = page {
        doomed = doomed_with(draft, &page)?;
    } else {
        doomed.push(index.clone());
    }
    // Read after what stands: what an undo takes away meanwhile is in one of the two, or a conflict.
    let undone_pages = draft.undone_pages()?;
    let mut taken: HashSet<PageIndex> = doomed.iter().cloned().collect();
    let mut seen = 0;
    while let Some(page) = doomed.get(seen).cloned() {
        let along = undone_pages.along_with(&page).filter(|page| taken.insert((*page).clone()));
        doomed.extend(along.cloned());
        seen += 1;
    }
    draft.need_all(doomed.iter().cloned().map(Need::Lineage))?;
    doomed.sort();
    for page in &doomed {
        draft.put_page(page.clone(), None, undone_pages.taken_by(page))?;
    }
    draft.subjects = doomed;
    Ok(())
}

/// Returns a page, all below it, and the retired pages that live on in these: their text is the same.
fn doomed_with(draft: &mut Draft<'_>, page: &Page) -> Decision<Vec<PageIndex>> {
    let mut doomed = vec![page.clone()];
    let mut taken = HashSet::from([page.index.clone()]);
    let mut seen = 0;
    while seen < doomed.len() {
        // One generation at a time, so that what is needed for it is asked for together.
        let generation: Vec<Page> = doomed[seen..].to_vec();
        seen = doomed.len();
        // What a retired directory left behind was moved on, or archived on its own before.
        let directories = generation
            .iter()
            .filter(|page| page.is_contents() && !matches!(page.standing, PageStanding::Moved(_)));
        let directories: Vec<PageIndex> = directories.map(|page| page.index.clone()).collect();
        need_children(draft, &directories)?;
        draft.need_all(
            generation.iter().flat_map(|page| &page.sources).cloned().map(Need::Lineage),
        )?;
        let mut next = Vec::new();
        for directory in &directories {
            next.extend(draft.children(directory, None)?.pages);
        }
        for page in &generation {
            for source in &page.sources {
                let original = draft.page(source)?;
                next.extend(original.filter(|original| original.has_moved_to(&page.index)));
            }
        }
        next.retain(|page| taken.insert(page.index.clone()));
        doomed.extend(next.iter().map(|page| (**page).clone()));
    }
    Ok(doomed.into_iter().map(|page| page.index).collect())
}
