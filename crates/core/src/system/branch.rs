//! Branches: a view that begins as what another shows at a moment, and goes on alone.
//!
//! A branch is a context system of its own on the same session: its storage answers for inherited
//! segments what stood at the branch's point ([`BranchStorage`]), so that reading, rendering and folding
//! are what they are everywhere. What it adds lies in its own segment, and its level state is its own: it
//! begins as a copy of the parent's.

use std::sync::Arc;

use super::{ContextSystem, Reader};
use crate::{
    AgentContext, AgentName, Edit, Error, PageIndex, Principal, Result, SegmentId, View,
    storage::{
        BranchPoint, BranchStorage, ChunkKey, Inherited, LevelEntry, PageStorage, SessionInfo,
        ViewId,
    },
    view::{BranchView, Mounts},
};

/// Whose view a branch begins as.
#[derive(Debug, Clone, Copy)]
pub struct BranchParent<'a> {
    /// The parent, as it holds the session.
    pub principal: &'a Principal,
    /// Where the parent itself branched off, where it is a branch.
    pub point: Option<&'a BranchPoint>,
}

impl ContextSystem {
    /// Begins a branch of a parent's view as it stands now, for an agent. What the branch adds goes to
    /// `segment`, which must exist; `number` tells the agent's branches apart and is used once.
    ///
    /// The point and the view are what [`open_branch`](Self::open_branch) needs to go on with it.
    pub async fn branch(
        &self,
        parent: BranchParent<'_>,
        agent: &AgentName,
        number: u64,
        segment: &SegmentId,
    ) -> Result<(View, BranchPoint)> {
        self.refresh().await?;
        let info = self.info().await?;
        let own = self.segments().get(segment).cloned();
        let own = own.filter(|segment| !segment.removed);
        let own = own.ok_or_else(|| Error::SegmentNotFound { segment: segment.clone() })?;
        let view_id = ViewId::of_branch(agent, number);
        let inherited = self.inherited(parent, &info, segment);
        let point = BranchPoint {
            inherited,
            segment: segment.clone(),
            first: self.with_counter(&own).next_number,
            place: info.next_place,
            view: view_id.clone(),
        };
        let parent_id = parent.principal.view_id();
        let levels = self.levels_of(&parent_id, &point).await?;
        let begin = Edit::BranchView { view: view_id, parent: parent_id, levels };
        self.as_system().apply(begin).await?;
        let listed = point.inherited.iter().map(|it| it.segment.clone());
        let parent = parent.principal.view();
        let view = View {
            agent: agent.clone(),
            mounts: Mounts::Listed(listed.chain([segment.clone()]).collect()),
            writes_to: segment.clone(),
            filter: parent.map(|view| view.filter.clone()).unwrap_or_default(),
            branch: Some(BranchView { number, parent: parent.cloned().map(Arc::new) }),
        };
        Ok((view, point))
    }

    /// Opens a branch: the session as it stands in it.
    pub async fn open_branch(&self, view: View, point: BranchPoint) -> Result<AgentContext> {
        let storage = BranchStorage::new(self.storage(), point.clone());
        let storage: Arc<dyn PageStorage> = Arc::new(storage);
        let (session, clock) = (self.inner.session.clone(), self.inner.clock.clone());
        let (memory, settings) = (self.inner.memory.clone(), self.inner.settings);
        let system = Self::open_in(memory, storage, session, clock, settings).await?;
        // It was opened a moment ago, so nobody has set it.
        let _ = system.inner.branch.set(point);
        Ok(AgentContext::new(system, view))
    }

    /// Returns where it branched off, where it is a branch.
    pub(crate) fn branch_point(&self) -> Option<&BranchPoint> {
        self.inner.branch.get()
    }

    /// Returns what a branch of a view inherits now, in the order in which the view shows it.
    fn inherited(
        &self,
        parent: BranchParent<'_>,
        info: &SessionInfo,
        own: &SegmentId,
    ) -> Vec<Inherited> {
        let shown = Reader::of(self, parent.principal).segments_as_shown();
        // The branch's own segment is not inherited, and what a branch inherited it still does.
        let shown = shown.into_iter().filter(|segment| segment.id != *own);
        let inherited = shown.map(|segment| {
            let before = parent.point.and_then(|point| point.inherited(&segment.id)).cloned();
            before.unwrap_or_else(|| Inherited {
                segment: segment.id.clone(),
                at: info.revision,
                before: info.next_place,
                first: parent
                    .point
                    .filter(|point| point.segment == segment.id)
                    .map_or(0, |point| point.first),
            })
        });
        inherited.collect()
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
