//! The gate to a terminal: only control sequences that this program itself writes pass.
//!
//! Others are shown instead of obeyed, whether a command forgot to make its text harmless, the
//! command-line parser quotes an argument, or the log writes them. Output to a file or another program
//! passes byte for byte.

use std::io::{IsTerminal, Result, Write};

use crate::sanitize;

/// Returns to the start of the line and clears it, so that progress overwrites itself.
pub(crate) const BEGIN_LINE: &str = "\r\u{1b}[K";

/// The longest sequence to wait for; none of ours is longer.
const LONGEST: usize = 16;

/// A stream that may be a terminal.
pub(crate) struct TerminalWriter<W> {
    inner: W,
    terminal: bool,
    /// The beginning of a character or a sequence whose end is still to come.
    held: Vec<u8>,
}

impl<W: Write + IsTerminal> TerminalWriter<W> {
    /// Guards a stream, if it is a terminal.
    pub(crate) fn new(inner: W) -> Self {
        let terminal = inner.is_terminal();
        Self { inner, terminal, held: Vec::new() }
    }
}

impl<W: Write> TerminalWriter<W> {
    /// Guards a stream that leads to a terminal through another program.
    pub(crate) fn through_program(inner: W) -> Self {
        Self { inner, terminal: true, held: Vec::new() }
    }

    /// Writes the held bytes as far as they are complete; all of them at the end.
    fn pass(&mut self, is_end: bool) -> Result<()> {
        let held = std::mem::take(&mut self.held);
        let mut shown = String::with_capacity(held.len());
        let mut rest = &held[..];
        while !rest.is_empty() {
            let (text, broken) = match std::str::from_utf8(rest) {
                Ok(text) => (text, None),
                Err(error) => {
                    let valid = &rest[..error.valid_up_to()];
                    let text = std::str::from_utf8(valid).expect("it is valid up to there");
                    (text, Some(error.error_len()))
                }
            };
            let open = show(text, is_end || broken.is_some(), &mut shown);
            rest = &rest[text.len() - open..];
            match broken {
                None if open > 0 => break,
                None => {}
                // The rest of the character is still to come.
                Some(None) if !is_end => break,
                Some(length) => {
                    shown.push('\u{fffd}');
                    rest = &rest[length.unwrap_or(rest.len())..];
                }
            }
        }
        self.held = rest.to_vec();
        self.inner.write_all(shown.as_bytes())
    }
}

impl<W: Write> Write for TerminalWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if !self.terminal {
            return self.inner.write(bytes);
        }
        self.held.extend_from_slice(bytes);
        self.pass(false)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        if !self.held.is_empty() {
            self.pass(true)?;
        }
        self.inner.flush()
    }
}

/// Appends a text in its shown form; returns how many bytes at its end may begin one of our sequences.
fn show(text: &str, is_end: bool, shown: &mut String) -> usize {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if matches!(c, '\u{1b}' | '\r') {
            match sequence(rest) {
                Sequence::Ours(length) => {
                    shown.push_str(&rest[..length]);
                    rest = &rest[length..];
                    continue;
                }
                Sequence::Open if !is_end => return rest.len(),
                Sequence::Open | Sequence::Foreign => {}
            }
        }
        match sanitize::instead(c).filter(|_| !matches!(c, '\n' | '\t')) {
            Some(instead) => shown.push_str(&instead),
            None => shown.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    0
}

/// The sequence that a text begins with.
enum Sequence {
    /// A sequence that this program writes, with its length in bytes.
    Ours(usize),
    /// The possible beginning of one.
    Open,
    /// Any other text.
    Foreign,
}

fn sequence(text: &str) -> Sequence {
    if text.starts_with(BEGIN_LINE) {
        return Sequence::Ours(BEGIN_LINE.len());
    }
    if BEGIN_LINE.starts_with(text) {
        return Sequence::Open;
    }
    let Some(codes) = text.strip_prefix("\u{1b}[") else {
        return if text == "\u{1b}" { Sequence::Open } else { Sequence::Foreign };
    };
    let length = codes.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    match codes.as_bytes().get(length) {
        _ if length > LONGEST => Sequence::Foreign,
        None => Sequence::Open,
        Some(b'm') if codes[..length].split(';').all(is_style) => {
            Sequence::Ours(text.len() - codes.len() + length + 1)
        }
        Some(_) => Sequence::Foreign,
    }
}

/// Returns whether a code belongs to a style we use: no background and nothing that hides text.
fn is_style(code: &str) -> bool {
    let code = if code.is_empty() { Ok(0) } else { code.parse::<u8>() };
    matches!(code, Ok(0..=4 | 22..=24 | 30..=37 | 39 | 90..=97))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(chunks: &[&[u8]]) -> String {
        let mut writer = TerminalWriter { inner: Vec::new(), terminal: true, held: Vec::new() };
        for chunk in chunks {
            writer.write_all(chunk).unwrap();
        }
        writer.flush().unwrap();
        String::from_utf8(writer.inner).unwrap()
    }

    #[test]
    fn only_sequences_of_ours_pass() {
        for ours in
            ["\u{1b}[1m\u{1b}[36musr-1\u{1b}[0m\n", "\r\u{1b}[K50 %", "a\tb", "\u{1b}[3;31mx"]
        {
            assert_eq!(shown(&[ours.as_bytes()]), ours);
        }
        for (foreign, expected) in [
            ("\u{1b}[2J\u{1b}]0;x\u{7}", "␛[2J␛]0;x␇"),
            ("\u{1b}[8mhidden\u{1b}[41m", "␛[8mhidden␛[41m"),
            ("over\rwritten", "over␍written"),
            ("\u{9b}31m\u{202e}x\u{85}", "\\u{9b}31m\\u{202e}x\\u{85}"),
            ("\u{1b}", "␛"),
            ("\u{1b}[1;1;1;1;1;1;1;1;1;1m", "␛[1;1;1;1;1;1;1;1;1;1m"),
            ("\u{1b}[3", "␛[3"),
        ] {
            assert_eq!(shown(&[foreign.as_bytes()]), expected);
        }
        assert_eq!(shown(&[b"a\xffb\xe2\x82"]), "a\u{fffd}b\u{fffd}");
    }

    // The result does not depend on where a text is cut.
    #[test]
    fn cuts_change_nothing() {
        let text = "é\u{1b}[1mb\u{1b}[0m\u{1b}[2J\r\u{1b}[Kc\u{202e}原\rd".as_bytes();
        let whole = shown(&[text]);
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let chunks = [&text[..first], &text[first..second], &text[second..]];
                assert_eq!(shown(&chunks), whole, "{first} {second}");
            }
        }
    }

    #[test]
    fn files_get_every_byte() {
        let mut writer = TerminalWriter { inner: Vec::new(), terminal: false, held: Vec::new() };
        writer.write_all(b"\x1b[2J\xff\r\xe2").unwrap();
        assert_eq!(writer.inner, b"\x1b[2J\xff\r\xe2");
    }
}
