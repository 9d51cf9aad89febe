//! Compression, where it pays, and checksums: how storages keep bytes.

use std::{cell::RefCell, io::Read};

use contexture_core::storage::{Checksum, Content, ContentHash, StorageError};
use zstd::zstd_safe::{DCtx, ResetDirective};

/// Computes a checksum over several parts.
pub(crate) fn checksum(parts: &[&[u8]]) -> [u8; 16] {
    let mut bytes = Vec::with_capacity(parts.iter().map(|part| part.len() + 8).sum());
    for part in parts {
        // Each with its length, so that what moves from one part to the next is noticed.
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    Checksum::of(&bytes).0
}

/// Bytes as they are stored.
pub(crate) struct Packed {
    /// The size before compression; none when they are stored as they are.
    pub(crate) raw: Option<i64>,
    /// What is stored, unless it is the bytes themselves.
    compressed: Option<Vec<u8>>,
}

impl Packed {
    /// Compresses bytes of at least `least` if that makes them a tenth smaller.
    pub(crate) fn new(bytes: &[u8], least: usize) -> Self {
        let compressed = (bytes.len() >= least).then(|| compress(bytes)).flatten();
        let compressed = compressed.filter(|packed| packed.len() <= bytes.len() / 10 * 9);
        let raw = compressed.as_ref().and_then(|_| i64::try_from(bytes.len()).ok());
        Self { raw, compressed }
    }

    /// Compresses a content if that pays.
    pub(crate) fn of_content(content: &Content) -> Self {
        /// Below this, compression costs more time than it saves room.
        const LEAST: usize = 2_048;
        Self::new(content.bytes(), LEAST)
    }

    /// Returns what is stored, given what it was made from.
    pub(crate) fn stored<'a>(&'a self, bytes: &'a [u8]) -> &'a [u8] {
        self.compressed.as_deref().unwrap_or(bytes)
    }
}

/// A content ready to be stored: the caller's thread compresses, so the writer need not.
#[cfg(any(feature = "sqlite", feature = "s3"))]
pub(crate) struct PackedContent {
    pub(crate) content: Content,
    pub(crate) packed: Packed,
}

#[cfg(any(feature = "sqlite", feature = "s3"))]
impl PackedContent {
    pub(crate) fn new(content: &Content) -> Self {
        Self { packed: Packed::of_content(content), content: content.clone() }
    }
}

/// Reads a content from how it was packed.
pub(crate) fn unpack_content(
    hash: ContentHash,
    raw: Option<i64>,
    data: &[u8],
) -> Result<Content, StorageError> {
    let corrupt = |reason| StorageError::Corrupt { what: format!("content {hash}"), reason };
    let bytes = unpack(raw, data).map_err(corrupt)?;
    Content::verify(hash, bytes)
        .ok_or_else(|| corrupt("its hash is not the one it is stored under".to_owned()))
}

/// Returns what was packed; never more than its stated size.
pub(crate) fn unpack(raw: Option<i64>, data: &[u8]) -> Result<Vec<u8>, String> {
    let Some(raw) = raw else { return Ok(data.to_vec()) };
    let size = u64::try_from(raw).map_err(|_| format!("its stated size is {raw}"))?;
    let fault = |error: std::io::Error| format!("it cannot be unpacked: {error}");
    thread_local! {
        // Making one costs more than unpacking a page.
        static CONTEXT: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
    }
    let mut bytes = Vec::new();
    CONTEXT.with_borrow_mut(|context| {
        // What came before may have ended in the middle.
        let reset = context.reset(ResetDirective::SessionOnly);
        reset.map_err(|code| zstd::zstd_safe::get_error_name(code).to_owned())?;
        let decoder = zstd::stream::read::Decoder::with_context(data, context);
        decoder.take(size.saturating_add(1)).read_to_end(&mut bytes).map_err(fault)
    })?;
    if bytes.len() as u64 == size { Ok(bytes) } else { Err(format!("it is not {size} bytes long")) }
}

fn compress(bytes: &[u8]) -> Option<Vec<u8>> {
    thread_local! {
        // Making a compressor costs more than compressing a page.
        static COMPRESSOR: RefCell<Option<zstd::bulk::Compressor<'static>>> =
            RefCell::new(zstd::bulk::Compressor::new(zstd::DEFAULT_COMPRESSION_LEVEL).ok());
    }
    COMPRESSOR.with_borrow_mut(|compressor| compressor.as_mut()?.compress(bytes).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_round_trips_and_pays() {
        let text = "the same again and again; ".repeat(100).into_bytes();
        let packed = Packed::new(&text, 256);
        assert!(packed.stored(&text).len() < text.len() / 5);
        assert_eq!(unpack(packed.raw, packed.stored(&text)).unwrap(), text);
        let short = Packed::new(b"short", 256);
        assert_eq!((short.raw, short.stored(b"short")), (None, &b"short"[..]));
    }

    #[test]
    fn unpacking_is_bounded_by_the_stated_size() {
        let text = vec![b'x'; 1 << 20];
        let packed = Packed::new(&text, 256);
        let stored = packed.stored(&text);
        for wrong in [10, (1 << 20) - 1, (1 << 20) + 1, -1, i64::MAX] {
            assert!(unpack(Some(wrong), stored).is_err(), "{wrong}");
        }
        assert!(unpack(packed.raw, &stored[..stored.len() / 2]).is_err());
        assert_eq!(unpack(packed.raw, stored).unwrap(), text, "what failed before leaves nothing");
    }
}
