//! `contexture fold`

use contexture_agents::wire::FoldObject;
use contexture_core::{
    Format,
    window::{FoldOutcome, FoldReport},
};

use super::{Status, window};
use crate::{
    context::Caller,
    crew::Crew,
    error::Result,
    lines,
    printer::Printer,
    settings::Settings,
    shares::{self, ShareArgs},
};

/// Take the fold that is due, so that your window fits its budget
///
/// Folding lowers pages to a line and runs of pages to one, in your view only: nothing is lost,
/// `page expand` brings a page back and `undo` all of them. What stands behind the first folded page
/// must be read again by the provider; the rest stays cached. Segments over their capacity fold too.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture turn add --user \"$(seq 2000)\" && contexture turn add --user 'And now?'
  contexture fold --budget 2000 --preview
  contexture fold --budget 2000")]
pub(crate) struct Args {
    /// The tokens the window may take; by default the session's `budget`, else capacities alone
    #[arg(long, value_name = "N")]
    budget: Option<u64>,
    #[command(flatten)]
    shares: ShareArgs,
    /// Say what it would save and cost, and commit nothing
    #[arg(long)]
    preview: bool,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let mut options = window::options(Format::Markdown, args.budget, None);
    let crew = Crew::load()?;
    let agent = shares::agent(&crew, settings)?;
    options.shares = crew.shares(&args.shares.read()?, agent)?.shares();
    let caller = Caller::open(settings).await?;
    let counting = window::Counting::begin(&caller, &mut options);
    let fold = if args.preview {
        let report = caller.reader().fold_preview(&options).await?;
        report.map(|report| FoldOutcome { revision: None, report })
    } else {
        caller.fold(&options).await?
    };
    let Some(FoldOutcome { revision, report }) = fold else {
        let account = caller.reader().window(&options).await?.account;
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
        Some(revision) => format!("folded, as revision {revision}"),
        None => "would fold".to_owned(),
    };
    printer.line(format_args!("{done}: {}", lines::fold(&report)))?;
    printer.line(format_args!("window: {before} → {after} tokens"))?;
    Ok(Status::Done)
}

/// Says that there is nothing to fold.
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
