//! Reads input files and standard input, within limits.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use contexture_core::ErrorKind;

use crate::error::{Result, Stop};

/// The most that is read of messages, texts and documents, in bytes.
pub(crate) const MOST: u64 = 64 * 1024 * 1024;

/// The most that is read of a document to load: a whole session.
pub(crate) const MOST_OF_A_DOCUMENT: u64 = 4 * 1024 * 1024 * 1024;

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
    let read = if path == Path::new("-") {
        io::stdin().take(most + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > most {
        let message = format!("{} has more than {most} bytes, the most that is read", shown(path));
        return Err(Stop::failed(ErrorKind::TooLarge, message, "split it into several files"));
    }
    Ok(bytes)
}

fn unreadable(path: &Path, error: &io::Error) -> Stop {
    let hint = "name a file that can be read, or - for standard input";
    match error.kind() {
        io::ErrorKind::NotFound => {
            Stop::failed(ErrorKind::NotFound, format!("file {} not found", shown(path)), hint)
        }
        _ => Stop::invalid(format!("{} cannot be read: {error}", shown(path)), hint),
    }
}

fn shown(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}
