//! Adoption: pages that a new directory takes in stay as visible as they were, in every view.
//!
//! ```text
//!  was seen, the view itself closed the way there       the way opens, other pages along it are lines
//!  was not seen, the parent is open                     the page stands by its name alone
//! ```
//!
//! What the system side has closed is closed for all, and what goes there goes out of sight.

use std::{collections::HashSet, sync::Arc};

use super::{Decision, Draft, draft::Lineage};
use crate::{
    Advice, Error, Level, Operation, Page, PageIndex, Segment, SegmentKind, Visibility,
    storage::{ChunkKey, Fold, PageRun, PageRunForm, PageStanding, ViewId},
};

/// Returns the pages to be adopted, each with where it stands, or says why they cannot be.
pub(super) fn adopted(
    draft: &mut Draft<'_>,
    parent: &Lineage,
    children: &[PageIndex],
) -> Decision<Vec<Lineage>> {
    let mut adopted: Vec<Lineage> = Vec::with_capacity(children.len());
    let mut named = HashSet::with_capacity(children.len());
    for child in children {
        let lineage = draft.allowed(child, Operation::CreatePage)?.not_a_root("adopted")?;
        let above = parent.ancestors.iter().any(|ancestor| ancestor.index == *child);
        if above || parent.page.index == *child {
            let target = parent.page.index.clone();
            return Err(Error::Cycle { page: child.clone(), target }.into());
        }
        let wrong = if child.segment() != parent.page.index.segment() {
            Some(format!("page {child} is not in the same segment as {}", parent.page.index))
        } else if !named.insert(child) {
            Some(format!("page {child} is named twice"))
        } else {
            None
        };
        if let Some(reason) = wrong {
            let advice = Advice::MoveAcross;
            return Err(Error::InvalidRequest { reason, advice }.into());
        }
        draft.whole(&lineage.segment, &lineage.page, Operation::CreatePage)?;
        adopted.push(lineage);
    }
    Ok(adopted)
}

/// How far a view sees along the way to a page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// All the way.
    Open,
    /// The view itself has hidden or folded something on the way.
    ClosedByView,
    /// The system side has hidden something on the way.
    ClosedForAll,
}

/// Keeps pages as visible as they are in every view, though they go to a directory under `parent`.
pub(super) fn keep_visible(
    draft: &mut Draft<'_>,
    parent: &Lineage,
    children: &[Lineage],
) -> Decision {
    if children.is_empty() || parent.segment.stands_in_full() {
        return Ok(());
    }
    let others = draft.views()?.into_iter().filter(|view| *view != ViewId::SYSTEM);
    // Others inherit what the system side says, so it comes first.
    let views: Vec<ViewId> = [ViewId::SYSTEM].into_iter().chain(others).collect();
    need_chunks(draft, &views, parent, children)?;
    let before = views.iter().map(|view| seen(draft, view, children));
    let before = before.collect::<Decision<Vec<Seen>>>()?;
    for (view, before) in views.iter().zip(&before) {
        keep_visible_in(draft, view, parent, children, before)?;
    }
    Ok(())
}

/// How a page stood in a view: how far the view saw, and whether it was expanded.
type Seen = Vec<(Reach, Visibility)>;

/// Returns how pages stand in a view.
fn seen(draft: &mut Draft<'_>, view: &ViewId, children: &[Lineage]) -> Decision<Seen> {
    let stands = |child: &Lineage| {
        let reach = reach(draft, view, &child.segment, &child.page, &child.ancestors)?;
        Ok((reach, draft.visibility_in(view, &child.segment, &child.page)?))
    };
    children.iter().map(stands).collect()
}

fn keep_visible_in(
    draft: &mut Draft<'_>,
    view: &ViewId,
    parent: &Lineage,
    children: &[Lineage],
    before: &Seen,
) -> Decision {
    let segment = &parent.segment;
    for child in children {
        let Some(parent) = &child.page.parent else { continue };
        if draft.in_run_of(view, segment, &child.page)? {
            let mut entry = draft.entry(view, parent)?;
            let runs = entry.runs.iter().filter_map(|run| run.parted_from(&child.page));
            entry.runs = runs.collect();
            draft.set_entry(view, parent, entry)?;
        }
    }
    let inside = closed(draft, view, segment, &parent.page)?;
    let inside = inside.max(reach(draft, view, segment, &parent.page, &parent.ancestors)?);
    let is_seen = before.iter().any(|(reach, _)| *reach == Reach::Open);
    match inside {
        Reach::Open => {}
        Reach::ClosedByView if is_seen => open_up(draft, view, parent, children)?,
        Reach::ClosedByView | Reach::ClosedForAll => return Ok(()),
    }
    for (child, &(reach, was)) in children.iter().zip(before) {
        let mut entry = draft.entry(view, &child.page.index)?;
        let now = draft.visibility_in(view, segment, &child.page)?;
        match reach {
            // Only what is pinned stands in full wherever it goes.
            _ if draft.is_pinned_in(view, &child.page.index)? => continue,
            Reach::Open if was == now => continue,
            Reach::Open => entry.shown = Some(was),
            Reach::ClosedForAll if *view == ViewId::SYSTEM => {
                entry.shown = Some(Visibility::Hidden);
            }
            Reach::ClosedForAll if now == Visibility::Hidden => continue,
            Reach::ClosedForAll | Reach::ClosedByView => entry.fold = Some(Fold::Gist),
        }
        draft.set_entry(view, &child.page.index, entry)?;
    }
    Ok(())
}

