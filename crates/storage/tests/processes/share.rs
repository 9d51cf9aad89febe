use std::path::Path;

use contexture_core::*;
use futures::executor::block_on;

use crate::{append, assert_sound, index, make, open, spawn, text};

const PROCESSES: usize = 4;
const THREADS: usize = 4;
const ROUNDS: usize = 15;

/// Mixes appends, increments of one shared page, levels of its own view, moves and undos.
pub(crate) fn child(path: &Path, name: &str) {
    let system = open(path);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let system = system.clone();
            scope.spawn(move || {
                let view = View::common(format!("{name}-{thread}").parse().unwrap());
                let agent = AgentContext::new(system.clone(), view);
                for round in 0..ROUNDS {
                    append(&system, &format!("{name}-{thread}-{round}"), "kept");
                    increment(&agent);
                    block_on(agent.pin_page("usr-1")).unwrap();
                    let passing = append(&system, "passing", "moved about");
                    let to = index("usr-0");
                    let back = Edit::MovePage { page: passing.clone(), to };
                    block_on(system.as_system().apply(back)).unwrap();
                    block_on(system.as_system().apply(Edit::RemovePage(passing))).unwrap();
                    let note =
                        block_on(agent.create_detail_page("note", "", "x", "usr-0")).unwrap();
                    block_on(agent.undo(None)).unwrap();
                    assert!(block_on(agent.get_page(&note)).is_err());
                }
            });
        }
    });
}

/// Reads, adds one, and writes only if nobody else has meanwhile.
fn increment(agent: &AgentContext) {
    loop {
        let page = block_on(agent.get_page("usr-1")).unwrap().page;
        let messages = block_on(agent.get_messages("usr-1")).unwrap();
        let count: u64 = message::detail_text(&messages).parse().unwrap();
        let mut update = PageUpdate::of(page.index.clone());
        update.detail = Some((count + 1).to_string());
        update.if_version = Some(page.version);
        match block_on(agent.apply(Edit::UpdatePage(update))) {
            Ok(_) => return,
            // Read again; what others wrote was taken in when this was refused.
            Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error}"),
        }
    }
}

// Four processes with four threads each on one file: no lost update, no deadlock, check clean.
pub(crate) fn four_processes_lose_no_update(path: &Path) {
    make(path);
    let names: Vec<String> = (0..PROCESSES).map(|at| format!("p{at}")).collect();
    let children = names.iter().map(|name| spawn(&["share-child", path.to_str().unwrap(), name]));
    for mut child in children.collect::<Vec<_>>() {
        assert!(child.wait().unwrap().success());
    }
    let system = open(path);
    let rounds = PROCESSES * THREADS * ROUNDS;
    assert_eq!(text(&system, &index("usr-1")), rounds.to_string());
    let query = ListQuery { limit: usize::MAX, ..Default::default() };
    let pages = block_on(system.as_system().reader().list(&query)).unwrap().items;
    assert_eq!(pages.len(), 2 + rounds);
    // The batch that made the session, then eight edits a round; refused ones leave no revision.
    assert_eq!(block_on(system.info()).unwrap().revision.0, 1 + rounds as u64 * 8);
    // Numbers are dense: each append took the next one, undone or not.
    let segment = &system.as_system().reader().segments()[0];
    assert_eq!(segment.next_number, 2 + 3 * rounds as u64);
    for name in names {
        let view = View::common(format!("{name}-0").parse().unwrap());
        let agent = AgentContext::new(system.clone(), view);
        assert!(block_on(agent.get_page("usr-1")).unwrap().pinned);
    }
    assert!(!block_on(system.as_system().reader().page(&index("usr-1"))).unwrap().pinned);
    assert_sound(&system);
}
