//! Rows out of pages: what a page of a SQLite file holds, whatever became of the tree above it.
//!
//! The file format is SQLite's (<https://sqlite.org/fileformat2.html>). Nothing here believes a length or
//! a place: what does not fit is no row.

use std::collections::HashSet;

use contexture_vfs::Pages;
use rusqlite::types::Value;

/// What a page holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Carved {
    /// The rows that can be made out.
    pub(super) cells: Vec<Cell>,
    /// Whether there is nothing else in the page.
    pub(super) is_all: bool,
}

/// A row as a page holds it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    /// The key of a row in a table that has one apart from its columns.
    pub(super) rowid: Option<i64>,
    pub(super) values: Vec<Value>,
    /// The pages in which it goes on.
    pub(super) overflow: Vec<u64>,
    /// How many bytes it takes in its own page.
    size: usize,
}

/// Kinds of pages. Those of tables that lead to others hold no rows.
const TABLE_LEAF: u8 = 0x0d;
const TABLE_INTERIOR: u8 = 0x05;
const INDEX_LEAF: u8 = 0x0a;
const INDEX_INTERIOR: u8 = 0x02;

/// The size of the header before the first page.
const HEADER: usize = 100;

/// The fewest bytes that a row takes in its page.
const SMALLEST: usize = 4;

/// Returns the rows of a page. SQLite left the last bytes of each page to others: so many as are
/// `reserved`.
pub(super) fn page(
    pages: &mut Pages<'_>,
    number: u64,
    reserved: usize,
) -> rusqlite::Result<Carved> {
    let page = pages.read(number)?.to_vec();
    let count = pages.count()?;
    let start = if number == 1 { HEADER } else { 0 };
    let usable = page.len().saturating_sub(reserved);
    let Some(&kind) = page.get(start) else { return Ok(Carved::default()) };
    let first = match kind {
        TABLE_LEAF | INDEX_LEAF => start + 8,
        INDEX_INTERIOR | TABLE_INTERIOR => start + 12,
        _ => return Ok(Carved::default()),
    };
    let listed = short(&page, start + 3).unwrap_or(0);
    let places = (0..listed).map_while(|at| short(&page, first + 2 * at));
    let body = &page[..usable];
    let mut reader = Reader { pages, kind, usable, count };
    let cells: Vec<Cell> = places.filter_map(|place| reader.cell(body, place)).collect();
    let taken = cells.iter().map(|cell| cell.size.max(SMALLEST)).sum();
    let is_all = cells.len() == listed
        && is_accounted_for(body, start, first + 2 * listed, taken).unwrap_or(false);
    let cells = if kind == TABLE_INTERIOR { Vec::new() } else { cells };
    Ok(Carved { cells, is_all })
}

/// Tells whether what lies behind the list of places is either taken by rows or free.
fn is_accounted_for(page: &[u8], start: usize, behind: usize, taken: usize) -> Option<bool> {
    let content = short(page, start + 5)?;
    let mut free = usize::from(*page.get(start + 7)?);
    let mut next = short(page, start + 1)?;
    while next != 0 {
        let (block, size) = (next, short(page, next + 2)?);
        free += size;
        next = short(page, block)?;
        // They stand in order.
        if next != 0 && next < block + size.max(SMALLEST) {
            return None;
        }
    }
    Some(behind <= content && page.len().checked_sub(content)? == taken + free)
}

struct Reader<'a, 'b> {
    pages: &'a mut Pages<'b>,
    kind: u8,
    usable: usize,
    /// How many pages the file has.
    count: u64,
}

impl Reader<'_, '_> {
    fn cell(&mut self, page: &[u8], place: usize) -> Option<Cell> {
        let whole = page.get(place..)?;
        let mut rest = whole;
        if matches!(self.kind, INDEX_INTERIOR | TABLE_INTERIOR) {
            (1..=self.count).contains(&long(rest, 0)?).then_some(())?;
            rest = rest.get(4..)?;
        }
        if self.kind == TABLE_INTERIOR {
            let rowid = Some(varint(&mut rest)?.cast_signed());
            let size = whole.len() - rest.len();
            return Some(Cell { rowid, values: Vec::new(), overflow: Vec::new(), size });
        }
        let length = varint(&mut rest).filter(|length| *length <= self.longest())?;
        let length = usize::try_from(length).ok()?;
        let rowid = match self.kind {
            TABLE_LEAF => Some(varint(&mut rest)?.cast_signed()),
            _ => None,
        };
        let local = self.local(length);
        let mut payload = rest.get(..local)?.to_vec();
        let mut size = whole.len() - rest.len() + local;
        let mut overflow = Vec::new();
        if local < length {
            size += 4;
            overflow = self.overflow(long(rest, local)?, length, &mut payload)?;
        }
        Some(Cell { rowid, values: record(&payload)?, overflow, size })
    }

    /// Returns the length that no row exceeds: it is in the file.
    fn longest(&self) -> u64 {
        self.count.saturating_mul(self.usable as u64)
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

    /// Reads the rest of a row from the pages it goes on in; returns their numbers. None is among them
    /// twice.
    fn overflow(&mut self, first: u64, length: usize, payload: &mut Vec<u8>) -> Option<Vec<u64>> {
        let (mut next, mut seen) = (first, HashSet::new());
        let mut numbers = Vec::new();
        while payload.len() < length {
            if !(1..=self.count).contains(&next) || !seen.insert(next) {
                return None;
            }
            numbers.push(next);
            let page = self.pages.read(next).ok()?;
            let part = (length - payload.len()).min(self.usable - 4);
            payload.extend_from_slice(page.get(4..4 + part)?);
            next = long(page, 0)?;
        }
        Some(numbers)
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
    body.is_empty().then_some(values)
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

#[cfg(test)]
#[path = "carve_tests.rs"]
mod tests;
