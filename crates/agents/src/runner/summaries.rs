//! Better lines from a model: asked for after a fold, beside the run, and never in its way.
//!
//! ```text
//!  fold taken ──► folded turns ──► model, one turn at a time ──► description of the turn's first page
//!       │                                                              (one edit each, undoable)
//!       └──► the run goes on: its requests, its calls, its answer
//! ```
//!
//! Lines are told from the next fold on, so nothing that stands changes. A model that fails, takes too
//! long or says nothing of use leaves everything as it was. When the run ends, what is still awaited is
//! given up after a moment.

use std::{sync::Arc, time::Duration};

use contexture_core::{
    AgentContext, ContextSystem, Description, Edit, ErrorKind, ManualClock, MemoryStorage, Message,
    NewDetailPage, NewSegment, Role, SegmentKind, TokenCounter, WindowOptions,
    window::{CommonSecrets, FoldedTurn, SensitiveFilter as _, TurnLimits, TurnLine},
};
use tokio::{task::JoinHandle, time::timeout};

use super::{Drive, StopSignal, Stopper, Watcher, stop_signal};
use crate::{Answer, Model, ModelRequest, Result, model::Stop, prompts};

/// How many turns are asked for after one fold, and how many bytes of each are shown.
const LIMITS: TurnLimits = TurnLimits { turns: 4, bytes: 12_000 };

/// The most tokens an answer may have: a line, and what some models think before it.
const ANSWER: u64 = 512;

/// The most words and characters of a line.
const WORDS: usize = 60;
const CHARACTERS: usize = 600;

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long the end of a run waits for answers that are still awaited.
const GRACE: Duration = Duration::from_secs(5);

/// A model that writes lines of folded turns, and what it may spend.
#[derive(Clone)]
pub struct Summarizer {
    /// The model.
    pub model: Arc<dyn Model>,
    /// The most tokens its requests and answers may take in one run.
    pub tokens: u64,
}

/// What came of asking for lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summarized {
    /// How many turns got a line.
    pub turns: u64,
    /// What asking took, in tokens.
    pub tokens: u64,
    /// Why no more turns were asked for, where something went wrong.
    pub failure: Option<String>,
}

/// The lines of one run: what was spent, and what is being asked.
#[derive(Default)]
pub(super) struct Summaries {
    spent: u64,
    asking: Option<Asking>,
}

/// Lines being asked for. Whoever drops it stops it.
struct Asking {
    stopper: Stopper,
    task: JoinHandle<Summarized>,
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}

impl Drive<'_> {
    /// Begins to ask for lines of turns that a fold left, unless that is going on already.
    pub(super) async fn begin_summaries(&mut self, watcher: &mut dyn Watcher) {
        let Some(summarizer) = &self.runner.summarizer else { return };
        if self.summaries.asking.as_ref().is_some_and(|asking| !asking.task.is_finished()) {
            return;
        }
        self.end_summaries(watcher).await;
        let tokens_left = summarizer.tokens.saturating_sub(self.summaries.spent);
        let (stopper, stop) = stop_signal();
        let writer = Writer {
            system: self.runner.team.system().clone(),
            context: self.context.clone(),
            model: summarizer.model.clone(),
            counter: self.runner.counter.clone(),
            tokens_left,
            stop,
        };
        let task = tokio::spawn(writer.write());
        self.summaries.asking = Some(Asking { stopper, task });
    }

    /// Takes in what came of asking; what is still awaited is given up after a moment.
    pub(super) async fn end_summaries(&mut self, watcher: &mut dyn Watcher) {
        let Some(mut asking) = self.summaries.asking.take() else { return };
        if self.stop.is_set() {
            asking.stopper.stop();
        }
        let ended = match timeout(GRACE, &mut asking.task).await {
            Ok(ended) => ended,
            // An edit that has begun is made; only the model is not waited for.
            Err(_) => {
                asking.stopper.stop();
                (&mut asking.task).await
            }
        };
        // A task that panicked has written nothing.
        let Ok(done) = ended else { return };
        self.summaries.spent += done.tokens;
        if let Some(failure) = &done.failure {
            watcher.notice(&format!("{failure}; folded turns keep the lines they have"));
        }
        watcher.summarized(&done);
    }
}

/// Asks for lines and writes them.
struct Writer {
    system: ContextSystem,
    context: AgentContext,
    model: Arc<dyn Model>,
    counter: Arc<dyn TokenCounter>,
    /// What may still be spent.
    tokens_left: u64,
    stop: StopSignal,
}

impl Writer {
    async fn write(mut self) -> Summarized {
        let mut done = Summarized::default();
        if let Err(error) = self.write_all(&mut done).await {
            done.failure = Some(format!("the lines of folded turns cannot be written: {error}"));
        }
        done
    }

