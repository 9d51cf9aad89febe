//! Repeated runs of characters in text without spaces: what Chinese and Japanese words are found by.

use super::Source;

/// How many characters of a page are looked at.
const MOST_CELLS: usize = 8_192;

/// The longest run given; of a longer one, its beginning.
const LONGEST_RUN: usize = 12;

/// How far a repetition is followed to each side, so that all parts of a long one lead to the same.
const FOLLOWED: usize = 32;

/// A repetition this short must be seen three times: two characters often meet by chance.
const SHORTEST: usize = 2;

/// Characters of grammar, in no word worth telling; hiragana is left out as a whole.
const STOPS: &str = "的了是在我你他她它们这那就都也很吗呢吧啊么什怎哪谁还又您请和与及或";

/// One character, or with code 0 the break between two runs.
#[derive(Clone, Copy)]
struct Cell {
    code: u16,
    source: usize,
    byte: usize,
}

/// Finds repeated runs of 2 to 12 characters; `add` gets each with its best place and its count.
pub(super) fn find<'a>(sources: &'a [Source<'_>], add: &mut impl FnMut(&'a str, u64, u64)) {
    let cells = cells(sources);
    // Sorted by their first four characters, all equal runs stand together, whatever their length.
    let mut keys: Vec<(u64, usize)> = Vec::with_capacity(cells.len());
    keys.extend((0..cells.len()).filter(|at| cells[*at].code != 0).map(|at| (key(&cells, at), at)));
    keys.sort_unstable();
    let mut runs: Vec<(usize, usize, usize, u64)> = Vec::new();
    for length in [4, 3, SHORTEST] {
        let prefix = |(key, _): &(u64, usize)| key >> (16 * (4 - length));
        for group in keys.chunk_by(|a, b| prefix(a) == prefix(b)) {
            let whole = prefix(&group[0]) & 0xffff != 0;
            let least = if length == SHORTEST { 3 } else { 2 };
            if whole && group.len() >= least {
                let (back, length) = grow(&cells, group, length);
                let first = group.iter().map(|(_, at)| *at).min().unwrap_or(0) - back;
                let place = group.iter().map(|(_, at)| sources[cells[*at].source].place).max();
                runs.push((first, length, group.len(), place.unwrap_or(0)));
            }
        }
    }
    runs.sort_unstable();
    for (first, length, count, place) in runs {
        let (from, last) = (cells[first], cells[first + length - 1]);
        // All these characters have three bytes.
        let text = &sources[from.source].text[from.byte..last.byte + 3];
        add(text, place, count as u64);
    }
}

fn cells(sources: &[Source<'_>]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (source, Source { text, .. }) in sources.iter().enumerate() {
        if text.is_ascii() {
            continue;
        }
        let mut run = false;
        for (byte, c) in text.char_indices() {
            let code = code(c);
            if code != 0 || run {
                cells.push(Cell { code, source, byte });
            }
            run = code != 0;
            if cells.len() >= MOST_CELLS {
                return cells;
            }
        }
        cells.push(Cell { code: 0, source, byte: text.len() });
    }
    cells
}

/// Returns a character's code, or 0 if no run goes through it.
fn code(c: char) -> u16 {
    let inside = matches!(c, '\u{3005}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}');
    if inside && !STOPS.contains(c) { u16::try_from(u32::from(c)).unwrap_or(0) } else { 0 }
}

/// Packs up to four characters from `at`, as far as the run goes.
fn key(cells: &[Cell], at: usize) -> u64 {
    let mut key = 0;
    let mut inside = true;
    for next in at..at + 4 {
        let code = cells.get(next).map_or(0, |cell| cell.code);
        inside &= code != 0;
        key = key << 16 | if inside { u64::from(code) } else { 0 };
    }
    key
}

/// Lengthens a run to both sides as long as all its occurrences agree; returns how far it went
/// back, and its length.
fn grow(cells: &[Cell], group: &[(u64, usize)], mut length: usize) -> (usize, usize) {
    let agree = |offset: &dyn Fn(usize) -> Option<usize>| {
        let code = |at: usize| offset(at).and_then(|at| cells.get(at)).map_or(0, |cell| cell.code);
        let first = code(group[0].1);
        first != 0 && group.iter().all(|(_, at)| code(*at) == first)
    };
    while length < FOLLOWED && agree(&|at| Some(at + length)) {
        length += 1;
    }
    let mut back = 0;
    while back < FOLLOWED && agree(&|at: usize| at.checked_sub(back + 1)) {
        back += 1;
        length += 1;
    }
    (back, length.min(LONGEST_RUN))
}
