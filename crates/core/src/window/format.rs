//! The formats a window is rendered to.

use crate::{Error, ProviderFormat};

/// A format a window is rendered to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// The seed's content, with anchors.
    Markdown,
    /// The whole Context of the seed, as JSON.
    Context,
    /// What a provider takes.
    Provider(ProviderFormat),
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 6] = [
        Format::Markdown,
        Format::Context,
        Format::Provider(ProviderFormat::OpenAi),
        Format::Provider(ProviderFormat::Responses),
        Format::Provider(ProviderFormat::Anthropic),
        Format::Provider(ProviderFormat::Gemini),
    ];

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Markdown => "markdown",
            Format::Context => "context",
            Format::Provider(provider) => provider.as_str(),
        }
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl std::str::FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|format| format.as_str() == text).ok_or_else(|| {
            Error::UnknownValue {
                what: "format",
                text: crate::index::shorten(text),
                known: "markdown context openai responses anthropic gemini",
            }
        })
    }
}

crate::text::serde_as_text!(Format);
