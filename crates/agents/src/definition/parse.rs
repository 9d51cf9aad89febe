//! Reading an agent file of any dialect.
//!
//! ```text
//!  bytes ─► text ─┬─► front matter ─► YAML ─┬─► fields ─► AgentDefinition
//!                 │      (recover)          │     └─────► problems
//!                 └─► TOML ─────────────────┘
//! ```
//!
//! All problems are collected, each with its line, so that a file can be fixed in one go. An error means
//! that there is no agent; a warning, that there is one, but perhaps not quite the one intended.

use std::{
    collections::BTreeMap,
    fs::File,
    io::Read as _,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use contexture_core::{AgentName, Timestamp};

use super::{
    AgentDefinition, ContextMode, Dialect, PublishResult, Scope,
    fields::Fields,
    filter, front, mcp, naming,
    node::Entry,
    problem::{FileProblem, Severity, nearest, quoted},
    recover, rules, toml, window, yaml,
};

/// When a file was made and changed, as far as the file system tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// When it was made.
    pub created: Option<Timestamp>,
    /// When it last changed.
    pub updated: Option<Timestamp>,
}

/// What became of an agent file.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The agent; none where there is an error, or where the file switches itself off.
    pub definition: Option<AgentDefinition>,
    /// What is wrong with the file, in the order of its lines.
    pub problems: Vec<FileProblem>,
    /// How the file is written.
    pub dialect: Dialect,
    /// Whether it is not valid YAML and was read by what was plainly meant.
    pub recovered: bool,
}

/// Reads an agent file; the folder it lies in tells its dialect.
pub fn parse(text: &[u8], path: &Path, scope: Scope, times: Times) -> Parsed {
    parse_placed(text, path, Dialect::of_path(path), scope, times)
}

/// Reads an agent file from the file system; one that is too big is refused unread.
pub fn read(path: &Path, scope: Scope) -> Parsed {
    read_placed(path, Dialect::of_path(path), scope)
}

/// Reads an agent file from a folder of that dialect.
pub(crate) fn read_placed(path: &Path, placed: Option<Dialect>, scope: Scope) -> Parsed {
    match bytes(path) {
        Ok((bytes, times)) => parse_placed(&bytes, path, placed, scope, times),
        Err(problem) => refused(problem, placed.unwrap_or(Dialect::ClaudeCode)),
    }
}

fn parse_placed(
    bytes: &[u8],
    path: &Path,
    placed: Option<Dialect>,
    scope: Scope,
    times: Times,
) -> Parsed {
    let source = match Source::of(bytes, placed) {
        Ok(source) => source,
        Err(problem) => return refused(problem, placed.unwrap_or(Dialect::ClaudeCode)),
    };
    let Source { entries, body, dialect, problems, recovered } = source;
    let mut fields = Fields::new(entries, problems);
    let disabled = dialect == Dialect::OpenCode && fields.boolean("disable") == Some(true);
    let place = Place { path, scope, times, dialect };
    let (definition, mut problems) = define(fields, body, &place);
    problems.sort_by_key(|problem| (problem.line.unwrap_or(0), problem.severity));
    if disabled {
        let message = "'disable: true' turns the agent off; the file was left out";
        problems.push(FileProblem::warning(message).field("disable"));
    }
    let sound = problems.iter().all(|problem| problem.severity != Severity::Error);
    let definition = definition.filter(|_| sound && !disabled);
    Parsed { definition, problems, dialect, recovered }
}

fn refused(problem: FileProblem, dialect: Dialect) -> Parsed {
    Parsed { definition: None, problems: vec![problem], dialect, recovered: false }
}

fn bytes(path: &Path) -> Result<(Vec<u8>, Times), FileProblem> {
    let unreadable =
        |error: std::io::Error| FileProblem::error(format!("the file cannot be read: {error}"));
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(FileProblem::error("this is not a regular file"));
    }
    let most = front::MOST_BYTES as u64;
    if metadata.len() > most {
        return Err(front::too_big());
    }
    let mut bytes = Vec::new();
    // The file may have grown since: one byte more than allowed tells.
    File::open(path)
        .map_err(unreadable)?
        .take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    let times = Times {
        created: metadata.created().ok().and_then(timestamp),
        updated: metadata.modified().ok().and_then(timestamp),
    };
    Ok((bytes, times))
}

