//! Separates the words of a request from the options after it.

use clap::CommandFactory as _;

use crate::{
    args::Cli,
    error::{Result, Stop},
    misuse::nearest,
};

const AS_IT_IS: &str = "put -- before the request to send it as it is";

/// The options of `agents run`, global options included.
#[derive(Debug)]
pub(super) struct Options(Vec<Known>);

#[derive(Debug)]
struct Known {
    /// As it is typed, such as `--context`.
    name: String,
    has_value: bool,
}

impl Options {
    /// Returns the options as the command line itself knows them.
    pub(super) fn known() -> Self {
        let mut cli = Cli::command();
        cli.build();
        let run = cli.find_subcommand("agents").and_then(|agents| agents.find_subcommand("run"));
        let options = run.into_iter().flat_map(clap::Command::get_arguments);
        let options = options.flat_map(|option| {
            let takes = option.get_action().takes_values();
            let has_value = takes && !option.is_require_equals_set();
            let long = option.get_long().map(|long| format!("--{long}"));
            let short = option.get_short().map(|short| format!("-{short}"));
            long.into_iter().chain(short).map(move |name| Known { name, has_value })
        });
        Self(options.collect())
    }

    /// Returns where among the words the options after a request begin; nothing after a `--` is one.
    ///
    /// # Errors
    ///
    /// Fails for a word that is spelled like an option, or nearly so, but is within the request or lacks
    /// its value: an option is never silently ignored.
    pub(super) fn begin(&self, words: &[String]) -> Result<usize> {
        // The first word always belongs to the request.
        let mut begin = (1..words.len()).find(|&begin| self.are_options(&words[begin..]));
        let dashes = words.iter().position(|word| word == "--");
        if dashes.is_some() {
            begin = None;
        }
        let asked = &words[..dashes.or(begin).unwrap_or(words.len())];
        for (at, word) in asked.iter().enumerate() {
            self.refuse(word, at + 1 == asked.len())?;
        }
        Ok(begin.unwrap_or(words.len()))
    }

    /// Returns whether words are nothing but options and their values.
    fn are_options(&self, words: &[String]) -> bool {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let Some(known) = self.named(word) else { return false };
            let value_follows = known.has_value && !word.contains('=');
            let is_value = |word: &String| word == "-" || !word.starts_with('-');
            if value_follows && !words.next().is_some_and(is_value) {
                return false;
            }
        }
        true
    }

    /// Returns the option that a word is: `--name`, or `--name=value` where it has one.
    fn named(&self, word: &str) -> Option<&Known> {
        let name = word.split_once('=').map(|(name, _)| name);
        self.0.iter().find(|known| known.name == word || name == Some(&known.name))
    }

    fn refuse(&self, word: &str, is_last: bool) -> Result<()> {
        if let Some(known) = self.named(word) {
            let name = &known.name;
            return Err(if is_last && known.has_value && !word.contains('=') {
                Stop::invalid(format!("'{name}' has no value"), AS_IT_IS)
            } else {
                Stop::invalid(
                    format!("the option '{name}' is inside the request"),
                    format!("options go before or after a request; {AS_IT_IS}"),
                )
            });
        }
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        let near = nearest(name, self.0.iter().map(|known| known.name.as_str()));
        match near.filter(|_| name.starts_with("--")) {
            Some(meant) => Err(Stop::invalid(
                format!("unknown option '{name}'"),
                format!("did you mean {meant}? otherwise {AS_IT_IS}"),
            )),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    fn refused(line: &str) -> (String, String) {
        match Options::known().begin(&words(line)) {
            Err(Stop::Failed { message, hint, .. }) => (message, hint),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn any_number_of_options_stands_behind_a_request() {
        let options = Options::known();
        for (line, count) in [
            ("fix it", 2),
            ("fix --context shared", 1),
            ("fix it --context isolated --max-turns 3", 2),
            ("fix it --ask --model=openai/x --json --share held=2 --store memory:", 2),
            ("fix it --share=held=2", 2),
            ("fix it --ask=later --json", 2),
            ("explain git commit --amend -m", 5),
            ("fix --contextual shared", 3),
            ("what is -- --context shared", 5),
            ("fix -", 2),
        ] {
            assert_eq!(options.begin(&words(line)).unwrap(), count, "{line}");
        }
    }

    #[test]
    fn an_option_that_would_be_ignored_is_refused() {
        let within = "the option '--context' is inside the request";
        for line in [
            "say --context shared please",
            "say --context=shared please",
            "a --context shared b --ask",
            "a --context shared -- b",
        ] {
            let (message, hint) = refused(line);
            assert_eq!(message, within, "{line}");
            assert!(hint.ends_with(AS_IT_IS), "{hint}");
        }
        for line in ["a --context", "a --context --ask"] {
            assert_eq!(refused(line), ("'--context' has no value".into(), AS_IT_IS.into()));
        }
        let (message, hint) = refused("a --contex isolated");
        assert_eq!(message, "unknown option '--contex'");
        assert!(hint.starts_with("did you mean --context? otherwise put --"), "{hint}");
    }
}
