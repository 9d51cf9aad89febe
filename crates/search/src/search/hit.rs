//! A result of a search: a page, and the place in it that matches best.

use contexture_core::{Message, PageIndex, Role, message::AdmittedPage};

use super::{FindQuery, Snippet};
use crate::{
    document::{Document, Marks},
    query::{Asked, Query},
    rank::{Features, Ranked},
};

/// A page that was found.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The page, as far as the view sees it.
    pub page: AdmittedPage,
    /// The message it was found by, counted from 0; none where it was found by its name or description. Where that is
    /// a question which the page's name shows, it is the answer to it.
    pub message: Option<usize>,
    /// The role of that message.
    pub role: Option<Role>,
    /// The part of the text that matches best.
    pub snippet: Snippet,
    /// How well the page matches: larger is better. Scores of different queries cannot be compared.
    pub score: f32,
    /// What the score is made of.
    pub features: Features,
}

impl Hit {
    /// Makes a result; none if the text lacks a phrase of the query.
    pub(super) fn of(
        page: AdmittedPage,
        messages: &[Message],
        ranked: &Ranked,
        query: &FindQuery,
        parsed: &Query,
    ) -> Option<Self> {
        let own = texts(&page, messages, ranked.key.message);
        if !parsed.phrases.is_empty() && !own.iter().any(|text| parsed.confirms(text)) {
            return None;
        }
        // A question that the page's name repeats says nothing new: its answer does, where any message will do.
        let is_any = parsed.phrases.is_empty() && !query.is_filtered();
        let answer =
            if is_any { answer_to(&page, messages, ranked.key.message, &own) } else { None };
        let (shown, texts) = match answer {
            Some(answer) => (answer, texts(&page, messages, answer)),
            None => (ranked.key.message, own),
        };
        let message = usize::from(shown).checked_sub(1);
        let role = message.and_then(|message| messages.get(message)).map(|said| said.role);
        let snippet = Snippet::cut(&texts, |term| weight(parsed, term));
        let (score, features) = (ranked.score, ranked.features);
        Some(Self { page, message, role, snippet, score, features })
    }

    /// Returns the page's index.
    pub fn index(&self) -> &PageIndex {
        &self.page.page.index
    }
}

/// Returns the weight of a term in a query. Common words have one only if the query has no other words.
fn weight(query: &Query, term: &str) -> f32 {
    let says = query.asked.iter().any(|asked| !asked.stop);
    let asked = query.asked.iter().filter(|asked| !asked.stop || asked.required || !says);
    let fits = |asked: &&Asked| match asked.prefix {
        true => term.starts_with(&asked.term),
        false => asked.term == term,
    };
    asked.filter(fits).map(|asked| asked.weight).fold(0.0, f32::max)
}

/// Returns the texts of a message of a page, counted from 1, or of its name and description.
pub(super) fn texts(page: &AdmittedPage, messages: &[Message], message: u16) -> Vec<String> {
    if message == 0 {
        return vec![page.page.name.to_string(), page.page.description.to_string()];
    }
    let documents = Document::of_page(&page.page, messages);
    let document = documents.into_iter().find(|it| it.message == message);
    let texts = document.map(|document| document.texts).unwrap_or_default();
    texts.into_iter().map(|(_, text)| text.into_owned()).collect()
}

/// Returns the message that answers what was found, if that is a question which the page's name already shows: the
/// last one that the model said before the next request.
fn answer_to(
    page: &AdmittedPage,
    messages: &[Message],
    found: u16,
    texts: &[String],
) -> Option<u16> {
    page.page.turn.as_ref()?;
    let name = page.page.name.as_str().trim_end_matches('…').trim_end();
    let [text, rest @ ..] = texts else { return None };
    let is_shown = rest.iter().all(String::is_empty)
        && text.trim_start().starts_with(name)
        && text.trim().len() <= name.len() + '…'.len_utf8();
    if !is_shown || !Marks::of(text).asks() {
        return None;
    }
    let asked = match found {
        0 => messages.iter().position(|message| message.role == Role::User)?,
        _ => usize::from(found) - 1,
    };
    if messages.get(asked)?.role != Role::User {
        return None;
    }
    let behind = messages.iter().enumerate().skip(asked + 1);
    let turn = behind.take_while(|(_, message)| message.role != Role::User);
    let answers = turn.filter(|(_, message)| {
        message.role == Role::Assistant && !message.plain_text().trim().is_empty()
    });
    let (at, _) = answers.last()?;
    u16::try_from(at + 1).ok()
}
