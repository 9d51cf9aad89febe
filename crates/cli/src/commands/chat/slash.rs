//! The commands of a chat. Most run a command of the command line on the chat's own session.

use std::ffi::OsString;

use contexture_agents::{ContextMode, Team, runner::DEFAULT_BUDGET, shares::ShareSettings};
use contexture_core::{
    AgentContext, Conversation, ErrorKind, Format, HistoryEntry, Operation, Tokens, WindowOptions,
    window::FoldOutcome,
};

use super::{Chat, Next, line};
use crate::{
    commands::window,
    error::{Result, Stop},
    lines,
    misuse::nearest,
    printer::Printer,
    project::Project,
    run, sanitize,
};

/// A command, as `/help` shows it.
pub(super) struct Slash {
    pub(super) name: &'static str,
    usage: &'static str,
    about: &'static str,
}

const fn slash(name: &'static str, usage: &'static str, about: &'static str) -> Slash {
    Slash { name, usage, about }
}

/// All commands, in the order `/help` shows them.
pub(super) const COMMANDS: [Slash; 18] = [
    slash(
        "agents",
        "list | show NAME | create NAME | validate",
        "list, show, create or check agents",
    ),
    slash("window", "[--budget N]", "show what the assistant's model sees"),
    slash("expand", "INDEX", "show a page in full, to everyone"),
    slash("hide", "INDEX", "show only the name of a page, to everyone"),
    slash("pin", "INDEX", "keep a page from being folded, for everyone"),
    slash("unpin", "INDEX", "let a page be folded again"),
    slash("fold", "[--budget N]", "fold the assistant's window if it is over its budget"),
    slash("find", "TEXT", "find pages by what was said in them"),
    slash(
        "undo",
        "[REVISION]",
        "undo the newest /expand, /hide, /pin, change of mode or recorded answer",
    ),
    slash("resume", "[AGENT]", "resume an interrupted answer"),
    slash("approvals", "", "list the calls that wait for approval"),
    slash("approve", "RUN CALL|all", "let a call be made when its run is resumed"),
    slash("deny", "RUN CALL|all [--reason TEXT]", "refuse a call, and say why"),
    slash("status", "", "show the session, the model and how full the window is"),
    slash("history", "", "show the newest edits, and who made them"),
    slash("help", "", "show this list"),
    slash("quit", "", "quit; Ctrl-D does too"),
    slash("exit", "", "quit"),
];

/// How many edits to look through for one to undo.
const LOOKED_BACK: usize = 1_000;

/// Lines that `/help` shows besides the commands.
const FORMS: [(&str, &str); 7] = [
    ("TEXT", "ask the assistant; start with a space to send / or @ as text"),
    ("@AGENT TEXT", "run an agent in its own mode"),
    (
        "@AGENT --shared TEXT",
        "run it with the main session's history; --isolated with its own, --fork with a fork of this",
    ),
    ("/agents run AGENT TEXT [--context MODE]", "the same, spelled out"),
    (
        "/agents context AGENT [--mode MODE]",
        "show whose history it sees and why, or set it for this session",
    ),
    ("/agents context --all | --graph", "show the modes of all agents, or draw who shares what"),
    ("TEXT \\", "continue on the next line"),
];

/// Runs a command.
pub(super) fn run(
    chat: &Chat<'_>,
    name: &str,
    rest: &str,
    printer: &mut Printer<'_>,
) -> Result<Next> {
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
            let project = Project::load()?;
            let agent =
                if argument.is_empty() { project.assistant() } else { project.agent(argument)? };
            return chat.resume(&project, agent, printer);
        }
        "approvals" | "approve" | "deny" => {
            let words = line::words(rest)?;
            let words = words.iter().map(String::as_str);
            let words: Vec<&str> = ["agents", name].into_iter().chain(words).collect();
            through(chat, &words, printer);
        }
        "status" => status(chat, printer)?,
        "history" => through(chat, &["history", "--limit", "20"], printer),
        "help" => help(printer)?,
        "quit" | "exit" => return Ok(Next::Leave),
        _ => return Err(unknown(name)),
    }
    Ok(Next::Line)
}

fn unknown(name: &str) -> Stop {
    let hint = match nearest(name, COMMANDS.iter().map(|command| command.name)) {
        Some(meant) => format!("did you mean /{meant}?"),
        None => {
            "/help lists the commands; start the line with a space to send it as it is".to_owned()
        }
    };
    Stop::invalid(format!("unknown command '/{name}'"), hint)
}

fn agents(chat: &Chat<'_>, rest: &str, printer: &mut Printer<'_>) -> Result<Next> {
    // A request is taken byte for byte; everything else is split into words.
    if let ("run", rest) = line::first_word(rest.trim_start()) {
        let (name, rest) = line::first_word(rest.trim_start());
        if name.is_empty() || name.starts_with('-') {
            return Err(Stop::invalid(
                "no agent was named",
                "/agents run NAME REQUEST [--context shared]; /agents list shows the agents",
            ));
        }
        let project = Project::load()?;
        return chat.ask(&project, project.agent(name)?, &line::parse_request(rest)?, printer);
    }
    let words = line::words(rest)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let words: &[&str] = match words.as_slice() {
        [] => &["list"][..],
        // The graph always shows all agents.
        ["context", "--all", "--graph"] | ["context", "--graph", "--all"] => {
            &["context", "--graph"]
        }
        words => words,
    };
    through(chat, &[&["agents"], words].concat(), printer);
    Ok(Next::Line)
}

