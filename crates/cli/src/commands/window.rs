//! `contexture window`

mod account;
mod counting;
mod markdown;
mod shares;

use contexture_agents::wire::{AccountObject, AccountedObject, ContentObject, LedgerObject};
use contexture_core::{
    Error, ErrorKind, Format, Session, Window, WindowOptions, storage::SentWindow,
};
use contexture_tokens::counter_for;
use serde::{Deserialize, Serialize};

use super::Status;
use crate::{
    args::Suggested,
    context,
    error::{Result, Stop},
    lines,
    printer::Printer,
    project::Project,
    settings::Settings,
    shares::{ShareArgs, agent},
};
pub(super) use counting::Counting;

/// The values that `--format` suggests.
const FORMATS: &[&str] = &["markdown", "context", "openai", "responses", "anthropic", "gemini"];

/// The values that `--level` suggests.
pub(super) const LEVELS: &[&str] = &["full", "summary", "gist"];

/// The tokenizer when no model is named.
const TOKENIZER: &str = "o200k_base";

/// Print your window: what the model sees of your pages, within a budget
///
/// Without --fold, nothing is written. A window over its budget is printed as the fold that is due would
/// leave it. The same state gives the same bytes on any machine.
///
/// The format `markdown` has anchors to `press`; `context` is the whole window as one JSON object; the
/// others are what each provider takes, to which you add the model, tools and so on. With --json,
/// markdown is printed as {"content":…} and the other formats as they are; --account wraps them in
/// {"window":…,"account":…,"ledger":…}.
///
/// If the model's own tokenizer is not public, account.estimate is what the model is expected to count,
/// {"tokens","error","observations"}: an error of 0.2 means 20 %, and observations is the number of
/// reports from its provider. A budget is in counted tokens all the same.
#[derive(Debug, clap::Args, Serialize, Deserialize)]
#[command(after_help = "\
Examples:
  contexture turn add --user 'What is 6 x 7?' --assistant 42
  contexture window
  contexture window --account
  contexture window --shares --share requests=0.5
  contexture window --format anthropic --budget 100000 --fold > request.json
  contexture window --format anthropic --sent 1")]
pub(crate) struct Args {
    /// The token budget; by default the session's `budget`, otherwise capacities alone
    #[arg(long, value_name = "N")]
    budget: Option<u64>,
    #[command(flatten)]
    shares: ShareArgs,
    /// Show nothing in more detail than this, for this window; segments of kind system stay in full. By
    /// default the level that the view was switched to (`contexture level`)
    #[arg(long, value_name = "LEVEL", value_parser = Suggested(LEVELS))]
    level: Option<String>,
    /// The output format
    #[arg(long, value_name = "FORMAT", value_parser = Suggested(FORMATS))]
    #[arg(default_value = "markdown")]
    format: String,
    /// Commit the fold that is due, and record the window as sent
    #[arg(long)]
    fold: bool,
    /// Print a window that was sent before, by its number: from 1 in each view and format, or `last`. A
    /// line replaces each page that is no longer in the view
    #[arg(long, value_name = "N", conflicts_with_all = ["budget", "share", "level", "fold", "model"])]
    sent: Option<Number>,
    /// Print where the tokens go instead
    #[arg(long)]
    account: bool,
    /// Print the shares that shape folds instead, and where each comes from
    #[arg(long = "shares", conflicts_with_all = ["sent", "fold", "account"])]
    print_shares: bool,
    /// The model it is for, whose tokenizer counts if it is public
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
}

#[cfg(feature = "server")]
impl Args {
    /// Returns whether it commits a fold and records the window as sent.
    pub(crate) fn sends(&self) -> bool {
        self.fold
    }
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let format: Format = args.format.parse()?;
    let mut options = options(format, args.budget, args.model.as_deref());
    options.level = args.level.as_deref().map(str::parse).transpose()?;
    // A window that was sent is printed as it was.
    if args.sent.is_none() {
        let project = Project::load()?;
        let resolved = project.shares(&args.shares.read()?, agent(&project, settings)?)?;
        if args.print_shares {
            shares::print(&resolved, &project, printer)?;
            return Ok(Status::Done);
        }
        options.shares = resolved.shares();
    }
    let (system, session) = context::open_host(settings).await?;
    let counting = Counting::begin(system, &mut options);
    let Rendered { window, record, withheld } = match rendered(&args, &session, &options).await {
        Ok(rendered) => rendered,
        Err(error) => return Err(failed(error, &session, format, printer).await),
    };
    counting.end().await;
    if withheld > 0 {
        let pages = match withheld {
            1 => "1 page that it showed is".to_owned(),
            some => format!("{some} pages that it showed are"),
        };
        printer
            .warn(&format!("this differs from what was sent: {pages} no longer in this view"))?;
    }
    if !args.account {
        print(&window, printer)?;
        return Ok(Status::Done);
    }
    let record = match record {
        Some(record) => Some(record),
        None => newest_sent(&session, format).await?,
    };
    // The record of a sent window says how it was counted.
    let account = match args.sent {
        Some(_) => None,
        None => Some(AccountObject::of(&session, &window, args.model.as_deref()).await?),
    };
    if printer.is_json() {
        let ledger = record.as_ref().map(LedgerObject::from);
        let window = AccountedObject::window(&window)?;
        printer.json(&AccountedObject { window, account, ledger })?;
        return Ok(Status::Done);
    }
    if let Some(account) = &account {
        account::print(account, window.due.as_ref(), &session, printer).await?;
    }
    account::print_record(record.as_ref(), args.sent.is_some() || args.fold, printer)?;
    Ok(Status::Done)
}

