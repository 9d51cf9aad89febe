//! The commands that change one page and print it: expand, hide, pin, unpin, focus, archive, remove.

use contexture_core::{Edit, PageIndex};

use crate::{commands::Status, context, error::Result, printer::Printer, settings::Settings};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The page, such as usr-3
    #[arg(value_name = "INDEX")]
    index: String,
}

pub(crate) async fn run(
    edit: fn(PageIndex) -> Edit,
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let session = context::open(settings).await?;
    let outcome = session.apply(edit(session.index(&args.index)?)).await?;
    super::print_made(&session, &outcome, printer).await
}
