//! Workspace tools: files of the project folder, and nothing outside it.
//!
//! Files are reached through an open folder ([`Workspace`]) and never by a path of the whole system:
//! what leads out of it, by `..`, by an absolute path or by a symlink, cannot be opened, also when
//! somebody changes the folders meanwhile. Writing goes through no symlink at all. Of what lies inside,
//! stores are not reached, and settings, agent files and a repository's own state are not written
//! ([`Protected`]). All of this is about the tools on files: a command ([`run_command`]) runs with the
//! rights of the user.

mod command;
mod edit;
mod folder;
mod grep;
mod ignored;
mod list;
mod place;
mod protected;
mod reach;
mod read;
mod recognise;
mod walk;
mod write;

use std::sync::Arc;

use async_trait::async_trait;
use contexture_core::message::RawJson;
use serde_json::Value;

pub use command::{
    COMMAND_OUTPUT, COMMAND_SECONDS, CommandApproval, CommandOptions, MOST_COMMAND_SECONDS,
    RUN_COMMAND, run_command,
};
pub use folder::Workspace;
pub use protected::Protected;

use crate::tool::{Effect, Tool, ToolOutput, ToolSpec};

/// Returns the tools that read the project's files, then those that change them.
pub fn tools(workspace: &Arc<Workspace>) -> Vec<Arc<dyn Tool>> {
    let all = [
        (Kind::ReadFile, read::DESCRIPTION, read::SCHEMA),
        (Kind::ListFiles, list::DESCRIPTION, list::SCHEMA),
        (Kind::Grep, grep::DESCRIPTION, grep::SCHEMA),
        (Kind::EditFile, edit::DESCRIPTION, edit::SCHEMA),
        (Kind::WriteFile, write::DESCRIPTION, write::SCHEMA),
    ];
    let tool = |(kind, description, schema): (Kind, &str, &str)| {
        let spec = ToolSpec {
            name: kind.name().to_owned(),
            description: description.to_owned(),
            schema: RawJson::new(schema).expect("the schema is written here and valid"),
        };
        Arc::new(WorkspaceTool { kind, spec, workspace: workspace.clone() }) as Arc<dyn Tool>
    };
    all.into_iter().map(tool).collect()
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    ReadFile,
    ListFiles,
    Grep,
    EditFile,
    WriteFile,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::ReadFile => "read_file",
            Kind::ListFiles => "list_files",
            Kind::Grep => "grep",
            Kind::EditFile => "edit_file",
            Kind::WriteFile => "write_file",
        }
    }

    fn run(self, workspace: &Workspace, arguments: &Value) -> ToolOutput {
        let done = match self {
            Kind::ReadFile => read::run(workspace, arguments),
            Kind::ListFiles => list::run(workspace, arguments),
            Kind::Grep => grep::run(workspace, arguments),
            Kind::EditFile => edit::run(workspace, arguments),
            Kind::WriteFile => write::run(workspace, arguments),
        };
        match done {
            Ok(text) => ToolOutput::of(text),
            Err(Failed(text)) => ToolOutput::failed(text),
        }
    }
}

struct WorkspaceTool {
    kind: Kind,
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

#[async_trait]
impl Tool for WorkspaceTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        match self.kind {
            Kind::ReadFile | Kind::ListFiles | Kind::Grep => Effect::Reads,
            Kind::EditFile | Kind::WriteFile => Effect::Changes,
        }
    }

    async fn foresee(&self, arguments: &Value) -> Option<String> {
        let look = match self.kind {
            Kind::WriteFile => write::foresee,
            Kind::EditFile => edit::foresee,
            Kind::ReadFile | Kind::ListFiles | Kind::Grep => return None,
        };
        let (workspace, arguments) = (self.workspace.clone(), arguments.clone());
        let look = tokio::task::spawn_blocking(move || look(&workspace, &arguments));
        match look.await.ok()? {
            Ok(change) => Some(change).filter(|change| !change.is_empty()),
            Err(Failed(why)) => Some(format!("it will fail: {why}")),
        }
    }

    async fn call(&self, arguments: &Value) -> ToolOutput {
        let (kind, workspace, arguments) = (self.kind, self.workspace.clone(), arguments.clone());
        let work = tokio::task::spawn_blocking(move || kind.run(&workspace, &arguments));
        work.await.unwrap_or_else(|error| {
            tracing::error!(tool = kind.name(), %error, "a workspace tool crashed");
            ToolOutput::failed(format!("{} crashed: try another way", kind.name()))
        })
    }
}

/// The answer of a workspace tool that did nothing.
#[derive(Debug)]
struct Failed(String);

impl From<ToolOutput> for Failed {
    fn from(output: ToolOutput) -> Self {
        Self(output.text)
    }
}

type Done = Result<String, Failed>;

/// Returns a failure.
fn failed<T>(text: impl Into<String>) -> Result<T, Failed> {
    Err(Failed(text.into()))
}
