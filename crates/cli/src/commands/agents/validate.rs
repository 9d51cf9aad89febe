//! `contexture agents validate`

use std::path::{Path, PathBuf};

use contexture_agents::{
    definition::{FileProblem, Scope, Severity, read},
    wire::{FileProblemObject, ValidatedObject},
};
use contexture_core::ErrorKind;

use super::shown;
use crate::{
    commands::Status,
    error::{Result, Stop},
    lines,
    printer::Printer,
    project::Project,
    sanitize,
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

pub(crate) fn run(args: &Args, project: &Project, printer: &mut Printer<'_>) -> Result<Status> {
    let mut problems = Vec::new();
    if args.which.is_empty() {
        problems = project.catalog.problems().to_vec();
    }
    for which in &args.which {
        problems.extend(problems_of(project, which)?);
    }
    let of = |severity: Severity| -> Vec<&(PathBuf, FileProblem)> {
        problems.iter().filter(|(_, problem)| problem.severity == severity).collect()
    };
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    let status = if errors.is_empty() { Status::Done } else { Status::NotOk };
    if printer.is_json() {
        printer.json(&ValidatedObject {
            ok: errors.is_empty(),
            errors: errors.iter().map(|it| object(project, it)).collect(),
            warnings: warnings.iter().map(|it| object(project, it)).collect(),
        })?;
        return Ok(status);
    }
    for (at, (file, problem)) in errors.iter().chain(&warnings).enumerate() {
        if at > 0 && at == errors.len() {
            printer.line("")?;
        }
        let problem = problem.display(shown(project, file)).to_string();
        printer.line(sanitize::text(&problem))?;
    }
    let agents = match args.which.len() {
        0 => lines::count(project.catalog.agents().len() as u64, "agent"),
        some => format!("{some} checked"),
    };
    let (errors, warnings) = (errors.len() as u64, warnings.len() as u64);
    let (errors, warnings) = (lines::count(errors, "error"), lines::count(warnings, "warning"));
    printer.note(&format!("{agents}: {errors}, {warnings}"))?;
    Ok(status)
}

fn object<'a>(
    project: &Project,
    (file, problem): &'a (PathBuf, FileProblem),
) -> FileProblemObject<'a> {
    FileProblemObject { file: shown(project, file).display().to_string(), problem }
}

/// Returns the problems of a file, or of the files that define or should define an agent.
fn problems_of(project: &Project, which: &str) -> Result<Vec<(PathBuf, FileProblem)>> {
    let path = Path::new(which);
    if path.is_file() {
        let parsed = read(path, Scope::Project);
        return Ok(parsed.problems.into_iter().map(|it| (path.to_owned(), it)).collect());
    }
    let agent = project.catalog.get(which);
    let is_meant = |file: &Path| match agent {
        Some(agent) => agent.file == file,
        None => file.file_stem().is_some_and(|stem| stem == which),
    };
    let problems = project.catalog.problems().iter();
    let found: Vec<_> = problems.filter(|(file, _)| is_meant(file)).cloned().collect();
    if found.is_empty() && agent.is_none() {
        if which.contains(['/', '.']) {
            let message = format!("file {which} not found");
            let hint = "pass an agent file or the name of an agent";
            return Err(Stop::failed(ErrorKind::NotFound, message, hint));
        }
        return project.agent(which).map(|_| Vec::new());
    }
    Ok(found)
}
