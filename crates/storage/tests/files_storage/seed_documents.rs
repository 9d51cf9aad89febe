//! The flows of the source document on storages that need files.

use contexture_core::{
    ContextSystem, Edit, ErrorKind, NewDetailPage, NewSegment, Page, PageStorage, Permission,
    SegmentKind, storage::PageStore,
};
use contexture_storage::SessionFile;
use contexture_testkit::fixture::{
    TickingClock, apply, memory, page, reopen, segment, session_id, valid,
};
use futures::executor::block_on;

use crate::open;

fn sys_segment() -> NewSegment {
    let mut new =
        NewSegment::new(segment("sys"), SegmentKind::System).permission(Permission::ReadOnly);
    (new.name, new.description) = (Some(valid("System")), valid("System context"));
    new
}

fn file_of(root: &std::path::Path, session: &str, index: &str) -> Option<serde_json::Value> {
    let bytes = std::fs::read(root.join(format!("sessions/{session}/pages/{index}.json"))).ok()?;
    Some(serde_json::from_slice(&bytes).unwrap())
}

// 001, the file storage: every page is written to its file as it is made. B-03, B-04, B-37, B-58.
#[test]
fn the_set_up_on_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/pages");
    block_on(async {
        let clock = TickingClock::new();
        let made = ContextSystem::create(open(&path), session_id(), "app", clock).await;
        let context_system = made.unwrap();
        context_system.add_segment(sys_segment()).await.unwrap();
        let root = file_of(&path, "test", "sys-0").unwrap();
        assert_eq!((&root["type"], &root["name"]), (&"ContentsPage".into(), &"System".into()));
        let new = NewDetailPage::new(page("sys-0"), valid("System Prompt"), "You are...");
        apply(&context_system, Edit::CreateDetailPage(new)).await;
        assert_eq!(file_of(&path, "test", "sys-1").unwrap()["name"], "System Prompt");
        drop(context_system);
        // What cannot be read is reported, and is not the same as missing.
        let file = path.join("sessions/test/pages/sys-1.json");
        let bytes = std::fs::read(&file).unwrap();
        std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
        let pages = PageStore::new(open(&path), session_id(), TickingClock::new());
        let broken = [
            pages.load(&page("sys-1")).await.unwrap_err().kind(),
            pages.exists(&page("sys-1")).await.unwrap_err().kind(),
            pages.list().await.unwrap_err().kind(),
        ];
        assert_eq!(broken, [ErrorKind::Corrupt; 3]);
        std::fs::write(&file, bytes).unwrap();
        drop(pages);
        let again = reopen(open(&path)).await;
        assert_eq!(
            again.get_page(&page("sys-1")).await.unwrap().page.name.as_str(),
            "System Prompt"
        );
    });
}

// 001, switching at run time: memory first, then files; what was there goes along, later writes go
// to the files. B-15, B-39, B-40.
#[test]
fn a_system_switches_from_memory_to_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/pages");
    block_on(async {
        let context_system = ContextSystem::in_memory(TickingClock::new()).await.unwrap();
        context_system.add_segment(sys_segment()).await.unwrap();
        let file_storage = open(&path);
        context_system.switch_storage(file_storage.clone(), &mut |_| {}).await.unwrap();
        assert!(file_of(&path, "default", "sys-0").is_some(), "it went along");
        let new = NewDetailPage::new(page("sys-0"), valid("System Prompt"), "You are...");
        apply(&context_system, Edit::CreateDetailPage(new)).await;
        assert_eq!(file_of(&path, "default", "sys-1").unwrap()["name"], "System Prompt");
        let used = context_system.storage();
        assert_eq!(used.capabilities().name, file_storage.capabilities().name);
    });
}

// B-49: SaveToFile and LoadFromFile: the file is whole or as it was, is its owner's alone, and fills an
// empty session all or nothing.
#[test]
fn a_session_is_saved_to_a_file_and_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.json");
    block_on(async {
        let system = memory().await;
        let new = NewDetailPage::new(page("usr-0"), valid("note"), "第一行\n第二行");
        apply(&system, Edit::CreateDetailPage(new)).await;
        std::fs::write(&path, "an older one").unwrap();
        system.save_to_file(&path).await.unwrap();
        let before = (*system.get_page(&page("usr-1")).await.unwrap().page).clone();
        let written = std::fs::read_to_string(&path).unwrap();
        assert_eq!(written, system.marshal().await.unwrap());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "nothing is left beside it");

        let copy = ContextSystem::in_memory(TickingClock::new()).await.unwrap();
        let missing = copy.load_from_file(&folder.path().join("none.json")).await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::Unavailable);
        std::fs::write(folder.path().join("broken.json"), &written[..written.len() / 2]).unwrap();
        let broken = copy.load_from_file(&folder.path().join("broken.json")).await.unwrap_err();
        assert_eq!(broken.kind(), ErrorKind::Invalid);
        assert_eq!(copy.list_segments(), []);
        assert_eq!(copy.load_from_file(&path).await.unwrap(), [""; 0]);
        let again = copy.get_page(&page("usr-1")).await.unwrap().page;
        assert_eq!(*again, Page { place: again.place, revision: again.revision, ..before });
        // Where it cannot be written, what was there stays.
        let nowhere = folder.path().join("none/session.json");
        let refused = system.save_to_file(&nowhere).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unavailable);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), written);
    });
}
