//! Branches: a view that begins as what another shows at a moment, and goes on alone.
//!
//! A branch is a context system of its own on the same session: its storage answers for inherited
//! segments what stood at the branch's point ([`BranchStorage`]), so that reading, rendering and folding
//! are what they are everywhere. What it adds lies in its own segment, and its level state is its own: it
//! begins as a copy of the parent's.

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{ContextSystem, Reader};
use crate::{
    AgentName, Edit, Error, PageIndex, Principal, Result, SegmentId, View,
    storage::{
        BranchPoint, BranchStorage, ChunkKey, Inherited, LevelEntry, PageStorage, SessionInfo,
        ViewId,
    },
    view::{BranchView, Mounts, entries},
};

/// A branch: the view that an agent has of it, and where it left its parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// The view.
    pub view: View,
    /// Where it left its parent, and what is its own.
    pub point: BranchPoint,
}

/// Whose view a branch begins as.
#[derive(Debug, Clone, Copy)]
pub enum BranchParent<'a> {
    /// What a principal sees of the session.
    Session(&'a Principal),
    /// What the system side sees of the segments that are nobody's own.
    Common,
    /// What another branch shows.
    Branch(&'a Branch),
}

impl BranchParent<'_> {
    fn principal(self) -> Principal {
        match self {
            BranchParent::Session(principal) => principal.clone(),
            BranchParent::Common => Principal::System,
            BranchParent::Branch(branch) => Principal::from(branch.view.clone()),
        }
    }

    fn point(&self) -> Option<&BranchPoint> {
        match self {
            BranchParent::Session(_) | BranchParent::Common => None,
            BranchParent::Branch(branch) => Some(&branch.point),
        }
    }
}

impl ContextSystem {
    /// Begins a branch of a parent's view as it stands now, for an agent. What the branch adds goes to
    /// `segment`, which must exist; `number` tells the agent's branches apart and is used once.
    ///
    /// It is what [`open_branch`](Self::open_branch) needs to go on with it.
    pub async fn branch(
        &self,
        parent: BranchParent<'_>,
        agent: &AgentName,
        number: u64,
        segment: &SegmentId,
    ) -> Result<Branch> {
        self.refresh().await?;
        let info = self.info().await?;
        let own = self.segments().get(segment).cloned();
        let own = own.filter(|segment| !segment.removed);
        let own = own.ok_or_else(|| Error::SegmentNotFound { segment: segment.clone() })?;
        let view_id = ViewId::of_branch(agent, number);
        let principal = parent.principal();
        let is_common = matches!(parent, BranchParent::Common);
        let inherited = self.inherited(&principal, parent.point(), is_common, &info, segment);
        let open = self.open_pages(&inherited, parent.point()).await?;
        let point = BranchPoint {
            inherited,
            open,
            segment: segment.clone(),
            first: self.with_counter(&own).next_number,
            place: info.next_place,
            view: view_id.clone(),
        };
        let parent_id = principal.view_id();
        let levels = self.levels_of(&parent_id, &point).await?;
        let begin = Edit::BranchView { view: view_id, parent: parent_id.clone(), levels };
        self.as_system().apply(begin).await?;
        let listed = point.inherited.iter().map(|it| it.segment.clone());
        let parent = principal.view();
        let reader =
            |it: &Inherited| Some((it.segment.clone(), parent?.reader_of(&it.segment)?.clone()));
        let readers = point.inherited.iter().filter_map(reader).collect();
        let view = View {
            agent: agent.clone(),
            mounts: Mounts::Listed(listed.chain([segment.clone()]).collect()),
            writes_to: segment.clone(),
            filter: parent.map(|view| view.filter.clone()).unwrap_or_default(),
            branch: Some(BranchView { number, parent: parent_id, readers }),
        };
        Ok(Branch { view, point })
    }

    /// Opens a branch: the session as it stands in it. Its agent looks at that through the branch's view.
    pub async fn open_branch(&self, branch: &Branch) -> Result<ContextSystem> {
        let storage: Arc<dyn PageStorage> =
            Arc::new(BranchStorage::new(self.storage(), branch.point.clone()));
        let (session, clock) = (self.inner.session.clone(), self.inner.clock.clone());
        let (memory, settings) = (self.inner.memory.clone(), self.inner.settings);
        let system = Self::open_in(memory, storage, session, clock, settings).await?;
        // It was opened a moment ago, so nobody has set it.
        let _ = system.inner.branch.set(branch.point.clone());
        Ok(system.finding_as(self.finder()))
    }

    /// Returns where it branched off, where it is a branch.
    pub(crate) fn branch_point(&self) -> Option<&BranchPoint> {
        self.inner.branch.get()
    }

    /// Returns what a branch of a view inherits now, in the order in which the view shows it.
    fn inherited(
        &self,
        parent: &Principal,
        point: Option<&BranchPoint>,
        is_common: bool,
        info: &SessionInfo,
        own: &SegmentId,
    ) -> Vec<Inherited> {
        let shown = Reader::of(self, parent).segments_as_shown();
        // The branch's own segment is not inherited, and what a branch inherited it still does.
        let shown = shown.into_iter().filter(|segment| segment.id != *own);
        let shown = shown.filter(|segment| !is_common || segment.owner.is_none());
        let inherited = shown.map(|segment| {
            let before = point.and_then(|point| point.inherited(&segment.id)).cloned();
            before.unwrap_or_else(|| Inherited {
                segment: segment.id.clone(),
                at: info.revision,
                before: info.next_place,
                first: point
                    .filter(|point| point.segment == segment.id)
                    .map_or(0, |point| point.first),
            })
        });
        inherited.collect()
    }

    /// Returns the inherited pages that end with an open exchange.
    async fn open_pages(
        &self,
        inherited: &[Inherited],
        before: Option<&BranchPoint>,
    ) -> Result<Vec<PageIndex>> {
        let custom = self.storage().custom(self.session()).await?;
        let entries = custom.iter().filter(|(key, _)| entries::is_open_key(key));
        let now = entries.filter_map(|(_, page)| page.parse::<PageIndex>().ok());
        let then = before.into_iter().flat_map(|point| point.open.iter().cloned());
        let is_inherited =
            |page: &PageIndex| inherited.iter().any(|it| it.segment == *page.segment());
        let open: BTreeSet<PageIndex> = now.chain(then).filter(is_inherited).collect();
        Ok(open.into_iter().collect())
    }

    /// Returns what a view said of inherited pages at the branch's point.
    async fn levels_of(
        &self,
        view: &ViewId,
        point: &BranchPoint,
    ) -> Result<Vec<(PageIndex, LevelEntry)>> {
        let storage = BranchStorage::new(self.storage(), point.clone());
        let keys = storage.level_keys(self.session()).await?;
        let is_wanted =
            |key: &ChunkKey| key.view == *view && point.inherited(&key.segment).is_some();
        let keys: Vec<ChunkKey> = keys.into_iter().filter(is_wanted).collect();
        let chunks = storage.levels(self.session(), &keys).await?;
        let mut levels = Vec::new();
        for (key, chunk) in keys.iter().zip(&chunks) {
            levels.extend(
                chunk
                    .entries()
                    .map(|(number, entry)| (PageIndex::new(key.segment.clone(), number), entry)),
            );
        }
        Ok(levels)
    }
}
