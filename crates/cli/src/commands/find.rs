//! `contexture find`, and `contexture page find`

use contexture_agents::wire::{FoundList, FoundObject, SimilarityObject};
use contexture_core::{Actor, Role, SegmentId, Session, Timestamp, WindowLevel, storage::Trace};
use contexture_search::{FindQuery, Found, SearchIndex};
use serde::{Deserialize, Serialize};

use super::Status;
use crate::{
    context,
    error::Result,
    lines,
    printer::{Paint, Printer},
    sanitize,
    settings::Settings,
};

/// Find what was said, wherever it is now: in the window, folded, or in the archive
///
/// Ask with words or with a question, in any language; "a phrase" must stand as it is, and pre* finds words
/// that begin so. Results come best first, each with the place that fits. Agents find only what their view
/// holds.
#[derive(Debug, clap::Args, Serialize, Deserialize)]
#[command(after_help = "\
Examples:
  contexture turn add --user 'When is the launch?' --assistant 'On Friday, after the tests.'
  contexture find 'launch day'
  contexture find 'after the tests' --role assistant --explain")]
pub(crate) struct Args {
    /// What to look for
    #[arg(value_name = "QUERY")]
    query: String,
    #[command(flatten)]
    filter: FilterArgs,
    /// Print at most this many pages
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Also print what each score is made of
    #[arg(long)]
    explain: bool,
}

impl Args {
    /// Asks for the best pages.
    pub(super) fn of(query: String) -> Self {
        Self { query, filter: FilterArgs::default(), limit: 10, explain: false }
    }
}

/// Where to look.
#[derive(Debug, Default, clap::Args, Serialize, Deserialize)]
pub(crate) struct FilterArgs {
    /// Look only in this segment; repeatable
    #[arg(long = "in", value_name = "SEGMENT")]
    within: Vec<SegmentId>,
    /// Look only at what this agent wrote, `system`, or user:NAME; repeatable
    #[arg(long = "author", value_name = "WHO")]
    authors: Vec<Actor>,
    /// Look only at messages of this role: user, assistant, tool or system; repeatable
    #[arg(long = "role", value_name = "ROLE", value_parser = role)]
    roles: Vec<Role>,
    /// Look only at calls of this tool and their results; repeatable
    #[arg(long = "tool", value_name = "TOOL")]
    tools: Vec<String>,
    /// Look only at what was said at or after this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Timestamp>,
    /// Look only at what was said before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<Timestamp>,
    /// Look only in the archive
    #[arg(long)]
    archived: bool,
}

impl FilterArgs {
    pub(crate) fn query(self, text: String, limit: usize) -> FindQuery {
        FindQuery {
            text,
            within: self.within,
            by: self.authors,
            roles: self.roles,
            tools: self.tools,
            since: self.since,
            until: self.until,
            archived: self.archived.then_some(true),
            limit,
        }
    }
}

fn role(text: &str) -> Result<Role, String> {
    let roles = [
        ("user", Role::User),
        ("assistant", Role::Assistant),
        ("tool", Role::Tool),
        ("system", Role::System),
    ];
    let found = roles.into_iter().find(|(name, _)| *name == text);
    found.map(|(_, role)| role).ok_or_else(|| "use user, assistant, tool or system".to_owned())
}

fn time(text: &str) -> Result<Timestamp, String> {
    // A day begins at midnight UTC.
    let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    whole.parse().map_err(|_| "use a date such as 2026-05-01, or a time with its zone".to_owned())
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let (session, index) = context::open_search(settings).await?;
    let query = args.filter.query(args.query, usize::from(args.limit));
    for segment in &query.within {
        session.reader().segment(segment)?;
    }
    let Found { hits, similarity } = index.get()?.search(&session, &query).await?;
    let similarity = similarity.as_ref().map(SimilarityObject::of);
    warn(similarity.as_ref(), printer)?;
    let mut found = Vec::new();
    for hit in &hits {
        found.push(FoundObject::of(&session, hit, args.explain).await?);
    }
    if printer.is_json() {
        printer.json(&FoundList { items: found, next: None, similarity })?;
        return Ok(Status::Done);
    }
    if found.is_empty() {
        printer.note("nothing was found")?;
    }
    let width = found.iter().map(|found| found.index.to_string().len()).max().unwrap_or(0);
    for found in &found {
        print(found, width, printer)?;
    }
    Ok(Status::Done)
}

