//! Settings: what `settings.json` of the project and of the user say about agents, windows, models,
//! providers and MCP servers, and where each value came from.
//!
//! Two dialects are read: ours (`.contexture/settings.json` of the project, `settings.json` in the
//! user's configuration folder) and the `agents` keys of `.gemini/settings.json` of both, where the
//! seed keeps them (M-22). An invalid value is an error wherever it stands, never a silent fallback.

mod read;
mod strict;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
};

use crate::{
    AgentDefinition, ContextMode, Result, definition::McpConfig, provider::ProviderSettings,
    shares::Share, tools::workspace::CommandApproval,
};

pub use read::SettingsFile;

/// How many messages a shared window shows in full when nothing says otherwise (M-23).
pub const DEFAULT_MAX_MESSAGES: u64 = 100;

/// The model when none is named anywhere, as in the seed (M-21).
pub const DEFAULT_MODEL: &str = "gemini-2.0-flash";

/// What lines of folded turns may take in one run when nothing says otherwise, in tokens.
pub const DEFAULT_SUMMARIZER_TOKENS: u64 = 20_000;

/// Where a value came from, in order of precedence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The call itself.
    Flag,
    /// The session.
    SessionOverride,
    /// The agent's file.
    Definition(PathBuf),
    /// The project's settings.
    Project(PathBuf),
    /// The user's settings.
    User(PathBuf),
    /// Nobody said.
    Default,
}

impl Source {
    fn at(scope: Layer, path: &Path) -> Self {
        match scope {
            Layer::Project => Source::Project(path.to_owned()),
            Layer::User => Source::User(path.to_owned()),
        }
    }

    /// Returns its name, with files of a project by their path in it.
    pub fn within(&self, project: &Path) -> String {
        let inner = |path: &Path| path.strip_prefix(project).unwrap_or(path).to_owned();
        match self {
            Source::Definition(path) => Source::Definition(inner(path)),
            Source::Project(path) => Source::Project(inner(path)),
            Source::User(path) => Source::User(inner(path)),
            Source::Flag | Source::SessionOverride | Source::Default => self.clone(),
        }
        .to_string()
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Flag => f.write_str("the call"),
            Source::SessionOverride => f.write_str("session override"),
            Source::Definition(path) => write!(f, "agent file {}", path.display()),
            Source::Project(path) => write!(f, "project settings {}", path.display()),
            Source::User(path) => write!(f, "user settings {}", path.display()),
            Source::Default => f.write_str("default"),
        }
    }
}

/// Whose settings a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// The project's: they come with its files, from whoever wrote those.
    Project,
    /// The user's own.
    User,
}

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub source: Source,
}

/// All settings, merged.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// `agents.defaultContextMode`.
    pub default_mode: Option<Sourced<ContextMode>>,
    /// What forbids shared contexts, where something does: `agents.allowSharedContext: false`.
    pub shared_forbidden: Option<Source>,
    /// `agents.sharedContextMaxMessages`.
    pub max_messages: Option<Sourced<u64>>,
    /// `agents.defaultModel`.
    pub default_model: Option<Sourced<String>>,
    /// `agents.budget`: what a window may take, in tokens.
    pub budget: Option<Sourced<u64>>,
    /// `window.shares`, as far as they are set.
    pub shares: BTreeMap<Share, Sourced<u64>>,
    /// `window.summarizer`: the model that writes lines of folded turns.
    pub summarizer: Option<Sourced<String>>,
    /// `window.summarizerTokens`: what that may take in one run, in tokens.
    pub summarizer_tokens: Option<Sourced<u64>>,
    /// `search.embeddings`: the model that makes vectors of what is said, for searches.
    pub embeddings: Option<Sourced<Embeddings>>,
    /// `providers.NAME`.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Providers whose address comes with the project's files: nothing is sent there, unless it is
    /// this machine or the official API.
    pub project_providers: BTreeSet<String>,
    /// `mcpServers.NAME`.
    pub mcp_servers: BTreeMap<String, McpSettings>,
    /// `tools.runCommand`, of the user's settings alone: which commands run without asking.
    pub run_command: Option<Sourced<CommandApproval>>,
    /// What is odd in the files, but no error.
    pub warnings: Vec<String>,
}

/// Whether texts are sent to a model that makes vectors of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Embeddings {
    /// To none.
    Off,
    /// To this one.
    Model(String),
}

/// How an MCP server is reached, and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpSettings {
    /// How the server is reached.
    pub config: McpConfig,
    /// Where that is said.
    pub source: Source,
}

