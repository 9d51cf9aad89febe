//! Damage to the files of an index: the answer is right, or the error is clear, and afterwards all is right again.

use std::{
    fs,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use contexture_core::{Edit, MemoryStorage, PageStorage, Session};
use contexture_testkit::random::Random;
use futures::executor::block_on;

use super::{begin, found, say};
use crate::{FindQuery, IndexLimits, SearchIndex};

/// How many pages are said.
const SAID: usize = 40;

/// An index of a few parts, with a page that was removed and one that was purged.
async fn made(storage: &Arc<dyn PageStorage>, place: &Path) -> Session {
    let system = begin(storage.clone()).await;
    let session = system.as_system();
    let limits = IndexLimits { documents: 20, bytes: 1 << 20 };
    let index = SearchIndex::open_with(storage.clone(), Some(place), limits).unwrap();
    for number in 0..SAID {
        let page = say(&system, "usr", &format!("copper lantern{number} by the harbour")).await;
        if number == 7 {
            session.apply(Edit::RemovePage(page.clone())).await.unwrap();
        }
        if number == 30 {
            session.apply(Edit::PurgePage(page)).await.unwrap();
        }
        if number % 10 == 9 {
            index.catch_up(session.id()).await.unwrap();
            index.flush().await.unwrap();
        }
    }
    session
}

/// Returns what some searches find: page, message and score.
async fn answers(index: &SearchIndex, session: &Session) -> Vec<(String, Option<usize>, u32)> {
    let mut answers = Vec::new();
    for text in ["copper", "lantern3", "lantern30", "lantern*", "\"by the harbour\"", "noted"] {
        let query = FindQuery { limit: 100, ..FindQuery::new(text) };
        let hits = index.find(session, &query).await.unwrap();
        let hit = |hit: &crate::Hit| (hit.index().to_string(), hit.message, hit.score.to_bits());
        answers.extend(hits.iter().map(hit));
    }
    answers
}

fn files(place: &Path) -> Vec<PathBuf> {
    let inside = fs::read_dir(place).unwrap().next().unwrap().unwrap().path();
    let mut files: Vec<PathBuf> =
        fs::read_dir(inside).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| fs::metadata(file).unwrap().len() > 0);
    files.sort();
    files
}

/// Changes one byte of a file in place, as a disk would.
fn flip(file: &Path, random: &mut Random) {
    let at = random.below(fs::metadata(file).unwrap().len());
    let open = fs::OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut byte = [0];
    open.read_exact_at(&mut byte, at).unwrap();
    byte[0] ^= 1 + random.below(255) as u8;
    open.write_all_at(&byte, at).unwrap();
}

#[test]
fn a_flipped_byte_in_any_file_changes_no_answer() {
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    let whole = tempfile::tempdir().unwrap();
    block_on(async {
        let session = made(&storage, whole.path()).await;
        let open = |place: &Path| SearchIndex::open(storage.clone(), Some(place)).unwrap();
        let right = answers(&open(whole.path()), &session).await;
        assert!(right.len() > 100, "{}", right.len());
        let names: Vec<PathBuf> = files(whole.path());
        assert!(names.len() > 8, "{names:?}");
        for seed in 0..6 {
            let mut random = Random::new(seed);
            for name in &names {
                let damaged = tempfile::tempdir().unwrap();
                let inside = name.parent().unwrap().file_name().unwrap();
                let folder = damaged.path().join(inside);
                fs::create_dir(&folder).unwrap();
                for file in &names {
                    fs::copy(file, folder.join(file.file_name().unwrap())).unwrap();
                }
                flip(&folder.join(name.file_name().unwrap()), &mut random);
                for _ in 0..2 {
                    let index = open(damaged.path());
                    let found = answers(&index, &session).await;
                    assert!(found == right, "seed {seed}: {}", name.display());
                    index.flush().await.unwrap();
                }
            }
        }
    });
}

// While an index is open, a search gives an answer or an error, and never breaks off; what is opened afterwards is
// right. Pages that are said meanwhile are found.
#[test]
fn damage_to_an_open_index_does_not_last() {
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    block_on(async {
        let place = tempfile::tempdir().unwrap();
        let session = made(&storage, place.path()).await;
        for seed in 0..4 {
            let mut random = Random::new(seed);
            let open = || SearchIndex::open(storage.clone(), Some(place.path())).unwrap();
            let index = open();
            let right = answers(&index, &session).await;
            for file in files(place.path()) {
                for _ in 0..8 {
                    flip(&file, &mut random);
                }
            }
            for text in ["copper", "lantern3", "lantern*", "\"by the harbour\"", "noted"] {
                let _ = index.find(&session, &FindQuery::new(text)).await;
            }
            drop(index);
            let index = open();
            assert!(answers(&index, &session).await == right, "seed {seed}");
            index.flush().await.unwrap();
        }
    });
}

// What only a search notices: the folder is emptied under an index that is open, and written by another one.
#[test]
fn a_folder_that_was_removed_is_made_again_by_a_search() {
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    block_on(async {
        let place = tempfile::tempdir().unwrap();
        let session = made(&storage, place.path()).await;
        let index = SearchIndex::open(storage.clone(), Some(place.path())).unwrap();
        let right = answers(&index, &session).await;
        for file in files(place.path()) {
            fs::remove_file(file).unwrap();
        }
        assert!(answers(&index, &session).await == right);
        let messages = vec![contexture_testkit::fixture::user("the zanzibarite is new")];
        let segment = contexture_testkit::fixture::segment("usr");
        session.apply(Edit::AddTurn { segment, messages }).await.unwrap();
        assert_eq!(found(&index, &session, "zanzibarite").await.len(), 1);
        let _ = index.flush().await;
        assert_eq!(found(&index, &session, "zanzibarite").await.len(), 1);
        drop(index);
        let index = SearchIndex::open(storage.clone(), Some(place.path())).unwrap();
        assert_eq!(found(&index, &session, "zanzibarite").await.len(), 1);
        assert_eq!(found(&index, &session, "lantern7").await.len(), 1);
    });
}
