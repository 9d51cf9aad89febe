//! Importing a transcript of another tool into a session.
//!
//! ```text
//!  bytes ──► Source: whole exchanges ──► Import: what is new ──► chunks, each one edit with its record
//! ```
//!
//! A record of what was taken is kept beside it, in the session's custom state, so that a transcript that has
//! grown adds only what is new. The edit that writes a chunk also moves the record on, and expects the one
//! that was read: of two imports of one transcript at the same time, one is refused. One import is one edit,
//! so one undo takes it back; only very long transcripts take several.
//!
//! Nothing in a transcript speaks as the system: its system messages are quoted, and its prompt becomes a page
//! of `sys` only where the caller asks for that.

mod chunks;
mod error;
mod prompt;
mod source;

use contexture_core::{
    Edit, PageIndex, SegmentId, Session,
    storage::CustomKey,
    transcript::{ImportRecord, TranscriptProblem},
};

use crate::wire::{ImportObject, ImportedObject, KeptPromptObject};
use chunks::Chunk;
use prompt::Prompt;

pub use error::ImportError;
pub use source::{Source, Unit};

/// The result of an import.
pub type Result<T, E = ImportError> = std::result::Result<T, E>;

/// How a transcript is imported.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// The segment its turns go to.
    pub segment: SegmentId,
    /// Whether the system prompt at its head becomes a page of `sys`, where it binds every agent.
    pub take_prompt: bool,
    /// Whether the last messages are taken even if they wait for results: those are noted as interrupted.
    pub finish: bool,
}

/// How far an import has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// How many exchanges are written when the present edit is made.
    pub done: usize,
    /// How many there are to write.
    pub all: usize,
}

/// What an import did.
#[derive(Debug)]
pub struct Imported {
    /// What was written.
    pub object: ImportObject,
    /// What the problems of the transcript are numbered by.
    pub unit: Unit,
    /// What was too large to be kept, in the order of its lines. It counts as not there, now and when the
    /// transcript is imported again.
    pub too_large: Vec<TranscriptProblem>,
}

/// Checks that a session has the segment an import writes to.
pub fn check_segment(session: &Session, segment: &SegmentId) -> Result<()> {
    session.reader().segment(segment).map(|_| ()).map_err(|error| {
        match matches!(segment.as_str(), "sys" | "usr") {
            true => ImportError::SegmentMissing { error },
            false => ImportError::Core(error),
        }
    })
}

/// Imports what is new of a transcript, recorded as done by who holds the session: somebody on the system
/// side. `watch` is called before each edit.
pub async fn import(
    session: &Session,
    mut source: Source,
    options: &ImportOptions,
    watch: &mut (dyn FnMut(Progress) + Send),
) -> Result<Imported> {
    let segment = &options.segment;
    check_segment(session, segment)?;
    let (key, record) = record_of(session, &source).await?;
    let first = source.resume(record.as_ref())?;
    if options.finish {
        source.finish();
    }
    let is_first = record.is_none();
    let prompt =
        Prompt::of(&source.mended, session, segment, is_first, options.take_prompt).await?;
    let left_out = prompt.problem();
    let import = Import { session, segment, key, record, first, source: &source };
    let Written { pages, messages, quoted, prompt } = import.write(prompt, watch).await?;
    let mended = &source.mended;
    let imported = ImportedObject {
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
    let ends = pages.first().into_iter().chain(pages.last()).cloned().collect();
    Ok(Imported {
        object: ImportObject { imported, pages: ends },
        unit: source.unit,
        too_large: source.into_too_large(),
    })
}

/// An import about to be made.
struct Import<'a> {
    session: &'a Session,
    segment: &'a SegmentId,
    /// Where the record of what is imported is kept.
    key: CustomKey,
    record: Option<ImportRecord>,
    /// The first exchange that is not imported yet.
    first: usize,
    source: &'a Source,
}

/// What an import wrote.
#[derive(Default)]
struct Written {
    pages: Vec<PageIndex>,
    messages: usize,
    /// How many of them spoke as the system.
    quoted: usize,
    prompt: Option<KeptPromptObject>,
}

impl Import<'_> {
    /// Writes what is new, chunk by chunk, each with its record.
    async fn write(
        &self,
        prompt: Prompt,
        watch: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Written> {
        let (mended, segment, first) = (&self.source.mended, self.segment, self.first);
        let mut prompt = Some(prompt);
        let mut continues =
            first > 0 && self.source.is_last_in(self.session, segment, first).await?;
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
            watch(Progress { done: chunk.upto - first, all: mended.exchanges.len() - first });
            let outcome = self.session.apply(Edit::Import(edits)).await;
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
        // Nothing is new, but the prompt was asked for.
        if let Some(prompt) = prompt.filter(Prompt::is_asked_for) {
            let mut made = Vec::new();
            if let Some(edit) = prompt.edit() {
                made = self.session.apply(edit).await?.pages;
            }
            written.prompt = prompt.kept(&mut made.into_iter());
        }
        Ok(written)
    }
}

/// Returns where the record of a transcript is kept, and the record if there is one.
async fn record_of(
    session: &Session,
    source: &Source,
) -> Result<(CustomKey, Option<ImportRecord>)> {
    let prefix: String = source.mended.identity().chars().take(16).collect();
    let key: CustomKey = format!("{}import.{prefix}", CustomKey::OWN_PREFIX).parse()?;
    let custom = session.custom().await?;
    let Some((_, text)) = custom.into_iter().find(|(there, _)| *there == key) else {
        return Ok((key, None));
    };
    match serde_json::from_str(&text) {
        Ok(record) => Ok((key, Some(record))),
        Err(error) => Err(ImportError::RecordUnreadable { error }),
    }
}

fn text_of(record: &ImportRecord) -> Result<String> {
    serde_json::to_string(record).map_err(|error| ImportError::NotRecorded { error })
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
