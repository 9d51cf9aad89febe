//! `contexture press`

use std::collections::BTreeMap;

use contexture_agents::wire::AnswerObject;
use contexture_core::context::{Apps, PageAction, Pressed};

use super::{Status, find, page};
use crate::{
    context,
    error::{Result, Stop},
    printer::Printer,
    sanitize,
    settings::Settings,
};

/// Press an anchor in the window to run its action
///
/// Anchors appear in `window` as [button:KEY] and [form:KEY param=…]: expand, hide, update, move, create
/// and find. Pressing one is an operation like any other: it is checked and recorded, and prints what
/// the command for it prints. An anchor that no longer fits its page is a conflict, and the error names
/// the one to press instead.
#[allow(rustdoc::broken_intra_doc_links, reason = "it is help text, where brackets are anchors")]
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture press create-usr-0 name=Plan detail='1. read 2. think'
  contexture press hide-usr-1
  contexture press find query=plan")]
pub(crate) struct Args {
    /// The anchor, such as expand-usr-3
    #[arg(value_name = "KEY")]
    key: String,
    /// The values that a form asks for, each as name=value
    #[arg(value_name = "PARAM=VALUE")]
    params: Vec<String>,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let params = params(&args.params)?;
    let session = context::open(settings).await?;
    match session.press(&args.key, &params, &Apps::default()).await? {
        Pressed::Edited(outcome) => {
            if let Some((PageAction::Move, moved)) = PageAction::parse_key(&args.key) {
                return page::move_page::print(&moved, outcome, printer);
            }
            page::print_made(&session, &outcome, printer).await
        }
        // The same search as `find`: it looks at what pages say, too.
        Pressed::Found(_) => {
            let query = params.get("query").cloned().unwrap_or_default();
            find::run(find::Args::of(query), settings, printer).await
        }
        Pressed::Answered(answer) => {
            if printer.is_json() {
                printer.json(&AnswerObject { answer })?;
            } else {
                printer.line(sanitize::text(&answer))?;
            }
            Ok(Status::Done)
        }
    }
}

fn params(given: &[String]) -> Result<BTreeMap<String, String>> {
    let mut params = BTreeMap::new();
    for param in given {
        let Some((name, value)) = param.split_once('=') else {
            let message = format!("invalid parameter '{param}': it is not name=value");
            return Err(Stop::invalid(message, "give each as name=value, such as name=Plan"));
        };
        if params.insert(name.to_owned(), value.to_owned()).is_some() {
            let message = format!("parameter '{name}' is given twice");
            return Err(Stop::invalid(message, "give it once"));
        }
    }
    Ok(params)
}
