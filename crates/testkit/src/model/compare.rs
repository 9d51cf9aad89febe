//! Where a real session differs from the model.

use std::collections::BTreeMap;

use contexture_core::{
    Page, PageIndex, Segment,
    storage::{ChunkKey, LevelEntry, ViewId},
};

use super::{Model, ModelPage, ModelSegment};
use crate::state::SessionState;

impl Model {
    /// Says where a snapshot differs from the model; empty when it does not.
    pub fn compare(&self, state: &SessionState) -> Vec<String> {
        let mut found = Vec::new();
        for (index, page) in &state.pages {
            found.extend(self.compare_page(index, Some(page)));
        }
        let missing = self.pages.keys().filter(|index| !state.pages.contains_key(index));
        found.extend(missing.map(|index| format!("page {index} is missing")));
        self.compare_order(state, &mut found);
        self.compare_segments(state, &mut found);
        self.compare_levels(state, &mut found);
        let focus: BTreeMap<ViewId, PageIndex> =
            self.focus.iter().map(|(view, page)| (ViewId::of(view), page.clone())).collect();
        if focus != state.focus {
            found.push(format!("focus is {:?}, not {focus:?}", state.focus));
        }
        if self.custom != state.custom {
            found.push(format!("custom state is {:?}, not {:?}", state.custom, self.custom));
        }
        found
    }

    /// Says how one page differs.
    pub fn compare_page(&self, index: &PageIndex, page: Option<&Page>) -> Option<String> {
        let expected = self.pages.get(index);
        let equal = match (expected, page) {
            (None, None) => true,
            (Some(expected), Some(page)) => same_page(expected, page),
            _ => false,
        };
        (!equal).then(|| format!("page {index} is {page:?}\n  not {expected:?}"))
    }

    fn compare_order(&self, state: &SessionState, found: &mut Vec<String>) {
        let mut real: BTreeMap<&PageIndex, Vec<(u64, &PageIndex)>> = BTreeMap::new();
        for (index, page) in &state.pages {
            if let Some(parent) = &page.parent {
                real.entry(parent).or_default().push((page.place.0, index));
            }
        }
        let mut model: BTreeMap<&PageIndex, Vec<(u64, &PageIndex)>> = BTreeMap::new();
        for (index, page) in &self.pages {
            if let Some(parent) = &page.parent {
                model.entry(parent).or_default().push((page.rank, index));
            }
        }
        let order = |mut pages: Vec<(u64, &PageIndex)>| {
            pages.sort();
            pages.into_iter().map(|(_, index)| index.clone()).collect::<Vec<_>>()
        };
        for (parent, pages) in real {
            let (real, model) = (order(pages), order(model.remove(parent).unwrap_or_default()));
            if real != model {
                found.push(format!("{parent} lists {real:?}, not {model:?}"));
            }
        }
    }

    fn compare_segments(&self, state: &SessionState, found: &mut Vec<String>) {
        for (id, segment) in &self.segments {
            // One whose addition was undone is no longer there.
            let expected = !segment.removed || self.pages.contains_key(&id.root());
            match state.segments.get(id) {
                Some(real) if expected && same_segment(segment, real) => {}
                None if !expected => {}
                real => found.push(format!("segment {id} is {real:?}, not {segment:?}")),
            }
        }
        for id in state.segments.keys().filter(|id| !self.segments.contains_key(id)) {
            found.push(format!("segment {id} should not be there"));
        }
    }

    fn compare_levels(&self, state: &SessionState, found: &mut Vec<String>) {
        let mut said = 0;
        for ((view, page), entry) in &self.levels {
            let key = ChunkKey::of(&ViewId::of(view), page);
            let real = state.levels.get(&key).map(|chunk| chunk.entry(page.number()));
            let real = real.unwrap_or_default();
            if real != *entry {
                found.push(format!("{view} says {real:?} of {page}, not {entry:?}"));
            }
            said += 1;
        }
        let mut real = 0;
        for (key, chunk) in &state.levels {
            let last = self.numbers.get(&key.segment).copied().unwrap_or(1);
            real +=
                (0..last).filter(|number| chunk.entry(*number) != LevelEntry::default()).count();
        }
        if real != said {
            found.push(format!("views say something of {real} pages, not of {said}"));
        }
    }
}

fn same_page(model: &ModelPage, page: &Page) -> bool {
    let messages = page.detail().map(|detail| detail.messages as usize);
    let weight = page.detail().map_or(0, |detail| detail.weight);
    // Runs name places, so these are compared as they are.
    model.rank == page.place.0
        && model.parent == page.parent
        && model.is_contents == page.is_contents()
        && model.name == page.name.as_str()
        && model.description == page.description.as_str()
        && model.visibility == page.visibility
        && model.standing == page.standing
        && model.author == page.author
        && model.rewritten_by == page.rewritten_by
        && model.trust == page.trust
        && model.sources == page.sources
        && model.turn == page.turn
        && messages.unwrap_or(0) == model.texts.len()
        && weight == model.texts.iter().map(|(_, text)| text.len() as u64).sum::<u64>()
}

fn same_segment(model: &ModelSegment, segment: &Segment) -> bool {
    model.name == segment.name.as_str()
        && model.description == segment.description.as_str()
        && model.kind == segment.kind
        && model.permission == segment.permission
        && model.capacity == segment.capacity
        && model.owner == segment.owner
        && model.order == segment.ordinal
        && model.removed == segment.removed
}
