//! What of the pages an edit names the caller's view sees: the rules of reading, for edits.

use std::{collections::BTreeSet, sync::Arc};

use super::{Draft, MOST_MOVES};
use crate::{Error, Page, PageIndex, Segment, View, decide::Decision};

/// How much of a page a view sees; of a directory, without what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SeenExtent {
    /// It does not exist for the view.
    Nothing,
    /// Some of its messages, or less than all that they say.
    Part,
    /// All of it.
    Whole,
}

impl<'a> Draft<'a> {
    /// Returns the caller's view, if its filter leaves anything out.
    pub(super) fn filtered(&self) -> Option<&'a View> {
        self.request.guard.filter(|view| !view.filter.is_open())
    }

    /// Tells whether a page of a segment in view exists for the caller.
    pub(in crate::decide) fn sees(&mut self, segment: &Segment, page: &Page) -> Decision<bool> {
        Ok(self.seen_extent(segment, page)? != SeenExtent::Nothing)
    }

    /// Tells how much of a page of a segment in view the caller sees.
    pub(super) fn seen_extent(&mut self, segment: &Segment, page: &Page) -> Decision<SeenExtent> {
        let Some(view) = self.filtered() else { return Ok(SeenExtent::Whole) };
        let without = &view.filter.without;
        if !without.is_empty() {
            let mut line = self.ancestors(page)?;
            line.push(Arc::new(page.clone()));
            for page in line {
                if self.is_left_out(without, page)? {
                    return Ok(SeenExtent::Nothing);
                }
            }
        }
        let Some(filter) = view.judged(segment, page) else { return Ok(SeenExtent::Whole) };
        let Some(speech) = filter.speech_of(page).filter(|_| view.hears(page)) else {
            return Ok(SeenExtent::Nothing);
        };
        if filter.since.is_some() {
            let first = match &page.turn {
                Some(first) if *first != page.index => self.look(first)?,
                _ => None,
            };
            if !filter.reaches(first.map_or(page.created_at, |first| first.created_at)) {
                return Ok(SeenExtent::Nothing);
            }
        }
        let silent = page.turn.is_none() && page.detail().is_some_and(|it| it.messages == 0);
        if speech.is_all() || silent {
            return Ok(SeenExtent::Whole);
        }
        let messages = self.content(page)?.messages();
        let messages = messages.map_err(|reason| Error::InvalidMessages { reason })?;
        let whole = speech.hears_all(&messages);
        Ok(match speech.heard(messages).is_empty() {
            true => SeenExtent::Nothing,
            false if whole => SeenExtent::Whole,
            false => SeenExtent::Part,
        })
    }

    /// Tells whether a page is left out by name, its own or one it had before it moved here.
    fn is_left_out(&self, without: &BTreeSet<PageIndex>, mut page: Arc<Page>) -> Decision<bool> {
        for _ in 0..MOST_MOVES {
            if without.contains(&page.index) {
                return Ok(true);
            }
            let Some(source) = page.sources.first() else { break };
            match self.look(source)? {
                Some(original) if original.has_moved_to(&page.index) => page = original,
                _ => break,
            }
        }
        Ok(false)
    }

    /// Tells whether a page exists for the caller, as far as its record still tells.
    pub(in crate::decide) fn sees_page(&mut self, index: &PageIndex) -> Decision<bool> {
        if self.request.guard.is_none_or(|view| view.filter.is_open()) {
            return Ok(true);
        }
        let (Some(segment), Some(page)) = (self.seen_segment(index.segment()), self.look(index)?)
        else {
            return Ok(true);
        };
        self.sees(&segment, &page)
    }
}
