//! No request leaves without its System pages: an agent without its prompt is another agent.
//!
//! Damage may show as absence: a row that is not found, a list that is shorter. So what stands in a
//! window is compared with what must stand there by other paths: pages by their numbers, numbers by
//! their segment's counter and the history, segments by their ordinals, the agent's own prompt by its
//! file.

mod absent;

use std::collections::{BTreeMap, BTreeSet};

use contexture_core::{
    AgentContext, ContextSystem, Error, ErrorKind, Lifecycle, Page, PageIndex, Permission, Segment,
    SegmentId, SegmentKind, View, Visibility,
    message::detail_text,
    storage::{PageStanding, ScanQuery, StandingFilter, check::is_guess},
};

pub use self::absent::Absences;
use self::absent::Search;
use super::{Team, prompt_segment};
use crate::{AgentDefinition, AgentsError, ContextMode, Result, prompts};

/// How many rows are read at a time.
const BATCH: usize = 1_000;

/// The segment a session's system prompt stands in by custom.
const SYSTEM: &str = "sys";

impl Team {
    /// Returns the System pages that must stand in an agent's window, or says that some are lost.
    ///
    /// `known` says which were looked for already and are gone rightly; what is found out is added. A fork
    /// has no prompt of its own among them: `shown` is the session as it stands in the fork.
    pub(crate) async fn system_pages(
        &self,
        prompted: Option<(&AgentDefinition, ContextMode)>,
        shown: &ContextSystem,
        context: &AgentContext,
        known: &mut Absences,
    ) -> Result<BTreeSet<PageIndex>> {
        let segments = self.all_segments().await?;
        let prompt = prompted.map(|(agent, _)| prompt_segment(agent)).transpose()?;
        let shown = Team::new(shown.clone());
        let mut must = BTreeSet::new();
        let mut search = Search::new(&segments, known);
        for segment in segments.iter().filter(|it| it.kind == SegmentKind::System) {
            if !context.view().mounts(segment) {
                continue;
            }
            let pages = self.all_pages(&segment.id).await?;
            if !pages.contains_key(&0) {
                return Err(lost(format!("page {} is", segment.root())));
            }
            search.count(segment, &pages, known);
            // In a fork pages stand as they stood: others than now, perhaps.
            let stood = match prompted {
                Some(_) => pages,
                None => shown.all_pages(&segment.id).await?,
            };
            for page in stood.values() {
                if must_stand(context, &stood, page).await? {
                    must.insert(page.index.clone());
                }
            }
            // Where agents may write it, what stands there is theirs until the next run.
            if let Some((agent, mode)) = prompted
                && prompt.as_ref() == Some(&segment.id)
                && segment.permission == Permission::ReadOnly
            {
                self.check_prompt(agent, mode, &stood).await?;
            }
        }
        let is_mounted = |prompt: &SegmentId| {
            segments.iter().any(|it| it.id == *prompt && context.view().mounts(it))
        };
        if let (Some(prompt), Some((agent, _))) = (&prompt, prompted)
            && !is_mounted(prompt)
        {
            return Err(lost(format!(
                "segment {prompt}, the prompt of agent '{}', is",
                agent.name
            )));
        }
        if search.is_open() {
            self.search(search).await?.note(known);
        }
        Ok(must)
    }

    /// Returns the session's segments, removed ones too.
    async fn all_segments(&self) -> Result<Vec<Segment>> {
        let (storage, session) = (self.system.storage(), self.system.session());
        let segments = storage.segments(session).await.map_err(Error::from)?;
        if let Some(segment) = segments.iter().find(|segment| is_guess(segment)) {
            return Err(lost(format!("the kind of segment {} is", segment.id)));
        }
        let system: SegmentId = SYSTEM.parse()?;
        if segments.iter().all(|segment| segment.id != system)
            && !self.all_pages(&system).await?.is_empty()
        {
            return Err(lost(format!("segment {system} is")));
        }
        Ok(segments)
    }

    /// Returns every page of a segment by its number, whatever its directory says.
    async fn all_pages(&self, segment: &SegmentId) -> Result<BTreeMap<u64, Page>> {
        let mut pages = BTreeMap::new();
        loop {
            let query = ScanQuery {
                segment: segment.clone(),
                standing: StandingFilter::Any,
                after: pages.keys().last().copied(),
                limit: BATCH,
            };
            let batch = self.system.storage().scan(self.system.session(), &query).await;
            let batch = batch.map_err(Error::from)?;
            let done = batch.len() < BATCH;
            pages.extend(batch.into_iter().map(|page| (page.index.number(), page)));
            if done {
                return Ok(pages);
            }
        }
    }

    /// Checks that the agent's own prompt is among the pages, word for word.
    async fn check_prompt(
        &self,
        agent: &AgentDefinition,
        mode: ContextMode,
        pages: &BTreeMap<u64, Page>,
    ) -> Result<()> {
        let stance = Self::link(agent, mode)?.stance();
        let session = self.system.as_system();
        let reader = session.reader();
        for prompt_page in prompts::pages(agent) {
            if prompt_page.stance.is_some_and(|other| Some(other) != stance) {
                continue;
            }
            let mut found = false;
            for page in pages.values().filter(|page| page.name == prompt_page.name) {
                found |= page.standing == PageStanding::InTree
                    && page.detail().is_some()
                    && detail_text(&reader.messages(&page.index).await?) == prompt_page.text;
            }
            if !found {
                let what = format!(
                    "page '{}' of the prompt of agent '{}' is",
                    prompt_page.name, agent.name
                );
                return Err(lost(what));
            }
        }
        Ok(())
    }
}

/// Tells whether a page must stand in the window: it has a text, is in the tree and in the view, and
/// nothing hides it.
async fn must_stand(
    context: &AgentContext,
    pages: &BTreeMap<u64, Page>,
    page: &Page,
) -> Result<bool> {
    let speaks = page.detail().is_some_and(|detail| detail.weight > 0);
    if !speaks || page.standing != PageStanding::InTree {
        return Ok(false);
    }
    match context.get_page(page.index.clone()).await {
        Ok(seen) => {
            let stands = seen.lifecycle == Lifecycle::Active;
            Ok(stands && seen.visibility == Visibility::Expanded)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            match is_left_out(context.view(), pages, page) {
                true => Ok(false),
                false => Err(lost(format!("page {} is", page.index))),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// Tells whether a view leaves a page out, by its own name or by one above it. A directory that is
/// lost leaves nothing out.
fn is_left_out(view: &View, pages: &BTreeMap<u64, Page>, page: &Page) -> bool {
    let mut next = Some(page);
    while let Some(page) = next {
        if page.standing != PageStanding::InTree || view.filter.without.contains(&page.index) {
            return true;
        }
        next = page.parent.as_ref().and_then(|parent| pages.get(&parent.number()));
    }
    false
}

/// Returns the error for a prompt that the model must see and that is missing.
pub(crate) fn lost(what: String) -> AgentsError {
    AgentsError::PromptLost { what }
}
