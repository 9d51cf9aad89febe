//! The quarantine: rows that cannot be read, kept as they were found, out of everybody's way.

use std::fmt::Write;

use contexture_core::Clock;
use rusqlite::{
    Connection, params, params_from_iter,
    types::{Value, ValueRef},
};

use super::error::FaultResult;
use crate::SystemClock;

/// A row by its table and key.
#[derive(Debug, Clone)]
pub(crate) struct RowKey {
    pub(crate) table: Table,
    pub(crate) key: Vec<Value>,
}

/// A table and the columns that make its key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) key: &'static [&'static str],
}

impl RowKey {
    /// Moves the row into the quarantine.
    pub(crate) fn take(&self, db: &Connection, reason: &str) -> FaultResult<()> {
        self.keep(db, reason)?;
        let sql = format!("DELETE FROM {} WHERE {}", self.table.name, self.table.condition());
        db.prepare_cached(&sql)?.execute(params_from_iter(&self.key))?;
        Ok(())
    }

    /// Puts a copy of the row into the quarantine, before it is written anew.
    pub(crate) fn keep(&self, db: &Connection, reason: &str) -> FaultResult<()> {
        let sql = format!("SELECT * FROM {} WHERE {}", self.table.name, self.table.condition());
        let mut query = db.prepare_cached(&sql)?;
        let names: Vec<String> = query.column_names().map(str::to_owned).collect();
        let mut rows = query.query(params_from_iter(&self.key))?;
        while let Some(row) = rows.next()? {
            let mut content = serde_json::Map::new();
            for (at, name) in names.iter().enumerate() {
                content.insert(name.clone(), json(row.get_ref(at)?));
            }
            let content = serde_json::Value::Object(content).to_string();
            put(db, self.table.name, &self.name(), &content, reason)?;
        }
        Ok(())
    }

    /// Returns the key as text.
    pub(crate) fn name(&self) -> String {
        let parts = self.key.iter().map(|part| match part {
            Value::Null => "NULL".to_owned(),
            Value::Integer(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
            Value::Text(text) => text.clone(),
            Value::Blob(bytes) => hexadecimal(bytes),
        });
        parts.collect::<Vec<_>>().join(" ")
    }
}

/// Puts bytes of the file itself into the quarantine.
pub(crate) fn keep_bytes(db: &Connection, key: &str, bytes: &[u8]) -> FaultResult<()> {
    let content = serde_json::json!({ "blob": hexadecimal(bytes) }).to_string();
    put(db, "file", key, &content, "it is not what was written")
}

/// Tells whether nothing is in it.
pub(crate) fn is_empty(db: &Connection) -> FaultResult<bool> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM quarantine)";
    Ok(db.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// Deletes all that is in it.
pub(crate) fn empty(db: &Connection) -> FaultResult<()> {
    db.execute("DELETE FROM quarantine", [])?;
    Ok(())
}

fn put(db: &Connection, origin: &str, key: &str, content: &str, reason: &str) -> FaultResult<()> {
    db.prepare_cached(
        "INSERT INTO quarantine (origin, key, content, reason, taken_at)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![origin, key, content, reason, SystemClock.now().as_millis()])?;
    Ok(())
}

impl Table {
    fn condition(&self) -> String {
        let equal = |(at, name): (usize, &&str)| format!("{name} IS ?{}", at + 1);
        self.key.iter().enumerate().map(equal).collect::<Vec<_>>().join(" AND ")
    }
}

fn json(value: ValueRef<'_>) -> serde_json::Value {
    match value {
        ValueRef::Null => serde_json::Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => serde_json::json!({ "blob": hexadecimal(bytes) }),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
