//! Token counts: kept by key, derived, never more than that.

use std::sync::Arc;

use contexture_core::{ErrorKind, PageStorage, Tokens, Usage, storage::CountKey};

use super::ledgers::{key, newest, sent};
use crate::fixture::{session, session_id};

fn count_key(number: u64) -> CountKey {
    let mut bytes = [0xAB; 16];
    bytes[4..12].copy_from_slice(&number.to_be_bytes());
    CountKey(bytes)
}

pub(super) async fn counts_are_kept(storage: Arc<dyn PageStorage>) {
    let keys: Vec<CountKey> = (0..300).map(count_key).collect();
    assert_eq!(storage.counts(&keys).await.expect("reads"), vec![None; 300]);
    assert_eq!(storage.counts(&[]).await.expect("reads"), []);
    storage.keep_counts(&[]).await.expect("nothing is nothing");
    let kept: Vec<_> =
        keys.iter().enumerate().skip(1).map(|(at, key)| (*key, Tokens(at as u64))).collect();
    storage.keep_counts(&kept).await.expect("they can be kept");
    // In the order asked for, each as often as it is asked for.
    let asked = [keys[7], keys[0], keys[299], keys[7]];
    let expected = [Some(Tokens(7)), None, Some(Tokens(299)), Some(Tokens(7))];
    assert_eq!(storage.counts(&asked).await.expect("reads"), expected);
    // Keeping the same again is nothing new; a better count takes the place of the old one.
    storage.keep_counts(&kept).await.expect("they can be kept");
    let again = [(keys[7], Tokens(70)), (keys[0], Tokens(0)), (keys[8], Tokens(8))];
    storage.keep_counts(&again).await.expect("they can be kept");
    let asked = [keys[7], keys[0], keys[8], keys[9]];
    let expected = [70, 0, 8, 9].map(|count| Some(Tokens(count)));
    assert_eq!(storage.counts(&asked).await.expect("reads"), expected);
    assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
}

pub(super) async fn a_snapshot_reads_but_does_not_write(storage: Arc<dyn PageStorage>) {
    session(storage.clone()).await;
    let id = session_id();
    let bot = key("bot", "openai");
    storage.record(&id, &bot, &sent(1)).await.expect("it is the next");
    storage.keep_counts(&[(count_key(1), Tokens(1))]).await.expect("they can be kept");
    let snapshot = storage.snapshot().await.expect("it can be taken");
    storage.record(&id, &bot, &sent(2)).await.expect("it is the next");
    storage.keep_counts(&[(count_key(2), Tokens(2))]).await.expect("they can be kept");
    assert_eq!(newest(&*snapshot, &bot, None, 9).await, [1]);
    let read = snapshot.counts(&[count_key(1), count_key(2)]).await.expect("reads");
    assert_eq!(read, [Some(Tokens(1)), None]);
    let kinds = [
        snapshot.record(&id, &bot, &sent(2)).await.expect_err("it is only for reading").kind(),
        snapshot
            .report(&id, &bot, 1, &Usage::default())
            .await
            .expect_err("it is only for reading")
            .kind(),
        snapshot
            .keep_counts(&[(count_key(3), Tokens(3))])
            .await
            .expect_err("it is only for reading")
            .kind(),
    ];
    assert_eq!(kinds, [ErrorKind::Unavailable; 3]);
    assert_eq!(newest(&*storage, &bot, None, 9).await, [2, 1]);
}
