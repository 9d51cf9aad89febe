//! Taking a transcript in piece by piece, without ever holding a line that is too long.

use super::TranscriptProblem;

/// How much of a line is looked at to tell a document from a line of one.
const HEAD: usize = 4_096;

/// A transcript that is being read.
///
/// A line over the limit is counted, reported by its number and left out: only its end stays, so that
/// the lines after it keep their numbers. A document, which stands on one line as a whole, is kept
/// whatever its length: an array, or an object with `messages`. So is UTF-16, whose lines are not told
/// by bytes.
#[derive(Debug)]
pub struct BoundedLines {
    limit: usize,
    kept: Vec<u8>,
    /// Where the present line begins in what is kept.
    begin: usize,
    /// How many bytes of the present line are left out so far; none while it is kept.
    left_out: Option<u64>,
    lines_before: u64,
    problems: Vec<TranscriptProblem>,
}

impl BoundedLines {
    /// Begins with nothing.
    pub fn new(limit: usize) -> Self {
        let (kept, problems) = (Vec::new(), Vec::new());
        Self { limit, kept, begin: 0, left_out: None, lines_before: 0, problems }
    }

    /// Takes in the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            match &mut self.left_out {
                Some(count) => *count += part.len() as u64,
                None => self.keep(part),
            }
            if part.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    /// Returns what is kept, and which lines are not.
    pub fn finish(mut self) -> (Vec<u8>, Vec<TranscriptProblem>) {
        self.report();
        (self.kept, self.problems)
    }

    /// Returns how many bytes are held.
    pub fn held(&self) -> usize {
        self.kept.len()
    }

    fn keep(&mut self, part: &[u8]) {
        self.kept.extend_from_slice(part);
        let length = self.kept.len() - self.begin;
        if length > self.limit && !self.is_document() {
            self.left_out = Some(length as u64);
            self.kept.truncate(self.begin);
        }
    }

    fn end_line(&mut self) {
        self.report();
        if self.left_out.take().is_some() {
            self.kept.push(b'\n');
        }
        self.begin = self.kept.len();
        self.lines_before += 1;
    }

    fn report(&mut self) {
        if let Some(bytes) = self.left_out {
            let limit = self.limit;
            let what =
                format!("left out: the line has {bytes} bytes, more than the limit of {limit}");
            self.problems.push(TranscriptProblem { line: self.lines_before + 1, what });
        }
    }

    /// Tells whether the present line seems to be all there is: nothing stands before it, and it begins
    /// like a document.
    fn is_document(&self) -> bool {
        if self.kept.starts_with(&[0xff, 0xfe]) || self.kept.starts_with(&[0xfe, 0xff]) {
            return true;
        }
        let text = self.kept.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.kept);
        let mark = self.kept.len() - text.len();
        let (before, line) = text.split_at(self.begin.saturating_sub(mark));
        let line = line.trim_ascii_start();
        let head = &line[..line.len().min(HEAD)];
        let has_messages = head.windows(10).any(|key| key == b"\"messages\"");
        before.trim_ascii().is_empty()
            && (line.starts_with(b"[") || (line.starts_with(b"{") && has_messages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &[u8], piece: usize) -> (Vec<u8>, Vec<TranscriptProblem>, usize) {
        let mut lines = BoundedLines::new(100);
        let mut most = 0;
        for piece in text.chunks(piece) {
            lines.push(piece);
            most = most.max(lines.held());
        }
        let (kept, problems) = lines.finish();
        (kept, problems, most)
    }

    #[test]
    fn a_line_that_is_too_long_is_reported_and_never_held() {
        let long = format!("{{\"x\":\"{}\"}}\n", "y".repeat(10_000));
        let text = format!("{{\"a\":1}}\n\n{long}{{\"b\":2}}\r\n{}", long.trim_end());
        for piece in [1, 7, 64] {
            let (kept, problems, most) = taken(text.as_bytes(), piece);
            assert_eq!(String::from_utf8(kept).unwrap(), "{\"a\":1}\n\n\n{\"b\":2}\r\n");
            let lines: Vec<u64> = problems.iter().map(|problem| problem.line).collect();
            assert_eq!(lines, [3, 5]);
            assert!(problems[0].what.contains("10009 bytes"), "{}", problems[0]);
            assert!(most <= 100 + 64 + 20, "{most} bytes were held");
        }
    }

    #[test]
    fn documents_and_utf_16_are_kept() {
        let text = "x".repeat(1_000);
        for whole in [
            format!("[{{\"role\":\"user\",\"content\":\"{text}\"}}]").into_bytes(),
            format!("\u{feff}\n {{\"messages\":[\"{text}\"]}}").into_bytes(),
            [b"\xff\xfe".to_vec(), text.bytes().flat_map(|byte| [byte, 0]).collect()].concat(),
        ] {
            let (kept, problems, _) = taken(&whole, 64);
            assert!(kept == whole && problems.is_empty(), "{problems:?}");
        }
    }
}
