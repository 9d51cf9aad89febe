//! Checking a session: the invariants that must hold after every edit, on any storage; and mending
//! one that lost something.

mod lost;
mod rebuild;
mod repair;
mod trail;
mod whole;

use std::collections::{HashMap, HashSet};

use crate::{
    Page, PageIndex, PageStorage, Revision, SegmentKind, SessionId, Visibility,
    storage::{PageStanding, Place, ScanQuery, StandingFilter, StorageResult, ViewHead},
};

pub use lost::is_lost;
pub use rebuild::{Remains, is_guess};
pub use repair::{accept_losses, repair_session};
pub use whole::{Losses, Repaired, accept_all, check_storage, repair_storage};

pub use trail::accepted_losses;
use trail::{Stands, Trail};

/// How many rows are read at a time.
const BATCH: usize = 1_000;

/// What the check needs of a page; a session of a million pages must fit.
struct Seen {
    parent: Option<u64>,
    place: Place,
    is_contents: bool,
    standing: PageStanding,
    revision: Revision,
}

/// Returns what is wrong with a session: orphans, cycles, numbers beyond their counter, roots that
/// do not stand, content that is missing, pages that history left and that are gone, system prompts
/// that lost their text. Nothing is changed.
pub async fn check_session(
    storage: &dyn PageStorage,
    session: &SessionId,
) -> StorageResult<Vec<String>> {
    let mut problems = Vec::new();
    let info = storage.session(session).await?;
    let next_place = info.map_or(Place(0), |info| info.next_place);
    let mut stands = Stands::new();
    for segment in storage.segments(session).await? {
        let mut pages: HashMap<u64, Seen> = HashMap::new();
        let mut after = None;
        loop {
            let query = ScanQuery {
                segment: segment.id.clone(),
                standing: StandingFilter::Any,
                after,
                limit: BATCH,
            };
            let batch = storage.scan(session, &query).await?;
            check_contents(storage, session, &batch, &mut problems).await?;
            for page in &batch {
                after = Some(page.index.number());
                check_page(page, segment.next_number, next_place, &mut problems);
                problems.extend(lost_prompt(&segment, page));
                pages.insert(page.index.number(), seen(page));
            }
            if batch.len() < BATCH {
                break;
            }
        }
        let root = segment.root();
        match pages.get(&0) {
            Some(page) if !segment.removed && page.standing != PageStanding::InTree => {
                problems.push(format!("root {root} is not in the tree"));
            }
            None if !segment.removed => {
                problems.push(format!("segment {} has no root", segment.id))
            }
            _ => {}
        }
        check_root_visibility(storage, session, &segment, &mut problems).await?;
        let mut sound = HashSet::new();
        for number in pages.keys() {
            let index = PageIndex::new(segment.id.clone(), *number);
            problems.extend(lineage_problem(&pages, &index, segment.removed, &mut sound));
        }
        check_places(&segment.id, &pages, &mut problems);
        let pages = pages.iter().map(|(number, seen)| (*number, seen.revision));
        stands.insert(segment.id.clone(), pages.collect());
    }
    check_history(storage, session, &stands, &mut problems).await?;
    problems.sort();
    Ok(problems)
}

/// Reports a system prompt that lost its text: no agent runs until the loss is settled.
fn lost_prompt(segment: &crate::Segment, page: &Page) -> Option<String> {
    let is_prompt = segment.kind == SegmentKind::System && !segment.removed;
    (is_prompt && page.standing.is_listed() && is_lost(page)).then(|| {
        let index = &page.index;
        format!("system prompt page {index} was lost: write it again, or accept the loss")
    })
}

/// Finds segments and pages that the history mentions and that are missing.
async fn check_history(
    storage: &dyn PageStorage,
    session: &SessionId,
    stands: &Stands,
    problems: &mut Vec<String>,
) -> StorageResult<()> {
    let trail = Trail::beside(storage, session, stands).await?;
    let segments = storage.segments(session).await?;
    for id in trail.lost_segments(&segments).keys() {
        problems.push(format!("segment {id} is missing, but the history mentions it"));
    }
    if let Some(place) = trail.untold_segment(&segments) {
        problems.push(format!(
            "edits were lost, and perhaps a segment with them, number {place} in the order of segments: \
             write again what is missing, then accept the loss"
        ));
    }
    for segment in &segments {
        let pages = stands.get(&segment.id);
        let stands = |number| pages.is_some_and(|pages| pages.contains_key(&number));
        if let Some(number) = trail.untold(segment, stands) {
            let id = &segment.id;
            problems.push(format!(
                "edits were lost, and perhaps system prompt page {id}-{number} with them: look at the tree of \
                 {id}-0, write again what is missing, then accept the loss"
            ));
        }
        if is_guess(segment) {
            let id = &segment.id;
            problems.push(format!(
                "the kind of segment {id} is unknown, and it may have held system prompts: move those to sys-0, \
                 then accept the rest, or give the segment a description"
            ));
        }
    }
    for (index, touch) in trail.left() {
        problems.push(format!("page {index} is not as revision {} left it", touch.revision));
    }
    Ok(())
}