/// Returns the options of a window.
pub(super) fn options(format: Format, budget: Option<u64>, model: Option<&str>) -> WindowOptions {
    let mut options = WindowOptions::new(format, counter_for(model.unwrap_or(TOKENIZER)));
    options.model = model.map(str::to_owned);
    match budget {
        Some(budget) => options.budget(budget),
        None => options,
    }
}

/// A rendered window.
struct Rendered {
    window: Window,
    /// Its record, if it was sent.
    record: Option<SentWindow>,
    /// How many pages it once showed that the caller no longer sees.
    withheld: usize,
}

/// The number of a sent window.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Number {
    At(u64),
    Last,
}

impl std::str::FromStr for Number {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "last" { Ok(Number::Last) } else { text.parse().map(Number::At) }
    }
}

/// Returns the newest window that the caller's view was sent in a format.
async fn newest_sent(session: &Session, format: Format) -> Result<Option<SentWindow>, Error> {
    Ok(session.ledger(format, 1).await?.pop())
}

/// Renders the window that the arguments ask for.
async fn rendered(
    args: &Args,
    session: &Session,
    options: &WindowOptions,
) -> Result<Rendered, Error> {
    let sent = match args.sent {
        Some(number) => {
            let number = match number {
                Number::At(number) => number,
                // If none was sent, the error for window 1 says so.
                Number::Last => {
                    newest_sent(session, options.format).await?.map_or(1, |it| it.number)
                }
            };
            session.sent_with_any(options, number, [counter_for("cl100k_base")]).await?
        }
        None if args.fold => session.send(options).await?,
        None => {
            let window = session.reader().window(options).await?;
            return Ok(Rendered { window, record: None, withheld: 0 });
        }
    };
    let withheld = sent.withheld.len();
    Ok(Rendered { window: sent.window, record: Some(sent.record), withheld })
}

/// Prints the window itself: painted and harmless for a person, otherwise its exact bytes.
pub(super) fn print(window: &Window, printer: &mut Printer<'_>) -> Result<()> {
    if printer.is_json() && window.format == Format::Markdown {
        return printer.json(&ContentObject { content: &window.body });
    }
    let mut is_long = false;
    if !printer.is_json() && window.format == Format::Markdown && printer.is_read() {
        is_long = printer.pages(&markdown::lines(printer.paint(), &window.body))?;
    } else if window.format == Format::Markdown {
        printer.bytes(window.body.as_bytes())?;
    } else {
        printer.json_text(&window.body)?;
    }
    if printer.is_json() {
        return Ok(());
    }
    for repaired in &window.repaired {
        printer.note(&format!("… made valid: {repaired}"))?;
    }
    if let Some(report) = &window.due {
        let note =
            format!("… shown as the fold that is due would leave it ({})", lines::fold(report));
        printer.note(&format!("{note}; --fold commits it"))?;
    }
    if is_long && window.account.budget.is_none() {
        let tokens = lines::grouped(window.account.tokens);
        printer.tip(&format!(
            "… {tokens} tokens, no budget; --budget N fits the window into one, --account shows where the tokens go"
        ))?;
    }
    Ok(())
}

/// Returns why there is no window. A caller that asked for a Context gets one that says so (D-25).
async fn failed(
    error: Error,
    session: &Session,
    format: Format,
    printer: &mut Printer<'_>,
) -> Stop {
    let broken = matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Invalid);
    if broken && format == Format::Context {
        let context = session.reader().error_context(&error).await;
        if let Err(stop) = printer.json_text(&context.to_json()) {
            return stop;
        }
    }
    error.into()
}
