//! Which MCP servers of an agent are started.
//!
//! A server is a program that runs with the user's rights. One that the user's own files define is started; one
//! that comes with the project's files comes from others, and is started only where the user says so.

use std::fmt;

use contexture_core::AgentName;

use crate::{
    AgentDefinition,
    definition::{McpConfig, Scope},
    settings::{Settings, Source},
};

/// Whether servers that the project's files define are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectServers {
    /// The user trusts them.
    Trusted,
    /// The user has not said so.
    Untrusted,
}

/// The servers of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Servers {
    /// Those to be started, by name.
    pub started: Vec<(String, McpConfig)>,
    /// Those that are not, and why.
    pub skipped: Vec<SkippedServer>,
}

/// A server that is not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkippedServer {
    /// The agent's file names it, and neither the file nor the settings say how it is reached.
    Undefined {
        /// The server.
        server: String,
        /// The agent.
        agent: AgentName,
    },
    /// It comes with the project's files, which the user has not said to trust.
    Untrusted {
        /// The server.
        server: String,
    },
}

impl fmt::Display for SkippedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkippedServer::Undefined { server, agent } => write!(
                f,
                "MCP server '{server}' of agent '{agent}' is not defined: add mcpServers.{server} to the settings"
            ),
            SkippedServer::Untrusted { server } => {
                write!(
                    f,
                    "MCP server '{server}' comes with the project's files and was not started"
                )
            }
        }
    }
}

/// Decides which servers of an agent are started.
pub fn servers(agent: &AgentDefinition, settings: &Settings, project: ProjectServers) -> Servers {
    let mut servers = Servers::default();
    for server in &agent.mcp {
        let name = server.name.clone();
        let set = settings.mcp_servers.get(&name);
        let (config, is_users) = match (&server.config, set) {
            (Some(config), _) => (config, agent.scope == Scope::Global),
            (None, Some(set)) => (&set.config, matches!(set.source, Source::User(_))),
            (None, None) => {
                let agent = agent.name.clone();
                servers.skipped.push(SkippedServer::Undefined { server: name, agent });
                continue;
            }
        };
        match is_users || project == ProjectServers::Trusted {
            true => servers.started.push((name, config.clone())),
            false => servers.skipped.push(SkippedServer::Untrusted { server: name }),
        }
    }
    servers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        definition::McpServer,
        settings::{McpSettings, Settings},
    };

    fn program(command: &str) -> McpConfig {
        McpConfig::Stdio { command: command.to_owned(), args: Vec::new(), env: Default::default() }
    }

    fn agent(scope: Scope) -> AgentDefinition {
        let mut agent = AgentDefinition::bare("helper".parse().unwrap());
        agent.scope = scope;
        let server = |name: &str, config| McpServer { name: name.to_owned(), config };
        agent.mcp = vec![
            server("own", Some(program("own"))),
            server("mine", None),
            server("theirs", None),
            server("nobodys", None),
        ];
        agent
    }

    fn settings() -> Settings {
        let mut settings = Settings::default();
        let sources = [("mine", Source::User("u".into())), ("theirs", Source::Project("p".into()))];
        for (name, source) in sources {
            let set = McpSettings { config: program(name), source };
            settings.mcp_servers.insert(name.to_owned(), set);
        }
        settings
    }

    fn started(agent: &AgentDefinition, project: ProjectServers) -> Vec<String> {
        let servers = servers(agent, &settings(), project);
        let undefined =
            servers.skipped.iter().filter(|it| matches!(it, SkippedServer::Undefined { .. }));
        assert_eq!(undefined.count(), 1, "nobody defines one");
        servers.started.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn servers_of_the_project_start_only_when_trusted() {
        let (users, projects) = (agent(Scope::Global), agent(Scope::Project));
        assert_eq!(started(&users, ProjectServers::Untrusted), ["own", "mine"]);
        assert_eq!(started(&projects, ProjectServers::Untrusted), ["mine"]);
        assert_eq!(started(&projects, ProjectServers::Trusted), ["own", "mine", "theirs"]);
    }
}
