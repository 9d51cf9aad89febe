//! What history left in a session and is gone is made again, or says that it was lost.

use contexture_core::{
    Advice, Conversation, Edit, ErrorKind, NewSegment, Page, PageIndex, PageStorage, PageUpdate,
    SegmentKind, Timestamp,
    message::detail_text,
    storage::{
        ImportPart, PageStanding, Version,
        check::{Losses, accept_losses, check_session, is_lost, repair_session, repair_storage},
    },
};
use contexture_testkit::{
    fixture::{agent, apply, description, leaf, page, reopen, segment, session_id, user},
    window::options,
};
use futures::executor::block_on;

use crate::repairing::{copied, damaged, mended, pages, problems};

const AT: i64 = 7;

fn lose(part: &mut ImportPart, index: &str) {
    pages(part, |pages| pages.retain(|lost| lost.index != page(index)));
}

/// Loses a page with its text: the content goes with its last reference. What made the page counts as
/// having changed it only, so that history knows what it was like.
fn lose_with_text(part: &mut ImportPart, index: &str, parent: &str) {
    lose(part, index);
    let ImportPart::History(entries) = part else { return };
    for before in entries.iter_mut().flat_map(|entry| &mut entry.inverse.pages) {
        if before.index == page(index) && before.assigned.is_some() {
            before.before = Some(as_it_was(&before.index, parent));
            before.assigned = None;
        }
    }
}

async fn read(storage: &dyn PageStorage, index: &str) -> Page {
    storage.pages(&session_id(), &[page(index)]).await.unwrap().remove(0).unwrap()
}

async fn text(storage: &dyn PageStorage, page: &Page) -> String {
    let hash = page.detail().unwrap().content;
    let content = storage.contents(&session_id(), &[hash]).await.unwrap().remove(0).unwrap();
    detail_text(&content.messages().unwrap())
}

#[test]
fn a_lost_page_comes_back_with_its_text_where_it_stood() {
    block_on(async {
        let storage = damaged(|part| lose(part, "usr-4")).await;
        let done = mended(&storage).await;
        assert_eq!(done, ["page usr-4 was lost and was rebuilt from the history"]);
        let made = read(&*storage, "usr-4").await;
        assert_eq!(text(&*storage, &made).await, "text of flat");
        assert_eq!(made.parent, Some(page("usr-0")));
        assert!(read(&*storage, "usr-1").await.place < made.place);
        assert!(made.place < read(&*storage, "usr-5").await.place);
        // A purge finds every edit of it.
        let system = reopen(storage.clone()).await;
        apply(&system, Edit::PurgePage(page("usr-4"))).await;
        let hash = made.detail().unwrap().content;
        assert_eq!(storage.contents(&session_id(), &[hash]).await.unwrap(), [None]);
        assert_eq!(problems(&*storage).await, [""; 0]);
    });
}

#[test]
fn a_page_that_is_lost_with_its_text_says_so() {
    block_on(async {
        let storage = damaged(|part| lose_with_text(part, "usr-4", "usr-1")).await;
        let done = mended(&storage).await;
        assert_eq!(done, ["page usr-4 is lost, and a page in its place now says so"]);
        let made = read(&*storage, "usr-4").await;
        assert!(is_lost(&made));
        assert!(text(&*storage, &made).await.contains("was lost"));
        assert_eq!((made.name.as_str(), made.parent), ("as it was", Some(page("usr-1"))));
    });
}

/// A page as an edit found it, whose content nobody has.
fn as_it_was(index: &PageIndex, parent: &str) -> Page {
    let content = contexture_core::storage::ContentHash::of(b"nothing");
    let detail = contexture_core::storage::PageDetail {
        content,
        messages: 1,
        counted: None,
        weight: 1,
        open: Vec::new(),
    };
    Page {
        index: index.clone(),
        parent: Some(page(parent)),
        place: contexture_core::storage::Place(1),
        body: contexture_core::storage::PageBody::Detail(detail),
        name: "as it was".parse().unwrap(),
        description: description("about it"),
        visibility: contexture_core::Visibility::Expanded,
        standing: PageStanding::InTree,
        author: contexture_core::Actor::System,
        rewritten_by: None,
        trust: contexture_core::Trust::User,
        sources: Vec::new(),
        turn: None,
        version: Version(1),
        revision: contexture_core::Revision(1),
        created_at: Timestamp::from_millis(1),
        updated_at: Timestamp::from_millis(1),
    }
}

