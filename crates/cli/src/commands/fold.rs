//! `contexture fold`

use contexture_agents::wire::FoldObject;
use contexture_core::{
    Format,
    window::{FoldOutcome, FoldReport},
};

use super::{Status, window};
use crate::{
    context,
    error::Result,
    lines,
    printer::Printer,
    project::Project,
    settings::Settings,
    shares::{self, ShareArgs},
};

/// Fold your window so that it fits its budget
///
/// Folding reduces a page, or a run of pages, to one line, in your view only. Nothing is lost: `page
/// expand` brings a page back, and `undo` brings all of them back. The provider must read everything after
/// the first folded page again; the rest stays cached. Segments over their capacity are folded too.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture turn add --user \"$(seq 2000)\" && contexture turn add --user 'And now?'
  contexture fold --budget 2000 --preview
  contexture fold --budget 2000")]
pub(crate) struct Args {
    /// The token budget; by default the session's `budget`, otherwise capacities alone
    #[arg(long, value_name = "N")]
    budget: Option<u64>,
    #[command(flatten)]
    shares: ShareArgs,
    /// Print what the fold would save and cost, and commit nothing
    #[arg(long)]
    preview: bool,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let mut options = window::options(Format::Markdown, args.budget, None);
    let project = Project::load()?;
    let agent = shares::agent(&project, settings)?;
    options.shares = project.shares(&args.shares.read()?, agent)?.shares();
    let (system, session) = context::open_host(settings).await?;
    let counting = window::Counting::begin(system, &mut options);
    let fold = if args.preview {
        let report = session.reader().fold_preview(&options).await?;
        report.map(|report| FoldOutcome { revision: None, report })
    } else {
        session.fold(&options).await?
    };
    let Some(FoldOutcome { revision, report }) = fold else {
        let account = session.reader().window(&options).await?.account;
        counting.end().await;
        return not_due(account.tokens, account.budget, printer);
    };
    counting.end().await;
    if printer.is_json() {
        printer.json(&FoldObject { revision, report })?;
        return Ok(Status::Done);
    }
    let (before, after) =
        (lines::grouped(report.tokens_before), lines::grouped(report.tokens_after));
    let done = match revision {
        Some(revision) => format!("folded as revision {revision}"),
        None => "would fold".to_owned(),
    };
    printer.line(format_args!("{done}: {}", lines::fold(&report)))?;
    printer.line(format_args!("window: {before} → {after} tokens"))?;
    Ok(Status::Done)
}

/// Reports that there is nothing to fold.
fn not_due(tokens: u64, budget: Option<u64>, printer: &mut Printer<'_>) -> Result<Status> {
    if printer.is_json() {
        let report =
            FoldReport { tokens_before: tokens, tokens_after: tokens, ..FoldReport::default() };
        printer.json(&FoldObject { revision: None, report })?;
        return Ok(Status::Done);
    }
    let within = match budget {
        Some(budget) => format!("within its budget of {}", lines::grouped(budget)),
        None => "and no budget is set".to_owned(),
    };
    let tokens = lines::grouped(tokens);
    printer.line(format_args!("no fold is due: the window takes {tokens} tokens, {within}"))?;
    Ok(Status::Done)
}
