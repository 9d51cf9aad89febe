//! The agents of a project and its user: which files there are, and which of them counts.
//!
//! Folders are looked through in this order, and the first agent of a name is the one:
//!
//! ```text
//!  project   .contexture/agents  .gemini/agents  .claude/agents (and below)
//!            .opencode/agents  .opencode/agent  .letta/agents  .codex/agents (*.toml)
//!  user      CONFIG/agents, then the same folders of the home, and .config/opencode/agents
//! ```
//!
//! A file that is bad hides nothing but itself. An agent of the project that takes the place of one
//! of the user's is reported: a project comes from others.

mod scan;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::{Path, PathBuf},
};

use contexture_core::AgentName;

use crate::{
    AgentsError, Result,
    definition::{AgentDefinition, Dialect, FileProblem, Scope, Severity, nearest, read_placed},
};

/// Where agents are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The project's folder.
    pub project: PathBuf,
    /// The user's home.
    pub user: Option<PathBuf>,
    /// The user's configuration folder of Contexture.
    pub config: Option<PathBuf>,
}

impl Places {
    /// Returns the folders agents are read from, whether they exist or not.
    pub fn folders(&self) -> Vec<PathBuf> {
        folders(self).into_iter().map(|folder| folder.path).collect()
    }
}

/// The agents there are, and what is wrong with the files of those there are not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Catalog {
    agents: BTreeMap<String, AgentDefinition>,
    problems: Vec<(PathBuf, FileProblem)>,
    shadowed: Vec<Shadowed>,
}

/// An agent that is not used, because another of its name comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shadowed {
    /// The name of both.
    pub name: String,
    /// The file that is used.
    pub used: PathBuf,
    /// Where it was found.
    pub used_scope: Scope,
    /// The file that is not.
    pub hidden: PathBuf,
    /// Where it was found.
    pub hidden_scope: Scope,
}

impl Catalog {
    /// Reads all agent files. Whatever is wrong is a problem of the catalog, never an error.
    pub fn load(places: &Places) -> Self {
        let mut catalog = Self::default();
        for folder in folders(places) {
            let found = scan::files(&folder);
            catalog.problems.extend(found.problems);
            for path in found.files {
                let parsed = read_placed(&path, Some(folder.dialect), folder.scope);
                let with_path = |problem| (path.clone(), problem);
                catalog.problems.extend(parsed.problems.into_iter().map(with_path));
                if let Some(definition) = parsed.definition {
                    catalog.add(definition);
                }
            }
        }
        catalog
    }

    /// Returns the agents, by name.
    pub fn agents(&self) -> impl ExactSizeIterator<Item = &AgentDefinition> {
        self.agents.values()
    }

    /// Returns an agent.
    pub fn get(&self, name: &str) -> Option<&AgentDefinition> {
        self.agents.get(name)
    }

    /// Returns an agent, or says why there is none of that name (M-18).
    pub fn find(&self, name: &str) -> Result<&AgentDefinition> {
        if let Some(agent) = self.get(name) {
            return Ok(agent);
        }
        if let Some(broken) = self.broken(name) {
            return Err(broken);
        }
        let nearest = self.nearest(name).map(str::to_owned);
        Err(AgentsError::AgentNotFound { name: name.to_owned(), nearest })
    }

    /// Returns what an agent's file says, where it has one. A file that cannot be read is an error: without
    /// it the agent must not see more than with it. What a file is called says little about the name in it,
    /// so any broken file may be the agent's.
    pub fn definition(&self, name: &AgentName) -> Result<Option<&AgentDefinition>> {
        if let Some(agent) = self.get(name.as_str()) {
            return Ok(Some(agent));
        }
        if let Some(broken) = self.broken(name.as_str()) {
            return Err(broken);
        }
        let mut files: Vec<PathBuf> = self.errors().map(|(file, _)| file.clone()).collect();
        files.sort_by_key(|file| file.display().to_string());
        files.dedup();
        match files.is_empty() {
            true => Ok(None),
            false => Err(AgentsError::MaybeBroken { name: name.clone(), files }),
        }
    }

    /// Says that there is a file which should make an agent and does not.
    fn broken(&self, name: &str) -> Option<AgentsError> {
        let is_meant =
            |file: &&(PathBuf, FileProblem)| file.0.file_stem().is_some_and(|it| it == name);
        let (file, _) = self.errors().find(is_meant)?;
        Some(AgentsError::FileBroken { name: name.to_owned(), file: file.clone() })
    }

