//! Filling a line with words: within its room, and nothing said twice.

use std::collections::HashMap;

use super::names::names;

/// The words a line gives, as they are taken one by one, the best first.
#[derive(Debug)]
pub(crate) struct KeywordChoice {
    most: u64,
    spent: u64,
    /// Everything that is given, here and in other lines, a line each.
    given: String,
    /// The words taken with what they take; 0 for those that a longer one has replaced.
    taken: Vec<(usize, u64)>,
    // Only looked into, never walked: its order is no one's.
    by_text: HashMap<String, usize>,
}

/// What a word takes at least: where less is left, there is no room.
const LEAST: u64 = 3;

impl KeywordChoice {
    /// Begins with what other lines say, and room for so many tokens.
    pub(crate) fn new(given: String, most: u64) -> Self {
        Self { most, spent: 0, given, taken: Vec::new(), by_text: HashMap::new() }
    }

    /// Tells whether nothing more will fit.
    pub(crate) fn is_full(&self) -> bool {
        self.spent + LEAST > self.most
    }

    /// Takes a word if it fits and is not given yet, be it as a part of something longer. The
    /// names it is made of are given with it, and make room.
    pub(crate) fn offer(&mut self, number: usize, word: &str, cost: u64) {
        if self.given.contains(word) {
            return;
        }
        let cost = cost.max(1);
        let mut within = Vec::new();
        names(word, &mut |name| within.extend(self.by_text.get(name).copied()));
        within.sort_unstable();
        within.dedup();
        let saved: u64 = within.iter().map(|&at| self.taken[at].1).sum();
        let spent = (self.spent + cost).saturating_sub(saved);
        if spent > self.most {
            return;
        }
        self.spent = spent;
        within.into_iter().for_each(|at| self.taken[at].1 = 0);
        self.by_text.insert(word.to_owned(), self.taken.len());
        self.taken.push((number, cost));
        self.given.push_str(word);
        self.given.push('\n');
    }

    /// Returns the numbers of the words taken, in the order they were.
    pub(crate) fn taken(self) -> Vec<usize> {
        self.taken.into_iter().filter(|(_, cost)| *cost > 0).map(|(number, _)| number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(given: &str, most: u64, words: &[&'static str]) -> Vec<&'static str> {
        let mut choice = KeywordChoice::new(given.to_owned(), most);
        for (number, word) in words.iter().enumerate() {
            choice.offer(number, word, word.len() as u64);
        }
        choice.taken().into_iter().map(|number| words[number]).collect()
    }

    #[test]
    fn what_is_given_is_not_given_again() {
        assert_eq!(chosen("see src/lexer.rs", 99, &["lexer.rs", "parser.rs"]), ["parser.rs"]);
        assert_eq!(chosen("", 99, &["src/lexer.rs", "lexer.rs"]), ["src/lexer.rs"]);
        assert_eq!(chosen("", 99, &["item", "item"]), ["item"]);
    }

    #[test]
    fn a_longer_word_takes_the_room_of_those_it_holds() {
        // 8 for the name, then 12 for the path that holds it: 4 of the 12 are left for one more.
        assert_eq!(
            chosen("", 16, &["lexer.rs", "src/lexer.rs", "next", "last"]),
            ["src/lexer.rs", "next"]
        );
        // What it holds still counts as given.
        assert_eq!(chosen("", 99, &["lexer.rs", "src/lexer.rs", "lexer.rs"]), ["src/lexer.rs"]);
    }

    #[test]
    fn room_is_never_exceeded_and_a_smaller_word_may_still_fit() {
        assert_eq!(chosen("", 10, &["sixteen_letters_", "nine_letr", "four"]), ["nine_letr"]);
        let mut choice = KeywordChoice::new(String::new(), 8);
        choice.offer(0, "five5", 5);
        assert!(!choice.is_full());
        choice.offer(1, "one", 1);
        assert!(choice.is_full());
    }
}
