//! Lines that tell what happened in folded pages: logs of single pages, and the lines of turns.
//!
//! ```text
//!  log    usr-7                                      the engine's line, with the session's mark
//!          run command=cargo test                    each call with what it was given, in order
//!          → failed: error: mismatched types         and how it ended
//!          said: The types do not match …
//!  line   usr-3 to usr-6 (4 pages, 9 calls folded); asked usr-3: "…"; wrote a.rs; said usr-6: "…"
//! ```
//!
//! In a log, what comes from outside stands behind a blank, line by line; in a line, in quotes.

use super::Style;
use crate::{
    Page, PageIndex,
    context::PageAction,
    storage::{CitationDetail, Fold, PageRun, PageRunForm},
    window::{
        digest::{CallOutcome, Digest, Step, head},
        escape::{escape_text, flatten},
    },
};

/// The most characters of what was asked: where it is told in full, and in short.
const ASKED: (usize, usize) = (160, 60);

/// The most characters of a conclusion: in a log, in a line, and in short.
const SAID: (usize, usize, usize) = (240, 160, 80);

/// How many files and failures a line names, the latest.
pub(crate) const FILES: usize = 12;
const FAILURES: usize = 2;

/// What a line tells of one page.
#[derive(Clone, Copy)]
pub(crate) struct LineItem<'a> {
    /// The page.
    pub page: &'a PageIndex,
    /// What happened in it.
    pub digest: &'a Digest,
    /// How much of that is told.
    pub told: CitationDetail,
    /// Whether its request stands by itself and need not be told.
    pub stands: bool,
    /// What somebody wrote of the turn that it begins, or nothing.
    pub summary: &'a str,
}

