//! The tokenizers built in, and which models use them.

use std::sync::OnceLock;

use contexture_core::Tokens;
use tiktoken::CoreBpe;

/// A tokenizer whose vocabulary is built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tokenizer {
    /// `o200k_base`: GPT-4o and everything of OpenAI's since.
    O200kBase,
    /// `cl100k_base`: GPT-4 and GPT-3.5.
    Cl100kBase,
}

static O200K_BASE: OnceLock<&CoreBpe> = OnceLock::new();
static CL100K_BASE: OnceLock<&CoreBpe> = OnceLock::new();

/// What providers and routers put before a model's name.
const PREFIXES: &[&str] = &["openrouter/", "azure/", "openai/", "openai::", "openai:", "ft:"];

impl Tokenizer {
    /// Every tokenizer built in.
    pub const ALL: [Self; 2] = [Self::O200kBase, Self::Cl100kBase];

    /// Returns the name counts are kept by; it never changes.
    pub fn name(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
        }
    }

    /// Finds the tokenizer of a model, or one by its own name; none when the model's is not public
    /// or the model is not known.
    pub fn of(model_or_tokenizer: &str) -> Option<Self> {
        let lower = model_or_tokenizer.to_ascii_lowercase();
        let mut model = lower.as_str();
        while let Some(rest) = PREFIXES.iter().find_map(|prefix| model.strip_prefix(prefix)) {
            model = rest;
        }
        let named = Self::ALL.into_iter().find(|tokenizer| tokenizer.name() == model);
        named.or_else(|| of_openai(model))
    }

    /// Loads the vocabulary, if it is not loaded yet: about a tenth of a second.
    ///
    /// The first count does it too. A host that wants that count to be quick calls this on a thread
    /// of its own when it starts.
    pub fn load(self) {
        self.vocabulary();
    }

    /// Tells whether this process has loaded the vocabulary.
    pub fn is_loaded(self) -> bool {
        self.place().get().is_some()
    }

    /// Counts the tokens of a text; nothing in it is read as a control token.
    pub fn count(self, text: &str) -> Tokens {
        Tokens(self.vocabulary().count(text) as u64)
    }

    fn vocabulary(self) -> &'static CoreBpe {
        self.place().get_or_init(|| load(self))
    }

    /// Returns where the vocabulary is kept once it is loaded.
    fn place(self) -> &'static OnceLock<&'static CoreBpe> {
        match self {
            Self::O200kBase => &O200K_BASE,
            Self::Cl100kBase => &CL100K_BASE,
        }
    }
}

fn load(tokenizer: Tokenizer) -> &'static CoreBpe {
    tracing::debug!(tokenizer = tokenizer.name(), "loading a vocabulary");
    tiktoken::get_encoding(tokenizer.name()).expect("both vocabularies are features of this build")
}

/// Finds the tokenizer of a model of OpenAI's by its family: the name without size, date and the like.
fn of_openai(model: &str) -> Option<Tokenizer> {
    let model = model.split([':', '@']).next().unwrap_or(model);
    let mut words = model.split('-');
    match (words.next()?, words.next()) {
        ("o1" | "o3" | "o4", _) => Some(Tokenizer::O200kBase),
        ("gpt" | "chatgpt", Some("4o")) => Some(Tokenizer::O200kBase),
        ("gpt", Some("4.1" | "4.5" | "5" | "oss")) => Some(Tokenizer::O200kBase),
        ("gpt", Some(version)) if version.starts_with("5.") => Some(Tokenizer::O200kBase),
        ("gpt", Some("4" | "3.5" | "35")) => Some(Tokenizer::Cl100kBase),
        _ => None,
    }
}
