//! Windows of a view: planned, rendered, folded, sent and shown again.
//!
//! [`Reader::window`] never writes. Over budget it renders the window as the fold that is due would
//! leave it; [`ContextSystem::fold`] commits that fold, and [`ContextSystem::send`] does both and
//! records what was sent in the ledger.

mod context;
mod frame;
mod identity;
mod lowered;
mod prepare;
mod press;
mod quotes;
mod render;
mod send;
mod sent;

use super::{ContextSystem, Reader};
use crate::{
    Actor, Edit, Error, FoldReport, Result, Revision, View,
    window::request::{Window, WindowOptions},
};
use prepare::Prepared;

pub(crate) use context::FrozenContexts;
pub use press::Pressed;
pub(crate) use send::Purpose;

/// How often a window is read again because its state changed while it was read.
const READS: usize = 4;

/// A fold that was taken, or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoldOutcome {
    /// The edit it was committed as; none for a preview.
    pub revision: Option<Revision>,
    /// What it saves and costs.
    pub report: FoldReport,
}

impl Reader<'_> {
    /// Renders the view's window. It never writes.
    pub async fn window(&self, options: &WindowOptions) -> Result<Window> {
        let prepared = self.prepare(options, Purpose::Record).await?;
        self.render(options, &prepared, None).await
    }

    /// Returns what the fold that is due would save and cost; none when none is due.
    pub async fn fold_preview(&self, options: &WindowOptions) -> Result<Option<FoldReport>> {
        Ok(self.prepare(options, Purpose::Record).await?.fold.map(|fold| fold.report))
    }

    /// Reads the view in one state, as far as others let it.
    async fn prepare(&self, options: &WindowOptions, purpose: Purpose) -> Result<Prepared> {
        for _ in 1..READS {
            self.system.catch_up().await?;
            let before = self.system.seen_upto();
            let prepared = self.prepare_once(options, purpose, before).await?;
            // A commit nobody heard of may have come in between.
            self.system.catch_up().await?;
            if self.system.seen_upto() == before {
                return Ok(prepared);
            }
        }
        let snapshot = self.system.snapshot().await?;
        let reader = Reader { system: &snapshot, view: self.view.clone(), guard: self.guard };
        reader.prepare_once(options, purpose, snapshot.seen_upto()).await
    }
}

impl ContextSystem {
    /// Takes the fold that is due in the system side's view; none when none is due.
    pub async fn fold(&self, options: &WindowOptions) -> Result<Option<FoldOutcome>> {
        self.take_fold(options, None).await
    }

    /// Takes the fold that is due in an agent's view.
    pub(crate) async fn fold_for(
        &self,
        view: &View,
        options: &WindowOptions,
    ) -> Result<Option<FoldOutcome>> {
        self.take_fold(options, Some(view)).await
    }

    async fn take_fold(
        &self,
        options: &WindowOptions,
        guard: Option<&View>,
    ) -> Result<Option<FoldOutcome>> {
        let mut last = None;
        for _ in 0..READS {
            let reader = self.reader_of(guard);
            let prepared = reader.prepare(options, Purpose::Record).await?;
            let Some(fold) = prepared.fold else { return Ok(None) };
            let report = fold.report;
            let actor = guard.map_or(Actor::System, |view| Actor::Agent(view.agent.clone()));
            match self.apply(&Edit::FoldPages(fold), actor, guard).await {
                Ok(outcome) => {
                    let revision = Some(outcome.revision);
                    return Ok(Some(FoldOutcome { revision, report }));
                }
                // Somebody changed a level since it was planned: plan again.
                Err(error @ Error::FoldOutdated { .. }) => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.expect("the loop ran and every pass but this one returned"))
    }

    fn reader_of<'a>(&'a self, guard: Option<&'a View>) -> Reader<'a> {
        match guard {
            Some(view) => self.reader_for(view),
            None => self.reader(),
        }
    }
}
