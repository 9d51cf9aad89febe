//! A naive model of a session: plain maps, one rule at a time, obviously right.
//!
//! It shares no code with the core but its value types. [`Model::apply`] says what an edit must do,
//! or with which [`ErrorKind`] it must be refused; [`Model::compare`] says where a real session
//! differs. It keeps the whole session in memory, loads nothing, races with nobody, and pays no
//! heed to speed.

mod adoption;
mod compare;
mod folds;
mod levels;
mod pages;
mod segments;
mod structure;
mod undo;

use std::collections::{BTreeMap, BTreeSet};

use contexture_core::{
    Actor, Edit, ErrorKind, Mounts, Operation, Owner, PageIndex, Permission, Principal, Role,
    SegmentId, SegmentKind, Tokens, Trust, Visibility,
    storage::{CustomKey, LevelEntry, PageStanding},
};

/// Returns whose level state a principal reads and changes: an agent's own, else the system side's.
pub fn view_of(caller: &Principal) -> Actor {
    caller.view().map_or(Actor::System, |view| Actor::Agent(view.agent.clone()))
}

/// What an edit must have told its caller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelOutcome {
    /// The pages made or acted on; not said for an undo.
    pub pages: Vec<PageIndex>,
    /// Pages that got a new index.
    pub moved: Vec<(PageIndex, PageIndex)>,
    /// The edit taken back.
    pub undone: Option<u64>,
}

/// A page as the model has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelPage {
    pub(crate) parent: Option<PageIndex>,
    /// Orders siblings.
    pub(crate) rank: u64,
    pub(crate) is_contents: bool,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) visibility: Visibility,
    pub(crate) standing: PageStanding,
    pub(crate) author: Actor,
    /// Who replaced its text last, where that is not its author.
    pub(crate) rewritten_by: Option<Actor>,
    pub(crate) trust: Trust,
    pub(crate) sources: Vec<PageIndex>,
    pub(crate) turn: Option<PageIndex>,
    pub(crate) texts: Vec<(Role, String)>,
    /// The edit whose work it is.
    stamp: u64,
}

/// A segment as the model has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSegment {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) kind: SegmentKind,
    pub(crate) permission: Permission,
    pub(crate) capacity: Tokens,
    pub(crate) owner: Option<Owner>,
    /// Orders segments for display.
    pub(crate) order: u64,
    pub(crate) removed: bool,
    stamp: u64,
}

type Levels = BTreeMap<(Actor, PageIndex), LevelEntry>;

/// A session.
#[derive(Debug, Clone, Default)]
pub struct Model {
    pub(crate) segments: BTreeMap<SegmentId, ModelSegment>,
    pub(crate) pages: BTreeMap<PageIndex, ModelPage>,
    pub(crate) levels: Levels,
    pub(crate) focus: BTreeMap<Actor, PageIndex>,
    pub(crate) custom: BTreeMap<CustomKey, String>,
    /// The number the next page of a segment gets; survives the segment.
    pub(crate) numbers: BTreeMap<SegmentId, u64>,
    ranks: u64,
    past: Vec<Past>,
    /// Pages that were destroyed for good.
    purged: BTreeSet<PageIndex>,
}

/// A committed edit: everything it touched, before and after.
#[derive(Debug, Clone)]
struct Past {
    actor: Actor,
    view: Actor,
    touched: Touched,
    named: BTreeSet<PageIndex>,
    undoes: Option<u64>,
    undone_by: Option<u64>,
    redone_by: Option<u64>,
    /// Whether a purge took what it would need.
    lost: bool,
}

type Touch<K, V> = BTreeMap<K, (Option<V>, Option<V>)>;

/// What an edit touched, before and after.
#[derive(Debug, Clone, Default)]
struct Touched {
    pages: Touch<PageIndex, ModelPage>,
    segments: Touch<SegmentId, ModelSegment>,
    levels: Touch<(Actor, PageIndex), LevelEntry>,
    focus: Touch<Actor, PageIndex>,
    custom: Touch<CustomKey, String>,
}

type Answer<T = ()> = Result<T, ErrorKind>;

/// An edit under way.
struct Doing<'a> {
    model: &'a mut Model,
    caller: &'a Principal,
    /// In whose level state.
    view: Actor,
    touched: Touched,
    named: Vec<PageIndex>,
    moved: Vec<(PageIndex, PageIndex)>,
    undoes: Option<u64>,
    purges: bool,
}

