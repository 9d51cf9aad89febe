//! Everyday English words that mean nearly the same. A question asks for the movie where somebody spoke of
//! a film; such a document is found, but counts less than one with the word itself.

use std::{collections::HashMap, sync::LazyLock};

use crate::text::stem;

/// Returns the stems that mean nearly the same as one.
pub(super) fn synonyms(term: &str) -> &'static [String] {
    BY_STEM.get(term).map_or(&[], Vec::as_slice)
}

static BY_STEM: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut by_stem: HashMap<String, Vec<String>> = HashMap::new();
    for group in GROUPS {
        let stems: Vec<String> = group.split(' ').map(stemmed).collect();
        for one in &stems {
            let known = by_stem.entry(one.clone()).or_default();
            known.extend(stems.iter().filter(|other| *other != one).cloned());
            known.sort_unstable();
            known.dedup();
        }
    }
    by_stem
});

fn stemmed(word: &str) -> String {
    let mut word = word.to_owned();
    stem(&mut word);
    word
}

const GROUPS: &[&str] = &[
    "afraid scared fear",
    "angry mad",
    "apartment flat",
    "author writer",
    "award prize",
    "beach seaside coast",
    "begin start",
    "believe think opinion",
    "big large huge",
    "bike bicycle",
    "book novel",
    "brother sister sibling",
    "bug error fault",
    "buy purchase",
    "car vehicle",
    "career job occupation profession work",
    "cat kitten kitty",
    "child kid",
    "choice choose decide decision",
    "city town",
    "class course lesson",
    "college school university",
    "company firm",
    "competition contest tournament",
    "computer laptop pc",
    "concert gig show",
    "cost price",
    "country nation",
    "dad daddy father papa",
    "delete remove",
    "die death",
    "dish food meal",
    "doctor physician",
    "dog doggy pup puppy",
    "drawing sketch",
    "end finish complete",
    "enjoy like love",
    "exercise workout",
    "fix repair",
    "game match",
    "getaway holiday journey travel trip vacation",
    "gift present",
    "glad happy",
    "grandma grandmother granny",
    "grandfather grandpa",
    "help assist support",
    "hike trek",
    "hobby interest pastime",
    "home house",
    "husband partner spouse wife",
    "ill illness sick",
    "image photo photograph pic picture",
    "injury hurt",
    "instructor teacher",
    "intend plan",
    "jog run",
    "learn study",
    "little small tiny",
    "live reside",
    "married marriage marry wedding",
    "mention say tell",
    "mobile phone cellphone",
    "mom mommy mother mum",
    "move relocate",
    "movie film",
    "nervous anxious",
    "ocean sea",
    "parent folks",
    "pet animal",
    "recommend recommendation suggest suggestion advice",
    "relax unwind",
    "restaurant diner",
    "sad unhappy upset",
    "shop store",
    "speak talk chat",
    "team squad",
    "television tv",
    "win victory",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_group_know_each_other() {
        assert_eq!(synonyms("film"), ["movi"]);
        assert!(synonyms(&stemmed("bought")).contains(&stemmed("purchases")));
        assert!(synonyms("harbour").is_empty());
    }
}
