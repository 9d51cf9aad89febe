//! Windows of a view: planned, rendered, folded, sent and shown again.
//!
//! [`Reader::window`] never writes. Over budget it renders the window as the fold that is due would
//! leave it; [`Session::fold`] commits that fold, and [`Session::send`] does both and
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

use super::Reader;
use crate::{
    Edit, Error, FoldReport, Result, Revision, Session,
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

impl Session {
    /// Takes the fold that is due in the view; none when none is due.
    pub async fn fold(&self, options: &WindowOptions) -> Result<Option<FoldOutcome>> {
        let mut last = None;
        for _ in 0..READS {
            let prepared = self.reader().prepare(options, Purpose::Record).await?;
            let Some(fold) = prepared.fold else { return Ok(None) };
            let report = fold.report;
            match self.apply(Edit::FoldPages(fold)).await {
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
}
