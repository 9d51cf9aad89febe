//! What is known of a model's tokenizer before its provider has reported anything.

use serde::{Deserialize, Serialize};

/// A factor and its error, in thousandths: integers are the same on any machine and in any JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub(super) struct Prior {
    factor: u32,
    error: u32,
}

#[derive(Deserialize)]
struct Stored {
    factor: u32,
    error: u32,
}

/// Counted with the tokenizer it has; what providers add around messages is not quite known.
const OWN: Prior = Prior::new(1_000, 50);

const CLAUDE: Prior = Prior::new(1_200, 200);

/// Claude's newer tokenizer makes about 30 % more of the same text.
const CLAUDE_SINCE_4_7: Prior = Prior::new(1_500, 200);

const CLAUDE_OF_ANY_AGE: Prior = Prior::new(1_350, 250);

const GEMINI: Prior = Prior::new(1_050, 150);

/// Vocabularies of 100,000 tokens and more, trained on much the same text.
const OPEN: Prior = Prior::new(1_100, 150);

const UNKNOWN: Prior = Prior::new(1_150, 250);

const OPEN_FAMILIES: &[&str] = &[
    "llama",
    "qwen",
    "qwq",
    "deepseek",
    "mistral",
    "mixtral",
    "codestral",
    "devstral",
    "kimi",
    "glm",
    "minimax",
];

impl Prior {
    const fn new(factor: u32, error: u32) -> Self {
        Self { factor, error }
    }

    /// Finds what is known of a model by its name, whatever its provider puts before it.
    pub(super) fn of(model: &str) -> Self {
        let model = model.to_lowercase();
        if let Some((_, rest)) = model.split_once("claude") {
            return claude(rest);
        }
        if model.contains("gemini") || model.contains("gemma") {
            return GEMINI;
        }
        if OPEN_FAMILIES.iter().any(|family| model.contains(family)) {
            return OPEN;
        }
        let own = model.split(['/', ':']).any(has_own_tokenizer);
        if own { OWN } else { UNKNOWN }
    }

    pub(super) fn factor(&self) -> f64 {
        f64::from(self.factor) / 1_000.0
    }

    pub(super) fn error(&self) -> f64 {
        f64::from(self.error) / 1_000.0
    }
}

/// A record from outside cannot make figures that are no figures.
impl From<Stored> for Prior {
    fn from(stored: Stored) -> Self {
        Self { factor: stored.factor.clamp(200, 5_000), error: stored.error.min(1_000) }
    }
}

fn has_own_tokenizer(name: &str) -> bool {
    let family = |family: &&str| name.strip_prefix(*family).is_some_and(ends_word);
    name == "o200k_base"
        || name == "cl100k_base"
        || name.starts_with("gpt-")
        || name.starts_with("chatgpt-")
        || ["o1", "o3", "o4"].iter().any(family)
}

fn ends_word(rest: &str) -> bool {
    !rest.starts_with(|letter: char| letter.is_alphanumeric())
}

/// Names carry the version before or after the size: `-3-5-sonnet-20241022`, `-opus-4-7`, `-5`.
fn claude(rest: &str) -> Prior {
    let words = rest.split(|letter: char| !letter.is_alphanumeric());
    // Dates are longer, and `v2` counts the provider's own releases.
    let mut numbers = words.filter(|word| word.len() < 3).filter_map(|word| word.parse().ok());
    let version: Option<(u32, u32)> =
        numbers.next().map(|major| (major, numbers.next().unwrap_or(0)));
    match version {
        None => CLAUDE_OF_ANY_AGE,
        Some(version) if version < (4, 7) => CLAUDE,
        Some(_) => CLAUDE_SINCE_4_7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_known_by_their_names() {
        let known = [
            ("claude-3-5-sonnet-20241022", CLAUDE),
            ("claude-sonnet-4-20250514", CLAUDE),
            ("us.anthropic.claude-opus-4-6-v1:0", CLAUDE),
            ("anthropic/claude-opus-4.6", CLAUDE),
            ("claude-haiku-4-5", CLAUDE),
            ("anthropic/claude-opus-4-7", CLAUDE_SINCE_4_7),
            ("claude-opus-4.10", CLAUDE_SINCE_4_7),
            ("claude-sonnet-5", CLAUDE_SINCE_4_7),
            ("claude-latest", CLAUDE_OF_ANY_AGE),
            ("Gemini-2.5-Pro", GEMINI),
            ("google/gemma-3-27b", GEMINI),
            ("meta-llama/Llama-3.3-70B-Instruct", OPEN),
            ("deepseek-r1-distill-qwen", OPEN),
            ("gpt-4o-mini", OWN),
            ("openai/gpt-5.2-codex", OWN),
            ("o3", OWN),
            ("openai::o4-mini", OWN),
            ("o200k_base", OWN),
            ("o365-helper", UNKNOWN),
            ("o3x", UNKNOWN),
            ("house-model", UNKNOWN),
            ("", UNKNOWN),
        ];
        for (model, prior) in known {
            assert_eq!(Prior::of(model), prior, "{model}");
        }
    }

    #[test]
    fn a_record_is_brought_into_range() {
        let read = |text: &str| serde_json::from_str::<Prior>(text).unwrap();
        assert_eq!(read(r#"{"factor":0,"error":4000000000}"#), Prior::new(200, 1_000));
        assert_eq!(read(r#"{"factor":1200,"error":200}"#), CLAUDE);
    }
}
