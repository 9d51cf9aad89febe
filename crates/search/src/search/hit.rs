//! A result of a search: a page, and the place in it that matches best.

use contexture_core::{Message, PageIndex, Role, message::AdmittedPage};

use super::Snippet;
use crate::{
    document::Document,
    query::{Asked, Query},
    rank::{Features, Ranked},
};

/// A page that was found.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The page, as far as the view sees it.
    pub page: AdmittedPage,
    /// The message it was found by, counted from 0; none where it was found by its name or description.
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
        parsed: &Query,
    ) -> Option<Self> {
        let message = usize::from(ranked.key.message).checked_sub(1);
        let said = message.and_then(|message| messages.get(message));
        let texts: Vec<String> = match said {
            Some(_) => {
                let documents = Document::of_page(&page.page, messages);
                let document = documents.into_iter().find(|it| it.message == ranked.key.message);
                let texts = document.map(|document| document.texts).unwrap_or_default();
                texts.into_iter().map(|(_, text)| text.into_owned()).collect()
            }
            None => vec![page.page.name.to_string(), page.page.description.to_string()],
        };
        let confirms = |text: &String| parsed.confirms(text);
        if !parsed.phrases.is_empty() && !texts.iter().any(confirms) {
            return None;
        }
        let snippet = Snippet::cut(&texts, |term| weight(parsed, term));
        let role = said.map(|said| said.role);
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
