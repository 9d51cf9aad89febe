//! Stores that earlier programs wrote, opened by this one.

use std::{fs, path::Path, sync::Arc};

use contexture_core::PageStorage;
use contexture_storage::{files::FilesStorage, sqlite::SqliteStorage};
use contexture_testkit::old_store::check_before_users;
use futures::executor::block_on;

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_sqlite_file_from_before_users_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.db");
    fs::copy(fixture("before_users/sqlite.db"), &path).unwrap();
    let storage: Arc<dyn PageStorage> =
        Arc::new(SqliteStorage::open(&path, Default::default()).unwrap());
    block_on(check_before_users(storage));
}

#[test]
fn a_folder_of_files_from_before_users_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old");
    copy_folder(&fixture("before_users/files"), &path);
    let storage: Arc<dyn PageStorage> =
        Arc::new(FilesStorage::open(&path, Default::default()).unwrap());
    block_on(check_before_users(storage));
}
