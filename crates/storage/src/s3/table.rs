//! Tables: sorted records, some of them saying that a key is gone. Chunks, deltas and what a root
//! holds inline are all tables.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    fault::{Fault, FaultResult},
    frame::{Parts, put_bytes, put_number},
};

pub(crate) type Key = Arc<[u8]>;
pub(crate) type Value = Arc<[u8]>;
/// What is written over what a session holds; none where a key goes.
pub(crate) type Over = BTreeMap<Key, Option<Value>>;

/// A key with what it stands for; none when it is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) key: Key,
    pub(crate) value: Option<Value>,
}

/// Records in order of their keys, each key once, laid out without gaps: many are held at once.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Table {
    data: Vec<u8>,
    ends: Vec<Ends>,
}

/// Where a record's key and value end in the table's data; each begins where the one before ends.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ends {
    key: u32,
    value: u32,
    gone: bool,
}

impl Table {
    pub(crate) fn of(over: &Over) -> Self {
        let mut table = Self::default();
        over.iter().for_each(|(key, value)| table.push(key, value.as_deref()));
        table
    }

    /// Adds a record whose key comes after all others.
    pub(crate) fn push(&mut self, key: &[u8], value: Option<&[u8]>) {
        let end = |data: &Vec<u8>| {
            u32::try_from(data.len()).expect("a table is written before it is four gigabytes")
        };
        self.data.extend_from_slice(key);
        let key = end(&self.data);
        self.data.extend_from_slice(value.unwrap_or_default());
        self.ends.push(Ends { key, value: end(&self.data), gone: value.is_none() });
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(crate) fn key(&self, at: usize) -> &[u8] {
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before].value);
        &self.data[from as usize..self.ends[at].key as usize]
    }

    pub(crate) fn value(&self, at: usize) -> Option<&[u8]> {
        let ends = self.ends[at];
        (!ends.gone).then(|| &self.data[ends.key as usize..ends.value as usize])
    }

    pub(crate) fn record(&self, at: usize) -> Record {
        Record { key: self.key(at).into(), value: self.value(at).map(Into::into) }
    }

    pub(crate) fn records(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        (0..self.len()).map(|at| (self.key(at), self.value(at)))
    }

    /// Returns what it says of a key; none where it says nothing.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        let at = self.position(key);
        (at < self.len() && self.key(at) == key).then(|| self.value(at))
    }

    /// Returns the place of the first record at or after a key.
    pub(crate) fn position(&self, key: &[u8]) -> usize {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from + (to - from) / 2;
            if self.key(middle) < key {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// Returns about how much memory it takes.
    pub(crate) fn weight(&self) -> usize {
        self.data.capacity() + self.ends.capacity() * size_of::<Ends>() + 64
    }

    /// Returns how many bytes its records are.
    pub(crate) fn raw(&self) -> usize {
        self.data.len() + 8 * self.len()
    }

    /// Lays newer records over these.
    pub(crate) fn under(&self, over: &Over) -> Table {
        let mut all = self.to_over();
        all.extend(over.iter().map(|(key, value)| (key.clone(), value.clone())));
        Table::of(&all)
    }

    pub(crate) fn to_over(&self) -> Over {
        self.records().map(|(key, value)| (key.into(), value.map(Into::into))).collect()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.raw());
        put_number(&mut bytes, self.len() as u64);
        let mut before: &[u8] = &[];
        for (key, value) in self.records() {
            let shared = before.iter().zip(key.iter()).take_while(|(a, b)| a == b).count();
            put_number(&mut bytes, shared as u64);
            put_bytes(&mut bytes, &key[shared..]);
            // Nought says that the key is gone.
            put_number(&mut bytes, value.map_or(0, |value| value.len() as u64 + 1));
            bytes.extend_from_slice(value.unwrap_or_default());
            before = key;
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8], what: &str) -> FaultResult<Self> {
        read(&mut Parts(bytes)).ok_or_else(|| Fault::corrupt(what, "its records are inconsistent"))
    }
}

fn read(parts: &mut Parts<'_>) -> Option<Table> {
    // Lengths are those of parts of something that was read, so the sum of all but shared
    // beginnings is bounded; what those add is not, and must be.
    const MOST: usize = 1 << 30;
    let mut table = Table::default();
    let mut key: Vec<u8> = Vec::new();
    for at in 0..parts.number()? {
        let shared = usize::try_from(parts.number()?).ok()?;
        let more = parts.bytes()?;
        if shared > key.len() || (at > 0 && more <= &key[shared..]) {
            return None;
        }
        key.truncate(shared);
        key.extend_from_slice(more);
        let length = parts.number()?;
        let value = match length {
            0 => None,
            length => Some(parts.take(length - 1)?),
        };
        table.push(&key, value);
        if table.data.len() > MOST {
            return None;
        }
    }
    table.data.shrink_to_fit();
    table.ends.shrink_to_fit();
    parts.0.is_empty().then_some(table)
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table({} records, {} bytes)", self.len(), self.raw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_round_trip_and_say_what_is_gone() {
        let over: Over = [("a", Some("1")), ("ab", None), ("abc", Some("")), ("b", Some("2"))]
            .into_iter()
            .map(|(key, value)| (key.as_bytes().into(), value.map(|value| value.as_bytes().into())))
            .collect();
        let table = Table::of(&over);
        let bytes = table.encode();
        assert_eq!(Table::decode(&bytes, "it").unwrap(), table);
        assert_eq!(table.get(b"ab"), Some(None));
        assert_eq!(table.get(b"abc"), Some(Some(&[][..])));
        assert_eq!((table.position(b"aa"), table.position(b"z")), (1, 4));
        assert_eq!(table.to_over(), over);
        assert_eq!(table.get(b"c"), None);
        for length in 0..bytes.len() {
            assert!(Table::decode(&bytes[..length], "it").is_err(), "cut at {length}");
        }
    }
}
