//! Windows of a view: planned, rendered, folded, sent and shown again.
//!
//! [`Reader::window`] never writes. Over budget it renders the window as the fold that is due would
//! leave it; [`Session::fold`] commits that fold, and [`Session::send`] does both and
//! records what was sent in the ledger.

mod context;
mod envelope;
mod identity;
mod lowered;
mod newest_windows;
mod prepare;
mod press;
mod quotes;
mod render;
mod send;
mod sent;

use super::{Reader, change_counts::CountsSnapshot};
use crate::{
    Edit, Error, Format, Result, Revision, Segment, Session, Window, WindowOptions,
    storage::ViewId, window::FoldReport,
};
use prepare::Prepared;

pub(crate) use context::FrozenContexts;
pub(crate) use newest_windows::NewestWindows;
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
        let window = self.render(options, &prepared).await;
        self.system.used();
        window
    }

    /// Returns what the fold that is due would save and cost; none when none is due.
    pub async fn fold_preview(&self, options: &WindowOptions) -> Result<Option<FoldReport>> {
        Ok(self.prepare(options, Purpose::Record).await?.fold.map(|fold| fold.report))
    }

    /// Reads the view in one state, as far as others let it.
    async fn prepare(&self, options: &WindowOptions, purpose: Purpose) -> Result<Prepared> {
        for _ in 1..READS {
            self.system.catch_up().await?;
            let (before, revision) = self.made_of(options);
            let prepared = self.prepare_once(options, purpose, revision).await?;
            // A commit nobody heard of may have come in between.
            self.system.catch_up().await?;
            if self.made_of(options).0 == before {
                return Ok(Prepared { made_of: Some(before), ..prepared });
            }
        }
        let snapshot = self.system.snapshot().await?;
        let reader = Reader { system: &snapshot, view: self.view.clone(), guard: self.guard };
        reader.prepare_once(options, purpose, snapshot.seen_upto()).await
    }
}

/// What a window is made of, as it stood at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MadeOf {
    /// What it shows: its segments, and what its view and the system side say of them.
    moved: CountsSnapshot,
    /// The whole session, where what it shows depends on more.
    session: Option<Revision>,
}

impl MadeOf {
    /// Returns what it comes to by a fold of its view, and nothing else.
    fn after_fold(self, view: &ViewId, revision: Revision) -> Self {
        let session = self.session.map(|_| revision);
        Self { moved: self.moved.after_one_of(view), session }
    }
}

impl Reader<'_> {
    /// Returns what a window is made of as it stands now, and the state up to which that is known.
    fn made_of(&self, options: &WindowOptions) -> (MadeOf, Revision) {
        let system = self.system;
        // A Context tells of rounds in other views; a filter looks at where pages came from.
        let looks_beyond = options.format == Format::Context || self.filtered().is_some();
        system.while_unpublished(|upto| {
            let segments = system.segments();
            let mounted = segments.all().filter(|segment| {
                let present = Segment { removed: false, ..(***segment).clone() };
                self.guard.is_none_or(|view| view.mounts(&present))
            });
            let moved = system.inner.moves.of(mounted.map(|it| it.id.clone()), &self.view);
            (MadeOf { moved, session: looks_beyond.then_some(upto) }, upto)
        })
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
