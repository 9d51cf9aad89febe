//! `contexture page show`

use contexture_agents::wire::{BodyObject, PageObject, Texts};
use contexture_core::PageView;
use serde::{Deserialize, Serialize};

use crate::{
    commands::{Status, turn},
    context,
    error::Result,
    lines,
    printer::Printer,
    sanitize,
    settings::Settings,
};

/// Show one page with its text or its children
///
/// Visibility, level, lifecycle and pin are those of your view.
#[derive(Debug, clap::Args, Serialize, Deserialize)]
#[command(after_help = "Example:\n  contexture page show usr-0")]
pub(crate) struct Args {
    /// The page, such as usr-3
    #[arg(value_name = "INDEX")]
    index: String,
    /// Show it even if it is in the archive
    #[arg(long)]
    archived: bool,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let session = context::open_snapshot(settings).await?;
    let index = session.index(&args.index)?;
    let seen = if args.archived {
        session.reader().page_or_archived(&index).await?
    } else {
        session.reader().page(&index).await?
    };
    let object = PageObject::read(&session, &seen, Texts::Full).await?;
    if printer.is_json() {
        printer.json(&object)?;
    } else {
        print_page(&seen, &object, printer)?;
    }
    Ok(Status::Done)
}

fn print_page(seen: &PageView, object: &PageObject, printer: &mut Printer<'_>) -> Result<()> {
    let paint = printer.paint();
    let page = &seen.page;
    let name = sanitize::line(page.name.as_str());
    printer.line(format_args!("{}  {}", paint.id(&page.index), paint.strong(name)))?;
    if !page.description.is_empty() {
        printer.line(sanitize::text(page.description.as_str()))?;
    }
    for (label, fact) in facts(seen, object) {
        printer.line(format_args!("{} {fact}", paint.dim(format!("{label:9}"))))?;
    }
    match &object.body {
        BodyObject::Detail { said: Some(said), .. } if !said.detail.is_empty() => {
            printer.line("")?;
            printer.line(sanitize::text(&said.detail).trim_end_matches('\n'))
        }
        BodyObject::Detail { .. } | BodyObject::Contents { .. } => Ok(()),
    }
}

fn facts(seen: &PageView, object: &PageObject) -> Vec<(&'static str, String)> {
    let page = &seen.page;
    let mut standing = vec![
        seen.lifecycle.to_string(),
        seen.visibility.to_string(),
        seen.level.as_str().to_owned(),
    ];
    standing.extend(seen.pinned.then(|| "pinned".to_owned()));
    let mut facts = vec![("type", page.type_name().to_owned()), ("state", standing.join(", "))];
    facts.extend(page.parent.as_ref().map(|parent| ("parent", parent.to_string())));
    facts.extend(page.turn.as_ref().map(|turn| ("turn", turn.to_string())));
    facts.push(("author", format!("{}, trust {}", page.author, page.trust)));
    facts.extend(page.rewritten_by.as_ref().map(|who| ("rewritten", format!("by {who}"))));
    if !page.sources.is_empty() {
        facts.push(("sources", join(&page.sources)));
    }
    let (created, updated) = (lines::time(page.created_at), lines::time(page.updated_at));
    facts.push(("version", format!("{}, changed {updated}, created {created}", page.version)));
    match &object.body {
        BodyObject::Detail { message_count, open_calls, .. } => {
            facts.push(("messages", message_count.to_string()));
            if !open_calls.is_empty() {
                let named = turn::open_calls(open_calls);
                facts.push(("open", format!("waits for the results of: {named}")));
            }
        }
        BodyObject::Contents { children, child_count } => {
            const FEW: usize = 20;
            let mut named = join(&children[..children.len().min(FEW)]);
            if *child_count > FEW as u64 {
                named.push_str(&format!(" … ({child_count} in total)"));
            }
            let none = children.is_empty();
            facts.push(("children", if none { "none".to_owned() } else { named }));
        }
    }
    facts
}

fn join(indices: &[contexture_core::PageIndex]) -> String {
    indices.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
