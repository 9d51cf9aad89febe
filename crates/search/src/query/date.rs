//! Times that a question names: dates in words and figures, and times relative to the present.

use contexture_core::Timestamp;

/// A time that a question names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateHint {
    /// A date, or what is given of one: "May 2023", "8 May", "4月27日".
    Civil {
        /// The year, where it is given.
        year: Option<i32>,
        /// The month, where it is given.
        month: Option<u32>,
        /// The day of the month, where it is given.
        day: Option<u32>,
    },
    /// Days since 1970, both included: "yesterday", "last week".
    Days {
        /// The first.
        from: i64,
        /// The last.
        to: i64,
    },
}

impl DateHint {
    /// Returns how close a time is, from 0 to 1. People often speak of something a day later,
    /// and a month is less precise than a day.
    pub fn closeness(&self, at: Timestamp) -> f32 {
        let today = day_of(at);
        match *self {
            DateHint::Days { from, to } if (from..=to).contains(&today) => 1.0,
            DateHint::Days { from, to } if (from - 1..=to + 1).contains(&today) => 0.5,
            DateHint::Days { .. } => 0.0,
            DateHint::Civil { year, month, day } => {
                let (at_year, at_month, at_day) = civil(today);
                let differs = |given: Option<u32>, at| given.is_some_and(|given| given != at);
                if year.is_some_and(|year| year != at_year) || differs(month, at_month) {
                    return 0.0;
                }
                match (month, day) {
                    (None, _) => 0.2,
                    (Some(_), None) => 0.5,
                    (Some(_), Some(day)) => match day.abs_diff(at_day) {
                        0 => 1.0,
                        1 => 0.5,
                        2..=7 => 0.3,
                        _ => 0.1,
                    },
                }
            }
        }
    }
}

/// Reads the times that a line names, and times relative to the present that its last sentence names: the sentences
/// before the question are not part of it.
pub(super) fn read(line: &str, last: &str, now: Timestamp) -> Vec<DateHint> {
    let today = day_of(now);
    let mut hints = scan(line, |words, at| {
        figures(&words[at..])
            .or_else(|| chinese(&words[at..]))
            .or_else(|| month_name(words, at))
            .or_else(|| year_alone(words, at))
    });
    let is_full = |hint: &DateHint| matches!(hint, DateHint::Civil { month: Some(_), .. });
    // "The last week of October" is not relative to the present.
    if !hints.iter().any(is_full) {
        hints.extend(scan(last, |words, at| relative(&words[at..], today)));
        hints.extend(relative_chinese(last, today));
    }
    hints.truncate(8);
    hints
}

