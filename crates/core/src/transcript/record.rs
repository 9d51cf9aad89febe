//! What was imported of a transcript, so that a grown one adds only what is new.
//!
//! A transcript grows at its end, but not always by whole messages: Claude Code writes a reply piece
//! by piece, and an import may come between two of them. What was imported stays as it is, and the
//! pieces that come later become a message of their own. Where that happened is a [`Seam`], kept in
//! the record, so that every later import sees the same exchanges.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{Entry, RepairedTranscript, TranscriptFormat, repair::interrupted};
use crate::{
    Error, Message, Role,
    message::{Exchange, Fields, Part},
};

/// What the hashes of a chain are for.
const CHAIN: &str = "contexture transcript chain";

/// How much of a transcript was imported. It is kept as JSON beside what was imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportRecord {
    /// How the transcript is written.
    pub format: TranscriptFormat,
    /// The session's id, where the transcript names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What tells this conversation from others: see [`RepairedTranscript::identity`].
    pub identity: String,
    /// How many exchanges were imported.
    pub exchanges: u64,
    /// Their [`chain`].
    pub chain: String,
    /// The parts of the reply in the last one, which may still go on; 0 if it is no reply.
    #[serde(default)]
    pub last_parts: u64,
    /// Where replies went on after they were imported, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seams: Vec<Seam>,
}

/// Where a reply went on after it was imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seam {
    /// The number of the exchange that was imported, from 0.
    pub exchange: u64,
    /// How many parts it had then. What came after is the next exchange.
    pub parts: u64,
}

impl ImportRecord {
    /// Makes the record of a transcript of which the first exchanges are imported.
    pub fn of(repaired: &RepairedTranscript, imported: usize) -> Self {
        let mut record = Self {
            format: repaired.format,
            source: repaired.source.clone(),
            identity: repaired.identity(),
            exchanges: 0,
            chain: chain([]),
            last_parts: 0,
            seams: Vec::new(),
        };
        record.advance(repaired, imported);
        record
    }

    /// Takes in the next exchanges, so that the first `imported` are. Only they are read, not all
    /// before them, so a long transcript can be imported in many steps.
    pub fn advance(&mut self, repaired: &RepairedTranscript, imported: usize) {
        let from = usize::try_from(self.exchanges).unwrap_or(usize::MAX);
        let Some(next) = repaired.exchanges.get(from..imported.min(repaired.exchanges.len()))
        else {
            return;
        };
        let Some((_, last)) = next.last() else { return };
        let before = std::mem::take(&mut self.chain);
        self.chain = next.iter().fold(before, |before, (_, exchange)| link(&before, exchange));
        self.exchanges += next.len() as u64;
        let reply = last.messages.first().filter(|message| message.role == Role::Assistant);
        self.last_parts = reply.map_or(0, |reply| reply.parts.len() as u64);
        let seams = repaired.seams.iter().copied().filter(|seam| seam.exchange < self.exchanges);
        self.seams = seams.collect();
    }
}

impl RepairedTranscript {
    /// Returns the hash of the session's id, or of the first exchange where there is none, in
    /// hexadecimal. It stays the same while the transcript grows.
    pub fn identity(&self) -> String {
        match (&self.source, self.exchanges.first()) {
            (Some(source), _) => hash("contexture transcript source", source.as_bytes()),
            (None, Some((_, first))) => chain([first]),
            (None, None) => chain([]),
        }
    }

    /// Parts a reply from what came after its import; tells whether they are apart now.
    fn part(&mut self, seam: Seam) -> bool {
        if self.seams.contains(&seam) {
            return true;
        }
        let (Ok(at), Ok(parts)) = (usize::try_from(seam.exchange), usize::try_from(seam.parts))
        else {
            return false;
        };
        if let Some((line, exchange)) = self.exchanges.get_mut(at) {
            let Some(later) = part_off(&mut exchange.messages, parts) else { return false };
            let later = (*line, Exchange { messages: later });
            self.exchanges.insert(at + 1, later);
        } else if at == self.exchanges.len() && !self.open.is_empty() {
            let (lines, mut messages): (Vec<u64>, Vec<Message>) =
                self.open.iter().map(|entry| (entry.line, entry.message.clone())).unzip();
            let Some(later) = part_off(&mut messages, parts) else { return false };
            // The message that waits begins where the whole reply began; so do its results.
            let entry = |message| Entry { line: lines[0], message };
            self.open = later.into_iter().map(entry).collect();
            self.exchanges.push((lines[0], Exchange { messages }));
        } else {
            return false;
        }
        self.seams.push(seam);
        true
    }
}

