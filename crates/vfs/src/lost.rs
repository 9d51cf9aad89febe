//! A header that is lost: how to tell that a file is ours all the same, and the header it must have had.
//!
//! SQLite opens nothing without a header. To save what the other pages hold, the file system for that
//! shows it a header in the place of the damaged one. In the file nothing changes.

use crate::page::{HEADER, MAGIC, SINCE, SUM, VERSION, has_sum, has_wrong_version, version};

/// The size of a page in files of ours.
pub(crate) const PAGE: usize = 4_096;

/// How many pages are searched for one with a sum, so that a large file of somebody else is refused soon.
const SEARCHED: u64 = 4_096;

/// Tells whether a file with these pages is ours and its first page is damaged.
///
/// `read` reads a page of [`PAGE`] bytes, by its number. A sum is long enough for one page to prove it.
pub(crate) fn has_lost_header(mut read: impl FnMut(u64, &mut [u8]) -> bool) -> bool {
    let mut page = [0; PAGE];
    if !read(1, &mut page) || has_sum(1, &page) {
        return false;
    }
    // An earlier or later program may have written it so, and then it is not ours to doubt.
    if page.starts_with(MAGIC) && version(&page) != SINCE && !has_wrong_version(&page) {
        return false;
    }
    (2..=SEARCHED)
        .map_while(|number| read(number, &mut page).then(|| has_sum(number, &page)))
        .any(|has_sum| has_sum)
}

/// Returns the header of a file of ours of some bytes, as far as SQLite must know it.
///
/// It says how many pages there are, and that there is no log: SQLite would write the page only to say so.
/// A log that lies beside the file is read all the same.
pub(crate) fn header(size: u64) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..MAGIC.len()].copy_from_slice(MAGIC);
    header[16..18].copy_from_slice(&(PAGE as u16).to_be_bytes());
    header[18..20].fill(1);
    header[20] = SUM as u8;
    let pages = u32::try_from(size / PAGE as u64).unwrap_or(u32::MAX);
    header[28..32].copy_from_slice(&pages.to_be_bytes());
    // Numbers that are the same in every file.
    header[21..24].copy_from_slice(&[64, 32, 32]);
    // The format of the list of tables, and of texts.
    header[47] = 4;
    header[59] = 1;
    header[VERSION].copy_from_slice(&SINCE.to_be_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Layout, put_sum};

    #[test]
    fn the_header_is_one_of_a_file_with_sums() {
        let layout = Layout { size: PAGE, reserved: true, checked: true };
        assert_eq!(Layout::of(&header(0)), layout);
    }

    #[test]
    fn one_page_with_a_sum_proves_whose_file_it_is() {
        let mut sound = [7; PAGE];
        put_sum(3, &mut sound);
        let lost = |first: &[u8; PAGE], third: &[u8; PAGE]| {
            has_lost_header(|number, place| {
                place.copy_from_slice(match number {
                    1 => first,
                    3 => third,
                    _ => &[0xa5; PAGE],
                });
                number <= 5
            })
        };
        let mut first = [0; PAGE];
        assert!(lost(&first, &sound));
        assert!(!lost(&first, &[0; PAGE]));
        first[..HEADER].copy_from_slice(&header(0));
        assert!(lost(&first, &sound));
        put_sum(1, &mut first);
        assert!(!lost(&first, &sound));
        first[VERSION][3] = 4;
        assert!(lost(&first, &sound), "only its version is damaged");
        first[HEADER] = 1;
        assert!(!lost(&first, &sound), "an earlier program wrote it");
    }
}
