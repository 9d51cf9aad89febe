//! Reads input files and standard input, within limits.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use contexture_core::{
    ErrorKind,
    transcript::{BoundedLines, TranscriptProblem},
};

use crate::error::{Result, Stop};

/// The limit for messages and texts, in bytes.
pub(crate) const MOST: u64 = 64 * 1024 * 1024;

/// The limit for a document that holds a whole session, in bytes.
pub(crate) const MOST_OF_A_DOCUMENT: u64 = 4 * 1024 * 1024 * 1024;

/// How many bytes to read at a time when not everything is kept.
const PIECE: usize = 64 * 1024;

/// Reads a text, which must be UTF-8; `-` is standard input.
pub(crate) fn text(path: &Path) -> Result<String> {
    let bytes = bytes(path, MOST)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("{} is not valid UTF-8 at byte {at}", shown(path));
        Stop::invalid(message, "convert it to UTF-8 first, for example with iconv")
    })
}

/// Reads bytes; `-` is standard input.
pub(crate) fn bytes(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    read.map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > most {
        return Err(too_large(path, most));
    }
    Ok(bytes)
}

/// Reads a transcript; `-` is standard input. Lines that are too long are not kept in memory; they are
/// returned as problems.
pub(crate) fn transcript(path: &Path) -> Result<(Vec<u8>, Vec<TranscriptProblem>)> {
    let failed = |error: io::Error| unreadable(path, &error);
    let mut file = open(path).map_err(failed)?;
    let limit = usize::try_from(MOST).unwrap_or(usize::MAX);
    let mut lines = BoundedLines::new(limit);
    let mut piece = vec![0; PIECE];
    loop {
        let count = match file.read(&mut piece) {
            Ok(0) => return Ok(lines.finish()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error)),
        };
        lines.push(&piece[..count]);
        if lines.held() as u64 > MOST_OF_A_DOCUMENT {
            return Err(too_large(path, MOST_OF_A_DOCUMENT));
        }
    }
}

fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    Ok(if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(path)?) })
}

fn too_large(path: &Path, most: u64) -> Stop {
    let message = format!("{} is larger than the limit of {most} bytes", shown(path));
    Stop::failed(ErrorKind::TooLarge, message, "split it into several files")
}

fn unreadable(path: &Path, error: &io::Error) -> Stop {
    let hint = "pass a file that you can read, or - for standard input";
    match error.kind() {
        io::ErrorKind::NotFound => {
            Stop::failed(ErrorKind::NotFound, format!("file {} not found", shown(path)), hint)
        }
        _ => Stop::invalid(format!("cannot read {}: {error}", shown(path)), hint),
    }
}

fn shown(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}
