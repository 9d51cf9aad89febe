//! What commands on agents work with: the agents and settings of this folder and this user, models by
//! name, tools by the agent's files. Only this module reads the environment for them.

pub(crate) mod folder;

use std::{env, path::PathBuf, sync::Arc, time::Duration};

use contexture_agents::{
    AgentDefinition, AgentsError, ContextMode, Model, Runner, Team, Tool,
    catalog::{Catalog, Places},
    mode::Resolution,
    provider::{self, Endpoint, Retry, Timeouts},
    settings::{Settings, SettingsPlaces, Source},
    shares::{self, ResolvedShares, ShareSettings},
    team::{self, chat_name},
    tools::{
        mcp::{self, ProjectServers, SkippedServer},
        workspace::{self, CommandOptions, Protected},
    },
};
use contexture_core::{AgentName, ContextSystem, Format};
use contexture_search::Embedder;
use contexture_tokens::counter_for;

use crate::{
    agent_run::RunOptions,
    error::{Result, Stop},
    process,
    store::StoreUrl,
};

/// The time limit for an MCP server to start, and for each of its calls.
const MCP_TIMEOUT: Duration = Duration::from_secs(30);

/// The time limit for a local server to respond.
const LOOK: Duration = Duration::from_millis(300);

/// The agents and settings of this folder and this user.
pub(crate) struct Project {
    /// The project's folder.
    pub(crate) folder: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) catalog: Catalog,
    /// The user's home.
    home: Option<PathBuf>,
    /// The folder of the user's own agents and settings.
    pub(crate) config: Option<PathBuf>,
    /// The agent that answers in `chat` when none is named, unless a file defines one of that name.
    assistant: AgentDefinition,
}

/// Returns the model that makes vectors of texts for searches, if the settings name one. Where they cannot be read,
/// searches say so.
pub(crate) fn embedder() -> Option<Arc<dyn Embedder>> {
    let settings = settings_places().and_then(|places| Ok(Settings::load(&places)?));
    match settings {
        Ok(settings) => embedder_of(&settings),
        Err(Stop::Failed { message, .. }) => Some(provider::no_embeddings(message)),
        Err(Stop::Closed) => None,
    }
}

fn embedder_of(settings: &Settings) -> Option<Arc<dyn Embedder>> {
    match provider::resolve_embeddings(&variable, settings) {
        Ok(endpoint) => endpoint.map(provider::connect_embeddings),
        // A search works without.
        Err(error) => Some(provider::no_embeddings(format!("{error}; {}", error.hint()))),
    }
}