impl Model {
    /// Makes an empty session.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns how many edits were committed.
    pub fn revision(&self) -> u64 {
        self.past.len() as u64
    }

    /// Makes an edit, or says why it must be refused; then nothing has changed.
    pub fn apply(&mut self, caller: &Principal, edit: &Edit) -> Answer<ModelOutcome> {
        let (numbers, ranks) = (self.numbers.clone(), self.ranks);
        let mut doing = Doing {
            view: view_of(caller),
            model: self,
            caller,
            touched: Touched::default(),
            named: Vec::new(),
            moved: Vec::new(),
            undoes: None,
            purges: false,
        };
        let answer = doing.edit(edit);
        let Doing { view, touched, named, moved, undoes, purges, .. } = doing;
        if let Err(kind) = answer {
            self.roll_back(touched);
            (self.numbers, self.ranks) = (numbers, ranks);
            return Err(kind);
        }
        let mut outcome = ModelOutcome { pages: named.clone(), moved, undone: undoes };
        let past = self.record(caller, view, touched, named, undoes);
        if purges {
            self.forget(&past);
            outcome.pages.sort();
            outcome.pages.dedup();
        }
        Ok(outcome)
    }

    /// Returns the pages the newest edit touched.
    pub fn touched_last(&self) -> Vec<PageIndex> {
        let newest = self.past.last();
        newest.map(|past| past.touched.pages.keys().cloned().collect()).unwrap_or_default()
    }

    fn record(
        &mut self,
        caller: &Principal,
        view: Actor,
        mut touched: Touched,
        named: Vec<PageIndex>,
        undoes: Option<u64>,
    ) -> Past {
        let revision = self.revision() + 1;
        for (index, (_, after)) in &mut touched.pages {
            // What undo brought back is the work of the edit that had left it.
            if let Some(page) = self.pages.get_mut(index)
                && (undoes.is_none() || page.stamp == 0)
            {
                page.stamp = revision;
            }
            *after = self.pages.get(index).cloned();
        }
        for (id, (_, after)) in &mut touched.segments {
            if let Some(segment) = self.segments.get_mut(id)
                && (undoes.is_none() || segment.stamp == 0)
            {
                segment.stamp = revision;
            }
            *after = self.segments.get(id).cloned();
        }
        let mut named: BTreeSet<PageIndex> = named.into_iter().collect();
        named.extend(touched.pages.keys().cloned());
        named.extend(touched.levels.keys().map(|(_, page)| page.clone()));
        self.mark(undoes, revision);
        let past = Past {
            actor: caller.actor(),
            view,
            touched,
            named,
            undoes,
            undone_by: None,
            redone_by: None,
            lost: false,
        };
        self.past.push(past.clone());
        past
    }

    /// Returns the pages that undos took away and that a redo could bring back: where each stood, and
    /// which page it was moved from.
    fn vanished(&self) -> BTreeMap<PageIndex, (Option<PageIndex>, Option<PageIndex>)> {
        let mut vanished = BTreeMap::new();
        for past in &self.past {
            let pages = &past.touched.pages;
            for (index, (before, _)) in pages {
                let Some(before) = before else { continue };
                if self.pages.contains_key(index) || self.purged.contains(index) {
                    continue;
                }
                let moved_here = |(_, (page, _)): &(_, &(Option<ModelPage>, _))| {
                    let standing = page.as_ref().map(|page| &page.standing);
                    standing == Some(&PageStanding::Moved(index.clone()))
                };
                let original = pages.iter().find(moved_here).map(|(original, _)| original.clone());
                vanished.insert(index.clone(), (before.parent.clone(), original));
            }
        }
        vanished
    }

    /// Everything that ever touched a purged page is lost to undo.
    fn forget(&mut self, purge: &Past) {
        for past in &mut self.past {
            past.lost |=
                past.touched.pages.keys().any(|page| purge.touched.pages.contains_key(page));
        }
    }

    fn roll_back(&mut self, touched: Touched) {
        put_back(&mut self.pages, touched.pages);
        put_back(&mut self.segments, touched.segments);
        put_back(&mut self.levels, touched.levels);
        put_back(&mut self.focus, touched.focus);
        put_back(&mut self.custom, touched.custom);
    }

