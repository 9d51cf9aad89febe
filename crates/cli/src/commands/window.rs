//! `contexture window`

mod account;
mod counting;
mod markdown;
mod shares;

use contexture_agents::wire::{AccountObject, AccountedObject, ContentObject, LedgerObject};
use contexture_core::{Error, ErrorKind, Format, Window, WindowOptions, storage::SentWindow};
use contexture_tokens::counter_for;

use super::Status;
use crate::{
    args::Suggested,
    context::Caller,
    crew::Crew,
    error::{Result, Stop},
    lines,
    printer::Printer,
    settings::Settings,
    shares::{ShareArgs, agent},
};
pub(super) use counting::Counting;

/// What `--format` suggests.
const FORMATS: &[&str] = &["markdown", "context", "openai", "responses", "anthropic", "gemini"];

/// What `--level` suggests.
pub(super) const LEVELS: &[&str] = &["full", "summary", "gist"];

/// What counts when no model is named.
const TOKENIZER: &str = "o200k_base";

/// Print your window: what of the pages stands before the model, within a budget
///
/// It never writes without --fold. Over its budget, it is printed as the fold that is due would leave
/// it. The same state gives the same bytes, on any machine. Formats: `markdown` with anchors to
/// `press`; `context`, all of it as one JSON object; and what each provider takes, to which you add
/// model, tools and the like. With --json, markdown is printed as {"content":…} and the others as
/// they are; --account puts {"window":…,"account":…,"ledger":…} around it. Where the model's own
/// tokenizer is not public, account.estimate is what it is expected to count, {"tokens","error",
/// "observations"}: an error of 0.2 is 20 %, and observations are reports of its provider. A budget is
/// in counted tokens all the same.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture turn add --user 'What is 6 x 7?' --assistant 42
  contexture window
  contexture window --account
  contexture window --shares --share requests=0.5
  contexture window --format anthropic --budget 100000 --fold > request.json
  contexture window --format anthropic --sent 1")]
pub(crate) struct Args {
    /// The tokens it may take; by default the session's `budget`, else capacities alone
    #[arg(long, value_name = "N")]
    budget: Option<u64>,
    #[command(flatten)]
    shares: ShareArgs,
    /// Show nothing in more detail than this, this time; segments of kind system stay in full. By
    /// default the level the view was switched to (`contexture level`)
    #[arg(long, value_name = "LEVEL", value_parser = Suggested(LEVELS))]
    level: Option<String>,
    /// What it is rendered to
    #[arg(long, value_name = "FORMAT", value_parser = Suggested(FORMATS))]
    #[arg(default_value = "markdown")]
    format: String,
    /// Commit the fold that is due, and record the window as sent
    #[arg(long)]
    fold: bool,
    /// Print a window again that was sent, by its number: from 1 per view and format, or `last`. A line
    /// stands in place of each page that is no longer in the view
    #[arg(long, value_name = "N", conflicts_with_all = ["budget", "share", "level", "fold", "model"])]
    sent: Option<Number>,
    /// Print where its tokens go instead
    #[arg(long)]
    account: bool,
    /// Print the shares that shape its folds instead, and where each came from
    #[arg(long = "shares", conflicts_with_all = ["sent", "fold", "account"])]
    print_shares: bool,
    /// The model it is for: its tokenizer counts, where that is public
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let format: Format = args.format.parse()?;
    let mut options = options(format, args.budget, args.model.as_deref());
    options.level = args.level.as_deref().map(str::parse).transpose()?;
    // A window that was sent stands as it was.
    if args.sent.is_none() {
        let crew = Crew::load()?;
        let resolved = crew.shares(&args.shares.read()?, agent(&crew, settings)?)?;
        if args.print_shares {
            shares::print(&resolved, &crew, printer)?;
            return Ok(Status::Done);
        }
        options.shares = resolved.shares();
    }
    let caller = Caller::open(settings).await?;
    let counting = Counting::begin(&caller, &mut options);
    let Rendered { window, record, withheld } = match rendered(&args, &caller, &options).await {
        Ok(rendered) => rendered,
        Err(error) => return Err(failed(error, &caller, format, printer).await),
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
        None => caller.newest_sent(format).await?,
    };
    // How a window sent earlier was counted is in its record.
    let account = match args.sent {
        Some(_) => None,
        None => Some(AccountObject::of(&caller, &window, args.model.as_deref()).await?),
    };
    if printer.is_json() {
        let ledger = record.as_ref().map(LedgerObject::from);
        let window = AccountedObject::window(&window)?;
        printer.json(&AccountedObject { window, account, ledger })?;
        return Ok(Status::Done);
    }
    if let Some(account) = &account {
        account::print(account, window.due.as_ref(), &caller, printer).await?;
    }
    account::print_record(record.as_ref(), args.sent.is_some() || args.fold, printer)?;
    Ok(Status::Done)
}

/// Returns what a window is asked for.
pub(super) fn options(format: Format, budget: Option<u64>, model: Option<&str>) -> WindowOptions {
    let mut options = WindowOptions::new(format, counter_for(model.unwrap_or(TOKENIZER)));
    options.model = model.map(str::to_owned);
    match budget {
        Some(budget) => options.budget(budget),
        None => options,
    }
}

/// A window as it was asked for.
struct Rendered {
    window: Window,
    /// Its record, where it was sent.
    record: Option<SentWindow>,
    /// How many pages it showed once that the caller no longer sees.
    withheld: usize,
}

/// Which of the windows sent.
#[derive(Debug, Clone, Copy)]
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

/// Renders what is asked for.
async fn rendered(
    args: &Args,
    caller: &Caller,
    options: &WindowOptions,
) -> Result<Rendered, Error> {
    let sent = match args.sent {
        Some(number) => {
            let number = match number {
                Number::At(number) => number,
                // Where none was sent, the error for the first says so.
                Number::Last => caller.newest_sent(options.format).await?.map_or(1, |it| it.number),
            };
            caller.sent_with_any(options, number, [counter_for("cl100k_base")]).await?
        }
        None if args.fold => caller.send(options).await?,
        None => {
            let window = caller.reader().window(options).await?;
            return Ok(Rendered { window, record: None, withheld: 0 });
        }
    };
    let withheld = sent.withheld.len();
    Ok(Rendered { window: sent.window, record: Some(sent.record), withheld })
}

/// Prints the window itself: for a person painted and harmless, else exactly its bytes.
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
        let note = format!("… shown as the fold that is due leaves it ({})", lines::fold(report));
        printer.note(&format!("{note}; --fold commits it"))?;
    }
    if is_long && window.account.budget.is_none() {
        let tokens = lines::grouped(window.account.tokens);
        printer.tip(&format!(
            "… {tokens} tokens, without a budget; --budget N fits it into one, --account says where they go"
        ))?;
    }
    Ok(())
}

/// Says why there is no window. A caller who asked for a Context gets one that says so (D-25).
async fn failed(error: Error, caller: &Caller, format: Format, printer: &mut Printer<'_>) -> Stop {
    let broken = matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Invalid);
    if broken && format == Format::Context {
        let context = caller.reader().error_context(&error).await;
        if let Err(stop) = printer.json_text(&context.to_json()) {
            return stop;
        }
    }
    error.into()
}
