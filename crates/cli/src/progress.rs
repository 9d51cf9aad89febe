//! The progress line of long work: one for all commands, in a terminal only.
//!
//! A separate thread writes it, because the work itself may not return for a long time. It appears after
//! a second, so that a quick command shows nothing, and is cleared before anything else is written.

use std::{
    io::{self, Write as _},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{
    printer::Paint,
    terminal::{BEGIN_LINE, TerminalWriter},
};

/// How long work may take before the line appears.
const QUICK: Duration = Duration::from_secs(1);

/// How often the line is written again.
const TICK: Duration = Duration::from_millis(200);

/// Work that is shown until this is dropped.
pub(crate) struct Progress {
    doing: Arc<Mutex<String>>,
    /// Dropped to end the line.
    ends: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts to show on standard error what is being done.
    pub(crate) fn begin(doing: &str, paint: Paint) -> Self {
        let doing = Arc::new(Mutex::new(doing.to_owned()));
        let (ends, ended) = mpsc::channel();
        let shown = doing.clone();
        let thread = thread::spawn(move || {
            let begun = Instant::now();
            let mut terminal = TerminalWriter::new(io::stderr());
            let mut is_shown = false;
            // A line that cannot be written is left out.
            let mut write = |text: &str| {
                let _ = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
            };
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let doing = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let Some(line) = line(&doing, begun.elapsed()) {
                    write(&format!("{BEGIN_LINE}{}", paint.dim(line)));
                    is_shown = true;
                }
            }
            if is_shown {
                write(BEGIN_LINE);
            }
        });
        Self { doing, ends: Some(ends), thread: Some(thread) }
    }

    /// Changes what is shown as being done.
    pub(crate) fn set(&self, doing: &str) {
        doing.clone_into(&mut self.doing.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.ends = None;
        if let Some(thread) = self.thread.take() {
            // The thread returns nothing of interest.
            let _ = thread.join();
        }
    }
}

/// Returns the line for work that has taken this long; none while it is quick.
fn line(doing: &str, taken: Duration) -> Option<String> {
    (taken >= QUICK).then(|| format!("{doing} … {} s", taken.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_work_shows_nothing() {
        assert_eq!(line("checking", Duration::from_millis(999)), None);
        assert_eq!(line("checking", Duration::from_millis(2_100)).unwrap(), "checking … 2 s");
    }
}
