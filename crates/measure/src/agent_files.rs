//! How agent files in the wild are read: which are clean, odd, mended or refused.

use std::{
    collections::BTreeMap,
    io::{BufRead, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use contexture_agents::definition::{Parsed, Scope, Severity, Times, parse};
use serde::Deserialize;

use crate::data;

/// What to read.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A folder of *.jsonl and *.jsonl.gz, an agent file a line: `path`, `kind`, `raw`.
    #[arg(long)]
    data: PathBuf,
    /// Also prints every refusal; twice: every problem.
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
}

/// An agent file of the collection.
#[derive(Debug, Deserialize)]
struct Record {
    path: PathBuf,
    kind: String,
    raw: String,
}

/// What became of files.
#[derive(Debug, Default)]
struct Counts {
    clean: usize,
    warned: usize,
    recovered: usize,
    refused: usize,
}

impl Counts {
    fn add(&mut self, parsed: &Parsed) {
        let count = match &parsed.definition {
            None => &mut self.refused,
            Some(_) if parsed.recovered => &mut self.recovered,
            Some(_) if parsed.problems.is_empty() => &mut self.clean,
            Some(_) => &mut self.warned,
        };
        *count += 1;
    }

    fn row(&self, name: &str) -> String {
        let Self { clean, warned, recovered, refused } = self;
        let files = clean + warned + recovered + refused;
        format!("| {name} | {files} | {clean} | {warned} | {recovered} | {refused} |")
    }
}

/// Reads every file of the collection and counts.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    let mut all = Counts::default();
    for record in read(&args.data)? {
        let Record { path, kind, raw } = record;
        let parsed = parse(raw.as_bytes(), &path, Scope::Project, Times::default());
        let name = format!("{kind} | {}", parsed.dialect.title());
        counts.entry(name).or_default().add(&parsed);
        all.add(&parsed);
        show(&path, &parsed, args.verbose, out)?;
    }
    writeln!(out, "| files of | read as | files | clean | with warnings | recovered | refused |")?;
    writeln!(out, "|---|---|--:|--:|--:|--:|--:|")?;
    for (name, counts) in &counts {
        writeln!(out, "{}", counts.row(name))?;
    }
    writeln!(out, "{}", all.row("all | "))?;
    Ok(ExitCode::SUCCESS)
}

fn show(path: &Path, parsed: &Parsed, verbose: u8, out: &mut dyn Write) -> Result<()> {
    for problem in &parsed.problems {
        let refusal = parsed.definition.is_none() && problem.severity == Severity::Error;
        if verbose > 1 || (verbose == 1 && refusal) {
            writeln!(out, "{}", problem.display(path))?;
        }
    }
    Ok(())
}

fn read(folder: &Path) -> Result<Vec<Record>> {
    let mut records = Vec::new();
    for path in data::files(folder)? {
        for (number, line) in (1..).zip(data::open(&path)?.lines()) {
            let at = || format!("{} line {number}", path.display());
            let line = line.with_context(at)?;
            if !line.trim().is_empty() {
                records.push(serde_json::from_str(&line).with_context(at)?);
            }
        }
    }
    if records.is_empty() {
        bail!("no agent file in the *.jsonl and *.jsonl.gz files of {}", folder.display());
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_counted_by_what_became_of_them() {
        let mut counts = Counts::default();
        for text in [
            "---\nname: a\ndescription: d\n---\nDo.",
            "---\nname: a\ndescription: d\nodd: 1\n---\nDo.",
            "---\nname: a\ndescription: d: e\n---\nDo.",
            "# A",
        ] {
            let path = Path::new(".claude/agents/a.md");
            counts.add(&parse(text.as_bytes(), path, Scope::Project, Times::default()));
        }
        assert_eq!(counts.row("x"), "| x | 4 | 1 | 1 | 1 | 1 |");
    }
}
