//! `contexture page ancestors`

use crate::{
    args::{ListArgs, TextArgs},
    commands::Status,
    context,
    error::{Result, Stop},
    printer::Printer,
    settings::Settings,
};

/// List the directories that contain a page, nearest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture page create --parent usr-0 --name Plan && contexture page ancestors usr-1")]
pub(crate) struct Args {
    /// The page, such as usr-3
    #[arg(value_name = "INDEX")]
    index: String,
    #[command(flatten)]
    list: ListArgs,
    #[command(flatten)]
    text: TextArgs,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let session = context::open_snapshot(settings).await?;
    let index = session.index(&args.index)?;
    let all = session.reader().ancestors(&index).await?;
    let begin = match &args.list.cursor {
        None => 0,
        Some(cursor) => {
            let after = session.index(cursor)?;
            let at = all.iter().position(|seen| seen.page.index == after);
            1 + at.ok_or_else(|| {
                let message = format!("{after} is not an ancestor of {index}");
                Stop::invalid(message, "use the `next` value of the previous list")
            })?
        }
    };
    let some: Vec<_> = all.iter().skip(begin).take(args.list.limit()).cloned().collect();
    let more = begin + some.len() < all.len();
    let next = some.last().filter(|_| more).map(|seen| seen.page.index.to_string());
    super::print_list(&session, &some, next, None, args.text.texts(), printer).await
}
