//! `contexture page parent`

use crate::{commands::Status, context, error::Result, printer::Printer, settings::Settings};

/// Show the directory that contains a page
///
/// A root has none; with --json this prints null.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture page create --parent usr-0 --name Plan && contexture page parent usr-1")]
pub(crate) struct Args {
    /// The page, such as usr-3
    #[arg(value_name = "INDEX")]
    index: String,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let session = context::open(settings).await?;
    let index = session.index(&args.index)?;
    match session.reader().parent(&index).await? {
        Some(parent) => super::print(&session, &parent, printer).await,
        None if printer.is_json() => {
            printer.json(&())?;
            Ok(Status::Done)
        }
        None => {
            printer.line(format_args!("{index} is the root of its segment"))?;
            Ok(Status::Done)
        }
    }
}
