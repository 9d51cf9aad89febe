//! Where pages stand in the window, and what a change there makes a provider read again.

use std::ops::Range;

use contexture_core::{Account, PageIndex, Result, Tokens, WindowLevel, window::PageAccount};

use super::Hand;

/// What stands in the agent's window, from one look at it.
pub(super) struct WindowSnapshot {
    /// None when the window cannot be made: it is too large.
    account: Option<Account>,
}

impl WindowSnapshot {
    /// Looks at the window.
    pub(super) async fn of(hand: &Hand) -> Self {
        let window = hand.session.window(&hand.options).await;
        Self { account: window.ok().map(|window| window.account) }
    }

    /// Returns what is seen without a look.
    pub(super) fn none() -> Self {
        Self { account: None }
    }

    /// Returns what a window may take.
    pub(super) fn budget(&self) -> Option<Tokens> {
        self.account.as_ref()?.budget.map(Tokens)
    }

    /// Lists what stands in the window, page by page or run by run.
    pub(super) fn pages(&self) -> &[PageAccount] {
        self.account.as_ref().map_or(&[], |account| &account.pages)
    }

    /// Returns the level and tokens of a page that stands in the window by itself.
    pub(super) fn page(&self, page: &PageIndex) -> Option<(WindowLevel, u64)> {
        let account = self.account.as_ref()?;
        let found = account.pages.iter().find(|item| item.page == *page)?;
        Some((found.level, found.tokens))
    }

    /// Returns where a page, with all below it, stands; a page of a run where the run's line does.
    pub(super) async fn range(
        &self,
        hand: &Hand,
        page: &PageIndex,
    ) -> Result<Option<Range<usize>>> {
        let Some(account) = &self.account else { return Ok(None) };
        let is_folded = |level| matches!(level, WindowLevel::Run | WindowLevel::Out);
        let own = account.pages.iter().position(|item| item.page == *page);
        let run = || {
            account.pages.iter().rposition(|item| {
                item.page.segment() == page.segment()
                    && item.page.number() <= page.number()
                    && is_folded(item.level)
            })
        };
        let below = |item: PageIndex| async move {
            let above = hand.session.get_ancestors(&item).await?;
            Ok::<bool, contexture_core::Error>(above.iter().any(|it| it.page.index == *page))
        };
        // A directory may take no line of its own: then it begins where its first page stands.
        let (start, mut end) = match own {
            Some(at) => (at, at + 1),
            None if !hand.session.get_page(page).await?.page.is_contents() => {
                return Ok(run().map(|at| at..at + 1));
            }
            None => {
                let mut first = None;
                for (at, item) in account.pages.iter().enumerate() {
                    if item.page.segment() == page.segment() && below(item.page.clone()).await? {
                        first = Some(at);
                        break;
                    }
                }
                let Some(first) = first else { return Ok(run().map(|at| at..at + 1)) };
                (first, first + 1)
            }
        };
        while let Some(item) = account.pages.get(end) {
            if item.page.segment() != page.segment() || !below(item.page.clone()).await? {
                break;
            }
            end += 1;
        }
        Ok(Some(start..end))
    }

    /// Adds up what stands in a range.
    pub(super) fn tokens(&self, range: &Range<usize>) -> u64 {
        self.pages().get(range.clone()).unwrap_or_default().iter().map(|item| item.tokens).sum()
    }

    /// Adds up what stands behind a range.
    pub(super) fn behind(&self, range: &Range<usize>) -> u64 {
        self.pages().iter().skip(range.end).map(|item| item.tokens).sum()
    }

    /// Says what changing pages does to the prompt cache.
    pub(super) fn effect(&self, changed: &[Option<Range<usize>>]) -> String {
        if self.account.is_none() {
            return "applies at once; how much is read again is unknown: the window is over its budget".to_owned();
        }
        let mut ranges = changed.iter().flatten().peekable();
        if ranges.peek().is_none() {
            return "it is not in the window: the cache stays valid".to_owned();
        }
        match ranges.map(|range| self.behind(range)).max().unwrap_or_default() {
            0 => "it is at the end: the cache stays valid".to_owned(),
            behind => format!(
                "applies at once: the next request reads everything after it again, about {behind} tokens"
            ),
        }
    }
}
