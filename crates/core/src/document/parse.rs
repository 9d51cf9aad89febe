//! Reading the document: ours, or the seed's. All or nothing.

mod repair;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Deserialize;

use super::{LoadPage, LoadPlan, SCHEMA_VERSION};
use crate::{
    Actor, Error, Message, Owner, Page, PageIndex, Permission, Result, Revision, Role, Segment,
    SegmentId, SegmentKind, Timestamp, Tokens, Trust, Visibility,
    message::{Fields, detail_text},
    page::MAX_DEPTH,
    storage::{Content, PageBody, PageStanding, Place, SessionTimes, Version},
};

/// The largest number a loaded page may have: far from where provisional numbers begin.
const LARGEST_NUMBER: u64 = 1 << 62;

/// A document that was read.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// What is to be loaded.
    pub plan: LoadPlan,
    /// What had to be repaired.
    pub warnings: Vec<String>,
}

/// Reads a document. `now` stands in for times it does not give.
pub fn parse(bytes: &[u8], now: Timestamp) -> Result<Parsed> {
    let document: DocumentIn = serde_json::from_slice(bytes).map_err(fault)?;
    if document.schema_version.unwrap_or(SCHEMA_VERSION) > SCHEMA_VERSION {
        return Err(fault(format!(
            "its schemaVersion is {}, but this program supports only versions up to {SCHEMA_VERSION}",
            document.schema_version.unwrap_or_default()
        )));
    }
    let created_at = document.created_at.or(document.updated_at);
    let updated_at = document.updated_at.or(created_at);
    let mut parser = Parser {
        created_at: created_at.unwrap_or(now),
        updated_at: updated_at.unwrap_or(now),
        segments: Vec::new(),
        pages: BTreeMap::new(),
        listed: HashMap::new(),
        counters: HashMap::new(),
        only_said: HashSet::new(),
        warnings: Vec::new(),
    };
    for (ordinal, segment) in document.segments.into_iter().enumerate() {
        parser.segment(ordinal as u64, segment)?;
    }
    for (key, raw) in document.pages.iter() {
        let page: PageIn = raw.read().map_err(|error| fault(format!("page '{key}': {error}")))?;
        parser.page(key, page)?;
    }
    let mut parsed = parser.finish(document.next_index)?;
    let times = created_at.zip(updated_at);
    parsed.plan.times =
        times.map(|(created_at, updated_at)| SessionTimes { created_at, updated_at });
    Ok(parsed)
}

