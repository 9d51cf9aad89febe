//! How long a window takes: warm after an append, in a fresh process, and folding.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::Arc,
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};
use contexture_core::{
    ContextSystem, Edit, Format, MemoryStorage, Message, NewDetailPage, NewSegment, PageIndex,
    PageStorage, ProviderFormat, Role, SegmentKind, WindowOptions,
    storage::{LevelEntry, PageRun, PageRunForm, Place},
    window::{FoldPlan, FoldReport, FoldStep},
};
use contexture_storage::{SystemClock, sqlite::SqliteStorage};
use contexture_tokens::counter_for;
use futures::executor::block_on;

/// How many pages stand in the window.
const VISIBLE: u64 = 200;

/// What is measured, and where.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder in which sessions are made; those that are there already are used again.
    #[arg(long)]
    dir: PathBuf,
    /// How many pages the sessions have.
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 1_000_000])]
    pages: Vec<u64>,
    /// How many windows of each session are timed.
    #[arg(long, default_value_t = 101, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
}

/// Measures and prints.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    std::fs::create_dir_all(&args.dir)?;
    let mut paths = Vec::new();
    for &pages in &args.pages {
        let path = args.dir.join(format!("window-{pages}.db"));
        let began = Instant::now();
        if !path.exists() {
            block_on(fill(&path, pages))?;
        }
        let seconds = began.elapsed().as_secs_f64();
        writeln!(out, "session of {pages} pages ready after {seconds:.0} s")?;
        paths.push((pages, path));
    }
    let warm = block_on(warm_windows(&paths, args.rounds, out))?;
    if let [first, .., last] = warm[..] {
        writeln!(out, "largest against smallest session, warm: {:.2}", last / first)?;
    }
    fresh_processes(&paths, out)?;
    block_on(folding(out))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn options() -> WindowOptions {
    WindowOptions::new(Format::Provider(ProviderFormat::OpenAi), counter_for("gpt-4o"))
        .budget(400_000)
}

/// About 500 tokens that differ from page to page.
pub(crate) fn turn(number: u64) -> Vec<Message> {
    let line = format!(
        "Step {number}: read src/module_{number}.rs, run the tests of crate_{}, and note what failed. ",
        number % 97
    );
    let user = Message::text(Role::User, line.repeat(10));
    let assistant = Message::text(Role::Assistant, line.repeat(9));
    vec![user, assistant]
}

async fn begin(storage: Arc<dyn PageStorage>) -> Result<ContextSystem> {
    let clock = Arc::new(SystemClock);
    let system = ContextSystem::create(storage, "million".parse()?, "measure", clock).await?;
    let sys = Edit::AddSegment(NewSegment::new("sys".parse()?, SegmentKind::System));
    let usr = Edit::AddSegment(NewSegment::new("usr".parse()?, SegmentKind::User));
    system.as_system().apply(Edit::Batch(vec![sys, usr])).await?;
    let prompt =
        NewDetailPage::new("sys-0".parse()?, "Prompt".parse()?, "You are a careful assistant.");
    system.as_system().apply(Edit::CreateDetailPage(prompt)).await?;
    Ok(system)
}

/// Makes a session whose last pages are visible and whose others stand as one line.
async fn fill(path: &Path, pages: u64) -> Result<()> {
    let storage = Arc::new(SqliteStorage::open(path, Default::default())?);
    let system = begin(storage).await?;
    let early = pages - VISIBLE;
    let segment = || "usr".parse();
    for from in (1..=early).step_by(1_000) {
        let short = |number| Message::text(Role::User, format!("Early page {number}."));
        let messages = (from..=(from + 999).min(early)).map(short).collect();
        system.as_system().apply(Edit::AddTurn { segment: segment()?, messages }).await?;
    }
    for number in early + 1..=pages {
        let edit = Edit::AddTurn { segment: segment()?, messages: turn(number) };
        system.as_system().apply(edit).await?;
    }
    let root: PageIndex = "usr-0".parse()?;
    let last = PageIndex::new(segment()?, early);
    let place = |page: &PageIndex| {
        let (system, page) = (system.clone(), page.clone());
        async move { system.as_system().reader().page(&page).await.map(|seen| seen.page.place) }
    };
    let first = PageIndex::new(segment()?, 1);
    let run = PageRun {
        first: place(&first).await?,
        last: place(&last).await?,
        from: first,
        to: last,
        pages: early,
        messages: 0,
        calls: 0,
        filter: Default::default(),
        form: PageRunForm::Line,
        requests: Vec::new(),
        cited: Vec::new(),
        apart: Vec::new(),
    };
    ensure!(run.first < run.last && run.first > Place(0), "the run covers its pages");
    let before = LevelEntry::default();
    let after = LevelEntry { runs: vec![run].into(), ..LevelEntry::default() };
    let steps = vec![FoldStep { page: root, before, after }];
    let plan = FoldPlan { steps, report: FoldReport::default() };
    system.as_system().apply(Edit::FoldPages(plan)).await?;
    system.as_system().reader().window(&options()).await?;
    Ok(())
}

