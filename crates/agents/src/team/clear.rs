//! Clearing an agent's history: to the archive, undoable, and never the main session's own.

use std::{fmt, str::FromStr, sync::Arc};

use contexture_core::{
    AgentName, Edit, Owner, Page, PageIndex, Principal, SegmentId, storage::Order,
};

use super::{MAIN, StoredRun, Team};
use crate::{AgentsError, Result};

/// What of an agent's history is cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClearScope {
    /// Its own segments, that of its forks too.
    Isolated,
    /// What it published in the main session.
    Published,
    /// Its own segment and what it published.
    All,
}

impl ClearScope {
    /// Returns the scope as it is spelt.
    pub fn as_str(self) -> &'static str {
        match self {
            ClearScope::Isolated => "isolated",
            ClearScope::Published => "published",
            ClearScope::All => "all",
        }
    }
}

impl fmt::Display for ClearScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ClearScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [ClearScope::Isolated, ClearScope::Published, ClearScope::All]
            .into_iter()
            .find(|scope| scope.as_str() == text)
            .ok_or_else(|| format!("'{text}' is not a scope: use isolated, published or all"))
    }
}

/// What was cleared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleared {
    /// Pages of its own segment that went to the archive.
    pub isolated: Vec<PageIndex>,
    /// Pages in the main session that went to the archive.
    pub published: Vec<PageIndex>,
    /// Turns it published that stay.
    pub published_kept: u64,
    /// Turns it took in the main session itself: they stay.
    pub kept: u64,
    /// Turns it took in segments of groups: they stay.
    pub group_kept: u64,
    /// Interrupted runs that were given up.
    pub runs: u64,
}

impl Team {
    /// Clears an agent's history. It is one edit, and can be undone.
    pub async fn clear(
        &self,
        agent: &AgentName,
        scope: ClearScope,
        is_alive: impl Fn(&StoredRun) -> bool,
    ) -> Result<Cleared> {
        let runs = self.runs(Some(agent)).await?;
        if let Some(running) = runs.iter().find(|stored| is_alive(stored)) {
            return Err(AgentsError::Conflict {
                what: format!("agent '{agent}' is running (run {})", running.run.number),
                hint: "wait for it, or stop it with Ctrl-C where it runs".to_owned(),
            });
        }
        let mut cleared = Cleared { runs: runs.len() as u64, ..Cleared::default() };
        let main: SegmentId = MAIN.parse()?;
        if scope != ClearScope::Published {
            for own in ["agent", "fork"] {
                let own: SegmentId = format!("{own}-{agent}").parse()?;
                let pages = self.listed(&own, |_| true).await?;
                cleared.isolated.extend(pages.into_iter().map(|page| page.index.clone()));
            }
        }
        let by_agent = |page: &Page| page.author.agent() == Some(agent);
        for page in self.listed(&main, by_agent).await? {
            match (page.sources.is_empty(), scope) {
                (true, _) => cleared.kept += 1,
                (false, ClearScope::Isolated) => cleared.published_kept += 1,
                (false, _) => cleared.published.push(page.index.clone()),
            }
        }
        for segment in self.system.as_system().reader().segments() {
            if matches!(segment.owner, Some(Owner::Group(_))) {
                cleared.group_kept += self.listed(&segment.id, by_agent).await?.len() as u64;
            }
        }
        let now = self.system.now();
        let removals: Vec<_> = runs.iter().flat_map(|stored| stored.removals(now)).collect();
        let pages = cleared.isolated.iter().chain(&cleared.published);
        let edits: Vec<Edit> = pages.cloned().map(Edit::RemovePage).collect();
        if edits.is_empty() {
            for removal in &removals {
                self.system.keep_run(removal).await?;
            }
        } else {
            self.system.apply_with_runs(&Principal::System, &Edit::Batch(edits), &removals).await?;
        }
        Ok(cleared)
    }

    /// Returns the pages right under a segment's root that pass; none when there is no such segment.
    async fn listed(
        &self,
        segment: &SegmentId,
        passes: impl Fn(&Page) -> bool,
    ) -> Result<Vec<Arc<Page>>> {
        let session = self.system.as_system();
        let reader = session.reader();
        let mut pages = Vec::new();
        if reader.segment(segment).is_err() {
            return Ok(pages);
        }
        let mut after = None;
        loop {
            let listed = reader.children(&segment.root(), Order::Forward, after, 1_000).await?;
            after = listed.items.last().map(|seen| seen.page.place);
            let passing = listed.items.into_iter().filter(|seen| passes(&seen.page));
            pages.extend(passing.map(|seen| seen.page));
            if !listed.more {
                return Ok(pages);
            }
        }
    }
}