fn timestamp(time: SystemTime) -> Option<Timestamp> {
    let millis = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).ok()?,
        Err(before) => -i64::try_from(before.duration().as_millis()).ok()?,
    };
    Some(Timestamp::from_millis(millis))
}

/// A file as fields and body, whatever it is written in.
struct Source {
    entries: Vec<Entry>,
    body: Option<String>,
    dialect: Dialect,
    problems: Vec<FileProblem>,
    recovered: bool,
}

impl Source {
    fn of(bytes: &[u8], placed: Option<Dialect>) -> Result<Self, FileProblem> {
        let text = front::text_of(bytes)?;
        if placed == Some(Dialect::Codex) {
            let (entries, problems) = (toml::read(&text)?, Vec::new());
            return Ok(Self {
                entries,
                body: None,
                dialect: Dialect::Codex,
                problems,
                recovered: false,
            });
        }
        let front::Parts { front, first, body, mut problems } = front::split(&text)?;
        let (entries, recovered) = match yaml::read(&front, first) {
            Ok(entries) => (entries, false),
            Err(yaml::Refused::Syntax(error)) => {
                let known = placed.unwrap_or(Dialect::ClaudeCode).known();
                let Some((entries, warnings)) = recover::recover(&front, first, &known) else {
                    let hint = "put quotes around values that contain ': ' or begin with a character such as [ { * & !";
                    return Err(if error.hint.is_some() { error } else { error.hint(hint) });
                };
                problems.extend(warnings);
                (entries, true)
            }
            Err(refused) => return Err(refused.problem()),
        };
        let dialect = Dialect::of_file(placed, &entries);
        Ok(Self { entries, body: Some(body), dialect, problems, recovered })
    }
}

struct Place<'a> {
    path: &'a Path,
    scope: Scope,
    times: Times,
    dialect: Dialect,
}

/// Makes the definition of the fields; whether it is sound, the problems tell.
fn define(
    mut fields: Fields,
    body: Option<String>,
    place: &Place<'_>,
) -> (Option<AgentDefinition>, Vec<FileProblem>) {
    let (fields_ref, dialect) = (&mut fields, place.dialect);
    kind(fields_ref, dialect);
    let named = naming::name(fields_ref, dialect, place.path);
    let title = naming::title(fields_ref, dialect, named.as_ref());
    let description = description(fields_ref, dialect);
    let model = model(fields_ref);
    let color = color(fields_ref);
    scope(fields_ref, place.scope);
    let version = fields_ref.text("version").map(|version| version.text);
    let context_mode = context_mode(fields_ref, dialect);
    let context_group = context_group(fields_ref, context_mode);
    let context_parent =
        context_parent(fields_ref, named.as_ref().map(|it| &it.name), context_mode);
    let context_filter = filter::filter(fields_ref);
    let publish_result = publish_result(fields_ref);
    let tools = rules::tools(fields_ref, dialect);
    let mcp = mcp::servers(fields_ref, dialect);
    let max_turns = max_turns(fields_ref, dialect);
    let temperature = temperature(fields_ref);
    let effort = effort(fields_ref, dialect);
    let shares = window::shares(fields_ref, dialect);
    let system_prompt = system_prompt(fields_ref, dialect, body);
    let (rest, problems) = fields.rest(dialect);
    let json = |entry: Entry| (entry.key, entry.node.json().to_string());
    let extra: BTreeMap<String, String> = rest.into_iter().map(json).collect();
    let definition = named.map(|named| AgentDefinition {
        name: named.name,
        title,
        description,
        model,
        color,
        scope: place.scope,
        version,
        context_mode,
        context_filter,
        context_group,
        context_parent,
        publish_result,
        tools,
        mcp,
        max_turns,
        temperature,
        effort,
        shares,
        system_prompt,
        file: place.path.to_owned(),
        dialect,
        created_at: place.times.created,
        updated_at: place.times.updated,
        extra,
    });
    (definition, problems)
}

