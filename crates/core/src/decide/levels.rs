//! What a view shows, hides, pins and focuses; and the session's custom state.

use super::{Decision, Draft, draft::Lineage};
use crate::{
    Error, Level, Operation, PageIndex, SegmentKind, Visibility,
    storage::{CustomKey, LevelEntry, ViewId},
    view::entries::{self, AppRound},
};

/// Shows a page in the caller's view.
pub(super) fn expand(draft: &mut Draft<'_>, index: &PageIndex) -> Decision {
    let lineage = draft.allowed(index, Operation::ExpandDetails)?;
    let ancestors: Vec<&PageIndex> = lineage.ancestors.iter().map(|page| &page.index).collect();
    draft.need_levels(&ancestors)?;
    for ancestor in &lineage.ancestors {
        if draft.visibility(&lineage.segment, ancestor)? == Visibility::Hidden
            || draft.in_run(&lineage.segment, ancestor)?
        {
            let ancestor = ancestor.index.clone();
            return Err(Error::HiddenAncestor { page: index.clone(), ancestor }.into());
        }
    }
    leave_run(draft, &lineage)?;
    set(draft, &lineage, |entry| {
        entry.shown = Some(Visibility::Expanded);
        entry.held = Some(0);
        entry.fold = None;
    })
}

/// Lets a page that a run stands for stand by itself again, directly behind the run's line.
fn leave_run(draft: &mut Draft<'_>, lineage: &Lineage) -> Decision {
    let Some(parent) = &lineage.page.parent else { return Ok(()) };
    let (view, index) = (draft.view.clone(), &lineage.page.index);
    let mut entry = draft.entry(&view, parent)?;
    if entry.run_over(index, lineage.page.place).is_none() {
        return Ok(());
    }
    entry.runs = entry.runs.iter().map(|run| run.without(&lineage.page)).collect();
    draft.set_entry(&view, parent, entry)
}

/// Hides a page in the caller's view.
pub(super) fn hide(draft: &mut Draft<'_>, index: &PageIndex) -> Decision {
    let lineage = draft.allowed(index, Operation::HideDetails)?;
    // In the core, not only in the proxy: what agents are bound by never vanishes.
    if lineage.segment.kind == SegmentKind::System && index.is_root() {
        return Err(Error::SystemRoot { page: index.clone() }.into());
    }
    if lineage.segment.stands_in_full() {
        return Err(Error::PromptStands { page: index.clone() }.into());
    }
    set(draft, &lineage, |entry| {
        entry.shown = Some(Visibility::Hidden);
        entry.held = None;
    })
}

/// Sets or takes back a pin in the caller's view.
pub(super) fn pin(draft: &mut Draft<'_>, index: &PageIndex, pinned: bool) -> Decision {
    let operation = if pinned { Operation::PinPage } else { Operation::UnpinPage };
    let lineage = draft.allowed(index, operation)?;
    if pinned {
        // What is pinned stands in the window, whatever was folded before.
        leave_run(draft, &lineage)?;
    }
    set(draft, &lineage, |entry| {
        entry.pinned = Some(pinned);
        entry.fold = entry.fold.filter(|_| !pinned);
    })
}

fn set(draft: &mut Draft<'_>, lineage: &Lineage, change: impl FnOnce(&mut LevelEntry)) -> Decision {
    let (view, index) = (draft.view.clone(), &lineage.page.index);
    let mut entry = draft.entry(&view, index)?;
    change(&mut entry);
    draft.subjects.push(index.clone());
    draft.set_entry(&view, index, entry)
}

/// Sets the caller's focus.
pub(super) fn focus(draft: &mut Draft<'_>, index: &PageIndex) -> Decision {
    draft.allowed(index, Operation::FocusPage)?;
    let view = draft.view.clone();
    draft.subjects.push(index.clone());
    draft.set_focus(&view, Some(index.clone()))
}

/// Switches the caller's view to a level.
pub(super) fn switch(draft: &mut Draft<'_>, level: Level) -> Decision {
    let key = entries::level_key(&draft.view);
    // Full is where every view begins.
    let value = (level != Level::Full).then(|| level.as_str().to_owned());
    draft.set_custom(&key, value)
}

/// Begins a branch's level state as that of its parent.
pub(super) fn branch(
    draft: &mut Draft<'_>,
    view: &ViewId,
    parent: &ViewId,
    levels: &[(PageIndex, LevelEntry)],
) -> Decision {
    draft.system_side_only(Operation::BranchView)?;
    if let Some(level) = draft.custom(&entries::level_key(parent))? {
        draft.set_custom(&entries::level_key(view), Some(level))?;
    }
    if let Some(focus) = draft.focus(parent)? {
        draft.set_focus(view, Some(focus))?;
    }
    for (page, entry) in levels {
        draft.set_new_entry(view, page, entry.clone());
    }
    Ok(())
}

/// Notes what an application did in the caller's view.
pub(super) fn record_round(draft: &mut Draft<'_>, action: &str, result: &str) -> Decision {
    let key = entries::round_key(&draft.view);
    let last = draft.custom(&key)?.and_then(|text| AppRound::read(&text));
    let count = last.map_or(1, |last| last.count.saturating_add(1));
    let round = AppRound { count, action: brief(action), result: brief(result) };
    draft.set_custom(&key, Some(round.write()))
}

/// The most characters of a text that a round keeps.
const ROUND: usize = 1_000;

fn brief(text: &str) -> String {
    match text.char_indices().nth(ROUND) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Sets or clears an entry of the session's custom state.
pub(super) fn set_custom(draft: &mut Draft<'_>, key: &CustomKey, value: Option<&str>) -> Decision {
    draft.system_side_only(Operation::SetCustom)?;
    if let Some(view) = entries::view_of(key) {
        let reason = format!("custom state '{key}' belongs to view '{view}'");
        let advice =
            "switch the level with its own edit; rounds are recorded when anchors are pressed"
                .into();
        return Err(Error::InvalidRequest { reason, advice }.into());
    }
    let limit = draft.request.limits.detail_bytes;
    let size = value.map_or(0, |value| value.len() as u64);
    if size > limit {
        return Err(Error::TooLarge { what: format!("custom state '{key}'"), size, limit }.into());
    }
    draft.set_custom(key, value.map(str::to_owned))
}

/// Refuses unless an entry of the custom state is what the caller read.
pub(super) fn expect_custom(
    draft: &mut Draft<'_>,
    key: &CustomKey,
    value: Option<&str>,
) -> Decision {
    draft.system_side_only(Operation::SetCustom)?;
    if draft.custom(key)?.as_deref() == value {
        return Ok(());
    }
    Err(Error::CustomMoved { key: key.clone() }.into())
}
