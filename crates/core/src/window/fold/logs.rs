//! Logs: pages of older work that keep their calls and lose their results.
//!
//! Agents take far more from their own calls than from results or prose, so calls stay longest. A
//! result stays where recent work is likely to need it: the latest reading, and that of each file
//! which the last calls name. A text that a later call writes again stands there alone.

use std::collections::HashSet;

use super::{Folding, MOST_LINES, lines::WORTH_A_LINE};
use crate::{
    PageIndex,
    quantity::thousandths,
    storage::Fold,
    window::{
        digest::Digest,
        plan::{BlockContent, Item},
    },
};

/// How many of the last calls say which files work is on.
const LAST_CALLS: usize = 3;

/// The most that a reading may take to be kept, in thousandths of the budget.
const READING: u64 = 250;

/// How many pages before the recent ones keep their logs beyond the low water, and up to where, in
/// thousandths of the room.
const NEWEST: (usize, u64) = (3, 600);

impl<'a> Folding<'a> {
    pub(super) fn share(&self, budget: u64, part: u64) -> u64 {
        thousandths(budget, part)
    }

    /// Returns the room for work, and what work takes of it: pages in full and logs, without the
    /// requests in them.
    fn room(&self, budget: u64) -> (u64, u64) {
        let work = self.items.iter().filter(|item| self.is_work(item));
        let work: u64 = work.map(|item| item.tokens.saturating_sub(item.requests)).sum();
        (budget.saturating_sub(self.total().saturating_sub(work)), work)
    }

    /// Tells whether logs leave enough room for what comes next.
    pub(super) fn has_log_room(&self, budget: u64) -> bool {
        let (room, work) = self.room(budget);
        work <= self.share(room, self.ground.shares.high_water)
    }

    /// Turns what was done since the last fold into logs, but for the recent pages and readings that
    /// are still needed. Nothing before it changes.
    pub(super) fn add_logs(&mut self, budget: u64) {
        let (room, _) = self.room(budget);
        let between = self.between(self.share(room, self.ground.shares.recent));
        let needed = self.needed(between.end, budget);
        let mut later = self.written_from(between.end);
        for at in between.rev() {
            if !needed.contains(&at) {
                self.log(at, &later);
            }
            later.extend(self.written(&self.items[at]));
        }
    }

    /// Lowers a page of a turn to its log, given what later pages write.
    fn log(&mut self, at: usize, later: &HashSet<&str>) {
        let item = &self.items[at];
        if self.is_work(item) && self.ground.logs.contains_key(&item.block.page.index) {
            self.lower(at, self.log_of(item, later));
        }
    }

    /// Returns the log a page becomes: without the texts it writes if later pages write them all again.
    fn log_of(&self, item: &Item, later: &HashSet<&str>) -> Fold {
        let calls = self.digest(item).into_iter().flat_map(Digest::calls);
        let mut writing = calls.filter(|call| call.bare.is_some()).peekable();
        let is_rewritten = writing.peek().is_some()
            && writing.all(|call| call.whole.iter().all(|file| later.contains(&**file)));
        if is_rewritten { Fold::Rewritten } else { Fold::Log }
    }

    /// Returns what the log of a page takes, without its request; none where it has no log.
    fn log_tokens(&self, item: &Item, later: &HashSet<&str>) -> Option<u64> {
        let logged = self.ground.logs.get(&item.block.page.index)?;
        let mut log = logged.item.clone();
        if self.log_of(item, later) == Fold::Rewritten {
            log.lower_to(Fold::Rewritten);
            self.dress(&mut log);
        }
        Some(log.tokens.saturating_sub(log.requests))
    }

    /// Returns the files that a page writes as a whole, where its calls stand.
    fn written(&self, item: &Item) -> impl Iterator<Item = &'a str> + use<'a> {
        let is_turn = item.block.as_page().is_some() && item.block.page.turn.is_some();
        let stands = is_turn && !matches!(item.block_content, BlockContent::Line(_));
        let ground: &'a super::Ground<'a> = self.ground;
        let digest = ground.quotes.digest(&item.block.page).filter(|_| stands);
        let calls = digest.into_iter().flat_map(Digest::calls);
        calls.flat_map(|call| &call.whole).map(|file| &**file)
    }

