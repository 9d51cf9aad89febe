//! Pages: created and updated.

use std::sync::Arc;

use super::{Decision, Draft, Halt, adoption, draft::Lineage, segments::actor_trust};
use crate::{
    Actor, Error, Message, NewContentsPage, NewDetailPage, Operation, Page, PageIndex, PageName,
    PageUpdate, Revision, Role, Segment, Trust, Visibility,
    storage::{Content, PageBody, PageDetail, PageStanding, Version},
};

/// Creates a leaf with a text.
pub(super) fn create_detail(draft: &mut Draft<'_>, new: &NewDetailPage) -> Decision {
    let parent = directory_for(draft, &new.parent, &new.name)?;
    let own = actor_trust(&draft.request.actor);
    let trust = trust_of_sources(draft, &new.sources)?.map_or(own, |lowest| lowest.min(own));
    let body = PageBody::Detail(text_body(draft, &new.name, &new.detail)?);
    let seed = PageSeed { body, name: &new.name, visibility: new.visibility, trust };
    let mut page = new_page(draft, &parent.segment, &new.parent, seed);
    page.description = new.description.clone();
    page.sources = new.sources.clone();
    draft.subjects.push(page.index.clone());
    draft.put_page(page.index.clone(), Some(page), None)
}

/// Returns the directory that a new page goes to.
fn directory_for(draft: &mut Draft<'_>, parent: &PageIndex, name: &PageName) -> Decision<Lineage> {
    let found = draft.allowed(parent, Operation::CreatePage).map_err(|halt| match halt {
        Halt::Refused(Error::PageNotFound { page: parent }) => {
            Error::ParentNotFound { page: name.clone(), parent }.into()
        }
        halt => halt,
    });
    found?.directory()
}

/// Returns the lowest trust of the pages something is made from, which the caller must see.
pub(super) fn trust_of_sources(
    draft: &mut Draft<'_>,
    sources: &[PageIndex],
) -> Decision<Option<Trust>> {
    let mut lowest: Option<Trust> = None;
    for source in sources {
        draft.lineage(source)?;
        let trust = draft.page(source)?.map(|source| source.trust);
        lowest = [lowest, trust].into_iter().flatten().min();
    }
    Ok(lowest)
}

/// Creates a directory, optionally adopting pages in argument order. They stay as visible as they
/// were in every view, unless the directory is asked to be hidden.
pub(super) fn create_contents(draft: &mut Draft<'_>, new: &NewContentsPage) -> Decision {
    let parent = directory_for(draft, &new.parent, &new.name)?;
    let children = adoption::adopted(draft, &parent, &new.children)?;
    if new.visibility != Some(Visibility::Hidden) {
        adoption::keep_visible(draft, &parent, &children)?;
    }
    let seed = PageSeed {
        body: PageBody::Contents,
        name: &new.name,
        visibility: new.visibility,
        trust: actor_trust(&draft.request.actor),
    };
    let mut page = new_page(draft, &parent.segment, &new.parent, seed);
    page.description = new.description.clone();
    let index = page.index.clone();
    draft.subjects.push(index.clone());
    draft.put_page(index.clone(), Some(page), None)?;
    for child in children {
        let place = draft.claim_place();
        let page = Arc::unwrap_or_clone(child.page);
        draft.change_page(Page { parent: Some(index.clone()), place, ..page })?;
    }
    Ok(())
}

/// Changes what is given of a page.
pub(super) fn update(draft: &mut Draft<'_>, update: &PageUpdate) -> Decision {
    let lineage = draft.allowed(&update.page, Operation::UpdatePage)?;
    let mut page = (*lineage.page).clone();
    if let Some(expected) = update.if_version.filter(|expected| *expected != page.version) {
        let found = page.version;
        return Err(Error::VersionMismatch { page: page.index, expected, found }.into());
    }
    if update.name.is_none() && update.description.is_none() && update.detail.is_none() {
        return Err(Error::InvalidRequest {
            reason: format!("nothing to change in page {}", page.index),
            advice: "give a name, description or detail".into(),
        }
        .into());
    }
    if let Some(name) = &update.name {
        page.name = name.clone();
    }
    if let Some(description) = &update.description {
        page.description = description.clone();
    }
    if let Some(detail) = &update.detail {
        if page.is_contents() {
            return Err(Error::NotDetailPage { page: page.index }.into());
        }
        // A name and a description are seen as they are; messages may be seen in part.
        draft.whole(&lineage.segment, &lineage.page, Operation::UpdatePage)?;
        page.body = PageBody::Detail(text_body(draft, &page.name, detail)?);
        // The whole text is the caller's now, whoever wrote what stood there.
        let caller = draft.request.actor.clone();
        let among_us = caller.is_system_side() && page.author.is_system_side();
        page.rewritten_by = (caller != page.author && !among_us).then_some(caller);
    }
    // What a less trusted hand has touched is no more to be trusted than that hand.
    page.trust = page.trust.min(actor_trust(&draft.request.actor));
    draft.subjects.push(page.index.clone());
    draft.change_page(page)
}

fn text_body(draft: &mut Draft<'_>, name: &PageName, text: &str) -> Decision<PageDetail> {
    let (role, author) = match &draft.request.actor {
        Actor::System | Actor::User(_) => (Role::System, None),
        Actor::Agent(agent) => (Role::Assistant, Some(agent.clone())),
    };
    let message = Message { author, at: Some(draft.request.at), ..Message::text(role, text) };
    let messages: &[Message] = if text.is_empty() { &[] } else { &[message] };
    body(draft, name, messages)
}

/// Encodes messages as a page's content, within the limit.
pub(super) fn body(
    draft: &mut Draft<'_>,
    name: &PageName,
    messages: &[Message],
) -> Decision<PageDetail> {
    let (content, detail) = Content::with_detail(messages);
    // The limit is on what is said; how it is written down takes more, opaque parts most of all.
    let limit = draft.request.limits.detail_bytes;
    let (written, most) = (content.bytes().len() as u64, limit.saturating_mul(8));
    for (size, limit) in [(detail.weight, limit), (written, most)] {
        if size > limit {
            let what = format!("the content of page '{name}'");
            return Err(Error::TooLarge { what, size, limit }.into());
        }
    }
    draft.contents.push(content);
    Ok(detail)
}

/// What makes a new page different from another.
pub(super) struct PageSeed<'a> {
    pub(super) body: PageBody,
    pub(super) name: &'a PageName,
    pub(super) visibility: Option<Visibility>,
    pub(super) trust: Trust,
}

/// Makes a page at the end of a directory.
pub(super) fn new_page(
    draft: &mut Draft<'_>,
    segment: &Segment,
    parent: &PageIndex,
    seed: PageSeed<'_>,
) -> Page {
    let (index, place) = draft.claim(segment);
    Page {
        index,
        parent: Some(parent.clone()),
        place,
        body: seed.body,
        name: seed.name.clone(),
        description: Default::default(),
        // An agent's own note must not be invisible to it.
        visibility: seed.visibility.unwrap_or(Visibility::Expanded),
        standing: PageStanding::InTree,
        author: draft.request.actor.clone(),
        rewritten_by: None,
        trust: seed.trust,
        sources: Vec::new(),
        turn: None,
        version: Version(1),
        revision: Revision(0),
        created_at: draft.request.at,
        updated_at: draft.request.at,
    }
}