/// Returns the places to look for settings.
fn settings_places() -> Result<SettingsPlaces> {
    let project = folder::find()?;
    let config = folder::config().map(|config| config.join("contexture"));
    Ok(SettingsPlaces { project, home: folder::home(), config })
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

impl Project {
    /// Reads the files of the project and of the user.
    pub(crate) fn load() -> Result<Self> {
        let places = settings_places()?;
        let settings = Settings::load(&places)?;
        let SettingsPlaces { project: folder, home, config } = places;
        let catalog = Catalog::load(&Places {
            project: folder.clone(),
            user: home.clone(),
            config: config.clone(),
        });
        Ok(Self { folder, settings, catalog, home, config, assistant: team::assistant() })
    }

    /// Returns the places to look for settings.
    fn settings_places(&self) -> SettingsPlaces {
        let (home, config) = (self.home.clone(), self.config.clone());
        SettingsPlaces { project: self.folder.clone(), home, config }
    }

    /// Returns the places to look for agent files.
    pub(crate) fn places(&self) -> Places {
        let (user, config) = (self.home.clone(), self.config.clone());
        Places { project: self.folder.clone(), user, config }
    }

    /// Returns an agent by its name (M-18).
    pub(crate) fn agent(&self, name: &str) -> Result<&AgentDefinition> {
        Ok(self.catalog.find(name)?)
    }

    /// Returns a warning if a project's agent is used instead of one of the user's.
    pub(crate) fn shadows(&self, name: &AgentName) -> Option<String> {
        let hidden = self.catalog.hidden_of_user(name)?.display();
        Some(format!("the project's agent '{name}' replaces yours: {hidden}"))
    }

    /// Returns the agent that answers in `chat` when none is named.
    pub(crate) fn assistant(&self) -> &AgentDefinition {
        self.catalog.get(chat_name().as_str()).unwrap_or(&self.assistant)
    }

    /// Resolves the mode an agent runs in, including the session's override.
    pub(crate) async fn mode(
        &self,
        team: &Team,
        agent: &AgentDefinition,
        flag: Option<ContextMode>,
    ) -> Result<Resolution> {
        Ok(team.mode(agent, &self.settings, flag).await?)
    }

    /// Returns the model an agent runs on, and where it was set (M-21).
    pub(crate) fn model_of(&self, agent: &AgentDefinition, flag: Option<&str>) -> (String, Source) {
        self.settings.model_of(agent, flag)
    }

    /// Resolves the shares of windows, for an agent if one is given.
    pub(crate) fn shares(
        &self,
        call: &ShareSettings,
        agent: Option<&AgentDefinition>,
    ) -> Result<ResolvedShares> {
        Ok(shares::resolve(call, agent, &self.settings)?)
    }

    /// Names a source; files of the project by their path within it.
    pub(crate) fn said_by(&self, source: &Source) -> String {
        source.within(&self.folder)
    }

    /// Connects to a model. If something is missing, the error says what to set and which local servers
    /// were looked for.
    pub(crate) async fn connect(&self, model: &str) -> Result<Arc<dyn Model>> {
        let endpoint = match self.endpoint(model) {
            Ok(endpoint) => endpoint,
            Err(error) => return Err(explained(error).await.into()),
        };
        Ok(connected(endpoint))
    }

    /// Returns the format of a model's windows; none if the model cannot be resolved.
    pub(crate) fn format_of(&self, model: &str) -> Option<Format> {
        self.endpoint(model).ok().map(|endpoint| connected(endpoint).window_format())
    }

    /// Returns the model that writes lines of folded turns, if the settings name one.
    pub(crate) fn summarizer(&self) -> Option<Result<Arc<dyn Model>, AgentsError>> {
        let set = self.settings.summarizer.as_ref()?;
        Some(self.endpoint(&set.value).map(connected))
    }

    /// Returns the model that makes vectors of texts, if the settings name one.
    pub(crate) fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        embedder_of(&self.settings)
    }

    fn endpoint(&self, model: &str) -> Result<Endpoint, AgentsError> {
        provider::resolve_trusted(model, &variable, &self.settings)
    }

    /// Returns an agent's tools other than those on the context, with warnings about tools that do not
    /// work. Servers that the project's files define are started only if the call allows it.
    pub(crate) async fn tools(
        &self,
        agent: &AgentDefinition,
        options: &RunOptions,
    ) -> Result<(Vec<Arc<dyn Tool>>, Vec<String>)> {
        let mut tools = self.workspace_tools(options.store.as_ref())?;
        let project = match options.trust_mcp {
            true => ProjectServers::Trusted,
            false => ProjectServers::Untrusted,
        };
        let mcp::Servers { started, skipped } = mcp::servers(agent, &self.settings, project);
        let mut warnings: Vec<String> = skipped.iter().map(skipped_server).collect();
        if !started.is_empty() {
            let mut options = mcp::McpOptions::new(MCP_TIMEOUT);
            options.folder = Some(self.folder.clone());
            options.withheld = self.withheld();
            let (found, wrong) = mcp::connect(&started, &options).await;
            tools.extend(found);
            warnings.extend(wrong);
        }
        Ok((tools, warnings))
    }

    /// Returns the variables that hold keys by the settings: programs of agents do not inherit them.
    fn withheld(&self) -> Vec<String> {
        self.settings.providers.values().filter_map(|it| it.api_key_env.clone()).collect()
    }

    /// Returns the tools on the project's files, and the one that runs commands.
    pub(crate) fn workspace_tools(&self, store: Option<&StoreUrl>) -> Result<Vec<Arc<dyn Tool>>> {
        let folder = workspace::Workspace::open(&self.folder).map_err(|error| {
            let message = format!("cannot use the project folder: {error}");
            Stop::invalid(message, "change to another folder")
        })?;
        let folder = folder.protecting(self.protected(store));
        let folder = Arc::new(folder);
        let mut tools = workspace::tools(&folder);
        let approval = self.settings.run_command.as_ref().map(|set| set.value.clone());
        let approval = approval.unwrap_or_default();
        let options = CommandOptions { approval, withheld: self.withheld() };
        tools.push(workspace::run_command(&folder, options));
        Ok(tools)
    }

    /// Returns the files that tools must not touch: the stores of this process, and everything that
    /// decides what later runs do, wherever it is.
    fn protected(&self, store: Option<&StoreUrl>) -> Protected {
        let named = env::var("CONTEXTURE_STORE").ok().and_then(|url| url.parse().ok());
        let usual = Some(StoreUrl::in_project(&self.folder));
        let stores = [store.cloned(), named, usual].into_iter().flatten();
        let protected = stores.fold(Protected::default(), |all, store| store.protected(all));
        let mut protected = protected.deciding(&self.settings_places(), &self.places());
        if let Ok(program) = env::current_exe() {
            if let Some(folder) = program.parent() {
                protected = protected.kept(folder);
            }
            protected = protected.kept(program);
        }
        protected
    }

    /// Prepares to run agents in a session, counting tokens as a model does.
    pub(crate) fn runner(&self, system: ContextSystem, model: &str) -> Runner {
        let clock = system.clone();
        let alive = move |stored: &_| process::is_alive(stored, clock.now());
        let counter = counter_for(model);
        Runner::new(Team::new(system), self.settings.clone(), counter, process::driver(), alive)
    }

    /// Returns the names of all agents that can be run.
    pub(crate) fn names(&self) -> Vec<AgentName> {
        self.catalog.agents().map(|agent| agent.name.clone()).collect()
    }
}

/// Returns why a server was not started, and how to start it.
fn skipped_server(left: &SkippedServer) -> String {
    match left {
        SkippedServer::Untrusted { .. } => format!("{left}: add --trust-mcp if you trust it"),
        SkippedServer::Undefined { .. } => left.to_string(),
    }
}

fn connected(endpoint: Endpoint) -> Arc<dyn Model> {
    // Processes that fail together should not retry together.
    let retry = Retry { seed: u64::from(std::process::id()), ..Retry::default() };
    provider::connect(endpoint, Timeouts::default(), retry)
}

/// Adds to an error what to set and which local servers were looked for, if that helps.
pub(crate) async fn explained(error: AgentsError) -> AgentsError {
    match provider::explains(&error) {
        true => provider::explain(error, &provider::local_servers(LOOK).await),
        false => error,
    }
}
