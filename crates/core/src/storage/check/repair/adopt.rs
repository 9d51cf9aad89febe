//! Texts in a damaged record that are not the ones that were stored: edited by hand, or hit by damage.
//!
//! Nobody can tell which it was. Better than no text is one that can be read, if the edit that adopts it
//! says so. Two things it must not do: speak as the system, and leave a call without its result.

use super::super::lost;
use crate::{
    Actor, EditLimits, Message, Page, PageStorage, Role, Segment, SegmentKind, SessionId, Trust,
    message::exchange::{LastExchange, group},
    storage::{Content, PageBody, StorageResult},
};

/// What becomes of a page whose stored text is lost.
pub(super) enum Replacement {
    /// Its record still says something, and that is what the page says from now on.
    Adopted(Vec<Message>),
    /// Its record still says something, but a prompt is not taken from there.
    Prompt,
    /// Nothing that could be used is left.
    Nothing,
}

impl Replacement {
    /// Looks for what a damaged record says in the place of a page's text.
    pub(super) async fn of(
        storage: &dyn PageStorage,
        session: &SessionId,
        segment: &Segment,
        page: &Page,
    ) -> StorageResult<Self> {
        let Some(messages) = storage.unproven(session, page).await? else {
            return Ok(Self::Nothing);
        };
        if segment.kind == SegmentKind::System {
            return Ok(Self::Prompt);
        }
        Ok(if is_fit(page, &messages) { Self::Adopted(messages) } else { Self::Nothing })
    }

    /// Gives the page another text, and says which: returns the content.
    pub(super) fn put_into(&self, page: &mut Page, done: &mut Vec<String>) -> Content {
        let index = &page.index;
        let (content, detail) = match self {
            Self::Adopted(messages) => {
                done.push(format!(
                    "the text of page {index} is not the one that was stored (it was edited by hand or damaged); \
                     it was adopted as the new content: read it again"
                ));
                page.rewritten_by = (!page.author.is_system_side()).then_some(Actor::System);
                Content::with_detail(messages)
            }
            Self::Prompt => {
                done.push(format!(
                    "the content of page {index} is lost, and the page now says so; the text found in its \
                     place was not adopted, because the page is a system prompt: it is in the \
                     quarantine"
                ));
                lost::placeholder(page)
            }
            Self::Nothing => {
                done.push(format!("the content of page {index} is lost, and the page now says so"));
                lost::placeholder(page)
            }
        };
        page.body = PageBody::Detail(detail);
        content
    }
}

/// Tells whether messages can stand in a page: as many as there were, whole exchanges within the limit,
/// and none in the role of the system where there can have been none.
fn is_fit(page: &Page, messages: &[Message]) -> bool {
    let weight: u64 = messages.iter().map(Message::weight).sum();
    let count = page.detail().map(|detail| u64::from(detail.messages));
    let speaks_as_system = messages.iter().any(|message| message.role == Role::System);
    count == Some(messages.len() as u64)
        && weight <= EditLimits::default().detail_bytes
        && (page.trust == Trust::System || !speaks_as_system)
        && group(messages.to_vec(), LastExchange::MayBeOpen).is_ok()
}

#[cfg(test)]
#[path = "adopt_tests.rs"]
mod tests;
