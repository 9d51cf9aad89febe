//! Tools: what agents call, and the box that hands them out.
//!
//! ```text
//!  model's call ──► Toolbox ──► allowed? ──► arguments as the schema says? ──► Tool
//!                                 │                    │                        ├ context    the agent's own pages
//!                                 └─ a refusal         └─ what is wrong         ├ workspace  files of the project
//!                                                                               └ mcp        servers of others
//! ```
//!
//! Rules are checked at each call, not only when tools are listed. Whatever goes wrong is an answer
//! the model reads; nothing a model writes ends the program.

mod arguments;
pub mod context;
pub mod mcp;
mod program;
mod question;
pub mod workspace;

use std::{fmt, panic::AssertUnwindSafe, sync::Arc};

use contexture_core::{AgentName, message::ToolCall};
use futures::FutureExt;

pub use program::WITHHELD;
pub use question::Question;

use crate::{
    definition::ToolRules,
    run::AskedApproval,
    tool::{Effect, Tool, ToolOutput, ToolSpec},
};

/// The tools that only concern the agent's own view: there unless denied, because a folded window
/// must always be one that can be opened.
pub const ALWAYS: [&str; 8] = [
    "read_window",
    "get_page",
    "expand_details",
    "hide_details",
    "pin_page",
    "unpin_page",
    "find_page",
    "recall",
];

/// The tools that change pages, which others may see: there only when they are allowed by name.
pub const CHANGE_PAGES: [&str; 6] = [
    "create_detail_page",
    "create_contents_page",
    "update_page",
    "move_page",
    "remove_page",
    "restore_page",
];

/// Tells whether a tool is there only when it is allowed by name; a rule for all tools does not name it.
fn must_be_named(name: &str) -> bool {
    name == workspace::RUN_COMMAND || CHANGE_PAGES.contains(&name)
}

/// The tools of one agent.
pub struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
    rules: ToolRules,
    /// By which rules tools are listed, where these are another agent's.
    listed_by: Option<ToolRules>,
    agent: Option<AgentName>,
}

/// Why a tool was not handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The agent's rules do not allow it.
    Denied {
        /// The tool asked for.
        tool: String,
        /// The agent, where it is known.
        agent: Option<AgentName>,
    },
    /// There is no such tool.
    Unknown {
        /// The tool asked for.
        tool: String,
        /// The one whose name is most like it.
        nearest: Option<String>,
        /// Those there are.
        known: Vec<String>,
    },
}

impl Toolbox {
    /// Puts tools in a box with rules. Of two with one name the first stays.
    pub fn new(tools: Vec<Arc<dyn Tool>>, rules: &ToolRules) -> Self {
        let mut tools = tools;
        // Stable, so the first of a name stays first; what others bring stands behind our own.
        tools.sort_by(|one, other| place(one).cmp(&place(other)));
        tools.dedup_by(|later, first| later.spec().name == first.spec().name);
        Self { tools, rules: rules.clone(), listed_by: None, agent: None }
    }

    /// Names the agent, for refusals.
    #[must_use]
    pub fn for_agent(mut self, agent: &AgentName) -> Self {
        self.agent = Some(agent.clone());
        self
    }

    /// Lists tools by the rules of another agent, whose requests a fork continues. What is called must
    /// be listed, and allowed by the fork's own rules.
    #[must_use]
    pub fn listed_by(mut self, rules: &ToolRules) -> Self {
        self.listed_by = Some(rules.clone());
        self
    }

    /// Lists the tools that are offered, always in the same order.
    pub fn specs(&self) -> Vec<&ToolSpec> {
        let rules = self.listed_by.as_ref().unwrap_or(&self.rules);
        self.tools.iter().filter(|tool| allows(rules, tool)).map(|tool| tool.spec()).collect()
    }

