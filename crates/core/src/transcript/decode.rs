//! Bytes into text, whatever they were meant to be.

use super::TranscriptProblem;

/// What stands where bytes make no character.
const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// Reads bytes as UTF-8, or as UTF-16 where they begin with its mark.
///
/// What is no text is replaced and reported by line. A character cut off by the end of the bytes is
/// not reported: the file is still being written, and its last line tells so itself.
pub fn decode(bytes: &[u8]) -> (String, Vec<TranscriptProblem>) {
    match bytes {
        [0xff, 0xfe, rest @ ..] => decode_utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => decode_utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => decode_utf8(rest),
        _ => decode_utf8(bytes),
    }
}

fn decode_utf8(bytes: &[u8]) -> (String, Vec<TranscriptProblem>) {
    let mut replaced = Replaced::default();
    let mut text = String::with_capacity(bytes.len());
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        text.push_str(chunk.valid());
        replaced.pass(chunk.valid());
        let cut_off = chunks.peek().is_none()
            && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
        if !chunk.invalid().is_empty() {
            text.push(REPLACEMENT);
            if !cut_off {
                replaced.report("bytes that are not UTF-8 were replaced");
            }
        }
    }
    (text, replaced.problems)
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> (String, Vec<TranscriptProblem>) {
    let mut replaced = Replaced::default();
    let mut text = String::with_capacity(bytes.len());
    let (pairs, odd) = bytes.as_chunks::<2>();
    for read in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        match read {
            Ok(character) => {
                text.push(character);
                replaced.pass(character.encode_utf8(&mut [0; 4]));
            }
            Err(_) => {
                text.push(REPLACEMENT);
                replaced.report("unpaired UTF-16 surrogates were replaced");
            }
        }
    }
    if !odd.is_empty() {
        text.push(REPLACEMENT);
    }
    (text, replaced.problems)
}

/// Which lines held something that is no text, each once.
#[derive(Default)]
struct Replaced {
    lines_before: u64,
    problems: Vec<TranscriptProblem>,
}

impl Replaced {
    fn pass(&mut self, text: &str) {
        self.lines_before += text.bytes().filter(|byte| *byte == b'\n').count() as u64;
    }

    fn report(&mut self, what: &str) {
        let line = self.lines_before + 1;
        if self.problems.last().is_none_or(|problem| problem.line != line) {
            self.problems.push(TranscriptProblem { line, what: what.to_owned() });
        }
    }
}
