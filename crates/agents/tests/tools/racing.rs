//! Somebody swaps a folder for a link to the outside while tools walk: no name or word from outside
//! is ever seen.

#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use serde_json::json;
use tempfile::TempDir;

use super::files::Project;

const CALLS: usize = 1_500;

/// Swaps a folder for a link and back until it is told to stop; returns how often.
fn swap(root: &Path, stop: &AtomicBool) -> usize {
    let (place, folder, link) =
        (root.join("project/swap"), root.join("aside/folder"), root.join("aside/link"));
    let mut swaps = 0;
    while !stop.load(Ordering::Relaxed) {
        fs::rename(&place, &folder).unwrap();
        fs::rename(&link, &place).unwrap();
        fs::rename(&place, &link).unwrap();
        fs::rename(&folder, &place).unwrap();
        swaps += 1;
    }
    swaps
}

#[test]
fn a_folder_that_is_swapped_for_a_link_shows_nothing_from_outside() {
    let folder = TempDir::new().unwrap();
    let root = folder.path().to_owned();
    for path in ["project/swap/below", "outside/below", "aside"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    for number in 0..20 {
        fs::write(root.join(format!("project/swap/below/inside{number}")), "inner\n").unwrap();
        fs::write(root.join(format!("outside/below/stranger{number}")), "strange\n").unwrap();
        fs::write(root.join(format!("outside/stranger{number}")), "strange\n").unwrap();
    }
    symlink(root.join("outside"), root.join("aside/link")).unwrap();
    let project = Project::within(folder, "project");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let swapping = scope.spawn(|| swap(&root, &stop));
        let calls = [
            ("list_files", json!({})),
            ("list_files", json!({"path": "swap"})),
            ("list_files", json!({"path": "swap/below"})),
            ("grep", json!({"pattern": "."})),
            ("grep", json!({"pattern": ".", "path": "swap"})),
            ("read_file", json!({"path": "swap/below/stranger1"})),
        ];
        let seen = (0..CALLS).find_map(|number| {
            let (tool, arguments) = &calls[number % calls.len()];
            let text = runtime.block_on(project.call(tool, arguments.clone())).text;
            let named = text.replace("swap/below/stranger1", "");
            (named.contains("stranger") || text.contains("strange\n"))
                .then(|| format!("call {number}, {tool} {arguments}: {text}"))
        });
        stop.store(true, Ordering::Relaxed);
        assert!(swapping.join().unwrap() > 0);
        assert_eq!(seen, None);
    });
}
