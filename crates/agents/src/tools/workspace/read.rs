//! `read_file`: some lines of a file.

use std::{
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use serde::Deserialize;
use serde_json::Value;

use super::{
    Done, Workspace, failed,
    folder::{MOST_BYTES, PROBE, io_failure, show},
};
use crate::tools::arguments;

pub(super) const DESCRIPTION: &str = "Reads a text file of the project, or some of its lines. The answer begins with a line that names the file and the lines shown.";

pub(super) const SCHEMA: &str = r#"{"type":"object","properties":{"path":{"type":"string","description":"Relative to the project folder."},"offset":{"type":"integer","minimum":1,"description":"The first line to read; 1 by default."},"limit":{"type":"integer","minimum":1,"description":"How many lines at most; 2000 by default."}},"required":["path"],"additionalProperties":false}"#;

/// How many lines are read when nothing is said.
const LINES: u64 = 2_000;

/// The most bytes of text that one call gives.
const BYTES: usize = 256 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    #[serde(default)]
    offset: Option<u64>,
    #[serde(default)]
    limit: Option<u64>,
}

pub(super) fn run(workspace: &Workspace, arguments: &Value) -> Done {
    let Arguments { path, offset, limit } = arguments::read(arguments)?;
    let path = workspace.path(&path)?;
    let first = offset.unwrap_or(1).max(1);
    let limit = limit.unwrap_or(LINES).max(1);
    let (file, metadata) = workspace.reach().open_file(&path)?;
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    if is_binary(&mut reader).map_err(|error| io_failure(&path, &error))? {
        return failed(format!("{} is binary, {} bytes", show(&path), metadata.len()));
    }
    let count = metadata.len() <= MOST_BYTES;
    let lines = collect(reader, first, limit, count).map_err(|error| io_failure(&path, &error))?;
    present(&path, first, metadata.len(), lines)
}

/// Tells whether the beginning of a file holds what no text does.
pub(super) fn is_binary<R: Read>(reader: &mut BufReader<R>) -> io::Result<bool> {
    let beginning = reader.fill_buf()?;
    Ok(beginning[..beginning.len().min(PROBE)].contains(&0))
}

#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    /// How many lines are in `bytes`.
    shown: u64,
    /// The only line shown is cut for its length.
    cut: bool,
    /// How many lines the file has, where they were counted.
    total: Option<u64>,
    /// There is more behind what is shown.
    more: bool,
}

/// Reads whole lines from `first` on, never more than fit an answer, and counts the rest if asked to.
fn collect(mut reader: impl BufRead, first: u64, limit: u64, count: bool) -> io::Result<Lines> {
    let mut lines = Lines::default();
    let mut number = 1; // of the line that is being read
    let mut whole = 0; // the bytes taken of whole lines
    let mut full = false; // nothing more is taken
    let mut begun = false; // the present line has bytes
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        let end = chunk.iter().position(|byte| *byte == b'\n').map_or(chunk.len(), |at| at + 1);
        let (piece, ends) = (&chunk[..end], chunk[end - 1] == b'\n');
        full |= number >= first.saturating_add(limit);
        if number >= first && !full {
            let room = BYTES - lines.bytes.len();
            lines.bytes.extend_from_slice(&piece[..piece.len().min(room)]);
            full = piece.len() > room;
            if ends && !full {
                (whole, lines.shown) = (lines.bytes.len(), lines.shown + 1);
            }
        }
        lines.more |= full;
        begun = !ends;
        number += u64::from(ends);
        reader.consume(end);
        if full && !count {
            break;
        }
    }
    let has_rest = lines.bytes.len() > whole;
    if has_rest && (!lines.more || lines.shown == 0) {
        // The last line has no line break, or the first has no end in sight.
        (lines.cut, lines.shown) = (lines.more, lines.shown + 1);
    } else {
        lines.bytes.truncate(whole);
    }
    lines.total = (count || !full).then_some(number - u64::from(!begun));
    Ok(lines)
}

fn present(path: &Path, first: u64, size: u64, lines: Lines) -> Done {
    let path = show(path);
    let total = lines.total.map_or_else(|| format!("{size} bytes"), |total| total.to_string());
    if lines.shown == 0 {
        return match lines.total {
            Some(0) => Ok(format!("{path} (empty)")),
            _ => failed(format!("{path} has {total} lines: there is no line {first}")),
        };
    }
    let last = first + lines.shown - 1;
    let note = if std::str::from_utf8(whole_characters(&lines.bytes)).is_ok() {
        ""
    } else {
        "; not valid UTF-8: invalid bytes are shown as \u{fffd}"
    };
    let text = String::from_utf8_lossy(whole_characters(&lines.bytes)).into_owned();
    let mut answer = format!("{path} (lines {first}–{last} of {total}{note})\n{text}");
    if lines.cut {
        answer.push_str(&format!(
            "\n[line {last} is too long and is cut here; the next line has offset {}]",
            last + 1
        ));
    } else if lines.more {
        answer.push_str(&format!("[there is more: read on with offset {}]", last + 1));
    }
    Ok(answer)
}

/// Leaves out a character that the cut went through.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() && bytes.len() >= BYTES => {
            &bytes[..error.valid_up_to()]
        }
        _ => bytes,
    }
}
