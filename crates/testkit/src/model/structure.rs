//! Structure: moved, archived, removed, restored, purged.

use std::{collections::BTreeMap, sync::Arc};

use contexture_core::{
    Actor, ErrorKind, PageIndex, Permission,
    storage::{LevelEntry, PageStanding},
};

use super::{Answer, Doing, ModelPage, is_listed};

impl Doing<'_> {
    pub(super) fn move_page(&mut self, index: &PageIndex, to: &PageIndex) -> Answer {
        self.writable(index)?;
        let target = self.writable(to)?;
        if index.is_root() || !target.is_contents || self.is_within(to, index) {
            return Err(ErrorKind::Invalid);
        }
        if index.segment() != to.segment() {
            self.transplant(index, to);
            return Ok(());
        }
        self.named.push(index.clone());
        self.hang(index, to);
        Ok(())
    }

    fn is_within(&self, index: &PageIndex, top: &PageIndex) -> bool {
        index == top || self.model.above(index).contains(top)
    }

    /// Hangs a page to the end of a directory.
    fn hang(&mut self, index: &PageIndex, to: &PageIndex) {
        let mut page = self.model.pages[index].clone();
        page.parent = Some(to.clone());
        page.rank = self.next_rank();
        self.put_page(index, Some(page));
    }

    /// Copies a subtree into another segment and retires the originals.
    fn transplant(&mut self, top: &PageIndex, to: &PageIndex) {
        let mut line = vec![top.clone()];
        let mut at = 0;
        while at < line.len() {
            let under = self.model.under(&line[at]);
            line.extend(under.into_iter().filter(|p| is_listed(&self.model.pages[p].standing)));
            at += 1;
        }
        let mut renamed: BTreeMap<PageIndex, PageIndex> = BTreeMap::new();
        for old in &line {
            let new = self.next_index(to.segment());
            renamed.insert(old.clone(), new.clone());
            let original = self.model.pages[old].clone();
            let parent = original.parent.as_ref().filter(|_| old != top);
            let copy = ModelPage {
                parent: Some(parent.map_or(to, |parent| &renamed[parent]).clone()),
                rank: self.next_rank(),
                standing: if old == top { PageStanding::InTree } else { original.standing.clone() },
                sources: vec![old.clone()],
                turn: original.turn.clone().map(|turn| renamed.get(&turn).cloned().unwrap_or(turn)),
                ..original.clone()
            };
            self.put_page(&new, Some(copy));
            self.put_page(
                old,
                Some(ModelPage { standing: PageStanding::Moved(new.clone()), ..original }),
            );
            self.carry_levels(old, &new);
            self.moved.push((old.clone(), new));
        }
        self.named.push(renamed[top].clone());
    }

    /// What every view says of the old page holds for the new one.
    fn carry_levels(&mut self, old: &PageIndex, new: &PageIndex) {
        let entries: Vec<(Actor, LevelEntry)> = self
            .model
            .levels
            .iter()
            .filter(|((_, page), _)| page == old)
            .map(|((view, _), entry)| (view.clone(), entry.clone()))
            .collect();
        for (view, mut entry) in entries {
            // It was folded where it stood; where it stands now it is not.
            (entry.fold, entry.runs) = (None, Arc::default());
            if entry != LevelEntry::default() {
                self.put_entry(&view, new, entry);
            }
        }
        let focused = self.model.focus.iter().filter(|(_, page)| *page == old);
        for view in focused.map(|(view, _)| view.clone()).collect::<Vec<_>>() {
            self.put_focus(&view, Some(new.clone()));
        }
    }

    pub(super) fn archive(&mut self, index: &PageIndex) -> Answer {
        let page = self.writable(index)?;
        if index.is_root() || page.standing == PageStanding::HotArchived {
            return Err(ErrorKind::Invalid);
        }
        self.stand(index, PageStanding::HotArchived);
        Ok(())
    }

    pub(super) fn remove(&mut self, index: &PageIndex) -> Answer {
        self.writable(index)?;
        if index.is_root() {
            return Err(ErrorKind::Invalid);
        }
        self.stand(index, PageStanding::ColdArchived);
        Ok(())
    }

    fn stand(&mut self, index: &PageIndex, standing: PageStanding) {
        let page = ModelPage { standing, ..self.model.pages[index].clone() };
        self.named.push(index.clone());
        self.put_page(index, Some(page));
    }

    pub(super) fn restore(&mut self, index: &PageIndex, to: Option<&PageIndex>) -> Answer {
        let segment = match self.is_agent() {
            true => self.model.seen(self.caller, index.segment()),
            false => self.model.segments.get(index.segment()),
        };
        let segment = segment.cloned().ok_or(ErrorKind::NotFound)?;
        let page = self.model.pages.get(index).cloned().ok_or(ErrorKind::NotFound)?;
        if self.is_agent() && segment.permission == Permission::ReadOnly {
            return Err(ErrorKind::PermissionDenied);
        }
        if index.is_root() {
            return Err(ErrorKind::Invalid);
        }
        let in_place = page.standing == PageStanding::InTree && self.model.stands(index);
        match page.standing {
            PageStanding::Moved(_) => return Err(ErrorKind::NotFound),
            _ if in_place && !segment.removed => return Err(ErrorKind::Invalid),
            _ => {}
        }
        if let Some(to) = to {
            let target = self.writable(to)?;
            if !target.is_contents || self.is_within(to, index) {
                return Err(ErrorKind::Invalid);
            }
            if segment.removed || to.segment() != index.segment() {
                self.transplant(index, to);
                return Ok(());
            }
            self.stand(index, PageStanding::InTree);
            self.hang(index, to);
            return Ok(());
        }
        if segment.removed {
            return Err(ErrorKind::Invalid);
        }
        let parent = page.parent.expect("only roots have none");
        let old_place = self.model.stands(&parent);
        self.stand(index, PageStanding::InTree);
        if !old_place {
            self.hang(index, &index.segment().root());
        }
        Ok(())
    }

    pub(super) fn purge(&mut self, index: &PageIndex) -> Answer {
        if self.is_agent() {
            self.find(index)?;
            return Err(ErrorKind::PermissionDenied);
        }
        let page = self.model.pages.get(index);
        if page.is_none() && !self.model.vanished().contains_key(index) {
            return Err(ErrorKind::NotFound);
        }
        if index.is_root() {
            return Err(ErrorKind::Invalid);
        }
        if page.is_some_and(|page| matches!(page.standing, PageStanding::Moved(_))) {
            return Err(ErrorKind::NotFound);
        }
        self.purges = true;
        let mut line = vec![index.clone()];
        while let Some(doomed) = line.pop() {
            // What an undo took away from under it, or took back from where it lived on.
            for (page, (parent, original)) in self.model.vanished() {
                let along = parent.as_ref() == Some(&doomed) || original.as_ref() == Some(&doomed);
                if along && !self.named.contains(&page) {
                    line.push(page);
                }
            }
            let Some(page) = self.model.pages.get(&doomed).cloned() else {
                self.model.purged.insert(doomed.clone());
                self.touched.pages.entry(doomed.clone()).or_default();
                self.named.push(doomed);
                continue;
            };
            self.model.purged.insert(doomed.clone());
            // What a retired page left behind lives elsewhere, or in the archive on its own.
            if !matches!(page.standing, PageStanding::Moved(_)) {
                line.extend(self.model.under(&doomed));
            }
            let moved_here = |source: &&PageIndex| {
                let source = self.model.pages.get(source);
                source.is_some_and(|source| source.standing == PageStanding::Moved(doomed.clone()))
            };
            line.extend(page.sources.iter().filter(moved_here).cloned());
            self.named.push(doomed.clone());
            self.put_page(&doomed, None);
        }
        Ok(())
    }
}
