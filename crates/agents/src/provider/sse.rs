//! Server-sent events: bytes in, the data of each event out.
//!
//! Bytes may be cut anywhere, also within a character or a line break. Comments, names and unknown
//! fields are left out: every API we read says in its data what an event is.

/// Reads events out of a stream of bytes.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    /// The data of the event being read.
    data: Option<Vec<u8>>,
    /// Whether a line feed belongs to the carriage return before it.
    after_return: bool,
}

impl Events {
    /// Reads more bytes, and returns the data of the events they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut complete = Vec::new();
        for &byte in bytes {
            let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => complete.extend(self.end_line()),
                byte => self.line.push(byte),
            }
        }
        complete
    }

    /// Ends the stream: some servers leave out the line break behind the last event.
    pub(super) fn end(&mut self) -> Option<Vec<u8>> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.data.take()
    }

    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return self.data.take();
        }
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line);
        let value = match line.strip_prefix(b"data") {
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => value,
            Some([]) => b"",
            _ => return None,
        };
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "\u{feff}data: a\r\n\r\n: comment\nevent: x\nid: 1\ndata: é𝄞\rdata:  b\n\n\
        retry: 5\n\ndata\n\ndatabase: no\ndata:{\"c\":1}\n\ndata: [DONE]";
    const EXPECTED: [&str; 5] = ["a", "é𝄞\n b", "", "{\"c\":1}", "[DONE]"];

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let bytes = STREAM.as_bytes();
        for size in 1..=bytes.len() {
            let mut events = Events::default();
            let mut read: Vec<Vec<u8>> =
                bytes.chunks(size).flat_map(|chunk| events.push(chunk)).collect();
            read.extend(events.end());
            let read: Vec<&str> = read.iter().map(|it| std::str::from_utf8(it).unwrap()).collect();
            assert_eq!(read, EXPECTED, "chunks of {size}");
        }
    }

    #[test]
    fn an_empty_stream_has_no_event() {
        assert_eq!(Events::default().end(), None);
        let mut events = Events::default();
        assert!(events.push(b"\n\n\r\n: hi\n\n").is_empty());
        assert_eq!(events.end(), None);
    }
}