fn kind(fields: &mut Fields, dialect: Dialect) {
    let kind = fields.text("kind");
    let wrong = match (dialect, &kind) {
        (Dialect::Contexture, None) => {
            let problem = FileProblem::error("the field 'kind' is missing").field("kind");
            fields.report(problem.hint(
                "add `kind: agent`; files of other programs belong in their own folders, such as `.claude/agents`",
            ));
            return;
        }
        (Dialect::Contexture, Some(kind)) if kind.text != "agent" => "it must be 'agent'",
        (Dialect::Gemini, Some(kind)) if kind.text != "local" => {
            "only agents that run here can be used: write 'local', or 'agent' for a Contexture file"
        }
        _ => return,
    };
    let Some(kind) = kind else { return };
    let message = format!("'kind' is '{}': {wrong}", quoted(&kind.text));
    fields.report(FileProblem::error(message).at(kind.line, kind.column).field("kind"));
}

fn description(fields: &mut Fields, dialect: Dialect) -> String {
    let description = fields.text("description").map(|text| text.text).unwrap_or_default();
    if description.is_empty() && dialect != Dialect::Contexture {
        let message =
            format!("the field 'description' is missing; {} requires it", dialect.title());
        fields.report(FileProblem::error(message).field("description").hint(
            "add a description, or add `kind: agent` and a `title` to make it a Contexture file",
        ));
    }
    description
}

fn model(fields: &mut Fields) -> Option<String> {
    let entry = fields.take("model")?;
    let model = match entry.node.text() {
        Some(text) => text.trim().to_owned(),
        None => {
            let models = fields.texts("model", &entry.node)?;
            let first = models.into_iter().next()?.text;
            let message =
                format!("'model' lists several models; the first is used: '{}'", quoted(&first));
            fields.report(
                FileProblem::warning(message).at(entry.node.line, entry.node.column).field("model"),
            );
            first
        }
    };
    (!matches!(model.as_str(), "" | "inherit" | "auto" | "default")).then_some(model)
}

fn color(fields: &mut Fields) -> Option<String> {
    let place = fields.place("color");
    let empty = fields.take_null("color");
    let color = fields.text("color").map(|color| color.text);
    if let (true, Some((line, column))) = (empty, place) {
        let problem = FileProblem::warning("'color' is empty").at(line, column).field("color");
        fields.report(problem.hint("`#` begins a comment: write `color: \"#4A90E2\"`"));
    }
    color
}

fn scope(fields: &mut Fields, found: Scope) {
    let Some(scope) = fields.text("scope") else { return };
    let said = match scope.text.as_str() {
        "global" | "user" => Scope::Global,
        "project" => Scope::Project,
        other => {
            let message =
                format!("'scope' is '{}': it must be 'global' or 'project'", quoted(other));
            fields.report(FileProblem::error(message).at(scope.line, scope.column).field("scope"));
            return;
        }
    };
    if said != found {
        let place = match found {
            Scope::Global => "the user's folders",
            Scope::Project => "the project",
        };
        let message =
            format!("'scope' is '{}', but the file is in {place}, and that decides", scope.text);
        fields.report(FileProblem::warning(message).at(scope.line, scope.column).field("scope"));
    }
}

/// Takes one of a few exact words; anything else is an error (M-33).
fn choice<T>(fields: &mut Fields, key: &str, choices: &[(&str, T)]) -> Option<T>
where
    T: Copy,
{
    let said = fields.text(key)?;
    if let Some((_, value)) = choices.iter().find(|(word, _)| *word == said.text) {
        return Some(*value);
    }
    let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
    let (last, others) = words.split_last().expect("there is something to choose from");
    let wanted = format!("it must be '{}' or '{last}'", others.join("', '"));
    let message = format!("'{key}' is '{}': {wanted}", quoted(&said.text));
    let mut problem = FileProblem::error(message).at(said.line, said.column).field(key);
    problem.hint = nearest(&said.text, words).map(|meant| format!("did you mean '{meant}'?"));
    fields.report(problem);
    None
}

/// Takes the mode: our own field, or Letta's `fork: true`.
fn context_mode(fields: &mut Fields, dialect: Dialect) -> Option<ContextMode> {
    let modes = ContextMode::ALL.map(|mode| (mode.as_str(), mode));
    let own = choice(fields, "contextMode", &modes);
    if !dialect.understood().contains(&"fork") {
        return own;
    }
    let forks = fields.boolean("fork") == Some(true);
    own.or(forks.then_some(ContextMode::Fork))
}

fn publish_result(fields: &mut Fields) -> PublishResult {
    let choices = [("exchange", PublishResult::Exchange), ("none", PublishResult::None)];
    choice(fields, "publishResult", &choices).unwrap_or_default()
}

