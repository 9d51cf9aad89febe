//! Token counts: derived, found by key, never in the way.

use contexture_core::{Tokens, storage::CountKey};
use rusqlite::{Connection, Row, params};

use super::error::{Fault, FaultResult, integer, natural};

/// Every row, for [`check`].
pub(crate) const ALL: &str = "SELECT key, tokens FROM counts";

/// Reads counts in the order asked for.
pub(crate) fn read(db: &Connection, keys: &[CountKey]) -> FaultResult<Vec<Option<Tokens>>> {
    let mut query = db.prepare_cached("SELECT tokens FROM counts WHERE key = ?1")?;
    let mut counts = Vec::with_capacity(keys.len());
    for key in keys {
        let mut rows = query.query([key.0])?;
        let count = rows.next()?.map(|row| row.get(0)).transpose()?;
        let count = count.map(|count| natural(count, name(&key.0))).transpose()?;
        counts.push(count.map(Tokens));
    }
    Ok(counts)
}

/// Counts as SQLite holds them.
pub(crate) type Rows = Vec<([u8; 16], i64)>;

/// Makes rows of counts.
pub(crate) fn rows(counts: &[(CountKey, Tokens)]) -> FaultResult<Rows> {
    let row = |(key, tokens): &(CountKey, Tokens)| Ok((key.0, integer(tokens.0, "token count")?));
    counts.iter().map(row).collect()
}

/// Keeps counts, in place of those there are.
pub(crate) fn keep(db: &Connection, rows: &Rows) -> FaultResult<()> {
    let mut put = db.prepare_cached(
        "INSERT INTO counts VALUES (?1, ?2)
         ON CONFLICT (key) DO UPDATE SET tokens = excluded.tokens WHERE tokens <> excluded.tokens",
    )?;
    for (key, tokens) in rows {
        put.execute(params![key, tokens])?;
    }
    Ok(())
}

/// Checks a row.
pub(crate) fn check(row: &Row<'_>) -> FaultResult<()> {
    let key = row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?;
    if key.len() != 16 {
        return Err(Fault::corrupt(name(key), "its key is not 16 bytes long"));
    }
    natural(row.get(1)?, name(key)).map(|_| ())
}

fn name(key: &[u8]) -> String {
    let digits: Vec<String> = key.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("token count {}", digits.concat())
}
