//! A script that runs a server: orders go in, a line comes back for each.

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread::{self, JoinHandle},
};

/// A running script. It ends with its server when this is dropped.
pub(super) struct Script {
    name: &'static str,
    child: Child,
    /// Taken when the script is to end.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// Reads what goes to stderr, so that the script never waits for a reader.
    complaints: Option<JoinHandle<String>>,
}

impl Script {
    /// Starts `scripts/NAME`.
    pub(super) fn start(name: &'static str, options: &[&str]) -> Self {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
        let project = project.expect("crates/testkit lies two deep");
        let mut child = Command::new(project.join("scripts").join(name))
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("scripts/{name} does not run: {error}"));
        let orders = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut stderr = child.stderr.take().expect("stderr is piped");
        let complaints = thread::spawn(move || {
            let mut bytes = Vec::new();
            // What was read before a failure is still worth telling.
            stderr.read_to_end(&mut bytes).ok();
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self { name, child, orders, answers, complaints: Some(complaints) }
    }

    /// Returns the next line the script prints.
    pub(super) fn line(&mut self) -> String {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(read) if read > 0 => line.trim_end().to_owned(),
            Ok(_) | Err(_) => self.fail(),
        }
    }

    /// Gives an order and waits for this answer.
    pub(super) fn order(&mut self, order: &str, answer: &str) {
        let sent = self.orders.as_mut().map(|orders| writeln!(orders, "{order}"));
        if !matches!(sent, Some(Ok(()))) {
            self.fail();
        }
        let line = self.line();
        assert_eq!(line, answer, "scripts/{} was told '{order}'", self.name);
    }

    fn fail(&mut self) -> ! {
        let status = self.end();
        let said = self.complaints.take().and_then(|complaints| complaints.join().ok());
        panic!("scripts/{} ended with {status}: {}", self.name, said.unwrap_or_default())
    }

    /// Lets the script end, waits for it and returns how it went.
    fn end(&mut self) -> String {
        drop(self.orders.take());
        self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.end();
    }
}
