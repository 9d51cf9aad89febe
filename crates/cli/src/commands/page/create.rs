//! `contexture page create`

use std::path::PathBuf;

use contexture_core::{Description, Edit, NewContentsPage, NewDetailPage, PageName, Visibility};

use crate::{
    commands::Status, context, error::Result, input, printer::Printer, settings::Settings,
};

/// Create a page at the end of a directory
///
/// A DetailPage holds text. With --contents, a ContentsPage is created instead: a directory that may
/// adopt pages of its segment, which stay as visible as they were in every view. With --hidden, the new
/// page is shown as one line by default, and pages that a hidden directory adopts leave the window.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture page create --parent usr-0 --name Plan --detail '1. read 2. think'
  contexture page create --contents --parent usr-0 --name Drafts --child usr-1")]
pub(crate) struct Args {
    /// The directory to put it in, at the end
    #[arg(long, value_name = "INDEX")]
    parent: String,
    /// Its name, 1 to 200 characters
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    name: String,
    /// Its description, up to 2,000 characters
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// Its text
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["detail_file", "contents"])]
    detail: Option<String>,
    /// A file with its text; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "contents")]
    detail_file: Option<PathBuf>,
    /// Hide it by default; `page expand` shows it
    #[arg(long)]
    hidden: bool,
    /// Create a directory
    #[arg(long)]
    contents: bool,
    /// A page for the directory to adopt; repeatable, and the order is kept
    #[arg(long, value_name = "INDEX", requires = "contents")]
    child: Vec<String>,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let name: PageName = args.name.parse()?;
    let description: Description = args.description.as_deref().unwrap_or_default().parse()?;
    let visibility = args.hidden.then_some(Visibility::Hidden);
    let detail = match &args.detail_file {
        Some(file) => input::text(file)?,
        None => args.detail.unwrap_or_default(),
    };
    let session = context::open(settings).await?;
    let parent = session.index(&args.parent)?;
    let edit = if args.contents {
        let children = args.child.iter().map(|child| session.index(child));
        let children = children.collect::<Result<_, contexture_core::Error>>()?;
        Edit::CreateContentsPage(NewContentsPage {
            description,
            visibility,
            children,
            ..NewContentsPage::new(parent, name)
        })
    } else {
        Edit::CreateDetailPage(NewDetailPage {
            description,
            visibility,
            ..NewDetailPage::new(parent, name, detail)
        })
    };
    let outcome = session.apply(edit).await?;
    super::print_made(&session, &outcome, printer).await
}
