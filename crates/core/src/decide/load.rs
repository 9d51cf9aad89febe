//! Loading: an empty session filled from a document, all or nothing.

use super::{Decision, Draft};
use crate::{
    Error, Operation, Page, Revision,
    document::LoadPlan,
    storage::{PageBody, Version},
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
    for loaded in &plan.pages {
        let body = match &loaded.page.body {
            PageBody::Contents => PageBody::Contents,
            PageBody::Detail(given) => {
                let made = super::pages::body(draft, &loaded.page.name, &loaded.messages)?;
                PageBody::Detail(made.with_count(given.message_count()))
            }
        };
        let place = draft.claim_place();
        let (version, revision) = (Version(1), Revision(0));
        let page = Page { body, place, version, revision, ..loaded.page.clone() };
        draft.put_first_page(page);
    }
    Ok(())
}
