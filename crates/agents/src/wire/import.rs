//! Transcripts that were imported.

use contexture_core::{
    PageIndex,
    transcript::{TranscriptFormat, TranscriptProblem},
};
use serde::Serialize;

/// What an import wrote.
#[derive(Debug, Serialize)]
pub struct ImportObject {
    /// What became of the transcript.
    pub imported: ImportedObject,
    /// The first page that was written and the last; none if nothing was new.
    pub pages: Vec<PageIndex>,
}

/// What became of a transcript.
#[derive(Debug, Serialize)]
pub struct ImportedObject {
    /// How it is written.
    pub format: TranscriptFormat,
    /// How many exchanges were new.
    pub exchanges: usize,
    /// How many messages they hold.
    pub messages: usize,
    /// How many pages were written.
    pub pages: usize,
    /// How many exchanges were there already.
    pub skipped: usize,
    /// How many messages at the end wait for results and were held back.
    pub held: usize,
    /// How many system messages between the others were kept as quoted text.
    pub quoted: usize,
    /// What became of the system prompt at its head.
    pub prompt: Option<KeptPromptObject>,
    /// What could not be read or kept.
    pub problems: Vec<TranscriptProblem>,
    /// What else is worth knowing about it.
    pub notes: Vec<String>,
}

/// What a system prompt was kept as, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeptPromptObject {
    /// As what.
    pub r#as: KeptAs,
    /// Its page.
    pub page: PageIndex,
}

/// What a system prompt was kept as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeptAs {
    /// Quoted text, which binds nobody.
    Quoted,
    /// A page of `sys`, which binds every agent.
    Page,
}
