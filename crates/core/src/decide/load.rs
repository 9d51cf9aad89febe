//! Loading: an empty session filled from a document, all or nothing.

use std::collections::{HashMap, HashSet};

use super::{Decision, Draft};
use crate::{
    Actor, Error, Operation, Page, PageIndex, Revision, SegmentId,
    document::LoadPlan,
    storage::{PageBody, Version},
    view::entries::open_key,
};

/// Fills an empty session.
pub(super) fn load(draft: &mut Draft<'_>, plan: &LoadPlan) -> Decision {
    draft.system_side_only(Operation::Load)?;
    if !draft.session_is_empty() {
        return Err(Error::SessionNotEmpty.into());
    }
    draft.times = plan.times;
    for segment in &plan.segments {
        draft.floors.push((segment.id.clone(), segment.next_number.max(1)));
        draft.put_first_segment(segment.clone());
    }
    let latest = latest_turns(plan);
    for loaded in &plan.pages {
        let body = match &loaded.page.body {
            PageBody::Contents => PageBody::Contents,
            PageBody::Detail(given) => {
                let made = super::pages::body(draft, &loaded.page.name, &loaded.messages)?;
                let mut made = made.with_count(given.message_count());
                // Only where a turn ends can results still come.
                if !latest.contains(&loaded.page.index) {
                    made.open = Vec::new();
                }
                PageBody::Detail(made)
            }
        };
        let place = draft.claim_place();
        let (version, revision) = (Version(1), Revision(0));
        let page = Page { body, place, version, revision, ..loaded.page.clone() };
        if page.is_open() {
            let key = open_key(page.index.segment(), &page.author);
            draft.set_custom(&key, Some(page.index.to_string()))?;
        }
        draft.put_first_page(page);
    }
    Ok(())
}

/// Returns the last page of each author's turns in each segment.
fn latest_turns(plan: &LoadPlan) -> HashSet<&PageIndex> {
    let pages = plan.pages.iter().map(|loaded| &loaded.page);
    let turns = pages.filter(|page| page.turn.is_some() && page.standing.is_listed());
    let latest: HashMap<(&SegmentId, &Actor), &PageIndex> =
        turns.map(|page| ((page.index.segment(), &page.author), &page.index)).collect();
    latest.into_values().collect()
}
