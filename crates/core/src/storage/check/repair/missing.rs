//! Pages that history left in a segment and that are gone, or older than it left them.

use std::collections::HashSet;

use super::super::{
    lost,
    rebuild::{self, Text},
    seen,
    trail::{Touch, Trail},
};
use super::Plan;
use crate::{
    Operation, Page, PageIndex, PageStorage, Revision, SessionId, Timestamp,
    storage::{Change, Content, PageBody, PageDetail, Place, StorageError, StorageResult},
};

/// A page that is made again.
#[derive(Debug)]
pub(super) struct Missing {
    page: Page,
    is_lost: bool,
    /// The edit that last changed it.
    pub(super) revision: Revision,
}

impl Missing {
    /// Returns the page, with a placeholder where its text is lost too.
    pub(super) fn make(&self, change: &mut Change, done: &mut Vec<String>) -> Page {
        let (mut page, index) = (self.page.clone(), &self.page.index);
        if !self.is_lost {
            done.push(format!("page {index} was lost and was rebuilt from the history"));
            return page;
        }
        let (content, detail) = lost::placeholder(&page);
        page.body = PageBody::Detail(detail);
        change.contents.push(content);
        done.push(format!("page {index} is lost, and a page in its place now says so"));
        page
    }
}

impl Plan<'_> {
    /// Notes the pages that history left and that are not there as it left them.
    pub(super) async fn note_missing(
        &mut self,
        storage: &dyn PageStorage,
        session: &SessionId,
        trail: &Trail,
        next_place: Place,
        at: Timestamp,
    ) -> StorageResult<()> {
        let parents: HashSet<u64> = self.pages.values().filter_map(|page| page.parent).collect();
        let id = &self.segment.id;
        let left: Vec<(u64, &Touch)> = trail.left_in(id).collect();
        for (number, touch) in left {
            if let Some(seen) = self.pages.get(&number) {
                if seen.revision < touch.revision {
                    let version = touch.after.unwrap_or_default();
                    self.behind.insert(number, (version, touch.revision));
                }
                continue;
            }
            // The root of a segment that stands is made beforehand.
            if number == 0 && !self.segment.removed {
                continue;
            }
            let text = match (&touch.before, touch.assigned) {
                _ if number == 0 || parents.contains(&number) => Text::Directory,
                (_, Some(hash)) => text(storage, session, hash).await?,
                (Some(before), None) => match before.detail() {
                    Some(detail) => text(storage, session, detail.content).await?,
                    None => Text::Directory,
                },
                (None, None) => Text::Directory,
            };
            let index = PageIndex::new(id.clone(), number);
            let mut page = rebuild::page(&index, touch, self.segment, &text, at);
            page.turn = page.turn.or_else(|| self.turn_of(&index, touch, &text));
            let parent = page.parent.as_ref().map_or(0, PageIndex::number);
            match self.free_place(number, parent, &page, next_place) {
                _ if number == 0 => {}
                Some(place) => page.place = place,
                None => drop(self.places.insert(number)),
            }
            self.pages.insert(number, seen(&page));
            let is_lost = matches!(text, Text::Lost);
            self.missing.insert(number, Missing { page, is_lost, revision: touch.revision });
        }
        Ok(())
    }

    /// Returns the turn a lost page belonged to: a page that an edit wrote into a turn begins one, as
    /// far as is known.
    fn turn_of(&self, index: &PageIndex, touch: &Touch, text: &Text) -> Option<PageIndex> {
        let of_a_turn = matches!(
            touch.operation,
            Operation::AddTurn
                | Operation::ExtendTurn
                | Operation::OpenExchange
                | Operation::PublishTurn
        );
        (of_a_turn && !matches!(text, Text::Directory)).then(|| index.clone())
    }

    /// Returns the place a lost page had among its siblings, or one like it: places are given out in
    /// the order of numbers. None where it needs a new one.
    fn free_place(
        &self,
        number: u64,
        parent: u64,
        page: &Page,
        next_place: Place,
    ) -> Option<Place> {
        let siblings = || self.pages.iter().filter(|(_, seen)| seen.parent == Some(parent));
        let is_free = |place: &Place| {
            *place > Place(0) && *place < next_place && siblings().all(|(_, it)| it.place != *place)
        };
        let before = siblings().filter(|(other, _)| **other < number).map(|(_, it)| it.place).max();
        let after = siblings().filter(|(other, _)| **other > number).map(|(_, it)| it.place).min();
        let own = (page.place > Place(0)).then_some(page.place);
        let behind = before.map(|place| Place(place.0.saturating_add(1)));
        let ahead = after.map(|place| Place(place.0.saturating_sub(1)));
        own.filter(is_free).or(behind.filter(is_free)).or(ahead.filter(is_free))
    }
}

/// Returns what is left of a text.
async fn text(
    storage: &dyn PageStorage,
    session: &SessionId,
    hash: crate::storage::ContentHash,
) -> StorageResult<Text> {
    let read = match storage.contents(session, &[hash]).await {
        Ok(mut read) => read.pop().flatten(),
        Err(StorageError::Corrupt { .. }) => None,
        Err(error) => return Err(error),
    };
    Ok(read.as_ref().and_then(detail_of).map_or(Text::Lost, Text::Kept))
}

/// Returns what a page keeps of a content that is stored.
fn detail_of(content: &Content) -> Option<PageDetail> {
    let (_, detail) = Content::with_detail(&content.messages().ok()?);
    // It may have been written in other bytes, and keeps the hash of those.
    Some(PageDetail { content: content.hash(), ..detail })
}
