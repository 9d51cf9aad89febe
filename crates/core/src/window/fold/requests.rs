//! Requests: what was asked stands, though the work on it is folded.

use std::collections::HashMap;

use super::Folding;
use crate::{
    PageIndex,
    storage::KeptRequest,
    window::{outline::Shape, plan::Item},
};

/// A request that may stand.
struct Candidate {
    page: PageIndex,
    brief: bool,
    /// What it takes word for word, and by its beginning and its end.
    sizes: (u64, u64),
}

impl Candidate {
    fn tokens(&self) -> u64 {
        if self.brief { self.sizes.1 } else { self.sizes.0 }
    }
}

impl Folding<'_> {
    /// Finds what was asked last, where its page is not the last.
    pub(super) fn find_open_request(&self) -> Option<PageIndex> {
        let last = self.last_page()?;
        let asks = |item: &Item| match &item.block.shape {
            Shape::Run(run) => run.requests.last().map(|request| request.page.clone()),
            Shape::Page(_) => {
                self.digest(item)?.asked.as_ref()?;
                Some(item.block.page.index.clone())
            }
        };
        let before = self.items[..=last].iter().rev().filter(|item| self.is_in_scope(item));
        let asked = before.filter(|item| !item.system).find_map(asks);
        asked.filter(|page| *page != self.items[last].block.page.index)
    }

    /// Decides which requests before a position stand: the one that is open, and others while they fit
    /// their share. The oldest are shortened first, then told by lines alone.
    pub(super) fn choose_requests(&mut self, end: usize, most: u64) {
        let is_open = |page: &PageIndex| self.open.as_ref() == Some(page);
        let mut candidates = self.candidates_before(end);
        let mut total: u64 = candidates.iter().map(Candidate::tokens).sum();
        for candidate in candidates.iter_mut().filter(|it| !is_open(&it.page)) {
            if total > most && candidate.sizes.1 < candidate.tokens() {
                total -= candidate.tokens() - candidate.sizes.1;
                candidate.brief = true;
            }
        }
        let mut chosen = HashMap::new();
        for candidate in candidates {
            if total > most && !is_open(&candidate.page) {
                total -= candidate.tokens();
            } else {
                chosen.insert(candidate.page, candidate.brief);
            }
        }
        self.requests = Some(chosen);
    }

    /// Returns the requests before a position, oldest first.
    fn candidates_before(&self, end: usize) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        let mut offer = |page: &PageIndex, brief: bool| {
            let logged = self.ground.logs.get(page).filter(|logged| logged.item.requests > 0);
            candidates.extend(logged.map(|logged| {
                let sizes = (logged.item.requests, logged.brief);
                Candidate { page: page.clone(), brief, sizes }
            }));
        };
        for item in self.items[..end].iter().filter(|item| self.is_in_scope(item)) {
            match &item.block.shape {
                Shape::Run(run) => run.requests.iter().for_each(|it| offer(&it.page, it.brief)),
                Shape::Page(_) if self.is_work(item) => offer(&item.block.page.index, false),
                Shape::Page(_) => {}
            }
        }
        candidates
    }

    /// Returns the request of a page that is folded, where it is to stand.
    pub(super) fn standing(&self, page: &PageIndex) -> Option<KeptRequest> {
        let is_open = self.open.as_ref() == Some(page);
        let brief = match &self.requests {
            Some(chosen) => *chosen.get(page)?,
            // As long as nothing was settled only what is open stands by itself.
            None if is_open => false,
            None => return None,
        };
        Some(KeptRequest { page: page.clone(), brief })
    }
}
