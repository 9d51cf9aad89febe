//! A project with the seed's agents, a provider on loopback, and a terminal in which `chat` runs.

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    os::fd::AsFd as _,
    process::Child,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use contexture_testkit::provider::{Protocol, ProviderServer, Reply};
use pty_process::{Size, blocking};

use crate::{
    agent_support::AGENTS,
    support::{Ran, Sandbox},
};

/// How long a test waits for what it knows must come: a failure, never a measure.
const PATIENCE: Duration = Duration::from_secs(60);

/// A project without a session, whose agents ask a provider on loopback.
pub(crate) struct Room {
    pub(crate) sandbox: Sandbox,
    pub(crate) server: ProviderServer,
    pub(crate) protocol: Protocol,
}

impl Room {
    pub(crate) fn new(protocol: Protocol, replies: impl IntoIterator<Item = Reply>) -> Self {
        let server = ProviderServer::scripted(replies).requiring_key("loopback-key");
        let room = Self { sandbox: Sandbox::empty(), server, protocol };
        fs::create_dir_all(room.sandbox.path().join(".gemini/agents")).unwrap();
        for (name, text) in AGENTS {
            room.sandbox.write(&format!(".gemini/agents/{name}.md"), text);
        }
        room
    }

    /// Returns the environment in which the provider is found, and nothing of this machine.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let home = self.sandbox.path().join("home").display().to_string();
        let url = self.server.url();
        let key = "loopback-key".to_owned();
        vec![
            ("XDG_CONFIG_HOME", format!("{home}/config")),
            ("XDG_STATE_HOME", format!("{home}/state")),
            ("HOME", home),
            ("TERM", "xterm".to_owned()),
            ("OPENAI_BASE_URL", format!("{url}/v1")),
            ("ANTHROPIC_BASE_URL", url.clone()),
            ("GOOGLE_GEMINI_BASE_URL", url),
            ("OPENAI_API_KEY", key.clone()),
            ("ANTHROPIC_API_KEY", key.clone()),
            ("GEMINI_API_KEY", key),
        ]
    }

    pub(crate) fn model(&self) -> &'static str {
        match self.protocol {
            Protocol::OpenAi => "openai/gpt-4o",
            Protocol::Anthropic => "anthropic/claude-sonnet-4-5",
            Protocol::Gemini => "gemini/gemini-2.0-flash",
        }
    }

    /// Runs `chat` on lines that are piped to it.
    pub(crate) fn script(&self, flags: &[&str], lines: impl Into<Vec<u8>>) -> Ran {
        let args = [&["chat", "--model", self.model()], flags].concat();
        let mut command = self.sandbox.command(&args);
        for (name, value) in self.environment() {
            command.env(name, value);
        }
        Ran::of(command.write_stdin(lines))
    }

    /// Opens a terminal in which `chat` runs.
    pub(crate) fn chat(&self, flags: &[&str]) -> Terminal {
        self.terminal(&[&["chat", "--model", self.model()], flags].concat(), &[])
    }

    /// Opens a terminal in which a command runs.
    pub(crate) fn terminal(&self, args: &[&str], environment: &[(&str, &str)]) -> Terminal {
        let program = assert_cmd::cargo::cargo_bin!("contexture");
        let command = blocking::Command::new(program)
            .args(args)
            .env_clear()
            .env("CONTEXTURE_PAGER", "")
            .envs(self.environment())
            .envs(environment.iter().copied())
            .env("TMPDIR", self.sandbox.path())
            .current_dir(self.sandbox.path());
        Terminal::open(command)
    }

    /// Returns the bodies of the requests so far as JSON text; they must have broken no rule.
    pub(crate) fn requests(&self) -> Vec<String> {
        assert_eq!(self.server.violations(), Vec::<String>::new());
        self.server.requests().iter().map(|request| request.json().to_string()).collect()
    }
}

/// A terminal with a program in it: what is typed goes in, what it shows is kept.
pub(crate) struct Terminal {
    pty: blocking::Pty,
    child: Child,
    shown: Receiver<Vec<u8>>,
    /// Everything shown so far.
    screen: Vec<u8>,
    /// How much of it was waited for.
    seen: usize,
}

impl Terminal {
    fn open(command: blocking::Command) -> Self {
        let (pty, pts) = blocking::open().unwrap();
        // Wide enough that nothing wraps.
        pty.resize(Size::new(50, 500)).unwrap();
        let mut reader = File::from(pty.as_fd().try_clone_to_owned().unwrap());
        let child = command.spawn(pts).unwrap();
        let (sender, shown) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = [0; 4_096];
            // A terminal whose program is gone says so with an error.
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { pty, child, shown, screen: Vec::new(), seen: 0 }
    }

    /// Types text as it is.
    pub(crate) fn keys(&mut self, text: &str) {
        (&self.pty).write_all(text.as_bytes()).unwrap();
    }

    /// Waits for the prompt, types a line and sends it off.
    pub(crate) fn enter(&mut self, line: &str) {
        self.expect("> ");
        self.keys(line);
        self.keys("\r");
    }

    /// Waits until a text is shown after what was waited for before; returns what came before it.
    pub(crate) fn expect(&mut self, text: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let rest = &self.screen[self.seen..];
            if let Some(at) = rest.windows(text.len()).position(|it| it == text.as_bytes()) {
                let before = String::from_utf8_lossy(&rest[..at]).into_owned();
                self.seen += at + text.len();
                return before;
            }
            match self.shown.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.screen.extend(bytes),
                Err(error) => panic!("{text:?} was not shown ({error}):\n{}", self.text()),
            }
        }
    }

    /// Waits until the program has ended; returns its exit code.
    pub(crate) fn end(&mut self) -> i32 {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.shown.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.screen.extend(bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it did not end:\n{}", self.text()),
            }
        }
        self.child.wait().unwrap().code().expect("the program was not killed")
    }

    /// Returns everything shown so far.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.screen).into_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
