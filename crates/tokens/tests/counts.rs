//! Exact counts, which models have them, and that they stay what they are.

#![allow(missing_docs)]

mod texts;

use std::{sync::Barrier, thread};

use contexture_core::{TokenCounter, Tokens};
use contexture_tokens::{EstimatedCounter, ExactCounter, Tokenizer, counter_for};

const O200K: Tokenizer = Tokenizer::O200kBase;
const CL100K: Tokenizer = Tokenizer::Cl100kBase;

#[test]
fn known_strings_have_their_known_counts() {
    let known = [
        ("", 0, 0),
        ("hello world", 2, 2),
        ("tiktoken is great!", 6, 6),
        ("antidisestablishmentarianism", 6, 6),
        ("2 + 2 = 4", 7, 7),
        ("お誕生日おめでとう", 8, 9),
        ("你好，世界", 3, 6),
        ("안녕하세요 세계", 3, 9),
        ("Привет, мир", 4, 6),
        ("مرحبا بالعالم", 4, 10),
        ("👩\u{200d}👩\u{200d}👧\u{200d}👦", 11, 18),
        ("e\u{301}", 2, 2),
        ("fn main() {\n    println!(\"hi\");\n}\n", 10, 10),
        ("I'LL don't\r\n\r\n\tx", 6, 7),
        ("\0\u{1}\u{7f}", 3, 3),
        ("   \n  \n", 2, 2),
        (".\n/", 1, 2),
    ];
    for (text, o200k, cl100k) in known {
        assert_eq!(O200K.count(text), Tokens(o200k), "o200k_base of {text:?}");
        assert_eq!(CL100K.count(text), Tokens(cl100k), "cl100k_base of {text:?}");
    }
}

#[test]
fn control_tokens_in_a_text_are_text() {
    for tokenizer in Tokenizer::ALL {
        assert_eq!(tokenizer.count("<|endoftext|>"), Tokens(7));
        assert_eq!(tokenizer.count("<|im_start|>user<|im_end|>"), Tokens(13));
    }
}

// The one known difference to OpenAI's own: an apostrophe and a long s after a letter are a
// contraction there, one piece with the word, and two pieces here. A token more or less, in texts of
// the eighteenth century.
#[test]
fn a_long_s_after_an_apostrophe_is_no_contraction() {
    assert_eq!(O200K.count("S'\u{17f}'mslL"), Tokens(6));
}

// Counts are kept by the tokenizer's name, so a library that counts differently, better or worse,
// must not come in unnoticed. Two other libraries gave the same digests; see docs/adr/0011.
#[test]
fn counts_are_for_ever() {
    assert_eq!(texts::digest(|text| O200K.count(text).0), (O200K_TOKENS, O200K_DIGEST));
    assert_eq!(texts::digest(|text| CL100K.count(text).0), (CL100K_TOKENS, CL100K_DIGEST));
}

const O200K_TOKENS: u64 = 494_993;
const O200K_DIGEST: u64 = 13_740_495_123_242_527_464;
const CL100K_TOKENS: u64 = 576_464;
const CL100K_DIGEST: u64 = 2_788_683_972_409_456_159;

#[test]
fn openai_models_have_their_own_tokenizer() {
    let models = [
        ("gpt-4o", O200K),
        ("gpt-4o-2024-08-06", O200K),
        ("chatgpt-4o-latest", O200K),
        ("gpt-4.1-nano", O200K),
        ("gpt-5", O200K),
        ("gpt-5.2-codex", O200K),
        ("gpt-oss-120b", O200K),
        ("o1", O200K),
        ("o3-pro", O200K),
        ("o4-mini", O200K),
        ("openai/gpt-4o-mini", O200K),
        ("openrouter/openai/gpt-4o-mini:free", O200K),
        ("openai::GPT-5-mini", O200K),
        ("ft:gpt-4o:house::abc123", O200K),
        ("o200k_base", O200K),
        ("gpt-4", CL100K),
        ("gpt-4-turbo-2024-04-09", CL100K),
        ("gpt-3.5-turbo", CL100K),
        ("azure/gpt-35-turbo", CL100K),
        ("cl100k_base", CL100K),
    ];
    for (model, tokenizer) in models {
        let counter = counter_for(model);
        assert!(counter.is_exact(), "{model}");
        assert_eq!(counter.name(), tokenizer.name(), "{model}");
    }
}

#[test]
fn all_others_are_counted_with_o200k_and_say_so() {
    let models = [
        "claude-opus-5",
        "anthropic/claude-3-5-haiku",
        "gemini-3-pro",
        "meta-llama/llama-4",
        "house/gpt-4o",
        "gpt-4.9",
        "gpt-4x",
        "gpt-50",
        "gpt",
        "o5",
        "o365",
        "openai/",
        "",
        "-",
        "é",
    ];
    for model in models {
        let counter = counter_for(model);
        assert!(!counter.is_exact(), "{model}");
        // The name and the counts are the tokenizer's: they are kept once for all models.
        assert_eq!(counter.name(), "o200k_base", "{model}");
        assert_eq!(counter.count("你好，世界"), Tokens(3), "{model}");
    }
}

#[test]
fn threads_share_one_vocabulary_and_agree() {
    let barrier = Barrier::new(8);
    let count = || {
        // All at once, so that they race for the first count.
        barrier.wait();
        let counters: [Box<dyn TokenCounter>; 3] = [
            Box::new(ExactCounter::new(O200K)),
            Box::new(EstimatedCounter::new(O200K)),
            Box::new(ExactCounter::new(CL100K)),
        ];
        let total = |counter: &dyn TokenCounter| -> u64 {
            texts::varied(7, 200).iter().map(|text| counter.count(text).0).sum()
        };
        counters.map(|counter| total(&*counter))
    };
    let totals: Vec<[u64; 3]> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(count)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(totals.iter().all(|total| *total == totals[0]), "{totals:?}");
    assert_eq!(totals[0][0], totals[0][1]);
}
