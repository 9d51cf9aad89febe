//! Undo of long random sequences: each step back is the state that was there before it.

use std::sync::Arc;

use contexture_core::{Edit, PageStorage, Revision, storage::check::check_session};
use futures::executor::block_on;

use crate::{
    edits::Diet,
    fixture::session_id,
    property::PropertyRun,
    state::{Step, state},
};

/// Makes random edits (several agents and the system side) until `edits` were made, then undoes them
/// one by one, the newest first, for the system side, and compares the state after every single one.
pub fn run(open: impl Fn() -> Arc<dyn PageStorage>, seed: u64, edits: u64) {
    let mut run = PropertyRun::begin(&open, seed, Diet { purge: false });
    let mut now = block_on(state(&run.system));
    let mut steps: Vec<(Revision, Step)> = Vec::new();
    let mut step = 0;
    while (steps.len() as u64) < edits {
        step += 1;
        if !run.step(step) {
            continue;
        }
        let next = block_on(state(&run.system));
        steps.push((Revision(run.model.revision()), next.back_to(&now)));
        now = next;
    }
    while let Some((revision, step)) = steps.pop() {
        let undo = Edit::Undo { revision: Some(revision) };
        let undone = block_on(run.system.as_system().apply(undo));
        let at = format!("seed {seed}, undoing revision {revision}");
        let outcome = undone.unwrap_or_else(|error| panic!("{at}: {error}"));
        assert_eq!(outcome.undone, Some(revision), "{at}");
        now.step_back(step);
        let found = block_on(state(&run.system)).differences(&now);
        assert!(found.is_empty(), "{at}:\n{}", found.join("\n"));
    }
    let storage = &*run.system.storage();
    let problems = block_on(check_session(storage, &session_id())).expect("it can be read");
    assert!(problems.is_empty(), "seed {seed}: {problems:?}");
    assert!(block_on(storage.verify()).expect("it can be verified").is_empty(), "seed {seed}");
}
