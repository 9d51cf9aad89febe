//! Lines of a server, kept short enough to be read: a long text is cut while it arrives.
//!
//! A message is one line of JSON. Each text in it keeps its first [`TEXT`] bytes and a mark that says
//! how long it was. A message that is too long for other reasons is answered in its place by its
//! beginning as it came, if it says which request it answers. So memory is bounded, and a result is
//! never lost for being long.
//!
//! Lines that are no JSON pass through: whoever reads them ignores them.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use rmcp::transport::async_rw::DEFAULT_MAX_LINE_LENGTH;
use tokio::io::{AsyncRead, ReadBuf};

use super::answer::{BYTES, cut};

/// The most bytes of a text that are kept. More than an answer shows, so that an answer says itself
/// that it is cut.
const TEXT: usize = 256 * 1024;

/// The longest line: one byte less than what is read at all, for the line break.
const LINE: usize = DEFAULT_MAX_LINE_LENGTH - 1;

/// The longest id of a request that is understood.
const ID: usize = 256;

/// What stands behind a text that was cut, before its length.
const MARK: &str = "[cut here; in whole it has ";

/// Returns a text without the mark of a cut, and how many bytes it had before.
pub(super) fn whole(text: &str) -> (&str, usize) {
    let marked = text.strip_suffix(" bytes]").and_then(|rest| {
        let at = rest.rfind(MARK)?;
        Some((&text[..at], rest[at + MARK.len()..].parse().ok()?))
    });
    marked.unwrap_or((text, text.len()))
}

fn mark(size: usize) -> String {
    format!("{MARK}{size} bytes]")
}

/// Reads lines and cuts what is too long in them.
#[derive(Debug)]
pub(super) struct Narrowed<R> {
    inner: R,
    lines: Lines,
    /// Whole lines that nobody took yet.
    ready: Vec<u8>,
    taken: usize,
}

impl<R> Narrowed<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, lines: Lines::default(), ready: Vec::new(), taken: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Narrowed<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            let waiting = &this.ready[this.taken..];
            if !waiting.is_empty() {
                let some = waiting.len().min(buffer.remaining());
                buffer.put_slice(&waiting[..some]);
                this.taken += some;
                return Poll::Ready(Ok(()));
            }
            (this.ready, this.taken) = (Vec::new(), 0);
            let mut bytes = [0; 16 * 1024];
            let mut read = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut this.inner).poll_read(context, &mut read))?;
            if read.filled().is_empty() {
                // What stands behind the last line break is no message.
                return Poll::Ready(Ok(()));
            }
            this.lines.push(read.filled(), &mut this.ready);
        }
    }
}

/// Takes bytes as they come and gives out whole lines.
#[derive(Debug, Default)]
struct Lines {
    /// What is kept of the line so far.
    line: Vec<u8>,
    /// How many bytes it has.
    size: usize,
    /// Whether more had to be kept than a line may have.
    over: bool,
    text: Option<Text>,
    outline: Outline,
}

/// A text of a message that is being read.
#[derive(Debug, Default)]
struct Text {
    /// Its bytes so far, as they are once it is read.
    length: usize,
    escape: Escape,
    /// Whether the second half of a character must follow.
    half: bool,
    cut: bool,
}

#[derive(Debug, Default, Clone, Copy)]
enum Escape {
    #[default]
    None,
    Begun,
    /// `\u`, with that many digits so far.
    Unit(u8, u32),
}

impl Lines {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for &byte in bytes {
            if byte == b'\n' {
                std::mem::take(self).end(out);
            } else {
                self.take(byte);
            }
        }
    }

    fn take(&mut self, byte: u8) {
        self.size += 1;
        match &mut self.text {
            None => {
                if byte == b'"' {
                    self.text = Some(Text::default());
                }
                self.outline.outside(byte);
                self.keep(byte);
            }
            Some(text) if byte == b'"' && matches!(text.escape, Escape::None) => {
                let ended = std::mem::take(text);
                self.text = None;
                if ended.cut {
                    mark(ended.length).bytes().for_each(|byte| self.keep(byte));
                }
                self.outline.inside(byte);
                self.keep(byte);
            }
            Some(text) => {
                let kept = text.take(byte);
                self.outline.inside(byte);
                if kept {
                    self.keep(byte);
                }
            }
        }
    }

    fn keep(&mut self, byte: u8) {
        self.over |= self.line.len() >= LINE;
        if !self.over {
            self.line.push(byte);
        }
    }

    fn end(self, out: &mut Vec<u8>) {
        let Self { mut line, size, over, outline, .. } = self;
        if over {
            let Some(instead) = outline.answer(&line, size) else {
                tracing::debug!(size, "a line of an MCP server is too long and answers no request");
                return;
            };
            line = instead.into_bytes();
        }
        if out.is_empty() {
            *out = line;
        } else {
            out.extend_from_slice(&line);
        }
        out.push(b'\n');
    }
}

impl Text {
    /// Takes a byte; tells whether it is kept. A cut never splits a character.
    fn take(&mut self, byte: u8) -> bool {
        let begins = matches!(self.escape, Escape::None) && !self.half && byte & 0xc0 != 0x80;
        self.cut |= begins && self.length >= TEXT;
        match self.escape {
            Escape::None if byte == b'\\' => self.escape = Escape::Begun,
            Escape::None => self.ends_character(1),
            Escape::Begun if byte == b'u' => self.escape = Escape::Unit(0, 0),
            Escape::Begun => self.ends_character(1),
            Escape::Unit(digits, unit) => {
                let unit = unit << 4 | char::from(byte).to_digit(16).unwrap_or(0);
                match (digits, unit) {
                    (0..3, unit) => self.escape = Escape::Unit(digits + 1, unit),
                    (_, 0..0x80) => self.ends_character(1),
                    (_, 0x80..0x800) => self.ends_character(2),
                    (_, 0xd800..0xdc00) => {
                        self.ends_character(2);
                        self.half = true;
                    }
                    (_, 0xdc00..0xe000) => self.ends_character(2),
                    _ => self.ends_character(3),
                }
            }
        }
        !self.cut
    }

