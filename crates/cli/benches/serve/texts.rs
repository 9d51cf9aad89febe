//! What is said: words in the proportions of talk, the same in every run.

use contexture_testkit::random::Random;
use serde_json::{Value, json};

const WORDS: [&str; 24] = [
    "the", "of", "and", "to", "a", "in", "is", "that", "we", "it", "server", "window", "budget",
    "harbour", "lantern", "folded", "request", "compass", "deploys", "friday", "index", "granite",
    "session", "quietly",
];

/// Returns a text of so many words, which is about as many tokens.
pub(crate) fn words(random: &mut Random, count: usize) -> String {
    (0..count).map(|_| *random.pick(&WORDS)).collect::<Vec<_>>().join(" ")
}

/// Returns a request and its answer. The request begins with a mark.
pub(crate) fn turn(random: &mut Random, mark: &str, count: usize) -> Value {
    json!({ "messages": [
        { "role": "user", "content": format!("{mark} {}", words(random, count / 4)) },
        { "role": "assistant", "content": words(random, count - count / 4) },
    ] })
}
