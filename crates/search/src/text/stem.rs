//! English words to their stems, irregular forms included.

use std::{cell::RefCell, sync::LazyLock};

use rust_stemmers::{Algorithm, Stemmer};

static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));

/// How many words each thread remembers the stems of, at most. A few thousand words make up most of any text, and
/// finding a stem is the slowest step of cutting a word.
const REMEMBERED: usize = 32_768;

/// How long words and stems are that are remembered.
const SHORT: usize = 15;

thread_local! {
    static STEMS: RefCell<Vec<Remembered>> = const { RefCell::new(Vec::new()) };
}

/// A word and its stem, in place: looking one up touches one line of memory.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Remembered {
    word: ShortWord,
    stem: ShortWord,
}

/// A word of up to [`SHORT`] bytes; its length is the last byte.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct ShortWord(u128);

impl ShortWord {
    fn of(word: &str) -> Option<Self> {
        let mut bytes = [0; SHORT + 1];
        bytes
            .get_mut(..word.len())
            .filter(|_| word.len() <= SHORT)?
            .copy_from_slice(word.as_bytes());
        bytes[SHORT] = word.len() as u8;
        Some(Self(u128::from_le_bytes(bytes)))
    }

    /// Returns the one place where it is remembered.
    fn slot(self) -> usize {
        let folded = (self.0 as u64) ^ ((self.0 >> 64) as u64).rotate_left(29);
        (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % REMEMBERED
    }

    fn write_to(self, word: &mut String) {
        let bytes = self.0.to_le_bytes();
        let length = usize::from(bytes[SHORT]);
        word.clear();
        word.push_str(std::str::from_utf8(&bytes[..length]).unwrap_or_default());
    }
}

/// Turns a folded word into its stem. Words with other letters than a to z stay as they are.
pub(crate) fn stem(word: &mut String) {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    let Some(asked) = ShortWord::of(word) else { return find_stem(word) };
    STEMS.with_borrow_mut(|stems| {
        if stems.is_empty() {
            stems.resize(REMEMBERED, Remembered::default());
        }
        let known = &mut stems[asked.slot()];
        if known.word == asked {
            return known.stem.write_to(word);
        }
        find_stem(word);
        if let Some(stem) = ShortWord::of(word) {
            *known = Remembered { word: asked, stem };
        }
    });
}

fn find_stem(word: &mut String) {
    let is_short = word.len() <= LONGEST_IRREGULAR;
    if is_short && let Ok(at) = IRREGULAR.binary_search_by_key(&word.as_str(), |(form, _)| form) {
        word.clear();
        word.push_str(IRREGULAR[at].1);
    }
    if let std::borrow::Cow::Owned(stem) = STEMMER.stem(word) {
        *word = stem;
    }
}

/// How long the longest irregular form is.
const LONGEST_IRREGULAR: usize = 10;

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
        let longest = IRREGULAR.iter().map(|(form, _)| form.len()).max();
        assert_eq!(longest, Some(LONGEST_IRREGULAR));
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

    #[test]
    fn stems_are_the_same_from_memory() {
        let mut words: Vec<String> = IRREGULAR.iter().map(|(form, _)| (*form).to_owned()).collect();
        words.extend((0..40_000_u32).map(|number| {
            let letters = format!("{number:b}ings").replace('0', "a").replace('1', "no");
            letters[letters.len().saturating_sub(4 + number as usize % 14)..].to_owned()
        }));
        for word in words.iter().chain(&words) {
            let (mut remembered, mut found) = (word.clone(), word.clone());
            stem(&mut remembered);
            find_stem(&mut found);
            assert_eq!(remembered, found, "{word}");
        }
    }
}
