//! English words to their stems, irregular forms included.

use std::{cell::RefCell, collections::HashMap, sync::LazyLock};

use rust_stemmers::{Algorithm, Stemmer};

static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));

/// How many words each thread remembers the stems of. A few thousand words make up most of any text, and finding
/// a stem is the slowest step of cutting a word.
const REMEMBERED: usize = 16_384;

thread_local! {
    static STEMS: RefCell<HashMap<Box<str>, Box<str>>> = RefCell::default();
}

/// Turns a folded word into its stem. Words with other letters than a to z stay as they are.
pub(crate) fn stem(word: &mut String) {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    STEMS.with_borrow_mut(|stems| {
        if let Some(stem) = stems.get(word.as_str()) {
            word.clear();
            word.push_str(stem);
            return;
        }
        if stems.len() >= REMEMBERED {
            stems.clear();
        }
        let asked: Box<str> = word.as_str().into();
        find_stem(word);
        stems.insert(asked, word.as_str().into());
    });
}

fn find_stem(word: &mut String) {
    if let Ok(at) = IRREGULAR.binary_search_by_key(&word.as_str(), |(form, _)| form) {
        word.clear();
        word.push_str(IRREGULAR[at].1);
    }
    if let std::borrow::Cow::Owned(stem) = STEMMER.stem(word) {
        *word = stem;
    }
}

/// Irregular forms and their base forms, in byte order.
const IRREGULAR: [(&str, &str); 159] = [
    ("are", "be"),
    ("arisen", "arise"),
    ("arose", "arise"),
    ("ate", "eat"),
    ("beaten", "beat"),
    ("became", "become"),
    ("been", "be"),
    ("began", "begin"),
    ("begun", "begin"),
    ("being", "be"),
    ("bent", "bend"),
    ("best", "good"),
    ("better", "good"),
    ("bitten", "bite"),
    ("blew", "blow"),
    ("blown", "blow"),
    ("bought", "buy"),
    ("broke", "break"),
    ("broken", "break"),
    ("brought", "bring"),
    ("built", "build"),
    ("burnt", "burn"),
    ("came", "come"),
    ("caught", "catch"),
    ("children", "child"),
    ("chose", "choose"),
    ("chosen", "choose"),
    ("dealt", "deal"),
    ("did", "do"),
    ("does", "do"),
    ("done", "do"),
    ("drank", "drink"),
    ("drawn", "draw"),
    ("dreamt", "dream"),
    ("drew", "draw"),
    ("driven", "drive"),
    ("drove", "drive"),
    ("drunk", "drink"),
    ("dug", "dig"),
    ("eaten", "eat"),
    ("fallen", "fall"),
    ("fed", "feed"),
    ("feet", "foot"),
    ("fell", "fall"),
    ("felt", "feel"),
    ("flew", "fly"),
    ("flown", "fly"),
    ("forgave", "forgive"),
    ("forgiven", "forgive"),
    ("forgot", "forget"),
    ("forgotten", "forget"),
    ("fought", "fight"),
    ("found", "find"),
    ("froze", "freeze"),
    ("frozen", "freeze"),
    ("gave", "give"),
    ("given", "give"),
    ("goes", "go"),
    ("gone", "go"),
    ("got", "get"),
    ("gotten", "get"),
    ("grew", "grow"),
    ("grown", "grow"),
    ("had", "have"),
    ("has", "have"),
    ("heard", "hear"),
    ("held", "hold"),
    ("hid", "hide"),
    ("hidden", "hide"),
    ("hung", "hang"),
    ("kept", "keep"),
    ("knelt", "kneel"),
    ("knew", "know"),
    ("known", "know"),
    ("laid", "lay"),
    ("leant", "lean"),
    ("learnt", "learn"),
    ("led", "lead"),
    ("lent", "lend"),
    ("lost", "lose"),
    ("made", "make"),
    ("meant", "mean"),
    ("men", "man"),
    ("met", "meet"),
    ("mice", "mouse"),
    ("paid", "pay"),
    ("people", "person"),
    ("ran", "run"),
    ("rang", "ring"),
    ("ridden", "ride"),
    ("risen", "rise"),
    ("rode", "ride"),
    ("rung", "ring"),
    ("said", "say"),
    ("sang", "sing"),
    ("sank", "sink"),
    ("sat", "sit"),
    ("saw", "see"),
    ("seen", "see"),
    ("sent", "send"),
    ("shaken", "shake"),
    ("shone", "shine"),
    ("shook", "shake"),
    ("shot", "shoot"),
    ("showed", "show"),
    ("shown", "show"),
    ("shrank", "shrink"),
    ("shrunk", "shrink"),
    ("slept", "sleep"),
    ("slid", "slide"),
    ("sold", "sell"),
    ("sought", "seek"),
    ("spelt", "spell"),
    ("spent", "spend"),
    ("spoke", "speak"),
    ("spoken", "speak"),
    ("sprang", "spring"),
    ("sprung", "spring"),
    ("stole", "steal"),
    ("stolen", "steal"),
    ("stood", "stand"),
    ("struck", "strike"),
    ("stuck", "stick"),
    ("sung", "sing"),
    ("sunk", "sink"),
    ("swam", "swim"),
    ("swept", "sweep"),
    ("swore", "swear"),
    ("sworn", "swear"),
    ("swum", "swim"),
    ("swung", "swing"),
    ("taken", "take"),
    ("taught", "teach"),
    ("teeth", "tooth"),
    ("thought", "think"),
    ("threw", "throw"),
    ("thrown", "throw"),
    ("told", "tell"),
    ("took", "take"),
    ("tore", "tear"),
    ("torn", "tear"),
    ("understood", "understand"),
    ("was", "be"),
    ("went", "go"),
    ("wept", "weep"),
    ("were", "be"),
    ("withdrawn", "withdraw"),
    ("withdrew", "withdraw"),
    ("wives", "wife"),
    ("woke", "wake"),
    ("woken", "wake"),
    ("women", "woman"),
    ("won", "win"),
    ("wore", "wear"),
    ("worn", "wear"),
    ("worse", "bad"),
    ("worst", "bad"),
    ("written", "write"),
    ("wrote", "write"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn irregular_forms_share_the_stem_of_regular_ones() {
        assert!(IRREGULAR.is_sorted());
        let stemmed = |word: &str| {
            let mut word = word.to_owned();
            stem(&mut word);
            word
        };
        assert_eq!(stemmed("bought"), stemmed("buying"));
        assert_eq!(stemmed("children"), stemmed("child"));
        assert_eq!(stemmed("ran"), stemmed("running"));
        assert_eq!(stemmed("über"), "über");
    }
}
