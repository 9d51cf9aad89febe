//! Tests of how pages become documents.

use std::sync::Arc;

use contexture_core::{
    ContextSystem, Edit, ManualClock, MemoryStorage, NewSegment, SegmentKind, Session,
    message::{RawJson, ToolCall},
};

use super::*;

async fn session() -> Session {
    let clock = Arc::new(ManualClock::at_millis(1_000));
    let storage = Arc::new(MemoryStorage::new());
    let name = "test".parse().expect("a session");
    let system = ContextSystem::create(storage, name, "test", clock).await.expect("a system");
    let segment = NewSegment::new("usr".parse().expect("a segment"), SegmentKind::User);
    let host = system.as_system();
    host.apply(Edit::AddSegment(segment)).await.expect("added");
    host
}

async fn documents(host: &Session, page: &PageIndex) -> Vec<Document<'static>> {
    let messages = host.get_messages(page).await.expect("messages");
    let page = host.get_page(page).await.expect("a page").page;
    Document::of_page(&page, &messages).into_iter().map(Document::into_owned).collect()
}

#[test]
fn turns_have_speakers_times_and_fields() {
    futures::executor::block_on(async {
        let host = session().await;
        let mut asked = Message::text(Role::User, "Where is the key?");
        asked.at = Some(Timestamp::from_millis(5_000));
        asked.extra.push("name", RawJson::string("Ann"));
        let mut answer = Message::text(Role::Assistant, "Under the mat.");
        answer.parts.push(Part::ToolCall(ToolCall {
            id: "1".to_owned(),
            name: "look".to_owned(),
            arguments: "{\"at\":\"mat\"}".to_owned(),
            extra: Default::default(),
        }));
        let result = Message::result(ToolResult::text("1", "a key"));
        let pages = host.add_turn(vec![asked, answer, result]).await.expect("a turn");
        let documents = documents(&host, &pages[0]).await;
        // The page is named after what was asked: that is not said twice.
        let numbers: Vec<u16> = documents.iter().map(|document| document.message).collect();
        assert_eq!(numbers, [1, 2, 3]);
        let speakers: Vec<_> = documents.iter().map(|it| it.speaker.as_deref()).collect();
        assert_eq!(speakers, [Some("Ann"), Some("assistant"), Some("tool")]);
        assert_eq!(documents[0].at, Timestamp::from_millis(5_000));
        let fields: Vec<Vec<Field>> = documents
            .iter()
            .map(|document| document.texts.iter().map(|(field, _)| *field).collect())
            .collect();
        assert_eq!(
            fields,
            [vec![Field::Request], vec![Field::Answer, Field::Tool], vec![Field::Tool]]
        );
        assert!(documents[0].marks(|_| true).ends_asking());
        assert_eq!(documents[1].marks(|field| field == Field::Tool), Marks::default());
    });
}

#[test]
fn nobody_says_a_note_and_its_name_is_a_document() {
    futures::executor::block_on(async {
        let host = session().await;
        let page = host
            .create_detail_page("Plan", "how to ship", "1. build 2. test", "usr-0")
            .await
            .expect("a note");
        let documents = documents(&host, &page).await;
        assert_eq!(documents.len(), 2);
        let texts: Vec<&str> = documents[0].texts.iter().map(|(_, text)| &**text).collect();
        assert_eq!(texts, ["Plan", "how to ship"]);
        assert!(documents.iter().all(|document| document.speaker_hash() == 0));
    });
}

#[test]
fn a_speaker_is_the_same_in_any_spelling() {
    assert_eq!(speaker_hash("Zoë"), speaker_hash("zoe"));
    assert_ne!(speaker_hash("Ann"), speaker_hash("Anna"));
    assert_eq!(speaker_hash("  "), 0);
}
