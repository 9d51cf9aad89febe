//! Writing the document.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{ArchivedOut, PageOut, SCHEMA_VERSION, SegmentOut};
use crate::{
    ContextSystem, ErrorKind, Page, PageIndex, PageView, Result, Segment,
    message::detail_text,
    storage::{PageStanding, ScanQuery, StandingFilter, StorageError},
    system::CONTENTS,
};

const BATCH: usize = 1_000;

/// Returns the whole session as the seed's JSON, resident or not, archived or not.
pub async fn export(system: &ContextSystem) -> Result<String> {
    let system = &system.snapshot().await?;
    let info = system.info().await?;
    let segments: Vec<Segment> =
        system.segments().all().map(|segment| system.with_counter(segment)).collect();
    let mut pages = BTreeMap::new();
    for (at, segment) in segments.iter().enumerate() {
        export_segment(system, (at, segment), &mut pages).await?;
    }
    check(system, &segments, &pages).await?;
    let document = Document {
        schema_version: SCHEMA_VERSION,
        segments: segments.iter().map(segment_out).collect(),
        pages: Pages(&pages),
        next_index: segments.iter().map(Segment::last_number).max().unwrap_or(0),
        created_at: info.created_at.to_string(),
        updated_at: info.updated_at.to_string(),
    };
    Ok(serde_json::to_string_pretty(&document).expect("a document has only string keys"))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    schema_version: u64,
    segments: Vec<SegmentOut<'a>>,
    pages: Pages<'a>,
    next_index: u64,
    created_at: String,
    updated_at: String,
}

/// What is exported of a page.
struct Exported {
    view: Option<PageView>,
    page: Arc<Page>,
    children: Vec<PageIndex>,
    messages: Vec<crate::Message>,
}

async fn export_segment(
    system: &ContextSystem,
    (at, segment): (usize, &Segment),
    pages: &mut BTreeMap<(usize, u64), Exported>,
) -> Result<()> {
    let mut children: BTreeMap<u64, Vec<(crate::storage::Place, PageIndex)>> = BTreeMap::new();
    let mut after = None;
    loop {
        let query = ScanQuery {
            segment: segment.id.clone(),
            standing: StandingFilter::Any,
            after,
            limit: BATCH,
        };
        let batch = system.storage().scan(system.session(), &query).await?;
        let done = batch.len() < BATCH;
        let batch: Vec<Arc<Page>> = batch.into_iter().map(Arc::new).collect();
        for some in batch.chunks(CONTENTS) {
            let details = some.iter().filter_map(|page| page.detail());
            system.fetch_contents(details.map(|detail| detail.content)).await?;
            for page in some.iter().cloned() {
                after = Some(page.index.number());
                if let (Some(parent), true) = (&page.parent, page.standing.is_listed()) {
                    let entry = (page.place, page.index.clone());
                    children.entry(parent.number()).or_default().push(entry);
                }
                let messages = match page.detail() {
                    Some(detail) => {
                        let content = system.content(detail.content).await?;
                        content.messages().map_err(|reason| StorageError::Corrupt {
                            what: format!("the content of page {}", page.index),
                            reason,
                        })?
                    }
                    None => Vec::new(),
                };
                // Pages of removed segments and retired pages are in nobody's view.
                let view = match system.reader().page_or_archived(&page.index).await {
                    Ok(view) => Some(view),
                    Err(error) if error.kind() == ErrorKind::NotFound => None,
                    Err(error) => return Err(error),
                };
                let key = (at, page.index.number());
                pages.insert(key, Exported { view, page, children: Vec::new(), messages });
            }
        }
        if done {
            break;
        }
    }
    for (number, mut list) in children {
        list.sort();
        if let Some(parent) = pages.get_mut(&(at, number)) {
            parent.children = list.into_iter().map(|(_, index)| index).collect();
        }
    }
    Ok(())
}