async fn open(path: &Path) -> Result<ContextSystem> {
    let storage = Arc::new(SqliteStorage::open(path, Default::default())?);
    Ok(ContextSystem::open(storage, "million".parse()?, Arc::new(SystemClock)).await?)
}

/// A session that is open, with the times its windows took.
struct Warm {
    pages: u64,
    system: ContextSystem,
    times: Vec<f64>,
    tokens: u64,
}

/// Times windows after an append and returns the medians. The sessions take turns window by window,
/// the one that begins changing too, so that what disturbs the machine hits them alike.
async fn warm_windows(
    paths: &[(u64, PathBuf)],
    rounds: u64,
    out: &mut dyn Write,
) -> Result<Vec<f64>> {
    let options = options();
    let mut sessions = Vec::with_capacity(paths.len());
    for (pages, path) in paths {
        let system = open(path).await?;
        system.as_system().reader().window(&options).await?;
        sessions.push(Warm { pages: *pages, system, times: Vec::new(), tokens: 0 });
    }
    for round in 0..rounds {
        for at in 0..sessions.len() {
            let turn = if round % 2 == 0 { at } else { sessions.len() - 1 - at };
            time_window(&mut sessions[turn], &options, round).await?;
        }
    }
    let mut medians = Vec::with_capacity(sessions.len());
    for Warm { pages, tokens, mut times, .. } in sessions {
        let (median, high) = (quantile(&mut times, 0.5), quantile(&mut times, 0.95));
        writeln!(
            out,
            "window of {VISIBLE} of {pages} pages, {tokens} tokens, after an append: \
             p50 {median:.3} ms, p95 {high:.3} ms"
        )?;
        medians.push(median);
    }
    Ok(medians)
}

async fn time_window(session: &mut Warm, options: &WindowOptions, round: u64) -> Result<()> {
    let messages = turn(10_000_000 + round);
    let edit = Edit::AddTurn { segment: "usr".parse()?, messages };
    let appended = session.system.as_system().apply(edit).await?;
    let began = Instant::now();
    let window = session.system.as_system().reader().window(options).await?;
    session.times.push(began.elapsed().as_secs_f64() * 1e3);
    session.tokens = window.account.tokens;
    // Taken back, so that the window stays as large as it was.
    session.system.as_system().apply(Edit::Undo { revision: Some(appended.revision) }).await?;
    Ok(())
}

/// Times windows in fresh processes, the sessions by turns.
fn fresh_processes(paths: &[(u64, PathBuf)], out: &mut dyn Write) -> Result<()> {
    let program = std::env::current_exe()?;
    let mut times = vec![Vec::new(); paths.len()];
    for _ in 0..9 {
        for ((_, path), times) in paths.iter().zip(&mut times) {
            let output = Command::new(&program).arg("latency-child").arg(path).output()?;
            ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            times.push(String::from_utf8(output.stdout)?.trim().parse::<f64>()?);
        }
    }
    for ((pages, _), times) in paths.iter().zip(&mut times) {
        let median = quantile(times, 0.5);
        writeln!(out, "in a fresh process, {pages} pages, counts persisted: {median:.1} ms")?;
    }
    Ok(())
}

/// Runs in a process of its own and prints milliseconds.
pub(crate) fn child(path: &Path, out: &mut dyn Write) -> Result<ExitCode> {
    let began = Instant::now();
    block_on(async {
        let system = open(path).await?;
        system.as_system().reader().window(&options()).await.context("the window")
    })?;
    writeln!(out, "{}", began.elapsed().as_secs_f64() * 1e3)?;
    Ok(ExitCode::SUCCESS)
}

async fn folding(out: &mut dyn Write) -> Result<()> {
    let system = begin(Arc::new(MemoryStorage::new())).await?;
    for number in 1..=1_000 {
        let edit = Edit::AddTurn { segment: "usr".parse()?, messages: turn(number) };
        system.as_system().apply(edit).await?;
    }
    let whole = WindowOptions { budget: None, ..options() };
    // The words of its pages are known once a fold was looked at.
    let tight = whole.clone().budget(200_000);
    system.as_system().reader().fold_preview(&tight).await?;
    let mut times = Vec::new();
    let mut folded = 0;
    for _ in 0..21 {
        let began = Instant::now();
        let fold = system.as_system().fold(&tight).await?.context("a fold is due")?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
        folded = fold.report.folded;
        system.as_system().apply(Edit::Undo { revision: None }).await?;
    }
    let median = quantile(&mut times, 0.5);
    writeln!(out, "a fold of {folded} of 1,000 visible pages: {median:.2} ms")?;
    Ok(())
}

/// Returns the figure below which a share of all lies.
pub(crate) fn quantile(times: &mut [f64], share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    times[((times.len() - 1) as f64 * share).round() as usize]
}
