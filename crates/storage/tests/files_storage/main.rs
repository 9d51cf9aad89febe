//! The files storage: what every storage must do, and what only files can suffer.

// Clippy knows test functions, but not their helpers.
#![allow(clippy::unwrap_used)]

mod damage;
mod edited;
mod folder;
mod git;
mod import;
mod index;
mod missing;
mod processes;
mod seed_documents;
mod snapshots;
mod suite;

use std::{fs, path::Path, path::PathBuf, sync::Arc};

use contexture_core::{ContextSystem, Edit, PageIndex, PageStorage, PageUpdate, storage::Content};
use contexture_storage::{Durability, FilesOptions, FilesStorage};
use contexture_testkit::{
    conformance::{Dump, dump},
    fixture::{self, apply, page, session_id},
};
use futures::executor::block_on;

/// Opens a folder as it is for real, but for the wait for the disk: thousands of commits follow.
fn open(path: &Path) -> Arc<FilesStorage> {
    let options = FilesOptions { durability: Durability::Process, ..FilesOptions::default() };
    Arc::new(FilesStorage::open(path, options).unwrap())
}

/// Makes a session with a few pages, levels, an archived page and an undone edit.
fn fill(storage: &Arc<FilesStorage>) -> ContextSystem {
    let system = block_on(async {
        let system = fixture::session(storage.clone()).await;
        let dir = fixture::directory(&system, "usr-0", "notes").await;
        for name in ["one", "two", "three"] {
            fixture::leaf(&system, &dir.to_string(), name).await;
        }
        fixture::agent(&system, "bot").pin_page("usr-2").await.unwrap();
        apply(&system, Edit::RemovePage(page("usr-4"))).await;
        system
    });
    write(&system, "usr-2", "first line\nsecond line\nthird line");
    let undone = write(&system, "usr-3", "to be undone");
    block_on(apply(&system, Edit::Undo { revision: Some(undone) }));
    system
}

/// Gives a page another text; returns the revision.
fn write(system: &ContextSystem, index: &str, text: &str) -> contexture_core::Revision {
    let mut update = PageUpdate::of(page(index));
    update.detail = Some(text.to_owned());
    block_on(apply(system, Edit::UpdatePage(update))).revision
}

fn everything(storage: &FilesStorage) -> Dump {
    block_on(dump(storage, &session_id()))
}

/// Reads a page and its words.
fn words(
    storage: &dyn PageStorage,
    index: &PageIndex,
) -> Result<Option<Content>, contexture_core::storage::StorageError> {
    let pages = block_on(storage.pages(&session_id(), std::slice::from_ref(index)))?;
    let hash = pages[0].as_ref().unwrap().detail().unwrap().content;
    Ok(block_on(storage.contents(&session_id(), &[hash]))?.remove(0))
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            let time = entry.metadata().unwrap().modified().unwrap();
            fs::File::options().append(true).open(&target).unwrap().set_modified(time).unwrap();
        }
    }
}

/// Lists every file and folder below a folder.
fn below(path: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        all.push(entry.path());
        if entry.file_type().unwrap().is_dir() {
            all.extend(below(&entry.path()));
        }
    }
    all
}
