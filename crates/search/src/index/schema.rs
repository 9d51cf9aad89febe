//! The fields of the index on disk, and how terms are spelt in it.
//!
//! A term is spelt with its segment and its part before it: `1akfox` is *fox* in part `k` of segment 0x1a.
//! So a segment has posting lists of its own, which know nothing of other segments.

use tantivy::{
    Index, IndexSettings, IndexSortByField, Order, Term,
    schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions},
    store::Compressor,
    tokenizer::{Token, TokenStream, Tokenizer, TokenizerManager},
};

use super::{
    class::{PARTS, Part},
    entry::{Entry, SEPARATOR},
    indexed::{Fact, IndexedDocument},
    key::Space,
};

/// Changes whenever an index of before cannot be read any more.
pub(crate) const VERSION: u32 = 3;

const TERMS: &str = "terms";
pub(crate) const KEY: &str = "key";
pub(crate) const CLASS: &str = "class";
pub(crate) const LENGTH: &str = "length";
pub(crate) const MORE: &str = "more";
pub(crate) const SPEAKER: &str = "speaker";
pub(crate) const SAID: &str = "said";
pub(crate) const LAG: &str = "lag";
pub(crate) const CHAPTER: &str = "chapter";
pub(crate) const TURN: &str = "turn";
pub(crate) const PIECE: &str = "piece";

/// The fields, by what they hold.
#[derive(Debug, Clone)]
pub(crate) struct Fields {
    pub(crate) schema: Schema,
    pub(crate) terms: Field,
    key: Field,
    class: Field,
    length: Field,
    more: Field,
    speaker: Field,
    said: Field,
    lag: Field,
    chapter: Field,
    turn: Field,
    piece: Field,
}

impl Fields {
    pub(crate) fn new() -> Self {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(TERMS)
            .set_index_option(IndexRecordOption::WithFreqs)
            .set_fieldnorms(false);
        let terms =
            schema.add_text_field(TERMS, TextOptions::default().set_indexing_options(indexing));
        Self {
            terms,
            key: schema.add_u64_field(KEY, FAST),
            class: schema.add_u64_field(CLASS, FAST),
            length: schema.add_u64_field(LENGTH, FAST),
            more: schema.add_u64_field(MORE, FAST),
            speaker: schema.add_u64_field(SPEAKER, FAST),
            said: schema.add_i64_field(SAID, FAST),
            lag: schema.add_i64_field(LAG, FAST),
            chapter: schema.add_u64_field(CHAPTER, FAST),
            turn: schema.add_u64_field(TURN, FAST),
            piece: schema.add_u64_field(PIECE, FAST),
            schema: schema.build(),
        }
    }

    /// Returns how an index is kept: sorted by key, with no texts in it.
    pub(crate) fn settings() -> IndexSettings {
        IndexSettings {
            sort_by_field: Some(IndexSortByField { field: KEY.to_owned(), order: Order::Asc }),
            docstore_compression: Compressor::None,
            docstore_compress_dedicated_thread: false,
            ..IndexSettings::default()
        }
    }

    /// Returns a document as the index takes it, with the pieces of its texts where somebody may ask for their meaning.
    pub(crate) fn document(
        &self,
        space: Space,
        entry: &Entry,
        class: u64,
        pieces: bool,
    ) -> IndexedDocument {
        let mut document = IndexedDocument {
            terms: Vec::with_capacity(entry.terms.len() + 1),
            facts: Vec::with_capacity(9),
        };
        for (part, terms) in &entry.terms {
            let mut joined = String::with_capacity(terms.len() + 10);
            push_prefix(&mut joined, space, letter(*part));
            joined.push(SEPARATOR);
            joined.push_str(terms);
            document.terms.push((self.terms, joined));
        }
        document.terms.extend(self.notes(space, entry).map(|notes| (self.terms, notes)));
        let mut number = |field, number| document.facts.push((field, Fact::Number(number)));
        number(self.key, space.key(entry.at));
        number(self.class, class);
        let (length, more) = pack(&entry.lengths);
        number(self.length, length);
        if more != 0 {
            number(self.more, more);
        }
        if entry.speaker != 0 {
            number(self.speaker, u64::from(entry.speaker));
        }
        number(self.chapter, u64::from(entry.chapter));
        if let Some(turn) = entry.turn {
            number(self.turn, turn);
        }
        document.facts.push((self.said, Fact::Signed(entry.said)));
        if entry.said != entry.began {
            let lag = entry.said.saturating_sub(entry.began);
            document.facts.push((self.lag, Fact::Signed(lag)));
        }
        if pieces {
            let bits = entry.pieces.iter().map(|piece| (self.piece, Fact::Number(piece.bits())));
            document.facts.extend(bits);
        }
        document
    }

