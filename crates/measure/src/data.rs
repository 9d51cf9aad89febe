//! Reading recorded sessions: a folder of JSON lines, plain or compressed, a session a line.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use contexture_core::{
    Message, Role,
    message::Exchange,
    transcript::{TranscriptFormat, read as read_transcript, repair},
};
use flate2::read::MultiGzDecoder;
use serde::Deserialize;

/// A recorded session in whole exchanges.
#[derive(Debug)]
pub(crate) struct Session {
    /// Its id.
    pub(crate) id: String,
    /// The system prompts at its head.
    pub(crate) system: Option<String>,
    /// What was said, in order.
    pub(crate) exchanges: Vec<Exchange>,
    /// The last messages, where calls among them never got their results.
    pub(crate) open: Vec<Message>,
}

impl Session {
    /// Reads a session from its line.
    pub(crate) fn parse(line: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Head {
            session_id: String,
        }
        let Head { session_id: id } = serde_json::from_str(line)?;
        let transcript = read_transcript(line, Some(TranscriptFormat::OpenAi))?;
        let mended = repair(transcript);
        let exchanges = mended.exchanges.into_iter().map(|(_, exchange)| exchange).collect();
        let open = mended.open.into_iter().map(|entry| entry.message).collect();
        Ok(Self { id, system: mended.system, exchanges, open })
    }

    /// Returns how many exchanges stand before each call to the model.
    pub(crate) fn calls(&self) -> Vec<usize> {
        let by_model = |message: Option<&Message>| {
            message.is_some_and(|message| message.role == Role::Assistant)
        };
        let exchanges = self.exchanges.iter().enumerate();
        let mut calls: Vec<usize> = exchanges
            .filter(|(_, exchange)| by_model(exchange.messages.first()))
            .map(|(at, _)| at)
            .collect();
        if by_model(self.open.first()) {
            calls.push(self.exchanges.len());
        }
        calls
    }

    /// Returns a number that depends on its id alone.
    pub(crate) fn number(&self) -> u64 {
        number(&self.id)
    }
}

/// Returns a number that depends on a session's id alone.
pub(crate) fn number(id: &str) -> u64 {
    // FNV-1a, for it must stay the same for ever.
    id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Reads the sessions of a folder, at most `limit`.
pub(crate) fn read(folder: &Path, limit: Option<usize>) -> Result<Vec<Session>> {
    let limit = limit.unwrap_or(usize::MAX);
    let mut sessions = Vec::new();
    for path in files(folder)? {
        for (number, line) in (1..).zip(open(&path)?.lines()) {
            if sessions.len() == limit {
                return Ok(sessions);
            }
            let line = line.with_context(|| format!("reading {}", path.display()))?;
            if line.trim().is_empty() {
                continue;
            }
            let session = Session::parse(&line);
            sessions.push(session.with_context(|| format!("{} line {number}", path.display()))?);
        }
    }
    if sessions.is_empty() {
        bail!("no session in the *.jsonl and *.jsonl.gz files of {}", folder.display());
    }
    Ok(sessions)
}

/// Lists the files of a folder that hold a record a line.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.ends_with(".jsonl") || name.ends_with(".jsonl.gz") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Opens such a file, unpacking it where it is packed.
pub(crate) fn open(path: &Path) -> Result<BufReader<Box<dyn Read>>> {
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let packed = path.extension().is_some_and(|extension| extension == "gz");
    Ok(BufReader::new(if packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_to_the_model_is_every_assistant_message() {
        let line = r#"{"session_id":"s","messages":[
            {"role":"system","content":"rules","tokens":1},
            {"role":"user","content":"go","tokens":1},
            {"role":"assistant","content":"","tool_calls":[{"id":"a","name":"f","arguments":"{}"}]},
            {"role":"tool","tool_call_id":"a","content":"done","tokens":1},
            {"role":"assistant","content":"ready","tokens":1},
            {"role":"user","content":"more","observation":true,"tokens":1},
            {"role":"assistant","content":"","tool_calls":[{"id":"b","name":"f","arguments":"{}"}]}
        ]}"#;
        let session = Session::parse(&line.replace('\n', " ")).unwrap();
        assert_eq!(session.system.as_deref(), Some("rules"));
        assert_eq!(session.exchanges.len(), 4);
        assert_eq!(session.calls(), [1, 2, 4]);
        let said = &session.exchanges[3].messages[0];
        assert_eq!(said.extra.get("observation").unwrap().as_str(), "true");
    }
}
