//! The commands of a chat. Most are those of the command line, on the chat's own session.

use std::ffi::OsString;

use contexture_agents::{ContextMode, Team, runner::DEFAULT_BUDGET, shares::ShareSettings};
use contexture_core::{
    AgentContext, Conversation, ErrorKind, Format, HistoryEntry, Operation, Tokens, WindowOptions,
    window::FoldOutcome,
};

use super::{Chat, Go, line};
use crate::{
    commands::window,
    crew::Crew,
    error::{Result, Stop},
    harmless, lines,
    nearest::nearest,
    printer::Printer,
    run,
};

/// A command, as `/help` tells it.
pub(super) struct Slash {
    pub(super) name: &'static str,
    usage: &'static str,
    about: &'static str,
}

const fn slash(name: &'static str, usage: &'static str, about: &'static str) -> Slash {
    Slash { name, usage, about }
}

/// All there are, in the order they are told.
pub(super) const COMMANDS: [Slash; 15] = [
    slash("agents", "list | show NAME | create NAME | validate", "the agents there are"),
    slash("window", "[--budget N]", "what stands before the assistant's model"),
    slash("expand", "INDEX", "show a page in full, to everyone"),
    slash("hide", "INDEX", "show a page by its name only, to everyone"),
    slash("pin", "INDEX", "keep a page from being folded, for everyone"),
    slash("unpin", "INDEX", "let it be folded again"),
    slash("fold", "[--budget N]", "fold the assistant's window, as far as it is over its budget"),
    slash("find", "TEXT", "pages with this text in their name or description"),
    slash(
        "undo",
        "[REVISION]",
        "take back the newest /expand, /hide, /pin, change of mode or recorded answer",
    ),
    slash("resume", "[AGENT]", "go on with an answer that was interrupted"),
    slash("status", "", "the session, the model, how full the window is"),
    slash("history", "", "the newest edits, and who made them"),
    slash("help", "", "this list"),
    slash("quit", "", "leave; Ctrl-D does too"),
    slash("exit", "", "leave"),
];

/// How many edits are looked through for one to take back.
const LOOKED_BACK: usize = 1_000;

/// Lines that `/help` shows beside the commands.
const FORMS: [(&str, &str); 7] = [
    ("TEXT", "ask the assistant; a space before it keeps / and @ from counting"),
    ("@AGENT TEXT", "run an agent, in the mode it has"),
    ("@AGENT --shared TEXT", "run it with the main session's history; --isolated with its own"),
    ("/agents run AGENT TEXT [--context MODE]", "the same, in full"),
    ("/agents context AGENT [--mode MODE]", "whose history it sees and why; for this session"),
    ("/agents context --all | --graph", "the modes of all agents; who shares what"),
    ("TEXT \\", "go on in the next line"),
];

/// Runs a command.
pub(super) fn run(
    chat: &Chat<'_>,
    name: &str,
    rest: &str,
    printer: &mut Printer<'_>,
) -> Result<Go> {
    let argument = rest.trim();
    match name {
        "agents" => return agents(chat, rest, printer),
        "window" => print_window(chat, rest, printer)?,
        "expand" | "hide" | "pin" | "unpin" => {
            through(chat, &["page", name, "--", argument], printer);
        }
        "fold" => fold(chat, rest, printer)?,
        "find" => through(chat, &["page", "find", "--", argument], printer),
        "undo" if argument.is_empty() => undo(chat, printer)?,
        "undo" => through(chat, &["undo", "--", argument], printer),
        "resume" => {
            let crew = Crew::load()?;
            let agent = if argument.is_empty() { crew.assistant() } else { crew.agent(argument)? };
            return chat.resume(&crew, agent, printer);
        }
        "status" => status(chat, printer)?,
        "history" => through(chat, &["history", "--limit", "20"], printer),
        "help" => help(printer)?,
        "quit" | "exit" => return Ok(Go::Out),
        _ => return Err(unknown(name)),
    }
    Ok(Go::On)
}

fn unknown(name: &str) -> Stop {
    let hint = match nearest(name, COMMANDS.iter().map(|command| command.name)) {
        Some(meant) => format!("did you mean /{meant}?"),
        None => "/help lists them; a space before the line sends it as it is".to_owned(),
    };
    Stop::invalid(format!("there is no command '/{name}'"), hint)
}