impl Settings {
    /// Merges files, those that come first winning.
    ///
    /// There are five exceptions. Where the user says whether texts are embedded, that holds. Only the user says which commands run without asking. Any file can forbid shared contexts, none can allow them again. Of all
    /// caps on what lines may take the smallest holds. And of a provider each thing the user says wins:
    /// a project comes from others, and must not turn the user's keys and words elsewhere.
    pub fn merge(files: &[SettingsFile]) -> Self {
        let mut settings = Settings::default();
        for file in files {
            let source = || Source::at(file.layer, &file.path);
            let sourced = |value: ContextMode| Sourced { value, source: source() };
            keep(&mut settings.default_mode, file.default_mode.map(sourced));
            keep(
                &mut settings.max_messages,
                file.max_messages.map(|value| Sourced { value, source: source() }),
            );
            keep(
                &mut settings.budget,
                file.budget.map(|value| Sourced { value, source: source() }),
            );
            keep(
                &mut settings.default_model,
                file.default_model.clone().map(|value| Sourced { value, source: source() }),
            );
            keep(
                &mut settings.summarizer,
                file.summarizer.clone().map(|value| Sourced { value, source: source() }),
            );
            if let Some(value) = file.summarizer_tokens
                && settings.summarizer_tokens.as_ref().is_none_or(|known| value < known.value)
            {
                settings.summarizer_tokens = Some(Sourced { value, source: source() });
            }
            if file.allow_shared == Some(false) {
                keep(&mut settings.shared_forbidden, Some(source()));
            }
            for (share, value) in file.shares.iter() {
                let sourced = || Sourced { value, source: source() };
                settings.shares.entry(share).or_insert_with(sourced);
            }
            for (name, config) in &file.mcp_servers {
                settings
                    .mcp_servers
                    .entry(name.clone())
                    .or_insert_with(|| McpSettings { config: config.clone(), source: source() });
            }
            settings.warnings.extend(file.warnings.iter().cloned());
            match (&file.run_command, file.layer) {
                (Some(_), Layer::Project) => settings.warnings.push(format!(
                    "settings {}: tools.runCommand is ignored: only your own settings decide which commands run without asking",
                    file.path.display()
                )),
                (Some(said), Layer::User) => {
                    let value = said.clone();
                    keep(&mut settings.run_command, Some(Sourced { value, source: source() }));
                }
                (None, _) => {}
            }
        }
        let of = |layer| files.iter().filter(move |file| file.layer == layer);
        for file in of(Layer::User).chain(of(Layer::Project)) {
            settings.add_providers(file);
            let source = || Source::at(file.layer, &file.path);
            let said = file.embeddings.clone();
            keep(&mut settings.embeddings, said.map(|value| Sourced { value, source: source() }));
        }
        settings
    }

    /// Adds what a file says about providers to what was said before it.
    fn add_providers(&mut self, file: &SettingsFile) {
        for (name, said) in &file.providers {
            let provider = self.providers.entry(name.clone()).or_default();
            keep(&mut provider.kind, said.kind);
            if file.layer == Layer::Project {
                if provider.base_url.is_none() && said.base_url.is_some() {
                    self.project_providers.insert(name.clone());
                }
                if said.api_key_env.is_some() {
                    self.warnings.push(format!(
                        "settings {}: providers.{name}.apiKeyEnv is ignored: only your own settings decide which key is sent",
                        file.path.display()
                    ));
                }
            } else {
                keep(&mut provider.api_key_env, said.api_key_env.clone());
            }
            keep(&mut provider.base_url, said.base_url.clone());
        }
    }

    /// Returns the model an agent runs on, and who says so: the call, its file, the settings (M-21).
    pub fn model_of(&self, agent: &AgentDefinition, flag: Option<&str>) -> (String, Source) {
        if let Some(flag) = flag {
            return (flag.to_owned(), Source::Flag);
        }
        if let Some(model) = &agent.model {
            return (model.clone(), Source::Definition(agent.file.clone()));
        }
        match &self.default_model {
            Some(set) => (set.value.clone(), set.source.clone()),
            None => (DEFAULT_MODEL.to_owned(), Source::Default),
        }
    }

    /// Returns how many messages a shared window shows in full.
    pub fn max_messages(&self) -> u64 {
        self.max_messages.as_ref().map_or(DEFAULT_MAX_MESSAGES, |it| it.value)
    }

    /// Returns what lines of folded turns may take in one run, in tokens.
    pub fn summarizer_tokens(&self) -> u64 {
        self.summarizer_tokens.as_ref().map_or(DEFAULT_SUMMARIZER_TOKENS, |it| it.value)
    }

    /// Reads the files of a project and a user, where they exist.
    pub fn load(places: &SettingsPlaces) -> Result<Self> {
        let mut files = Vec::new();
        for (layer, path, dialect) in places.files() {
            files.extend(SettingsFile::load(layer, &path, dialect)?);
        }
        Ok(Self::merge(&files))
    }
}

fn keep<T>(slot: &mut Option<T>, value: Option<T>) {
    if slot.is_none() {
        *slot = value;
    }
}

/// Where settings are looked for.
#[derive(Debug, Clone)]
pub struct SettingsPlaces {
    /// The project's folder.
    pub project: PathBuf,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// The user's configuration folder of this program.
    pub config: Option<PathBuf>,
}

/// How a settings file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsDialect {
    /// Ours: every key is known or reported.
    Contexture,
    /// Another program's: only `agents` is read.
    Gemini,
}

impl SettingsPlaces {
    /// Returns the files settings are read from, whether they exist or not.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.files().into_iter().map(|(_, path, _)| path).collect()
    }

    /// Returns the files in order of precedence.
    fn files(&self) -> Vec<(Layer, PathBuf, SettingsDialect)> {
        let (ours, gemini) = (SettingsDialect::Contexture, SettingsDialect::Gemini);
        let mut files = vec![
            (Layer::Project, self.project.join(".contexture/settings.json"), ours),
            (Layer::Project, self.project.join(".gemini/settings.json"), gemini),
        ];
        if let Some(config) = &self.config {
            files.push((Layer::User, config.join("settings.json"), ours));
        }
        if let Some(home) = self.home.as_ref().filter(|home| **home != self.project) {
            files.push((Layer::User, home.join(".gemini/settings.json"), gemini));
        }
        files
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
