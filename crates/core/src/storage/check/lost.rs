//! Lost texts: what stands in their place, and how a page is known to have lost its text.
//!
//! A page has lost its text when its content is one of the fixed placeholders below. So the mark needs
//! no field of its own, survives every storage, copy and export, and goes when the page is written again.

use std::sync::LazyLock;

use crate::{
    Message, Page, Role,
    storage::{Content, ContentHash, PageDetail},
};

/// What a page says whose content is lost.
const LOST: &str =
    "The content of this page was lost: it could not be read when the store was repaired.";

/// What it says once somebody accepted that.
const ACCEPTED: &str = "The content of this page was lost: it could not be read when the store was repaired. \
     The loss was accepted.";

/// The roles in which a placeholder can stand.
const ROLES: [Role; 2] = [Role::System, Role::User];

/// Returns what stands for the lost text of a page: a message of the talk in a turn, a note elsewhere.
pub(super) fn placeholder(page: &Page) -> (Content, PageDetail) {
    Content::with_detail(&[Message::text(role(page), LOST)])
}

/// Returns what stands there once the loss was accepted.
pub(super) fn accepted(page: &Page) -> (Content, PageDetail) {
    Content::with_detail(&[Message::text(role(page), ACCEPTED)])
}

fn role(page: &Page) -> Role {
    if page.turn.is_some() { Role::User } else { Role::System }
}

/// Tells whether a page lost its text, and nobody wrote it again or accepted that.
pub fn is_lost(page: &Page) -> bool {
    static HASHES: LazyLock<[ContentHash; 2]> =
        LazyLock::new(|| ROLES.map(|role| Content::encode(&[Message::text(role, LOST)]).hash()));
    page.detail().is_some_and(|detail| HASHES.contains(&detail.content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Actor, Revision, Timestamp, Trust, Visibility,
        storage::{PageBody, PageStanding, Place, Version},
    };

    fn page(body: PageBody, turn: Option<&str>) -> Page {
        Page {
            index: "usr-1".parse().unwrap(),
            parent: Some("usr-0".parse().unwrap()),
            place: Place(1),
            body,
            name: "x".parse().unwrap(),
            description: Default::default(),
            visibility: Visibility::Expanded,
            standing: PageStanding::InTree,
            author: Actor::System,
            rewritten_by: None,
            trust: Trust::System,
            sources: Vec::new(),
            turn: turn.map(|turn| turn.parse().unwrap()),
            version: Version(1),
            revision: Revision(1),
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn a_placeholder_is_known_until_it_is_accepted() {
        for turn in [None, Some("usr-1")] {
            let mut page = page(PageBody::Contents, turn);
            assert!(!is_lost(&page));
            page.body = PageBody::Detail(placeholder(&page).1);
            assert!(is_lost(&page));
            page.body = PageBody::Detail(accepted(&page).1);
            assert!(!is_lost(&page));
        }
    }
}