    fn ends_character(&mut self, bytes: usize) {
        self.length += bytes;
        (self.escape, self.half) = (Escape::None, false);
    }
}

/// What a message says at its outermost: which request it answers, and how.
#[derive(Debug, Default)]
struct Outline {
    depth: u32,
    /// Whether what follows at the outermost level is a key.
    at_key: bool,
    key: Vec<u8>,
    id: Vec<u8>,
    has: Option<&'static str>,
}

impl Outline {
    fn outside(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => {
                self.depth += 1;
                self.at_key = self.depth == 1;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b',' if self.depth == 1 => {
                self.at_key = true;
                self.key.clear();
            }
            b':' if self.depth == 1 && self.at_key => {
                self.at_key = false;
                match self.key.as_slice() {
                    b"\"result\"" => self.has = Some("result"),
                    b"\"error\"" => self.has = Some("error"),
                    _ => {}
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            byte => self.inside(byte),
        }
    }

    /// Notes a byte of a text, or of another plain value.
    fn inside(&mut self, byte: u8) {
        let noted = match self.depth {
            1 if self.at_key => &mut self.key,
            1 if self.key == b"\"id\"" => &mut self.id,
            _ => return,
        };
        if noted.len() < ID {
            noted.push(byte);
        }
    }

    /// Returns the answer that stands for a message too long to be read: its beginning.
    fn answer(&self, line: &[u8], size: usize) -> Option<String> {
        let id: serde_json::Value = serde_json::from_slice(&self.id).ok()?;
        let begins = String::from_utf8_lossy(&line[..line.len().min(BYTES)]);
        let text = format!("{}{}", cut(&begins, BYTES), mark(size));
        let said = match self.has? {
            "result" => serde_json::json!({ "content": [{ "type": "text", "text": text }] }),
            _ => serde_json::json!({ "code": -32603, "message": text }),
        };
        let mut message = serde_json::json!({ "jsonrpc": "2.0", "id": id });
        message[self.has?] = said;
        Some(message.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Narrows lines that arrive in pieces of some size.
    fn narrowed(lines: &str, piece: usize) -> String {
        let (mut reader, mut out) = (Lines::default(), Vec::new());
        for bytes in lines.as_bytes().chunks(piece) {
            let mut some = Vec::new();
            reader.push(bytes, &mut some);
            out.extend(some);
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn short_lines_pass_as_they_are() {
        let lines =
            "{\"id\": 1, \"result\": {\"a\\\"b\": [\"\\u4e2d\", 1.50]}}\r\nno json \" at all\n\n";
        for piece in [1, 2, 7, lines.len()] {
            assert_eq!(narrowed(lines, piece), lines, "{piece}");
        }
        assert_eq!(narrowed("half a line", 3), "");
    }

    #[test]
    fn long_texts_are_cut_at_a_character_and_say_how_long_they_were() {
        for (letter, written, bytes) in [
            ("é", "é", 2),
            ("中", "\\u4e2d", 3),
            ("😀", "\\ud83d\\ude00", 4),
            ("\"", "\\\"", 1),
            ("𝄞", "𝄞", 4),
        ] {
            let count = 2 * TEXT / bytes + 1;
            let line = format!("{{\"t\":\"{}\",\"id\":7}}\n", written.repeat(count));
            let short = narrowed(&line, 1_000);
            assert!(
                short.len() < (TEXT / bytes + 2) * written.len() + 200,
                "{letter}: {}",
                short.len()
            );
            let message: Value = serde_json::from_str(&short).unwrap();
            assert_eq!(message["id"], 7, "{letter}");
            let (text, size) = whole(message["t"].as_str().unwrap());
            assert_eq!(size, count * bytes, "{letter}");
            assert_eq!(text, letter.repeat(TEXT.div_ceil(bytes)), "{letter}");
        }
    }

    #[test]
    fn a_message_of_many_texts_is_answered_by_its_beginning() {
        let blocks = "{\"type\":\"text\",\"text\":\"a\"},".repeat(LINE / 20);
        for (line, id) in [
            (format!("{{\"id\":4,\"result\":{{\"content\":[{blocks}{{}}],\"id\":9}}}}"), json!(4)),
            (
                format!("{{\"result\":{{\"content\":[{blocks}{{}}]}} , \"id\" : \"x, 1\"}}"),
                json!("x, 1"),
            ),
        ] {
            let read = narrowed(&format!("{line}\nnext\n"), 4_096);
            let (instead, next) = read.split_once('\n').unwrap();
            assert_eq!(next, "next\n");
            let message: Value = serde_json::from_str(instead).unwrap();
            assert_eq!(message["id"], id);
            let (text, size) = whole(message["result"]["content"][0]["text"].as_str().unwrap());
            assert_eq!(size, line.len());
            assert!(line.starts_with(text.trim_end_matches('…')) && text.len() > BYTES / 2);
        }
        // What answers nothing is left out.
        assert_eq!(narrowed(&format!("[{blocks}1]\nnext\n"), 4_096), "next\n");
    }

    #[test]
    fn only_the_mark_of_a_cut_is_one() {
        assert_eq!(whole("plain"), ("plain", 5));
        assert_eq!(whole(&format!("a{}", mark(12))), ("a", 12));
        assert_eq!(whole("7 bytes]"), ("7 bytes]", 8));
    }
}
