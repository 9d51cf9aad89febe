//! Tests of the ranking on small conversations.

use contexture_core::Timestamp;

use super::*;
use crate::{
    document::{Document, Field},
    memory::MemoryCollection,
};

const DAY: i64 = 24 * 60 * 60 * 1000;

fn collection(turns: &[(&str, &str)]) -> MemoryCollection {
    let mut collection = MemoryCollection::new();
    for (number, (speaker, text)) in turns.iter().enumerate() {
        insert(&mut collection, number, speaker, text, 1, 0);
    }
    collection
}

fn insert(
    collection: &mut MemoryCollection,
    number: usize,
    speaker: &str,
    text: &str,
    chapter: u32,
    day: i64,
) {
    let document = Document {
        page: format!("usr-{}", number + 1).parse().expect("an index"),
        message: 1,
        messages: 1,
        texts: vec![(Field::Request, text.into())],
        speaker: (!speaker.is_empty()).then(|| speaker.into()),
        at: Timestamp::from_millis(1_683_504_000_000 + day * DAY),
        chapter,
    };
    collection.insert(key(number), &document);
}

fn key(number: usize) -> DocKey {
    DocKey { segment: 0, page: number as u32 + 1, message: 1 }
}

fn search(collection: &MemoryCollection, query: &str) -> Vec<Ranked> {
    let query = Query::read(query, Timestamp::from_millis(1_683_720_000_000));
    rank(collection, &query, &RankOptions::new(10))
}

fn found(collection: &MemoryCollection, query: &str) -> Vec<usize> {
    search(collection, query).iter().map(|ranked| ranked.key.page as usize - 1).collect()
}

#[test]
fn the_answer_to_a_matching_question_is_found() {
    let collection = collection(&[
        ("Ann", "Good morning."),
        ("Bo", "Which restaurant did you book for the anniversary?"),
        ("Ann", "Luigi's, near the harbour."),
        ("Bo", "Nice, see you there."),
        ("Ann", "The printer is broken again."),
    ]);
    let results = search(&collection, "What restaurant did Ann book for the anniversary?");
    assert_eq!(results[0].key, key(2));
    assert!(results[0].features.get(Feature::Answers) > 0.9);
    assert_eq!(results[0].features.get(Feature::Speaker), 1.0);
    assert_eq!(results[0].features.get(Feature::Match), 0.0);
}

#[test]
fn a_named_speaker_comes_first() {
    let collection = collection(&[
        ("Ann", "I adopted a turtle."),
        ("Cleo", "What a week."),
        ("Bo", "I adopted a parrot."),
    ]);
    assert_eq!(found(&collection, "What did Bo adopt?")[0], 2);
    assert_eq!(found(&collection, "What did Ann adopt?")[0], 0);
    // A name alone is still looked up, and names that nobody has are words.
    assert!(found(&collection, "turtle Zed").contains(&0));
}

#[test]
fn a_date_decides_between_equals() {
    let mut days = MemoryCollection::new();
    for day in 0..5_i64 {
        insert(&mut days, day as usize, "user", "Ran in the park.", day as u32, day * 9);
    }
    // The first was said on 8 May 2023, the third 18 days later.
    assert_eq!(found(&days, "What did I run on 26 May 2023?")[0], 2);
    assert_eq!(found(&days, "5月8号我在park跑步了吗")[0], 0);
}

#[test]
fn notes_have_no_neighbours() {
    let turns = [("", "The key is under the mat."), ("", "Milk, eggs and flour.")];
    let results = found(&collection(&turns), "where is the key");
    assert_eq!(results, [0]);
}

#[test]
fn phrases_prefixes_and_parts_are_found() {
    let collection = collection(&[
        ("user", "error[E0432]: unresolved import in crates/search/src/text.rs"),
        ("user", "the import of goods was unresolved"),
        ("user", "call getUserName() first"),
        ("user", "配置文件在哪里"),
    ]);
    assert_eq!(found(&collection, "E0432")[0], 0);
    // Both have the words of the phrase; which has the phrase is seen from the texts.
    let mut with_words = found(&collection, "\"unresolved import\" in");
    with_words.sort_unstable();
    assert_eq!(with_words, [0, 1]);
    assert_eq!(found(&collection, "unreso* goods")[0], 1);
    assert_eq!(found(&collection, "user name")[0], 2);
    assert_eq!(found(&collection, "crates/search/src/text.rs")[0], 0);
    assert_eq!(found(&collection, "文件配置")[0], 3);
}

#[test]
fn a_query_of_common_words_still_finds() {
    let collection = collection(&[("user", "to be or not to be"), ("user", "hello world")]);
    assert_eq!(found(&collection, "to be")[0], 0);
    assert!(found(&collection, "").is_empty());
    assert!(found(&collection, "\u{0} ???").is_empty());
}

#[test]
fn answers_are_equal_whatever_the_order_of_writing() {
    let turns: Vec<(String, String)> = (0..60)
        .map(|number| (format!("S{}", number % 3), format!("same words {}", number % 7)))
        .collect();
    let turns: Vec<(&str, &str)> =
        turns.iter().map(|(speaker, text)| (speaker.as_str(), text.as_str())).collect();
    let forward = collection(&turns);
    let mut backward = MemoryCollection::new();
    for (number, (speaker, text)) in turns.iter().enumerate().rev() {
        insert(&mut backward, number, speaker, text, 1, 0);
        insert(&mut backward, number + 100, "S1", "to be removed same words", 1, 0);
    }
    (0..60).for_each(|number| assert!(backward.remove(key(number + 100))));
    assert_eq!(search(&forward, "same words 3"), search(&backward, "same words 3"));
    assert_eq!(forward.size(), backward.size());
}