impl Style<'_> {
    /// Returns the log of a page: each call with how it ended, and what was concluded.
    pub(crate) fn log(
        &self,
        page: &Page,
        digest: &Digest,
        fold: Fold,
        action: Option<PageAction>,
    ) -> String {
        let mut log = self.begin_behind("[LOG]", &page.index, digest.asked.is_some());
        if let Some(rewritten) = super::rewritten(page) {
            log.push_str(&format!(" ({rewritten})"));
        }
        if let Some(action) = action {
            self.button(action, &page.index, &mut log);
        }
        for step in &digest.steps {
            match step {
                Step::Call(call) => {
                    let bare = call.bare.as_ref().filter(|_| fold == Fold::Rewritten);
                    self.block(bare.unwrap_or(&call.text), &mut log);
                    if let Some(outcome) = &call.outcome {
                        self.outcome(outcome, &mut log);
                    }
                }
                Step::Ended(outcome) => self.outcome(outcome, &mut log),
                Step::Said(said) => {
                    self.block(&format!("said: {}", head(said, SAID.0)), &mut log);
                }
                Step::Noise(noise) => self.block(&format!("harness: {noise}"), &mut log),
            }
        }
        log
    }

    /// Begins a line about a page, which is marked already where its request stands before the line.
    fn begin_behind(&self, tag: &str, index: &PageIndex, stands: bool) -> String {
        match (self.mark, stands) {
            (None, true) => format!("{tag} {index}"),
            _ => self.begin(tag, index),
        }
    }

    /// Adds outside text as lines of its own.
    fn block(&self, text: &str, log: &mut String) {
        let text = self.harmless(text);
        // In a provider's format only the mark tells the engine's lines apart.
        let text = if self.mark.is_some() { text } else { escape_text(&text).into_owned() };
        for line in text.lines() {
            log.push_str("\n ");
            log.push_str(line);
        }
    }

    fn outcome(&self, outcome: &CallOutcome, log: &mut String) {
        let failed = if outcome.failed { "failed: " } else { "" };
        match (&*outcome.line, outcome.failed) {
            ("", false) => log.push_str("\n → (nothing)"),
            ("", true) => log.push_str("\n → failed"),
            (line, _) => {
                let line = flatten(&self.harmless(line));
                let line = if self.mark.is_some() { line } else { escape_text(&line).into_owned() };
                log.push_str(&format!("\n → {failed}{line}"));
            }
        }
    }

    /// Returns the line of a run: which pages, and what happened in them.
    pub(crate) fn run<'w>(
        &self,
        run: &PageRun,
        items: &[LineItem<'_>],
        names: impl IntoIterator<Item = (&'w PageIndex, Vec<&'w str>)>,
    ) -> String {
        let stands = run.requests.iter().any(|request| request.page == run.from);
        let mut line = self.begin_behind("[RUN]", &run.from, stands);
        if run.pages > 1 {
            line.push_str(&format!(" to {}", run.to));
        }
        line.push_str(&format!(" ({} folded", counted(run)));
        line.push_str(match (run.pages, run.messages) {
            (_, 0) => ")",
            (0..=1, 1) => "; expand it to see it)",
            (0..=1, _) => "; expand it to see them)",
            _ => "; expand any to see it)",
        });
        if run.form == PageRunForm::Line {
            self.tell(items, &mut line);
            self.names(names, &mut line);
        }
        line
    }

    /// Adds what was asked, written and concluded, and what failed.
    fn tell(&self, items: &[LineItem<'_>], line: &mut String) {
        let asking = items.iter().filter(|it| !it.stands && it.told >= CitationDetail::Asked);
        let asking: Vec<_> =
            asking.filter_map(|it| Some((it, it.digest.asked.as_ref()?))).collect();
        // Of many requests each is told in short.
        let most = if asking.len() > 1 { ASKED.1 } else { ASKED.0 };
        for (at, (top_keywords, asked)) in asking.iter().enumerate() {
            line.push_str(if at == 0 { "; asked" } else { "," });
            line.push_str(&format!(" {}: {}", top_keywords.page, self.quoted(&head(asked, most))));
        }
        // What somebody wrote of a turn is told instead of what was found in it.
        let summary = items.iter().rev().find(|it| it.digest.asked.is_some());
        if let Some(it) =
            summary.filter(|it| it.told > CitationDetail::Nothing && !it.summary.is_empty())
        {
            line.push_str(&format!("; summary {}: {}", it.page, self.quoted(it.summary)));
            return;
        }
        let told = || items.iter().filter(|it| it.told == CitationDetail::All);
        let mut files: Vec<&str> = Vec::new();
        let wrote = items
            .iter()
            .filter(|it| matches!(it.told, CitationDetail::Wrote | CitationDetail::All));
        for file in wrote.flat_map(|it| it.digest.calls()).flat_map(|call| &call.written) {
            files.retain(|known| *known != &**file);
            files.push(file);
        }
        let more = files.len().saturating_sub(FILES);
        for (at, file) in files[more..].iter().enumerate() {
            line.push_str(if at == 0 { "; wrote " } else { " " });
            line.push_str(&self.word(file));
        }
        if more > 0 {
            line.push_str(&format!(" and {more} more"));
        }
        let failures =
            told().flat_map(|it| failures(it.digest).map(move |failed| (it.page, failed)));
        let failures: Vec<_> = failures.collect();
        for (page, (call, outcome)) in failures.iter().skip(failures.len().saturating_sub(FAILURES))
        {
            let what =
                call.as_ref().map_or(String::new(), |call| format!("{} → ", self.quoted(call)));
            line.push_str(&format!("; failed {page}: {what}{}", self.quoted(&outcome.line)));
        }
        let said: Vec<_> = told().filter_map(|it| Some((it.page, it.digest.said()?))).collect();
        // Of many conclusions all but the last are told in short.
        for (at, (page, said)) in said.iter().enumerate().map(|(at, it)| (said.len() - at, it)) {
            let most = if at == 1 { SAID.1 } else { SAID.2 };
            line.push_str(&format!("; said {page}: {}", self.quoted(&head(said, most))));
        }
    }

    /// Adds names, each behind the page it stands in.
    fn names<'w>(
        &self,
        names: impl IntoIterator<Item = (&'w PageIndex, Vec<&'w str>)>,
        line: &mut String,
    ) {
        let mut begun = false;
        for (page, names) in names {
            if names.is_empty() {
                continue;
            }
            line.push_str(if begun { ", " } else { "; names " });
            begun = true;
            line.push_str(&format!("{page}:"));
            for name in names {
                line.push(' ');
                line.push_str(&self.word(name));
            }
        }
    }
}

/// Returns the failures of a page: what was called, where that stands on the page, and how it ended.
fn failures(digest: &Digest) -> impl Iterator<Item = (Option<String>, &CallOutcome)> {
    digest.steps.iter().filter_map(|step| match step {
        Step::Call(call) if call.failed() => Some((Some(call.short()), call.outcome.as_ref()?)),
        Step::Ended(outcome) if outcome.failed => Some((None, outcome)),
        _ => None,
    })
}

/// Says how much a run stands for.
fn counted(run: &PageRun) -> String {
    let many = |count: u64, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let mut said: Vec<String> = Vec::new();
    if run.pages > 1 {
        said.push(many(run.pages, "page"));
    }
    if run.messages > 0 {
        said.push(many(run.messages, "message"));
    }
    if run.calls > 0 {
        said.push(many(run.calls, "call"));
    }
    if said.is_empty() { "1 page".to_owned() } else { said.join(", ") }
}
