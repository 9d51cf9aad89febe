//! Page files that somebody edited by hand: refused until a repair, which adopts what can be adopted.

use std::{fs, path::Path, sync::Arc};

use contexture_core::{
    Actor, Page, PageStorage, Timestamp,
    message::detail_text,
    storage::{
        HistoryQuery,
        check::{Losses, check_storage, is_lost, repair_storage},
    },
};
use contexture_storage::FilesStorage;
use contexture_testkit::fixture::{self, agent, calls, page, returned, session_id, user};
use futures::executor::block_on;

use crate::{open, words, write};

/// Opens a folder with a note, a prompt and a turn with a tool call.
fn filled(dir: &Path) -> Arc<FilesStorage> {
    let storage = open(dir);
    let system = block_on(fixture::session(storage.clone()));
    block_on(fixture::leaf(&system, "usr-0", "plan"));
    block_on(fixture::leaf(&system, "sys-0", "rules"));
    write(&system, "usr-1", "first this,\nthen that");
    write(&system, "sys-1", "be careful");
    let turn = vec![user("why does it fail?"), calls("c1", "{}"), returned("c1", "no idea")];
    block_on(agent(&system, "bot").add_turn(turn)).unwrap();
    storage
}

fn file(dir: &Path, index: &str) -> std::path::PathBuf {
    dir.join(format!("sessions/test/pages/{index}.json"))
}

/// Changes a word in a page's file, as an editor does.
fn edit(dir: &Path, index: &str, from: &str, to: &str) {
    let text = fs::read_to_string(file(dir, index)).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(file(dir, index), text.replace(from, to)).unwrap();
}

/// Repairs a folder; returns what was done and what is still wrong.
fn repair(storage: &FilesStorage) -> (String, Vec<String>) {
    let at = Timestamp::from_millis(fixture::BEGIN);
    let repaired = block_on(repair_storage(storage, Losses::Report, at)).unwrap();
    assert_eq!(block_on(check_storage(storage)).unwrap(), repaired.problems);
    (repaired.done.join("\n"), repaired.problems)
}

fn read(storage: &FilesStorage, index: &str) -> (Page, String) {
    let found = block_on(storage.pages(&session_id(), &[page(index)])).unwrap().remove(0).unwrap();
    let content = words(storage, &page(index)).unwrap().unwrap();
    (found, detail_text(&content.messages().unwrap()))
}

// With the index, and as git brings the folder to another machine.
#[test]
fn an_edited_word_is_adopted_as_an_edit_that_history_shows() {
    for cloned in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let mut storage = filled(dir.path());
        let before = block_on(storage.session(&session_id())).unwrap().unwrap().revision;
        edit(dir.path(), "usr-1", "then that", "then THIS");
        edit(dir.path(), "usr-2", "no idea", "the clock");
        if cloned {
            drop(storage);
            fs::remove_dir_all(dir.path().join(".local")).unwrap();
            storage = open(dir.path());
        }
        let (done, problems) = repair(&storage);
        assert_eq!(problems, [""; 0], "{done}");
        for index in ["usr-1", "usr-2"] {
            assert!(
                done.contains(&format!("the text of page {index} is not the one that was stored")),
                "{done}"
            );
        }
        let (note, text) = read(&storage, "usr-1");
        assert_eq!(text, "first this,\nthen THIS");
        assert_eq!((note.name.as_str(), note.parent), ("plan", Some(page("usr-0"))));
        let (turn, text) = read(&storage, "usr-2");
        assert!(text.contains("why does it fail?") && text.contains("the clock"), "{text}");
        assert_eq!(turn.rewritten_by, Some(Actor::System));
        let newest = HistoryQuery { limit: 1, ..HistoryQuery::default() };
        let entry = block_on(storage.history(&session_id(), &newest)).unwrap().remove(0);
        assert!(entry.revision > before && entry.actor == Actor::System, "{entry:?}");
        assert_eq!(entry.pages, [page("usr-1"), page("usr-2")]);
        assert_eq!(repair(&storage), (String::new(), Vec::new()), "nothing is done twice");
        // The next edit by hand of the same page is adopted too.
        edit(dir.path(), "usr-1", "then THIS", "then nothing");
        assert_eq!(repair(&storage).1, [""; 0]);
        assert_eq!(read(&storage, "usr-1").1, "first this,\nthen nothing");
    }
}

// Agents obey a prompt, so nobody's unproven words become one by themselves.
#[test]
fn an_edited_prompt_is_not_adopted() {
    let dir = tempfile::tempdir().unwrap();
    let storage = filled(dir.path());
    edit(dir.path(), "sys-1", "be careful", "be careless");
    let (done, problems) = repair(&storage);
    assert!(done.contains("because the page is a system prompt"), "{done}");
    assert!(problems.len() == 1 && problems[0].contains("sys-1 was lost"), "{problems:?}");
    assert!(is_lost(&read(&storage, "sys-1").0));
    let away = dir.path().join(".local/quarantine/sessions__test__pages__sys-1.json");
    assert!(fs::read_to_string(away).unwrap().contains("be careless"));
}

#[test]
fn an_edit_that_leaves_a_call_without_its_result_is_not_adopted() {
    let dir = tempfile::tempdir().unwrap();
    let storage = filled(dir.path());
    let text = fs::read_to_string(file(dir.path(), "usr-2")).unwrap();
    let at = text.rfind("\"c1\"").unwrap();
    fs::write(file(dir.path(), "usr-2"), format!("{}\"c2\"{}", &text[..at], &text[at + 4..]))
        .unwrap();
    let (done, problems) = repair(&storage);
    assert_eq!(problems, [""; 0], "{done}");
    assert!(done.contains("the content of page usr-2 is lost"), "{done}");
    assert!(is_lost(&read(&storage, "usr-2").0));
}

#[test]
fn a_deleted_page_says_that_it_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let storage = filled(dir.path());
    // An earlier edit by hand lies in the quarantine, and is of another version.
    edit(dir.path(), "usr-1", "then that", "then THIS");
    repair(&storage);
    let system = block_on(fixture::reopen(storage.clone()));
    write(&system, "usr-1", "another plan");
    drop(system);
    fs::remove_file(file(dir.path(), "usr-1")).unwrap();
    let (done, problems) = repair(&storage);
    assert_eq!(problems, [""; 0], "{done}");
    let (found, text) = read(&storage, "usr-1");
    assert!(is_lost(&found) && text.contains("was lost"), "{text}");
    assert_eq!((found.name.as_str(), found.parent), ("plan", Some(page("usr-0"))));
}