    fn errors(&self) -> impl Iterator<Item = &(PathBuf, FileProblem)> {
        self.problems.iter().filter(|(_, problem)| problem.severity == Severity::Error)
    }

    /// Returns the file of the user's that a project's agent takes the place of: a project comes from
    /// others.
    pub fn hidden_of_user(&self, name: &AgentName) -> Option<&Path> {
        let is_hidden = |it: &&Shadowed| {
            it.name == name.as_str()
                && (it.used_scope, it.hidden_scope) == (Scope::Project, Scope::Global)
        };
        self.shadowed.iter().find(is_hidden).map(|shadowed| shadowed.hidden.as_path())
    }

    /// Returns the name that was probably meant by one there is not.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.agents.keys().map(String::as_str))
    }

    /// Returns what is wrong with files and folders, in the order they are looked through.
    pub fn problems(&self) -> &[(PathBuf, FileProblem)] {
        &self.problems
    }

    /// Returns the agents that others of their name hide.
    pub fn shadowed(&self) -> &[Shadowed] {
        &self.shadowed
    }

    /// Tells whether a file or folder makes no agent though it should.
    pub fn has_errors(&self) -> bool {
        self.errors().next().is_some()
    }

    fn add(&mut self, definition: AgentDefinition) {
        let used = match self.agents.entry(definition.name.as_str().to_owned()) {
            Entry::Vacant(vacant) => {
                vacant.insert(definition);
                return;
            }
            Entry::Occupied(occupied) => occupied.into_mut(),
        };
        let name = &definition.name;
        let (file, hidden) = (used.file.display(), definition.file.display());
        let (at, problem) = if used.scope == definition.scope {
            let message = format!("agent '{name}' is defined twice; this file is used: {file}");
            (
                &definition.file,
                FileProblem::warning(message).hint("rename or remove one of the two"),
            )
        } else {
            let message = format!("the project's agent '{name}' replaces yours: {hidden}");
            let hint = "review it before you run it";
            (&used.file, FileProblem::warning(message).hint(hint))
        };
        self.problems.push((at.clone(), problem.field("name")));
        self.shadowed.push(Shadowed {
            name: name.as_str().to_owned(),
            used: used.file.clone(),
            used_scope: used.scope,
            hidden: definition.file.clone(),
            hidden_scope: definition.scope,
        });
    }
}

/// A folder in which agent files may lie.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Folder {
    path: PathBuf,
    dialect: Dialect,
    scope: Scope,
    /// The folder that symbolic links on the way must not leave, if any.
    within: Option<PathBuf>,
}

/// Lists the folders, those that come first first.
fn folders(places: &Places) -> Vec<Folder> {
    let mut folders = Vec::new();
    let project = &places.project;
    let within = Some(project.clone());
    for (dialect, path) in FOLDERS {
        let (path, within) = (project.join(path), within.clone());
        folders.push(Folder { path, dialect, scope: Scope::Project, within });
    }
    let mut user = |dialect: Dialect, path: PathBuf| {
        // In the home itself both are the same folder, and what lies there is the project's.
        if !folders.iter().any(|folder| folder.path == path) {
            folders.push(Folder { path, dialect, scope: Scope::Global, within: None });
        }
    };
    if let Some(config) = &places.config {
        user(Dialect::Contexture, config.join("agents"));
    }
    if let Some(home) = &places.user {
        for (dialect, path) in FOLDERS {
            user(dialect, home.join(path));
            if path == ".opencode/agent" {
                user(Dialect::OpenCode, home.join(".config/opencode/agents"));
                user(Dialect::OpenCode, home.join(".config/opencode/agent"));
            }
        }
    }
    folders
}

const FOLDERS: [(Dialect, &str); 7] = [
    (Dialect::Contexture, ".contexture/agents"),
    (Dialect::Gemini, ".gemini/agents"),
    (Dialect::ClaudeCode, ".claude/agents"),
    (Dialect::OpenCode, ".opencode/agents"),
    (Dialect::OpenCode, ".opencode/agent"),
    (Dialect::Letta, ".letta/agents"),
    (Dialect::Codex, ".codex/agents"),
];

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