    /// Returns a segment that is not removed and that the caller sees.
    pub(crate) fn seen(&self, caller: &Principal, id: &SegmentId) -> Option<&ModelSegment> {
        self.would_see(caller, id).filter(|segment| !segment.removed)
    }

    /// Returns a segment, removed or not, that the caller sees or would see.
    fn would_see(&self, caller: &Principal, id: &SegmentId) -> Option<&ModelSegment> {
        let segment = self.segments.get(id)?;
        let Some(view) = caller.view() else { return Some(segment) };
        let own = segment.owner == Some(Owner::Agent(view.agent.clone()));
        let seen = match &view.mounts {
            Mounts::Common => segment.owner.is_none(),
            Mounts::Listed(listed) => listed.contains(id),
        };
        (own || seen).then_some(segment)
    }

    /// Returns a page's directories, nearest first.
    pub(crate) fn above(&self, index: &PageIndex) -> Vec<PageIndex> {
        let mut above: Vec<PageIndex> = Vec::new();
        let mut at = index.clone();
        while let Some(parent) = self.pages.get(&at).and_then(|page| page.parent.clone()) {
            // A cycle would be a defect of the model; stop rather than hang.
            if above.contains(&parent) {
                break;
            }
            above.push(parent.clone());
            at = parent;
        }
        above
    }

    /// Tells whether a page stands in the tree, all its directories included.
    pub(crate) fn stands(&self, index: &PageIndex) -> bool {
        let listed =
            |index: &PageIndex| self.pages.get(index).is_some_and(|page| is_listed(&page.standing));
        listed(index) && self.above(index).iter().all(listed)
    }

    /// Returns the pages under a directory in order, of whatever standing.
    pub(crate) fn under(&self, parent: &PageIndex) -> Vec<PageIndex> {
        let mut pages: Vec<(u64, PageIndex)> = self
            .pages
            .iter()
            .filter(|(_, page)| page.parent.as_ref() == Some(parent))
            .map(|(index, page)| (page.rank, index.clone()))
            .collect();
        pages.sort();
        pages.into_iter().map(|(_, index)| index).collect()
    }

    pub(crate) fn entry(&self, view: &Actor, page: &PageIndex) -> LevelEntry {
        self.levels.get(&(view.clone(), page.clone())).cloned().unwrap_or_default()
    }

    /// Returns how a page stands in a view.
    pub(crate) fn shown(&self, view: &Actor, index: &PageIndex) -> Visibility {
        let segment = self.segments.get(index.segment());
        let root =
            index.is_root() && segment.is_some_and(|segment| segment.kind == SegmentKind::System);
        if root || self.stands_in_full(index) {
            return Visibility::Expanded;
        }
        let own = self.entry(view, index).shown;
        let system = self.entry(&Actor::System, index).shown;
        own.or(system).unwrap_or(self.pages[index].visibility)
    }

    /// Tells whether a page belongs to a system prompt that agents may not write.
    pub(crate) fn stands_in_full(&self, index: &PageIndex) -> bool {
        self.segments.get(index.segment()).is_some_and(|segment| {
            segment.kind == SegmentKind::System && segment.permission == Permission::ReadOnly
        })
    }
}

fn is_listed(standing: &PageStanding) -> bool {
    matches!(standing, PageStanding::InTree | PageStanding::HotArchived)
}

fn put_back<K: Ord, V>(map: &mut BTreeMap<K, V>, touched: Touch<K, V>) {
    for (key, (before, _)) in touched {
        match before {
            Some(before) => map.insert(key, before),
            None => map.remove(&key),
        };
    }
}

