//! Segments: added with their root, changed, removed.

use contexture_core::{
    ErrorKind, NewSegment, Owner, PageIndex, Permission, SegmentId, SegmentKind, SegmentUpdate,
    Visibility, storage::PageStanding,
};

use super::{Answer, Doing, ModelPage, ModelSegment};

impl Doing<'_> {
    pub(super) fn add_segment(&mut self, new: &NewSegment) -> Answer {
        if let Some(view) = self.caller.view() {
            let own = self.model.seen(self.caller, &view.writes_to);
            let managed = own.is_some_and(|own| own.permission == Permission::SystemManaged);
            let own = Owner::Agent(view.agent.clone());
            let others = implied_owner(&new.id).is_some_and(|owner| owner != own);
            if !managed || new.kind == SegmentKind::System || others {
                return Err(ErrorKind::PermissionDenied);
            }
        }
        if let Some(old) = self.model.segments.get(&new.id) {
            // A name whose archive is not the caller's own stays taken.
            let own = self.caller.view().map(|view| Owner::Agent(view.agent.clone()));
            if !old.removed || (own.is_some() && old.owner != own) {
                return Err(ErrorKind::Conflict);
            }
        }
        let name = new.name.as_ref().map_or(new.id.as_str(), |name| name.as_str()).to_owned();
        let owner = match self.caller.view() {
            Some(view) => Some(Owner::Agent(view.agent.clone())),
            None => implied_owner(&new.id),
        };
        let last = self.model.segments.values().map(|segment| segment.order).max();
        let segment = ModelSegment {
            name: name.clone(),
            description: new.description.to_string(),
            kind: new.kind,
            permission: new.permission,
            capacity: new.capacity,
            owner,
            order: last.map_or(0, |last| last + 1),
            removed: false,
            stamp: 0,
        };
        let root = ModelPage {
            parent: None,
            rank: 0,
            is_contents: true,
            name,
            description: segment.description.clone(),
            visibility: Visibility::Expanded,
            standing: PageStanding::InTree,
            author: self.caller.actor(),
            rewritten_by: None,
            trust: self.trust(),
            sources: Vec::new(),
            turn: None,
            texts: Vec::new(),
            stamp: 0,
        };
        self.put_segment(&new.id, segment);
        self.put_page(&new.id.root(), Some(root));
        self.named.push(new.id.root());
        if new.kind == SegmentKind::System {
            self.unhide_everywhere(&new.id.root());
        }
        Ok(())
    }

    /// A system root stands expanded in every view, whatever stood under that name before.
    fn unhide_everywhere(&mut self, root: &PageIndex) {
        let hidden: Vec<_> = self
            .model
            .levels
            .iter()
            .filter(|((_, page), entry)| {
                let hidden = entry.shown == Some(Visibility::Hidden);
                page == root && (hidden || entry.fold.is_some())
            })
            .map(|((view, _), entry)| (view.clone(), entry.clone()))
            .collect();
        for (view, mut entry) in hidden {
            entry.shown = entry.shown.filter(|shown| *shown != Visibility::Hidden);
            entry.fold = None;
            self.put_entry(&view, root, entry);
        }
    }

    /// Finds a segment that the caller may change.
    fn managed(&self, id: &SegmentId) -> Answer<ModelSegment> {
        let segment = self.model.seen(self.caller, id).ok_or(ErrorKind::NotFound)?;
        let allowed =
            segment.permission == Permission::SystemManaged && segment.kind != SegmentKind::System;
        if self.is_agent() && !allowed {
            return Err(ErrorKind::PermissionDenied);
        }
        Ok(segment.clone())
    }

    pub(super) fn update_segment(&mut self, update: &SegmentUpdate) -> Answer {
        let SegmentUpdate { segment: id, name, description, permission, capacity } = update;
        if name.is_none() && description.is_none() && permission.is_none() && capacity.is_none() {
            return Err(ErrorKind::Invalid);
        }
        let mut segment = self.managed(id)?;
        if let Some(name) = name {
            segment.name = name.to_string();
        }
        if let Some(description) = description {
            segment.description = description.to_string();
        }
        segment.permission = permission.unwrap_or(segment.permission);
        segment.capacity = capacity.unwrap_or(segment.capacity);
        self.put_segment(id, segment);
        Ok(())
    }

    pub(super) fn set_permission(&mut self, id: &SegmentId, permission: Permission) -> Answer {
        let mut segment = self.managed(id)?;
        segment.permission = permission;
        self.put_segment(id, segment);
        Ok(())
    }

    pub(super) fn remove_segment(&mut self, id: &SegmentId, cascade: bool, force: bool) -> Answer {
        let mut segment = self.managed(id)?;
        if segment.kind == SegmentKind::System && !force {
            return Err(ErrorKind::Invalid);
        }
        let root = id.root();
        let under = self.model.under(&root);
        let listed = under.into_iter().filter(|page| self.model.stands(page)).collect::<Vec<_>>();
        if !cascade && !listed.is_empty() {
            return Err(ErrorKind::Conflict);
        }
        for index in listed.iter().chain([&root]) {
            let mut page = self.model.pages[index].clone();
            page.standing = PageStanding::ColdArchived;
            self.put_page(index, Some(page));
        }
        self.named.push(root);
        segment.removed = true;
        self.put_segment(id, segment);
        Ok(())
    }
}

fn implied_owner(id: &SegmentId) -> Option<Owner> {
    let agent = id.as_str().strip_prefix("agent-").or(id.as_str().strip_prefix("prompt-"));
    let group = id.as_str().strip_prefix("group-");
    let agent = agent.and_then(|name| name.parse().ok()).map(Owner::Agent);
    agent.or_else(|| group.and_then(|name| name.parse().ok()).map(Owner::Group))
}
