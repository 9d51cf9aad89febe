//! Which model is meant, where it is and with which key: a pure function.
//!
//! A model is named with its provider, `openai/gpt-4o`, or alone where the name says whose it is.
//! The environment goes before the settings: for a provider NAME, `NAME_BASE_URL` and
//! `NAME_API_KEY`. A key goes only to the provider it is named for.

use std::{collections::BTreeMap, fmt};

use contexture_core::ProviderFormat;
use reqwest::Url;
use serde::{Deserialize, Serialize};

use super::{Key, local::LOCAL_PLACES};
use crate::{
    error::{AgentsError, Result},
    model::ModelError,
};

const KNOWN: &str = "openai, anthropic, gemini, ollama, llamacpp, vllm, lmstudio, and those under 'providers' in the settings";

/// The models that short names stand for.
const SHORT: [(&str, &str); 3] =
    [("sonnet", "claude-sonnet-5-5"), ("opus", "claude-opus-5-5"), ("haiku", "claude-haiku-5-5")];

/// The kind of API a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// OpenAI-compatible chat completions.
    OpenAi,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini.
    Gemini,
}

/// A provider in the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderSettings {
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// What it speaks; OpenAI-compatible chat completions where it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ProviderKind>,
}

/// A model at its address. Its base URL is sound and holds no secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    provider: String,
    kind: ProviderKind,
    base_url: String,
    from_settings: bool,
    key: Option<Key>,
    key_env: String,
    model: String,
}

impl Endpoint {
    /// Returns the provider's name.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// Returns what the provider speaks.
    pub fn kind(&self) -> ProviderKind {
        self.kind
    }

    /// Returns how its requests are written.
    pub fn format(&self) -> ProviderFormat {
        match self.kind {
            ProviderKind::OpenAi => ProviderFormat::OpenAi,
            ProviderKind::Anthropic => ProviderFormat::Anthropic,
            ProviderKind::Gemini => ProviderFormat::Gemini,
        }
    }

    /// Returns the address that its paths are added to, without a slash at its end.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Tells whether the settings say the address: neither the environment nor nobody.
    pub fn is_from_settings(&self) -> bool {
        self.from_settings
    }

    /// Returns the key, where there is one.
    pub fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    /// Returns the environment variable the key is looked for in.
    pub fn key_env(&self) -> &str {
        &self.key_env
    }

    /// Returns the model's name at the provider.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Returns the model's name with its provider.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// Tells whether it is the API of the company whose format it speaks, safe from listeners.
    pub fn is_official(&self) -> bool {
        is_official(&self.base_url)
    }

