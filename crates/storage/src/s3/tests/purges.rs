//! After a purge nothing of it is anywhere.

use contexture_core::{Edit, PageStorage};
use contexture_testkit::fixture::{self, apply, leaf, page, segment, user};
use futures::executor::block_on;
use object_store::{ObjectStore, ObjectStoreExt, path::Path};
use std::sync::Arc;

use super::{in_memory, names, open, small};
use crate::{
    runtime,
    s3::{
        S3Tuning,
        frame::{Kind, unseal},
    },
};

/// Returns everything that a store holds, unpacked.
fn everything(store: &Arc<dyn ObjectStore>) -> Vec<u8> {
    let mut all = Vec::new();
    for name in names(store) {
        let (store, path) = (store.clone(), Path::from(name.as_str()));
        let bytes = block_on(runtime::run("test", async move {
            Ok(store.get(&path).await.unwrap().bytes().await.unwrap().to_vec())
        }))
        .unwrap();
        let kinds = [Kind::Root, Kind::Table, Kind::Manifest];
        let opened = kinds.iter().find_map(|kind| unseal(*kind, &bytes, "it").ok());
        all.extend(opened.map_or(bytes, |(payload, _)| payload));
    }
    all
}

fn holds(store: &Arc<dyn ObjectStore>, text: &str) -> bool {
    everything(store).windows(text.len()).any(|window| window == text.as_bytes())
}

// B-40: what is purged is in no object afterwards, whether it was inline, in a delta, in a chunk, in
// a pack, or waiting to be collected.
#[test]
fn a_purge_leaves_no_trace() {
    for tuning in [small(), S3Tuning::default()] {
        for later in [0, 1, 5, 40] {
            let store = in_memory();
            let storage = open(&store, tuning.clone());
            let system = block_on(fixture::session(storage.clone()));
            for number in 0..10 {
                block_on(leaf(&system, "usr-0", &format!("before {number}")));
            }
            // Short enough to be stored as it is, long enough for a pack.
            let text = format!("hush {}", "secret ".repeat(60));
            let turn = Edit::AddTurn { segment: segment("usr"), messages: vec![user(&text)] };
            let secret = block_on(apply(&system, turn)).pages.remove(0);
            for number in 0..later {
                block_on(leaf(&system, "usr-0", &format!("after {number}")));
            }
            assert!(holds(&store, "hush secret"), "it looks in the right places");
            block_on(apply(&system, Edit::PurgePage(secret.clone())));
            assert!(!holds(&store, "hush"), "after {later} edits");
            assert!(!holds(&store, "secret secret"), "after {later} edits");
            assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
            let read = block_on(fixture::reopen(storage.clone()));
            block_on(read.as_system().reader().page(&page("usr-1"))).unwrap();
        }
    }
}
