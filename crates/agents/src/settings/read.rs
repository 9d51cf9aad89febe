//! One settings file, read strictly: what it says, or where it is wrong.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use super::{Embeddings, Layer, SettingsDialect, strict::Strict};
use crate::{
    AgentsError, ContextMode, Result,
    definition::McpConfig,
    provider::{ProviderKind, ProviderSettings},
    shares::{Share, ShareSettings},
    tools::workspace::CommandApproval,
};

/// The most bytes a settings file may have.
const MOST_BYTES: u64 = 1 << 20;

const TOP_KEYS: [&str; 6] = ["agents", "window", "search", "providers", "mcpServers", "tools"];
const AGENT_KEYS: [&str; 5] = [
    "defaultContextMode",
    "allowSharedContext",
    "sharedContextMaxMessages",
    "defaultModel",
    "budget",
];
const WINDOW_KEYS: [&str; 3] = ["shares", "summarizer", "summarizerTokens"];
const PROVIDER_KEYS: [&str; 3] = ["baseUrl", "apiKeyEnv", "kind"];
const MCP_KEYS: [&str; 7] = ["command", "args", "env", "url", "httpUrl", "headers", "type"];

/// What one file says.
#[derive(Debug, Clone, Default)]
pub struct SettingsFile {
    /// The file.
    pub path: PathBuf,
    /// Whose it is.
    pub layer: Layer,
    pub(super) default_mode: Option<ContextMode>,
    pub(super) allow_shared: Option<bool>,
    pub(super) max_messages: Option<u64>,
    pub(super) default_model: Option<String>,
    pub(super) budget: Option<u64>,
    pub(super) shares: ShareSettings,
    pub(super) summarizer: Option<String>,
    pub(super) summarizer_tokens: Option<u64>,
    pub(super) embeddings: Option<Embeddings>,
    pub(super) providers: BTreeMap<String, ProviderSettings>,
    pub(super) mcp_servers: BTreeMap<String, McpConfig>,
    pub(super) run_command: Option<CommandApproval>,
    pub(super) warnings: Vec<String>,
}

impl Default for Layer {
    /// The project's: what is trusted less.
    fn default() -> Self {
        Layer::Project
    }
}

impl SettingsFile {
    /// Reads a file; none when there is none.
    pub fn load(layer: Layer, path: &Path, dialect: SettingsDialect) -> Result<Option<Self>> {
        let unreadable = |reason: String| AgentsError::Invalid {
            what: format!("settings {} cannot be read: {reason}", path.display()),
            hint: "fix the file, or move it away".to_owned(),
        };
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.len() > MOST_BYTES => {
                return Err(unreadable(format!(
                    "it has {} bytes, more than the limit of {MOST_BYTES}",
                    metadata.len()
                )));
            }
            Ok(metadata) if !metadata.is_file() => {
                return Err(unreadable("it is not a file".to_owned()));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error.to_string())),
        }
        let bytes = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
        Self::parse(layer, path, dialect, &bytes).map(Some)
    }

    /// Reads a file's bytes.
    pub fn parse(
        layer: Layer,
        path: &Path,
        dialect: SettingsDialect,
        bytes: &[u8],
    ) -> Result<Self> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut reading = Reading { path, file: SettingsFile::default() };
        reading.file.path = path.to_owned();
        reading.file.layer = layer;
        let Strict(value) = serde_json::from_slice(bytes).map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            let reason = error.to_string();
            let reason = reason.split(" at line ").next().unwrap_or_default().to_owned();
            let what = if error.is_data() { "it is not valid" } else { "it is not JSON" };
            reading.wrong(&format!("{what} ({place}: {reason})"))
        })?;
        let top = reading.object("the file", &value)?;
        if dialect == SettingsDialect::Contexture {
            reading.known("", top, &TOP_KEYS);
            reading.window(top)?;
            reading.search(top)?;
            reading.providers(top)?;
            reading.mcp_servers(top)?;
            reading.tools(top)?;
        }
        if let Some(agents) = top.get("agents") {
            let agents = reading.object("agents", agents)?;
            if dialect == SettingsDialect::Contexture {
                reading.known("agents.", agents, &AGENT_KEYS);
            }
            reading.agents(agents)?;
        }
        Ok(reading.file)
    }
}

/// A file being read.
struct Reading<'a> {
    path: &'a Path,
    file: SettingsFile,
}