/// Refuses to leave anything out: every root and every parent is there, and every directory lists as many
/// pages as the storage counts in it.
async fn check(
    system: &ContextSystem,
    segments: &[Segment],
    pages: &BTreeMap<(usize, u64), Exported>,
) -> Result<()> {
    let lost = |what: &PageIndex, reason: String| StorageError::Corrupt {
        what: format!("page {what} of session '{}'", system.session()),
        reason,
    };
    for (at, segment) in segments.iter().enumerate().filter(|(_, segment)| !segment.removed) {
        let root = segment.root();
        if !pages.contains_key(&(at, root.number())) {
            return Err(
                lost(&root, "it is the root of its segment, but it is missing".to_owned()).into()
            );
        }
    }
    for ((at, _), exported) in pages {
        let page = &exported.page;
        if let Some(parent) = &page.parent
            && page.standing.is_listed()
            && !pages.contains_key(&(*at, parent.number()))
        {
            return Err(
                lost(parent, format!("page {} is in it, but it is missing", page.index)).into()
            );
        }
        if page.is_contents() {
            let counted = system.storage().child_count(system.session(), &page.index).await?;
            let found = exported.children.len();
            if u64::try_from(found) != Ok(counted) {
                return Err(lost(
                    &page.index,
                    format!("it counts {counted} pages, but holds {found}"),
                )
                .into());
            }
        }
    }
    Ok(())
}

/// Pages in natural order, written one by one.
struct Pages<'a>(&'a BTreeMap<(usize, u64), Exported>);

impl Serialize for Pages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for exported in self.0.values() {
            map.serialize_entry(&exported.page.index, &page_out(exported))?;
        }
        map.end()
    }
}

fn segment_out(segment: &Segment) -> SegmentOut<'_> {
    SegmentOut {
        id: segment.id.as_str(),
        name: segment.name.as_str(),
        description: segment.description.as_str(),
        segment_type: segment.kind.as_str(),
        permission: segment.permission.as_str(),
        root_index: segment.root().to_string(),
        max_capacity: segment.capacity.0,
        next_index: segment.last_number(),
        owner: segment.owner.as_ref().map(ToString::to_string),
        removed: segment.removed,
        created_at: segment.created_at.to_string(),
        updated_at: segment.updated_at.to_string(),
    }
}

fn page_out(exported: &Exported) -> PageOut<'_> {
    let page: &Page = &exported.page;
    let detail = page.detail();
    let text = |_: &crate::storage::PageDetail| detail_text(&exported.messages);
    let lifecycle = exported.view.as_ref().map_or("ColdArchived", |view| view.lifecycle.as_str());
    let visibility = exported.view.as_ref().map_or(page.visibility, |view| view.visibility);
    PageOut {
        r#type: page.type_name(),
        name: page.name.as_str(),
        description: page.description.as_str(),
        lifecycle,
        visibility: visibility.as_str(),
        parent: page.parent.as_ref().map(ToString::to_string),
        place: page.place.0,
        children: page
            .is_contents()
            .then(|| exported.children.iter().map(ToString::to_string).collect()),
        detail: detail.map(text),
        messages: detail.map(|_| exported.messages.clone()),
        message_count: detail.map(crate::storage::PageDetail::message_count),
        archived: match page.standing {
            PageStanding::InTree | PageStanding::Moved(_) => ArchivedOut::No(false),
            PageStanding::HotArchived => ArchivedOut::Kind("hot"),
            PageStanding::ColdArchived => ArchivedOut::Kind("cold"),
        },
        moved_to: match &page.standing {
            PageStanding::Moved(to) => Some(to.to_string()),
            _ => None,
        },
        turn: page.turn.as_ref().map(ToString::to_string),
        author: page.author.to_string(),
        rewritten_by: page.rewritten_by.as_ref().map(ToString::to_string),
        trust: page.trust.as_str(),
        sources: page.sources.iter().map(ToString::to_string).collect(),
        created_at: page.created_at.to_string(),
        updated_at: page.updated_at.to_string(),
    }
}