fn agents(chat: &Chat<'_>, rest: &str, printer: &mut Printer<'_>) -> Result<Go> {
    // A request is taken byte for byte; everything else has words.
    if let ("run", rest) = line::first_word(rest.trim_start()) {
        let (name, rest) = line::first_word(rest.trim_start());
        if name.is_empty() || name.starts_with('-') {
            return Err(Stop::invalid(
                "which agent is to be run?",
                "/agents run NAME REQUEST [--context shared]; /agents list names them",
            ));
        }
        let crew = Crew::load()?;
        return chat.ask(&crew, crew.agent(name)?, &line::request(rest)?, printer);
    }
    let words = line::words(rest)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let words: &[&str] = match words.as_slice() {
        [] => &["list"][..],
        // The graph is of all agents anyway.
        ["context", "--all", "--graph"] | ["context", "--graph", "--all"] => {
            &["context", "--graph"]
        }
        words => words,
    };
    through(chat, &[&["agents"], words].concat(), printer);
    Ok(Go::On)
}

/// Runs a command of the command line on the chat's session; what goes wrong is told.
fn through(chat: &Chat<'_>, words: &[&str], printer: &mut Printer<'_>) {
    let (store, session) = (chat.settings.store.address(), chat.settings.session.to_string());
    let global = ["contexture", "--store", &store, "--session", &session];
    run::run(global.iter().chain(words).map(OsString::from), printer);
    // A command may have been asked for JSON; the chat was not.
    printer.set_json(false);
}

/// Takes back the newest edit of the system side that somebody asked for: not the segments and prompts
/// that the session and its agents stand on.
fn undo(chat: &Chat<'_>, printer: &mut Printer<'_>) -> Result<()> {
    let newest = chat.runtime.block_on(async {
        let caller = chat.session().await?;
        let listing = caller.reader().history(None, LOOKED_BACK).await?;
        let asked_for = |entry: &HistoryEntry| {
            let stands = entry.is_undoable();
            let founds = matches!(entry.operation, Operation::Batch | Operation::AddSegment);
            entry.actor.is_system_side() && stands && !founds
        };
        Ok::<_, Stop>(listing.items.iter().find(|entry| asked_for(entry)).map(|it| it.revision))
    })?;
    let Some(revision) = newest else {
        return Err(Stop::failed(
            ErrorKind::NotFound,
            "there is nothing to take back",
            "/history shows the edits; /undo REVISION takes back any of them",
        ));
    };
    through(chat, &["undo", &revision.to_string()], printer);
    Ok(())
}

fn print_window(chat: &Chat<'_>, rest: &str, printer: &mut Printer<'_>) -> Result<()> {
    let budget = budget("window", rest)?;
    let crew = Crew::load()?;
    let window = chat.runtime.block_on(async {
        let seen = Seen::of_assistant(chat, &crew, Format::Markdown, budget).await?;
        Ok::<_, Stop>(seen.context.reader().window(&seen.options).await?)
    })?;
    window::print(&window, printer)
}

/// Takes the fold that is due in the assistant's view.
fn fold(chat: &Chat<'_>, rest: &str, printer: &mut Printer<'_>) -> Result<()> {
    let budget = budget("fold", rest)?;
    let crew = Crew::load()?;
    let (folded, account) = chat.runtime.block_on(async {
        let seen = Seen::of_assistant(chat, &crew, Format::Markdown, budget).await?;
        let folded = seen.context.fold(&seen.options).await?;
        let window = seen.context.reader().window(&seen.options).await?;
        Ok::<_, Stop>((folded, window.account))
    })?;
    let tokens = lines::grouped(account.tokens);
    let of = lines::grouped(account.budget.unwrap_or_default());
    match folded {
        Some(FoldOutcome { revision: Some(revision), report }) => {
            let done = lines::fold(&report);
            printer
                .line(format_args!("folded: {done}; the window takes {tokens} of {of} tokens"))?;
            printer.note(&format!("/undo {revision} takes it back"))
        }
        _ => printer.line(format_args!("no fold is due: the window takes {tokens} of {of} tokens")),
    }
}

