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

/// What `--format` suggests.
const FORMATS: &[&str] = &["openai", "anthropic", "claude-code"];

/// How many problems are told; the rest is counted.
const PROBLEMS_TOLD: usize = 20;

/// Import a conversation that another tool wrote down
///
/// Reads OpenAI- and Anthropic-style messages (an array, an object with `messages`, or one a line) and
/// the sessions of Claude Code (~/.claude/projects/…/*.jsonl). What cannot be read is told by line and
/// never stops the rest; a message that is too large to be kept is an error at the end. Run it again
/// when the file has grown: only what is new is added. It is one edit, so one `undo` takes it back
/// (beyond 64 MiB of text there are several). The session is made where it does not exist, as `init`
/// would make it.
///
/// What spoke as the system in the transcript binds nobody here: system and developer messages are kept
/// as quoted text. With --take-prompt those at its head become a page of `sys`, which binds every agent.
///
/// With --json: {"imported":{"format","exchanges","messages","pages","skipped","held","quoted",
/// "prompt","problems","notes"},"pages":[first,last]}, where skipped counts exchanges that were there
/// already, held the messages that wait for results and quoted the system messages between the others;
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
    /// How it is written; by default as it seems to be
    #[arg(long, value_name = "FORMAT", value_parser = Suggested(FORMATS))]
    format: Option<String>,
    /// Where its turns go
    #[arg(long, value_name = "SEGMENT", default_value = "usr")]
    segment: String,
    /// Put the system prompt at its head into `sys`, where it binds every agent
    #[arg(long)]
    take_prompt: bool,
    /// Take the last messages even if they wait for results: those are noted as interrupted
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
        printer.note("the transcript has no system prompt at its head to take")?;
    }
    print(object, unit, printer)?;
    all_kept(&too_large, unit)?;
    Ok(Status::Done)
}

/// Says why nothing, or not all, was imported.
fn refused(error: ImportError) -> Stop {
    let hint = match error {
        ImportError::TooLarge { .. } => "shorten it in the file and import again",
        ImportError::Overtaken => {
            "import it again when that one is done: only what is new is added"
        }
        ImportError::SegmentMissing { .. } => "`contexture init` adds it",
        ImportError::RecordUnreadable { .. } => "import it into a new session: --session NAME",
        ImportError::NotRecorded { .. } => "report it as a defect",
        ImportError::Core(error) => return error.into(),
    };
    Stop::failed(error.kind(), error.to_string(), hint)
}

/// Says that something was too large to be kept, where it was.
fn all_kept(too_large: &[TranscriptProblem], unit: Unit) -> Result<()> {
    let Some(TranscriptProblem { line, what }) = too_large.first() else { return Ok(()) };
    let unit = unit.as_str();
    let message = match too_large.len() {
        1 => format!("{unit} {line} was not imported: {what}"),
        count => format!("{count} messages were not imported, the first in {unit} {line}: {what}"),
    };
    let hint = "everything else is imported; shorten it in the file and import it again";
    Err(Stop::failed(ErrorKind::TooLarge, message, hint))
}

/// Says in a sentence what a system prompt was kept as.
fn told(KeptPromptObject { r#as, page }: &KeptPromptObject) -> String {
    match r#as {
        KeptAs::Page => format!("its system prompt stands as {page}, which binds every agent"),
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
            printer.line(format_args!("{there} were there already"))?;
        }
    }
    if imported.held > 0 {
        let held = lines::count(imported.held as u64, "message");
        let why = "a call in it has no result yet (--finish takes it as interrupted)";
        printer.line(format_args!("held back at the end: {held}; {why}"))?;
    }
    if let Some(kept) = &imported.prompt {
        printer.note(&told(kept))?;
    }
    if imported.quoted > 0 {
        let quoted = lines::count(imported.quoted as u64, "system message");
        printer.note(&format!("{quoted} in the conversation kept as quoted text"))?;
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
