//! The strings that work hangs on: paths, dotted names, words that are no plain words, quotations.
//!
//! A plain scanner, equal to these patterns over Unicode text:
//!
//! ```text
//!  path    (?:[\w.~-]+)?(?:/[\w.-]+)+                        with a letter
//!  dotted  [A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+
//!  word    \w{4,}                                            with  _|\d|[a-z][A-Z]  in it
//!  quoted  (?<!\w)(?:"[^"\n]{3,60}"|'…'|`…`)(?!\w)           with a letter
//! ```

use std::collections::BTreeSet;

/// Returns the strings a text holds, each once.
pub(crate) fn strings(text: &str) -> BTreeSet<String> {
    let scan = Scan { chars: text.chars().collect() };
    let mut found = BTreeSet::new();
    scan.paths(&mut found);
    scan.dotted(&mut found);
    scan.words(&mut found);
    scan.quoted(&mut found);
    found
}

/// The lengths in characters that a string may have.
const LENGTHS: std::ops::RangeInclusive<usize> = 4..=80;

/// The lengths in characters that a quotation may have between its marks.
const QUOTED: std::ops::RangeInclusive<usize> = 3..=60;

struct Scan {
    chars: Vec<char>,
}

impl Scan {
    fn at(&self, at: usize) -> Option<char> {
        self.chars.get(at).copied()
    }

    /// Returns where a run of characters that begins at `at` ends.
    fn run(&self, at: usize, belongs: impl Fn(char) -> bool) -> usize {
        let rest = self.chars[at..].iter();
        at + rest.take_while(|char| belongs(**char)).count()
    }

    fn has_letter(&self, from: usize, to: usize) -> bool {
        self.chars[from..to].iter().any(|char| char.is_alphabetic())
    }

    fn add(&self, from: usize, to: usize, found: &mut BTreeSet<String>) {
        let text: String = self.chars[from..to].iter().collect();
        let text = text.trim_matches([' ', '.', ',', ':', ';', '-']);
        if LENGTHS.contains(&text.chars().count()) {
            found.insert(text.to_owned());
        }
    }

    fn paths(&self, found: &mut BTreeSet<String>) {
        let step = |char: char| is_word(char) || char == '.' || char == '-';
        let mut at = 0;
        while at < self.chars.len() {
            let first = self.run(at, |char| step(char) || char == '~');
            let mut end = first;
            while self.at(end) == Some('/') && self.at(end + 1).is_some_and(step) {
                end = self.run(end + 1, step);
            }
            if end == first {
                at = first.max(at + 1);
                continue;
            }
            if self.has_letter(at, end) {
                self.add(at, end, found);
            }
            at = end;
        }
    }

    fn dotted(&self, found: &mut BTreeSet<String>) {
        let begins = |char: char| char.is_ascii_alphabetic() || char == '_';
        let mut at = 0;
        while at < self.chars.len() {
            if !begins(self.chars[at]) {
                at += 1;
                continue;
            }
            let first = self.run(at, is_word);
            let mut end = first;
            while self.at(end) == Some('.') && self.at(end + 1).is_some_and(begins) {
                end = self.run(end + 1, is_word);
            }
            if end > first {
                self.add(at, end, found);
            }
            at = end;
        }
    }

    fn words(&self, found: &mut BTreeSet<String>) {
        let mut at = 0;
        while at < self.chars.len() {
            let end = self.run(at, is_word);
            if end - at >= 4 && self.is_telling(at, end) {
                self.add(at, end, found);
            }
            at = end.max(at + 1);
        }
    }

    fn is_telling(&self, from: usize, to: usize) -> bool {
        let word = &self.chars[from..to];
        let marked = word.iter().any(|char| *char == '_' || char.is_numeric())
            || word
                .windows(2)
                .any(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase());
        let says = word.iter().any(|char| *char != '_');
        marked && says && (self.has_letter(from, to) || word.len() >= 6)
    }

    fn quoted(&self, found: &mut BTreeSet<String>) {
        let mut at = 0;
        while at < self.chars.len() {
            match self.quotation(at) {
                Some(end) => {
                    if self.has_letter(at + 1, end) {
                        self.add(at + 1, end, found);
                    }
                    at = end + 1;
                }
                None => at += 1,
            }
        }
    }

    /// Returns where the quotation that begins at `at` has its closing mark.
    fn quotation(&self, at: usize) -> Option<usize> {
        let mark = self.at(at).filter(|char| ['"', '\'', '`'].contains(char))?;
        if at > 0 && is_word(self.chars[at - 1]) {
            return None;
        }
        let end = self.run(at + 1, |char| char != mark && char != '\n');
        let closed = self.at(end) == Some(mark) && !self.at(end + 1).is_some_and(is_word);
        (closed && QUOTED.contains(&(end - at - 1))).then_some(end)
    }
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        strings(text).into_iter().collect()
    }

    #[test]
    fn paths_begin_with_a_name_or_a_slash() {
        assert_eq!(
            found("see src/main, /etc/x.d/ and foo//bar."),
            ["/bar", "/etc/x.d", "src/main"]
        );
        assert_eq!(found("~/x-y/z: 1/2 and a / b"), ["~/x-y/z"]);
        // A file in a folder is a path, and by itself a dotted name.
        assert_eq!(found("src/main.rs"), ["main.rs", "src/main.rs"]);
    }

    #[test]
    fn dotted_names_need_a_letter_behind_every_dot() {
        assert_eq!(found("os.path, 3ab.cd 1.5 v.2"), ["ab.cd", "os.path"]);
    }

    #[test]
    fn identifiers_are_recognised_by_what_plain_words_lack() {
        assert_eq!(
            found("plain parse_x camelCase abc1 12345 123456 ____ Üb3r"),
            ["123456", "abc1", "camelCase", "parse_x", "Üb3r"]
        );
    }

    #[test]
    fn quotations_stand_apart_and_on_one_line() {
        assert_eq!(found("say 'hello there' or don't or `a b`x"), ["hello there"]);
        assert_eq!(found("\"two\nlines\" \"123\" \"ab \""), Vec::<String>::new());
        // What lies between two quotations is none.
        assert_eq!(found("\"some text\" and \"more text\""), ["more text", "some text"]);
    }
}