#[test]
fn a_lost_segment_is_made_again_read_only() {
    block_on(async {
        let storage = damaged(|part| {
            if let ImportPart::Segments(segments) = part {
                segments.retain(|lost| lost.id != segment("usr"));
            }
            pages(part, |pages| pages.retain(|lost| *lost.index.segment() != segment("usr")));
            if let ImportPart::Levels(chunks) = part {
                chunks.retain(|(key, _)| key.segment != segment("usr"));
            }
        })
        .await;
        mended(&storage).await;
        let segments = storage.segments(&session_id()).await.unwrap();
        let made = segments.iter().find(|made| made.id == segment("usr")).unwrap();
        assert_eq!(made.kind, SegmentKind::User);
        assert_eq!(made.permission, contexture_core::Permission::ReadOnly);
        assert!(made.next_number >= 6, "numbers are never reused");
        assert_eq!(text(&*storage, &read(&*storage, "usr-5").await).await, "text of last");
    });
}

#[test]
fn a_page_that_is_older_than_its_history_is_noticed() {
    block_on(async {
        let storage = damaged(|_| {}).await;
        let old = read(&*storage, "usr-4").await;
        let system = reopen(storage.clone()).await;
        let mut update = PageUpdate::of(page("usr-4"));
        update.detail = Some("newer".to_owned());
        apply(&system, Edit::UpdatePage(update)).await;
        let watched = contexture_testkit::fake::WatchedStorage::new(std::sync::Arc::new(
            contexture_core::MemoryStorage::new(),
        ));
        contexture_core::storage::copy::copy_session(
            &*storage,
            &*watched,
            &session_id(),
            &mut |_| {},
        )
        .await
        .unwrap();
        let restored: std::sync::Arc<dyn PageStorage> =
            std::sync::Arc::new(contexture_core::MemoryStorage::new());
        for mut part in watched.imported() {
            pages(&mut part, |pages| {
                pages.iter_mut().filter(|page| page.index == old.index).for_each(|page| {
                    page.clone_from(&old);
                });
            });
            restored.import(&session_id(), part).await.unwrap();
        }
        let found = problems(&*restored).await;
        assert!(found.iter().any(|found| found.contains("page usr-4 is not as")), "{found:?}");
        mended(&restored).await;
        let stands = read(&*restored, "usr-4").await;
        assert!(stands.version > Version(2));
        assert_eq!(text(&*restored, &stands).await, "text of flat");
    });
}

// What was purged or undone does not come back, even if the entry that did it is lost.
#[test]
fn what_was_taken_away_stays_away() {
    block_on(async {
        let storage = damaged(|_| {}).await;
        let system = reopen(storage.clone()).await;
        apply(&system, Edit::PurgePage(page("usr-4"))).await;
        let made = leaf(&system, "usr-0", "undone").await;
        apply(&system, Edit::Undo { revision: None }).await;
        let at = Timestamp::from_millis(AT);
        assert_eq!(problems(&*storage).await, [""; 0]);
        assert_eq!(repair_session(&*storage, &session_id(), at).await.unwrap(), [""; 0]);
        let gone = [page("usr-4"), made];
        assert_eq!(storage.pages(&session_id(), &gone).await.unwrap(), [None, None]);
    });
}

