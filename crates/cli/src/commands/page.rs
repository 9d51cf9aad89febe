//! `contexture page …`

mod act;
mod ancestors;
mod children;
mod create;
mod list;
pub(super) mod move_page;
mod parent;
mod purge;
mod restore;
mod show;
mod tree;
mod update;

use clap::Subcommand;
use contexture_agents::wire::{ListObject, OutOfViewObject, PageObject, Texts};
use contexture_core::{Edit, EditOutcome, PageView, Session};

use super::Status;
use crate::{context::changed_page, error::Result, lines, printer::Printer, settings::Settings};
pub(crate) use show::{Args as ShowArgs, run as show};

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum Command {
    Create(create::Args),
    Show(show::Args),
    Parent(parent::Args),
    Children(children::Args),
    Ancestors(ancestors::Args),
    List(list::Args),
    Tree(tree::Args),
    Find(super::find::Args),
    Update(update::Args),
    /// Show a page in full, in your view
    ///
    /// Without --as, this sets the default for every view; an agent's own expand and hide affect nobody
    /// else. A page under a hidden directory cannot be expanded: expand the directory first.
    #[command(after_help = "Example:\n  contexture page expand usr-0")]
    Expand(act::Args),
    /// Show only the name and description of a page, in your view
    ///
    /// The pages below a hidden directory leave the window until the directory is expanded again. While
    /// a segment of kind system is read-only, its pages are shown in full and cannot be hidden.
    #[command(after_help = "Example:\n  contexture page hide usr-0")]
    Hide(act::Args),
    /// Keep a page from being folded, in your view
    #[command(after_help = "Example:\n  contexture page pin usr-0")]
    Pin(act::Args),
    /// Unpin a page, in your view
    #[command(after_help = "Example:\n  contexture page unpin usr-0")]
    Unpin(act::Args),
    /// Focus your view on a page
    #[command(after_help = "Example:\n  contexture page focus usr-0")]
    Focus(act::Args),
    /// Take a page out of the window, but keep it in the tree
    ///
    /// `page restore` brings it back.
    #[command(after_help = "\
Example:
  contexture page create --parent usr-0 --name Plan && contexture page archive usr-1")]
    Archive(act::Args),
    /// Move a page and everything below it to the archive; only `purge` destroys
    ///
    /// The page leaves the tree and every listing, but you can find it with --archived, restore it, or
    /// undo the removal.
    #[command(after_help = "\
Example:
  contexture page create --parent usr-0 --name Plan && contexture page remove usr-1")]
    Remove(act::Args),
    Purge(purge::Args),
    Restore(restore::Args),
    Move(move_page::Args),
}

impl Command {
    /// Names the operation and the page if only the system side may do it.
    pub(super) fn system_side_only(&self) -> Option<String> {
        match self {
            Command::Purge(args) => Some(format!("operation 'purgePage' on {}", args.index)),
            _ => None,
        }
    }
}

pub(crate) async fn run(
    command: Command,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    match command {
        Command::Create(args) => create::run(args, settings, printer).await,
        Command::Show(args) => show::run(args, settings, printer).await,
        Command::Parent(args) => parent::run(args, settings, printer).await,
        Command::Children(args) => children::run(args, settings, printer).await,
        Command::Ancestors(args) => ancestors::run(args, settings, printer).await,
        Command::List(args) => list::run(args, settings, printer).await,
        Command::Tree(args) => tree::run(args, settings, printer).await,
        Command::Find(args) => super::find::run(args, settings, printer).await,
        Command::Update(args) => update::run(args, settings, printer).await,
        Command::Expand(args) => act::run(Edit::ExpandDetails, args, settings, printer).await,
        Command::Hide(args) => act::run(Edit::HideDetails, args, settings, printer).await,
        Command::Pin(args) => act::run(Edit::PinPage, args, settings, printer).await,
        Command::Unpin(args) => act::run(Edit::UnpinPage, args, settings, printer).await,
        Command::Focus(args) => act::run(Edit::FocusPage, args, settings, printer).await,
        Command::Archive(args) => act::run(Edit::ArchivePage, args, settings, printer).await,
        Command::Remove(args) => act::run(Edit::RemovePage, args, settings, printer).await,
        Command::Purge(args) => purge::run(args, settings, printer).await,
        Command::Restore(args) => restore::run(args, settings, printer).await,
        Command::Move(args) => move_page::run(args, settings, printer).await,
    }
}

/// Prints the page that an edit changed. The edit is committed, even if the caller no longer sees it.
pub(super) async fn print_made(
    session: &Session,
    outcome: &EditOutcome,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    if let Some(seen) = changed_page(session, outcome).await? {
        return print(session, &seen, printer).await;
    }
    let (revision, index) = (outcome.revision, outcome.pages.first());
    if printer.is_json() {
        printer.json(&OutOfViewObject::from(outcome))?;
        return Ok(Status::Done);
    }
    let page = index.map_or_else(|| "its page".to_owned(), |index| printer.paint().id(index));
    printer.line(format_args!(
        "revision {revision} was committed; your view no longer shows {page}"
    ))?;
    Ok(Status::Done)
}

/// Prints one page: as an object, or as one line.
pub(super) async fn print(
    session: &Session,
    seen: &PageView,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    if printer.is_json() {
        printer.json(&PageObject::read(session, seen, Texts::Full).await?)?;
    } else {
        printer.line(lines::page(printer.paint(), seen))?;
    }
    Ok(Status::Done)
}

/// Prints a part of a list of pages, how to continue it, and how many are left, if known.
pub(super) async fn print_list(
    session: &Session,
    seen: &[PageView],
    next: Option<String>,
    remaining: Option<u64>,
    texts: Texts,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    if printer.is_json() {
        let items = PageObject::read_all(session, seen, texts).await?;
        printer.json(&ListObject { items, next })?;
        return Ok(Status::Done);
    }
    for line in lines::pages(printer.paint(), seen) {
        printer.line(line)?;
    }
    printer.more(next.as_deref(), remaining)?;
    Ok(Status::Done)
}
