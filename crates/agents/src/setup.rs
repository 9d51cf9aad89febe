//! Making a session ready for use: its first segments, and the page that holds its system prompt.
//!
//! Every surface makes sessions here, so that they all begin alike.

use contexture_core::{
    ContextSystem, Edit, Engine, Error, NewDetailPage, NewSegment, Page, PageIndex, PageUpdate,
    Principal, Result, SegmentKind, Session, SessionId,
    message::detail_text,
    storage::{Order, StorageError},
};

/// The application a session belongs to when none is named.
pub const APP: &str = "contexture";

/// The name of the page that holds the system prompt.
const PROMPT: &str = "System prompt";

/// How many pages of `sys` are looked at for the prompt.
const LOOKED_AT: usize = 1_000;

/// A session that is ready for use.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The session.
    pub system: ContextSystem,
    /// Whether it was made just now.
    pub created: bool,
}

/// Makes a session with the segments `sys` and `usr`, or adds what one that exists lacks. A prompt becomes
/// the page 'System prompt' of `sys`, or its new text. What is there stays as it is; what is added to a
/// session that exists is recorded as done by `by`.
pub async fn prepare(
    engine: &Engine,
    session: &SessionId,
    by: Principal,
    prompt: Option<&str>,
) -> Result<Prepared> {
    if let Some(system) = made(create(engine, session, prompt).await)? {
        return Ok(Prepared { system, created: true });
    }
    let system = engine.open(session).await?;
    complete(&system.held_by(by), prompt).await?;
    Ok(Prepared { system, created: false })
}

/// Returns a session, made as [`prepare`] makes it where it does not exist. One that exists stays as it is.
pub async fn open_or_create(engine: &Engine, session: &SessionId) -> Result<Prepared> {
    match create_if_absent(engine, session).await? {
        Some(system) => Ok(Prepared { system, created: true }),
        None => Ok(Prepared { system: engine.open(session).await?, created: false }),
    }
}

/// Makes a session as [`prepare`] makes it; none where it exists, which is not opened then.
pub async fn create_if_absent(
    engine: &Engine,
    session: &SessionId,
) -> Result<Option<ContextSystem>> {
    made(create(engine, session, None).await)
}

/// Returns the session that was made, if none of its name was there.
fn made(created: Result<ContextSystem>) -> Result<Option<ContextSystem>> {
    match created {
        Ok(system) => Ok(Some(system)),
        Err(Error::Storage(StorageError::SessionExists { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Fills a session with what an edit loads: one that is empty, or one that is made for it.
pub async fn load(
    engine: &Engine,
    session: &SessionId,
    by: Principal,
    edit: Edit,
) -> Result<ContextSystem> {
    if engine.storage().session(session).await?.is_none() {
        return engine.create(session, APP, &edit).await;
    }
    let system = engine.open(session).await?;
    system.held_by(by).apply(edit).await?;
    Ok(system)
}

/// Makes a session with all it begins with, or nothing at all.
async fn create(
    engine: &Engine,
    session: &SessionId,
    prompt: Option<&str>,
) -> Result<ContextSystem> {
    if engine.storage().session(session).await?.is_some() {
        return Err(StorageError::SessionExists { session: session.clone() }.into());
    }
    let mut edits: Vec<Edit> = first_segments()?.into_iter().map(Edit::AddSegment).collect();
    if let Some(text) = prompt {
        edits.push(new_prompt(text)?);
    }
    engine.create(session, APP, &Edit::Init(edits)).await
}

/// Adds what a session that exists lacks.
async fn complete(session: &Session, prompt: Option<&str>) -> Result<()> {
    let mut edits = Vec::new();
    for new in first_segments()? {
        if session.reader().segment(&new.id).is_err() {
            edits.push(Edit::AddSegment(new));
        }
    }
    let adds_sys = matches!(edits.first(), Some(Edit::AddSegment(new)) if new.id.as_str() == "sys");
    if let Some(text) = prompt {
        let there = if adds_sys { None } else { find_prompt(session).await? };
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
        session.apply(Edit::Init(edits)).await?;
    }
    Ok(())
}

fn first_segments() -> Result<[NewSegment; 2]> {
    Ok([
        named(NewSegment::new("sys".parse()?, SegmentKind::System), "System")?,
        named(NewSegment::new("usr".parse()?, SegmentKind::User), "User")?,
    ])
}

fn named(new: NewSegment, name: &str) -> Result<NewSegment> {
    Ok(NewSegment { name: Some(name.parse()?), ..new })
}

fn new_prompt(text: &str) -> Result<Edit> {
    let page = NewDetailPage::new("sys-0".parse()?, PROMPT.parse()?, text);
    Ok(Edit::CreateDetailPage(page))
}

/// Returns the page that holds the system prompt, and its text.
async fn find_prompt(session: &Session) -> Result<Option<(PageIndex, String)>> {
    let reader = session.reader();
    let first = reader.children(&"sys-0".parse()?, Order::Forward, None, LOOKED_AT).await?;
    let is_prompt = |page: &Page| page.detail().is_some() && page.name.as_str() == PROMPT;
    let Some(found) = first.items.into_iter().find(|seen| is_prompt(&seen.page)) else {
        return Ok(None);
    };
    let text = detail_text(&reader.messages(&found.page.index).await?);
    Ok(Some((found.page.index.clone(), text)))
}

#[cfg(test)]
#[path = "setup_tests.rs"]
mod tests;
