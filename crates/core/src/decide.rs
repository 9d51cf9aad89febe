//! Deciding: a pure function from an edit and what is known to a [`Change`].
//!
//! [`decide`] never loads anything. Where it lacks a page, a list or a level it stops with a
//! [`Need`]; the caller loads that into [`Known`] and asks again. Everything it looks at is noted in
//! the change's [`Basis`](crate::storage::Basis), so a commit is checked against exactly what was read, the
//! permission of the segment included.

mod adoption;
mod draft;
mod exchanges;
mod folds;
mod known;
mod levels;
mod load;
mod pages;
mod segments;
mod structure;
mod turns;
mod undo;
mod undone_pages;

use crate::{
    Actor, Edit, Error, Timestamp, View,
    storage::{Change, ViewId},
};

pub(crate) use draft::{Draft, MOST_MOVES, PROVISIONAL};
pub use known::Segments;
pub(crate) use known::{ChildList, Known, Need, Subject};
pub(crate) use undone_pages::UndonePages;

/// Who asks, when, and within which limits.
#[derive(Debug, Clone)]
pub(crate) struct EditRequest<'a> {
    /// Who.
    pub actor: Actor,
    /// In which view levels are changed.
    pub view: ViewId,
    /// When.
    pub at: Timestamp,
    /// The view an agent is confined to; none for the system side, which is not checked.
    pub guard: Option<&'a View>,
    /// What is too large.
    pub limits: EditLimits,
}

/// What is too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditLimits {
    /// The most bytes of content a page may hold.
    pub detail_bytes: u64,
}

impl Default for EditLimits {
    fn default() -> Self {
        Self { detail_bytes: 16 * 1024 * 1024 }
    }
}

/// Why there is no change yet, or at all.
#[derive(Debug, Clone)]
pub(crate) enum Halt {
    /// Something must be loaded first.
    Need(Need),
    /// The edit is refused.
    Refused(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Halt::Refused(error)
    }
}

type Decision<T = ()> = Result<T, Halt>;

/// Decides an edit.
pub(crate) fn decide(
    edit: &Edit,
    request: &EditRequest<'_>,
    known: &Known,
) -> Result<Change, Halt> {
    let mut draft = Draft::new(request, known);
    apply(&mut draft, edit)?;
    // A document is as deep as its reader allowed: it looked at all pages at once.
    if !matches!(edit, Edit::Load(_)) {
        draft.refuse_too_deep()?;
    }
    Ok(draft.finish(edit.operation()))
}

fn apply(draft: &mut Draft<'_>, edit: &Edit) -> Decision {
    match edit {
        Edit::AddSegment(new) => segments::add(draft, new),
        Edit::UpdateSegment(update) => segments::update(draft, update),
        Edit::RemoveSegment { segment, cascade, force } => {
            segments::remove(draft, segment, *cascade, *force)
        }
        Edit::SetPermission { segment, permission } => {
            segments::set_permission(draft, segment, *permission)
        }
        Edit::CreateDetailPage(new) => pages::create_detail(draft, new),
        Edit::CreateContentsPage(new) => pages::create_contents(draft, new),
        Edit::UpdatePage(update) => pages::update(draft, update),
        Edit::AddTurn { segment, messages } => turns::add(draft, segment, messages),
        Edit::ExtendTurn { segment, messages } => turns::extend(draft, segment, messages),
        Edit::OpenExchange { segment, messages } => exchanges::open(draft, segment, messages),
        Edit::AddResults { segment, messages } => exchanges::answer(draft, segment, messages),
        Edit::CloseExchange { segment } => exchanges::close(draft, segment),
        Edit::PublishTurn { segment, agent, messages, sources } => {
            turns::publish(draft, segment, agent, messages, sources)
        }
        Edit::ExpandDetails(page) => levels::expand(draft, page),
        Edit::HideDetails(page) => levels::hide(draft, page),
        Edit::PinPage(page) => levels::pin(draft, page, true),
        Edit::UnpinPage(page) => levels::pin(draft, page, false),
        Edit::FocusPage(page) => levels::focus(draft, page),
        Edit::SwitchLevel(level) => levels::switch(draft, *level),
        Edit::RecordRound { action, result } => levels::record_round(draft, action, result),
        Edit::FoldPages(plan) => folds::fold(draft, plan),
        Edit::BranchView { view, parent, levels } => levels::branch(draft, view, parent, levels),
        Edit::MovePage { page, to } => structure::move_page(draft, page, to),
        Edit::ArchivePage(page) => structure::archive(draft, page),
        Edit::RemovePage(page) => structure::remove(draft, page),
        Edit::RestorePage { page, to } => structure::restore(draft, page, to.as_ref()),
        Edit::PurgePage(page) => structure::purge(draft, page),
        Edit::SetCustom { key, value } => levels::set_custom(draft, key, value.as_deref()),
        Edit::ExpectCustom { key, value } => levels::expect_custom(draft, key, value.as_deref()),
        Edit::Undo { revision } => undo::undo(draft, *revision),
        Edit::Load(plan) => load::load(draft, plan),
        Edit::Batch(edits) | Edit::Init(edits) | Edit::Import(edits) | Edit::Recall(edits) => {
            batch(draft, edits)
        }
    }
}

fn batch(draft: &mut Draft<'_>, edits: &[Edit]) -> Decision {
    let lonely = |edit: &Edit| {
        matches!(
            edit,
            Edit::Undo { .. }
                | Edit::PurgePage(_)
                | Edit::RecordRound { .. }
                | Edit::Load(_)
                | Edit::Batch(_)
                | Edit::Init(_)
                | Edit::Import(_)
                | Edit::Recall(_)
        )
    };
    if let Some(edit) = edits.iter().find(|edit| lonely(edit)) {
        return Err(Error::InvalidRequest {
            reason: format!("operation '{}' cannot be part of a batch", edit.operation()),
            advice: "make it an edit of its own".into(),
        }
        .into());
    }
    structure::need_for_moves(draft, edits)?;
    edits.iter().try_for_each(|edit| apply(draft, edit))
}

#[cfg(test)]
mod needs_tests;
