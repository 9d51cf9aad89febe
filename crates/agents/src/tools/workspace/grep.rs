//! `grep`: lines of files that a regular expression matches.

use std::{
    io::{BufReader, Read},
    path::{Path, PathBuf},
};

use cap_std::fs::{File, Metadata};
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Done, Failed, Workspace,
    folder::{MOST_BYTES, show},
    reach::OpenedPath,
    read::is_binary,
    walk::{Files, Glob},
};
use crate::tools::arguments;

pub(super) const DESCRIPTION: &str = "Searches the files of the project for a regular expression; returns path:line: text for each line that matches. Skips binary files and those that .gitignore excludes.";

pub(super) const SCHEMA: &str = r#"{"type":"object","properties":{"pattern":{"type":"string","description":"A regular expression, matched line by line; (?i) at its beginning ignores case."},"path":{"type":"string","description":"A folder or file, relative to the project folder, which is the default."},"glob":{"type":"string","description":"Only files that match, such as *.rs or src/**."},"limit":{"type":"integer","minimum":1,"description":"How many lines at most; 100 by default, at most 1000."}},"required":["pattern"],"additionalProperties":false}"#;

/// How many lines are given when nothing is said, and at most.
const LINES: (u64, u64) = (100, 1_000);

/// How much of a line is shown, in characters.
const WIDTH: usize = 300;

/// The largest program an expression may become.
const PROGRAM: usize = 1024 * 1024;

/// How many bytes one call searches.
const SEARCHED: u64 = 512 * 1024 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    glob: Option<String>,
    #[serde(default)]
    limit: Option<u64>,
}

pub(super) fn run(workspace: &Workspace, arguments: &Value) -> Done {
    let Arguments { pattern, path, glob, limit } = arguments::read(arguments)?;
    let regex = RegexBuilder::new(&pattern)
        .size_limit(PROGRAM)
        .dfa_size_limit(8 * PROGRAM)
        .build()
        .map_err(|error| {
            Failed(format!("the pattern is not a valid regular expression: {error}"))
        })?;
    let path = workspace.path(path.as_deref().unwrap_or_default())?;
    let glob = glob.as_deref().map(Glob::new).transpose()?;
    let limit = limit.unwrap_or(LINES.0).clamp(1, LINES.1) as usize;
    let mut search = Search::new(regex, limit);
    let reach = workspace.reach();
    match reach.open(&path)? {
        OpenedPath::File(file, metadata) => search.file(&path, file, &metadata),
        OpenedPath::Folder(folder) => {
            let mut files = Files::new(&reach, folder, glob);
            while let Some(found) = files.next().filter(|_| !search.done()) {
                // What cannot be opened, or is not to be, is passed over.
                if !found.link
                    && let Ok((file, metadata)) = found.open(&reach)
                {
                    search.file(&found.path, file, &metadata);
                }
            }
            search.stopped |= files.exhausted || files.too_deep;
        }
    }
    Ok(search.answer())
}

struct Search {
    regex: Regex,
    limit: usize,
    lines: Vec<String>,
    more: bool,
    searched: u64,
    stopped: bool,
    large: Vec<PathBuf>,
}

impl Search {
    fn new(regex: Regex, limit: usize) -> Self {
        Self {
            regex,
            limit,
            lines: Vec::new(),
            more: false,
            searched: 0,
            stopped: false,
            large: Vec::new(),
        }
    }

    fn done(&mut self) -> bool {
        self.stopped |= self.searched > SEARCHED;
        self.more || self.stopped
    }

    /// Searches a file; what cannot be read as text is passed over.
    fn file(&mut self, path: &Path, file: File, metadata: &Metadata) {
        if metadata.len() > MOST_BYTES {
            self.large.push(path.to_owned());
            return;
        }
        let mut reader = BufReader::with_capacity(64 * 1024, file);
        if is_binary(&mut reader).unwrap_or(true) {
            return;
        }
        let mut bytes = Vec::new();
        if reader.take(MOST_BYTES).read_to_end(&mut bytes).is_err() {
            return;
        }
        self.searched += bytes.len() as u64;
        let path = show(path).replace(char::is_control, "?");
        if bytes.is_empty() {
            return;
        }
        // What follows the last line break is no line.
        let body = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        for (at, line) in body.split(|byte| *byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let Some(found) = self.regex.find(line) else { continue };
            if self.lines.len() == self.limit {
                self.more = true;
                return;
            }
            self.lines.push(format!("{path}:{}: {}", at + 1, excerpt(line, found.start())));
        }
    }

    fn answer(&self) -> String {
        let mut lines = self.lines.clone();
        if lines.is_empty() {
            lines.push("no line matches".to_owned());
        }
        if self.more {
            lines
                .push(format!("[only the first {}: narrow the pattern, path or glob]", self.limit));
        }
        if self.stopped {
            lines.push("[stopped before all files were searched: narrow path or glob]".to_owned());
        }
        if let Some(first) = self.large.first() {
            let (count, first) = (self.large.len(), show(first));
            lines.push(format!("[not searched, too large: {first}, {count} in all]"));
        }
        lines.join("\n")
    }
}

/// Shows a line; of a long one what stands around the match.
fn excerpt(line: &[u8], at: usize) -> String {
    let text = String::from_utf8_lossy(line);
    let count = text.chars().count();
    if count <= WIDTH {
        return text.into_owned();
    }
    let before = String::from_utf8_lossy(&line[..at]).chars().count();
    let start = before.saturating_sub(WIDTH / 3).min(count - WIDTH);
    let shown: String = text.chars().skip(start).take(WIDTH).collect();
    let (left, right) =
        (if start > 0 { "…" } else { "" }, if start + WIDTH < count { "…" } else { "" });
    format!("{left}{shown}{right}")
}