    /// Tells whether it is on this very machine.
    pub fn is_local(&self) -> bool {
        Url::parse(&self.base_url).is_ok_and(|url| is_loopback(&url))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("provider", &self.provider)
            .field("kind", &self.kind)
            .field("base_url", &self.base_url)
            .field("key", &self.key)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// Finds the endpoint of a model by its name, the environment and the settings.
pub fn resolve(
    model: &str,
    env: &dyn Fn(&str) -> Option<String>,
    settings: &BTreeMap<String, ProviderSettings>,
) -> Result<Endpoint> {
    let (provider, model) = split(model.trim(), settings)?;
    let given = settings.get(&provider).cloned().unwrap_or_default();
    let kind = given.kind.unwrap_or(match provider.as_str() {
        "anthropic" => ProviderKind::Anthropic,
        "gemini" => ProviderKind::Gemini,
        _ => ProviderKind::OpenAi,
    });
    check_model(&provider, kind, &model)?;
    let env = |name: &str| env(name).filter(|value| !value.trim().is_empty());
    let (base_url, from_settings) = base_url(&provider, kind, &env, &given)?;
    let mut key_envs: Vec<String> = given.api_key_env.into_iter().collect();
    if key_envs.is_empty() {
        key_envs.push(format!("{}_API_KEY", shout(&provider)));
        key_envs.extend((provider == "gemini").then(|| "GOOGLE_API_KEY".to_owned()));
    }
    let key = key_envs.iter().find_map(|name| Key::new(&env(name)?));
    let key_env = key_envs.swap_remove(0);
    if key.is_none() && is_official(&base_url) {
        let reason = format!("{key_env} is not set");
        let hint = format!("set {key_env} to your key");
        return Err(ModelError::Key { provider, reason, hint }.into());
    }
    Ok(Endpoint { provider, kind, base_url, from_settings, key, key_env, model })
}

/// Splits a name into provider and model.
fn split(name: &str, settings: &BTreeMap<String, ProviderSettings>) -> Result<(String, String)> {
    if let Some((prefix, model)) = name.split_once('/') {
        let known = ["openai", "anthropic", "gemini", "google"].contains(&prefix)
            || LOCAL_PLACES.iter().any(|place| place.provider == prefix)
            || settings.contains_key(prefix);
        if known {
            let google = prefix == "google" && !settings.contains_key(prefix);
            let provider = if google { "gemini" } else { prefix };
            return Ok((provider.to_owned(), long_name(provider, model)));
        }
    }
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let provider = if begins(&["gpt-", "o1", "o3", "o4", "chatgpt-"]) {
        "openai"
    } else if begins(&["claude-"]) || SHORT.iter().any(|(short, _)| *short == name) {
        "anthropic"
    } else if begins(&["gemini-"]) {
        "gemini"
    } else {
        return Err(AgentsError::Invalid {
            what: format!("the provider of model '{}' is unknown", name.escape_debug()),
            hint: format!(
                "name the provider too, as in ollama/{name}; known providers are {KNOWN}"
            ),
        });
    };
    Ok((provider.to_owned(), long_name(provider, name)))
}

fn long_name(provider: &str, model: &str) -> String {
    let long = SHORT.iter().find(|(short, _)| provider == "anthropic" && *short == model);
    long.map_or(model, |(_, long)| long).to_owned()
}

/// Checks that a model's name can stand in a request, and for Gemini in an address.
fn check_model(provider: &str, kind: ProviderKind, model: &str) -> Result<()> {
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    let sound = match kind {
        ProviderKind::Gemini => {
            let bare = model.strip_prefix("models/").or(model.strip_prefix("tunedModels/"));
            let bare = bare.unwrap_or(model);
            bare.chars().all(plain) && bare.chars().any(|char| char != '.')
        }
        ProviderKind::OpenAi | ProviderKind::Anthropic => {
            !model.is_empty() && !model.chars().any(|char| char.is_control() || char == ' ')
        }
    };
    if sound {
        return Ok(());
    }
    Err(AgentsError::Invalid {
        what: format!("'{}' is not a valid model name for {provider}", model.escape_debug()),
        hint: format!("name one as {provider}/MODEL"),
    })
}

/// Returns the address, and whether the settings say it.
fn base_url(
    provider: &str,
    kind: ProviderKind,
    env: &dyn Fn(&str) -> Option<String>,
    given: &ProviderSettings,
) -> Result<(String, bool)> {
    let mut names = vec![format!("{}_BASE_URL", shout(provider))];
    if provider == "gemini" {
        names.insert(0, "GOOGLE_GEMINI_BASE_URL".to_owned());
    }
    let mut found = names.iter().find_map(|name| Some((name.clone(), env(name)?)));
    if provider == "ollama" && found.is_none() {
        found = env("OLLAMA_HOST").map(|host| ("OLLAMA_HOST".to_owned(), ollama(&host)));
    }
    let settings = || Some((format!("providers.{provider}.baseUrl"), given.base_url.clone()?));
    let known = || match provider {
        "openai" => Some("https://api.openai.com/v1".to_owned()),
        "anthropic" => Some("https://api.anthropic.com".to_owned()),
        "gemini" => Some("https://generativelanguage.googleapis.com".to_owned()),
        _ => LOCAL_PLACES.iter().find(|it| it.provider == provider).map(|it| it.base_url()),
    };
    let known = || Some((provider.to_owned(), known()?));
    let Some((origin, url)) = found.or_else(settings).or_else(known) else {
        return Err(AgentsError::Invalid {
            what: format!("the address of provider '{provider}' is unknown"),
            hint: format!("set {}, or providers.{provider}.baseUrl in the settings", names[0]),
        });
    };
    let from_settings = origin.starts_with("providers.");
    let url = tidy(kind, &url).ok_or_else(|| AgentsError::Invalid {
        // The address itself is not told: what is wrong with it may be a secret in it.
        what: format!("the base URL in {origin} is not a plain http or https address"),
        hint: "write it as https://HOST/PATH, without user, password, query or fragment".to_owned(),
    })?;
    Ok((url, from_settings))
}

/// Returns an address with exactly the path that the kind's own paths are added to.
fn tidy(kind: ProviderKind, text: &str) -> Option<String> {
    let url = Url::parse(text.trim()).ok()?;
    let plain = url.username().is_empty() && url.password().is_none();
    let bare = url.query().is_none() && url.fragment().is_none();
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !plain || !bare {
        return None;
    }
    let ends: &[&str] = match kind {
        ProviderKind::OpenAi => &["/chat/completions", "/embeddings", "/"],
        ProviderKind::Anthropic => &["/messages", "/v1", "/"],
        ProviderKind::Gemini => &["/models", "/v1beta", "/v1", "/"],
    };
    let mut address = url.as_str().trim_end_matches('/');
    for end in ends {
        address = address.strip_suffix(end).unwrap_or(address);
    }
    let host_alone = url.path().trim_end_matches('/').is_empty();
    let version = if kind == ProviderKind::OpenAi && host_alone { "/v1" } else { "" };
    Some(format!("{address}{version}"))
}

/// Makes an address of what Ollama's own variable holds: often the one its server listens at.
fn ollama(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let url = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
    let Ok(mut url) = Url::parse(&url.replacen("//:", "//127.0.0.1:", 1)) else { return url };
    if url.host_str() == Some("0.0.0.0") || url.host_str() == Some("[::]") {
        url.set_host(Some("127.0.0.1")).ok();
    }
    if url.port().is_none() && url.scheme() == "http" && !host.ends_with(":80") {
        url.set_port(Some(11434)).ok();
    }
    url.to_string()
}

fn is_official(base_url: &str) -> bool {
    const HOSTS: [&str; 3] =
        ["api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com"];
    Url::parse(base_url).is_ok_and(|url| {
        let host = url.host_str().unwrap_or_default();
        url.scheme() == "https" && url.port().is_none() && HOSTS.contains(&host)
    })
}

/// Tells whether an address is on this very machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Writes a provider's name as environment variables are written.
pub(super) fn shout(provider: &str) -> String {
    let letter =
        |char: char| if char.is_ascii_alphanumeric() { char.to_ascii_uppercase() } else { '_' };
    provider.chars().map(letter).collect()
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
