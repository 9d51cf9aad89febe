//! The suites every storage must pass.

use std::sync::Arc;

use contexture_core::{ContextSystem, Edit, PageStorage};
use contexture_storage::S3Tuning;
use contexture_testkit::{
    concurrency,
    fixture::{self, apply, page, segment, session_id, user},
    property,
    server::S3Server,
    undoing,
};
use futures::executor::block_on;

use super::{open, small};

fn fresh() -> String {
    S3Server::shared().fresh_prefix()
}

// B-54: random edits, reopened at random moments, do what the model says.
#[test]
fn random_edits_with_reopening_do_what_the_model_says() {
    let prefix = fresh();
    let summary = property::run(|| open(&prefix, small()), 1, 120, 10);
    assert!(summary.made > 40 && summary.reopened > 3, "{summary:?}");
    assert_eq!(block_on(open(&prefix, small()).verify()).unwrap(), [""; 0]);
}

// Random edits, undone one by one.
#[test]
fn random_sequences_are_undone_one_by_one() {
    let prefix = fresh();
    undoing::run(|| open(&prefix, small()), 11, 30);
    assert_eq!(block_on(open(&prefix, small()).verify()).unwrap(), [""; 0]);
}

// B-38: threads on three storages, as three processes have them, on one session.
#[test]
fn writers_on_several_storages_lose_nothing() {
    let prefix = fresh();
    block_on(concurrency::prepare(&block_on(fixture::session(open(&prefix, small())))));
    let system = || block_on(fixture::reopen(open(&prefix, small())));
    let opened: Vec<ContextSystem> = (0..3).map(|_| system()).collect();
    std::thread::scope(|scope| {
        for writer in 0..6 {
            let system = &opened[writer as usize % 3];
            scope.spawn(move || concurrency::work(system, writer, 2));
        }
    });
    block_on(concurrency::verify(&system(), 6, 2));
    assert_eq!(block_on(open(&prefix, small()).verify()).unwrap(), [""; 0]);
}

// B-10: what is large or unusual comes back as it was.
#[test]
fn large_and_unusual_texts_come_back() {
    let prefix = fresh();
    let storage: Arc<dyn PageStorage> = open(&prefix, S3Tuning::default());
    let system = block_on(fixture::session(storage));
    // Sixteen megabytes that do not compress to nothing.
    let mut state = 1u64;
    let mut large = String::with_capacity(16 << 20);
    while large.len() < 16 << 20 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        large.push(char::from(b' ' + (state >> 33) as u8 % 95));
    }
    let unusual =
        "\u{0}\u{1b}[31m \u{202e}right to left\u{feff} 🦀 e\u{301} \\u0000 \"'</script>\r\n";
    for text in [large.as_str(), unusual, ""] {
        let turn = Edit::AddTurn { segment: segment("usr"), messages: vec![user(text)] };
        let index = block_on(apply(&system, turn)).pages.remove(0);
        let other = open(&prefix, S3Tuning::default());
        let read = block_on(other.pages(&session_id(), &[index])).unwrap().remove(0).unwrap();
        let hash = read.detail().unwrap().content;
        let content = block_on(other.contents(&session_id(), &[hash])).unwrap().remove(0).unwrap();
        assert!(content.messages().unwrap()[0].plain_text() == text, "{} bytes", text.len());
    }
    block_on(apply(&system, Edit::PurgePage(page("usr-1"))));
    assert_eq!(block_on(open(&prefix, S3Tuning::default()).verify()).unwrap(), [""; 0]);
}
