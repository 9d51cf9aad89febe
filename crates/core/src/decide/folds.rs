//! Folds: a view's levels lowered to meet a budget, as the window's plan decided.
//!
//! What to fold is decided where tokens are known ([`crate::window`]); here it is checked that the
//! plan still fits, stays within the view, and lowers nothing that must stand. A run may cover pinned
//! pages: it does not stand for them, whoever pinned them and whenever.

use super::{Decision, Draft};
use crate::{
    Error, Operation, PageIndex, SegmentKind,
    storage::LevelEntry,
    window::{FoldPlan, FoldStep},
};

/// Takes a fold in the caller's view.
pub(super) fn fold(draft: &mut Draft<'_>, plan: &FoldPlan) -> Decision {
    if plan.steps.is_empty() {
        let reason = "the fold changes nothing".to_owned();
        return Err(Error::InvalidRequest {
            reason,
            advice: "fold only when the window is over its budget".into(),
        }
        .into());
    }
    let pages: Vec<&PageIndex> = plan.steps.iter().map(|step| &step.page).collect();
    draft.need_levels(&pages)?;
    plan.steps.iter().try_for_each(|step| take(draft, step))?;
    draft.fold = Some(plan.report);
    Ok(())
}

fn take(draft: &mut Draft<'_>, step: &FoldStep) -> Decision {
    let FoldStep { page, before, after } = step;
    let lineage = draft.allowed(page, Operation::FoldPages)?;
    if lineage.segment.kind == SegmentKind::System {
        return Err(Error::SystemRoot { page: page.clone() }.into());
    }
    let view = draft.view.clone();
    let current = draft.entry(&view, page)?;
    if current != *before {
        return Err(Error::FoldOutdated { page: page.clone() }.into());
    }
    if current.shown != after.shown || current.pinned != after.pinned {
        let reason = format!("a fold of {page} may change only its fold and its runs");
        return Err(Error::InvalidRequest {
            reason,
            advice: "let the window plan the fold".into(),
        }
        .into());
    }
    if lowers(&current, after) && draft.is_pinned(page)? {
        return Err(Error::FoldOutdated { page: page.clone() }.into());
    }
    draft.subjects.push(page.clone());
    draft.set_entry(&view, page, after.clone())
}

fn lowers(before: &LevelEntry, after: &LevelEntry) -> bool {
    after.fold.is_some() && after.fold != before.fold
}
