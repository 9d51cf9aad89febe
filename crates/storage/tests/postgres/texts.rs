//! Whatever text there is goes in and comes out.

use contexture_core::{
    Edit, Message, PageStorage, Timestamp, message,
    storage::{Commit, NewSession, RunPut},
};
use contexture_testkit::fixture::{self, apply, session_id, user, valid};
use futures::executor::block_on;

use crate::support::{assert_sound, database, open, system};

const UNUSUAL: &str = "\u{0}a\u{0}\u{1}\u{1b}\u{7f}\u{85}\u{fffe}\u{10ffff}👩‍👩‍👧‍👦 ñ ﷽ '; DROP TABLE contexture_pages; -- $1 \\x00 %s\r\n\t";

fn say(text: &str) -> Edit {
    Edit::AddTurn { segment: valid("usr"), messages: vec![user(text)] }
}

fn texts(messages: &[Message]) -> String {
    message::detail_text(messages)
}

// Values are bound, never spelt out; no text is too strange.
#[test]
fn unusual_text_comes_back_as_it_went() {
    let url = database();
    let storage = open(&url);
    let made = block_on(fixture::session(storage.clone()));
    let index = block_on(apply(&made, say(UNUSUAL))).pages.remove(0);
    let key = valid("ключ '; 👍");
    let set = Edit::SetCustom { key, value: Some(UNUSUAL.to_owned()) };
    block_on(apply(&made, set));
    let put = RunPut::first(valid("run '🏃' %_"), UNUSUAL, Timestamp::from_millis(1));
    block_on(storage.keep_run(&session_id(), &put)).unwrap();
    let other = valid("other");
    let new = NewSession { app: UNUSUAL.to_owned(), at: Timestamp::from_millis(1), mark: None };
    block_on(storage.commit(&other, Commit { create: Some(new), change: None })).unwrap();

    let storage = open(&url);
    let again = system(storage.clone());
    let messages = block_on(again.as_system().reader().messages(&index)).unwrap();
    assert!(texts(&messages).contains(UNUSUAL.trim_end()), "{:?}", texts(&messages));
    assert_eq!(block_on(storage.custom(&session_id())).unwrap()[0].1, UNUSUAL);
    let runs = |prefix: &str| block_on(storage.runs(&session_id(), prefix)).unwrap();
    assert_eq!(runs("run '🏃' %")[0].value, UNUSUAL);
    assert_eq!((runs("\0"), runs("run%")), (vec![], vec![]));
    assert_eq!(block_on(storage.session(&other)).unwrap().unwrap().app, UNUSUAL);
    assert_sound(&*storage);
}

// A page of 16 MiB, once compressible and once not.
#[test]
fn large_contents_are_kept() {
    let url = database();
    let made = block_on(fixture::session(open(&url)));
    let plain = "all work and no play ".repeat((16 << 20) / 21);
    let mut seed = 7_u64;
    let noise: String = (0..16 << 20)
        .map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b' ' + u8::try_from((seed >> 33) % 94).unwrap())
        })
        .collect();
    for text in [&plain, &noise] {
        let index = block_on(apply(&made, say(text))).pages.remove(0);
        let again = system(open(&url));
        let messages = block_on(again.as_system().reader().messages(&index)).unwrap();
        assert!(messages[0].plain_text() == *text);
    }
    assert_sound(&*open(&url));
}
