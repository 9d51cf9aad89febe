//! What many open sessions take in memory: each for itself, and under one engine.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::Arc,
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};
use contexture_core::{
    ContextSystem, Edit, Engine, Format, Message, NewSegment, PageStorage, Principal,
    ProviderFormat, Role, SegmentKind, Session, SessionId, WindowOptions,
};
use contexture_storage::{SystemClock, sqlite::SqliteStorage};
use contexture_tokens::counter_for;
use futures::executor::block_on;

/// How often each session's window is rendered.
const ROUNDS: usize = 3;

/// How many sessions are made, and where.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder in which the store is made; one that is there already is used again.
    #[arg(long)]
    dir: PathBuf,
    /// How many sessions.
    #[arg(long, default_value_t = 100)]
    sessions: usize,
    /// How many pages each has, all of them in its window.
    #[arg(long, default_value_t = 200)]
    pages: usize,
}

/// One way to have sessions open.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Way {
    /// Each opened for itself and kept.
    Alone,
    /// Asked of an engine for each window, and let go.
    Engine,
    /// Asked of an engine and held, all at once.
    Held,
}

/// Measures each way in a process of its own, and prints.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    std::fs::create_dir_all(&args.dir)?;
    let path = args.dir.join(format!("sessions-{}-{}.db", args.sessions, args.pages));
    if !path.exists() {
        block_on(fill(&path, args))?;
    }
    let (sessions, pages) = (args.sessions, args.pages);
    writeln!(out, "{sessions} sessions, {pages} pages in the window of each, {ROUNDS} rounds\n")?;
    writeln!(out, "| opened | counted | resident at most | a window, median | open at the end |")?;
    writeln!(out, "|---|--:|--:|--:|--:|")?;
    out.flush()?;
    for way in ["alone", "engine", "held"] {
        let program = std::env::current_exe()?;
        let mut child = Command::new(program);
        child.arg("sessions-child").arg(&path).arg(way).arg(sessions.to_string());
        let printed = child.output().context("the child process does not start")?;
        ensure!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
        out.write_all(&printed.stdout)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures one way.
pub(crate) fn child(
    path: &Path,
    way: Way,
    sessions: usize,
    out: &mut dyn Write,
) -> Result<ExitCode> {
    block_on(measure(path, way, sessions, out))?;
    Ok(ExitCode::SUCCESS)
}

async fn measure(path: &Path, way: Way, sessions: usize, out: &mut dyn Write) -> Result<()> {
    let storage: Arc<dyn PageStorage> = Arc::new(SqliteStorage::open(path, Default::default())?);
    let engine = Engine::new(storage.clone(), Arc::new(SystemClock));
    let options =
        WindowOptions::new(Format::Provider(ProviderFormat::OpenAi), counter_for("gpt-4o"));
    let mut held: Vec<Session> = Vec::new();
    if !matches!(way, Way::Engine) {
        for number in 0..sessions {
            let system = match way {
                Way::Alone => {
                    let clock = Arc::new(SystemClock);
                    ContextSystem::open(storage.clone(), name(number)?, clock).await?
                }
                Way::Engine | Way::Held => engine.open(&name(number)?).await?,
            };
            held.push(system.as_system());
        }
    }
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        for number in 0..sessions {
            let session = match held.get(number) {
                Some(session) => session.clone(),
                None => engine.session(&name(number)?, Principal::System).await?,
            };
            let began = Instant::now();
            let window = session.window(&options).await?;
            if round > 0 {
                times.push(began.elapsed().as_secs_f64() * 1e3);
            }
            ensure!(window.body.contains(&format!("session {number} ")), "the window of another");
        }
    }
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    let usage = engine.usage();
    let (counted, open) = match way {
        Way::Alone => ("–".to_owned(), sessions),
        Way::Engine | Way::Held => (format!("{} MB", usage.bytes >> 20), usage.sessions),
    };
    let way = match way {
        Way::Alone => "each for itself, kept",
        Way::Engine => "by an engine, let go after each window",
        Way::Held => "by an engine, all held",
    };
    let most = peak()?;
    writeln!(out, "| {way} | {counted} | {most} MB | {median:.1} ms | {open} |")?;
    Ok(())
}

/// Returns the most memory this process had, in MB.
fn peak() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("only Linux reports it")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")).context("no VmHWM")?;
    Ok(kilobytes.trim().parse::<u64>()? >> 10)
}

fn name(number: usize) -> Result<SessionId> {
    Ok(format!("session-{number}").parse()?)
}

/// Makes sessions of pages of about eight kilobytes.
async fn fill(path: &Path, args: &Args) -> Result<()> {
    let storage: Arc<dyn PageStorage> = Arc::new(SqliteStorage::open(path, Default::default())?);
    let engine = Engine::new(storage, Arc::new(SystemClock));
    for session in 0..args.sessions {
        let usr = Edit::AddSegment(NewSegment::new("usr".parse()?, SegmentKind::User));
        let system = engine.create(&name(session)?, "measure", &usr).await?;
        let turns = (0..args.pages).flat_map(|page| {
            let line =
                format!("In session {session} step {page} read src/module_{page}.rs again. ");
            let said = Message::text(Role::Assistant, format!("Step {page} is done."));
            [Message::text(Role::User, line.repeat(8_192 / line.len())), said]
        });
        system.as_system().add_turn(turns.collect()).await?;
    }
    Ok(())
}
