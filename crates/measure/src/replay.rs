//! Replaying a session: what was said goes in, and before each call to the model a window is due.

use std::sync::Arc;

use anyhow::Result;
use contexture_core::{
    ContextSystem, Edit, Format, ManualClock, MemoryStorage, NewDetailPage, NewSegment,
    ProviderFormat, SegmentKind, TokenCounter, WindowOptions,
    window::{FoldShares, RecordedWindow},
};

use crate::data::Session;

/// The clock of a replay stands still: nothing measured here depends on time.
const NOW: i64 = 1_760_000_000_000;

/// A session on its way through the engine.
pub(crate) struct Replay<'a> {
    session: &'a Session,
    system: ContextSystem,
    appended: usize,
    /// Whether a turn has begun that what follows can continue.
    begun: bool,
}

impl<'a> Replay<'a> {
    /// Begins with the system prompt alone.
    pub(crate) async fn begin(session: &'a Session) -> Result<Self> {
        let storage = Arc::new(MemoryStorage::new());
        let clock = Arc::new(ManualClock::at_millis(NOW));
        let system = ContextSystem::create(storage, "replay".parse()?, "measure", clock).await?;
        let rules = NewSegment::new("sys".parse()?, SegmentKind::System);
        let talk = NewSegment::new("usr".parse()?, SegmentKind::User);
        let segments = vec![Edit::AddSegment(rules), Edit::AddSegment(talk)];
        system.as_system().apply(Edit::Batch(segments)).await?;
        if let Some(text) = &session.system {
            let prompt = NewDetailPage::new("sys-0".parse()?, "Prompt".parse()?, text.as_str());
            system.as_system().apply(Edit::CreateDetailPage(prompt)).await?;
        }
        Ok(Self { session, system, appended: 0, begun: false })
    }

    /// Appends the exchanges up to that number: what was said before a call to the model.
    pub(crate) async fn append(&mut self, upto: usize) -> Result<()> {
        let new = &self.session.exchanges[self.appended..upto];
        let begins = new.iter().position(|it| it.starts_turn()).unwrap_or(new.len());
        let (rest, turns) = new.split_at(begins);
        for (exchanges, continues) in [(rest, self.begun), (turns, false)] {
            if exchanges.is_empty() {
                continue;
            }
            let messages = exchanges.iter().flat_map(|it| it.messages.iter().cloned()).collect();
            let segment = "usr".parse()?;
            self.system
                .as_system()
                .apply(if continues {
                    Edit::ExtendTurn { segment, messages }
                } else {
                    Edit::AddTurn { segment, messages }
                })
                .await?;
            self.begun = true;
        }
        self.appended = upto;
        Ok(())
    }

    /// Takes the fold that is due, and the window.
    pub(crate) async fn send(&self, options: &WindowOptions) -> Result<RecordedWindow> {
        Ok(self.system.as_system().send(options).await?)
    }

    /// Renders a window again that was sent.
    pub(crate) async fn sent(
        &self,
        options: &WindowOptions,
        number: u64,
    ) -> Result<RecordedWindow> {
        Ok(self.system.as_system().sent(options, number).await?)
    }

    /// Returns what the engine's own lines begin with.
    pub(crate) fn tag(&self) -> String {
        self.system.mark().tag()
    }
}

/// Returns the options of a window under a budget.
pub(crate) fn options(
    format: ProviderFormat,
    counter: &Arc<dyn TokenCounter>,
    budget: u64,
    shares: FoldShares,
) -> WindowOptions {
    let options = WindowOptions::new(Format::Provider(format), counter.clone()).budget(budget);
    WindowOptions { shares, ..options }
}

/// Flags that shape the engine's folds, in thousandths.
#[derive(Debug, clap::Args)]
pub(crate) struct ShareArgs {
    /// Sets the share of the budget that earlier requests may take.
    #[arg(long)]
    requests: Option<u64>,
    /// Sets the share of the room that recent pages may take.
    #[arg(long)]
    recent: Option<u64>,
    /// Sets the share of the room up to which folds only add logs.
    #[arg(long)]
    high_water: Option<u64>,
    /// Sets the share of the room that a fold leaves when it settles everything.
    #[arg(long)]
    low_water: Option<u64>,
    /// Sets the share of the budget that lines may take.
    #[arg(long)]
    lines: Option<u64>,
    /// Sets the share of the budget beyond which a part is cut.
    #[arg(long)]
    part: Option<u64>,
}

impl ShareArgs {
    /// Returns the shares, those that were not given as they are by default.
    pub(crate) fn shares(&self) -> FoldShares {
        let default = FoldShares::default();
        FoldShares {
            requests: self.requests.unwrap_or(default.requests),
            recent: self.recent.unwrap_or(default.recent),
            high_water: self.high_water.unwrap_or(default.high_water),
            low_water: self.low_water.unwrap_or(default.low_water),
            lines: self.lines.unwrap_or(default.lines),
            part: self.part.unwrap_or(default.part),
            held: default.held,
        }
    }
}