    /// Returns a tool, if it is there and allowed.
    pub fn get(&self, name: &str) -> Result<&Arc<dyn Tool>, Refusal> {
        let tool = self.tools.iter().find(|tool| tool.spec().name == name);
        match tool {
            Some(tool) if self.allows(tool) => Ok(tool),
            Some(_) => Err(self.denied(name)),
            None if self.rules.deny.iter().any(|rule| matches(rule, name, None)) => {
                Err(self.denied(name))
            }
            None => Err(self.unknown(name)),
        }
    }

    /// Tells whether a call may be made again after a crash; one that is refused does nothing.
    pub fn effect(&self, name: &str) -> Effect {
        self.get(name).map_or(Effect::Reads, |tool| tool.effect())
    }

    /// Tells whether somebody has to allow a call before it is made. `every_change` says that the run
    /// asks about every call that changes something. A call that is refused anyway needs nobody.
    pub fn needs_approval(&self, call: &ToolCall, every_change: bool) -> bool {
        let Ok(tool) = self.get(&call.name) else { return false };
        let Ok(arguments) = arguments::parse(tool.spec(), &call.arguments) else { return false };
        tool.effect() == Effect::Changes && every_change || tool.always_asks(&arguments)
    }

    /// Returns the question about a call that waits for an approval, as things stand now.
    pub(crate) async fn stored_question(&self, call: &ToolCall, asked: &AskedApproval) -> Question {
        stored_question(&self.tools, call, asked).await
    }

    /// Returns what to ask somebody before a call is made; none where it changes nothing, or is refused
    /// anyway.
    pub async fn question(&self, call: &ToolCall) -> Option<Question> {
        let tool = self.get(&call.name).ok().filter(|tool| tool.effect() == Effect::Changes)?;
        // The same reading as the tool's own: of a key that stands twice both take the last.
        let arguments = arguments::parse(tool.spec(), &call.arguments).ok()?;
        let change = AssertUnwindSafe(tool.foresee(&arguments)).catch_unwind().await;
        Some(Question::new(&call.name, tool.origin(), change.unwrap_or_default(), &arguments))
    }

    /// Runs a call: checks the rules and the arguments, and turns whatever happens into an answer.
    pub async fn run(&self, call: &ToolCall) -> ToolOutput {
        let tool = match self.get(&call.name) {
            Ok(tool) => tool,
            Err(refusal) => return ToolOutput::failed(refusal.to_string()),
        };
        let arguments = match arguments::parse(tool.spec(), &call.arguments) {
            Ok(arguments) => arguments,
            Err(wrong) => return ToolOutput::failed(wrong),
        };
        // A tool keeps no state that a panic could leave half changed: edits and files are atomic.
        let called = AssertUnwindSafe(tool.call(&arguments)).catch_unwind().await;
        called.unwrap_or_else(|_| {
            tracing::error!(tool = call.name, "a tool panicked");
            ToolOutput::failed(format!(
                "tool '{}' crashed: this is a bug in the tool; try another way",
                call.name
            ))
        })
    }

    fn allowed(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter().filter(|tool| self.allows(tool))
    }

    fn allows(&self, tool: &Arc<dyn Tool>) -> bool {
        allows(&self.rules, tool) && self.listed_by.as_ref().is_none_or(|rules| allows(rules, tool))
    }

    fn denied(&self, name: &str) -> Refusal {
        Refusal::Denied { tool: name.to_owned(), agent: self.agent.clone() }
    }

    fn unknown(&self, name: &str) -> Refusal {
        let known: Vec<String> = self.allowed().map(|tool| tool.spec().name.clone()).collect();
        let likeness = |known: &&String| strsim::jaro_winkler(known, name);
        let nearest = known
            .iter()
            .filter(|known| likeness(known) > 0.8)
            .max_by(|one, other| likeness(one).total_cmp(&likeness(other)))
            .cloned();
        Refusal::Unknown { tool: name.to_owned(), nearest, known }
    }
}

