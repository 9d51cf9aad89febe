//! Postings of several places as one list.

use super::key::At;
use crate::collection::Posting;

/// Postings in order, all between two places.
pub(crate) struct Source<'a> {
    pub(crate) places: (At, At),
    pub(crate) found: Box<dyn Ordered + 'a>,
}

/// Postings in the order of keys.
pub(crate) trait Ordered {
    /// Returns the next one.
    fn next(&mut self) -> Option<Posting>;

    /// Shows all that are left until `visit` returns false. Returns whether it never did.
    fn show_all(&mut self, visit: &mut dyn FnMut(&Posting) -> bool) -> bool {
        while let Some(posting) = self.next() {
            if !visit(&posting) {
                return false;
            }
        }
        true
    }
}

impl<I: Iterator<Item = Posting>> Ordered for I {
    fn next(&mut self) -> Option<Posting> {
        Iterator::next(self)
    }
}

/// Shows postings of several sources, each in order, in the order of all, until `visit` returns false; tells
/// whether it never did.
pub(crate) fn in_order(
    mut sources: Vec<Source<'_>>,
    visit: &mut dyn FnMut(&Posting) -> bool,
) -> bool {
    sources.sort_by_key(|source| source.places);
    // Blocks are written one after another, so they seldom overlap.
    if sources.windows(2).all(|pair| pair[0].places.1 < pair[1].places.0) {
        return sources.iter_mut().all(|source| source.found.show_all(visit));
    }
    let mut heads: Vec<Option<Posting>> = sources.iter_mut().map(|it| it.found.next()).collect();
    loop {
        // The source that is first, and where another one would come before it.
        let standing =
            heads.iter().enumerate().filter_map(|(at, head)| Some((head.as_ref()?.key, at)));
        let Some((_, first)) = standing.clone().min() else { return true };
        let bound = standing.filter(|(_, at)| *at != first).map(|(key, _)| key).min();
        while let Some(posting) = &heads[first] {
            if bound.is_some_and(|bound| bound < posting.key) {
                break;
            }
            if !visit(posting) {
                return false;
            }
            heads[first] = sources[first].found.next();
        }
    }
}
