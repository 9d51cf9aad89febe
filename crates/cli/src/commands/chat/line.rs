//! Parses a line: who it is for, and which of its words are options.

use contexture_agents::ContextMode;

use crate::{
    error::{Result, Stop},
    misuse::nearest,
};

/// The options a request may have.
const OPTIONS: [&str; 6] = ["--shared", "--isolated", "--fork", "--context", "--model", "--budget"];

/// The options that have a value.
const VALUED: [&str; 3] = ["--context", "--model", "--budget"];

const AS_IT_IS: &str = "put -- before the request to send it as it is";

/// A line, by its addressee. A line that begins with a space is always for the assistant.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Nothing,
    /// For the assistant.
    Say(&'a str),
    /// `@name rest`
    Agent {
        name: &'a str,
        rest: &'a str,
    },
    /// `/name rest`
    Command {
        name: &'a str,
        rest: &'a str,
    },
}

/// What to ask an agent, and how to run it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ChatRequest<'a> {
    pub(super) context: Option<ContextMode>,
    pub(super) model: Option<&'a str>,
    pub(super) budget: Option<u64>,
    /// Byte for byte as it was typed.
    pub(super) prompt: &'a str,
}

/// Parses a line.
pub(super) fn read(line: &str) -> Line<'_> {
    if line.trim().is_empty() {
        return Line::Nothing;
    }
    let (word, rest) = first_word(line);
    match word.split_at_checked(1) {
        Some(("/", name)) => Line::Command { name, rest },
        Some(("@", name)) if !name.is_empty() => Line::Agent { name, rest },
        _ => Line::Say(line),
    }
}

/// Separates a request from the options before and after it; `--` ends them. A word within it that is
/// spelled like an option is refused: an option is never silently ignored.
pub(super) fn parse_request(text: &str) -> Result<ChatRequest<'_>> {
    let mut request = ChatRequest::default();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let (word, after) = first_word(rest);
        if word == "--" {
            request.prompt = after;
            return Ok(request);
        }
        if !word.starts_with("--") {
            break;
        }
        rest = request.leading(word, after)?;
    }
    // After a `--` nothing is an option, wherever it is.
    if !rest.split_whitespace().any(|word| word == "--") {
        while let Some(before) = request.trailing(rest)? {
            rest = before;
        }
    }
    rest.split_whitespace().take_while(|word| *word != "--").try_for_each(refuse)?;
    request.prompt = rest;
    Ok(request)
}

