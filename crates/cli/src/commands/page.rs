//! `contexture page …`

mod act;
mod ancestors;
mod children;
mod create;
mod find;
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
use contexture_core::{Edit, EditOutcome, PageView};

use super::Status;
use crate::{context::Caller, error::Result, lines, printer::Printer, settings::Settings};

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
    Find(find::Args),
    Update(update::Args),
    /// Show a page in full, in your view
    ///
    /// Without --as this is the default of every view; an agent's own expand and hide touch nobody
    /// else. A page under a hidden directory cannot be expanded: expand the directory first.
    #[command(after_help = "Example:\n  contexture page expand usr-0")]
    Expand(act::Args),
    /// Show a page by name and description only, in your view
    ///
    /// What lies below a hidden directory leaves the window until it is expanded again. While a segment
    /// of kind system is read-only, its pages stand in full and cannot be hidden.
    #[command(after_help = "Example:\n  contexture page hide usr-0")]
    Hide(act::Args),
    /// Keep a page from being folded, in your view
    #[command(after_help = "Example:\n  contexture page pin usr-0")]
    Pin(act::Args),
    /// Take a pin back, in your view
    #[command(after_help = "Example:\n  contexture page unpin usr-0")]
    Unpin(act::Args),
    /// Set what your view is focused on
    #[command(after_help = "Example:\n  contexture page focus usr-0")]
    Focus(act::Args),
    /// Take a page out of the window, but leave it in the tree
    ///
    /// `page restore` brings it back.
    #[command(after_help = "\
Example:
  contexture page create --parent usr-0 --name Plan && contexture page archive usr-1")]
    Archive(act::Args),
    /// Take a page, with all below it, to the archive: remove archives, purge destroys
    ///
    /// It leaves the tree and every listing, but can be found with --archived, restored, and the
    /// removal undone.
    #[command(after_help = "\
Example:
  contexture page create --parent usr-0 --name Plan && contexture page remove usr-1")]
    Remove(act::Args),
    Purge(purge::Args),
    Restore(restore::Args),
    Move(move_page::Args),
}

impl Command {
    /// Names the operation and the page if they belong to the system side.
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
        Command::Find(args) => find::run(args, settings, printer).await,
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

/// Prints the page an edit was about. The edit is made, whether its page is still seen or not.
pub(super) async fn print_made(
    caller: &Caller,
    outcome: &EditOutcome,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    if let Some(seen) = caller.changed_page(outcome).await? {
        return print(caller, &seen, printer).await;
    }
    let (revision, index) = (outcome.revision, outcome.pages.first());
    if printer.is_json() {
        printer.json(&OutOfViewObject::from(outcome))?;
        return Ok(Status::Done);
    }
    let page = index.map_or_else(|| "its page".to_owned(), |index| printer.paint().id(index));
    printer.line(format_args!("revision {revision} was made; your view no longer shows {page}"))?;
    Ok(Status::Done)
}

/// Prints one page: its object, or one line.
pub(super) async fn print(
    caller: &Caller,
    seen: &PageView,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    if printer.is_json() {
        printer.json(&PageObject::read(caller, seen, Texts::Full).await?)?;
    } else {
        printer.line(lines::page(printer.paint(), seen))?;
    }
    Ok(Status::Done)
}

/// Prints some of a list of pages, where it goes on and how many are left, where that is known.
pub(super) async fn print_list(
    caller: &Caller,
    seen: &[PageView],
    next: Option<String>,
    left: Option<u64>,
    texts: Texts,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    if printer.is_json() {
        let items = PageObject::read_all(caller, seen, texts).await?;
        printer.json(&ListObject { items, next })?;
        return Ok(Status::Done);
    }
    for line in lines::pages(printer.paint(), seen) {
        printer.line(line)?;
    }
    printer.more(next.as_deref(), left)?;
    Ok(Status::Done)
}
