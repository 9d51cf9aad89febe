//! Exchanges that were open at a branch's point: their results will not come to the branch, so there
//! they stand as interrupted.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::super::{Content, ContentHash, PageBody, PageDetail, PageStorage, StorageResult};
use crate::{
    Message, Page, SessionId,
    message::{ToolResult, open_calls},
};

/// The contents of inherited pages whose calls are answered as interrupted, by the content that is stored.
#[derive(Default)]
pub(super) struct ClosedExchanges {
    made: Mutex<HashMap<ContentHash, (Content, PageDetail)>>,
}

impl ClosedExchanges {
    fn lock(&self) -> MutexGuard<'_, HashMap<ContentHash, (Content, PageDetail)>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an inherited page as the branch shows it.
    pub(super) async fn close(
        &self,
        storage: &dyn PageStorage,
        session: &SessionId,
        mut page: Page,
    ) -> StorageResult<Page> {
        let PageBody::Detail(detail) = &mut page.body else { return Ok(page) };
        if detail.open.is_empty() {
            return Ok(page);
        }
        let stored = detail.content;
        if !self.lock().contains_key(&stored) {
            let read = storage.contents(session, &[stored]).await?.pop().flatten();
            // What cannot be read is shown as what it is: not readable.
            let Some(Ok(messages)) = read.map(|content| content.messages()) else {
                detail.open = Vec::new();
                return Ok(page);
            };
            let closed = Content::with_detail(&interrupted(messages));
            self.lock().insert(stored, closed);
        }
        if let Some((_, closed)) = self.lock().get(&stored) {
            *detail = PageDetail { counted: detail.counted, ..closed.clone() };
        }
        Ok(page)
    }

    /// Returns a content that was made here.
    pub(super) fn content(&self, hash: &ContentHash) -> Option<Content> {
        let made = self.lock();
        made.values()
            .find(|(content, _)| content.hash() == *hash)
            .map(|(content, _)| content.clone())
    }
}

/// Answers what is open as interrupted.
fn interrupted(mut messages: Vec<Message>) -> Vec<Message> {
    let open: Vec<String> = open_calls(&messages).iter().map(|call| call.id.clone()).collect();
    let results = open.into_iter().map(|call| Message::result(ToolResult::interrupted(call)));
    messages.extend(results);
    crate::message::exchange::sort_results(&mut messages);
    messages
}