/// Leaves the first parts of a reply, with their results, and returns the rest with theirs.
fn part_off(messages: &mut Vec<Message>, parts: usize) -> Option<Vec<Message>> {
    let reply = messages.first_mut()?;
    if reply.role != Role::Assistant || !(1..reply.parts.len()).contains(&parts) {
        return None;
    }
    let later = reply.parts.split_off(parts);
    let mut rest = vec![Message { parts: later, extra: Fields::default(), ..reply.clone() }];
    let calls: HashSet<String> = reply.tool_calls().map(|call| call.id.clone()).collect();
    let belongs = |part: &Part| match part {
        Part::ToolResult(result) => calls.contains(&result.call),
        _ => false,
    };
    for mut message in messages.split_off(1) {
        let (first, second): (Vec<Part>, Vec<Part>) =
            std::mem::take(&mut message.parts).into_iter().partition(belongs);
        for (parts, side) in [(first, &mut *messages), (second, &mut rest)] {
            if !parts.is_empty() {
                side.push(Message { parts, ..message.clone() });
            }
        }
    }
    Some(rest)
}

/// Returns a hash over exchanges in their order, in hexadecimal.
///
/// Each step takes in the hash of all before, so it depends on where one exchange ends and the next
/// begins. Line numbers take no part.
pub fn chain<'a>(exchanges: impl IntoIterator<Item = &'a Exchange>) -> String {
    exchanges.into_iter().fold(hash(CHAIN, b""), |before, exchange| link(&before, exchange))
}

/// Returns the hash of a chain with one exchange more.
fn link(before: &str, exchange: &Exchange) -> String {
    let messages = serde_json::to_vec(&exchange.messages).expect("messages hold nothing but JSON");
    hash(CHAIN, &[before.as_bytes(), &messages].concat())
}

/// Returns the number of the first exchange that is not imported yet.
///
/// A reply that went on after it was imported is parted first, so the exchanges may become more. It
/// fails when the transcript does not begin with what was imported; where it is parted then means
/// nothing.
pub fn remaining(
    record: Option<&ImportRecord>,
    repaired: &mut RepairedTranscript,
) -> Result<usize, Error> {
    let Some(record) = record.filter(|record| record.exchanges > 0) else { return Ok(0) };
    // Without a session's id the first exchange is the identity, and it may be one that grew.
    if repaired.source.is_some() && record.identity != repaired.identity() {
        return Err(changed("it is a different conversation".to_owned()));
    }
    for seam in &record.seams {
        if !repaired.part(*seam) {
            return Err(changed(format!("exchange {} differs", seam.exchange + 1)));
        }
    }
    if let Some(imported) = begins_with(record, repaired) {
        return Ok(imported);
    }
    if let Some(call) = answered_since(record, repaired) {
        let call = crate::index::shorten(&call);
        let reason = format!("call '{call}' was imported as interrupted, but has a result by now");
        let advice = "undo the import that finished it, or import it into a new session".into();
        return Err(Error::InvalidRequest { reason, advice });
    }
    let seam = Seam { exchange: record.exchanges - 1, parts: record.last_parts };
    if record.last_parts > 0
        && repaired.part(seam)
        && let Some(imported) = begins_with(record, repaired)
    {
        return Ok(imported);
    }
    Err(changed(match repaired.exchanges.len() as u64 {
        held if held < record.exchanges => {
            format!("it holds {held} exchanges, but {} were imported", record.exchanges)
        }
        _ => format!("one of its first {} exchanges differs", record.exchanges),
    }))
}

/// Returns how many exchanges were imported, if the transcript begins with them.
fn begins_with(record: &ImportRecord, repaired: &RepairedTranscript) -> Option<usize> {
    let imported = usize::try_from(record.exchanges).ok()?;
    let exchanges = repaired.exchanges.get(..imported)?;
    (chain(exchanges.iter().map(|(_, exchange)| exchange)) == record.chain).then_some(imported)
}

/// Returns the call that was taken as interrupted and has a result now, if the transcript is what was
/// imported but for that.
fn answered_since(record: &ImportRecord, repaired: &RepairedTranscript) -> Option<String> {
    let last = usize::try_from(record.exchanges).ok()?.checked_sub(1)?;
    let (_, exchange) = repaired.exchanges.get(last)?;
    let before = chain(repaired.exchanges[..last].iter().map(|(_, exchange)| exchange));
    (0..exchange.messages.len()).find_map(|results| {
        let (then, call) = interrupted(exchange, results)?;
        (link(&before, &then) == record.chain).then_some(call)
    })
}

fn changed(how: String) -> Error {
    Error::InvalidRequest {
        reason: format!("the transcript no longer begins with what was imported: {how}"),
        advice: "import it into a new session".into(),
    }
}

fn hash(purpose: &str, bytes: &[u8]) -> String {
    blake3::Hash::from_bytes(blake3::derive_key(purpose, bytes)).to_hex().to_string()
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
