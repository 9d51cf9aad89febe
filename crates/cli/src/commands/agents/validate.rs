//! `contexture agents validate`

use std::path::{Path, PathBuf};

use contexture_agents::{
    definition::{Problem, Scope, Severity, read},
    wire::{FileProblemObject, ValidatedObject},
};
use contexture_core::ErrorKind;

use super::shown;
use crate::{
    commands::Status,
    crew::Crew,
    error::{Result, Stop},
    harmless, lines,
    printer::Printer,
};

/// Check agent files: all of them, or those named
///
/// An error means that a file defines no agent, a warning that it may not define the agent you meant.
/// Exits with 1 if there are errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture agents validate
  contexture agents create tester && contexture agents validate tester")]
pub(crate) struct Args {
    /// Agent files, or names of agents
    #[arg(value_name = "FILE|NAME")]
    which: Vec<String>,
}

pub(crate) fn run(args: &Args, crew: &Crew, printer: &mut Printer<'_>) -> Result<Status> {
    let mut problems = Vec::new();
    if args.which.is_empty() {
        problems = crew.catalog.problems().to_vec();
    }
    for which in &args.which {
        problems.extend(problems_of(crew, which)?);
    }
    let of = |severity: Severity| -> Vec<&(PathBuf, Problem)> {
        problems.iter().filter(|(_, problem)| problem.severity == severity).collect()
    };
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    let status = if errors.is_empty() { Status::Done } else { Status::NotOk };
    if printer.is_json() {
        printer.json(&ValidatedObject {
            ok: errors.is_empty(),
            errors: errors.iter().map(|it| object(crew, it)).collect(),
            warnings: warnings.iter().map(|it| object(crew, it)).collect(),
        })?;
        return Ok(status);
    }
    for (at, (file, problem)) in errors.iter().chain(&warnings).enumerate() {
        if at > 0 && at == errors.len() {
            printer.line("")?;
        }
        let problem = problem.display(shown(crew, file)).to_string();
        printer.line(harmless::text(&problem))?;
    }
    let agents = match args.which.len() {
        0 => lines::count(crew.catalog.agents().len() as u64, "agent"),
        some => format!("{some} checked"),
    };
    let (errors, warnings) = (errors.len() as u64, warnings.len() as u64);
    let (errors, warnings) = (lines::count(errors, "error"), lines::count(warnings, "warning"));
    printer.note(&format!("{agents}: {errors}, {warnings}"))?;
    Ok(status)
}

fn object<'a>(crew: &Crew, (file, problem): &'a (PathBuf, Problem)) -> FileProblemObject<'a> {
    FileProblemObject { file: shown(crew, file).display().to_string(), problem }
}

/// Returns the problems of a file, or of the files that define or should define an agent.
fn problems_of(crew: &Crew, which: &str) -> Result<Vec<(PathBuf, Problem)>> {
    let path = Path::new(which);
    if path.is_file() {
        let parsed = read(path, Scope::Project);
        return Ok(parsed.problems.into_iter().map(|it| (path.to_owned(), it)).collect());
    }
    let agent = crew.catalog.get(which);
    let is_meant = |file: &Path| match agent {
        Some(agent) => agent.file == file,
        None => file.file_stem().is_some_and(|stem| stem == which),
    };
    let problems = crew.catalog.problems().iter();
    let found: Vec<_> = problems.filter(|(file, _)| is_meant(file)).cloned().collect();
    if found.is_empty() && agent.is_none() {
        if which.contains(['/', '.']) {
            let message = format!("file {which} not found");
            let hint = "pass an agent file or the name of an agent";
            return Err(Stop::failed(ErrorKind::NotFound, message, hint));
        }
        return crew.agent(which).map(|_| Vec::new());
    }
    Ok(found)
}