impl Reading<'_> {
    fn wrong(&self, reason: &str) -> AgentsError {
        AgentsError::Invalid {
            what: format!("settings {}: {reason}", self.path.display()),
            hint: "fix the file; nothing was run".to_owned(),
        }
    }

    fn object<'v>(&self, what: &str, value: &'v Value) -> Result<&'v Map<String, Value>> {
        value.as_object().ok_or_else(|| self.wrong(&format!("{what} must be an object")))
    }

    fn known(&mut self, prefix: &str, object: &Map<String, Value>, known: &[&str]) {
        let mut unknown: Vec<&String> =
            object.keys().filter(|key| !known.contains(&key.as_str())).collect();
        unknown.sort();
        for key in unknown {
            let near = known.iter().find(|known| strsim::osa_distance(known, key) <= 3);
            let near = near.map(|near| format!("; did you mean {prefix}{near}?"));
            self.file.warnings.push(format!(
                "settings {}: unknown key {prefix}{key}{}",
                self.path.display(),
                near.unwrap_or_default()
            ));
        }
    }

    fn text(&self, key: &str, value: &Value) -> Result<String> {
        let text = value.as_str().filter(|text| !text.trim().is_empty());
        text.map(str::to_owned).ok_or_else(|| self.wrong(&format!("{key} must be a string")))
    }

    fn number(&self, key: &str, value: &Value) -> Result<u64> {
        let number = value.as_u64().filter(|number| *number > 0);
        number.ok_or_else(|| self.wrong(&format!("{key} must be a whole number above 0")))
    }

    fn agents(&mut self, agents: &Map<String, Value>) -> Result<()> {
        if let Some(value) = agents.get("defaultContextMode") {
            let mode = value.as_str().unwrap_or_default().parse();
            let mode = mode.map_err(|_| {
                self.wrong(&format!(
                    "agents.defaultContextMode is {value}: it must be \"isolated\", \"shared\" or \"fork\""
                ))
            })?;
            self.file.default_mode = Some(mode);
        }
        if let Some(value) = agents.get("allowSharedContext") {
            let allow = value.as_bool();
            let wrong = || self.wrong("agents.allowSharedContext must be true or false");
            self.file.allow_shared = Some(allow.ok_or_else(wrong)?);
        }
        if let Some(value) = agents.get("sharedContextMaxMessages") {
            self.file.max_messages = Some(self.number("agents.sharedContextMaxMessages", value)?);
        }
        if let Some(value) = agents.get("defaultModel") {
            self.file.default_model = Some(self.text("agents.defaultModel", value)?);
        }
        if let Some(value) = agents.get("budget") {
            self.file.budget = Some(self.number("agents.budget", value)?);
        }
        Ok(())
    }

    /// Reads `window`. A slip in it is an error, so that nothing is taken for set that is not.
    fn window(&mut self, top: &Map<String, Value>) -> Result<()> {
        let Some(window) = top.get("window") else { return Ok(()) };
        let window = self.object("window", window)?;
        if let Some(key) = window.keys().find(|key| !WINDOW_KEYS.contains(&key.as_str())) {
            let known = WINDOW_KEYS.join(", ");
            return Err(self.wrong(&format!("window has no key '{key}'; its keys are {known}")));
        }
        if let Some(value) = window.get("summarizer") {
            self.file.summarizer = Some(self.text("window.summarizer", value)?);
        }
        if let Some(value) = window.get("summarizerTokens") {
            self.file.summarizer_tokens = Some(self.number("window.summarizerTokens", value)?);
        }
        let Some(shares) = window.get("shares") else { return Ok(()) };
        for (name, value) in self.object("window.shares", shares)? {
            let share: Share =
                name.parse().map_err(|reason| self.wrong(&format!("window.shares: {reason}")))?;
            let read = value.as_number().and_then(|number| share.read(&number.to_string()));
            let read = read.ok_or_else(|| {
                let wanted = share.wanted();
                self.wrong(&format!("window.shares.{share} is {value}: it must be {wanted}"))
            })?;
            self.file.shares.set(share, read);
        }
        let checked = self.file.shares.check();
        checked.map_err(|reason| self.wrong(&format!("window.shares: {reason}")))
    }

    /// Reads `search`. A slip in it is an error, so that nothing is sent elsewhere than was meant.
    fn search(&mut self, top: &Map<String, Value>) -> Result<()> {
        let Some(search) = top.get("search") else { return Ok(()) };
        let search = self.object("search", search)?;
        if let Some(key) = search.keys().find(|key| *key != "embeddings") {
            return Err(self.wrong(&format!("search has no key '{key}'; its key is embeddings")));
        }
        let Some(value) = search.get("embeddings") else { return Ok(()) };
        if value.as_bool() == Some(false) {
            self.file.embeddings = Some(Embeddings::Off);
            return Ok(());
        }
        let wanted =
            "search.embeddings must be false or name a model: {\"model\": \"PROVIDER/MODEL\"}";
        let embeddings = value.as_object().ok_or_else(|| self.wrong(wanted))?;
        if let Some(key) = embeddings.keys().find(|key| *key != "model") {
            let what = format!("search.embeddings has no key '{key}'; its key is model");
            return Err(self.wrong(&what));
        }
        let model = embeddings.get("model").ok_or_else(|| self.wrong(wanted))?;
        let model = self.text("search.embeddings.model", model)?;
        self.file.embeddings = Some(Embeddings::Model(model));
        Ok(())
    }

    fn providers(&mut self, top: &Map<String, Value>) -> Result<()> {
        let Some(providers) = top.get("providers") else { return Ok(()) };
        for (name, value) in self.object("providers", providers)? {
            let place = format!("providers.{name}");
            let object = self.object(&place, value)?;
            self.known(&format!("{place}."), object, &PROVIDER_KEYS);
            let text = |key: &str| {
                let value = object.get(key);
                value.map(|value| self.text(&format!("{place}.{key}"), value)).transpose()
            };
            let kind = match text("kind")?.as_deref() {
                None => None,
                Some("openai") => Some(ProviderKind::OpenAi),
                Some("anthropic") => Some(ProviderKind::Anthropic),
                Some("gemini") => Some(ProviderKind::Gemini),
                Some(kind) => {
                    let known = "openai, anthropic, gemini";
                    let reason = format!("{place}.kind is '{kind}': it must be one of {known}");
                    return Err(self.wrong(&reason));
                }
            };
            let (base_url, api_key_env) = (text("baseUrl")?, text("apiKeyEnv")?);
            let settings = ProviderSettings { base_url, api_key_env, kind };
            self.file.providers.insert(name.clone(), settings);
        }
        Ok(())
    }

    /// Reads `tools`. A slip in it is an error, so that nothing is taken for asked about that is not.
    fn tools(&mut self, top: &Map<String, Value>) -> Result<()> {
        let Some(tools) = top.get("tools") else { return Ok(()) };
        let tools = self.object("tools", tools)?;
        if let Some(key) = tools.keys().find(|key| *key != "runCommand") {
            return Err(self.wrong(&format!("tools has no key '{key}'; its key is runCommand")));
        }
        let Some(value) = tools.get("runCommand") else { return Ok(()) };
        let listed = value.as_array().and_then(|list| {
            let texts = list.iter().map(|item| item.as_str().map(str::to_owned));
            texts.collect::<Option<Vec<String>>>()
        });
        self.file.run_command = Some(match (value.as_str(), listed) {
            (Some("ask"), _) => CommandApproval::Ask,
            (Some("allow"), _) => CommandApproval::Allow,
            (_, Some(listed)) => CommandApproval::Listed(listed),
            _ => {
                return Err(self.wrong(&format!(
                    "tools.runCommand is {value}: it must be \"ask\", \"allow\" or a list of commands"
                )));
            }
        });
        Ok(())
    }

    fn mcp_servers(&mut self, top: &Map<String, Value>) -> Result<()> {
        let Some(servers) = top.get("mcpServers") else { return Ok(()) };
        for (name, value) in self.object("mcpServers", servers)? {
            let place = format!("mcpServers.{name}");
            let object = self.object(&place, value)?;
            self.known(&format!("{place}."), object, &MCP_KEYS);
            let config = self.mcp_server(&place, object)?;
            self.file.mcp_servers.insert(name.clone(), config);
        }
        Ok(())
    }

    fn mcp_server(&self, place: &str, object: &Map<String, Value>) -> Result<McpConfig> {
        if let Some(command) = object.get("command") {
            let command = self.text(&format!("{place}.command"), command)?;
            let args = match object.get("args") {
                None => Vec::new(),
                Some(Value::Array(args)) => args
                    .iter()
                    .map(|arg| arg.as_str().map(str::to_owned))
                    .collect::<Option<_>>()
                    .ok_or_else(|| {
                        self.wrong(&format!("{place}.args must be a list of strings"))
                    })?,
                Some(_) => return Err(self.wrong(&format!("{place}.args must be a list"))),
            };
            return Ok(McpConfig::Stdio { command, args, env: self.texts(place, object, "env")? });
        }
        let url = object.get("httpUrl").or_else(|| object.get("url"));
        let Some(url) = url else {
            return Err(self.wrong(&format!("{place} needs a 'command' or a 'url'")));
        };
        let url = self.text(&format!("{place}.url"), url)?;
        Ok(McpConfig::Http { url, headers: self.texts(place, object, "headers")? })
    }

    fn texts(
        &self,
        place: &str,
        object: &Map<String, Value>,
        key: &str,
    ) -> Result<BTreeMap<String, String>> {
        let Some(value) = object.get(key) else { return Ok(BTreeMap::new()) };
        let place = format!("{place}.{key}");
        let entries = self.object(&place, value)?.iter().map(|(name, value)| {
            let text = value.as_str().map(str::to_owned);
            let wrong = || self.wrong(&format!("{place}.{name} must be a string"));
            Ok((name.clone(), text.ok_or_else(wrong)?))
        });
        entries.collect()
    }
}
