//! Entries that stand for lost ones: they say nothing of what was done, but they hold what pages and
//! later entries still refer to, so that a purge finds it.

use std::collections::{BTreeMap, HashMap, HashSet};

use contexture_core::{
    HistoryEntry, PageIndex, Revision, Timestamp,
    storage::{ContentHash, PageBefore, Version},
};

use super::findings::Findings;

/// Returns an entry for each revision that has none.
pub(super) fn stand_ins(found: &Findings) -> Vec<HistoryEntry> {
    let newest = found.newest();
    let lost: Vec<u64> =
        (1..=newest).filter(|revision| !found.entries.contains_key(revision)).collect();
    if lost.is_empty() {
        return Vec::new();
    }
    let mut page_states = page_states(found);
    let assigned = assigned(found);
    let edits = edits(found);
    let at = |revision: u64| {
        let later = found.entries.range(revision..).next().map(|(_, entry)| entry.at);
        let head = found.head.as_ref().map(|head| head.info.updated_at);
        later.or(head).unwrap_or(Timestamp::from_millis(0))
    };
    let stand_in = |revision: u64| {
        let touched = page_states.remove(&revision).unwrap_or_default();
        let before = |(index, (version, content)): (PageIndex, PageState)| {
            let earlier = edits.get(&index).and_then(|edits| {
                let before = edits.partition_point(|edit| *edit < revision);
                edits[..before].last().copied()
            });
            let content = content
                .filter(|hash| found.stored.contains(hash))
                .filter(|hash| !assigned.contains(&(index.clone(), *hash)));
            PageBefore {
                index,
                before: None,
                after: version,
                previous: earlier.map(Revision),
                restores: None,
                assigned: content,
                purged: true,
            }
        };
        let pages = touched.into_iter().map(before).collect();
        HistoryEntry::stand_in(Revision(revision), at(revision), pages)
    };
    lost.into_iter().map(stand_in).collect()
}

/// What an edit left of a page, as far as others say.
type PageState = (Option<Version>, Option<ContentHash>);

/// Returns what each lost edit left of which pages: the pages themselves say it, and what later edits
/// found before them.
fn page_states(found: &Findings) -> BTreeMap<u64, BTreeMap<PageIndex, PageState>> {
    let mut page_states: BTreeMap<u64, BTreeMap<PageIndex, PageState>> = BTreeMap::new();
    let mut note = |revision: Revision, index: &PageIndex, state: PageState| {
        if !found.entries.contains_key(&revision.0) {
            page_states.entry(revision.0).or_default().insert(index.clone(), state);
        }
    };
    for touch in found.entries.values().flat_map(|entry| &entry.touches) {
        match touch.before {
            Some((version, revision, content)) => {
                note(revision, &touch.index, (Some(version), content));
            }
            None => {
                let state = (None, None);
                touch.previous.into_iter().for_each(|before| note(before, &touch.index, state));
            }
        }
    }
    for page in found.pages.values() {
        let content = page.detail().map(|detail| detail.content);
        note(page.revision, &page.index, (Some(page.version), content));
    }
    page_states
}

/// Returns which contents edits that are known gave to which pages.
fn assigned(found: &Findings) -> HashSet<(PageIndex, ContentHash)> {
    let touches = found.entries.values().flat_map(|entry| &entry.touches);
    touches.filter_map(|touch| Some((touch.index.clone(), touch.assigned?))).collect()
}

/// Returns which known edits changed each page, oldest first.
fn edits(found: &Findings) -> HashMap<PageIndex, Vec<u64>> {
    let mut edits: HashMap<PageIndex, Vec<u64>> = HashMap::new();
    for (revision, entry) in &found.entries {
        for touch in &entry.touches {
            edits.entry(touch.index.clone()).or_default().push(*revision);
        }
    }
    edits
}