impl<'a> ChatRequest<'a> {
    /// Takes an option before the request; returns the text after it.
    fn leading(&mut self, word: &'a str, after: &'a str) -> Result<&'a str> {
        if let Some((name, value)) = word.split_once('=').filter(|(name, _)| is_valued(name)) {
            self.set(name, value)?;
            return Ok(after);
        }
        if self.switch(word)? {
            return Ok(after);
        }
        if !is_valued(word) {
            let hint = match nearest(word, OPTIONS) {
                Some(meant) => format!("did you mean {meant}? otherwise {AS_IT_IS}"),
                None => AS_IT_IS.to_owned(),
            };
            return Err(Stop::invalid(format!("unknown option '{word}'"), hint));
        }
        let (value, after) = first_word(after.trim_start());
        self.set(word, value)?;
        Ok(after)
    }

    /// Takes the option at the end of a request, if there is one; returns the request before it. The first
    /// word always belongs to the request.
    fn trailing(&mut self, text: &'a str) -> Result<Option<&'a str>> {
        let Some((before, last)) = last_word(text) else { return Ok(None) };
        if self.switch(last)? {
            return Ok(Some(before));
        }
        if let Some((name, value)) = last.split_once('=').filter(|(name, _)| is_valued(name)) {
            self.set(name, value)?;
            return Ok(Some(before));
        }
        if let Some((before, name)) = last_word(before).filter(|(_, name)| is_valued(name)) {
            self.set(name, last)?;
            return Ok(Some(before));
        }
        Ok(None)
    }

    /// Takes an option without a value; returns whether the word is one.
    fn switch(&mut self, word: &str) -> Result<bool> {
        match word {
            "--shared" => self.mode(ContextMode::Shared)?,
            "--isolated" => self.mode(ContextMode::Isolated)?,
            "--fork" => self.mode(ContextMode::Fork)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set(&mut self, name: &str, value: &'a str) -> Result<()> {
        let wrong = |reason: &str| {
            Stop::invalid(format!("invalid value '{value}' for '{name}': {reason}"), AS_IT_IS)
        };
        match name {
            "--context" => self.mode(value.parse().map_err(|reason: String| wrong(&reason))?),
            "--model" if value.is_empty() => Err(wrong("it is empty")),
            "--model" => {
                self.model = Some(value);
                Ok(())
            }
            "--budget" => {
                self.budget = Some(value.parse().map_err(|_| wrong("it is not a number"))?);
                Ok(())
            }
            _ => Err(wrong("there is no such option")),
        }
    }

    fn mode(&mut self, mode: ContextMode) -> Result<()> {
        match self.context.replace(mode) {
            Some(other) if other != mode => {
                Err(Stop::invalid(format!("a request cannot be both {other} and {mode}"), AS_IT_IS))
            }
            _ => Ok(()),
        }
    }
}

/// Refuses a word of a request that is spelled like an option, or nearly so.
fn refuse(word: &str) -> Result<()> {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    if OPTIONS.contains(&name) {
        return Err(Stop::invalid(
            format!("the option '{name}' is inside the request, or has no value"),
            format!("options go before or after a request; {AS_IT_IS}"),
        ));
    }
    match nearest(name, OPTIONS).filter(|_| name.starts_with("--")) {
        Some(meant) => Err(Stop::invalid(
            format!("unknown option '{name}'"),
            format!("did you mean {meant}? otherwise {AS_IT_IS}"),
        )),
        None => Ok(()),
    }
}

/// Returns whether a word is an option that has a value.
fn is_valued(word: &str) -> bool {
    VALUED.contains(&word)
}

/// Splits off the first word and the single space after it.
pub(super) fn first_word(text: &str) -> (&str, &str) {
    text.split_once(char::is_whitespace).unwrap_or((text, ""))
}

/// Splits off the last word and the spaces before it; none if there is at most one word.
fn last_word(text: &str) -> Option<(&str, &str)> {
    let (before, last) = text.trim_end().rsplit_once(char::is_whitespace)?;
    let before = before.trim_end();
    (!before.is_empty()).then_some((before, last))
}

/// Splits words as a shell does: quotes keep spaces.
pub(super) fn words(text: &str) -> Result<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None::<char>);
    for c in text.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    if let Some(open) = quote {
        return Err(Stop::invalid(format!("a {open} is not closed"), "close the quote"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> (Option<ContextMode>, &str) {
        let request = parse_request(text).unwrap();
        (request.context, request.prompt)
    }

    fn refused(text: &str) -> (String, String) {
        match parse_request(text) {
            Err(Stop::Failed { message, hint, .. }) => (message, hint),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn lines_are_told_apart() {
        assert_eq!(read(" \t"), Line::Nothing);
        assert_eq!(read("你好 @fixer"), Line::Say("你好 @fixer"));
        assert_eq!(read(" /etc/hosts"), Line::Say(" /etc/hosts"));
        assert_eq!(read("@ home"), Line::Say("@ home"));
        assert_eq!(read("@fixer"), Line::Agent { name: "fixer", rest: "" });
        assert_eq!(read("@fixer  a  b "), Line::Agent { name: "fixer", rest: " a  b " });
        assert_eq!(read("/window\t--x"), Line::Command { name: "window", rest: "--x" });
        assert_eq!(read("/"), Line::Command { name: "", rest: "" });
    }

    // M-24, M-25: options before the request or at its end, everything else byte for byte.
    #[test]
    fn options_stand_before_the_request_or_at_its_end() {
        let (shared, isolated) = (Some(ContextMode::Shared), Some(ContextMode::Isolated));
        assert_eq!(asked("修复代码"), (None, "修复代码"));
        assert_eq!(asked("--shared 修复  代码 "), (shared, "修复  代码 "));
        assert_eq!(asked("修复  代码 --isolated "), (isolated, "修复  代码"));
        assert_eq!(asked("修复代码 --context shared"), (shared, "修复代码"));
        assert_eq!(asked("修复代码 --context=isolated"), (isolated, "修复代码"));
        assert_eq!(asked("--context shared a --shared"), (shared, "a"));
        for text in [
            "--model openai/x --budget 9000 go",
            "go --model openai/x --budget 9000",
            "--budget 9000 go --model=openai/x ",
        ] {
            let said = parse_request(text).unwrap();
            let options = (said.model, said.budget);
            assert_eq!((options, said.prompt), ((Some("openai/x"), Some(9000)), "go"), "{text}");
        }
    }

    #[test]
    fn what_is_no_option_is_asked_for_as_it_is() {
        for text in [
            "a -- b --shared",
            "what does '--context' mean here",
            "a --contextual shared",
            "line one\n  line two --sharedness",
        ] {
            assert_eq!(asked(text), (None, text));
        }
        assert_eq!(asked("-- --shared  x "), (None, "--shared  x "));
        assert_eq!(asked("--isolated -- a --shared"), (Some(ContextMode::Isolated), "a --shared"));
    }

    #[test]
    fn what_would_be_ignored_is_refused() {
        for text in
            ["say --shared please", "what does --context mean here", "a --model", "a --shared -- b"]
        {
            let (message, hint) = refused(text);
            assert!(message.contains("is inside the request, or has no value"), "{message}");
            assert!(hint.ends_with(AS_IT_IS), "{hint}");
        }
        let (message, hint) = refused("fix --contex shared");
        assert_eq!(message, "unknown option '--contex'");
        assert!(hint.starts_with("did you mean --context?"), "{hint}");
    }

    #[test]
    fn reports_what_makes_no_sense() {
        let (message, hint) = refused("--sharde fix");
        assert_eq!(message, "unknown option '--sharde'");
        assert!(hint.starts_with("did you mean --shared?"), "{hint}");
        assert_eq!(
            refused("--shared fix --isolated").0,
            "a request cannot be both shared and isolated"
        );
        assert!(refused("fix --budget much").0.ends_with("it is not a number"));
        assert!(refused("fix --context open").0.contains("open"));
    }

    #[test]
    fn quotes_keep_spaces() {
        assert_eq!(
            words(" context  x --y 'a b'\"c\" ''").unwrap(),
            ["context", "x", "--y", "a bc", ""]
        );
        assert!(words("it's").is_err());
        assert!(words("").unwrap().is_empty());
    }
}
