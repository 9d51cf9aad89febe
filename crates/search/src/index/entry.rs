//! A document as the index takes it in: its terms, and the facts that are kept beside them.

use contexture_core::{
    Message, Page, PageIndex, Role, Timestamp,
    message::{MessageFilter, Part as MessagePart},
    storage::PageBody,
};

use super::{
    class::{Class, Heard, Kind, PARTS, Part, Parts},
    key::At,
};
use crate::{
    document::{Document, Field, Marks},
    embedding::{Piece, pieces},
    text::cut,
};

/// Stands between the terms of a part. No term holds it.
pub(crate) const SEPARATOR: char = '\u{1f}';

/// One document, cut into terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) at: At,
    pub(crate) class: Class,
    /// The terms of each part that has any, joined by [`SEPARATOR`].
    pub(crate) terms: Vec<(Part, String)>,
    pub(crate) lengths: [u16; PARTS],
    /// The speaker's hash; 0 where nobody is named.
    pub(crate) speaker: u32,
    /// When it was said, and when its turn began, in milliseconds.
    pub(crate) said: i64,
    pub(crate) began: i64,
    /// The number of the directory that its page stands in.
    pub(crate) chapter: u32,
    /// Names the turn, where another page of it matters: the page has a description that may tell of others, or
    /// another one is the first, by which it is judged.
    pub(crate) turn: Option<u64>,
    /// The tools that it calls, or whose results it has.
    pub(crate) tools: Vec<String>,
    /// What vectors are made of.
    pub(crate) pieces: Vec<Piece>,
}

impl Entry {
    /// Returns about how many bytes it takes.
    pub(crate) fn size(&self) -> usize {
        let terms = self.terms.iter().map(|(_, terms)| terms.len() + 32).sum::<usize>();
        std::mem::size_of::<Self>() + terms + self.tools.len() * 48 + self.pieces.len() * 8 + 32
    }

    /// Shows each term of each part, as often as it stands there.
    pub(crate) fn each_term<'a>(&'a self, mut visit: impl FnMut(Part, &'a str)) {
        for (part, terms) in &self.terms {
            terms.split(SEPARATOR).for_each(|term| visit(*part, term));
        }
    }

    /// Tells whether its page is a directory.
    pub(crate) fn is_directory(&self) -> bool {
        !self.class.leaf
    }
}

/// Returns the documents of a page, given what it says and when its turn began; with what vectors are made of where
/// somebody asks for them.
pub(crate) fn entries(
    page: &Page,
    messages: &[Message],
    began: Timestamp,
    with_pieces: bool,
) -> Vec<Entry> {
    let Some(number) = u32::try_from(page.index.number()).ok().filter(|it| *it <= At::LAST_PAGE)
    else {
        // Nobody has so many pages, and leaving one out of the index is no wrong answer about others.
        return Vec::new();
    };
    let heard = heard(messages);
    let tools = tools_by_call(messages);
    let documents = Document::of_page(page, messages);
    let fits = |document: &Document<'_>| document.message <= At::LAST_MESSAGE;
    let entry = |document: Document<'_>| {
        let message = usize::from(document.message).checked_sub(1).and_then(|at| messages.get(at));
        let parts = parts(page, &document);
        let mut lengths = [0; PARTS];
        let mut terms: Vec<(Part, String)> = Vec::new();
        for (part, text) in &parts {
            cut(text, &mut |term| {
                match terms.iter_mut().find(|(known, _)| known == part) {
                    Some((_, joined)) => {
                        joined.push(SEPARATOR);
                        joined.push_str(term.text);
                    }
                    None => {
                        let mut joined = String::with_capacity(text.len() + text.len() / 4);
                        joined.push_str(term.text);
                        terms.push((*part, joined));
                    }
                }
                let length = &mut lengths[*part as usize];
                *length = u16::saturating_add(*length, u16::from(term.counts()));
            });
        }
        let seen = Parts::of(&terms.iter().map(|(part, _)| *part).collect::<Vec<_>>());
        let marks = match parts.as_slice() {
            [_] => [marks(&parts, Parts::ALL); 3],
            _ => [
                marks(&parts, Parts::ALL),
                marks(&parts, Parts::ALL.without(Part::Tool).without(Part::Name)),
                marks(&parts, Parts::of(&[Part::Answer, Part::Name])),
            ],
        };
        let turn = page.turn.as_ref();
        let described = message.is_none() && !page.description.is_empty();
        Entry {
            at: At { page: number, message: document.message },
            class: class(page, message, heard, seen, marks),
            terms,
            lengths,
            speaker: document.speaker_hash(),
            said: document.at.as_millis(),
            began: began.as_millis(),
            chapter: document.chapter,
            turn: turn.filter(|first| described || **first != page.index).map(turn_hash),
            tools: message.map(|message| tools_of(message, &tools)).unwrap_or_default(),
            pieces: match message {
                Some(_) if with_pieces => document_pieces(&parts),
                _ => Vec::new(),
            },
        }
    };
    documents.into_iter().filter(fits).map(entry).collect()
}

