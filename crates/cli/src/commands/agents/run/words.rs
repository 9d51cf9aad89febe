//! The words of a request: which of them are options, and what is asked for (C33).

use std::str::FromStr;

use super::Flags;
use crate::error::{Result, Stop};

/// A request and how it is to be run.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) flags: Flags,
    pub(super) prompt: String,
    /// Whether JSON is asked for behind the request.
    pub(super) json: bool,
}

/// Parts a request from the option that may be its last two words. After a `--` it is exact;
/// a `--` in the midst of a request is a word of it, and behind it nothing is an option either.
pub(super) fn part(flags: Flags, words: Vec<String>, exact: bool) -> Result<Said> {
    let mut said = Said { flags, prompt: String::new(), json: false };
    let mut words = words;
    if !exact && !words.iter().any(|word| word == "--") {
        said.take_last(&mut words)?;
    }
    said.prompt = words.join(" ");
    Ok(said)
}

impl Said {
    /// Takes the last two words as an option, if they are one. The first word is always asked for.
    fn take_last(&mut self, words: &mut Vec<String>) -> Result<()> {
        if let [_, .., name, value] = words.as_slice()
            && self.set(name, value)?
        {
            words.truncate(words.len() - 2);
            return Ok(());
        }
        for _ in 0..2 {
            let [_, .., last] = words.as_slice() else { return Ok(()) };
            let taken = match last.split_once('=') {
                Some((name, value)) => self.set(name, value)?,
                None => self.switch(last),
            };
            if !taken {
                return Ok(());
            }
            words.pop();
        }
        Ok(())
    }

    /// Sets an option that has a value; tells whether there is one of that name.
    fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        let flags = &mut self.flags;
        match name {
            "--context" => flags.context = Some(value.to_owned()),
            "--model" => flags.model = Some(value.to_owned()),
            "--budget" => flags.budget = Some(number(name, value)?),
            "--share" => flags.shares.share.push(value.to_owned()),
            "--max-turns" => flags.max_turns = Some(number(name, value)?),
            "--token-limit" => flags.token_limit = Some(number(name, value)?),
            "--max-tokens" => flags.max_tokens = Some(number(name, value)?),
            "--temperature" => flags.temperature = Some(number(name, value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sets an option without a value; tells whether there is one of that name.
    fn switch(&mut self, name: &str) -> bool {
        match name {
            "--no-stream" => self.flags.no_stream = true,
            "--ask" => self.flags.ask = true,
            "--trust-mcp" => self.flags.trust_mcp = true,
            "--json" => self.json = true,
            _ => return false,
        }
        true
    }
}

fn number<T: FromStr>(name: &str, value: &str) -> Result<T> {
    value.parse().map_err(|_| {
        let message = format!("invalid value '{value}' for '{name}': it is not a number");
        Stop::invalid(message, "give a number, or put -- before the request to have it as it is")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &[&str]) -> (String, Option<String>, bool) {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let said = part(Flags::default(), words, false).unwrap();
        (said.prompt, said.flags.context, said.json)
    }

    #[test]
    fn a_share_may_come_last() {
        let words = ["a", "b", "--share", "requests=0"].map(str::to_owned).to_vec();
        let said = part(Flags::default(), words, false).unwrap();
        assert_eq!(
            (said.prompt.as_str(), said.flags.shares.share),
            ("a b", vec!["requests=0".to_owned()])
        );
        let words = ["a", "--share=held=2"].map(str::to_owned).to_vec();
        let said = part(Flags::default(), words, false).unwrap();
        assert_eq!(said.flags.shares.share, ["held=2"]);
    }

    // M-24, C33: the option may be the last two words; everything else is the request, byte for byte.
    #[test]
    fn the_last_two_words_may_be_an_option() {
        let shared = Some("shared".to_owned());
        assert_eq!(said(&["修复代码", "--context", "shared"]), ("修复代码".into(), shared, false));
        for words in [
            &["修复  代码 --context shared"][..],
            &["--context"],
            &["say", "--context", "shared", "please"],
            &["a", "--", "--context", "shared"],
            &["a", "--contextual", "shared"],
        ] {
            assert_eq!(said(words), (words.join(" "), None, false), "{words:?}");
        }
        assert_eq!(said(&["a", "--context=isolated"]).1.unwrap(), "isolated");
        assert_eq!(said(&["a", "b", "--json"]), ("a b".into(), None, true));
        assert_eq!(said(&["a", "--json", "--ask"]), ("a".into(), None, true));
        assert_eq!(said(&["--json"]), ("--json".into(), None, false));
    }

    #[test]
    fn what_comes_after_the_dashes_is_exact() {
        let words = ["a", "--context", "shared"].map(str::to_owned).to_vec();
        let said = part(Flags::default(), words, true).unwrap();
        assert_eq!(said.prompt, "a --context shared");
        assert_eq!(said.flags.context, None);
    }

    #[test]
    fn a_value_that_is_no_number_is_told() {
        let words = ["a", "--budget", "much"].map(str::to_owned).to_vec();
        let Err(Stop::Failed { message, .. }) = part(Flags::default(), words, false) else {
            panic!("it was accepted");
        };
        assert_eq!(message, "invalid value 'much' for '--budget': it is not a number");
    }
}
