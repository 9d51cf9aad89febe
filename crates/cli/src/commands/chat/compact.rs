//! Shows a run as `agents run` does, with shorter lines for tool calls.

use std::time::Duration;

use contexture_agents::{
    runner::{Summarized, Verdict, Watcher},
    tools::Question,
};
use contexture_core::{Actor, window::FoldReport};
use serde_json::Value;

use crate::agent_run::RunPrinter;

/// The arguments that say what a call is about, in the order they are shown.
const TELLING: [&str; 6] = ["pattern", "path", "index", "query", "command", "url"];

/// Shortens tool calls to what they are about; passes everything else on.
pub(super) struct Compact<'p, 'w>(pub(super) RunPrinter<'p, 'w>);

impl Watcher for Compact<'_, '_> {
    fn text(&mut self, piece: &str) {
        self.0.text(piece);
    }

    fn thinking(&mut self, piece: &str) {
        self.0.thinking(piece);
    }

    fn tool_call(&mut self, name: &str, arguments: &str) {
        self.0.tool_call(name, &about(arguments));
    }

    fn tool_result(&mut self, name: &str, result: &str, error: bool) {
        self.0.tool_result(name, result, error);
    }

    fn approves(&mut self, question: &Question) -> Verdict {
        self.0.approves(question)
    }

    fn answers_as(&self) -> Actor {
        self.0.answers_as()
    }

    fn retry(&mut self, reason: &str, wait: Duration) {
        self.0.retry(reason, wait);
    }

    fn folded(&mut self, report: &FoldReport) {
        self.0.folded(report);
    }

    fn summarized(&mut self, done: &Summarized) {
        self.0.summarized(done);
    }

    fn asked(&mut self, tokens: u64, budget: u64, cached: u64) {
        self.0.asked(tokens, budget, cached);
    }

    fn notice(&mut self, text: &str) {
        self.0.notice(text);
    }
}

/// Returns what a call is about, or all of its arguments if none of them says.
fn about(arguments: &str) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str(arguments) else {
        return arguments.to_owned();
    };
    let telling = TELLING.iter().filter_map(|name| fields.get(*name)?.as_str());
    let telling: Vec<&str> = telling.filter(|value| !value.is_empty()).collect();
    match fields.is_empty() || !telling.is_empty() {
        true => telling.join(" "),
        false => arguments.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::about;

    #[test]
    fn calls_are_shown_by_what_they_are_about() {
        let edit = r#"{"old_text":"a","path":"src/utils.py","new_text":"b"}"#;
        assert_eq!(about(edit), "src/utils.py");
        assert_eq!(about(r#"{"path":"src","pattern":"fn main"}"#), "fn main src");
        assert_eq!(about("{}"), "");
        assert_eq!(about(r#"{"depth":3}"#), r#"{"depth":3}"#);
        assert_eq!(about("{broken"), "{broken");
    }
}