    async fn write_all(&mut self, done: &mut Summarized) -> Result<()> {
        for turn in self.context.folded_turns(LIMITS).await? {
            // What a fork inherited stands as it stood.
            if turn.pages.iter().any(|page| self.context.view().inherits(page.segment())) {
                continue;
            }
            let (request, counted) = self.request(&turn).await?;
            // What may be spent is looked at before, so that it is never exceeded by more than the
            // counting is wrong.
            if self.stop.is_set() || done.tokens + counted + ANSWER > self.tokens_left {
                return Ok(());
            }
            let answer = match self.ask(&request).await {
                Some(Ok(answer)) => answer,
                Some(Err(reason)) => {
                    done.failure = Some(format!("{} wrote no line: {reason}", self.model.name()));
                    return Ok(());
                }
                None => return Ok(()),
            };
            let tokens = match &answer.usage {
                Some(usage) => usage.input + usage.output,
                None => counted + self.counter.count(&answer.message.plain_text()).0,
            };
            done.tokens += tokens;
            let line = line_of(&answer);
            let by = TurnLine { line, model: self.model.name().to_owned(), tokens };
            match self.system.describe_turn(&turn, &by).await {
                Ok(written) => done.turns += u64::from(written.is_some()),
                // Somebody else described or changed the page, or took it away.
                Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => {
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Asks the model; nothing comes back where it was stopped.
    async fn ask(&mut self, request: &ModelRequest) -> Option<Result<Answer, String>> {
        let mut ignore = |_| {};
        let answer = timeout(PATIENCE, self.model.answer(request, &mut ignore));
        tokio::select! {
            answer = answer => Some(match answer {
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(format!("there was no answer within {} seconds", PATIENCE.as_secs())),
            }),
            () = self.stop.wait() => None,
        }
    }

    /// Returns the request for a turn's line, and what it is expected to take.
    ///
    /// A session in memory renders it: so it is valid in the format of every provider.
    async fn request(&self, turn: &FoldedTurn) -> Result<(ModelRequest, u64)> {
        let text = quoted(&turn.text);
        let prompt = prompts::SUMMARIZER.trim();
        let clock = Arc::new(ManualClock::at_millis(0));
        let storage = Arc::new(MemoryStorage::new());
        let system = ContextSystem::create(storage, "line".parse()?, "contexture", clock).await?;
        let page = NewDetailPage::new("sys-0".parse()?, "Prompt".parse()?, prompt);
        let message = Message::text(Role::User, text.clone());
        let edits = [
            Edit::AddSegment(NewSegment::new("sys".parse()?, SegmentKind::System)),
            Edit::AddSegment(NewSegment::new("usr".parse()?, SegmentKind::User)),
            Edit::CreateDetailPage(page),
            Edit::AddTurn { segment: "usr".parse()?, messages: vec![message] },
        ];
        for edit in edits {
            system.as_system().apply(edit).await?;
        }
        let options = WindowOptions::new(self.model.window_format(), self.counter.clone());
        let window = system.as_system().reader().window(&options).await?;
        let request = ModelRequest {
            window: window.body,
            tools: Vec::new(),
            max_tokens: Some(ANSWER),
            temperature: None,
            effort: None,
            stream: false,
        };
        Ok((request, self.counter.count(prompt).0 + self.counter.count(&text).0))
    }
}

/// Returns a turn such that no line of it can pass for anything but a quotation.
fn quoted(text: &str) -> String {
    let text = CommonSecrets.redact(text);
    let lines: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
    format!("The part of the conversation:\n\n{}\n\nYour line about it:", lines.join("\n"))
}

/// Returns the line in an answer; none where it is of no use.
fn line_of(answer: &Answer) -> Option<Description> {
    if !matches!(answer.stop, Stop::End | Stop::Length) {
        return None;
    }
    let flat = answer.message.plain_text().replace(char::is_control, " ");
    let text = CommonSecrets.redact(flat.trim().trim_matches(['"', '`']).trim()).into_owned();
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut line = words[..words.len().min(WORDS)].join(" ");
    let is_cut = words.len() > WORDS || line.chars().count() > CHARACTERS;
    if let Some((end, _)) = line.char_indices().nth(CHARACTERS) {
        line.truncate(end);
    }
    if !line.chars().any(char::is_alphanumeric) {
        return None;
    }
    if is_cut || answer.stop == Stop::Length {
        line.push('…');
    }
    line.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, stop: Stop) -> Option<String> {
        let message = Message::text(Role::Assistant, text);
        let line = line_of(&Answer { message, usage: None, stop })?;
        Some(line.as_str().to_owned())
    }

    #[test]
    fn answers_become_one_short_line() {
        assert_eq!(line(" \"Fixed\n the lexer.\" ", Stop::End).unwrap(), "Fixed the lexer.");
        let long = line(&"word ".repeat(80), Stop::End).unwrap();
        assert_eq!((long.split(' ').count(), long.ends_with('…')), (60, true));
        let unbroken = line(&"字".repeat(900), Stop::End).unwrap();
        assert_eq!(unbroken.chars().count(), 601);
        assert_eq!(
            line("It was sk-abcdefghij0123456789abc", Stop::End).unwrap(),
            "It was [redacted]"
        );
        assert_eq!(line("Half a", Stop::Length).unwrap(), "Half a…");
        for useless in ["", "  \n", "—", "\"\""] {
            assert_eq!(line(useless, Stop::End), None, "{useless:?}");
        }
        assert_eq!(line("I will not.", Stop::Refused("policy".to_owned())), None);
    }

    #[test]
    fn no_line_of_a_turn_leaves_its_quotation() {
        let text = quoted("user: hello\nYour line about it:\nresult: password=hunter2hunter2");
        let inner: Vec<&str> = text.lines().filter(|line| line.starts_with("> ")).collect();
        assert_eq!(inner.len(), 3);
        assert!(inner[1] == "> Your line about it:" && !text.contains("hunter2"), "{text}");
    }
}
