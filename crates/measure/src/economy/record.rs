//! Recorded sessions, message by message.

use std::{io::BufRead, path::Path};

use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::data::{files, open};

/// The data set whose sessions have a single request each; they are shown apart from the others.
pub(super) const SINGLE: &str = "mini-swe-agent";

/// A recorded session.
#[derive(Debug, Deserialize)]
pub(super) struct Recording {
    #[serde(default)]
    pub(super) dataset: String,
    pub(super) session_id: String,
    stats: Stats,
    pub(super) messages: Vec<Recorded>,
    /// The line it was read from.
    #[serde(skip)]
    pub(super) line: String,
}

#[derive(Debug, Deserialize)]
struct Stats {
    tokens_o200k: u64,
}

/// A message of it.
#[derive(Debug, Deserialize)]
pub(super) struct Recorded {
    pub(super) role: String,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Call>>,
    #[serde(default)]
    tool_call_id: Option<String>,
}

/// A call of a tool.
#[derive(Debug, Deserialize)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl Recorded {
    /// Returns what it says.
    pub(super) fn content(&self) -> &str {
        self.content.as_deref().unwrap_or_default()
    }

    /// Returns the calls it makes.
    pub(super) fn calls(&self) -> &[Call] {
        self.tool_calls.as_deref().unwrap_or_default()
    }

    /// Returns the call that it is the result of.
    pub(super) fn answers(&self) -> Option<&str> {
        self.tool_call_id.as_deref()
    }

    /// Tells whether it says nothing and calls nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.content().is_empty() && self.calls().is_empty()
    }

    /// Returns it as a provider gets it.
    pub(super) fn to_json(&self) -> Value {
        let mut message = json!({ "role": self.role, "content": self.content() });
        if !self.calls().is_empty() {
            let call = |call: &Call| {
                let function = json!({ "name": call.name, "arguments": call.arguments });
                json!({ "id": call.id, "type": "function", "function": function })
            };
            message["tool_calls"] = self.calls().iter().map(call).collect();
        }
        if self.role == "tool" {
            message["tool_call_id"] = json!(self.tool_call_id);
        }
        message
    }
}

impl Recording {
    /// Reads a session from its line.
    pub(super) fn parse(line: String) -> serde_json::Result<Self> {
        let recording: Self = serde_json::from_str(&line)?;
        Ok(Self { line, ..recording })
    }

    /// Returns what its text takes, as it was counted when it was recorded.
    pub(super) fn tokens(&self) -> u64 {
        self.stats.tokens_o200k
    }

    /// Tells whether it is of the kind with a single request.
    pub(super) fn is_single(&self) -> bool {
        self.dataset == SINGLE
    }

    /// Tells whether results of commands are user messages: then only the first of those is a request.
    pub(super) fn only_first_asks(&self) -> bool {
        self.messages.iter().all(|message| message.role != "tool")
    }
}

/// Reads the sessions of a folder, in the order of their names.
pub(super) fn read(folder: &Path) -> anyhow::Result<Vec<Recording>> {
    let mut recordings = Vec::new();
    for path in files(folder)? {
        for (number, line) in (1..).zip(open(&path)?.lines()) {
            let line = line.with_context(|| format!("reading {}", path.display()))?;
            if line.trim().is_empty() {
                continue;
            }
            let recording = Recording::parse(line);
            recordings
                .push(recording.with_context(|| format!("{} line {number}", path.display()))?);
        }
    }
    if recordings.is_empty() {
        bail!("no session in the *.jsonl and *.jsonl.gz files of {}", folder.display());
    }
    recordings.sort_by(|a, b| (&a.dataset, &a.session_id).cmp(&(&b.dataset, &b.session_id)));
    Ok(recordings)
}
