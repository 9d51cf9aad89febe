//! `contexture init`

use std::{path::PathBuf, sync::Arc};

use contexture_core::{
    ContextSystem, Edit, Error, NewDetailPage, NewSegment, PageIndex, PageStorage, PageUpdate,
    SegmentKind,
    message::detail_text,
    storage::{Order, StorageError},
};
use contexture_storage::SystemClock;
use serde::Serialize;

use super::Status;
use crate::{
    error::Result, harmless, input, json::SegmentObject, lines, printer::Printer,
    settings::Settings, store::Access,
};

/// The application a session belongs to when none is named.
pub(crate) const APP: &str = "contexture";

const PROMPT: &str = "System prompt";

/// Make the store and the session, ready for use
///
/// The session gets the segments `sys` (kind system, read-only for agents) and `usr` (kind user,
/// read-write). Run it as often as you like: what is there stays as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture init
  echo 'You are a careful assistant.' | contexture init --system -")]
pub(crate) struct Args {
    /// Put this file's text into `sys` as the page 'System prompt', or update it there; - reads
    /// standard input
    #[arg(long, value_name = "FILE")]
    system: Option<PathBuf>,
}

#[derive(Serialize)]
struct Initialised {
    session: String,
    store: String,
    /// Whether the session was made just now.
    created: bool,
    segments: Vec<SegmentObject>,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let prompt = args.system.as_deref().map(input::text).transpose()?;
    let storage = settings.store.open(Access::Create).await?;
    let (system, created) = match create(&storage, settings, prompt.as_deref()).await {
        Ok(system) => (system, true),
        Err(Error::Storage(StorageError::SessionExists { .. })) => {
            (complete(storage, settings, prompt.as_deref()).await?, false)
        }
        Err(error) => return Err(error.into()),
    };
    let segments = system.as_system().reader().segments();
    if printer.is_json() {
        printer.json(&Initialised {
            session: system.session().to_string(),
            store: settings.store.to_string(),
            created,
            segments: segments.iter().map(|segment| SegmentObject::from(&**segment)).collect(),
        })?;
        return Ok(Status::Done);
    }
    let what = if created { "made" } else { "was there already" };
    let store = harmless::line(&settings.store.to_string());
    printer.line(format_args!("session {} {what}, in {store}", settings.session))?;
    for line in lines::segments(printer.paint(), segments.iter().map(|segment| &**segment)) {
        printer.line(line)?;
    }
    Ok(Status::Done)
}

/// Makes the session with all it begins with, or nothing at all.
pub(super) async fn create(
    storage: &Arc<dyn PageStorage>,
    settings: &Settings,
    prompt: Option<&str>,
) -> Result<ContextSystem, Error> {
    if storage.session(&settings.session).await?.is_some() {
        let session = settings.session.clone();
        return Err(StorageError::SessionExists { session }.into());
    }
    let mut edits: Vec<Edit> = first_segments()?.into_iter().map(Edit::AddSegment).collect();
    if let Some(text) = prompt {
        edits.push(new_prompt(text)?);
    }
    let (session, clock) = (settings.session.clone(), Arc::new(SystemClock));
    ContextSystem::create_with(storage.clone(), session, APP, clock, &Edit::Init(edits)).await
}

/// Adds what a session that exists lacks.
async fn complete(
    storage: Arc<dyn PageStorage>,
    settings: &Settings,
    prompt: Option<&str>,
) -> Result<ContextSystem> {
    let clock = Arc::new(SystemClock);
    let system = ContextSystem::open(storage, settings.session.clone(), clock).await?;
    let mut edits = Vec::new();
    for new in first_segments()? {
        if system.as_system().reader().segment(&new.id).is_err() {
            edits.push(Edit::AddSegment(new));
        }
    }
    let adds_sys = matches!(edits.first(), Some(Edit::AddSegment(new)) if new.id.as_str() == "sys");
    if let Some(text) = prompt {
        let there = if adds_sys { None } else { find_prompt(&system).await? };
        edits.extend(match there {
            None => Some(new_prompt(text)?),
            Some((_, old)) if old == text => None,
            Some((page, _)) => Some(Edit::UpdatePage(PageUpdate {
                detail: Some(text.to_owned()),
                ..PageUpdate::of(page)
            })),
        });
    }
    if !edits.is_empty() {
        system.as_system().apply(Edit::Init(edits)).await?;
    }
    Ok(system)
}

fn first_segments() -> Result<[NewSegment; 2], Error> {
    Ok([
        named(NewSegment::new("sys".parse()?, SegmentKind::System), "System")?,
        named(NewSegment::new("usr".parse()?, SegmentKind::User), "User")?,
    ])
}

fn new_prompt(text: &str) -> Result<Edit, Error> {
    let page = NewDetailPage::new("sys-0".parse()?, PROMPT.parse()?, text);
    Ok(Edit::CreateDetailPage(page))
}

/// Returns the page that holds the system prompt, and its text.
async fn find_prompt(system: &ContextSystem) -> Result<Option<(PageIndex, String)>> {
    let root = "sys-0".parse()?;
    let session = system.as_system();
    let reader = session.reader();
    let first = reader.children(&root, Order::Forward, None, 1_000).await?;
    let is_prompt =
        |page: &contexture_core::Page| page.detail().is_some() && page.name.as_str() == PROMPT;
    let Some(found) = first.items.into_iter().find(|seen| is_prompt(&seen.page)) else {
        return Ok(None);
    };
    let text = detail_text(&reader.messages(&found.page.index).await?);
    Ok(Some((found.page.index.clone(), text)))
}

fn named(new: NewSegment, name: &str) -> Result<NewSegment, Error> {
    Ok(NewSegment { name: Some(name.parse()?), ..new })
}