/// Reads what a command takes that takes nothing but a budget.
fn budget(name: &str, rest: &str) -> Result<Option<u64>> {
    let request = line::request(rest)?;
    if !request.prompt.is_empty() || request.context.is_some() || request.model.is_some() {
        let message = format!("/{name} takes nothing but --budget N");
        return Err(Stop::invalid(message, "/help lists what the commands take"));
    }
    Ok(request.budget)
}

/// The assistant's view, and what its windows are asked for.
struct Seen {
    context: AgentContext,
    options: WindowOptions,
}

impl Seen {
    /// Asks for windows as a run of the assistant does.
    async fn of_assistant(
        chat: &Chat<'_>,
        crew: &Crew,
        format: Format,
        budget: Option<u64>,
    ) -> Result<Self> {
        let agent = crew.assistant();
        let caller = chat.session().await?;
        let team = Team::new(caller.system().clone());
        let mode = crew.mode(&team, agent, None).await?.mode;
        let (model, _) = crew.model_of(agent, chat.args.model.as_deref());
        let set = crew.settings.budget.as_ref().map(|set| set.value);
        let set = team.session_budget().await?.or(set);
        let budget = budget.or(chat.args.budget).or(set).unwrap_or(DEFAULT_BUDGET);
        let mut options = window::options(format, Some(budget), Some(&model));
        options.explain = None;
        options.shares = crew.shares(&ShareSettings::default(), Some(agent))?.shares();
        if mode == ContextMode::Shared {
            options.max_messages = Some(crew.settings.max_messages());
        }
        let view = team.view(agent, mode).await?;
        let context = AgentContext::new(caller.system().clone(), view);
        Ok(Self { context, options })
    }

    /// Returns what the window takes now, counted as a run counts it: with what stood before the last
    /// request, and corrected by what the provider reported.
    async fn tokens(mut self) -> Result<u64> {
        if let Some(last) = self.context.ledger(self.options.format, 1).await?.pop() {
            self.options.reserved = last.reserved;
        }
        let counted = self.context.reader().window(&self.options).await?.account.tokens;
        let calibration = Conversation::new(self.context, self.options).calibration().await?;
        Ok(calibration.map_or(counted, |it| it.estimate(Tokens(counted)).tokens.0))
    }
}

fn status(chat: &Chat<'_>, printer: &mut Printer<'_>) -> Result<()> {
    let crew = Crew::load()?;
    let agent = crew.assistant();
    let (model, _) = crew.model_of(agent, chat.args.model.as_deref());
    let store = harmless::line(&chat.settings.store.to_string());
    printer.line(format_args!("session {}, in {store}", chat.settings.session))?;
    let title = harmless::line(&agent.title);
    printer.line(format_args!("{title} on {}", harmless::line(&model)))?;
    // Without a provider there is nothing to count for but what a person reads.
    let format = crew.format_of(&model).unwrap_or(Format::Markdown);
    let (now, budget) = chat.runtime.block_on(async {
        let seen = Seen::of_assistant(chat, &crew, format, None).await?;
        let budget = seen.options.budget.unwrap_or_default();
        Ok::<_, Stop>((seen.tokens().await?, budget.0))
    })?;
    let last = match chat.asked.get() {
        Some(tokens) => format!(", {} when last asked", lines::grouped(tokens)),
        None => String::new(),
    };
    let (now, budget) = (lines::grouped(now), lines::grouped(budget));
    printer.line(format_args!("window {now} of {budget} tokens{last}"))?;
    let names: Vec<String> = crew.names().iter().map(|name| format!("@{name}")).collect();
    let names = if names.is_empty() { "no agents".to_owned() } else { names.join(" ") };
    printer.line(names)?;
    for warning in &crew.settings.warnings {
        printer.warn(warning)?;
    }
    Ok(())
}

fn help(printer: &mut Printer<'_>) -> Result<()> {
    let paint = printer.paint();
    let commands = COMMANDS.iter().map(|command| {
        (format!("/{} {}", command.name, command.usage).trim_end().to_owned(), command.about)
    });
    let rows: Vec<(String, &str)> =
        FORMS.iter().map(|(form, about)| ((*form).to_owned(), *about)).chain(commands).collect();
    let width = rows.iter().map(|(form, _)| form.chars().count()).max().unwrap_or_default();
    for (form, about) in rows {
        printer.line(format_args!("{}  {about}", paint.id(format!("{form:width$}"))))?;
    }
    Ok(())
}
