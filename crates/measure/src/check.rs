//! The check: replays every session and verifies every window.
//!
//! A window must be valid for its provider and within its budget, by the engine's account and by a
//! count of its own. Every message of the window before must stand unchanged at its place, unless a
//! fold was committed for this one. And windows sent earlier must come out the same again.

mod body;

use std::{io::Write, path::PathBuf, process::ExitCode, time::Instant};

use contexture_core::{
    ProviderFormat, WindowOptions,
    storage::ContentHash,
    window::{FoldShares, RecordedWindow, validate_body},
};
use futures::executor::block_on;

use crate::{
    data::{self, Session},
    replay::{Replay, options},
};
use body::{Counts, SentBody};

/// How many windows of a session are rendered again at its end.
const AGAIN: u64 = 3;

/// Flags of `check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder that holds the sessions.
    #[arg(long)]
    data: PathBuf,
    /// The budgets to check under.
    #[arg(long, value_delimiter = ',', default_values_t = [8_000, 32_000])]
    budgets: Vec<u64>,
    /// Reads only so many sessions.
    #[arg(long)]
    limit: Option<usize>,
    /// Checks only these formats.
    #[arg(long, value_delimiter = ',', default_values_t = ProviderFormat::ALL)]
    formats: Vec<ProviderFormat>,
    /// Takes a window only at every so many calls, in formats other than `openai`.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Prints every fold.
    #[arg(short, long)]
    verbose: bool,
}

/// What was found.
#[derive(Debug, Default)]
struct Tally {
    sessions: u64,
    windows: u64,
    folds: u64,
    again: u64,
    violations: u64,
}

/// Checks and prints what was found. It fails where anything is wrong.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let begun = Instant::now();
    let counter = contexture_tokens::counter_for("o200k_base");
    let sessions = data::read(&args.data, args.limit)?;
    let mut tally = Tally { sessions: sessions.len() as u64, ..Tally::default() };
    for &format in &args.formats {
        let mut counts = Counts::new(counter.as_ref());
        for &budget in &args.budgets {
            for session in &sessions {
                let every = if format == ProviderFormat::OpenAi { 1 } else { args.every.max(1) };
                let options = options(format, &counter, budget, FoldShares::default());
                let of = Of { session, format, budget, every, verbose: args.verbose };
                let mut checking =
                    Checking { of, options, counts: &mut counts, tally: &mut tally, out };
                if let Err(error) = checking.session() {
                    checking.violation(0, &format!("the replay failed: {error:#}"))?;
                }
            }
        }
    }
    let Tally { sessions, windows, folds, again, violations } = tally;
    let seconds = begun.elapsed().as_secs_f64();
    writeln!(
        out,
        "{sessions} sessions, {windows} windows, {folds} folds, {again} rendered again, \
         {violations} violations, {seconds:.0} s"
    )?;
    Ok(if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What is being checked.
#[derive(Clone, Copy)]
struct Of<'a> {
    session: &'a Session,
    format: ProviderFormat,
    budget: u64,
    every: usize,
    verbose: bool,
}

struct Checking<'a, 'c> {
    of: Of<'a>,
    options: WindowOptions,
    counts: &'a mut Counts<'c>,
    tally: &'a mut Tally,
    out: &'a mut dyn Write,
}

impl Checking<'_, '_> {
    fn session(&mut self) -> anyhow::Result<()> {
        let mut replay = block_on(Replay::begin(self.of.session))?;
        let mut before = SentBody::default();
        let mut hashes: Vec<(u64, ContentHash)> = Vec::new();
        let calls = self.of.session.calls();
        for (number, upto) in (1..).zip(calls) {
            if number % self.of.every != 0 {
                continue;
            }
            block_on(replay.append(upto))?;
            let sent = match block_on(replay.send(&self.options)) {
                Ok(sent) => sent,
                Err(error) => {
                    self.violation(number, &format!("the window cannot be rendered: {error:#}"))?;
                    continue;
                }
            };
            self.tally.windows += 1;
            hashes.push((sent.record.number, sent.record.hash));
            self.window(number, &sent)?;
            let now = SentBody::new(&sent.window);
            self.fold_or_unchanged(number, &sent, &before, &now)?;
            before = now;
        }
        self.again(&replay, &hashes)
    }

    fn window(&mut self, call: usize, sent: &RecordedWindow) -> anyhow::Result<()> {
        let window = &sent.window;
        if ContentHash::of(window.body.as_bytes()) != sent.record.hash {
            self.violation(call, "the record holds a different hash")?;
        }
        let body = match serde_json::from_str(&window.body) {
            Ok(body) => body,
            Err(error) => return self.violation(call, &format!("not JSON: {error}")),
        };
        if let Err(violation) = validate_body(self.of.format, &body) {
            self.violation(call, &violation.to_string())?;
        }
        let budget = self.of.budget;
        let account = window.account.tokens;
        if account > budget {
            self.violation(call, &format!("{account} tokens by its account, more than {budget}"))?;
        }
        let counted = self.counts.window(window, &body);
        if counted > budget {
            self.violation(
                call,
                &format!(
                    "{counted} tokens as counted, more than {budget}; its account says {account}"
                ),
            )?;
        }
        Ok(())
    }

    fn fold_or_unchanged(
        &mut self,
        call: usize,
        sent: &RecordedWindow,
        before: &SentBody,
        now: &SentBody,
    ) -> anyhow::Result<()> {
        let changed = before.changed(now);
        if let Some(revision) = sent.record.fold {
            self.tally.folds += 1;
            if self.of.verbose {
                let tokens = sent.window.account.tokens;
                let from = changed.map_or("its end".to_owned(), |at| format!("message {at}"));
                let what = format!("fold {revision:?} to {tokens} tokens, changed from {from}");
                self.line(call, &what)?;
            }
            return Ok(());
        }
        match changed {
            Some(0) => self.violation(call, "the system part changed without a fold"),
            Some(at) => {
                let what = format!("message {} changed without a fold", at - 1);
                self.violation(call, &what)
            }
            None => Ok(()),
        }
    }

    /// Renders some of the windows again, always the same ones of a session.
    fn again(&mut self, replay: &Replay<'_>, hashes: &[(u64, ContentHash)]) -> anyhow::Result<()> {
        let seed = self.of.session.number();
        for step in 1..=AGAIN.min(hashes.len() as u64) {
            let at = seed.wrapping_mul(step).rotate_left(17) % hashes.len() as u64;
            let (number, hash) = hashes[at as usize];
            self.tally.again += 1;
            match block_on(replay.sent(&self.options, number)) {
                Ok(sent) if ContentHash::of(sent.window.body.as_bytes()) == hash => {}
                Ok(_) => self.violation(at as usize + 1, "different bytes when rendered again")?,
                Err(error) => {
                    let what = format!("cannot be rendered again: {error:#}");
                    self.violation(at as usize + 1, &what)?;
                }
            }
        }
        Ok(())
    }

    fn violation(&mut self, call: usize, what: &str) -> anyhow::Result<()> {
        self.tally.violations += 1;
        self.line(call, what)
    }

    fn line(&mut self, call: usize, what: &str) -> anyhow::Result<()> {
        let Of { session, format, budget, .. } = self.of;
        let id = &session.id;
        Ok(writeln!(self.out, "{id} {format} {budget} call {call}: {what}")?)
    }
}
