//! Request bodies: the window byte for byte, and what a provider wants around it.
//!
//! ```text
//!  { head , window's fields , rest }
//! ```
//!
//! The head is what the provider's cache sees first and stays the same from request to request; the
//! rest may change without touching the cache.

use super::{Endpoint, ProviderKind, json::quoted};
use crate::{model::ModelRequest, tool::ToolSpec, tools::context::CallForm};

/// What Anthropic, which wants a limit, gets without one.
const ANTHROPIC_MAX_TOKENS: u64 = 8_192;

/// Returns the fields before the window.
pub(super) fn head(endpoint: &Endpoint, request: &ModelRequest) -> String {
    let mut fields = vec![format!("\"model\":{}", quoted(endpoint.model()))];
    fields.extend(tools(endpoint.kind(), &request.tools));
    fields.extend(effort(endpoint, request));
    fields.join(",")
}

/// Returns the whole body, or nothing if the window is no object.
pub(super) fn body(endpoint: &Endpoint, request: &ModelRequest) -> Option<String> {
    let window = request.window.trim();
    let inner = window.strip_prefix('{')?.strip_suffix('}')?;
    if inner.trim().is_empty() {
        return None;
    }
    let mut fields = match endpoint.kind() {
        // The model stands in the address, and settings in an object of their own.
        ProviderKind::Gemini => tools(ProviderKind::Gemini, &request.tools).into_iter().collect(),
        ProviderKind::OpenAi | ProviderKind::Anthropic => vec![head(endpoint, request)],
    };
    fields.push(inner.to_owned());
    fields.extend(rest(endpoint, request));
    Some(format!("{{{}}}", fields.join(",")))
}

fn rest(endpoint: &Endpoint, request: &ModelRequest) -> Vec<String> {
    let mut fields = Vec::new();
    if endpoint.kind() != ProviderKind::Gemini {
        fields.extend(temperature(request).map(|it| format!("\"temperature\":{it}")));
    }
    match endpoint.kind() {
        ProviderKind::OpenAi => {
            let name = if wants_completion_tokens(endpoint) {
                "max_completion_tokens"
            } else {
                "max_tokens"
            };
            fields.extend(request.max_tokens.map(|most| format!("\"{name}\":{most}")));
            if request.stream {
                fields.push("\"stream\":true".to_owned());
                fields.push("\"stream_options\":{\"include_usage\":true}".to_owned());
            }
        }
        ProviderKind::Anthropic => {
            let most = request.max_tokens.unwrap_or(ANTHROPIC_MAX_TOKENS);
            fields.push(format!("\"max_tokens\":{most}"));
            if request.stream {
                fields.push("\"stream\":true".to_owned());
            }
        }
        ProviderKind::Gemini => {
            let mut settings = Vec::new();
            settings.extend(temperature(request).map(|it| format!("\"temperature\":{it}")));
            settings.extend(request.max_tokens.map(|most| format!("\"maxOutputTokens\":{most}")));
            settings.extend(effort(endpoint, request));
            if !settings.is_empty() {
                fields.push(format!("\"generationConfig\":{{{}}}", settings.join(",")));
            }
        }
    }
    fields
}

fn tools(kind: ProviderKind, tools: &[ToolSpec]) -> Option<String> {
    if tools.is_empty() {
        return None;
    }
    let form = match kind {
        ProviderKind::OpenAi => CallForm::OpenAi,
        ProviderKind::Anthropic => CallForm::Anthropic,
        ProviderKind::Gemini => CallForm::Gemini,
    };
    let tools: Vec<String> = tools.iter().map(|tool| form.tool(tool)).collect();
    Some(format!("\"tools\":{}", form.list(&tools)))
}

/// Returns the temperature as JSON; what is no number is not said.
fn temperature(request: &ModelRequest) -> Option<String> {
    let temperature = request.temperature.filter(|temperature| temperature.is_finite())?;
    serde_json::to_string(&temperature).ok()
}

/// Models from before there was effort: they refuse a request that names one.
const WITHOUT_EFFORT: [&str; 16] = [
    "chatgpt-",
    "claude-2",
    "claude-3",
    "claude-haiku-4",
    "claude-opus-4-0",
    "claude-opus-4-1",
    "claude-opus-4-2",
    "claude-sonnet-4-0",
    "claude-sonnet-4-2",
    "claude-sonnet-4-5",
    "gemini-1",
    "gemini-2",
    "gpt-3",
    "gpt-4",
    "o1-mini",
    "o1-preview",
];

/// Returns how hard the model is to think, as its API says it.
fn effort(endpoint: &Endpoint, request: &ModelRequest) -> Option<String> {
    let model = endpoint.model().rsplit('/').next().unwrap_or_default();
    let effort = quoted(request.effort.as_deref()?);
    if WITHOUT_EFFORT.iter().any(|prefix| model.starts_with(prefix)) {
        return None;
    }
    Some(match endpoint.kind() {
        ProviderKind::OpenAi => format!("\"reasoning_effort\":{effort}"),
        ProviderKind::Anthropic => format!("\"output_config\":{{\"effort\":{effort}}}"),
        ProviderKind::Gemini => format!("\"thinkingConfig\":{{\"thinkingLevel\":{effort}}}"),
    })
}

/// Tells whether a limit goes under OpenAI's newer name: there, and for models that reason anywhere.
fn wants_completion_tokens(endpoint: &Endpoint) -> bool {
    let model = endpoint.model().rsplit('/').next().unwrap_or_default();
    let reasons =
        ["o1", "o3", "o4", "gpt-5", "gpt-6"].iter().any(|prefix| model.starts_with(prefix));
    endpoint.is_official() || reasons
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