    /// Returns the files that the pages from a position on write as a whole.
    fn written_from(&self, at: usize) -> HashSet<&'a str> {
        self.items[at..].iter().flat_map(|item| self.written(item)).collect()
    }

    /// Settles everything before the recent pages again: the newest keep their logs, the others
    /// become lines of their turns, and requests stand while they fit their share.
    pub(super) fn refold_all(&mut self, budget: u64) {
        let shares = self.ground.shares;
        let (room, _) = self.room(budget);
        let end = self.recent_start(self.share(room, shares.recent));
        self.choose_requests(end, self.share(budget, shares.requests));
        let needed = self.needed(end, budget);
        let (room, _) = self.room(budget);
        let (low, newest) =
            (self.share(room, shares.low_water), self.share(room, NEWEST.1.max(shares.low_water)));
        let after = self.items[end..].iter().filter(|item| self.is_work(item));
        let mut used: u64 = after.map(|item| item.tokens).sum();
        let mut seen = 0;
        let mut later = self.written_from(end);
        let mut rest: HashSet<PageIndex> = HashSet::new();
        for at in (0..end).rev() {
            let item = &self.items[at];
            if !self.is_work(item) {
                continue;
            }
            let most = if seen < NEWEST.0 { newest } else { low };
            seen += 1;
            let work = item.tokens.saturating_sub(item.requests);
            let is_full = !item.is_line();
            if needed.contains(&at) && is_full && used + work <= most {
                used += work;
                later.extend(self.written(item));
                continue;
            }
            let log = self.log_tokens(item, &later).map_or(work, |log| log.min(work));
            if used + log <= most {
                used += log;
                self.log(at, &later);
                later.extend(self.written(&self.items[at]));
            } else {
                rest.insert(item.block.page.index.clone());
            }
        }
        let lines = self.share(budget, shares.lines).min(MOST_LINES);
        self.fold_pages(&rest, end, (lines, WORTH_A_LINE));
        self.merge_lines(lines);
    }

    /// Returns the pages before a position that hold readings which are still needed: the latest that
    /// stands in full, and the latest of each file that recent work names.
    fn needed(&self, end: usize, budget: u64) -> HashSet<usize> {
        let mut files: HashSet<&str> = HashSet::new();
        let calls = self.items.iter().rev().filter_map(|item| self.digest(item));
        let calls = calls.flat_map(|digest| digest.calls().rev()).take(LAST_CALLS);
        for call in calls {
            files.extend(call.files.iter().map(|file| &**file));
        }
        let mut needed = HashSet::new();
        let mut has_latest = false;
        let mut read: HashSet<&str> = HashSet::new();
        for at in (0..self.items.len()).rev() {
            let Some(digest) = self.digest(&self.items[at]) else { continue };
            let before = at.checked_sub(1).and_then(|at| self.digest(&self.items[at]));
            let is_named = readings(digest, before)
                .filter(|file| !read.contains(file))
                .map(|file| files.contains(file))
                .reduce(|one, other| one || other);
            read.extend(readings(digest, before));
            let fits = self.items[at].tokens <= self.share(budget, READING);
            let Some(is_named) = is_named.filter(|_| at < end && fits) else { continue };
            let is_latest = !has_latest && !self.items[at].is_line();
            has_latest |= is_latest;
            if is_named || is_latest {
                needed.insert(at);
            }
        }
        needed
    }
}

/// Returns the files whose reading a page holds the results of.
fn readings<'a>(digest: &'a Digest, before: Option<&'a Digest>) -> impl Iterator<Item = &'a str> {
    // Where results come as the user's, the call stands on the page before.
    let called_before = before.filter(|_| digest.continues());
    let last = called_before.and_then(|before| before.calls().next_back());
    let here = digest.calls().filter(|call| call.outcome.is_some());
    here.chain(last).flat_map(|call| &call.read).map(|file| &**file)
}
