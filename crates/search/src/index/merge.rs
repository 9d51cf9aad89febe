//! Postings of several places as one list.

use crate::collection::Posting;

/// Shows postings of several sources, each in order, in the order of all, until `visit` returns false; tells
/// whether it never did.
pub(crate) fn in_order(
    mut sources: Vec<Box<dyn Iterator<Item = Posting> + '_>>,
    visit: &mut dyn FnMut(&Posting) -> bool,
) -> bool {
    if let [only] = sources.as_mut_slice() {
        return only.all(|posting| visit(&posting));
    }
    let mut heads: Vec<Option<Posting>> = sources.iter_mut().map(Iterator::next).collect();
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
            heads[first] = sources[first].next();
        }
    }
}
