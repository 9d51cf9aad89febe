//! Long output in a terminal goes through a pager, as in git.
//!
//! `CONTEXTURE_PAGER`, else `PAGER`, names the pager; empty or `cat` turns it off. The default is `less`,
//! with options to print short texts directly, to show colours and to leave the text on the screen. If
//! no pager can be started, the text is printed as it is.

use std::{
    env,
    ffi::OsString,
    io::{self, Write as _},
    process::{Child, Command, Stdio},
};

use tokio::{runtime::Builder, signal};

use crate::terminal::TerminalWriter;

/// The options of `less`, unless the user sets others.
const LESS: &str = "FRX";

/// Returns whether a text has more lines than the screen, counting long lines as they wrap.
pub(crate) fn is_long(text: &str) -> bool {
    let Some((width, height)) = terminal_size::terminal_size_of(io::stdout()) else { return false };
    lines_on_screen(text, usize::from(width.0)) >= usize::from(height.0)
}

fn lines_on_screen(text: &str, width: usize) -> usize {
    let width = width.max(1);
    text.lines().map(|line| line.chars().count().div_ceil(width).max(1)).sum()
}

/// Shows a text in the pager and waits until it ends; `false` if there is no pager.
pub(crate) fn show(text: &str) -> io::Result<bool> {
    let Some(mut pager) = start() else { return Ok(false) };
    if let Some(input) = pager.stdin.take() {
        let mut input = TerminalWriter::through_program(input);
        match input.write_all(text.as_bytes()).and_then(|()| input.flush()) {
            // The reader closed the pager early.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            written => written?,
        }
    }
    pager.wait()?;
    Ok(true)
}

fn start() -> Option<Child> {
    let pager = pager(env::var_os("CONTEXTURE_PAGER"), env::var_os("PAGER"))?;
    // A shell splits the options, and its exit code says whether the program exists.
    let mut command = Command::new("sh");
    command.arg("-c").arg(&pager).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    let program = pager.to_string_lossy().split_whitespace().next()?.to_owned();
    let there = Command::new("sh")
        .args(["-c", "command -v \"$1\"", "sh", &program])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !there.is_ok_and(|status| status.success()) {
        return None;
    }
    outlive_interrupts();
    command.spawn().ok()
}

/// Returns the pager to use, if any.
fn pager(own: Option<OsString>, common: Option<OsString>) -> Option<OsString> {
    let named = own.or(common).unwrap_or_else(|| "less".into());
    let is_off = named.to_str().is_some_and(|name| matches!(name.trim(), "" | "cat"));
    (!is_off).then_some(named)
}

/// Leaves Ctrl-C to the pager from now on: it ends a search there, and must not end this program before
/// the pager has restored the terminal.
fn outlive_interrupts() {
    if let Ok(runtime) = Builder::new_current_thread().enable_all().build() {
        runtime.block_on(async {
            let mut pressed = Box::pin(signal::ctrl_c());
            let _ = futures::poll!(pressed.as_mut());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_pager_is_taken() {
        let some = |name: &str| Some(OsString::from(name));
        assert_eq!(pager(None, None), some("less"));
        assert_eq!(pager(None, some("more -s")), some("more -s"));
        assert_eq!(pager(some("bat"), some("more")), some("bat"));
        assert_eq!(pager(some(""), some("more")), None);
        assert_eq!(pager(some("cat"), None), None);
        assert_eq!(pager(None, some(" cat ")), None);
    }

    #[test]
    fn lines_are_counted_as_they_wrap() {
        assert_eq!(lines_on_screen("", 80), 0);
        assert_eq!(lines_on_screen("a\n\nb", 80), 3);
        assert_eq!(lines_on_screen(&"x".repeat(161), 80), 3);
        assert_eq!(lines_on_screen("ab", 0), 2);
    }
}
