//! What is done with every request, timed and counted on SQLite: a window sent, a step of a run, and
//! a window while many others write.
//!
//! Every figure is a median over rounds. What is compared alternates within the run, because disks and
//! shared machines drift.

mod sent;
mod step;
mod writers;

use std::{io::Write, path::Path, process::ExitCode, sync::Arc};

use anyhow::Result;
use contexture_core::{
    AgentContext, ContextSystem, Edit, Mounts, NewDetailPage, NewSegment, PageStorage, SegmentKind,
    View, ViewFilter,
};
use contexture_storage::{SystemClock, sqlite::SqliteStorage};
use contexture_testkit::fake::WatchedStorage;

use crate::latency::turn;

/// What is measured, and where.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is measured; all of it by default.
    #[arg(value_enum)]
    what: Vec<What>,
    /// The folder in which stores are made, and removed again; the system's own by default.
    #[arg(long)]
    dir: Option<std::path::PathBuf>,
    /// How often each thing is timed.
    #[arg(long, default_value_t = 101, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum What {
    /// A window of 200 pages that is sent, with and without a fold.
    Sent,
    /// A step of a run with one tool call, and answers with several.
    Step,
    /// A window while 64 others write to the session.
    Writers,
}

/// Measures and prints.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let home = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let dir = tempfile::Builder::new().prefix("contexture-hot").tempdir_in(home)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let wanted = |what: What| args.what.is_empty() || args.what.contains(&what);
    if wanted(What::Sent) {
        runtime.block_on(sent::measure(dir.path(), args.rounds, out))?;
    }
    if wanted(What::Step) {
        runtime.block_on(step::measure(dir.path(), args.rounds, out))?;
    }
    if wanted(What::Writers) {
        runtime.block_on(writers::measure(dir.path(), args.rounds, out))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A session in a SQLite file of its own, and what is asked of it.
struct Stage {
    storage: Arc<WatchedStorage>,
    system: ContextSystem,
}

impl Stage {
    /// Makes a session with a prompt and a conversation of some pages.
    async fn new(dir: &Path, name: &str, pages: u64) -> Result<Self> {
        let path = dir.join(format!("{name}.db"));
        let storage = SqliteStorage::open(&path, Default::default())?;
        let storage = WatchedStorage::new(Arc::new(storage));
        let shared: Arc<dyn PageStorage> = storage.clone();
        let clock = Arc::new(SystemClock);
        let system = ContextSystem::create(shared, name.parse()?, "measure", clock).await?;
        let sys = Edit::AddSegment(NewSegment::new("sys".parse()?, SegmentKind::System));
        let usr = Edit::AddSegment(NewSegment::new("usr".parse()?, SegmentKind::User));
        system.as_system().apply(Edit::Batch(vec![sys, usr])).await?;
        let prompt =
            NewDetailPage::new("sys-0".parse()?, "Prompt".parse()?, "You are a careful assistant.");
        system.as_system().apply(Edit::CreateDetailPage(prompt)).await?;
        let stage = Self { storage, system };
        let agent = stage.agent("talker", "usr")?;
        for number in 1..=pages {
            agent.add_turn(turn(number)).await?;
        }
        Ok(stage)
    }

    /// Returns an agent that sees the prompts and one segment, to which it writes.
    fn agent(&self, name: &str, segment: &str) -> Result<AgentContext> {
        let view = View {
            agent: name.parse()?,
            mounts: Mounts::Listed(vec!["sys".parse()?, segment.parse()?]),
            writes_to: segment.parse()?,
            filter: ViewFilter::default(),
            branch: None,
        };
        Ok(AgentContext::new(self.system.clone(), view))
    }

    /// Returns how many durable writes were asked for since the last reset.
    fn writes(&self) -> u64 {
        ["commit", "keep", "keep_run", "record", "report"]
            .into_iter()
            .map(|method| self.storage.calls(method))
            .sum()
    }
}