/// Warns where words alone ranked although embeddings are set, or where only part could be compared.
pub(super) fn warn(similarity: Option<&SimilarityObject>, printer: &mut Printer<'_>) -> Result<()> {
    let Some(similarity) = similarity else { return Ok(()) };
    match &similarity.problem {
        Some(problem) if similarity.compared => {
            let missing = lines::count(similarity.missing as u64, "text");
            printer.warn(&format!("{missing} ranked by words alone: {problem}"))
        }
        Some(problem) => printer.warn(&format!("ranked by words alone: {problem}")),
        None if similarity.missing > 0 => {
            let missing = lines::count(similarity.missing as u64, "text");
            printer.note(&format!("{missing} ranked by words alone so far; search again for more"))
        }
        None => Ok(()),
    }
}

/// Prints a result: the page, then what it says.
pub(super) fn print(found: &FoundObject, width: usize, printer: &mut Printer<'_>) -> Result<()> {
    let paint = printer.paint();
    let index = paint.id(format!("{:width$}", found.index.to_string()));
    printer.line(lines::join([index, sanitize::line(&found.name), paint.dim(marks(found))]))?;
    if found.message.is_some() {
        printer.line(format_args!("{:width$}  {}", "", snippet(paint, found)))?;
    }
    for part in found.explanation.iter().flatten() {
        let (feature, value, adds) = (part.feature, part.value, part.adds);
        let line = format!("{:width$}  {adds:+.2}  {feature} {value:.2}", "");
        printer.line(paint.dim(line))?;
    }
    Ok(())
}

/// Says where a page stands, and by which message it was found.
fn marks(found: &FoundObject) -> String {
    let place = match (found.archived, found.level) {
        (true, _) => "in the archive",
        (false, WindowLevel::Full) => "",
        (false, level) => level.as_str(),
    };
    let role = match found.role {
        Some(Role::User) => "user",
        Some(Role::Assistant) => "assistant",
        Some(Role::Tool) => "tool",
        Some(Role::System) => "system",
        None => "name",
    };
    let marks = [role, place].into_iter().filter(|mark| !mark.is_empty());
    marks.collect::<Vec<_>>().join(", ")
}

/// Returns what a page says, with the words that were looked for set apart in a terminal.
fn snippet(paint: Paint, found: &FoundObject) -> String {
    let snippet = &found.snippet;
    let mut line = String::new();
    let mut from = 0;
    for [start, end] in &snippet.highlights {
        let (Some(before), Some(word)) =
            (snippet.text.get(from..*start), snippet.text.get(*start..*end))
        else {
            continue;
        };
        line.push_str(&sanitize::line(before));
        line.push_str(&paint.strong(sanitize::line(word)));
        from = *end;
    }
    line.push_str(&sanitize::line(snippet.text.get(from..).unwrap_or_default()));
    let ends = |cut: bool| if cut { "…" } else { "" };
    format!("{}{line}{}", ends(snippet.cut_before), ends(snippet.cut_behind))
}

/// Takes what was destroyed out of the search index as well: pages of a session, or anything. What fails there fails
/// nothing that was done; returns where words may still lie.
pub(super) async fn forget(settings: &Settings, session: Option<&Session>) -> Result<Vec<Trace>> {
    let Some(folder) = settings.store.search_folder().filter(|folder| folder.exists()) else {
        return Ok(Vec::new());
    };
    let storage = settings.store.open(crate::store::Access::Existing).await?;
    let forgotten = match (SearchIndex::open(storage, Some(&folder)), session) {
        (Ok(index), Some(session)) => index.forget(session.id()).await,
        (Ok(index), None) => index.clear().await,
        (Err(error), _) => Err(error),
    };
    Ok(match forgotten {
        Ok(()) => Vec::new(),
        Err(_) => vec![contexture_search::trace(&folder.display().to_string())],
    })
}