fn document_pieces(parts: &[(Part, &str)]) -> Vec<Piece> {
    let cut =
        |(part, text): &(Part, &str)| pieces(text).map(|piece| Piece::new(*part, piece)).collect();
    parts.iter().flat_map(|it| -> Vec<Piece> { cut(it) }).collect()
}

/// Returns the texts that vectors are made of, of every message of a page.
pub(crate) fn page_pieces(page: &Page, messages: &[Message]) -> Vec<(Piece, String)> {
    let mut found = Vec::new();
    for document in Document::of_page(page, messages).iter().filter(|it| it.message > 0) {
        for (part, text) in parts(page, document) {
            found.extend(pieces(text).map(|piece| (Piece::new(part, piece), piece.to_owned())));
        }
    }
    found
}

/// Returns the texts of a document by part.
fn parts<'a>(page: &Page, document: &'a Document<'_>) -> Vec<(Part, &'a str)> {
    let texts = document.texts.iter().map(|(field, text)| (part(*field), &**text));
    if document.message > 0 {
        return texts.filter(|(part, _)| *part >= Part::Request).collect();
    }
    // The name, unless the text repeats it, and then the description, if there is one.
    let named = document.texts.len() > usize::from(!page.description.is_empty());
    let own = if named { [Part::Name, Part::Description] } else { [Part::Description; 2] };
    own.into_iter().zip(texts).map(|(part, (_, text))| (part, text)).collect()
}

/// Returns what the ranking wants to know of some parts.
fn marks(parts: &[(Part, &str)], seen: Parts) -> u8 {
    let texts = parts.iter().filter(|(part, _)| seen.has(*part));
    texts.fold(Marks::default(), |marks, (_, text)| marks.and(Marks::of(text))).bits()
}

fn part(field: Field) -> Part {
    match field {
        Field::Name => Part::Name,
        Field::Request => Part::Request,
        Field::Answer => Part::Answer,
        Field::Thinking => Part::Thinking,
        Field::Tool => Part::Tool,
    }
}

fn class(
    page: &Page,
    message: Option<&Message>,
    heard: Heard,
    parts: Parts,
    marks: [u8; 3],
) -> Class {
    let kind = match message {
        None => Kind::Page(heard),
        Some(message) => match message.role {
            Role::System => Kind::Said { user: false },
            Role::User => Kind::Said { user: true },
            Role::Assistant => Kind::Answered { calls: message.tool_calls().next().is_some() },
            Role::Tool => Kind::Returned,
        },
    };
    Class {
        author: page.author.clone(),
        rewritten_by: page.rewritten_by.clone(),
        sourced: !page.sources.is_empty(),
        turn: page.turn.is_some(),
        leaf: matches!(page.body, PageBody::Detail(_)),
        kind,
        parts: parts.0,
        marks,
    }
}

/// Returns what is left of messages where a view does not see all of them.
fn heard(messages: &[Message]) -> Heard {
    let any = |filter: MessageFilter| messages.iter().any(|message| filter.hears(message));
    let mut requests = messages.iter().filter(|message| message.role == Role::User);
    Heard {
        silent: messages.is_empty(),
        without_tools: any(MessageFilter::WithoutTools),
        requests: any(MessageFilter::RequestsOnly),
        worded: requests.any(has_words),
    }
}

fn has_words(message: &Message) -> bool {
    message.parts.iter().any(|part| match part {
        MessagePart::Text(text) => !text.text.trim().is_empty(),
        _ => false,
    })
}

/// Names a turn by its first page.
pub(crate) fn turn_hash(first: &PageIndex) -> u64 {
    fnv(first.to_string().as_bytes())
}

/// FNV-1a: stable from one version of the compiler to the next, which the standard hasher is not.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Returns which tool each call of these messages names.
fn tools_by_call(messages: &[Message]) -> Vec<(&str, &str)> {
    let calls = messages.iter().flat_map(Message::tool_calls);
    calls.map(|call| (call.id.as_str(), call.name.as_str())).collect()
}

fn tools_of(message: &Message, known: &[(&str, &str)]) -> Vec<String> {
    let called = message.tool_calls().map(|call| call.name.clone());
    let results = message.parts.iter().filter_map(|part| match part {
        MessagePart::ToolResult(result) => known
            .iter()
            .rev()
            .find(|(id, _)| *id == result.call)
            .map(|(_, name)| (*name).to_owned()),
        _ => None,
    });
    let mut tools: Vec<String> = called.chain(results).collect();
    tools.sort();
    tools.dedup();
    tools
}
