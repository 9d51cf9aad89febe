//! A session with one of everything.

use std::sync::Arc;

use contexture_core::{
    ContextSystem, Edit, MemoryStorage, PageStorage, Timestamp, Usage, WindowOptions,
    storage::RunPut,
};
use futures::executor::block_on;

use crate::{
    fixture::{TickingClock, agent, apply, session_id, valid},
    property,
    window::FourBytes,
};

/// A storage with a session in which random edits have left one of everything, purges included, and
/// windows sent, usage reported and run records beside them.
pub fn filled(seed: u64) -> Arc<dyn PageStorage> {
    // On a thread of its own: the one that asks may be waiting already.
    std::thread::spawn(move || fill(seed)).join().expect("it can be filled")
}

fn fill(seed: u64) -> Arc<dyn PageStorage> {
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    let summary = property::run(|| storage.clone(), seed, 400, 0);
    assert!(summary.made > 100, "{summary:?}");
    block_on(async {
        let clock = TickingClock::new();
        let system =
            ContextSystem::open(storage.clone(), session_id(), clock).await.expect("it is done");
        let bot = agent(&system, "alpha");
        for format in ["openai", "markdown", "openai"] {
            let options = WindowOptions::new(valid(format), Arc::new(FourBytes));
            let sent = bot.send(&options).await.expect("it is done");
            let usage = Usage { input: 7, ..Default::default() };
            bot.report_usage(valid(format), sent.record.number, &usage).await.expect("it is done");
            system.as_system().send(&options).await.expect("it is done");
        }
        for key in ["run/1", "run/2", "other"] {
            let at = Timestamp::from_millis(5);
            let put = RunPut::first(key.parse().expect("a key"), format!("state of {key}"), at);
            system.keep_run(&put).await.expect("it is done");
        }
        let custom = Edit::SetCustom { key: valid("key"), value: Some("value".to_owned()) };
        apply(&system, custom).await;
    });
    storage
}
