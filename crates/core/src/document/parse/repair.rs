//! Repairs of documents that leave something out or get it wrong.

use std::collections::HashSet;

use super::{Parser, fault};
use crate::{
    Actor, Page, PageIndex, Result, Revision, SegmentId, SegmentKind, Trust, Visibility,
    document::LoadPage,
    storage::{PageBody, PageStanding, Place, Version},
};

impl Parser {
    /// Gives every segment a root.
    pub(super) fn add_missing_roots(&mut self) {
        for segment in &self.segments {
            let page = Page {
                index: segment.root(),
                parent: None,
                place: Place(0),
                body: PageBody::Contents,
                name: segment.name.clone(),
                description: segment.description.clone(),
                visibility: Visibility::Expanded,
                standing: if segment.removed {
                    PageStanding::ColdArchived
                } else {
                    PageStanding::InTree
                },
                author: Actor::System,
                rewritten_by: None,
                trust: Trust::System,
                sources: Vec::new(),
                turn: None,
                version: Version(1),
                revision: Revision(0),
                created_at: segment.created_at,
                updated_at: segment.updated_at,
            };
            let root = LoadPage { page, messages: Vec::new() };
            self.pages.entry(segment.root()).or_insert(root);
        }
    }

    /// Puts roots back into the tree and expands the roots of System-kind segments, whatever the file says
    ///.
    pub(super) fn repair_roots(&mut self) -> Result<()> {
        for segment in self.segments.iter().filter(|segment| !segment.removed) {
            let index = segment.root();
            let Some(LoadPage { page, .. }) = self.pages.get_mut(&index) else { continue };
            if !page.is_contents() {
                return Err(fault(format!("page '{index}': a root must be a ContentsPage")));
            }
            if page.standing != PageStanding::InTree {
                page.standing = PageStanding::InTree;
                self.warnings.push(format!("root {index} was archived; it was restored"));
            }
            if segment.kind == SegmentKind::System && page.visibility == Visibility::Hidden {
                page.visibility = Visibility::Expanded;
                self.warnings.push(format!("system root {index} was hidden; it was expanded"));
            }
        }
        Ok(())
    }

    /// A page that says no more than that it is out of the window, below one that keeps it out, was not
    /// archived itself: it comes back with that one.
    pub(super) fn derive_archived(&mut self) {
        let above = |page: &Page| {
            let mut above = Vec::new();
            let mut next = page.parent.as_ref().and_then(|parent| self.pages.get(parent));
            while let Some(LoadPage { page, .. }) = next {
                above.push(page);
                next = page.parent.as_ref().and_then(|parent| self.pages.get(parent));
            }
            above
        };
        let derives = |page: &Page| match page.standing {
            PageStanding::InTree | PageStanding::Moved(_) => false,
            PageStanding::HotArchived => above(page).into_iter().any(|above| {
                above.standing == PageStanding::HotArchived
                    || above.visibility == Visibility::Hidden
            }),
            PageStanding::ColdArchived => {
                above(page).into_iter().any(|above| above.standing == PageStanding::ColdArchived)
            }
        };
        let said = self.only_said.iter().filter_map(|index| self.pages.get(index));
        let derived: Vec<PageIndex> =
            said.filter(|it| derives(&it.page)).map(|it| it.page.index.clone()).collect();
        for index in derived {
            if let Some(LoadPage { page, .. }) = self.pages.get_mut(&index) {
                page.standing = PageStanding::InTree;
            }
        }
    }

    /// Expands all pages of read-only System-kind segments, whatever the file says.
    pub(super) fn repair_prompts(&mut self) {
        let fixed: HashSet<&SegmentId> = self
            .segments
            .iter()
            .filter(|segment| segment.stands_in_full() && !segment.removed)
            .map(|segment| &segment.id)
            .collect();
        for (index, LoadPage { page, .. }) in &mut self.pages {
            if fixed.contains(index.segment()) && page.visibility == Visibility::Hidden {
                page.visibility = Visibility::Expanded;
                self.warnings.push(format!(
                    "page {index} of a read-only system prompt was hidden; it was expanded"
                ));
            }
        }
    }
}
