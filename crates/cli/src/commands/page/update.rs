//! `contexture page update`

use std::path::PathBuf;

use contexture_core::{Edit, Error, PageUpdate, storage::Version};

use crate::{
    args::Suggested,
    commands::Status,
    context,
    error::{Result, Stop},
    input,
    printer::Printer,
    settings::Settings,
};

const CLEARABLE: &[&str] = &["description", "detail"];

/// Change a page's name, description or text
///
/// A field that is not given, or empty, stays as it is; --clear empties a field. With --if-version, a
/// page that somebody else changed in the meantime is a conflict and stays as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture page create --parent usr-0 --name Plan \\
    && contexture page update usr-1 --detail '1. read' --if-version 1")]
pub(crate) struct Args {
    /// The page, such as usr-3
    #[arg(value_name = "INDEX")]
    index: String,
    /// Its name, 1 to 200 characters
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    name: Option<String>,
    /// Its description, up to 2,000 characters
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// Its text
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "detail_file")]
    detail: Option<String>,
    /// A file with its text; - reads standard input
    #[arg(long, value_name = "FILE")]
    detail_file: Option<PathBuf>,
    /// Empty this field; may be given twice
    #[arg(long, value_name = "WHAT", value_parser = Suggested(CLEARABLE), value_delimiter = ',')]
    clear: Vec<String>,
    /// Refuse the change unless the page is at this version
    #[arg(long, value_name = "N")]
    if_version: Option<u64>,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let detail = match &args.detail_file {
        Some(file) => Some(input::text(file)?),
        None => args.detail,
    };
    let (mut description, mut detail) = (given(args.description), given(detail));
    for what in &args.clear {
        match what.as_str() {
            "description" => clear(&mut description, what)?,
            "detail" => clear(&mut detail, what)?,
            _ => {
                let (what, text) = ("value for --clear", what.clone());
                return Err(Error::UnknownValue { what, text, known: "description detail" }.into());
            }
        }
    }
    let name = given(args.name).as_deref().map(str::parse).transpose()?;
    let description = description.as_deref().map(str::parse).transpose()?;
    let session = context::open(settings).await?;
    let page = session.index(&args.index)?;
    let if_version = args.if_version.map(Version);
    let update = PageUpdate { page, name, description, detail, if_version };
    let outcome = session.apply(Edit::UpdatePage(update)).await?;
    super::print_made(&session, &outcome, printer).await
}

/// Empties a field, unless it was also given.
fn clear(field: &mut Option<String>, what: &str) -> Result<()> {
    if field.as_ref().is_some_and(|text| !text.is_empty()) {
        let message = format!("--{what} and --clear {what} cannot both be given");
        return Err(Stop::invalid(message, "use one or the other"));
    }
    *field = Some(String::new());
    Ok(())
}
