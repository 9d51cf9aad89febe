//! Pages: what a header says of a file, and the sum of a page.

use std::ops::Range;

/// How many bytes a sum takes at the end of a page.
pub const SUM: usize = 8;

/// The lowest `user_version` of a file whose pages carry sums.
pub const SINCE: u32 = 5;

/// The size of a database's header, at the beginning of its first page.
pub(crate) const HEADER: usize = 100;

/// How a database begins.
pub(crate) const MAGIC: &[u8] = b"SQLite format 3\0";

/// Where in a header the version stands.
pub(crate) const VERSION: Range<usize> = 60..64;

/// What the header of a file says of its pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The size of a page; 0 as long as it is not known.
    pub(crate) size: usize,
    /// Whether the last bytes of each page are left to us.
    pub(crate) reserved: bool,
    /// Whether pages carry sums.
    pub(crate) checked: bool,
}

impl Layout {
    /// Reads it from the beginning of a file; nothing is known of what is no database.
    ///
    /// With the whole first page it is also known whether a version below [`SINCE`] is true.
    pub(crate) fn of(start: &[u8]) -> Self {
        let Some(header) = start.get(..HEADER) else { return Self::default() };
        if !header.starts_with(MAGIC) {
            return Self::default();
        }
        let size = match u16::from_be_bytes([header[16], header[17]]) {
            1 => 65_536,
            size => usize::from(size),
        };
        if size < 512 {
            return Self::default();
        }
        let reserved = usize::from(header[20]) == SUM;
        // A file of that version is never without: a header that says so is damaged, and then the sum
        // of its page is wrong. So it is where only the version is not what was written.
        let checked = version(header) >= SINCE
            || (reserved && start.get(..size).is_some_and(has_wrong_version));
        Self { size, reserved, checked }
    }

    /// Returns the number of the page that lies there, if it is one whole page.
    pub(crate) fn page(self, offset: i64, length: usize) -> Option<u64> {
        let offset = u64::try_from(offset).ok()?;
        let size = u64::try_from(self.size).ok()?;
        (length == self.size && size > 0 && offset.is_multiple_of(size)).then(|| offset / size + 1)
    }
}

/// Returns the version in a header.
pub(crate) fn version(header: &[u8]) -> u32 {
    let bytes = header.get(VERSION).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u32::from_be_bytes)
}

/// Tells whether the version in a first page is not what was written: with the right one the page would
/// carry its sum.
pub(crate) fn has_wrong_version(page: &[u8]) -> bool {
    let mut written = page.to_vec();
    let Some(place) = written.get_mut(VERSION) else { return false };
    place.copy_from_slice(&SINCE.to_be_bytes());
    version(page) != SINCE && has_sum(1, &written)
}

/// Puts the sum of a page into its last bytes.
pub(crate) fn put_sum(number: u64, page: &mut [u8]) {
    if let Some((body, place)) = page.split_last_chunk_mut::<SUM>() {
        *place = sum(number, body).to_le_bytes();
    }
}

/// Tells whether a page carries its sum.
pub(crate) fn has_sum(number: u64, page: &[u8]) -> bool {
    page.split_last_chunk::<SUM>()
        .is_some_and(|(body, found)| u64::from_le_bytes(*found) == sum(number, body))
}

const LANES: [u64; 4] =
    [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb, 0xd6e8_feb8_6659_fd93];

/// Returns the sum of a page's bytes at its place. Never 0, so that a page of zeros has none.
///
/// Every step can be undone, so two pages that differ in one word have different sums; with four lanes
/// the steps do not wait for each other. It is no secret: it finds damage, not forgery.
pub(crate) fn sum(number: u64, body: &[u8]) -> u64 {
    let step =
        |lane: u64, word: u64| (lane ^ word).wrapping_mul(0x9fb2_1c65_1e98_df25).rotate_left(29);
    let mut lanes = LANES;
    // Arrays of a known size: the words of a stripe are read without looking at their lengths.
    let (stripes, rest) = body.as_chunks::<{ LANES.len() * 8 }>();
    for stripe in stripes {
        for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0) {
            *lane = step(*lane, u64::from_le_bytes(*word));
        }
    }
    for (lane, bytes) in lanes.iter_mut().zip(rest.chunks(8)) {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        *lane = step(*lane, u64::from_le_bytes(word));
    }
    let mixed = lanes.into_iter().fold(number, |mixed, lane| {
        let mixed = (mixed ^ lane).wrapping_mul(LANES[0]);
        mixed ^ (mixed >> 32)
    });
    mixed.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Vec<u8> {
        let mut page: Vec<u8> = (0..4_096_u32).map(|at| (at * 7 % 251) as u8).collect();
        put_sum(3, &mut page);
        page
    }

    #[test]
    fn sums_stay_what_they_are() {
        assert_eq!(sum(1, &[0; 4_088]), 0xcbe8_c8ff_cb1d_f871);
        assert_eq!(sum(3, &page()[..4_088]), 0x399b_0bca_bca8_28d4);
        assert_eq!(sum(1, b"abc"), 0xe925_46aa_333e_86a8);
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let mut page = page();
        assert!(has_sum(3, &page));
        for bit in 0..page.len() * 8 {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(!has_sum(3, &page), "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn a_version_that_is_not_what_was_written_turns_no_sums_off() {
        let mut page = vec![7; 4_096];
        page[..MAGIC.len()].copy_from_slice(MAGIC);
        page[16..18].copy_from_slice(&[0x10, 0]);
        page[20] = 8;
        page[VERSION].copy_from_slice(&4_u32.to_be_bytes());
        // Sealed, and of the version before.
        put_sum(1, &mut page);
        assert!(!Layout::of(&page).checked);
        page[VERSION].copy_from_slice(&SINCE.to_be_bytes());
        put_sum(1, &mut page);
        assert!(Layout::of(&page).checked);
        for bit in 0..32 {
            page[VERSION][bit / 8] ^= 1 << (bit % 8);
            assert!(Layout::of(&page).checked && has_wrong_version(&page), "bit {bit}");
            page[VERSION][bit / 8] ^= 1 << (bit % 8);
        }
        assert!(!has_wrong_version(&page));
    }

    #[test]
    fn a_page_at_another_place_and_one_of_zeros_have_no_sum() {
        assert!(!has_sum(4, &page()));
        assert!((1..10_000).all(|number| !has_sum(number, &[0; 4_096])));
    }

    #[test]
    fn swapped_words_and_zeroed_sectors_are_noticed() {
        let whole = page();
        for at in (0..4_080).step_by(8) {
            let mut page = whole.clone();
            for byte in at..at + 8 {
                page.swap(byte, byte + 8);
            }
            assert!(page == whole || !has_sum(3, &page), "words at {at}");
        }
        for sector in 0..8 {
            let mut page = whole.clone();
            page[sector * 512..][..512].fill(0);
            assert!(!has_sum(3, &page), "sector {sector}");
        }
    }
}