/// Asks for all that views say of the pages and of what they stand in.
fn need_chunks(
    draft: &Draft<'_>,
    views: &[ViewId],
    parent: &Lineage,
    children: &[Lineage],
) -> Decision {
    let pages = children.iter().chain([parent]);
    let pages = pages.flat_map(|it| it.ancestors.iter().chain([&it.page]));
    let pages: HashSet<&PageIndex> = pages.map(|page| &page.index).collect();
    draft.need_chunks(
        views.iter().flat_map(|view| pages.iter().map(|page| ChunkKey::of(view, page))),
    )
}

/// Returns how far a view sees to a page, which has these ancestors, the nearest first.
fn reach(
    draft: &mut Draft<'_>,
    view: &ViewId,
    segment: &Segment,
    page: &Page,
    ancestors: &[Arc<Page>],
) -> Decision<Reach> {
    let mut reach = Reach::Open;
    let mut inner = page;
    for directory in ancestors {
        reach = reach.max(closed(draft, view, segment, directory)?);
        if draft.in_run_of(view, segment, inner)? {
            reach = reach.max(Reach::ClosedByView);
        }
        inner = directory;
    }
    Ok(reach)
}

/// Returns whether a view sees what lies in a directory, by what is said of the directory itself.
fn closed(
    draft: &mut Draft<'_>,
    view: &ViewId,
    segment: &Segment,
    directory: &Page,
) -> Decision<Reach> {
    if directory.standing != PageStanding::InTree {
        return Ok(Reach::ClosedForAll);
    }
    if draft.visibility_in(view, segment, directory)? == Visibility::Expanded {
        return Ok(Reach::Open);
    }
    let own = draft.entry(view, &directory.index)?;
    let is_folded = own.fold.is_some_and(|fold| fold.cap() < Level::Full)
        && segment.kind != SegmentKind::System
        && !draft.is_pinned_in(view, &directory.index)?;
    let is_hidden = own.shown == Some(Visibility::Hidden) && *view != ViewId::SYSTEM;
    Ok(if is_folded || is_hidden { Reach::ClosedByView } else { Reach::ClosedForAll })
}

/// Opens the way to a directory, as far as the view itself has closed it. What else lies along the way
/// was out of sight, and becomes a line.
fn open_up(
    draft: &mut Draft<'_>,
    view: &ViewId,
    parent: &Lineage,
    leaving: &[Lineage],
) -> Decision {
    let segment = &parent.segment;
    let way: Vec<&Page> =
        [&parent.page].into_iter().chain(&parent.ancestors).map(|page| &**page).collect();
    let mut is_closed = false;
    for (at, directory) in way.iter().enumerate().rev() {
        let inner = at.checked_sub(1).map(|at| way[at]);
        let mut entry = draft.entry(view, &directory.index)?;
        is_closed |= closed(draft, view, segment, directory)? == Reach::ClosedByView;
        if is_closed {
            let mut others = draft.listed_children(&directory.index)?;
            others.retain(|page| {
                page.standing == PageStanding::InTree
                    && leaving.iter().all(|child| child.page.index != page.index)
            });
            entry.shown = Some(Visibility::Expanded);
            entry.fold = None;
            entry.runs = line_over(&others, inner).into_iter().collect();
            draft.set_entry(view, &directory.index, entry)?;
        } else if let Some(inner) = inner
            && draft.in_run_of(view, segment, inner)?
        {
            is_closed = true;
            entry.runs = entry.runs.iter().map(|run| run.without(inner)).collect();
            draft.set_entry(view, &directory.index, entry)?;
        }
    }
    Ok(())
}

/// Returns a line over pages of a directory, beside one that stands.
fn line_over(pages: &[Arc<Page>], beside: Option<&Page>) -> Option<PageRun> {
    let is_beside = |page: &Page| beside.is_some_and(|beside| beside.index == page.index);
    let covered: Vec<&Page> =
        pages.iter().map(|page| &**page).filter(|page| !is_beside(page)).collect();
    let (first, last) = (covered.first()?, covered.last()?);
    Some(PageRun {
        first: first.place,
        last: last.place,
        from: first.index.clone(),
        to: last.index.clone(),
        pages: covered.len() as u64,
        messages: 0,
        calls: 0,
        filter: Default::default(),
        form: PageRunForm::Gist,
        requests: Vec::new(),
        cited: Vec::new(),
        apart: beside.iter().map(|page| page.index.clone()).collect(),
    })
}