fn seen(page: &Page) -> Seen {
    Seen {
        parent: page.parent.as_ref().map(PageIndex::number),
        place: page.place,
        is_contents: page.is_contents(),
        standing: page.standing.clone(),
        revision: page.revision,
    }
}

fn check_page(page: &Page, next_number: u64, next_place: Place, problems: &mut Vec<String>) {
    let index = &page.index;
    if index.number() >= next_number {
        problems.push(format!(
            "the number of page {index} is beyond its segment's counter {next_number}"
        ));
    }
    if page.place >= next_place && !index.is_root() {
        problems.push(format!("the place of page {index} is beyond the session's place counter"));
    }
    if page.parent.is_none() != index.is_root() {
        problems.push(format!("page {index} has no parent, or is a root and has one"));
    }
    if page.parent.as_ref().is_some_and(|parent| parent.segment() != index.segment()) {
        problems.push(format!("page {index} has its parent in another segment"));
    }
}

async fn check_contents(
    storage: &dyn PageStorage,
    session: &SessionId,
    pages: &[Page],
    problems: &mut Vec<String>,
) -> StorageResult<()> {
    let leaves: Vec<&Page> = pages.iter().filter(|page| page.detail().is_some()).collect();
    for chunk in leaves.chunks(100) {
        let hashes: Vec<_> =
            chunk.iter().filter_map(|page| page.detail()).map(|detail| detail.content).collect();
        match storage.contents(session, &hashes).await {
            Ok(contents) => {
                for (page, content) in chunk.iter().zip(contents) {
                    if content.is_none() {
                        problems.push(format!("the content of page {} is missing", page.index));
                    }
                }
            }
            Err(error) => problems.push(error.to_string()),
        }
    }
    Ok(())
}

async fn check_root_visibility(
    storage: &dyn PageStorage,
    session: &SessionId,
    segment: &crate::Segment,
    problems: &mut Vec<String>,
) -> StorageResult<()> {
    if segment.kind != SegmentKind::System {
        return Ok(());
    }
    let root = segment.root();
    for ViewHead { view, .. } in storage.views(session).await? {
        let key = crate::storage::ChunkKey::of(&view, &root);
        let chunk = storage.levels(session, &[key]).await?.pop().unwrap_or_default();
        if chunk.entry(0).shown == Some(Visibility::Hidden) {
            problems.push(format!("system root {root} is hidden in view {view}"));
        }
    }
    Ok(())
}

/// Walks up from a page; everything in the tree must reach the root through directories.
///
/// `sound` holds what was walked without a problem: what hangs below needs no longer walk.
fn lineage_problem(
    pages: &HashMap<u64, Seen>,
    index: &PageIndex,
    removed: bool,
    sound: &mut HashSet<u64>,
) -> Option<String> {
    let in_tree = |seen: &Seen| seen.standing.is_listed();
    let mut seen = pages.get(&index.number())?;
    let mut walked = HashSet::from([index.number()]);
    let mut listed = in_tree(seen) && !removed;
    while let Some(parent) = seen.parent {
        if !walked.insert(parent) {
            return Some(format!("page {index} is its own ancestor"));
        }
        match pages.get(&parent) {
            // What is archived may have lost its parent; it is restored to the root.
            None if listed => return Some(format!("page {index} is an orphan")),
            None => return None,
            Some(above) if !above.is_contents => {
                return Some(format!("page {index} is below a DetailPage"));
            }
            Some(above) if matches!(above.standing, PageStanding::Moved(_)) && listed => {
                return Some(format!("page {index} is below a retired page"));
            }
            Some(_) if sound.contains(&parent) => break,
            Some(above) => {
                listed &= in_tree(above);
                seen = above;
            }
        }
    }
    sound.extend(walked);
    None
}

fn check_places(
    segment: &crate::SegmentId,
    pages: &HashMap<u64, Seen>,
    problems: &mut Vec<String>,
) {
    let mut taken = HashSet::new();
    for (number, seen) in pages {
        if let Some(parent) = seen.parent
            && !taken.insert((parent, seen.place))
        {
            problems.push(format!("page {segment}-{number} shares its place with a sibling"));
        }
    }
}
