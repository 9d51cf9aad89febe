//! `contexture import`

mod chunks;
mod prompt;
mod source;

use std::{path::PathBuf, sync::Arc};

use contexture_core::{
    ContextSystem, CustomKey, Edit, ErrorKind, PageIndex, SegmentId,
    transcript::{ImportRecord, Problem, TranscriptFormat},
};
use contexture_storage::SystemClock;
use serde::Serialize;

use super::{Status, init, session::set::OWN_PREFIX};
use crate::{
    args::Suggested,
    error::{Result, Stop},
    input, lines,
    printer::Printer,
    settings::Settings,
    store::Access,
};
use chunks::Chunk;
use prompt::{Kept, Prompt};
use source::Source;

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

#[derive(Serialize)]
struct ImportObject {
    imported: Imported,
    /// The first page and the last; none if nothing was new.
    pages: Vec<PageIndex>,
}

#[derive(Serialize)]
struct Imported {
    format: TranscriptFormat,
    exchanges: usize,
    messages: usize,
    pages: usize,
    skipped: usize,
    held: usize,
    quoted: usize,
    prompt: Option<Kept>,
    problems: Vec<Problem>,
    notes: Vec<String>,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let format = args.format.as_deref().map(str::parse).transpose()?;
    let segment: SegmentId = args.segment.parse()?;
    let (bytes, left_out) = input::transcript(&args.file)?;
    let mut source = Source::read(&bytes, left_out, format)?;
    let system = open(settings, &segment).await?;
    let (key, record) = record_of(&system, &source).await?;
    let first = source.resume(record.as_ref())?;
    if args.finish {
        source.finish();
    }
    let prompt = Prompt::of(&source.mended, &system, &segment, record.is_none(), args.take_prompt);
    let prompt = prompt.await?;
    let left_out = prompt.problem();
    let import = Import { system, segment, key, record, first, source };
    let Written { pages, messages, quoted, prompt } = import.write(prompt, printer).await?;
    let Import { source, .. } = import;
    let mended = &source.mended;
    let imported = Imported {
        format: mended.format,
        exchanges: mended.exchanges.len() - first,
        messages,
        pages: pages.len(),
        skipped: first,
        held: mended.open.len(),
        quoted,
        prompt,
        problems: left_out.into_iter().chain(source.problems()).collect(),
        notes: mended.notes.clone(),
    };
    if args.take_prompt && imported.prompt.is_none() && !printer.is_json() {
        printer.note("the transcript has no system prompt at its head to take")?;
    }
    let ends = pages.first().into_iter().chain(pages.last()).cloned().collect();
    print(ImportObject { imported, pages: ends }, source.unit, printer)?;
    source.all_kept()?;
    Ok(Status::Done)
}

/// An import about to be made.
struct Import {
    system: ContextSystem,
    segment: SegmentId,
    /// Where the record of what is imported is kept.
    key: CustomKey,
    record: Option<ImportRecord>,
    /// The first exchange that is not imported yet.
    first: usize,
    source: Source,
}

/// What an import wrote.
#[derive(Default)]
struct Written {
    pages: Vec<PageIndex>,
    messages: usize,
    /// How many of them spoke as the system.
    quoted: usize,
    prompt: Option<Kept>,
}

