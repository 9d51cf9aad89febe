//! `contexture import`

use std::path::PathBuf;

use contexture_agents::{
    import::{ImportError, ImportOptions, Imported, Progress, Source, Unit, import},
    setup,
    wire::{ImportObject, KeptAs, KeptPromptObject},
};
use contexture_core::{ErrorKind, SegmentId, transcript::TranscriptProblem};

use super::Status;
use crate::{
    args::Suggested,
    error::{Result, Stop},
    input, lines,
    printer::Printer,
    settings::Settings,
};

/// The values that `--format` suggests.
const FORMATS: &[&str] = &["openai", "anthropic", "claude-code"];

/// How many problems to print; the rest is counted.
const PROBLEMS_TOLD: usize = 20;

/// Import a conversation that another tool recorded
///
/// Reads OpenAI- and Anthropic-style messages (an array, an object with `messages`, or one per line) and
/// the sessions of Claude Code (~/.claude/projects/…/*.jsonl). Lines that cannot be read are reported and
/// never stop the rest; a message that is too large to keep is an error at the end. Run it again when the
/// file has grown: only what is new is added. An import is one edit, so one `undo` reverts it (with more
/// than 64 MiB of text there are several). The session is created if it does not exist, as `init` would
/// create it.
///
/// System and developer messages in the transcript bind nobody here: they are kept as quoted text. With
/// --take-prompt, those at its start become a page of `sys`, which binds every agent.
///
/// With --json: {"imported":{"format","exchanges","messages","pages","skipped","held","quoted",
/// "prompt","problems","notes"},"pages":[first,last]}, where skipped counts the exchanges imported
/// before, held the messages that wait for results, and quoted the system messages between the others;
/// prompt is {"as":"quoted" or "page","page"}, and problems are {"line","what"}.
#[allow(rustdoc::broken_intra_doc_links, reason = "it is help text, where brackets are JSON")]
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  echo '[{\"role\":\"user\",\"content\":\"Hello\"}]' > talk.json
  contexture import talk.json && contexture window --account")]
pub(crate) struct Args {
    /// The transcript; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The format of the transcript; detected by default
    #[arg(long, value_name = "FORMAT", value_parser = Suggested(FORMATS))]
    format: Option<String>,
    /// The segment to put its turns in
    #[arg(long, value_name = "SEGMENT", default_value = "usr")]
    segment: String,
    /// Put the system prompt at its start into `sys`, where it binds every agent
    #[arg(long)]
    take_prompt: bool,
    /// Import the last messages even if they wait for results: those are recorded as interrupted
    #[arg(long)]
    finish: bool,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let format = args.format.as_deref().map(str::parse).transpose()?;
    let segment: SegmentId = args.segment.parse()?;
    let (bytes, left_out) = input::transcript(&args.file)?;
    let source = Source::read(&bytes, left_out, format).map_err(refused)?;
    drop(bytes);
    let engine = settings.engine().await?;
    let system = setup::open_or_create(&engine, &settings.session).await?.system;
    let options = ImportOptions { segment, take_prompt: args.take_prompt, finish: args.finish };
    let mut watch = |Progress { done, all }: Progress| {
        printer.progress(&format!("writing {done} of {all} exchanges"));
    };
    let session = system.held_by(settings.system_side());
    let imported = import(&session, source, &options, &mut watch).await.map_err(refused)?;
    let Imported { object, unit, too_large } = imported;
    if args.take_prompt && object.imported.prompt.is_none() && !printer.is_json() {
        printer.note("the transcript has no system prompt at its start to take")?;
    }
    print(object, unit, printer)?;
    all_kept(&too_large, unit)?;
    Ok(Status::Done)
}

/// Turns an import error into an error of the command.
fn refused(error: ImportError) -> Stop {
    let hint = match error {
        ImportError::TooLarge { .. } => "shorten it in the file and import again",
        ImportError::Overtaken => {
            "import again when the other import is done: only what is new is added"
        }
        ImportError::SegmentMissing { .. } => "`contexture init` adds it",
        ImportError::RecordUnreadable { .. } => "import it into a new session with --session NAME",
        ImportError::NotRecorded { .. } => "report this as a bug",
        ImportError::Core(error) => return error.into(),
    };
    Stop::failed(error.kind(), error.to_string(), hint)
}

/// Fails if something was too large to keep.
fn all_kept(too_large: &[TranscriptProblem], unit: Unit) -> Result<()> {
    let Some(TranscriptProblem { line, what }) = too_large.first() else { return Ok(()) };
    let unit = unit.as_str();
    let message = match too_large.len() {
        1 => format!("{unit} {line} was not imported: {what}"),
        count => format!("{count} messages were not imported, the first in {unit} {line}: {what}"),
    };
    let hint = "everything else was imported; shorten it in the file and import the file again";
    Err(Stop::failed(ErrorKind::TooLarge, message, hint))
}

/// Returns in a sentence how a system prompt was kept.
fn kept_prompt_note(KeptPromptObject { r#as, page }: &KeptPromptObject) -> String {
    match r#as {
        KeptAs::Page => format!("its system prompt is now {page}, which binds every agent"),
        KeptAs::Quoted => format!(
            "its system prompt is kept as quoted text in {page}; --take-prompt puts it into sys"
        ),
    }
}

fn print(object: ImportObject, unit: Unit, printer: &mut Printer<'_>) -> Result<()> {
    if printer.is_json() {
        return printer.json(&object);
    }
    let ImportObject { imported, pages } = object;
    let paint = printer.paint();
    if imported.exchanges == 0 {
        let there = lines::count(imported.skipped as u64, "exchange");
        printer.line(format_args!("nothing new: {there} imported before ({})", imported.format))?;
    } else {
        let exchanges = lines::count(imported.exchanges as u64, "exchange");
        let messages = lines::count(imported.messages as u64, "message");
        let count = lines::count(imported.pages as u64, "page");
        let range = match pages.as_slice() {
            [first, last] if first != last => format!("{} to {}", paint.id(first), paint.id(last)),
            _ => lines::indices(paint, &pages[..pages.len().min(1)]),
        };
        let told = format!("{exchanges} ({messages}) as {count}, {range}");
        printer.line(format_args!("imported from {}: {told}", imported.format))?;
        if imported.skipped > 0 {
            let there = lines::count(imported.skipped as u64, "exchange");
            printer.line(format_args!("skipped {there} imported before"))?;
        }
    }
    if imported.held > 0 {
        let held = lines::count(imported.held as u64, "message");
        let why = "a call has no result yet (--finish imports it as interrupted)";
        printer.line(format_args!("held back at the end: {held}; {why}"))?;
    }
    if let Some(kept) = &imported.prompt {
        printer.note(&kept_prompt_note(kept))?;
    }
    if imported.quoted > 0 {
        let quoted = lines::count(imported.quoted as u64, "system message");
        printer.note(&format!("kept {quoted} in the conversation as quoted text"))?;
    }
    for note in &imported.notes {
        printer.note(note)?;
    }
    for problem in imported.problems.iter().take(PROBLEMS_TOLD) {
        let unit = unit.as_str();
        printer.warn(&format!("{unit} {}: {}", problem.line, problem.what))?;
    }
    let untold = imported.problems.len().saturating_sub(PROBLEMS_TOLD);
    if untold > 0 {
        printer.warn(&format!("{untold} more problems (--json lists them all)"))?;
    }
    if imported.exchanges > 0 {
        printer.tip("`contexture window --account` shows where the tokens go")?;
    }
    Ok(())
}
