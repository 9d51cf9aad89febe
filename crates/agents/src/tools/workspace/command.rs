//! `run_command`: a shell command in the project folder.
//!
//! A command runs with the rights of the user: nothing confines it. So agents have the tool only when
//! their file names it, and somebody has to allow each command, unless the user's own settings say that
//! this is not needed. A command ends with all processes it started when it has ended, at its time
//! limit, when the run is stopped, and when the run ends.

use std::{
    collections::VecDeque,
    io::{self, PipeReader, Read},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use contexture_core::message::RawJson;
use serde::Deserialize;
use serde_json::Value;
use tokio::{process::Command, sync::oneshot, time::timeout};

use super::{Failed, Workspace, failed, folder::show};
use crate::{
    tool::{Effect, Tool, ToolOutput, ToolSpec},
    tools::{
        arguments,
        program::{ProcessGroup, own_group, withhold},
    },
};

/// What the tool is called.
pub const RUN_COMMAND: &str = "run_command";

/// How long a command may take when the call does not say, in seconds.
pub const COMMAND_SECONDS: u64 = 120;

/// How long a command may take at most, in seconds.
pub const MOST_COMMAND_SECONDS: u64 = 600;

/// How many bytes of a command's output are kept: half of it from the beginning, half from the end.
pub const COMMAND_OUTPUT: usize = 1 << 20;

/// How long to wait for the rest of the output when all processes of a command were killed.
const REST: Duration = Duration::from_secs(1);

const DESCRIPTION: &str = "Runs a shell command with sh -c in the project folder and returns its exit code and what it wrote to standard output and standard error, in the order it came. It has no terminal and no input. Processes that it leaves in the background are killed when it ends. A person may have to approve the command first.";

const SCHEMA: &str = r#"{"type":"object","properties":{"command":{"type":"string","description":"The command, as sh reads it."},"cwd":{"type":"string","description":"The folder to run it in, relative to the project folder, which is the default."},"timeout_seconds":{"type":"integer","description":"How long it may take: 120 by default, 600 at most."}},"required":["command"],"additionalProperties":false}"#;

/// Which commands run without asking.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CommandApproval {
    /// None: somebody has to allow each of them.
    #[default]
    Ask,
    /// All.
    Allow,
    /// These, each exactly as it is written; somebody has to allow any other.
    Listed(Vec<String>),
}

/// How commands are run.
#[derive(Debug, Clone, Default)]
pub struct CommandOptions {
    /// Which commands run without asking.
    pub approval: CommandApproval,
    /// Variables of the environment that commands do not inherit, beside keys of providers.
    pub withheld: Vec<String>,
}

/// Returns the tool that runs commands in a folder.
pub fn run_command(workspace: &Arc<Workspace>, options: CommandOptions) -> Arc<dyn Tool> {
    let spec = ToolSpec {
        name: RUN_COMMAND.to_owned(),
        description: DESCRIPTION.to_owned(),
        schema: RawJson::new(SCHEMA).expect("the schema is written here and valid"),
    };
    Arc::new(RunCommand { spec, workspace: workspace.clone(), options })
}

struct RunCommand {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
    options: CommandOptions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    command: String,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    timeout_seconds: Option<u64>,
}

#[async_trait]
impl Tool for RunCommand {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        Effect::Changes
    }

    fn always_asks(&self, arguments: &Value) -> bool {
        match &self.options.approval {
            CommandApproval::Ask => true,
            CommandApproval::Allow => false,
            CommandApproval::Listed(allowed) => {
                let command = arguments["command"].as_str().unwrap_or_default();
                !allowed.iter().any(|allowed| allowed == command)
            }
        }
    }

    async fn call(&self, arguments: &Value) -> ToolOutput {
        match self.run(arguments).await {
            Ok(output) => output,
            Err(Failed(text)) => ToolOutput::failed(text),
        }
    }
}

impl RunCommand {
    async fn run(&self, arguments: &Value) -> Result<ToolOutput, Failed> {
        let Arguments { command, cwd, timeout_seconds } = arguments::read(arguments)?;
        if command.trim().is_empty() {
            return failed("the command is empty");
        }
        let seconds = timeout_seconds.unwrap_or(COMMAND_SECONDS);
        if !(1..=MOST_COMMAND_SECONDS).contains(&seconds) {
            return failed(format!("timeout_seconds must be 1 to {MOST_COMMAND_SECONDS}"));
        }
        let folder = self.folder(cwd.as_deref())?;
        let started = start(&command, &folder, &self.options.withheld);
        let started = started.map_err(|error| Failed(format!("cannot start sh: {error}")))?;
        Ok(started.finish(Duration::from_secs(seconds)).await)
    }

