//! Rows out of pages: what a page of a SQLite file holds, whatever became of the tree above it.
//!
//! The file format is SQLite's (<https://sqlite.org/fileformat2.html>). Nothing here believes a length or
//! a place: what does not fit is no row.

use contexture_vfs::Pages;
use rusqlite::types::Value;

/// A row as a page holds it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    /// The key of a row in a table that has one apart from its columns.
    pub(super) rowid: Option<i64>,
    pub(super) values: Vec<Value>,
}

/// Kinds of pages that hold rows.
const TABLE_LEAF: u8 = 0x0d;
const INDEX_LEAF: u8 = 0x0a;
const INDEX_INTERIOR: u8 = 0x02;

/// The size of the header before the first page.
const HEADER: usize = 100;

/// No row is longer.
const LONGEST: u64 = 1 << 30;

/// Returns the rows of a page, without those that cannot be made out. SQLite left the last bytes of each
/// page to others: so many as are `reserved`.
pub(super) fn cells(
    pages: &mut Pages<'_>,
    number: u64,
    reserved: usize,
) -> rusqlite::Result<Vec<Cell>> {
    let page = pages.read(number)?.to_vec();
    let start = if number == 1 { HEADER } else { 0 };
    let usable = page.len().saturating_sub(reserved);
    let Some(&kind) = page.get(start) else { return Ok(Vec::new()) };
    let first = match kind {
        TABLE_LEAF | INDEX_LEAF => start + 8,
        INDEX_INTERIOR => start + 12,
        _ => return Ok(Vec::new()),
    };
    let count = short(&page, start + 3).unwrap_or(0);
    let places = (0..count).map_while(|at| short(&page, first + 2 * at));
    let body = &page[..usable];
    Ok(places
        .filter_map(|place| Reader { pages: &mut *pages, kind, usable }.cell(body, place))
        .collect())
}

struct Reader<'a, 'b> {
    pages: &'a mut Pages<'b>,
    kind: u8,
    usable: usize,
}

impl Reader<'_, '_> {
    fn cell(&mut self, page: &[u8], place: usize) -> Option<Cell> {
        let mut rest = page.get(place..)?;
        if self.kind == INDEX_INTERIOR {
            rest = rest.get(4..)?;
        }
        let length = varint(&mut rest).filter(|length| *length <= LONGEST)?;
        let length = usize::try_from(length).ok()?;
        let rowid = match self.kind {
            TABLE_LEAF => Some(varint(&mut rest)?.cast_signed()),
            _ => None,
        };
        let local = self.local(length);
        let mut payload = rest.get(..local)?.to_vec();
        if local < length {
            let next = long(rest, local)?;
            self.overflow(next, length, &mut payload)?;
        }
        Some(Cell { rowid, values: record(&payload)? })
    }

    /// Returns how much of a row lies in the page itself.
    fn local(&self, length: usize) -> usize {
        let usable = self.usable;
        let most =
            if self.kind == TABLE_LEAF { usable - 35 } else { (usable - 12) * 64 / 255 - 23 };
        if length <= most {
            return length;
        }
        let least = (usable - 12) * 32 / 255 - 23;
        let fitting = least + (length - least) % (usable - 4);
        if fitting <= most { fitting } else { least }
    }

    /// Reads the rest of a row from the pages it goes on in.
    fn overflow(&mut self, first: u64, length: usize, payload: &mut Vec<u8>) -> Option<()> {
        let mut next = first;
        while payload.len() < length {
            if next == 0 || next > self.pages.count().ok()? {
                return None;
            }
            let page = self.pages.read(next).ok()?;
            let part = (length - payload.len()).min(self.usable - 4);
            payload.extend_from_slice(page.get(4..4 + part)?);
            next = long(page, 0)?;
        }
        Some(())
    }
}

/// Reads the values of a row.
fn record(payload: &[u8]) -> Option<Vec<Value>> {
    let mut rest = payload;
    let header = usize::try_from(varint(&mut rest)?).ok()?;
    let mut types = payload.get(payload.len() - rest.len()..header)?;
    let mut body = payload.get(header..)?;
    let mut values = Vec::new();
    while !types.is_empty() {
        values.push(value(varint(&mut types)?, &mut body)?);
    }
    Some(values)
}

fn value(kind: u64, body: &mut &[u8]) -> Option<Value> {
    Some(match kind {
        0 => Value::Null,
        1..=6 => {
            let length = [1, 2, 3, 4, 6, 8][usize::try_from(kind).ok()? - 1];
            let bytes = take(body, length)?;
            let sign = if bytes[0] & 0x80 == 0 { 0 } else { -1 };
            let add = |number: i64, byte: &u8| (number << 8) | i64::from(*byte);
            Value::Integer(bytes.iter().fold(sign, add))
        }
        7 => Value::Real(f64::from_be_bytes(take(body, 8)?.try_into().ok()?)),
        8 => Value::Integer(0),
        9 => Value::Integer(1),
        10 | 11 => return None,
        blob if blob % 2 == 0 => Value::Blob(take(body, (blob - 12) / 2)?.to_vec()),
        text => Value::Text(String::from_utf8(take(body, (text - 13) / 2)?.to_vec()).ok()?),
    })
}

fn take<'a>(body: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, rest) = body.split_at_checked(usize::try_from(length).ok()?)?;
    *body = rest;
    Some(taken)
}

/// Reads a number of variable length.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for at in 0..9 {
        let byte = *rest.get(at)?;
        if at == 8 {
            number = (number << 8) | u64::from(byte);
        } else {
            number = (number << 7) | u64::from(byte & 0x7f);
        }
        if at == 8 || byte & 0x80 == 0 {
            *rest = &rest[at + 1..];
            return Some(number);
        }
    }
    None
}

fn short(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?)))
}
