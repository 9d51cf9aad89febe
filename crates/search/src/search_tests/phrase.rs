//! Quoted texts, single syllables, and which message of a turn is shown.

use contexture_core::Role;

use super::*;

// Far more messages have both words than are ranked as candidates, and all of them have them more often.
#[test]
fn a_phrase_is_found_behind_many_texts_that_have_its_words() {
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    block_on(async {
        let system = begin(storage.clone()).await;
        let wanted =
            say(&system, "usr", "Somewhere in this long text we lit a copper lantern.").await;
        for _ in 0..700 {
            say(&system, "usr", "lantern or copper or lantern or copper or lantern").await;
        }
        let index = SearchIndex::open(storage, None).unwrap();
        let session = system.as_system();
        assert_eq!(found(&index, &session, "\"copper lantern\"").await, [wanted.to_string()]);
        assert!(found(&index, &session, "\"copper meadow\"").await.is_empty());
        // An agent that does not see the page does not find it by its phrase either.
        let mut view = View::common(valid("beta"));
        view.filter.without = [wanted].into();
        let session = system.held_by(Principal::from(view));
        assert!(found(&index, &session, "\"copper lantern\"").await.is_empty());
    });
}

#[test]
fn a_name_of_code_is_found_in_quotes_and_a_syllable_alone() {
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    block_on(async {
        let system = begin(storage.clone()).await;
        let code = say(&system, "usr", "It calls getUserName in the end.").await.to_string();
        let book = say(&system, "usr", "한국어 책").await.to_string();
        let index = SearchIndex::open(storage, None).unwrap();
        let session = system.as_system();
        assert_eq!(found(&index, &session, "\"getUserName\"").await, std::slice::from_ref(&code));
        assert_eq!(found(&index, &session, "\"calls getUserName\"").await, [code]);
        assert_eq!(found(&index, &session, "한").await, [book]);
    });
}

#[test]
fn a_question_that_the_name_repeats_shows_its_answer() {
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    block_on(async {
        let system = begin(storage.clone()).await;
        let messages =
            vec![user("Where is the lantern?"), assistant("On the quay by the harbour.")];
        let segment = super::segment("usr");
        system.as_system().apply(Edit::AddTurn { segment, messages }).await.unwrap();
        let index = SearchIndex::open(storage, None).unwrap();
        let session = system.as_system();
        let hits = index.find(&session, &FindQuery::new("lantern")).await.unwrap();
        assert_eq!((hits[0].message, hits[0].role), (Some(1), Some(Role::Assistant)));
        assert!(hits[0].snippet.text.contains("quay"), "{:?}", hits[0].snippet);
        // Where only requests are wanted, a request is shown.
        let query = FindQuery { roles: vec![Role::User], ..FindQuery::new("lantern") };
        let hits = index.find(&session, &query).await.unwrap();
        assert_eq!((hits[0].message, hits[0].role), (Some(0), Some(Role::User)));
    });
}

#[test]
fn indices_of_earlier_versions_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let earlier = folder.path().join("index-1");
    std::fs::create_dir(&earlier).unwrap();
    std::fs::write(earlier.join("words"), "secret").unwrap();
    let _index = SearchIndex::open(Arc::new(MemoryStorage::new()), Some(folder.path())).unwrap();
    assert!(!earlier.exists());
}
