//! Token counts: derived, found by key, never in the way.

use std::collections::BTreeMap;

use contexture_core::{
    Tokens,
    storage::{CountKey, StorageResult},
};

use super::{
    error::{FaultResult, integer},
    pool::{Connections, retire},
    read::ask,
};

/// Keeps counts, in place of those there are.
pub(crate) async fn keep(
    connections: &Connections,
    counts: Vec<(CountKey, Tokens)>,
) -> StorageResult<()> {
    if counts.is_empty() {
        return Ok(());
    }
    // Each once, and in order, so that those who keep the same counts at once wait for each other.
    let counts: BTreeMap<CountKey, Tokens> = counts.into_iter().collect();
    let kept: FaultResult<()> = async {
        let hashes: Vec<&[u8]> = counts.keys().map(|key| &key.0[..]).collect();
        let tokens = counts.values().map(|tokens| integer(tokens.0, "token count"));
        let tokens = tokens.collect::<Result<Vec<i64>, _>>()?;
        let db = connections.take().await?;
        let sql = "INSERT INTO contexture_counts (hash, tokens)
                   SELECT w.hash, w.tokens FROM unnest($1::bytea[], $2::bigint[]) AS w (hash, tokens)
                   ON CONFLICT (hash) DO UPDATE SET tokens = excluded.tokens
                   WHERE contexture_counts.tokens <> excluded.tokens";
        let kept = connections.within(ask(&db, sql, &[&hashes, &tokens])).await;
        if kept.is_err() {
            retire(db);
        }
        kept.map(|_| ())
    }
    .await;
    kept.map_err(|fault| fault.at(&connections.what))
}
