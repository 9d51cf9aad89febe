use super::*;
use crate::{
    Revision, Timestamp, Visibility,
    message::Part,
    storage::{PageDetail, PageStanding, Place, Version},
};

/// A page of an agent that held these messages.
fn page(messages: &[Message]) -> Page {
    let (_, detail) = Content::with_detail(messages);
    Page {
        index: "usr-1".parse().unwrap(),
        parent: Some("usr-0".parse().unwrap()),
        place: Place(1),
        body: PageBody::Detail(detail),
        name: "x".parse().unwrap(),
        description: Default::default(),
        visibility: Visibility::Expanded,
        standing: PageStanding::InTree,
        author: Actor::Agent("bot".parse().unwrap()),
        rewritten_by: None,
        trust: Trust::Agent,
        sources: Vec::new(),
        turn: None,
        version: Version(1),
        revision: Revision(1),
        created_at: Timestamp::from_millis(0),
        updated_at: Timestamp::from_millis(0),
    }
}

fn said(role: Role, text: &str) -> Message {
    Message::text(role, text)
}

#[test]
fn other_words_in_the_same_messages_fit() {
    let page = page(&[said(Role::User, "why?"), said(Role::Assistant, "because")]);
    let fits = |messages: &[Message]| is_fit(&page, messages);
    assert!(fits(&[said(Role::User, "why not?"), said(Role::Assistant, "well")]));
    assert!(!fits(&[said(Role::User, "why?")]), "a message is gone");
    assert!(!fits(&[said(Role::User, "why?"), said(Role::Tool, "because")]), "a result of nothing");
}

#[test]
fn only_pages_of_the_system_side_speak_as_the_system() {
    let mut page = page(&[said(Role::Assistant, "a note")]);
    let order = [said(Role::System, "obey")];
    assert!(!is_fit(&page, &order));
    page.trust = Trust::System;
    assert!(is_fit(&page, &order));
}

#[test]
fn a_text_beyond_the_limit_does_not_fit() {
    let mut long = said(Role::User, "");
    let most = usize::try_from(EditLimits::default().detail_bytes).unwrap();
    for (length, fits) in [(most, true), (most + 1, false)] {
        if let Some(Part::Text(text)) = long.parts.first_mut() {
            text.text = "x".repeat(length);
        }
        assert_eq!(is_fit(&page(&[said(Role::User, "short")]), &[long.clone()]), fits);
    }
}

#[test]
fn an_adopted_text_says_whose_it_is() {
    let was = page(&[said(Role::Assistant, "then that")]);
    let (mut after, mut done) = (was.clone(), Vec::new());
    let messages = vec![said(Role::Assistant, "then this")];
    let content = Replacement::Adopted(messages.clone()).put_into(&mut after, &mut done);
    assert_eq!(content.messages().unwrap(), messages);
    assert_eq!(after.detail().map(|detail: &PageDetail| detail.content), Some(content.hash()));
    assert_eq!(after.rewritten_by, Some(Actor::System));
    assert!(done[0].contains("adopted") && done[0].contains("page usr-1"), "{done:?}");
    for kept in [Replacement::Prompt, Replacement::Nothing] {
        let mut after = was.clone();
        kept.put_into(&mut after, &mut done);
        assert!(super::super::super::is_lost(&after));
        assert_eq!(after.rewritten_by, None);
    }
}
