//! Writing a new agent file, in our dialect.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use contexture_core::{AgentName, PageName};

use super::{
    AgentDefinition, ContextMode, Scope, Times, ToolName, ToolRules, canonical_tool, naming, parse,
    problem::{nearest, quoted},
    tool_name::{known_names, own_tools},
};
use crate::{AgentsError, Result};

/// An agent that is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewAgent {
    /// Its name.
    pub name: String,
    /// What people call it; empty: made from the name.
    pub title: String,
    /// What it is for.
    pub description: String,
    /// The model it wants.
    pub model: Option<String>,
    /// Whose history it sees.
    pub context_mode: Option<ContextMode>,
    /// The group it shares with.
    pub group: Option<String>,
    /// The agent whose view it forks.
    pub parent: Option<AgentName>,
    /// The tools it may use.
    pub tools: ToolRules,
    /// Its system prompt; empty: one line to begin with.
    pub system_prompt: String,
}

impl NewAgent {
    /// Returns the agent file, and the agent it makes.
    ///
    /// # Errors
    ///
    /// A name, title or other value that an agent file cannot hold.
    pub fn text(&self) -> Result<(String, AgentDefinition)> {
        let name: AgentName = self.name.parse()?;
        let title = if self.title.trim().is_empty() {
            naming::readable(name.as_str())
        } else {
            self.title.clone()
        };
        let title: PageName = title.parse()?;
        self.check_tools()?;
        let mut text =
            format!("---\nkind: agent\nname: {name}\ntitle: {}\n", scalar(title.as_str()));
        let mut field = |key: &str, value: &str| {
            if !value.is_empty() {
                text.push_str(&format!("{key}: {}\n", scalar(value)));
            }
        };
        field("description", self.description.trim());
        field("model", self.model.as_deref().unwrap_or_default().trim());
        field("contextMode", self.context_mode.map_or("", ContextMode::as_str));
        field("contextGroup", self.group.as_deref().unwrap_or_default());
        field("contextParent", self.parent.as_ref().map_or("", AgentName::as_str));
        text.push_str(&tools(&self.tools));
        text.push_str("---\n\n");
        match self.system_prompt.trim() {
            "" => text.push_str(&format!("You are {}.\n", title.as_str())),
            prompt => text.push_str(&format!("{prompt}\n")),
        }
        // What is written must be read back without a word of complaint.
        let file = PathBuf::from(format!("{name}.md"));
        let parsed = parse(text.as_bytes(), &file, Scope::Project, Times::default());
        match (parsed.definition, parsed.problems.first()) {
            (Some(definition), None) => Ok((text, definition)),
            (_, problem) => {
                let problem = problem.cloned();
                Err(AgentsError::Invalid {
                    what: problem
                        .as_ref()
                        .map_or_else(String::new, |problem| problem.message.clone()),
                    hint: problem
                        .and_then(|problem| problem.hint)
                        .unwrap_or_else(|| "change the value".to_owned()),
                })
            }
        }
    }
}

impl NewAgent {
    /// Refuses tools that nothing here goes by: in a file they would be ignored.
    fn check_tools(&self) -> Result<()> {
        let allowed = self.tools.allow.iter().flatten();
        for name in allowed.chain(&self.tools.deny) {
            if !matches!(canonical_tool(name), ToolName::Unknown(_) | ToolName::Foreign(_)) {
                continue;
            }
            let own = own_tools().collect::<Vec<_>>().join(", ");
            let there =
                format!("the tools are {own}; tools of MCP servers are named mcp__SERVER__TOOL");
            let meant = nearest(name, own_tools()).or_else(|| nearest(name, known_names()));
            let hint = match meant {
                Some(meant) => format!("did you mean '{meant}'? {there}"),
                None => there,
            };
            let what = format!("there is no tool '{}'", quoted(name));
            return Err(AgentsError::Invalid { what, hint });
        }
        Ok(())
    }
}

/// Makes an agent file in a folder such as `.contexture/agents`, and returns its path.
///
/// The file appears whole or not at all, and never in place of another.
///
/// # Errors
///
/// A value that no agent file can hold, an agent of that name, or a folder that cannot be written.
pub fn create(agent: &NewAgent, folder: &Path) -> Result<PathBuf> {
    let (text, definition) = agent.text()?;
    let path = folder.join(format!("{}.md", definition.name));
    let failed = |error: io::Error| AgentsError::Invalid {
        what: format!("cannot write {}: {error}", path.display()),
        hint: "check the folder and its permissions".to_owned(),
    };
    fs::create_dir_all(folder).map_err(failed)?;
    let draft = folder.join(format!(".{}.{}.new", definition.name, std::process::id()));
    let written = write_draft(&draft, &text).and_then(|()| publish(&draft, &path));
    // After a link the draft is a second name of the file; after a failure it is rubbish.
    let _ = fs::remove_file(&draft);
    match written {
        Ok(()) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(AgentsError::Conflict {
            what: format!("{} already exists", path.display()),
            hint: "choose another name, or edit the file".to_owned(),
        }),
        Err(error) => Err(failed(error)),
    }
}

fn write_draft(draft: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Gives the draft its name, if nothing has it. A link does so in one step; where the file system
/// has none, there is a moment between looking and renaming.
fn publish(draft: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(draft, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            if fs::symlink_metadata(path).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(draft, path)
        }
        linked => linked,
    }
}

fn tools(rules: &ToolRules) -> String {
    if rules.allow.is_none() && rules.deny.is_empty() {
        return String::new();
    }
    let list =
        |names: &[String]| names.iter().map(|name| scalar(name)).collect::<Vec<_>>().join(", ");
    let mut text = String::from("tools:\n");
    if let Some(allow) = &rules.allow {
        text.push_str(&format!("  allow: [{}]\n", list(allow)));
    }
    if !rules.deny.is_empty() {
        text.push_str(&format!("  deny: [{}]\n", list(&rules.deny)));
    }
    text
}

/// Writes a text as a YAML scalar: plain where nothing could be misread, else in double quotes.
fn scalar(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/'))
        && !text.ends_with(' ')
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "null" | "true" | "false" | "yes" | "no" | "on" | "off"
        );
    if plain {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            // Line separators, marks and what YAML does not count as printable.
            c if c.is_control()
                || matches!(u32::from(c), 0x2028 | 0x2029 | 0xfeff | 0xfffe | 0xffff) =>
            {
                quoted.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
#[path = "create_tests.rs"]
mod tests;
