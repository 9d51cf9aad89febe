//! `contexture tour`
//!
//! Shows the main job in one minute. Every line is parsed and run like any other command line, so its
//! output is real and the line can be pasted.

mod steps;

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use contexture_core::ErrorKind;
use serde::Serialize;
use serde_json::Value;

use self::steps::Step;
use super::Status;
use crate::{
    error::{Result, Stop},
    printer::Printer,
    run, sanitize,
};

/// See what Contexture does in one minute, each step with its command
///
/// In a small agent session, a turn is stored, a conversation imported, an edit refused, a window folded
/// to a budget, a page expanded and an edit undone. The session has a store of its own, which stays for
/// you to explore. Flags such as --store are for the commands that the tour shows, not for the tour.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture tour
  contexture tour --keep my-tour")]
pub(crate) struct Args {
    /// Put the store in this folder; by default in a new temporary folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// The whole tour.
#[derive(Serialize)]
struct Tour {
    store: String,
    steps: Vec<Shown>,
}

/// What a step did.
#[derive(Serialize)]
struct Shown {
    says: &'static str,
    command: String,
    exit: u8,
    output: Value,
}

pub(crate) fn run(args: &Args, printer: &mut Printer<'_>) -> Result<Status> {
    let folder = folder(args.keep.as_deref())?;
    let store = prepare(&folder)?;
    let mut shown = Vec::new();
    for step in steps::steps(&store, &folder) {
        shown.extend(take(&step, printer)?);
    }
    if printer.is_json() {
        printer.json(&Tour { store, steps: shown })?;
        return Ok(Status::Done);
    }
    let paint = printer.paint();
    let place = sanitize::line(&folder.display().to_string());
    printer.line(format_args!("\nThe store stays in {place} for you to explore:"))?;
    for next in ["window", "history", "--help"] {
        let line = command_line(&store, next.split(' '));
        printer.line(paint.strong(format!("$ {}", shell(&line))))?;
    }
    printer.line("To start in a folder of your own, run `contexture init`.")?;
    Ok(Status::Done)
}

/// Makes a store in a new folder that holds the session of the tour; returns its URL.
#[cfg(feature = "server")]
pub(super) fn stored() -> Result<String> {
    let folder = folder(None)?;
    let store = prepare(&folder)?;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let paint = (crate::printer::Paint::Plain, crate::printer::Paint::Plain);
    let mut printer = Printer::new(&mut out, &mut err, paint);
    printer.set_json(true);
    for step in steps::steps(&store, &folder) {
        take(&step, &mut printer)?;
    }
    Ok(store)
}

/// Takes one step: shows the line, runs it, shows its output. With JSON, returns them instead.
fn take(step: &Step, printer: &mut Printer<'_>) -> Result<Option<Shown>> {
    let command = shell(&step.line);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let paint = printer.paint();
    let mut line: Vec<OsString> = step.line.iter().map(OsString::from).collect();
    #[cfg(feature = "server")]
    line.extend(["--server", "never"].map(OsString::from));
    if printer.is_json() {
        line.push("--json".into());
    }
    let exit = run::run(line, &mut Printer::new(&mut out, &mut err, (paint, paint)));
    let output: Vec<u8> = [out, err].concat();
    let output = String::from_utf8_lossy(&output);
    if exit != step.exit {
        let message = format!("the tour failed at `{command}`: {}", output.trim_end());
        let hint = "run that command on its own to see more";
        return Err(Stop::failed(ErrorKind::Unavailable, message, hint));
    }
    if printer.is_json() {
        let output = serde_json::from_str(&output).unwrap_or(Value::Null);
        return Ok(Some(Shown { says: step.says, command, exit, output }));
    }
    if !step.says.is_empty() {
        printer.line(format_args!("\n{}", step.says))?;
    }
    printer.line(paint.strong(format!("$ {command}")))?;
    for line in output.lines() {
        printer.line(format!("  {line}").trim_end())?;
    }
    Ok(None)
}

/// Puts the files of the tour into its folder; returns the URL for its store.
fn prepare(folder: &Path) -> Result<String> {
    let unusable = |error: io::Error| {
        let message = format!("cannot use {}: {error}", folder.display());
        Stop::invalid(message, "choose another folder with --keep")
    };
    fs::create_dir_all(folder).map_err(unusable)?;
    let store = folder.join("contexture.db");
    if store.try_exists().map_err(unusable)? {
        let message = format!("{} already holds a store", folder.display());
        return Err(Stop::failed(
            ErrorKind::Conflict,
            message,
            "choose another folder with --keep",
        ));
    }
    for (name, text) in steps::FILES {
        fs::write(folder.join(name), text).map_err(unusable)?;
    }
    match store.to_str() {
        Some(path) if !path.contains('?') => Ok(format!("sqlite:{path}")),
        _ => Err(Stop::invalid(
            format!("a store URL cannot name this path: {}", store.display()),
            "with --keep, choose a folder whose path is UTF-8 and has no '?'",
        )),
    }
}

/// Returns the named folder, or a new one that nobody else can read.
fn folder(keep: Option<&Path>) -> Result<PathBuf> {
    if let Some(keep) = keep {
        return Ok(keep.to_owned());
    }
    let (base, process) = (std::env::temp_dir(), std::process::id());
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let mut tried = 0_u32;
    loop {
        let folder = base.join(format!("contexture-tour-{process}-{tried}"));
        match builder.create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => tried += 1,
            Err(error) => {
                let message = format!("cannot create {}: {error}", folder.display());
                return Err(Stop::invalid(message, "choose a folder with --keep"));
            }
        }
    }
}

/// Returns the words of a command line on the tour's store.
fn command_line<'a>(store: &'a str, words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let begin = ["contexture", "--store", store];
    begin.into_iter().chain(words).map(str::to_owned).collect()
}

/// Writes a command line as a shell reads it.
fn shell(line: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let word = |word: &String| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", sanitize::line(word).replace('\'', "'\\''"))
        }
    };
    line.iter().map(word).collect::<Vec<_>>().join(" ")
}
