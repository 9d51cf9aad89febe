//! Segments: added with their root, updated, removed.

use super::{Decision, Draft, Halt};
use crate::{
    Actor, Advice, Error, NewSegment, Operation, Owner, Page, PageIndex, Permission, Revision,
    Segment, SegmentId, SegmentKind, SegmentUpdate, Trust, Visibility, permission,
    storage::{PageBody, PageStanding, Place, Version},
};

/// Adds a segment and its root in one edit.
pub(super) fn add(draft: &mut Draft<'_>, new: &NewSegment) -> Decision {
    may_add(draft, new)?;
    let taken = || Error::AlreadyExists { what: format!("segment {}", new.id) };
    let old = draft.any_segment(&new.id);
    if old.as_ref().is_some_and(|old| !old.removed) {
        return Err(taken().into());
    }
    // The archive of a removed segment comes back with its name: an agent gets only its own.
    let owner = old.as_ref().and_then(|old| old.owner.clone());
    if let (Some(_), Some(view)) = (&old, draft.guard())
        && owner != Some(Owner::Agent(view.agent.clone()))
    {
        return Err(taken().into());
    }
    let at = draft.request.at;
    let name = match &new.name {
        Some(name) => name.clone(),
        None => new.id.as_str().parse()?,
    };
    let added_by = match &draft.request.actor {
        Actor::System | Actor::User(_) => None,
        Actor::Agent(name) => Some(Owner::Agent(name.clone())),
    };
    let segment = Segment {
        id: new.id.clone(),
        name,
        description: new.description.clone(),
        kind: new.kind,
        permission: new.permission,
        capacity: new.capacity,
        owner: added_by.or_else(|| Owner::implied_by(&new.id)),
        ordinal: draft.next_ordinal(),
        next_number: old.as_ref().map_or(1, |old| old.next_number.max(1)),
        touched: Revision(0),
        removed: false,
        version: Version(1),
        revision: Revision(0),
        created_at: at,
        updated_at: at,
    };
    if old.is_some() && new.kind == SegmentKind::System {
        show_root(draft, &segment.root())?;
    }
    let root = root_page(draft, &segment);
    draft.subjects.push(root.index.clone());
    draft.change_segment(segment);
    draft.change_page(root)
}

/// Takes back what views hid under this name before it became a system root.
fn show_root(draft: &mut Draft<'_>, root: &PageIndex) -> Decision {
    for view in draft.views()? {
        let mut entry = draft.entry(&view, root)?;
        let shown = entry.shown.filter(|shown| *shown != Visibility::Hidden);
        if (entry.shown, entry.fold) != (shown, None) {
            (entry.shown, entry.fold) = (shown, None);
            draft.set_entry(&view, root, entry)?;
        }
    }
    Ok(())
}

fn may_add(draft: &mut Draft<'_>, new: &NewSegment) -> Decision {
    let Some(view) = draft.guard() else { return Ok(()) };
    let refused = Error::Refused { operation: Operation::AddSegment, subject: new.id.to_string() };
    let own = draft.segment(&view.writes_to)?;
    let managed = own.is_some_and(|own| own.permission == Permission::SystemManaged);
    let implied = Owner::implied_by(&new.id);
    let own_name = implied.is_none_or(|owner| owner == Owner::Agent(view.agent.clone()));
    // System prompts come from the system side: an agent that could add them could forge them. Nor
    // may it take a name that stands for another agent or a group.
    if !managed || new.kind == SegmentKind::System || !own_name {
        return Err(refused.into());
    }
    Ok(())
}

fn root_page(draft: &Draft<'_>, segment: &Segment) -> Page {
    let at = draft.request.at;
    Page {
        index: segment.root(),
        parent: None,
        place: Place(0),
        body: PageBody::Contents,
        name: segment.name.clone(),
        description: segment.description.clone(),
        visibility: Visibility::Expanded,
        standing: PageStanding::InTree,
        author: draft.request.actor.clone(),
        rewritten_by: None,
        trust: actor_trust(&draft.request.actor),
        sources: Vec::new(),
        turn: None,
        version: Version(1),
        revision: Revision(0),
        created_at: at,
        updated_at: at,
    }
}

/// Returns how far what an actor writes can be trusted.
pub(super) fn actor_trust(actor: &Actor) -> Trust {
    match actor {
        Actor::System | Actor::User(_) => Trust::System,
        Actor::Agent(_) => Trust::Agent,
    }
}

/// Changes what is given of a segment.
pub(super) fn update(draft: &mut Draft<'_>, update: &SegmentUpdate) -> Decision {
    let SegmentUpdate { segment, name, description, permission, capacity } = update;
    if name.is_none() && description.is_none() && permission.is_none() && capacity.is_none() {
        return Err(Error::InvalidRequest {
            reason: format!("nothing to change in segment {segment}"),
            advice: "give a name, description, permission or capacity".into(),
        }
        .into());
    }
    let mut changed = allowed(draft, segment, Operation::UpdateSegment)?;
    if permission.is_some() {
        check(draft, &changed, Operation::SetPermission)?;
    }
    changed.name = name.clone().unwrap_or(changed.name);
    changed.description = description.clone().unwrap_or(changed.description);
    changed.permission = permission.unwrap_or(changed.permission);
    changed.capacity = capacity.unwrap_or(changed.capacity);
    draft.change_segment(changed);
    Ok(())
}

/// Sets what agents may do in a segment.
pub(super) fn set_permission(
    draft: &mut Draft<'_>,
    id: &SegmentId,
    permission: Permission,
) -> Decision {
    let mut segment = allowed(draft, id, Operation::SetPermission)?;
    segment.permission = permission;
    draft.change_segment(segment);
    Ok(())
}

/// Removes a segment; told to cascade, its pages go to the archive.
pub(super) fn remove(
    draft: &mut Draft<'_>,
    id: &SegmentId,
    cascade: bool,
    force: bool,
) -> Decision {
    let mut segment = allowed(draft, id, Operation::RemoveSegment)?;
    if segment.kind == SegmentKind::System && !force {
        return Err(Error::InvalidRequest {
            reason: format!(
                "segment {id} is of kind system and holds prompts that agents are bound by"
            ),
            advice: Advice::Force,
        }
        .into());
    }
    if let Some(root) = draft.page(&segment.root())? {
        draft.whole(&segment, &root, Operation::RemoveSegment)?;
    }
    for child in draft.listed_children(&segment.root())? {
        if !cascade {
            return Err(Error::SegmentNotEmpty { segment: id.clone() }.into());
        }
        draft.change_page(Page { standing: PageStanding::ColdArchived, ..(*child).clone() })?;
    }
    if let Some(root) = draft.page(&segment.root())? {
        draft.subjects.push(root.index.clone());
        draft.change_page(Page { standing: PageStanding::ColdArchived, ..(*root).clone() })?;
    }
    segment.removed = true;
    draft.change_segment(segment);
    Ok(())
}

fn allowed(draft: &mut Draft<'_>, id: &SegmentId, operation: Operation) -> Decision<Segment> {
    let segment = draft.require_segment(id)?;
    check(draft, &segment, operation)?;
    Ok(segment)
}

fn check(draft: &Draft<'_>, segment: &Segment, operation: Operation) -> Decision {
    match draft.guard() {
        None => Ok(()),
        Some(_) => permission::check_segment(segment, operation).map_err(Halt::from),
    }
}
