//! Frames: how an object's bytes are kept, compressed where that pays, with a checksum.

use contexture_core::storage::StorageError;

use super::fault::{Fault, FaultResult};
use crate::packing::{Packed, checksum, unpack};

const MAGIC: &[u8; 4] = b"CTXO";
/// The version of everything kept in a bucket.
pub(crate) const VERSION: u8 = 1;
const HEAD: usize = 4 + 1 + 1 + 8 + 16;

/// What a frame holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Root = 1,
    Table = 2,
    Manifest = 3,
    Directory = 4,
}

/// A frame ready to be written.
pub(crate) struct Sealed {
    pub(crate) bytes: Vec<u8>,
    pub(crate) checksum: [u8; 16],
}

pub(crate) fn seal(kind: Kind, payload: &[u8]) -> Sealed {
    let packed = Packed::new(payload, 256);
    let stored = packed.stored(payload);
    let raw = packed.raw.unwrap_or(-1).to_le_bytes();
    let checksum = checksum(&[&[VERSION, kind as u8], &raw, stored]);
    let mut bytes = Vec::with_capacity(HEAD + stored.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&[VERSION, kind as u8]);
    bytes.extend_from_slice(&raw);
    bytes.extend_from_slice(&checksum);
    bytes.extend_from_slice(stored);
    Sealed { bytes, checksum }
}

/// Returns a frame's payload and checksum, if it is what was written.
pub(crate) fn unseal(kind: Kind, bytes: &[u8], what: &str) -> FaultResult<(Vec<u8>, [u8; 16])> {
    let corrupt = |reason: &str| Fault::corrupt(what, reason);
    let Some((head, stored)) = bytes.split_at_checked(HEAD) else {
        return Err(corrupt("it is too short"));
    };
    if head[..4] != MAGIC[..] {
        return Err(corrupt("it does not begin as an object of this store does"));
    }
    let (raw, sum) = (&head[6..14], &head[14..]);
    if checksum(&[&head[4..6], raw, stored]) != *sum {
        return Err(corrupt("its checksum does not match"));
    }
    if head[4] > VERSION {
        let (found, known) = (i64::from(head[4]), i64::from(VERSION));
        return Err(StorageError::Newer { what: what.to_owned(), found, known }.into());
    }
    if head[5] != kind as u8 {
        return Err(corrupt("it is a different kind of object"));
    }
    let raw = i64::from_le_bytes(raw.try_into().expect("eight bytes were cut out"));
    let payload = unpack((raw >= 0).then_some(raw), stored).map_err(|reason| corrupt(&reason))?;
    Ok((payload, sum.try_into().expect("sixteen bytes were cut out")))
}

/// Appends a number in as few bytes as it takes.
pub(crate) fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number as u8 & 0x7f) | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends bytes with their length.
pub(crate) fn put_bytes(bytes: &mut Vec<u8>, part: &[u8]) {
    put_number(bytes, part.len() as u64);
    bytes.extend_from_slice(part);
}

/// Takes apart what was put together; none where there is not enough.
pub(crate) struct Parts<'a>(pub(crate) &'a [u8]);

impl<'a> Parts<'a> {
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    pub(crate) fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (part, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(part)
    }

    pub(crate) fn array<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        self.take(LENGTH as u64)?.try_into().ok()
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_comes_back_and_damage_is_noticed() {
        let payload = b"the same and the same and ".repeat(40);
        let sealed = seal(Kind::Table, &payload);
        let (read, sum) = unseal(Kind::Table, &sealed.bytes, "it").unwrap();
        assert_eq!((read, sum), (payload, sealed.checksum));
        assert!(unseal(Kind::Root, &sealed.bytes, "it").is_err());
        for at in 0..sealed.bytes.len() {
            let mut damaged = sealed.bytes.clone();
            damaged[at] ^= 1;
            assert!(unseal(Kind::Table, &damaged, "it").is_err(), "byte {at}");
            assert!(unseal(Kind::Table, &sealed.bytes[..at], "it").is_err(), "cut at {at}");
        }
    }

    #[test]
    fn numbers_round_trip() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            assert_eq!(Parts(&bytes).number(), Some(number));
            assert_eq!(Parts(&bytes[..bytes.len() - 1]).number(), None);
        }
        assert_eq!(Parts(&[0xff; 11]).number(), None);
    }
}
