//! `edit_file`: one text of a file becomes another.

use std::{io::Read, path::Path};

use cap_std::fs::{File, Metadata};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Done, Failed, Workspace, failed,
    folder::{MOST_BYTES, PROBE, io_failure, show},
    write::replace,
};
use crate::tools::{arguments, shorten};

pub(super) const DESCRIPTION: &str = "Changes a text file of the project: replaces old_text, which must occur exactly once, with new_text. Copy old_text exactly, with its white space, and take enough lines to make it unique.";

pub(super) const SCHEMA: &str = r#"{"type":"object","properties":{"path":{"type":"string","description":"Relative to the project folder."},"old_text":{"type":"string","description":"The text to replace."},"new_text":{"type":"string","description":"The text to put in its place."},"replace_all":{"type":"boolean","description":"Change every occurrence; false by default."}},"required":["path","old_text","new_text"],"additionalProperties":false}"#;

/// How many lines are compared when a text is not found.
const COMPARED: usize = 5_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: Option<bool>,
}

pub(super) fn run(workspace: &Workspace, arguments: &Value) -> Done {
    edit(workspace, arguments, Act::Write)
}

/// Says why an edit would fail as things stand now; an empty text if it would not.
pub(super) fn foresee(workspace: &Workspace, arguments: &Value) -> Done {
    edit(workspace, arguments, Act::Look)
}

/// Whether an edit is made, or only looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Write,
    Look,
}

fn edit(workspace: &Workspace, arguments: &Value, act: Act) -> Done {
    let Arguments { path, old_text, new_text, replace_all } = arguments::read(arguments)?;
    if old_text.is_empty() {
        return failed("old_text is empty: write_file creates or replaces a whole file");
    }
    if old_text == new_text {
        return failed("old_text and new_text are the same: nothing to change");
    }
    let path = workspace.path(&path)?;
    let reach = workspace.reach();
    let (folder, name) = reach.open_parent(&path, false)?;
    let Some(before) = reach.replaceable(&folder, &name, &path)? else {
        return failed(format!("no file {}: write_file creates one", show(&path)));
    };
    let (file, metadata) = reach.open_in(&folder, &name, &path)?;
    let text = whole(file, &metadata, &path)?;
    let places: Vec<usize> = text.match_indices(&old_text).map(|(at, _)| at).collect();
    let all = replace_all.unwrap_or(false);
    match places.len() {
        0 => return failed(not_found(&path, &text, &old_text)),
        1 => {}
        many if !all => {
            let lines: Vec<String> =
                places.iter().take(10).map(|at| line_of(&text, *at).to_string()).collect();
            return failed(format!(
                "old_text occurs {many} times in {} (lines {}{}): take more lines to make it unique, or set replace_all",
                show(&path),
                lines.join(", "),
                if many > 10 { ", …" } else { "" }
            ));
        }
        _ => {}
    }
    let grown = new_text.len().saturating_sub(old_text.len()).saturating_mul(places.len());
    if (text.len() as u64).saturating_add(grown as u64) > MOST_BYTES {
        return failed(format!("{} would grow beyond {MOST_BYTES} bytes", show(&path)));
    }
    if act == Act::Look {
        return Ok(String::new());
    }
    let changed = text.replace(&old_text, &new_text);
    let now = reach.replaceable(&folder, &name, &path)?;
    let same = now.is_some_and(|now| {
        now.len() == before.len() && now.modified().ok() == before.modified().ok()
    });
    if !same {
        return failed(format!("{} has changed in the meantime: read it again", show(&path)));
    }
    replace(&folder.dir, &name, &path, changed.as_bytes(), Some(&before))?;
    Ok(report(&path, &text, &places, &old_text, &new_text))
}

/// Reads a file that is to be edited: all of it, and it must be text.
fn whole(file: File, metadata: &Metadata, path: &Path) -> Result<String, Failed> {
    if metadata.len() > MOST_BYTES {
        return failed(format!("{} has more than {MOST_BYTES} bytes", show(path)));
    }
    let mut bytes = Vec::new();
    // It may grow while it is read.
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| io_failure(path, &error))?;
    if bytes.len() as u64 > MOST_BYTES {
        return failed(format!("{} has more than {MOST_BYTES} bytes", show(path)));
    }
    if bytes[..bytes.len().min(PROBE)].contains(&0) {
        return failed(format!(
            "{} is binary ({} bytes) and cannot be edited",
            show(path),
            bytes.len()
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failed(format!("{} is not valid UTF-8 (byte {at}) and cannot be edited", show(path)))
    })
}

fn report(path: &Path, text: &str, places: &[usize], old: &str, new: &str) -> String {
    let (lines, became) = (lines_in(old), lines_in(new));
    let first = line_of(text, places[0]);
    let path = show(path);
    match places.len() {
        1 => {
            let last = first + lines - 1;
            let span = if last == first {
                format!("line {first}")
            } else {
                format!("lines {first}–{last}")
            };
            format!("edited {path}: {span} changed ({lines} became {became})")
        }
        many => format!("edited {path}: {many} places changed, the first on line {first}"),
    }
}

/// Says that a text was not found, with what comes nearest to its first line.
fn not_found(path: &Path, text: &str, old: &str) -> String {
    let said = format!("old_text does not occur in {}", show(path));
    if text.contains("\r\n") && text.replace("\r\n", "\n").contains(old) {
        return format!("{said}: its lines end with \\r\\n, those of old_text with \\n");
    }
    let wanted = old.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let wanted = head(wanted);
    let likeness = |line: &str| strsim::normalized_damerau_levenshtein(head(line.trim()), wanted);
    let nearest = text
        .lines()
        .take(COMPARED)
        .enumerate()
        .map(|(at, line)| (likeness(line), at + 1, line))
        .filter(|(likeness, ..)| *likeness > 0.6)
        .max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
    match nearest {
        Some((_, at, line)) => format!("{said}; the nearest line is {at}: {}", shorten(line, 200)),
        None => format!("{said}: read_file shows its text"),
    }
}

/// Returns the beginning of a line, for comparing.
fn head(line: &str) -> &str {
    line.char_indices().nth(120).map_or(line, |(at, _)| &line[..at])
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count()
}

fn lines_in(text: &str) -> usize {
    text.lines().count().max(1)
}