fn scan(
    line: &str,
    find: impl Fn(&[Word<'_>], usize) -> Option<(DateHint, usize)>,
) -> Vec<DateHint> {
    let words = words(line);
    let mut hints = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let found = find(&words, at);
        match found {
            Some((hint, used)) => {
                hints.push(hint);
                at += used;
            }
            None => at += 1,
        }
    }
    hints
}

/// Returns whether a line asks for a time.
pub(super) fn asks_when(line: &str) -> bool {
    let words = words(line);
    let asks = |pair: &[Word<'_>]| match pair {
        [Word::Text(first), ..] if first == "when" => true,
        [Word::Text(first), Word::Text(second)] => match first.as_str() {
            "what" => ["date", "day", "month", "time", "year"].contains(&second.as_str()),
            "which" => ["day", "month", "year"].contains(&second.as_str()),
            "how" => second == "long",
            _ => false,
        },
        _ => false,
    };
    (0..words.len()).any(|at| asks(&words[at..words.len().min(at + 2)]))
        || ["什么时候", "哪天", "哪一天", "几号", "几月", "何时", "いつ", "언제"]
            .iter()
            .any(|asked| line.contains(asked))
}

/// A word, a number or a sign of a line.
enum Word<'a> {
    Text(String),
    Number(u32),
    Sign(&'a str),
}

fn words(line: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut rest = line;
    let mut after_digit = false;
    while let Some(first) = rest.chars().next() {
        let kind = |letter: char| match letter {
            '0'..='9' => 1,
            'a'..='z' | 'A'..='Z' => 2,
            _ => 0,
        };
        let same = |letter: char| kind(letter) == kind(first);
        let end = match kind(first) {
            0 => first.len_utf8(),
            _ => rest.find(|letter| !same(letter)).unwrap_or(rest.len()),
        };
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        let between_digits = after_digit && rest.starts_with(|next: char| next.is_ascii_digit());
        after_digit = kind(first) == 1;
        match kind(first) {
            1 => words.push(piece.parse().map_or(Word::Sign(piece), Word::Number)),
            2 => words.push(Word::Text(piece.to_ascii_lowercase())),
            _ if first == '.' && between_digits => words.push(Word::Sign(piece)),
            _ if first.is_whitespace() || matches!(first, ',' | '.') => {}
            _ => words.push(Word::Sign(piece)),
        }
    }
    words
}

/// Reads 2023-05-08, 2023/05/08 and 08.05.2023.
fn figures(words: &[Word<'_>]) -> Option<(DateHint, usize)> {
    match words {
        [
            Word::Number(year),
            Word::Sign(a),
            Word::Number(month),
            Word::Sign(b),
            Word::Number(day),
            ..,
        ] if a == b && matches!(*a, "-" | "/") => {
            Some((date(Some(year_of(*year)?), Some(*month), Some(*day))?, 5))
        }
        [
            Word::Number(day),
            Word::Sign("."),
            Word::Number(month),
            Word::Sign("."),
            Word::Number(year),
            ..,
        ] => Some((date(Some(year_of(*year)?), Some(*month), Some(*day))?, 5)),
        _ => None,
    }
}

/// Reads 2023年5月8日 and its parts.
fn chinese(words: &[Word<'_>]) -> Option<(DateHint, usize)> {
    match words {
        [Word::Number(year), Word::Sign("年"), rest @ ..] => {
            let year = Some(year_of(*year)?);
            match chinese(rest) {
                Some((DateHint::Civil { year: None, month, day }, used)) => {
                    Some((DateHint::Civil { year, month, day }, used + 2))
                }
                _ => Some((date(year, None, None)?, 2)),
            }
        }
        [
            Word::Number(month),
            Word::Sign("月"),
            Word::Number(day),
            Word::Sign("日" | "号" | "號"),
            ..,
        ] => Some((date(None, Some(*month), Some(*day))?, 4)),
        [Word::Number(month), Word::Sign("月"), ..] => Some((date(None, Some(*month), None)?, 2)),
        _ => None,
    }
}

/// Reads "8 May 2023", "May 8th, 2023", "May 2023" and "in May". A month that is also another word needs
/// a number or a preposition beside it.
fn month_name(words: &[Word<'_>], at: usize) -> Option<(DateHint, usize)> {
    let ordinal = |at: usize| match words.get(at) {
        Some(Word::Text(text)) if ["st", "nd", "rd", "th"].contains(&text.as_str()) => 1,
        _ => 0,
    };
    let text = |at: usize| match words.get(at) {
        Some(Word::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let year_at = |at: usize| match words.get(at) {
        Some(Word::Number(number)) => year_of(*number),
        _ => None,
    };
    if let Word::Number(day) = words[at] {
        let mut next = at + 1 + ordinal(at + 1);
        next += usize::from(text(next) == Some("of"));
        let month = month_of(text(next)?)?;
        let year = year_at(next + 1);
        let used = next + 1 + usize::from(year.is_some()) - at;
        return Some((date(year, Some(month), Some(day))?, used));
    }
    let month = month_of(text(at)?)?;
    if let Some(year) = year_at(at + 1) {
        return Some((date(Some(year), Some(month), None)?, 2));
    }
    if let Some(Word::Number(day)) = words.get(at + 1) {
        let next = at + 2 + ordinal(at + 2);
        let year = year_at(next);
        let used = next + usize::from(year.is_some()) - at;
        return Some((date(year, Some(month), Some(*day))?, used));
    }
    let before = at.checked_sub(1).and_then(text);
    let introduced = before.is_some_and(|word| INTRODUCING.contains(&word));
    let unmistakable = text(at)?.len() > 5 && text(at) != Some("august");
    (introduced || unmistakable).then_some(())?;
    Some((date(None, Some(month), None)?, 1))
}

const INTRODUCING: [&str; 13] = [
    "and", "by", "during", "early", "in", "late", "last", "mid", "of", "on", "since", "this",
    "until",
];

fn year_alone(words: &[Word<'_>], at: usize) -> Option<(DateHint, usize)> {
    match (at.checked_sub(1).map(|before| &words[before]), &words[at]) {
        (Some(Word::Text(before)), Word::Number(year)) if before == "in" => {
            Some((date(Some(year_of(*year)?), None, None)?, 1))
        }
        _ => None,
    }
}

/// Reads "yesterday", "last week", "two days ago".
fn relative(words: &[Word<'_>], today: i64) -> Option<(DateHint, usize)> {
    let Word::Text(first) = &words[0] else {
        let Word::Number(count) = words[0] else { return None };
        return Some((ago(count, words.get(1..)?, today)?, 3));
    };
    if first == "yesterday" {
        return Some((span(today - 1, today - 1), 1));
    }
    if let Some(count) = NUMBERS.iter().position(|number| number == first) {
        return Some((ago(count as u32 + 1, words.get(1..)?, today)?, 3));
    }
    let (Word::Text(unit), "last" | "this") = (words.get(1)?, first.as_str()) else { return None };
    Some((period(unit, first == "last", today)?, 2))
}

const NUMBERS: [&str; 10] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

fn ago(count: u32, words: &[Word<'_>], today: i64) -> Option<DateHint> {
    let [Word::Text(unit), Word::Text(ago), ..] = words else { return None };
    if ago != "ago" || count > 1000 {
        return None;
    }
    let count = i64::from(count);
    Some(match unit.as_str() {
        "day" | "days" => span(today - count, today - count),
        "week" | "weeks" => span(today - count * 7 - 3, today - count * 7 + 3),
        "month" | "months" => span(today - count * 30 - 15, today - count * 30 + 15),
        "year" | "years" => date(Some(civil(today).0 - count as i32), None, None)?,
        _ => return None,
    })
}

fn period(unit: &str, last: bool, today: i64) -> Option<DateHint> {
    let back = i64::from(last);
    let (year, month, _) = civil(today);
    // 1970 began on a Thursday; weeks begin on Monday.
    let weekday = (today + 3).rem_euclid(7);
    let monday = today - weekday - 7 * back;
    Some(match unit {
        "week" => span(monday, monday + 6),
        "weekend" => span(monday + 5, monday + 6),
        "month" => {
            let months = i64::from(year) * 12 + i64::from(month) - 1 - back;
            let year = i32::try_from(months.div_euclid(12)).ok()?;
            date(Some(year), Some(months.rem_euclid(12) as u32 + 1), None)?
        }
        "year" => date(Some(year - i32::from(last)), None, None)?,
        day => {
            let named = DAYS.iter().position(|name| *name == day)? as i64;
            let since = (weekday - named).rem_euclid(7);
            let since = if last && since == 0 { 7 } else { since };
            span(today - since, today - since)
        }
    })
}

const DAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

fn relative_chinese(line: &str, today: i64) -> Vec<DateHint> {
    let mut hints = Vec::new();
    for (words, days) in [(["昨天", "昨日"], 1), (["前天", "一昨日"], 2)] {
        if words.iter().any(|word| line.contains(word)) {
            hints.push(span(today - days, today - days));
        }
    }
    for (words, unit, last) in [
        (["上周", "先週"], "week", true),
        (["上个月", "先月"], "month", true),
        (["去年", "昨年"], "year", true),
        (["本周", "这周"], "week", false),
    ] {
        if words.iter().any(|word| line.contains(word)) {
            hints.extend(period(unit, last, today));
        }
    }
    hints
}

fn span(from: i64, to: i64) -> DateHint {
    DateHint::Days { from, to }
}

fn date(year: Option<i32>, month: Option<u32>, day: Option<u32>) -> Option<DateHint> {
    let fits = |given: Option<u32>, most| given.is_none_or(|given| (1..=most).contains(&given));
    (fits(month, 12) && fits(day, 31)).then_some(DateHint::Civil { year, month, day })
}

fn year_of(number: u32) -> Option<i32> {
    i32::try_from(number).ok().filter(|year| (1900..2200).contains(year))
}

fn month_of(word: &str) -> Option<u32> {
    let at = MONTHS.iter().position(|month| {
        *month == word
            || (word.len() == 3 && month.starts_with(word))
            || (word == "sept" && *month == "september")
    })?;
    Some(at as u32 + 1)
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const DAY: i64 = 24 * 60 * 60 * 1000;

fn day_of(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(DAY)
}

/// Returns year, month and day of a day since 1970, by the usual arithmetic with years from March.
fn civil(day: i64) -> (i32, u32, u32) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year as i32, month as u32, (of_year - (153 * from_march + 2) / 5 + 1) as u32)
}

#[cfg(test)]
#[path = "date_tests.rs"]
mod tests;