/// Returns the question about a call that waits for an approval, as things stand now. The call is shown
/// by its stored arguments; what it would change is said by its tool, if that is among these.
pub(crate) async fn stored_question(
    tools: &[Arc<dyn Tool>],
    call: &ToolCall,
    asked: &AskedApproval,
) -> Question {
    let tool = tools.iter().find(|tool| tool.spec().name == call.name);
    let arguments = match tool {
        Some(tool) => arguments::parse(tool.spec(), &call.arguments).ok(),
        None => serde_json::from_str(&call.arguments).ok(),
    };
    let arguments = arguments.unwrap_or_default();
    let change = match tool {
        Some(tool) => {
            AssertUnwindSafe(tool.foresee(&arguments)).catch_unwind().await.ok().flatten()
        }
        None => None,
    };
    let origin = asked.origin.as_ref().map(|(server, own)| (server.as_str(), own.as_str()));
    Question::new(&call.name, origin, change, &arguments)
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        f.debug_struct("Toolbox").field("tools", &names).field("rules", &self.rules).finish()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Denied { tool, agent } => {
                let tool = shorten(tool, 80);
                write!(f, "permission denied: tool '{tool}' is not allowed for ")?;
                match agent {
                    Some(agent) => write!(f, "agent '{agent}'"),
                    None => f.write_str("this agent"),
                }
            }
            Refusal::Unknown { tool, nearest, known } => {
                let (tool, known) = (shorten(tool, 80), known.join(", "));
                match nearest {
                    Some(nearest) => write!(
                        f,
                        "there is no tool '{tool}': did you mean '{nearest}'? The tools are: {known}"
                    ),
                    None => write!(f, "there is no tool '{tool}'; the tools are: {known}"),
                }
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// Returns what tools are ordered by.
fn place(tool: &Arc<dyn Tool>) -> (bool, &str) {
    let name = tool.spec().name.as_str();
    (name.starts_with("mcp__"), name)
}

/// Tells whether rules allow a tool: what is denied is denied, whatever else is said.
fn allows(rules: &ToolRules, tool: &Arc<dyn Tool>) -> bool {
    let name = tool.spec().name.as_str();
    let named = |rule: &String| matches(rule, name, tool.origin());
    if rules.deny.iter().any(named) {
        return false;
    }
    match &rules.allow {
        _ if ALWAYS.contains(&name) => true,
        Some(allow) if must_be_named(name) => allow.iter().any(|rule| rule == name),
        None => !must_be_named(name),
        Some(allow) => allow.iter().any(named),
    }
}

/// Tells whether a rule names a tool: by its name, all tools of a server, or all there are.
///
/// A server and its tools may be written as they call themselves or as they are offered here. Where
/// a name has a double underscore of its own, every place where the server's part could end is tried.
fn matches(rule: &str, name: &str, origin: Option<(&str, &str)>) -> bool {
    if rule == "*" || rule == name {
        return true;
    }
    let Some(rest) = rule.strip_suffix("__*").unwrap_or(rule).strip_prefix("mcp__") else {
        return false;
    };
    let whole = origin.is_some_and(|(server, _)| server == rest) || !rest.contains("__");
    if whole && !rest.is_empty() {
        let offered = name.strip_prefix(&mcp::prefix(rest));
        return offered.is_some_and(|tool| tool.starts_with("__"));
    }
    rest.match_indices("__").any(|(at, _)| {
        let (server, tool) = (&rest[..at], &rest[at + 2..]);
        if server.is_empty() || tool.is_empty() {
            return false;
        }
        match origin {
            Some((from, own)) if own == tool => mcp::prefix(from) == mcp::prefix(server),
            // Of tools whose names become alike, only the offered name tells which is meant.
            Some(_) => name == format!("{}__{tool}", mcp::prefix(server)),
            None => name == mcp::offered(server, tool),
        }
    })
}

/// Cuts a text that came from outside for a message.
fn shorten(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