    /// Returns the notes on a document, joined; none where it has none.
    fn notes(&self, space: Space, entry: &Entry) -> Option<String> {
        let mut joined = String::new();
        push_prefix(&mut joined, space, NOTE);
        let prefix = joined.len();
        let mut note = |note: &str| {
            joined.push(SEPARATOR);
            joined.push_str(note);
        };
        if entry.speaker != 0 {
            note(&speaker_note(entry.speaker));
        }
        entry.tools.iter().for_each(|tool| note(&tool_note(tool)));
        if entry.at.message == 0 && entry.is_directory() {
            note(DIRECTORY);
        }
        if entry.class.sourced {
            note(SOURCED);
        }
        (joined.len() > prefix).then_some(joined)
    }

    /// Returns a term of a part as the index spells it.
    pub(crate) fn term(&self, space: Space, part: Part, term: &str) -> Term {
        self.spelt(space, letter(part), term)
    }

    /// Returns a note as the index spells it.
    pub(crate) fn note(&self, space: Space, note: &str) -> Term {
        self.spelt(space, NOTE, note)
    }

    fn spelt(&self, space: Space, letter: char, term: &str) -> Term {
        let mut spelt = String::with_capacity(8 + term.len());
        push_prefix(&mut spelt, space, letter);
        spelt.push_str(term);
        Term::from_field_text(self.terms, &spelt)
    }
}

/// A note on the page's own document of a directory.
pub(crate) const DIRECTORY: &str = "directory";
/// A note on documents of a page that was made from others.
pub(crate) const SOURCED: &str = "sourced";

/// The note on what somebody said.
pub(crate) fn speaker_note(speaker: u32) -> String {
    format!("speaker {speaker:08x}")
}

/// The note on what calls a tool, or has its result.
pub(crate) fn tool_note(tool: &str) -> String {
    format!("tool {}", tool.replace(SEPARATOR, " "))
}

const NOTE: char = 'x';

/// No digit of a number in base 16, so that the number before it ends.
fn letter(part: Part) -> char {
    match part {
        Part::Name => 'g',
        Part::Description => 'h',
        Part::Request => 'i',
        Part::Answer => 'j',
        Part::Thinking => 'k',
        Part::Tool => 'l',
    }
}

fn push_prefix(text: &mut String, space: Space, letter: char) {
    use std::fmt::Write;
    write!(text, "{:x}", space.0).expect("a string takes what is written to it");
    text.push(letter);
}

/// Packs lengths into two numbers: nearly every document has one part only.
fn pack(lengths: &[u16; PARTS]) -> (u64, u64) {
    let first = lengths.iter().position(|length| *length > 0).unwrap_or(0);
    let more = (first + 1..PARTS).filter_map(|at| Some((slot(first, at)?, lengths[at])));
    let more = more.fold(0, |more, (slot, length)| more | u64::from(length) << slot);
    (u64::from(lengths[first]) << 3 | first as u64, more)
}

/// Unpacks what [`pack`] packed.
pub(crate) fn unpack(length: u64, more: u64) -> [u16; PARTS] {
    let mut lengths = [0; PARTS];
    let first = ((length & 7) as usize).min(PARTS - 1);
    lengths[first] = (length >> 3) as u16;
    if more != 0 {
        for (at, length) in lengths.iter_mut().enumerate().skip(first + 1) {
            *length = slot(first, at).map_or(0, |slot| (more >> slot) as u16);
        }
    }
    lengths
}

/// Returns where a part's length stands behind that of the first part. A page has a name and a description, and
/// a message the four others.
fn slot(first: usize, at: usize) -> Option<usize> {
    let message = Part::Request as usize;
    match (first < message, at < message) {
        (true, true) => Some(0),
        (false, false) => Some(16 * (at - message - 1)),
        (true, false) | (false, true) => None,
    }
}

/// Returns the tokenizers that an index needs.
pub(crate) fn tokenizers() -> TokenizerManager {
    // tantivy asks for one for every field, texts or not.
    let tokenizers = TokenizerManager::default();
    tokenizers.register(TERMS, Spelling::default());
    tokenizers
}

/// Takes apart what [`Fields::document`] joined.
#[derive(Debug, Clone, Default)]
struct Spelling {
    token: Token,
}

struct SpellingStream<'a> {
    rest: std::str::Split<'a, char>,
    prefix: usize,
    token: &'a mut Token,
}

impl Tokenizer for Spelling {
    type TokenStream<'a> = SpellingStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> SpellingStream<'a> {
        let mut rest = text.split(SEPARATOR);
        self.token.reset();
        self.token.text.push_str(rest.next().unwrap_or_default());
        let prefix = self.token.text.len();
        SpellingStream { rest, prefix, token: &mut self.token }
    }
}

impl TokenStream for SpellingStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(term) = self.rest.next() else { return false };
        self.token.text.truncate(self.prefix);
        self.token.text.push_str(term);
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

/// Gives an index what it needs to take documents in.
pub(crate) fn equip(index: &mut Index) {
    index.set_tokenizers(tokenizers());
}
