//! The transcript to be imported: read, mended, and how much of it is there already.

use contexture_core::{
    Error, Message, Role, SegmentId, Session,
    storage::Order,
    transcript::{
        self, Entry, ImportRecord, RepairedTranscript, Transcript, TranscriptFormat,
        TranscriptProblem, quoted, remaining, repair,
    },
};
use serde::de::IgnoredAny;

use super::{
    Result,
    chunks::{MOST, is_too_large},
};

/// What the problems of a transcript are numbered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Its messages: it is one document.
    Message,
    /// Its lines.
    Line,
}

impl Unit {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Unit::Message => "message",
            Unit::Line => "line",
        }
    }
}

/// How many of the last pages of a segment are looked at for its last turn.
const LAST_PAGES: usize = 50;

/// A transcript in whole exchanges, ready to be imported.
#[derive(Debug)]
pub struct Source {
    pub(super) mended: RepairedTranscript,
    /// What its problems are numbered by.
    pub(super) unit: Unit,
    /// What was wrong with its bytes.
    undecoded: Vec<TranscriptProblem>,
    /// What is too large to be kept: it counts as not there, now and when it is imported again.
    too_large: Vec<TranscriptProblem>,
}

impl Source {
    /// Reads a transcript's bytes, of which some lines were left out.
    pub fn read(
        bytes: &[u8],
        left_out: Vec<TranscriptProblem>,
        format: Option<TranscriptFormat>,
    ) -> Result<Self> {
        let (text, undecoded) = transcript::decode(bytes);
        let mut mended = repair(transcript::read(&text, format)?);
        let mut too_large = left_out;
        for (line, exchange) in mended.exchanges.extract_if(.., |(_, it)| is_too_large(it)) {
            let (bytes, most) = (exchange.weight(), MOST / (1024 * 1024));
            let what =
                format!("left out: it has {bytes} bytes, and a page may hold at most {most} MiB");
            too_large.push(TranscriptProblem { line, what });
        }
        let is_document = serde_json::from_str::<IgnoredAny>(&text).is_ok();
        let unit = if is_document { Unit::Message } else { Unit::Line };
        Ok(Self { mended, unit, undecoded, too_large })
    }

    /// Returns the number of the first exchange that is not imported yet.
    pub(super) fn resume(&mut self, record: Option<&ImportRecord>) -> Result<usize> {
        if record.is_none() || self.mended.open.is_empty() {
            return Ok(remaining(record, &mut self.mended)?);
        }
        // What an earlier import finished is open in the file for ever.
        let mut finished = self.mended.clone();
        let first = remaining(record, &mut self.mended).or_else(|_| {
            finish(&mut finished);
            // What the finished one lacks says more: it is what was imported.
            let first = remaining(record, &mut finished)?;
            self.mended = finished;
            Ok::<usize, Error>(first)
        })?;
        Ok(first)
    }

    /// Takes the messages that wait for results, with results that say they were interrupted.
    pub(super) fn finish(&mut self) {
        finish(&mut self.mended);
    }

    /// Tells whether a segment's last turn ends with what was imported, so that the rest continues
    /// it. Otherwise somebody else's turn would be continued: turns are continued by their author.
    pub(super) async fn is_last_in(
        &self,
        session: &Session,
        segment: &SegmentId,
        first: usize,
    ) -> Result<bool, Error> {
        let reader = session.reader();
        let pages = reader.children(&segment.root(), Order::Backward, None, LAST_PAGES).await?;
        let own = pages
            .items
            .iter()
            .find(|seen| seen.page.turn.is_some() && seen.page.author.is_system_side());
        let actor = session.principal().actor();
        let Some(own) = own.filter(|seen| seen.page.author == actor) else { return Ok(false) };
        let there = reader.messages(&own.page.index).await?;
        let imported = self.mended.exchanges.get(first.wrapping_sub(1));
        let imported = imported.and_then(|(_, exchange)| exchange.messages.last());
        let same = |(one, other): (&Message, &Message)| {
            (one.role, &one.parts) == (other.role, &other.parts)
        };
        let Some((last, imported)) = there.last().zip(imported) else { return Ok(false) };
        // Earlier versions kept system messages in their role.
        Ok(same((last, &quoted(imported.clone()))) || same((last, imported)))
    }

    /// Returns everything that was wrong, in the order of its lines.
    pub(super) fn problems(&self) -> Vec<TranscriptProblem> {
        let all = self.undecoded.iter().chain(&self.mended.problems).chain(&self.too_large);
        let mut problems: Vec<TranscriptProblem> = all.cloned().collect();
        problems.sort_by_key(|problem| problem.line);
        problems
    }

    /// Returns what was too large to be kept, in the order of its lines.
    pub(super) fn into_too_large(self) -> Vec<TranscriptProblem> {
        let mut problems = self.too_large;
        problems.sort_by_key(|problem| problem.line);
        problems
    }
}

fn finish(mended: &mut RepairedTranscript) {
    let mut entries: Vec<Entry> = std::mem::take(&mut mended.open);
    let Some(last) = entries.last() else { return };
    // Nothing waits before another message of the user, which is taken off again.
    entries.push(Entry { line: last.line, message: Message::text(Role::User, "end") });
    let ended = repair(Transcript {
        format: mended.format,
        source: None,
        system: None,
        entries,
        problems: Vec::new(),
        notes: Vec::new(),
    });
    let mut exchanges = ended.exchanges;
    exchanges.pop();
    mended.exchanges.extend(exchanges);
    mended.problems.extend(ended.problems);
}