// A lost prompt stops every request, until it is written again or the loss is accepted.
#[test]
fn no_request_goes_out_on_a_lost_prompt() {
    block_on(async {
        for accept in [true, false] {
            let storage = damaged(|part| lose_with_text(part, "sys-1", "sys-0")).await;
            let (at, prompt) = (Timestamp::from_millis(AT), page("sys-1"));
            repair_session(&*storage, &session_id(), at).await.unwrap();
            let system = reopen(storage.clone()).await;
            agent(&system, "bot").add_turn(vec![user("hello")]).await.unwrap();
            let openai = || options("openai".parse().unwrap());
            let conversation = Conversation::new(agent(&system, "bot"), openai());
            assert!(is_lost(&read(&*storage, "sys-1").await));
            let refused = conversation.request().await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Corrupt, "{refused}");
            assert_eq!(refused.advice(), Advice::RewritePrompt { page: page("sys-1") });
            // People see what is lost.
            let window = agent(&system, "bot").window(&openai()).await.unwrap();
            assert!(window.body.contains("was lost"), "{}", window.body);
            let found = check_session(&*storage, &session_id()).await.unwrap();
            assert!(found.len() == 1 && found[0].contains("sys-1 was lost"), "{found:?}");
            if accept {
                let left = repair_storage(&*storage, Losses::Report, at).await.unwrap();
                assert_eq!(left.problems.len(), 1, "{left:?}");
                let done = accept_losses(&*storage, &session_id(), at).await.unwrap();
                assert_eq!(done, ["the loss of page sys-1 was accepted"]);
            } else {
                let mut update = PageUpdate::of(prompt);
                update.detail = Some("written again".to_owned());
                apply(&system, Edit::UpdatePage(update)).await;
            }
            assert_eq!(problems(&*storage).await, [""; 0]);
            let system = reopen(storage.clone()).await;
            let sent = Conversation::new(agent(&system, "bot"), openai()).request().await.unwrap();
            assert_eq!(sent.body.contains("written again"), !accept, "{}", sent.body);
        }
    });
}

/// Takes away every edit that speaks of a page.
fn lose_edits(part: &mut ImportPart, index: &str) {
    if let ImportPart::History(entries) = part {
        let speaks = |entry: &contexture_core::HistoryEntry| {
            entry.inverse.pages.iter().any(|before| before.index == page(index))
        };
        entries.retain(|entry| !speaks(entry));
    }
}

#[test]
fn a_prompt_that_left_no_trace_is_missed() {
    block_on(async {
        let storage = damaged(|part| {
            lose(part, "sys-1");
            lose_edits(part, "sys-1");
        })
        .await;
        let at = Timestamp::from_millis(AT);
        assert_eq!(repair_session(&*storage, &session_id(), at).await.unwrap(), [""; 0]);
        let found = problems(&*storage).await;
        let said = "edits were lost, and perhaps system prompt page sys-1";
        assert!(found.len() == 1 && found[0].contains(said), "{found:?}");
        let done = accept_losses(&*storage, &session_id(), at).await.unwrap();
        assert_eq!(done, ["the loss of edits and of what they created was accepted"]);
        assert_eq!(problems(&*storage).await, [""; 0]);
        assert_eq!(accept_losses(&*storage, &session_id(), at).await.unwrap(), [""; 0]);
        // What is done from now on is known, whatever was lost before.
        let system = reopen(storage.clone()).await;
        let slip = leaf(&system, "sys-0", "slip").await;
        apply(&system, Edit::Undo { revision: None }).await;
        for id in ["notes", "more"] {
            let kind = SegmentKind::Custom;
            apply(&system, Edit::AddSegment(NewSegment::new(segment(id), kind))).await;
            let (cascade, force) = (true, false);
            let remove = Edit::RemoveSegment { segment: segment(id), cascade, force };
            apply(&system, remove).await;
        }
        apply(&system, Edit::AddSegment(NewSegment::new(segment("notes"), SegmentKind::Custom)))
            .await;
        assert_eq!(storage.pages(&session_id(), &[slip]).await.unwrap(), [None]);
        assert_eq!(problems(&*storage).await, [""; 0]);
    });
}