/// Runs a command of the command line on the chat's session; the command reports its own errors.
fn through(chat: &Chat<'_>, words: &[&str], printer: &mut Printer<'_>) {
    let (store, session) = (chat.settings.store.address(), chat.settings.session.to_string());
    let global = ["contexture", "--store", &store, "--session", &session];
    run::run(global.iter().chain(words).map(OsString::from), printer);
    // The command may have printed JSON; the chat does not.
    printer.set_json(false);
}

/// Undoes the newest edit of the system side that a person asked for, but not the segments and prompts
/// that the session and its agents are built on.
fn undo(chat: &Chat<'_>, printer: &mut Printer<'_>) -> Result<()> {
    let newest = chat.runtime.block_on(async {
        let session = chat.session().await?;
        let listing = session.reader().history(None, LOOKED_BACK).await?;
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
            "there is nothing to undo",
            "/history shows the edits; /undo REVISION undoes any of them",
        ));
    };
    through(chat, &["undo", &revision.to_string()], printer);
    Ok(())
}

fn print_window(chat: &Chat<'_>, rest: &str, printer: &mut Printer<'_>) -> Result<()> {
    let budget = budget("window", rest)?;
    let project = Project::load()?;
    let window = chat.runtime.block_on(async {
        let seen = Seen::of_assistant(chat, &project, Format::Markdown, budget).await?;
        Ok::<_, Stop>(seen.context.reader().window(&seen.options).await?)
    })?;
    window::print(&window, printer)
}

/// Commits the fold that is due in the assistant's view.
fn fold(chat: &Chat<'_>, rest: &str, printer: &mut Printer<'_>) -> Result<()> {
    let budget = budget("fold", rest)?;
    let project = Project::load()?;
    let (folded, account) = chat.runtime.block_on(async {
        let seen = Seen::of_assistant(chat, &project, Format::Markdown, budget).await?;
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
            printer.note(&format!("/undo {revision} undoes it"))
        }
        _ => printer.line(format_args!("no fold is due: the window takes {tokens} of {of} tokens")),
    }
}

/// Parses the arguments of a command that takes only a budget.
fn budget(name: &str, rest: &str) -> Result<Option<u64>> {
    let request = line::parse_request(rest)?;
    if !request.prompt.is_empty() || request.context.is_some() || request.model.is_some() {
        let message = format!("/{name} takes no arguments except --budget N");
        return Err(Stop::invalid(message, "/help lists the commands and their arguments"));
    }
    Ok(request.budget)
}

/// The assistant's view, with the options of its windows.
struct Seen {
    context: AgentContext,
    options: WindowOptions,
}

impl Seen {
    /// Sets up windows as a run of the assistant does.
    async fn of_assistant(
        chat: &Chat<'_>,
        project: &Project,
        format: Format,
        budget: Option<u64>,
    ) -> Result<Self> {
        let agent = project.assistant();
        let (system, _) = crate::context::open_host(chat.settings).await?;
        let team = Team::new(system.clone());
        let mode = project.mode(&team, agent, None).await?.mode;
        let (model, _) = project.model_of(agent, chat.args.model.as_deref());
        let set = project.settings.budget.as_ref().map(|set| set.value);
        let set = team.session_budget().await?.or(set);
        let budget = budget.or(chat.args.budget).or(set).unwrap_or(DEFAULT_BUDGET);
        let mut options = window::options(format, Some(budget), Some(&model));
        options.explain = None;
        options.shares = project.shares(&ShareSettings::default(), Some(agent))?.shares();
        if mode == ContextMode::Shared {
            options.max_messages = Some(project.settings.max_messages());
        }
        let context = team.context(agent, mode).await?;
        Ok(Self { context, options })
    }

    /// Returns the tokens of the window now, counted as a run counts them: with what preceded the last
    /// request, and corrected by the provider's reports.
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
    let project = Project::load()?;
    let agent = project.assistant();
    let (model, _) = project.model_of(agent, chat.args.model.as_deref());
    let store = sanitize::line(&chat.settings.store.to_string());
    printer.line(format_args!("session {} in {store}", chat.settings.session))?;
    let title = sanitize::line(&agent.title);
    printer.line(format_args!("{title} on {}", sanitize::line(&model)))?;
    // Without a provider, count the format that a person reads.
    let format = project.format_of(&model).unwrap_or(Format::Markdown);
    let (now, budget) = chat.runtime.block_on(async {
        let seen = Seen::of_assistant(chat, &project, format, None).await?;
        let budget = seen.options.budget.unwrap_or_default();
        Ok::<_, Stop>((seen.tokens().await?, budget.0))
    })?;
    let last = match chat.asked.get() {
        Some(tokens) => format!(", {} at the last request", lines::grouped(tokens)),
        None => String::new(),
    };
    let (now, budget) = (lines::grouped(now), lines::grouped(budget));
    printer.line(format_args!("window {now} of {budget} tokens{last}"))?;
    let names: Vec<String> = project.names().iter().map(|name| format!("@{name}")).collect();
    let names = if names.is_empty() { "no agents".to_owned() } else { names.join(" ") };
    printer.line(names)?;
    for warning in &project.settings.warnings {
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
