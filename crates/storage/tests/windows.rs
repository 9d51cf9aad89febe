//! Windows sent and token counts, as SQLite keeps them.

use std::{sync::Arc, time::Instant};

use contexture_core::{
    PageStorage, SessionId, Tokens, Usage,
    storage::{Commit, CountKey, LedgerQuery, NewSession},
};
use futures::executor::block_on;

use crate::build::{Sandbox, append, assert_sound, at, commit, init, ledger, sent, session};

const ALL: LedgerQuery = LedgerQuery { upto: None, limit: usize::MAX };

/// Records a window sent and notes what was reported for one, as `step` has it, not always as it
/// should be; says how that went.
pub(crate) fn send(storage: &dyn PageStorage, session: &SessionId, step: u64) -> String {
    let key = ledger("bot");
    let line = "a line ".repeat(usize::try_from(step * 37 % 900).unwrap());
    let usage = Usage { input: step, ..Usage::default() };
    block_on(async {
        let last =
            storage.ledger(session, &key, &LedgerQuery { upto: None, limit: 1 }).await.unwrap();
        let next = last.first().map_or(1, |sent| sent.number + 1);
        let number = if step.is_multiple_of(5) { step % 7 } else { next };
        let recorded = storage.record(session, &key, &sent(number, &line)).await;
        let reported = storage.report(session, &key, step % 11, &usage).await.unwrap();
        format!("{:?} {reported}", recorded.map_err(|error| error.to_string()))
    })
}

// What was recorded, reported and counted is there for the next process, and so is a mark that was
// made up.
#[test]
fn windows_counts_and_marks_outlive_the_process() {
    let sandbox = Sandbox::new();
    let (id, key) = (session("s"), ledger("bot"));
    let usage = Usage { input: 5, ..Usage::default() };
    let count = (CountKey([1; 16]), Tokens(9));
    let mark = {
        let storage = sandbox.open_durable();
        let new = NewSession { app: "test".to_owned(), at: at(0), mark: None };
        block_on(storage.commit(&id, Commit { create: Some(new), change: None })).unwrap();
        for number in 1..=3 {
            block_on(storage.record(&id, &key, &sent(number, "line"))).unwrap();
        }
        assert!(block_on(storage.report(&id, &key, 2, &usage)).unwrap());
        block_on(storage.keep_counts(&[count])).unwrap();
        block_on(storage.session(&id)).unwrap().unwrap().mark
    };
    let storage = sandbox.open();
    assert_eq!(block_on(storage.session(&id)).unwrap().unwrap().mark, mark);
    let records = block_on(storage.ledger(&id, &key, &ALL)).unwrap();
    assert_eq!(records.iter().map(|sent| sent.number).collect::<Vec<_>>(), [3, 2, 1]);
    assert_eq!(records[1].usage, Some(usage));
    assert_eq!(block_on(storage.counts(&[count.0])).unwrap(), [Some(count.1)]);
    assert_sound(&storage);
}

// Commits, records, reports and counts from many threads share transactions; none is lost, and a
// record that comes too late concerns nobody else.
#[test]
fn many_threads_write_everything_at_once() {
    let sandbox = Sandbox::new();
    let storage = Arc::new(sandbox.open_durable());
    init(&*storage, "s");
    let id = session("s");
    std::thread::scope(|scope| {
        for thread in 0..16_u8 {
            let (storage, id) = (storage.clone(), id.clone());
            scope.spawn(move || {
                let key = ledger(&format!("agent-{thread}"));
                for number in 1..=10 {
                    commit(&*storage, "s", append("usr", &format!("{thread} {number}"))).unwrap();
                    block_on(storage.record(&id, &key, &sent(number, "line"))).unwrap();
                    block_on(storage.record(&id, &key, &sent(number, "again"))).unwrap_err();
                    let count = (CountKey([thread; 16]), Tokens(number));
                    block_on(storage.keep_counts(&[count])).unwrap();
                    // Whoever kept a count reads it.
                    assert_eq!(block_on(storage.counts(&[count.0])).unwrap(), [Some(count.1)]);
                    assert!(
                        block_on(storage.report(&id, &key, number, &Usage::default())).unwrap()
                    );
                }
            });
        }
    });
    for thread in 0..16 {
        let records = block_on(storage.ledger(&id, &ledger(&format!("agent-{thread}")), &ALL));
        let records = records.unwrap();
        assert_eq!(records.len(), 10);
        assert!(records.iter().all(|sent| sent.usage.is_some()));
    }
    assert_eq!(block_on(storage.session(&id)).unwrap().unwrap().revision.0, 161);
    assert_sound(&*storage);
}

// A window asks for as many counts as it has pieces, each time it is made.
#[test]
fn three_hundred_counts_are_read_in_no_time() {
    let sandbox = Sandbox::new();
    let storage = sandbox.open();
    let key = |number: u32| {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&number.wrapping_mul(2_654_435_761).to_be_bytes());
        CountKey(bytes)
    };
    let kept: Vec<_> = (0..20_000).map(|number| (key(number), Tokens(number.into()))).collect();
    block_on(storage.keep_counts(&kept)).unwrap();
    let asked: Vec<CountKey> = (0..300).map(|number| key(number * 66)).collect();
    let mut times = Vec::new();
    for _ in 0..20 {
        let began = Instant::now();
        let read = block_on(storage.counts(&asked)).unwrap();
        times.push(began.elapsed());
        assert_eq!(read[299], Some(Tokens(299 * 66)));
    }
    times.sort();
    // Generous: the machine may be busy and the build is not optimised.
    assert!(times[10].as_millis() < 20, "{times:?}");
    println!("300 counts: {:?}", times[10]);
}
