//! `contexture recall`

use contexture_agents::wire::RecallObject;
use contexture_core::{Format, Tokens};
use contexture_search::{RecallPurpose, RecallQuery};
use serde::{Deserialize, Serialize};

use super::{Status, find, window};
use crate::{
    context,
    error::{Result, Stop},
    lines,
    printer::Printer,
    settings::Settings,
};

/// Bring what was said about something back into your window
///
/// Opens the pages that fit best and are not shown in full, as many as the budget holds, as one edit that
/// `undo` takes back. Pages in the archive return to the tree. Each page is printed with what was found in
/// it.
#[derive(Debug, clap::Args, Serialize, Deserialize)]
#[command(after_help = "\
Examples:
  contexture turn add --user 'When is the launch?' --assistant 'On Friday, after the tests.'
  contexture page hide usr-1
  contexture recall 'launch day' --budget 2000")]
pub(crate) struct Args {
    /// What to look for
    #[arg(value_name = "QUERY")]
    query: String,
    #[command(flatten)]
    filter: find::FilterArgs,
    /// The most tokens that the pages may take together
    #[arg(long, value_name = "N", default_value_t = 4_000)]
    budget: u64,
    /// The most pages to bring back
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// The directory that pages from the archive go to, instead of their old places
    #[arg(long, value_name = "INDEX")]
    into: Option<String>,
    /// Print what would be brought back, and change nothing
    #[arg(long)]
    preview: bool,
}

#[cfg(feature = "server")]
impl Args {
    /// Returns whether it changes nothing.
    pub(crate) fn is_preview(&self) -> bool {
        self.preview
    }
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    if args.budget == 0 {
        return Err(Stop::invalid("the budget is 0", "give at least one token: --budget 2000"));
    }
    let (session, index) = context::open_search(settings).await?;
    let into = args.into.as_deref().map(|into| session.index(into)).transpose()?;
    let find = args.filter.query(args.query, usize::from(args.limit));
    let query =
        RecallQuery { find, budget: Tokens(args.budget), into, purpose: RecallPurpose::Window };
    let options = window::options(Format::Markdown, None, None);
    let plan = index.get()?.recall(&session, &query, &options).await?;
    let revision = match plan.edit().filter(|_| !args.preview) {
        Some(edit) => Some(session.apply(edit).await?.revision),
        None => None,
    };
    let recall = RecallObject::of(&session, &plan, revision).await?;
    find::warn(recall.similarity.as_ref(), printer)?;
    if printer.is_json() {
        printer.json(&recall)?;
        return Ok(Status::Done);
    }
    let width = recall.pages.iter().map(|page| page.found.index.to_string().len()).max();
    for page in &recall.pages {
        find::print(&page.found, width.unwrap_or(0), printer)?;
    }
    let (count, tokens) =
        (lines::count(recall.pages.len() as u64, "page"), lines::grouped(recall.tokens));
    let done = match revision {
        Some(revision) => format!("brought back as revision {revision}: {count}, {tokens} tokens"),
        None if recall.pages.is_empty() => "nothing to bring back".to_owned(),
        None => format!("would bring back {count}, {tokens} tokens"),
    };
    printer.line(done)?;
    let others = [
        (recall.already_shown, "already shown in full"),
        (recall.left_out, "left out: the budget or the limit has no room for them"),
        (recall.refused, "in the archive, which you may not restore"),
    ];
    for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
        printer.note(&format!("{}: {what}", lines::count(count as u64, "more page")))?;
    }
    Ok(Status::Done)
}