fn fault(reason: impl ToString) -> Error {
    Error::InvalidDocument { reason: reason.to_string() }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DocumentIn {
    schema_version: Option<u64>,
    segments: Vec<SegmentIn>,
    #[serde(default)]
    pages: Fields,
    next_index: Option<u64>,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SegmentIn {
    id: SegmentId,
    name: Option<String>,
    #[serde(default)]
    description: String,
    segment_type: Option<Value>,
    permission: Option<Value>,
    root_index: Option<String>,
    #[serde(default)]
    max_capacity: i128,
    next_index: Option<u64>,
    owner: Option<Owner>,
    #[serde(default)]
    removed: bool,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageIn {
    r#type: String,
    index: Option<String>,
    name: String,
    #[serde(default)]
    description: String,
    lifecycle: Option<Value>,
    visibility: Option<Value>,
    /// A root has none; the seed writes that as an empty text.
    parent: Option<String>,
    place: Option<u64>,
    children: Option<Vec<String>>,
    detail: Option<String>,
    messages: Option<Vec<Message>>,
    message_count: Option<u32>,
    archived: Option<Archived>,
    moved_to: Option<PageIndex>,
    turn: Option<PageIndex>,
    author: Option<Actor>,
    rewritten_by: Option<Actor>,
    trust: Option<String>,
    #[serde(default)]
    sources: Vec<PageIndex>,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
}

/// An enum's value: the seed writes some as numbers.
#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Number(u64),
    Text(String),
}

impl Value {
    fn read<T: std::str::FromStr<Err = Error>>(&self) -> Result<T> {
        match self {
            Value::Number(number) => number.to_string().parse(),
            Value::Text(text) => text.parse(),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Archived {
    Flag(bool),
    Kind(String),
}

struct Parser {
    created_at: Timestamp,
    updated_at: Timestamp,
    segments: Vec<Segment>,
    pages: BTreeMap<PageIndex, LoadPage>,
    /// Children as their directories list them.
    listed: HashMap<PageIndex, Vec<PageIndex>>,
    /// The last numbers given, as segments say.
    counters: HashMap<SegmentId, u64>,
    /// Pages that are archived by their `lifecycle` alone, which also says what they derive from above.
    only_said: HashSet<PageIndex>,
    warnings: Vec<String>,
}

impl Parser {
    fn segment(&mut self, ordinal: u64, new: SegmentIn) -> Result<()> {
        let at = |error: Error| fault(format!("segment '{}': {error}", new.id));
        if self.segments.iter().any(|segment| segment.id == new.id) {
            return Err(fault(format!("segment '{}' appears twice", new.id)));
        }
        if new.root_index.as_ref().is_some_and(|root| *root != new.id.root().to_string()) {
            return Err(fault(format!(
                "the root of segment '{}' must be {}",
                new.id,
                new.id.root()
            )));
        }
        let permission = new.permission.as_ref().map(Value::read).transpose().map_err(at)?;
        let permission: Permission = permission.unwrap_or(Permission::ReadOnly);
        let kind = new.segment_type.as_ref().map(Value::read).transpose().map_err(at)?;
        let kind = kind.unwrap_or(match permission {
            Permission::ReadOnly => SegmentKind::System,
            Permission::ReadWrite | Permission::SystemManaged => SegmentKind::User,
        });
        let capacity = u64::try_from(new.max_capacity).map_err(|_| {
            fault(format!("segment '{}': maxCapacity is negative or too large", new.id))
        })?;
        let name = new.name.as_deref().unwrap_or(new.id.as_str()).parse().map_err(at)?;
        let description = new.description.parse().map_err(at)?;
        if let Some(last) = new.next_index {
            self.counters.insert(new.id.clone(), last);
        }
        self.segments.push(Segment {
            owner: new.owner.or_else(|| Owner::implied_by(&new.id)),
            id: new.id,
            name,
            description,
            kind,
            permission,
            capacity: Tokens(capacity),
            ordinal,
            // Settled in `finish`, when all numbers are known.
            next_number: 1,
            touched: Revision(0),
            removed: new.removed,
            version: Version(1),
            revision: Revision(0),
            created_at: new.created_at.unwrap_or(self.created_at),
            updated_at: new.updated_at.unwrap_or(self.updated_at),
        });
        Ok(())
    }

    fn page(&mut self, key: &str, new: PageIn) -> Result<()> {
        let at = |error: Error| fault(format!("page '{key}': {error}"));
        let wrong = |reason: &str| fault(format!("page '{key}': {reason}"));
        let index: PageIndex = key.parse().map_err(at)?;
        if index.number() > LARGEST_NUMBER {
            return Err(wrong("its number is too large"));
        }
        if new.index.as_ref().is_some_and(|inside| inside != key) {
            return Err(wrong("its index differs from its key"));
        }
        let segment = self.segments.iter().find(|segment| segment.id == *index.segment());
        let segment = segment.ok_or_else(|| wrong("its segment is not listed"))?;
        let parent = match new.parent.as_deref().unwrap_or_default() {
            "" if index.is_root() => None,
            "" => Some(segment.root()),
            _ if index.is_root() => return Err(wrong("a root has no parent")),
            parent => Some(parent.parse::<PageIndex>().map_err(at)?),
        };
        let visibility = new.visibility.as_ref().map(Value::read).transpose().map_err(at)?;
        let lifecycle = new.lifecycle.as_ref().map(Value::read).transpose().map_err(at)?;
        let author = new.author.unwrap_or(Actor::System);
        let messages = messages(&new.messages, new.detail.as_deref(), &author).map_err(wrong)?;
        let counted = new.message_count.unwrap_or(0);
        let body = match (new.r#type.as_str(), &new.children) {
            ("ContentsPage", _)
                if new.detail.is_some() || new.messages.is_some() || counted > 0 =>
            {
                return Err(wrong("a ContentsPage has no detail"));
            }
            ("DetailPage", Some(children)) if !children.is_empty() => {
                return Err(wrong("a DetailPage has no children"));
            }
            ("ContentsPage", _) => PageBody::Contents,
            ("DetailPage", _) => {
                PageBody::Detail(Content::with_detail(&messages).1.with_count(counted))
            }
            (other, _) => {
                return Err(wrong(&format!(
                    "unknown type '{other}'; expected ContentsPage or DetailPage"
                )));
            }
        };
        if new.archived.is_none() && new.moved_to.is_none() {
            self.only_said.insert(index.clone());
        }
        let trust = new.trust.as_deref().map(str::parse).transpose().map_err(at)?;
        let default_trust = match segment.kind {
            SegmentKind::System => Trust::System,
            SegmentKind::User | SegmentKind::Tool | SegmentKind::Custom => Trust::User,
        };
        let page = Page {
            index: index.clone(),
            parent,
            place: Place(new.place.unwrap_or(u64::MAX)),
            body,
            name: new.name.parse().map_err(at)?,
            description: new.description.parse().map_err(at)?,
            visibility: visibility.unwrap_or(Visibility::Expanded),
            standing: standing(new.archived, new.moved_to, lifecycle).map_err(wrong)?,
            author,
            rewritten_by: new.rewritten_by,
            trust: trust.unwrap_or(default_trust),
            sources: new.sources,
            turn: new.turn,
            version: Version(1),
            revision: Revision(0),
            created_at: new.created_at.unwrap_or(self.created_at),
            updated_at: new.updated_at.unwrap_or(self.updated_at),
        };
        if let Some(children) = new.children {
            let children = children.iter().map(|child| child.parse::<PageIndex>().map_err(at));
            self.listed.insert(index.clone(), children.collect::<Result<_>>()?);
        }
        if self.pages.insert(index, LoadPage { page, messages }).is_some() {
            return Err(wrong("it appears twice"));
        }
        Ok(())
    }

    fn finish(mut self, next_index: Option<u64>) -> Result<Parsed> {
        self.add_missing_roots();
        self.repair_roots()?;
        self.repair_prompts();
        self.adopt_listed()?;
        self.check_parents()?;
        self.derive_archived();
        let counters = self.counters.values().copied().chain(next_index);
        if let Some(counter) = counters.into_iter().find(|counter| *counter > LARGEST_NUMBER) {
            return Err(fault(format!("nextIndex {counter} is too large")));
        }
        self.check_moved()?;
        self.set_counters(next_index);
        let pages = self.in_order();
        let plan = LoadPlan { segments: self.segments, pages, times: None };
        Ok(Parsed { plan, warnings: self.warnings })
    }

    /// A directory's own list gives its pages their parent, where they name none or the root.
    fn adopt_listed(&mut self) -> Result<()> {
        let mut adopted = HashSet::new();
        for (directory, children) in &self.listed {
            for child in children {
                let missing = || fault(format!("page '{directory}': its child {child} is missing"));
                let page = &mut self.pages.get_mut(child).ok_or_else(missing)?.page;
                if !adopted.insert(child.clone()) {
                    return Err(fault(format!("page '{child}' is listed twice")));
                }
                if page.parent.as_ref() != Some(directory) {
                    let at_root = page.parent == Some(child.segment().root());
                    if !at_root {
                        return Err(fault(format!(
                            "page '{child}' names a parent other than '{directory}', which lists it"
                        )));
                    }
                    page.parent = Some(directory.clone());
                }
            }
        }
        Ok(())
    }

    fn check_parents(&self) -> Result<()> {
        // What was walked once need not be walked again, however deep the tree.
        let mut depths: HashMap<&PageIndex, usize> = HashMap::new();
        for (index, LoadPage { page, .. }) in &self.pages {
            let mut walked = HashSet::from([index]);
            let mut line = vec![index];
            let mut below = page;
            while let Some(parent) =
                below.parent.as_ref().filter(|_| !depths.contains_key(&below.index))
            {
                let wrong = |reason: &str| Err(fault(format!("page '{}': {reason}", below.index)));
                if parent.segment() != index.segment() {
                    return wrong("its parent is in another segment");
                }
                let above = match self.pages.get(parent) {
                    Some(above) => &above.page,
                    // What is archived may have lost its parent.
                    None if below.standing == PageStanding::ColdArchived => break,
                    None => return wrong(&format!("its parent {parent} is missing")),
                };
                if !above.is_contents() {
                    return wrong(&format!("its parent {parent} is not a ContentsPage"));
                }
                if !walked.insert(parent) {
                    return wrong("it is its own ancestor");
                }
                line.push(parent);
                below = above;
            }
            let mut depth = depths.get(&below.index).copied().unwrap_or(0);
            // The last of the line is a root, or was walked before.
            depths.insert(&below.index, depth);
            line.pop();
            for index in line.into_iter().rev() {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(fault(format!(
                        "page '{index}': it is {depth} directories deep; the limit is {MAX_DEPTH}"
                    )));
                }
                depths.insert(index, depth);
            }
        }
        Ok(())
    }

    /// A retired page leads somewhere in the end.
    fn check_moved(&self) -> Result<()> {
        for index in self.pages.keys() {
            let mut walked = HashSet::from([index]);
            let mut next = self.pages.get(index);
            while let Some(PageStanding::Moved(to)) = next.map(|page| &page.page.standing) {
                if !walked.insert(to) {
                    return Err(fault(format!("page '{index}': movedTo leads back to {to}")));
                }
                next = self.pages.get(to);
            }
        }
        Ok(())
    }

    /// Each segment continues after the larger of its own numbers and the last one given. A segment
    /// that does not say its own has the document's.
    fn set_counters(&mut self, next_index: Option<u64>) {
        for segment in &mut self.segments {
            let own = self.pages.keys().filter(|index| *index.segment() == segment.id);
            let largest = own.map(PageIndex::number).max().unwrap_or(0);
            let given = self.counters.get(&segment.id).copied().or(next_index).unwrap_or(0);
            segment.next_number = given.max(largest).saturating_add(1);
        }
    }

    /// Returns the pages so that siblings come in order: as listed, what is archived where it stood.
    fn in_order(&mut self) -> Vec<LoadPage> {
        let mut siblings: BTreeMap<Option<PageIndex>, Vec<LoadPage>> = BTreeMap::new();
        for (_, page) in std::mem::take(&mut self.pages) {
            siblings.entry(page.page.parent.clone()).or_default().push(page);
        }
        let mut ordered = Vec::new();
        for (parent, mut pages) in siblings {
            let listed = parent.as_ref().and_then(|parent| self.listed.get(parent));
            let rank: HashMap<&PageIndex, usize> =
                listed.into_iter().flatten().enumerate().map(|(at, index)| (index, at)).collect();
            pages.sort_by_key(|page| rank.get(&page.page.index).copied().unwrap_or(usize::MAX));
            let in_list = pages.partition_point(|page| rank.contains_key(&page.page.index));
            let mut rest = pages.split_off(in_list);
            rest.sort_by_key(|page| (page.page.place, page.page.index.number()));
            for page in rest {
                let before = |other: &LoadPage| other.page.place <= page.page.place;
                let at = pages.iter().rposition(before).map_or(0, |at| at + 1);
                let at = if page.page.place == Place(u64::MAX) { pages.len() } else { at };
                pages.insert(at, page);
            }
            ordered.extend(pages);
        }
        ordered
    }
}

fn messages(
    messages: &Option<Vec<Message>>,
    detail: Option<&str>,
    author: &Actor,
) -> std::result::Result<Vec<Message>, &'static str> {
    match (messages, detail) {
        (Some(messages), Some(detail)) if detail_text(messages) != detail => {
            Err("its detail and its messages differ")
        }
        (Some(messages), _) => Ok(messages.clone()),
        (None, None | Some("")) => Ok(Vec::new()),
        (None, Some(detail)) => {
            let role = if author.is_system_side() { Role::System } else { Role::Assistant };
            Ok(vec![Message { author: author.agent().cloned(), ..Message::text(role, detail) }])
        }
    }
}

fn standing(
    archived: Option<Archived>,
    moved_to: Option<PageIndex>,
    lifecycle: Option<crate::Lifecycle>,
) -> std::result::Result<PageStanding, &'static str> {
    use crate::Lifecycle;
    match (moved_to, archived, lifecycle) {
        (Some(to), _, _) => Ok(PageStanding::Moved(to)),
        (None, Some(Archived::Kind(kind)), _) => match kind.as_str() {
            "hot" => Ok(PageStanding::HotArchived),
            "cold" => Ok(PageStanding::ColdArchived),
            _ => Err("archived is neither hot nor cold"),
        },
        (None, Some(Archived::Flag(true)), _) => Ok(PageStanding::ColdArchived),
        // The lifecycle of a page below something archived or hidden derives from that.
        (None, Some(Archived::Flag(false)), _) => Ok(PageStanding::InTree),
        (None, None, Some(Lifecycle::ColdArchived)) => Ok(PageStanding::ColdArchived),
        (None, None, Some(Lifecycle::HotArchived)) => Ok(PageStanding::HotArchived),
        (None, None, Some(Lifecycle::Active) | None) => Ok(PageStanding::InTree),
    }
}
