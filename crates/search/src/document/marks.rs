//! Facts about a text that the ranking needs, so that it does not read the text again.

/// Small facts about what a document says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Marks(u8);

impl Marks {
    const ASKS: u8 = 1;
    const ENDS_ASKING: u8 = 2;
    const NAMES_TIME: u8 = 4;
    const FIRST_PERSON: u8 = 8;

    /// Reads a text.
    pub fn of(text: &str) -> Self {
        let mut marks = 0;
        let question = |letter: char| matches!(letter, '?' | '？' | '؟');
        let is_ascii = text.is_ascii();
        if text.as_bytes().contains(&b'?') || (!is_ascii && text.contains(question)) {
            marks |= Self::ASKS;
        }
        let end = text.trim_end_matches(|letter: char| {
            letter.is_whitespace() || matches!(letter, '"' | '”' | '」' | ')' | '）' | '!' | '！')
        });
        if end.ends_with(question) {
            marks |= Self::ENDS_ASKING;
        }
        words(text, &mut |word| {
            if is_listed(word, &TIMES, &TIME_SHAPES) || is_year(word) {
                marks |= Self::NAMES_TIME;
            }
            if is_listed(word, &PERSONS, &PERSON_SHAPES) {
                marks |= Self::FIRST_PERSON;
            }
        });
        if !is_ascii {
            if CHINESE_TIMES.iter().any(|time| text.contains(time)) {
                marks |= Self::NAMES_TIME;
            }
            if CHINESE_PERSONS.iter().any(|person| text.contains(person)) {
                marks |= Self::FIRST_PERSON;
            }
        }
        Self(marks)
    }

    /// Returns the marks of a text that is followed by another.
    pub fn and(self, next: Self) -> Self {
        Self(((self.0 | next.0) & !Self::ENDS_ASKING) | (next.0 & Self::ENDS_ASKING))
    }

    /// Returns them as a number to store.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Reads a number that was stored.
    pub fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Returns whether it asks something.
    pub fn asks(self) -> bool {
        self.0 & Self::ASKS != 0
    }

    /// Returns whether it ends with a question.
    pub fn ends_asking(self) -> bool {
        self.0 & Self::ENDS_ASKING != 0
    }

    /// Returns whether it names a time, such as a weekday, a year or "yesterday".
    pub fn names_time(self) -> bool {
        self.0 & Self::NAMES_TIME != 0
    }

    /// Returns whether the speaker says something of their own, such as "my" or "I".
    pub fn first_person(self) -> bool {
        self.0 & Self::FIRST_PERSON != 0
    }
}

/// Shows the ASCII words of a text in lower case. Words that are longer than any we look for are left
/// out.
fn words(text: &str, visit: &mut dyn FnMut(&str)) {
    let mut word = [0; 12];
    for piece in text.as_bytes().split(|byte| !byte.is_ascii_alphanumeric()) {
        let Some(word) = word.get_mut(..piece.len()).filter(|word| !word.is_empty()) else {
            continue;
        };
        word.copy_from_slice(piece);
        word.make_ascii_lowercase();
        visit(std::str::from_utf8(word).unwrap_or_default());
    }
}

/// Returns whether a list has a word. Most words are ruled out by their first byte and their length.
fn is_listed(word: &str, list: &[&str], shapes: &[u16; 256]) -> bool {
    let first = word.as_bytes().first().copied().unwrap_or(0);
    shapes[usize::from(first)] & (1 << word.len().min(15)) != 0 && list.binary_search(&word).is_ok()
}

/// Returns how long the words of a list are that begin with each byte, a bit for each length.
const fn shapes(list: &[&str]) -> [u16; 256] {
    let mut shapes = [0; 256];
    let mut at = 0;
    while at < list.len() {
        shapes[list[at].as_bytes()[0] as usize] |= 1 << list[at].len();
        at += 1;
    }
    shapes
}

const TIME_SHAPES: [u16; 256] = shapes(&TIMES);
const PERSON_SHAPES: [u16; 256] = shapes(&PERSONS);

fn is_year(word: &str) -> bool {
    word.len() == 4
        && (word.starts_with("19") || word.starts_with("20"))
        && word.bytes().all(|byte| byte.is_ascii_digit())
}

const TIMES: [&str; 38] = [
    "ago",
    "april",
    "august",
    "days",
    "december",
    "february",
    "friday",
    "january",
    "july",
    "june",
    "last",
    "march",
    "midnight",
    "monday",
    "month",
    "months",
    "next",
    "november",
    "october",
    "recently",
    "saturday",
    "september",
    "since",
    "sunday",
    "thursday",
    "today",
    "tomorrow",
    "tonight",
    "tuesday",
    "wednesday",
    "week",
    "weekend",
    "weekends",
    "weeks",
    "year",
    "years",
    "yesterday",
    "yesterdays",
];

const PERSONS: [&str; 11] =
    ["i", "im", "ive", "me", "mine", "my", "myself", "our", "ours", "us", "we"];

const CHINESE_TIMES: [&str; 16] = [
    "今天", "昨天", "明天", "前天", "上周", "下周", "本周", "去年", "今年", "明年", "月", "周末",
    "小时", "昨日", "先週", "지난",
];

const CHINESE_PERSONS: [&str; 5] = ["我", "私", "僕", "나는", "저는"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(TIMES.is_sorted());
        assert!(PERSONS.is_sorted());
    }

    #[test]
    fn a_question_is_seen_where_it_stands() {
        let marks = Marks::of("Really? I went there yesterday.");
        assert!(marks.asks() && !marks.ends_asking());
        assert!(marks.names_time() && marks.first_person());
        assert!(Marks::of("你去过哪里？").ends_asking());
        assert!(Marks::of("(Are you sure?)").ends_asking());
        assert_eq!(Marks::of("The build passed."), Marks::default());
    }

    #[test]
    fn the_last_text_decides_whether_a_message_ends_with_a_question() {
        let both = Marks::of("Did you?").and(Marks::of("Never mind."));
        assert!(both.asks() && !both.ends_asking());
        assert_eq!(Marks::from_bits(both.bits()), both);
    }
}