impl Doing<'_> {
    fn edit(&mut self, edit: &Edit) -> Answer {
        match edit {
            Edit::AddSegment(new) => self.add_segment(new),
            Edit::UpdateSegment(update) => self.update_segment(update),
            Edit::SetPermission { segment, permission } => {
                self.set_permission(segment, *permission)
            }
            Edit::RemoveSegment { segment, cascade, force } => {
                self.remove_segment(segment, *cascade, *force)
            }
            Edit::CreateDetailPage(new) => self.create_detail(new),
            Edit::CreateContentsPage(new) => self.create_contents(new),
            Edit::UpdatePage(update) => self.update_page(update),
            Edit::AddTurn { segment, messages } => self.add_turn(segment, messages),
            Edit::ExtendTurn { segment, messages } => self.extend_turn(segment, messages),
            Edit::OpenExchange { .. } | Edit::AddResults { .. } | Edit::CloseExchange { .. } => {
                panic!("the model has no open exchanges")
            }
            Edit::PublishTurn { segment, agent, messages, sources } => {
                self.publish_turn(segment, agent, messages, sources)
            }
            Edit::ExpandDetails(page) => self.expand(page),
            Edit::HideDetails(page) => self.hide(page),
            Edit::PinPage(page) => self.pin(page, true),
            Edit::UnpinPage(page) => self.pin(page, false),
            Edit::FocusPage(page) => self.focus(page),
            Edit::SwitchLevel(level) => self.switch_level(*level),
            Edit::FoldPages(plan) => self.fold(plan),
            Edit::SetCustom { key, value } => self.set_custom(key, value.as_deref()),
            Edit::ExpectCustom { key, value } => {
                let holds = self.model.custom.get(key) == value.as_ref();
                if holds { Ok(()) } else { Err(ErrorKind::Conflict) }
            }
            Edit::MovePage { page, to } => self.move_page(page, to),
            Edit::ArchivePage(page) => self.archive(page),
            Edit::RemovePage(page) => self.remove(page),
            Edit::RestorePage { page, to } => self.restore(page, to.as_ref()),
            Edit::PurgePage(page) => self.purge(page),
            Edit::Undo { revision } => self.undo(revision.map(|revision| revision.0)),
            Edit::Batch(edits) | Edit::Init(edits) | Edit::Import(edits) | Edit::Recall(edits) => {
                self.batch(edits)
            }
            Edit::Load(_) => panic!("the model does not load documents"),
            Edit::BranchView { .. } => panic!("the model has no branches"),
            Edit::RecordRound { action, result } => self.record_round(action, result),
        }
    }

    fn batch(&mut self, edits: &[Edit]) -> Answer {
        let alone = [Operation::Undo, Operation::PurgePage, Operation::Load, Operation::Batch];
        if edits.iter().any(|edit| alone.contains(&edit.operation())) {
            return Err(ErrorKind::Invalid);
        }
        edits.iter().try_for_each(|edit| self.edit(edit))
    }

    fn is_agent(&self) -> bool {
        self.caller.view().is_some()
    }

    /// Finds a page in the tree that the caller sees.
    fn find(&self, index: &PageIndex) -> Answer<ModelPage> {
        let seen = self.model.seen(self.caller, index.segment()).is_some();
        if seen && self.model.stands(index) {
            return Ok(self.model.pages[index].clone());
        }
        Err(ErrorKind::NotFound)
    }

    /// Finds a page on which the caller may write.
    fn writable(&self, index: &PageIndex) -> Answer<ModelPage> {
        let page = self.find(index)?;
        self.may_write(index)?;
        Ok(page)
    }

    fn may_write(&self, index: &PageIndex) -> Answer {
        let read_only = self.model.segments[index.segment()].permission == Permission::ReadOnly;
        if self.is_agent() && read_only { Err(ErrorKind::PermissionDenied) } else { Ok(()) }
    }

    fn trust(&self) -> Trust {
        if self.is_agent() { Trust::Agent } else { Trust::System }
    }

    fn put_page(&mut self, index: &PageIndex, page: Option<ModelPage>) {
        put(&mut self.model.pages, &mut self.touched.pages, index, page);
    }

    fn put_segment(&mut self, id: &SegmentId, segment: ModelSegment) {
        put(&mut self.model.segments, &mut self.touched.segments, id, Some(segment));
    }

    fn next_rank(&mut self) -> u64 {
        self.model.ranks += 1;
        self.model.ranks
    }

    fn next_index(&mut self, segment: &SegmentId) -> PageIndex {
        let number = self.model.numbers.entry(segment.clone()).or_insert(1);
        let index = PageIndex::new(segment.clone(), *number);
        *number += 1;
        index
    }
}

/// Writes to a map and remembers what stood there before the edit.
fn put<K: Ord + Clone, V: Clone>(
    map: &mut BTreeMap<K, V>,
    touched: &mut Touch<K, V>,
    key: &K,
    value: Option<V>,
) {
    let before = match value.clone() {
        Some(value) => map.insert(key.clone(), value),
        None => map.remove(key),
    };
    touched.entry(key.clone()).or_insert((before, None)).1 = value;
}
