//! Ids and names of calls: spelled as the provider allows, each id once in a window.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use super::{ProviderFormat, item::RenderedPiece};
use crate::{PageIndex, index::shorten};

/// The longest id of a call that OpenAI's chat models all take.
pub(super) const OPENAI_LONGEST: usize = 40;

/// The longest id of a call elsewhere.
pub(super) const LONGEST: usize = 64;

/// The longest name of a tool.
const LONGEST_NAME: usize = 64;

/// Spells the id of a call as the format allows.
pub(super) fn spell_id(format: ProviderFormat, id: &str) -> String {
    let longest = if format == ProviderFormat::OpenAi { OPENAI_LONGEST } else { LONGEST };
    if id.is_empty() {
        return "call".to_owned();
    }
    let spelled = match format {
        ProviderFormat::Anthropic => spell_plainly(id),
        _ => id.to_owned(),
    };
    if spelled.chars().count() <= longest {
        return spelled;
    }
    // Long ids often differ only at their end, so what is cut off stays told by its hash.
    let hash = blake3::hash(id.as_bytes()).to_hex();
    format!("{}-{}", first_chars(&spelled, longest - 9), &hash[..8])
}

/// Spells the name of a tool as every provider allows.
pub(super) fn spell_name(name: &str) -> String {
    match spell_plainly(first_chars(name, LONGEST_NAME)) {
        empty if empty.is_empty() => "tool".to_owned(),
        spelled => spelled,
    }
}

/// Tells whether a text has only letters, digits, `_` and `-`, and at least one.
pub(super) fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| is_plain_char(char::from(byte)))
}

fn spell_plainly(text: &str) -> String {
    text.chars().map(|char| if is_plain_char(char) { char } else { '_' }).collect()
}

fn is_plain_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_' || char == '-'
}

fn first_chars(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(at, _)| &text[..at])
}

/// The ids of a window so far. A later call of the same id gets one that tells its page.
#[derive(Default)]
pub(super) struct Ids<'a> {
    taken: HashSet<Cow<'a, str>>,
    next: HashMap<String, usize>,
}

impl<'a> Ids<'a> {
    /// Takes the ids of a piece's calls, and returns them if any had to change.
    pub(super) fn take(
        &mut self,
        piece: &'a RenderedPiece,
        repaired: &mut Vec<String>,
    ) -> Option<Vec<String>> {
        let mut ids: Option<Vec<String>> = None;
        for (number, id) in piece.calls.iter().enumerate() {
            if self.taken.insert(id.into()) {
                continue;
            }
            let fresh = self.fresh(id, &piece.page);
            repaired.push(format!(
                "{}: call id '{}' was used before and became '{fresh}'",
                piece.page,
                shorten(id)
            ));
            ids.get_or_insert_with(|| piece.calls.clone())[number] = fresh;
        }
        ids
    }

    fn fresh(&mut self, id: &str, page: &PageIndex) -> String {
        let page = page.to_string();
        // A page's number is at the end, so a long segment loses its beginning.
        let suffix = format!("-{}", &page[page.len().saturating_sub(OPENAI_LONGEST / 2)..]);
        let first = joined(id, &suffix);
        if self.taken.insert(first.clone().into()) {
            return first;
        }
        let mut number = self.next.get(&first).copied().unwrap_or(2);
        loop {
            let numbered = joined(id, &format!("{suffix}-{number}"));
            number += 1;
            if self.taken.insert(numbered.clone().into()) {
                self.next.insert(first, number);
                return numbered;
            }
        }
    }
}

/// Joins an id and a suffix of plain letters, cutting the id so that the whole is short enough.
fn joined(id: &str, suffix: &str) -> String {
    format!("{}{suffix}", first_chars(id, OPENAI_LONGEST.saturating_sub(suffix.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_spelled_as_the_provider_allows() {
        assert_eq!(spell_id(ProviderFormat::OpenAi, "functions.读:0"), "functions.读:0");
        assert_eq!(spell_id(ProviderFormat::Anthropic, "functions.读:0"), "functions___0");
        let long = "x".repeat(65);
        for format in ProviderFormat::ALL {
            assert_eq!(spell_id(format, ""), "call");
            let one = spell_id(format, &format!("{long}1"));
            let two = spell_id(format, &format!("{long}2"));
            assert!(one != two && one.len() == two.len() && one.len() <= 64, "{one} {two}");
        }
        assert_eq!(spell_id(ProviderFormat::OpenAi, &long).len(), 40);
        assert_eq!((spell_name("a b/c").as_str(), spell_name("").as_str()), ("a_b_c", "tool"));
        assert_eq!(spell_name(&long).len(), 64);
    }

    #[test]
    fn an_id_used_again_tells_its_page() {
        let page: PageIndex = "usr-12".parse().unwrap();
        let mut ids = Ids::default();
        ids.taken.insert("a".into());
        let fresh: Vec<String> = (0..4).map(|_| ids.fresh("a", &page)).collect();
        assert_eq!(fresh, ["a-usr-12", "a-usr-12-2", "a-usr-12-3", "a-usr-12-4"]);
        let long = ids.fresh(&"长".repeat(50), &page);
        assert_eq!((long.chars().count(), long.ends_with("长-usr-12")), (40, true));
        let page: PageIndex = format!("{}-7", "s".repeat(64)).parse().unwrap();
        let long = ids.fresh(&"y".repeat(50), &page);
        assert!(long.len() == 40 && long.starts_with("yyy") && long.ends_with("ss-7"), "{long}");
    }
}
