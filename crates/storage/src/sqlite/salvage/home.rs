//! Whose row it is: tables are told apart by the kinds of their columns.

use contexture_core::PageIndex;
use rusqlite::types::Value;

use super::carve::Cell;

/// What a row is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Home {
    /// A row of a table, in the order of its columns.
    Table(&'static str, Vec<Value>),
    /// A session's name and key, as an index repeats them.
    SessionName(String, i64),
    /// A segment's session, name and key, as an index repeats them.
    SegmentName(i64, String, i64),
    /// A row that is made anew from others: of another index, or of SQLite's own list of tables.
    Derived,
}

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    Integer,
    Text,
    Blob,
    Real,
}

/// Tells where a row belongs; none if it is like no row of ours.
///
/// `own` is the table whose only page this is, where that is known.
pub(super) fn find(cell: Cell, own: Option<&str>) -> Option<Home> {
    use Kind::{Blob, Integer, Null, Text};
    let Cell { rowid, mut values, .. } = cell;
    let kinds: Vec<Kind> = values.iter().map(kind).collect();
    if let Some(rowid) = rowid {
        let table = match kinds[..] {
            [Null, Text, Text, Integer, Integer, Integer, Integer, Blob] => {
                // Made before sessions had marks.
                values.push(Value::Null);
                "sessions"
            }
            [Null, Text, Text, Integer, Integer, Integer, Integer, Blob, Text | Null] => "sessions",
            [Null, Integer, Text, Blob | Null, Blob] => "segments",
            [Null, Blob] => "blobs",
            [Null, Text, Text, Text, Text, Integer] => "quarantine",
            [Text, Text, Text, Integer, Text | Null] => return Some(Home::Derived),
            _ => return None,
        };
        values[0] = Value::Integer(rowid);
        return Some(Home::Table(table, values));
    }
    let table = match kinds[..] {
        [Integer, Integer, Integer | Null, Integer, Integer, Integer, Text | Null, Blob, Blob] => {
            "pages"
        }
        [Integer, Integer, Text, Integer, Integer | Null, Blob, Blob] => "history",
        [Integer, Text, Text, Integer, Integer | Null, Blob, Blob] => "ledger",
        [Integer, Text, Integer, Integer, Blob, Blob] => "levels",
        [Integer, Text, Integer, Text, Integer, Blob] => "runs",
        [Blob, Integer, Integer | Null, Integer] => "contents",
        [Integer, Text, Integer, Blob] => "views",
        [Integer, Text, Text, Blob] => match own {
            Some("focus") => "focus",
            Some("custom") => "custom",
            _ => match &values[2] {
                Value::Text(page) if page.parse::<PageIndex>().is_ok() => "focus",
                _ => "custom",
            },
        },
        [Blob, Integer] => "counts",
        [Integer, Blob] => "staged",
        [Text, Integer] | [Integer, Text, Integer] => return name(&values),
        // Directories, and the indexes of pages and of history.
        [Integer, Integer, Integer]
        | [Integer, Integer, Integer, Integer, Integer]
        | [Integer, Text, Integer, Integer] => return Some(Home::Derived),
        _ => return None,
    };
    Some(Home::Table(table, values))
}

fn name(values: &[Value]) -> Option<Home> {
    match values {
        [Value::Text(name), Value::Integer(key)] => Some(Home::SessionName(name.clone(), *key)),
        [Value::Integer(session), Value::Text(name), Value::Integer(key)] => {
            Some(Home::SegmentName(*session, name.clone(), *key))
        }
        _ => None,
    }
}

fn kind(value: &Value) -> Kind {
    match value {
        Value::Null => Kind::Null,
        Value::Integer(_) => Kind::Integer,
        Value::Real(_) => Kind::Real,
        Value::Text(_) => Kind::Text,
        Value::Blob(_) => Kind::Blob,
    }
}
