//! What an agent may do with a page through an anchor, and the keys that say so.

use super::{Anchor, AnchorKey};
use crate::{PageIndex, SegmentId};

/// The key of the form that searches all pages of the view.
pub(crate) const FIND: &str = "find";

/// Returns the form that searches all pages of the view.
pub(crate) fn find_anchor() -> (AnchorKey, Anchor) {
    let key = FIND.parse().expect("the key follows the grammar");
    (key, Anchor::form(None, &["query"]).expect("its parameter follows the grammar"))
}

/// Something an agent may do with one page.
///
/// Its key is `<action>-<index>`. A page's own reference has the bare index as its key.
///
/// ```
/// use contexture_core::{PageIndex, context::PageAction};
/// let page: PageIndex = "usr-3".parse()?;
/// assert_eq!(PageAction::Expand.key(&page).as_str(), "expand-usr-3");
/// assert_eq!(PageAction::parse_key("move-usr-3"), Some((PageAction::Move, page)));
/// assert_eq!(PageAction::parse_key("usr-3"), None);
/// # Ok::<(), contexture_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageAction {
    /// Shows the page in full.
    Expand,
    /// Shows the page's name and description only.
    Hide,
    /// Changes name, description and detail.
    Update,
    /// Puts the page under another directory.
    Move,
    /// Makes a page in this directory.
    Create,
}

impl PageAction {
    /// All actions.
    pub const ALL: [PageAction; 5] = [
        PageAction::Expand,
        PageAction::Hide,
        PageAction::Update,
        PageAction::Move,
        PageAction::Create,
    ];

    /// Returns the word its keys begin with.
    pub fn as_str(self) -> &'static str {
        match self {
            PageAction::Expand => "expand",
            PageAction::Hide => "hide",
            PageAction::Update => "update",
            PageAction::Move => "move",
            PageAction::Create => "create",
        }
    }

    /// Returns the parameters it needs.
    pub fn params(self) -> &'static [&'static str] {
        match self {
            PageAction::Expand | PageAction::Hide => &[],
            PageAction::Update | PageAction::Create => &["name", "description", "detail"],
            PageAction::Move => &["to"],
        }
    }

    /// Returns the key of the anchor that does this to a page.
    pub fn key(self, page: &PageIndex) -> AnchorKey {
        format!("{}-{page}", self.as_str()).parse().expect("an index follows the grammar of keys")
    }

    /// Returns the anchor that does this to a page.
    pub fn anchor(self, page: &PageIndex) -> Anchor {
        let target = page.to_string();
        match self.params() {
            [] => Anchor::button(Some(&target)),
            params => Anchor::form(Some(&target), params).expect("the names follow the grammar"),
        }
    }

    /// Tells whether keys of this action on pages of a segment act, in a view of `segments`.
    ///
    /// The page `expand-usr-3` of a segment `expand-usr` is named like the key that expands `usr-3`.
    /// A key that names a page is a reference to it and never acts. So where a view holds both
    /// segments, it offers no key that expands a page of `usr`.
    pub fn is_offered<'a>(
        self,
        segment: &SegmentId,
        segments: impl IntoIterator<Item = &'a SegmentId>,
    ) -> bool {
        let named = |other: &SegmentId| {
            let rest = other.as_str().strip_prefix(self.as_str());
            rest.and_then(|rest| rest.strip_prefix('-')) == Some(segment.as_str())
        };
        !segments.into_iter().any(named)
    }

    /// Reads a key as an action on a page; [`is_offered`](Self::is_offered) tells whether it is one.
    pub fn parse_key(key: &str) -> Option<(PageAction, PageIndex)> {
        let (word, index) = key.split_once('-')?;
        let action = PageAction::ALL.into_iter().find(|action| action.as_str() == word)?;
        Some((action, index.parse().ok()?))
    }
}

/// Returns the key of the reference to a page: its index.
pub(crate) fn reference_key(page: &PageIndex) -> AnchorKey {
    page.to_string().parse().expect("an index follows the grammar of keys")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{AnchorKind, Anchors};

    fn page(text: &str) -> PageIndex {
        text.parse().unwrap()
    }

    #[test]
    fn keys_read_back_as_what_they_were_made_of() {
        let long = format!("{}-{}", "x".repeat(64), u64::MAX);
        for index in ["usr-3", "pub-secure-12", "move-0", "expand-usr-3", "a_b-1", &long].map(page)
        {
            for action in PageAction::ALL {
                let key = action.key(&index);
                assert_eq!(PageAction::parse_key(key.as_str()), Some((action, index.clone())));
            }
            assert_eq!(reference_key(&index).as_str(), index.to_string());
        }
        for none in ["", "find", "usr-3", "expand", "expand-", "expand-3", "Expand-usr-3"] {
            assert_eq!(PageAction::parse_key(none), None, "{none:?}");
        }
    }

    // The standard anchors as they stand in text.
    #[test]
    fn actions_have_their_standard_anchors() {
        let usr = page("usr-3");
        let mut anchors = Anchors::default();
        for action in PageAction::ALL {
            anchors.register(action.key(&usr), action.anchor(&usr)).unwrap();
        }
        anchors.register(reference_key(&usr), Anchor::reference()).unwrap();
        let (key, find) = find_anchor();
        anchors.register(key, find).unwrap();
        let texts: Vec<String> =
            anchors.iter().filter_map(|(key, _)| anchors.text(key.as_str())).collect();
        assert_eq!(
            texts,
            [
                "[form:create-usr-3 name=… description=… detail=…]",
                "[button:expand-usr-3]",
                "[form:find query=…]",
                "[button:hide-usr-3]",
                "[form:move-usr-3 to=…]",
                "[form:update-usr-3 name=… description=… detail=…]",
                "[ref:usr-3]",
            ]
        );
        assert_eq!(anchors.get("expand-usr-3").unwrap().target(), Some("usr-3"));
        assert_eq!(anchors.get("move-usr-3").unwrap().kind(), AnchorKind::Form);
    }
}