impl Import {
    /// Writes what is new, chunk by chunk, each with its record.
    async fn write(&self, prompt: Prompt, printer: &mut Printer<'_>) -> Result<Written> {
        let (mended, segment, first) = (&self.source.mended, &self.segment, self.first);
        let mut prompt = Some(prompt);
        let mut continues =
            first > 0 && self.source.is_last_in(&self.system, segment, first).await?;
        let mut record = self.record.clone().unwrap_or_else(|| ImportRecord::of(mended, 0));
        let mut known = self.record.as_ref().map(text_of).transpose()?;
        let mut written = Written::default();
        for chunk in Chunk::all(&mended.exchanges, first) {
            // Another import of the same file that comes first makes this one wait for a new start.
            let key = self.key.clone();
            let mut edits = vec![Edit::ExpectCustom { key, value: known.clone() }];
            let begin = prompt.take().unwrap_or_default();
            edits.extend(begin.edit());
            edits.extend(chunk.edits(segment, continues));
            record.advance(mended, chunk.upto);
            known = Some(text_of(&record)?);
            edits.push(Edit::SetCustom { key: self.key.clone(), value: known.clone() });
            let (done, all) = (chunk.upto - first, mended.exchanges.len() - first);
            printer.progress(&format!("writing {done} of {all} exchanges"))?;
            let outcome = self.system.as_system().apply(Edit::Import(edits)).await;
            let mut made = outcome.map_err(|error| chunk.refused(error))?.pages.into_iter();
            written.prompt = written.prompt.or_else(|| begin.kept(&mut made));
            for page in made {
                if page.segment() == segment && written.pages.last() != Some(&page) {
                    written.pages.push(page);
                }
            }
            written.messages += chunk.message_count();
            written.quoted += chunk.quoted_count();
            continues = true;
        }
        printer.progress("")?;
        // Nothing is new, but the prompt was asked for.
        if let Some(prompt) = prompt.filter(Prompt::is_asked_for) {
            let mut made = Vec::new();
            if let Some(edit) = prompt.edit() {
                made = self.system.as_system().apply(edit).await?.pages;
            }
            written.prompt = prompt.kept(&mut made.into_iter());
        }
        Ok(written)
    }
}

/// Opens the session, or makes it as `init` would.
async fn open(settings: &Settings, segment: &SegmentId) -> Result<ContextSystem> {
    let storage = settings.store.open(Access::Create).await?;
    let session = settings.session.clone();
    let system = if storage.session(&session).await?.is_some() {
        ContextSystem::open(storage, session, Arc::new(SystemClock)).await?
    } else {
        init::create(&storage, settings, None).await?
    };
    check_segment(&system, segment)?;
    Ok(system)
}

fn check_segment(system: &ContextSystem, segment: &SegmentId) -> Result<()> {
    match system.as_system().reader().segment(segment) {
        Ok(_) => Ok(()),
        Err(error) if matches!(segment.as_str(), "sys" | "usr") => {
            Err(Stop::failed(error.kind(), error.to_string(), "`contexture init` adds it"))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns where the record of a transcript is kept, and the record if there is one.
async fn record_of(
    system: &ContextSystem,
    source: &Source,
) -> Result<(CustomKey, Option<ImportRecord>)> {
    let identity = source.mended.identity();
    let prefix: String = identity.chars().take(16).collect();
    let key: CustomKey = format!("{OWN_PREFIX}import.{prefix}").parse()?;
    let custom = system.storage().custom(system.session()).await?;
    let Some((_, text)) = custom.into_iter().find(|(there, _)| *there == key) else {
        return Ok((key, None));
    };
    match serde_json::from_str(&text) {
        Ok(record) => Ok((key, Some(record))),
        Err(error) => Err(Stop::failed(
            ErrorKind::Corrupt,
            format!("the record of an earlier import cannot be read: {error}"),
            "import it into a new session: --session NAME",
        )),
    }
}

fn text_of(record: &ImportRecord) -> Result<String> {
    serde_json::to_string(record).map_err(|error| {
        Stop::invalid(format!("the import cannot be recorded: {error}"), "report it as a defect")
    })
}

fn print(object: ImportObject, unit: &str, printer: &mut Printer<'_>) -> Result<()> {
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
        printer.note(&kept.told())?;
    }
    if imported.quoted > 0 {
        let quoted = lines::count(imported.quoted as u64, "system message");
        printer.note(&format!("{quoted} in the conversation kept as quoted text"))?;
    }
    for note in &imported.notes {
        printer.note(note)?;
    }
    for problem in imported.problems.iter().take(PROBLEMS_TOLD) {
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
