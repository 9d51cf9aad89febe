//! Exchanges in chunks, each one edit: one where that is possible, several for very long transcripts.

use contexture_core::{
    Edit, Error, ErrorKind, Message, Role, SegmentId, message::Exchange, transcript::quoted,
};

use super::ImportError;

/// How many bytes of text are one edit, or one exchange more: all that most transcripts hold. What is
/// written in one edit is held in memory at once, several times over.
const BYTES: u64 = 64 * 1024 * 1024;

/// Some exchanges in a row, each with the line it begins on.
pub(super) struct Chunk<'a> {
    exchanges: &'a [(u64, Exchange)],
    /// How many exchanges of the transcript are imported with it.
    pub(super) upto: usize,
}

impl<'a> Chunk<'a> {
    /// Splits the exchanges from `first` on.
    pub(super) fn all(
        exchanges: &'a [(u64, Exchange)],
        first: usize,
    ) -> impl Iterator<Item = Self> {
        let mut from = first;
        std::iter::from_fn(move || {
            let rest = exchanges.get(from..).filter(|rest| !rest.is_empty())?;
            let mut bytes = 0;
            let fits = |(_, exchange): &&(u64, Exchange)| {
                let fits = bytes < BYTES;
                bytes += exchange.weight();
                fits
            };
            let count = rest.iter().take_while(fits).count();
            from += count;
            Some(Self { exchanges: &rest[..count], upto: from })
        })
    }

    /// Returns the edits that write them; with `continues`, what comes before the first user message
    /// belongs to the turn before.
    pub(super) fn edits(&self, segment: &SegmentId, continues: bool) -> Vec<Edit> {
        let mut turns = messages(self.exchanges);
        let begins = turns.iter().position(|message| message.role == Role::User);
        let split = if continues { begins.unwrap_or(turns.len()) } else { 0 };
        let before: Vec<Message> = turns.drain(..split).collect();
        let mut edits = Vec::new();
        if !before.is_empty() {
            edits.push(Edit::ExtendTurn { segment: segment.clone(), messages: before });
        }
        if !turns.is_empty() {
            edits.push(Edit::AddTurn { segment: segment.clone(), messages: turns });
        }
        edits
    }

    pub(super) fn message_count(&self) -> usize {
        self.exchanges.iter().map(|(_, exchange)| exchange.messages.len()).sum()
    }

    /// Counts the system messages among them, which are kept as quoted text.
    pub(super) fn quoted_count(&self) -> usize {
        let messages = self.exchanges.iter().flat_map(|(_, exchange)| &exchange.messages);
        messages.filter(|message| message.role == Role::System).count()
    }

    /// Says which exchange is to blame where one is too large.
    pub(super) fn refused(&self, error: Error) -> ImportError {
        let largest = self.exchanges.iter().max_by_key(|(_, exchange)| exchange.weight());
        match largest {
            Some((line, _)) if error.kind() == ErrorKind::TooLarge => {
                ImportError::TooLarge { line: *line, error }
            }
            _ if matches!(error, Error::CustomMoved { .. }) => ImportError::Overtaken,
            _ => error.into(),
        }
    }
}

/// How many bytes of text an exchange may have to be imported: what a page may hold, and some room
/// for what stands around the text.
pub(super) const MOST: u64 = 15 * 1024 * 1024;

/// Tells whether an exchange is larger than a page may be.
pub(super) fn is_too_large(exchange: &Exchange) -> bool {
    exchange.messages.iter().map(weight).sum::<u64>() > MOST
}

/// Tells whether a system prompt is larger, quoted, than a page may be.
pub(super) fn is_too_large_to_quote(prompt: &str) -> bool {
    weight(&Message::text(Role::System, prompt)) > MOST
}

/// Returns what a message weighs as it is imported: what is quoted takes more than it said.
fn weight(message: &Message) -> u64 {
    match message.role {
        Role::System => quoted(message.clone()).weight(),
        Role::User | Role::Assistant | Role::Tool => message.weight(),
    }
}

/// Returns the messages of exchanges as they are imported: none speaks as the system.
fn messages(exchanges: &[(u64, Exchange)]) -> Vec<Message> {
    exchanges
        .iter()
        .flat_map(|(_, exchange)| exchange.messages.iter().cloned().map(quoted))
        .collect()
}
