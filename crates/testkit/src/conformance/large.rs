//! Large values: what the limits allow is kept whole.

use std::sync::Arc;

use contexture_core::{
    Edit, NewDetailPage, PageIndex, PageStorage, PageUpdate, Timestamp,
    message::detail_text,
    storage::{ContentHash, RunPut, check::check_session},
};

use super::stored;
use crate::{
    fixture::{
        BEGIN, apply, directory, new_leaf, page, reopen, segment, session, session_id, valid,
    },
    random::Random,
};

/// Text that does not compress well.
fn noise(seed: u64, length: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut random = Random::new(seed);
    let mut text = String::with_capacity(length + 8);
    while text.len() < length {
        let number = random.number().to_le_bytes();
        text.extend(number.map(|byte| char::from(LETTERS[usize::from(byte % 64)])));
    }
    text.truncate(length);
    text
}

async fn assert_sound(storage: &dyn PageStorage) {
    assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
    let problems = check_session(storage, &session_id()).await.expect("it can be read");
    assert_eq!(problems, [""; 0]);
}

pub(super) async fn a_content_of_16_mib(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    // What stands around the text is part of the 16 MiB.
    let length = (16 << 20) - 1_024;
    let (first, second) = (noise(1, length), noise(2, length));
    let new = NewDetailPage::new(page("usr-0"), valid("large"), first.clone());
    apply(&system, Edit::CreateDetailPage(new)).await;
    let hash = stored(&*storage, &session_id(), "usr-1").await.detail().expect("a leaf").content;
    let again = reopen(storage.clone()).await;
    let read = again.as_system().reader().messages(&page("usr-1")).await.expect("it can be read");
    assert!(detail_text(&read) == first, "the text is another");
    let mut update = PageUpdate::of(page("usr-1"));
    update.detail = Some(second.clone());
    let updated = apply(&system, Edit::UpdatePage(update)).await;
    let read = system.as_system().reader().messages(&page("usr-1")).await.expect("it can be read");
    assert!(detail_text(&read) == second, "the text is another");
    // The first is still there: history refers to it.
    let read = storage.contents(&session_id(), &[hash]).await.expect("reads").remove(0);
    let content = read.expect("it is there");
    assert!(ContentHash::of(content.bytes()) == hash && content.bytes().len() > length);
    apply(&system, Edit::Undo { revision: Some(updated.revision) }).await;
    let again = reopen(storage.clone()).await;
    let read = again.as_system().reader().messages(&page("usr-1")).await.expect("it can be read");
    assert!(detail_text(&read) == first, "the text is another");
    assert_sound(&*storage).await;
    apply(&system, Edit::PurgePage(page("usr-1"))).await;
    assert_eq!(storage.contents(&session_id(), &[hash]).await.expect("reads"), [None]);
    assert_sound(&*storage).await;
}

pub(super) async fn a_change_of_5000_pages(storage: Arc<dyn PageStorage>) {
    const COUNT: u64 = 5_000;
    let system = session(storage.clone()).await;
    directory(&system, "usr-0", "dir").await;
    let pages = (0..COUNT).map(|at| new_leaf("usr-1", &format!("page {at}"))).collect();
    let made = apply(&system, Edit::Batch(pages)).await;
    let usr = |number| PageIndex::new(segment("usr"), number);
    assert!(made.pages.iter().eq((2..COUNT + 2).map(usr).collect::<Vec<_>>().iter()));
    let count = storage.child_count(&session_id(), &page("usr-1")).await.expect("reads");
    assert_eq!(count, COUNT);
    let asked: Vec<PageIndex> = (0..COUNT + 4).map(usr).collect();
    let read = storage.pages(&session_id(), &asked).await.expect("reads");
    assert_eq!(read.iter().flatten().count() as u64, COUNT + 2);
    assert!(
        read.iter()
            .zip(&asked)
            .all(|(page, index)| { page.as_ref().is_none_or(|page| page.index == *index) })
    );
    let hashes: Vec<ContentHash> =
        read.iter().flatten().filter_map(|page| Some(page.detail()?.content)).collect();
    let contents = storage.contents(&session_id(), &hashes).await.expect("reads");
    for (content, hash) in contents.iter().zip(&hashes) {
        assert_eq!(content.as_ref().map(|content| content.hash()), Some(*hash));
    }
    assert_sound(&*storage).await;
    // All of it leaves the tree at once, and comes back.
    apply(&system, Edit::RemovePage(page("usr-1"))).await;
    apply(&system, Edit::RestorePage { page: page("usr-1"), to: None }).await;
    let count = storage.child_count(&session_id(), &page("usr-1")).await.expect("reads");
    assert_eq!(count, COUNT);
    assert_sound(&*storage).await;
    assert!(storage.remove_session(&session_id()).await.expect("it can be removed"));
    let contents = storage.contents(&session_id(), &hashes).await.expect("reads");
    assert!(contents.iter().all(Option::is_none));
    assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
}

pub(super) async fn hundreds_of_pages_move_and_go_at_once(storage: Arc<dyn PageStorage>) {
    const COUNT: u64 = 300;
    let system = session(storage.clone()).await;
    directory(&system, "usr-0", "dir").await;
    let pages = (0..COUNT).map(|at| new_leaf("usr-1", &format!("page {at}"))).collect();
    apply(&system, Edit::Batch(pages)).await;
    // To another segment, and back by undo.
    let moved = apply(&system, Edit::MovePage { page: page("usr-1"), to: page("sys-0") }).await;
    assert_eq!(moved.moved.len() as u64, COUNT + 1);
    assert_sound(&*storage).await;
    apply(&system, Edit::Undo { revision: Some(moved.revision) }).await;
    let count = storage.child_count(&session_id(), &page("usr-1")).await.expect("reads");
    assert_eq!(count, COUNT);
    assert_sound(&*storage).await;
    apply(&system, Edit::PurgePage(page("usr-1"))).await;
    let left = crate::state::scan(&*storage, &session_id(), &segment("usr")).await;
    assert_eq!(left.len(), 1, "only the root is left");
    assert_sound(&*storage).await;
}

pub(super) async fn large_custom_values_and_run_records(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    let value = noise(3, 2 << 20);
    apply(&system, Edit::SetCustom { key: valid("large"), value: Some(value.clone()) }).await;
    let run = RunPut::first(valid("large"), value.clone(), Timestamp::from_millis(BEGIN));
    system.keep_run(&run).await.expect("there is none");
    let custom = storage.custom(&session_id()).await.expect("reads").remove(0).1;
    let kept = storage.runs(&session_id(), "").await.expect("reads").remove(0).value;
    assert!(custom == value && kept == value, "a value is another");
    for at in 0..300 {
        let run = RunPut::first(valid(&format!("run/{at:03}")), "{}", run.at);
        system.keep_run(&run).await.expect("there is none");
    }
    assert_eq!(storage.runs(&session_id(), "run/").await.expect("reads").len(), 300);
    assert_eq!(storage.runs(&session_id(), "run/1").await.expect("reads").len(), 100);
    assert_sound(&*storage).await;
}
