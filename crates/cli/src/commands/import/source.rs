//! The transcript to be imported: read, mended, and how much of it is there already.

use contexture_core::{
    Actor, ContextSystem, Error, Message, Role, SegmentId,
    storage::Order,
    transcript::{
        self, Entry, ImportRecord, Mended, Problem, Transcript, TranscriptFormat, mend, quoted,
        remaining,
    },
};
use serde::de::IgnoredAny;

use super::chunks::is_too_large;
use crate::error::Result;

/// How many of the last pages of a segment are looked at for its last turn.
const LAST_PAGES: usize = 50;

/// A transcript in whole exchanges.
pub(super) struct Source {
    pub(super) mended: Mended,
    /// What its problems are numbered by.
    pub(super) unit: &'static str,
    /// What was wrong with its bytes.
    undecoded: Vec<Problem>,
}

impl Source {
    /// Reads a transcript's bytes, of which some lines were left out.
    pub(super) fn read(
        bytes: &[u8],
        left_out: Vec<Problem>,
        format: Option<TranscriptFormat>,
    ) -> Result<Self> {
        let (text, mut undecoded) = transcript::decode(bytes);
        undecoded.extend(left_out);
        let mended = mend(transcript::read(&text, format)?);
        let is_document = serde_json::from_str::<IgnoredAny>(&text).is_ok();
        let unit = if is_document { "message" } else { "line" };
        Ok(Self { mended, unit, undecoded })
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
    /// it. Otherwise somebody else's turn would be continued.
    pub(super) async fn is_last_in(
        &self,
        system: &ContextSystem,
        segment: &SegmentId,
        first: usize,
    ) -> Result<bool, Error> {
        let reader = system.reader();
        let pages = reader.children(&segment.root(), Order::Backward, None, LAST_PAGES).await?;
        let own = pages
            .items
            .iter()
            .find(|seen| seen.page.turn.is_some() && seen.page.author == Actor::System);
        let Some(own) = own else { return Ok(false) };
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
    pub(super) fn problems(&self) -> Vec<Problem> {
        let all = self.undecoded.iter().chain(&self.mended.problems);
        let mut problems: Vec<Problem> = all.cloned().collect();
        let large = self.mended.exchanges.iter().filter(|(_, exchange)| is_too_large(exchange));
        problems.extend(large.map(|(line, exchange)| {
            let bytes = exchange.weight();
            let what = format!("left out: {bytes} bytes are more than a page may hold");
            Problem { line: *line, what }
        }));
        problems.sort_by_key(|problem| problem.line);
        problems
    }
}

fn finish(mended: &mut Mended) {
    let mut entries: Vec<Entry> = std::mem::take(&mut mended.open);
    let Some(last) = entries.last() else { return };
    // Nothing waits before another message of the user, which is taken off again.
    entries.push(Entry { line: last.line, message: Message::text(Role::User, "end") });
    let ended = mend(Transcript {
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