fn context_group(fields: &mut Fields, mode: Option<ContextMode>) -> Option<String> {
    let group = fields.text("contextGroup")?;
    let at = |problem: FileProblem| problem.at(group.line, group.column).field("contextGroup");
    if let Err(error) = group.text.parse::<AgentName>() {
        let message = error.to_string().replacen("agent name", "group name", 1);
        fields.report(at(FileProblem::error(message)));
        return None;
    }
    if let Some(mode) = mode.filter(|mode| *mode != ContextMode::Shared) {
        let message = format!("'contextGroup' has no effect on an agent whose mode is {mode}");
        fields.report(
            at(FileProblem::warning(message))
                .hint("write `contextMode: shared`, or leave the group out"),
        );
    }
    Some(group.text)
}

/// Takes the agent whose view it forks.
fn context_parent(
    fields: &mut Fields,
    name: Option<&AgentName>,
    mode: Option<ContextMode>,
) -> Option<AgentName> {
    let parent = fields.text("contextParent")?;
    let at = |problem: FileProblem| problem.at(parent.line, parent.column).field("contextParent");
    let named = match parent.text.parse::<AgentName>() {
        Ok(named) if Some(&named) != name => named,
        Ok(_) => {
            fields.report(at(FileProblem::error("an agent cannot be its own 'contextParent'")));
            return None;
        }
        Err(error) => {
            fields.report(at(FileProblem::error(error.to_string())));
            return None;
        }
    };
    if let Some(mode) = mode.filter(|mode| *mode != ContextMode::Fork) {
        let message = format!("'contextParent' has no effect on an agent whose mode is {mode}");
        fields.report(
            at(FileProblem::warning(message))
                .hint("write `contextMode: fork`, or leave the parent out"),
        );
    }
    Some(named)
}

fn max_turns(fields: &mut Fields, dialect: Dialect) -> Option<u32> {
    let own = ["max_turns", "steps", "maxSteps"];
    let own = own.into_iter().filter(|key| dialect.understood().contains(key));
    let keys: Vec<&str> = std::iter::once("maxTurns").chain(own).collect();
    let Entry { key, node, .. } = fields.take_any(&keys)?;
    let turns = node.text().and_then(|text| text.parse::<u32>().ok()).filter(|turns| *turns > 0);
    if turns.is_none() {
        fields.wrong_type(&key, &node, "a whole number above 0");
    }
    turns
}

fn temperature(fields: &mut Fields) -> Option<f64> {
    let Entry { node, .. } = fields.take("temperature")?;
    let number = node.text().and_then(|text| text.parse::<f64>().ok());
    let number = number.filter(|number| (0.0..=2.0).contains(number));
    if number.is_none() {
        fields.wrong_type("temperature", &node, "a number from 0 to 2");
    }
    number
}

/// Takes how hard the model is to think. Which words there are is the provider's to say.
fn effort(fields: &mut Fields, dialect: Dialect) -> Option<String> {
    let own = (dialect == Dialect::Codex).then_some("model_reasoning_effort");
    let keys: Vec<&str> = std::iter::once("effort").chain(own).collect();
    let Entry { key, node, .. } = fields.take_any(&keys)?;
    let word = |text: &&str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_alphabetic());
    let effort = node.text().map(str::trim).filter(word).map(str::to_ascii_lowercase);
    if effort.is_none() {
        fields.wrong_type(&key, &node, "a word such as low, medium or high");
    }
    effort
}

fn system_prompt(fields: &mut Fields, dialect: Dialect, body: Option<String>) -> String {
    let key = match dialect {
        Dialect::Codex => "developer_instructions",
        Dialect::OpenCode => "prompt",
        _ => "",
    };
    let mut prompt = body.unwrap_or_default();
    if prompt.is_empty() {
        prompt = fields.text(key).map(|text| text.text).unwrap_or_default();
    } else if let Some((line, column)) = fields.place(key) {
        let problem =
            FileProblem::warning(format!("'{key}' is ignored: the body is the system prompt"));
        fields.report(problem.at(line, column).field(key));
    }
    if prompt.trim().is_empty() {
        let problem = FileProblem::warning("the agent has no system prompt");
        fields.report(problem.hint(match dialect {
            Dialect::Codex => "write it as `developer_instructions`",
            _ => "write it below the second `---`",
        }));
    }
    prompt
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