    /// Returns the folder a command runs in: inside the project, also behind symlinks.
    fn folder(&self, cwd: Option<&str>) -> Result<PathBuf, Failed> {
        let root = self.workspace.root();
        let path = self.workspace.path(cwd.unwrap_or_default())?;
        let Ok(folder) = root.join(&path).canonicalize() else {
            return failed(format!("no folder {}", show(&path)));
        };
        match folder.starts_with(root) {
            true if folder.is_dir() => Ok(folder),
            true => failed(format!("{} is not a folder", show(&path))),
            false => failed(format!("permission denied: {} leads out of the project", show(&path))),
        }
    }
}

/// A command that runs. All its processes are killed when this is dropped.
struct Started {
    group: ProcessGroup,
    child: tokio::process::Child,
    output: Arc<Mutex<Output>>,
    /// Resolves when nobody can write any more.
    closed: oneshot::Receiver<()>,
}

fn start(text: &str, folder: &Path, withheld: &[String]) -> io::Result<Started> {
    // One pipe for both, so that lines stay in the order in which they were written.
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new("sh");
    command.arg("-c").arg(text).current_dir(folder);
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    withhold(&mut command, withheld);
    own_group(&mut command);
    let child = command.spawn()?;
    let group = ProcessGroup::of(&child);
    // It holds the writing end, and would keep the pipe open.
    drop(command);
    let output = Arc::new(Mutex::new(Output::default()));
    let (close, closed) = oneshot::channel();
    let kept = output.clone();
    // A thread of its own: a process that escaped may hold the pipe open, and the runtime waits for its
    // own threads when it ends.
    std::thread::spawn(move || {
        collect(reader, &kept);
        // If nobody waits any more, nobody needs to know.
        let _ = close.send(());
    });
    Ok(Started { group, child, output, closed })
}

impl Started {
    async fn finish(mut self, limit: Duration) -> ToolOutput {
        let ended = timeout(limit, self.child.wait()).await;
        self.group.end();
        // A process that escaped the group may still hold the pipe: its output is not waited for.
        let _ = timeout(REST, &mut self.closed).await;
        let (how, error) = match &ended {
            Ok(Ok(status)) => (ended_how(*status), !status.success()),
            Ok(Err(error)) => (format!("how it ended is unknown: {error}"), true),
            Err(_) => (format!("killed at its time limit of {} s", limit.as_secs()), true),
        };
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner).text();
        ToolOutput { text: format!("{how}\n{output}"), error, ..ToolOutput::default() }
    }
}

/// Says how a program ended.
fn ended_how(status: ExitStatus) -> String {
    if let Some(code) = status.code() {
        return format!("exit code {code}");
    }
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("killed by signal {signal}");
    }
    "ended without an exit code".to_owned()
}

fn collect(mut reader: PipeReader, output: &Mutex<Output>) {
    let mut buffer = [0; 16 * 1024];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
                output.push(&buffer[..count]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// What a command wrote: all of it, or its beginning and its end.
#[derive(Debug, Default)]
struct Output {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: usize,
}

impl Output {
    const HALF: usize = COMMAND_OUTPUT / 2;

    fn push(&mut self, bytes: &[u8]) {
        let (head, tail) = bytes.split_at(bytes.len().min(Self::HALF - self.head.len()));
        self.head.extend(head);
        self.tail.extend(tail);
        let over = self.tail.len().saturating_sub(Self::HALF);
        self.tail.drain(..over);
        self.left_out += over;
    }

    fn text(&self) -> String {
        if self.head.is_empty() {
            return "(no output)".to_owned();
        }
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.left_out == 0 {
            return String::from_utf8_lossy(&[&self.head[..], &tail].concat()).into_owned();
        }
        format!(
            "{}\n[{} bytes of output left out: only the first and the last {} are kept]\n{}",
            String::from_utf8_lossy(&self.head),
            self.left_out,
            Self::HALF,
            String::from_utf8_lossy(&tail)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_keeps_its_beginning_and_its_end() {
        let mut output = Output::default();
        assert_eq!(output.text(), "(no output)");
        output.push(b"begin ");
        for _ in 0..COMMAND_OUTPUT / 1_000 + 10 {
            output.push(&[b'x'; 1_000]);
        }
        output.push(b" end");
        let text = output.text();
        assert!(text.starts_with("begin xxx") && text.ends_with("xxx end"), "{}", text.len());
        let written = "begin  end".len() + (COMMAND_OUTPUT / 1_000 + 10) * 1_000;
        let said = format!("\n[{} bytes of output left out", written - COMMAND_OUTPUT);
        assert!(text.contains(&said), "{said}");
        assert!(text.len() < COMMAND_OUTPUT + 200);

        let mut small = Output::default();
        small.push(b"one\n");
        small.push("zw\u{f6}lf".as_bytes());
        assert_eq!(small.text(), "one\nzw\u{f6}lf");
    }
}
