//! Tab completion: agents, commands and their words, page indices.

use contexture_core::ListQuery;
use futures::executor::block_on;
use rustyline::{
    Context, Helper, completion::Completer, highlight::Highlighter, hint::Hinter,
    validate::Validator,
};

use super::slash;
use crate::{context, error::Result, project::Project, settings::Settings};

/// How many pages to look through at a time, and how many times.
const PAGES: (usize, usize) = (1_000, 10);

/// The words of `/agents`.
const AGENTS: [&str; 7] = ["clear", "context", "create", "list", "run", "show", "validate"];

/// Completes lines from the current state of the project and the session.
pub(super) struct Completion {
    settings: Settings,
}

impl Completion {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// Returns the candidates for the last word of a line; the words before it decide which.
    fn candidates(&self, before: &str, word: &str) -> Vec<String> {
        let before: Vec<&str> = before.split_whitespace().collect();
        match before.as_slice() {
            [] if word.starts_with('@') => mark('@', agents()),
            [] if word.starts_with('/') => {
                slash::COMMANDS.iter().map(|command| format!("/{}", command.name)).collect()
            }
            ["/agents"] => AGENTS.map(str::to_owned).to_vec(),
            ["/agents", "context", ..] if word.starts_with('-') => {
                owned(&["--mode", "--all", "--graph"])
            }
            ["/agents", "context", _, "--mode"] => owned(&["isolated", "shared", "default"]),
            ["/agents", "clear" | "context" | "run" | "show" | "validate"] | ["/resume"] => {
                agents()
            }
            ["/agents", "run", _] => owned(&["--context"]),
            ["/agents", "run", _, "--context"] => owned(&["isolated", "shared"]),
            ["/window" | "/fold"] => owned(&["--budget"]),
            ["/expand" | "/hide" | "/pin" | "/unpin"] => {
                block_on(self.pages(word)).unwrap_or_default()
            }
            [agent] if agent.starts_with('@') => owned(&["--shared", "--isolated"]),
            _ => Vec::new(),
        }
    }

    async fn pages(&self, beginning: &str) -> Result<Vec<String>> {
        let session = context::open(&self.settings).await?;
        let (limit, times) = PAGES;
        let (mut found, mut after) = (Vec::new(), None);
        for _ in 0..times {
            let query = ListQuery { after, limit, ..ListQuery::default() };
            let listing = session.reader().list(&query).await?;
            let indices = listing.items.iter().map(|seen| seen.page.index.to_string());
            found.extend(indices.filter(|index| index.starts_with(beginning)));
            match listing.items.last().filter(|_| listing.more) {
                Some(last) => after = Some(last.page.index.clone()),
                None => break,
            }
        }
        Ok(found)
    }
}

/// Returns the agents' names; none if the files cannot be read, which the next line will report.
fn agents() -> Vec<String> {
    let names = Project::load().map(|project| project.names());
    names.unwrap_or_default().iter().map(ToString::to_string).collect()
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn mark(mark: char, names: Vec<String>) -> Vec<String> {
    names.into_iter().map(|name| format!("{mark}{name}")).collect()
}

impl Completer for Completion {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = line.get(..pos).unwrap_or_default();
        let start = typed
            .rfind(char::is_whitespace)
            .map_or(0, |at| at + typed[at..].chars().next().map_or(0, char::len_utf8));
        let (before, word) = typed.split_at(start);
        let mut found = self.candidates(before, word);
        found.retain(|candidate| candidate.starts_with(word));
        // A completed word is followed by the next one.
        if let [only] = found.as_mut_slice() {
            only.push(' ');
        }
        Ok((start, found))
    }
}

impl Hinter for Completion {
    type Hint = String;
}

impl Highlighter for Completion {}

impl Validator for Completion {}

impl Helper for Completion {}
