//! Tests on a store in memory: fast, and every request can be made to fail.

mod damage;
mod faults;
mod faulty;
mod imports;
mod purges;
mod shared;
mod suite;

use std::{sync::Arc, time::Duration};

use contexture_core::storage::StorageResult;
use contexture_testkit::fixture::session_id;
use futures::{TryStreamExt, executor::block_on};
use object_store::{ObjectMeta, ObjectStore, memory::InMemory};

use super::{S3Options, S3Storage, S3Tuning};
use crate::runtime;

/// Opens a store as another process would.
fn try_open(store: &Arc<dyn ObjectStore>, tuning: S3Tuning) -> StorageResult<S3Storage> {
    let (store, name) = (store.clone(), "s3://bucket/prefix".to_owned());
    let options = S3Options { tuning, ..S3Options::default() };
    block_on(runtime::run("s3", async move {
        S3Storage::with_store(store, "prefix", name, options).await
    }))
}

fn open(store: &Arc<dyn ObjectStore>, tuning: S3Tuning) -> Arc<S3Storage> {
    Arc::new(try_open(store, tuning).unwrap())
}

fn in_memory() -> Arc<dyn ObjectStore> {
    Arc::new(InMemory::new())
}

/// Lists what a store holds.
fn names(store: &Arc<dyn ObjectStore>) -> Vec<String> {
    let store = store.clone();
    let list = async move {
        let listed: Vec<ObjectMeta> = store.list(None).try_collect().await.unwrap();
        Ok(listed.into_iter().map(|meta| meta.location.to_string()).collect())
    };
    let mut names: Vec<String> = block_on(runtime::run("test", list)).unwrap();
    names.sort();
    names
}

/// Collects what nothing refers to in the folders of the session that most tests use, however young
/// it is; returns how much it was.
fn collect(store: &Arc<dyn ObjectStore>) -> usize {
    let hasty = open(store, S3Tuning { grace: Duration::ZERO, ..small() });
    let collected = hasty.run(|inner, _| async move {
        let session = inner.session(&session_id());
        inner.collect(&session).await
    });
    block_on(collected).unwrap()
}

/// Everything moves on after a few changes, so that short tests see all of it.
fn small() -> S3Tuning {
    S3Tuning {
        inline_bytes: 3_000,
        deltas: 2,
        delta_bytes: 60_000,
        chunk_bytes: 4_000,
        level_bytes: 16_000,
        pack_bytes: 4_000,
        large_content: 3_000,
        cache_bytes: 100_000,
        collect_every: 3,
        ..S3Tuning::default()
    }
}

/// Everything moves on now and then, for tests of many changes.
fn medium() -> S3Tuning {
    S3Tuning {
        inline_bytes: 6_000,
        deltas: 4,
        chunk_bytes: 32_000,
        level_bytes: 128_000,
        pack_bytes: 32_000,
        cache_bytes: 2_000_000,
        ..small()
    }
}