// An undo marks the edit it takes back, and so does one that takes back the undo.
#[test]
fn a_page_whose_undo_was_undone_is_missed_with_the_last_edit() {
    block_on(async {
        let whole = damaged(|_| {}).await;
        let system = reopen(whole.clone()).await;
        let made = leaf(&system, "sys-0", "again").await;
        let undone = apply(&system, Edit::Undo { revision: None }).await;
        let redone = apply(&system, Edit::Undo { revision: Some(undone.revision) }).await;
        let part = |part: &mut ImportPart| {
            lose(part, &made.to_string());
            if let ImportPart::History(entries) = part {
                entries.retain(|entry| entry.revision != redone.revision);
            }
        };
        let storage = copied(&whole, part).await;
        let found = problems(&*storage).await;
        assert!(found.iter().any(|found| found.contains("page sys-2 is not as")), "{found:?}");
        mended(&storage).await;
        assert_eq!(text(&*storage, &read(&*storage, "sys-2").await).await, "text of again");
    });
}

// Neither history nor a name says what it was for.
#[test]
fn a_segment_of_an_unknown_kind_must_be_looked_at() {
    block_on(async {
        let whole = damaged(|_| {}).await;
        let system = reopen(whole.clone()).await;
        let rules = NewSegment::new(segment("rules"), SegmentKind::System);
        apply(&system, Edit::AddSegment(rules)).await;
        let part = |part: &mut ImportPart| {
            if let ImportPart::Segments(segments) = part {
                segments.retain(|lost| lost.id != segment("rules"));
            }
            pages(part, |pages| pages.retain(|lost| *lost.index.segment() != segment("rules")));
        };
        let storage = copied(&whole, part).await;
        let at = Timestamp::from_millis(AT);
        let left = repair_storage(&*storage, Losses::Report, at).await.unwrap();
        assert!(left.done[0].contains("with kind custom and permission read-only"), "{left:?}");
        let said = "the kind of segment rules is unknown";
        assert!(left.problems.len() == 1 && left.problems[0].contains(said), "{left:?}");
        let left = repair_storage(&*storage, Losses::Accept, at).await.unwrap();
        assert_eq!(left.problems, [""; 0], "{left:?}");
    });
}

#[test]
fn a_segment_that_left_no_trace_is_missed() {
    block_on(async {
        let storage = damaged(|part| {
            if let ImportPart::Segments(segments) = part {
                segments.retain(|lost| lost.id != segment("sys"));
            }
            pages(part, |pages| pages.retain(|lost| *lost.index.segment() != segment("sys")));
            ["sys-0", "sys-1"].iter().for_each(|index| lose_edits(part, index));
        })
        .await;
        let found = problems(&*storage).await;
        assert!(
            found.len() == 1 && found[0].contains("perhaps a segment with them, number 0"),
            "{found:?}"
        );
        let at = Timestamp::from_millis(AT);
        let left = repair_storage(&*storage, Losses::Report, at).await.unwrap();
        assert_eq!(left.problems.len(), 1, "{left:?}");
        let done = accept_losses(&*storage, &session_id(), at).await.unwrap();
        assert_eq!(done, ["the loss of edits and of what they created was accepted"]);
        assert_eq!(problems(&*storage).await, [""; 0]);
    });
}

// Two that were added at the same time share a place in the order.
#[test]
fn segments_at_one_place_are_exported_whole() {
    block_on(async {
        let storage = damaged(|part| {
            if let ImportPart::Segments(segments) = part {
                segments.iter_mut().for_each(|segment| segment.ordinal = 0);
            }
        })
        .await;
        assert_eq!(problems(&*storage).await, [""; 0]);
        let system = reopen(storage.clone()).await;
        let document = contexture_core::document::export(&system).await.unwrap();
        for text in ["text of prompt", "text of flat", "text of last"] {
            assert!(document.contains(text), "{text}: {document}");
        }
    });
}
