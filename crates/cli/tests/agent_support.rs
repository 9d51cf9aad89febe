//! A project with agents, and a provider on loopback that they ask.

use std::{collections::BTreeMap, fs};

use assert_cmd::Command;
use contexture_testkit::provider::{HttpRequest, Protocol, ProviderServer, Reply};
use serde_json::{Value, json};

use crate::support::{Ran, Sandbox};

/// The key every request must carry.
const KEY: &str = "loopback-key";

pub(crate) const PROTOCOLS: [Protocol; 3] =
    [Protocol::OpenAi, Protocol::Anthropic, Protocol::Gemini];

/// The seed's two agents, word for word (M-29).
const CODE_REVIEWER: &str = "\
---
kind: agent
name: code-reviewer
title: Code Reviewer
contextMode: isolated  # 独立审查，不需要历史
tools:
  allow: [read_file, grep]
---
Analyze code quality and identify issues.
";

const BUG_FIXER: &str = "\
---
kind: agent
name: bug-fixer
title: Bug Fixer
contextMode: shared  # 共享上下文，能看到 code-reviewer 的结果
tools:
  allow: [read_file, edit_file]
---
Fix bugs based on code review feedback.
You can see the conversation history to understand what needs to be fixed.
";

pub(crate) const AGENTS: [(&str, &str); 2] =
    [("code-reviewer", CODE_REVIEWER), ("bug-fixer", BUG_FIXER)];

/// A project whose agents ask a provider on loopback.
pub(crate) struct Stage {
    pub(crate) sandbox: Sandbox,
    pub(crate) server: ProviderServer,
}

impl Stage {
    /// Makes a project with the seed's agents and a session, and a provider that gives these replies.
    pub(crate) fn new(protocol: Protocol, replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::with(protocol, ProviderServer::scripted(replies))
    }

    /// Makes a project that speaks OpenAI's way.
    pub(crate) fn openai(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::new(Protocol::OpenAi, replies)
    }

    pub(crate) fn with(protocol: Protocol, server: ProviderServer) -> Self {
        let stage = Self { sandbox: Sandbox::new(), server: server.requiring_key(KEY) };
        fs::create_dir_all(stage.sandbox.path().join("home")).unwrap();
        fs::create_dir_all(stage.sandbox.path().join(".gemini/agents")).unwrap();
        for (name, text) in AGENTS {
            stage.agent(name, text);
        }
        stage.settings(&json!({ "agents": { "defaultModel": model(protocol) } }));
        stage
    }

    /// Writes an agent file where the seed keeps them.
    pub(crate) fn agent(&self, name: &str, text: &str) {
        self.sandbox.write(&format!(".gemini/agents/{name}.md"), text);
    }

    /// Writes the project's settings.
    pub(crate) fn settings(&self, settings: &Value) {
        self.sandbox.write(".contexture/settings.json", settings.to_string());
    }

    /// Prepares the program with the provider and a home of its own.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.command(args);
        for (name, value) in self.environment() {
            command.env(name, value);
        }
        command
    }

    /// Returns the environment in which the provider is found.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let home = self.sandbox.path().join("home").display().to_string();
        vec![
            ("XDG_CONFIG_HOME", format!("{home}/.config")),
            ("HOME", home),
            ("OPENAI_BASE_URL", format!("{}/v1", self.server.url())),
            ("ANTHROPIC_BASE_URL", self.server.url()),
            ("GOOGLE_GEMINI_BASE_URL", self.server.url()),
            ("OPENAI_API_KEY", KEY.to_owned()),
            ("ANTHROPIC_API_KEY", KEY.to_owned()),
            ("GEMINI_API_KEY", KEY.to_owned()),
        ]
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// Runs a command that must succeed; returns what it printed.
    pub(crate) fn text(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.out, ran.err);
        ran.out
    }

    /// Runs a command that must succeed with `--json`; returns what it printed.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(&[&["--json"], args].concat());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}: {}", ran.out);
        serde_json::from_str(&ran.out).unwrap()
    }

    /// Runs a command that must be refused; returns the error's kind and message.
    pub(crate) fn refused(&self, args: &[&str]) -> (String, String) {
        self.run(&[&["--json"], args].concat()).into_refusal(args)
    }

    /// Returns the requests so far, which must have broken no rule.
    pub(crate) fn requests(&self) -> Vec<HttpRequest> {
        assert_eq!(self.server.violations(), Vec::<String>::new());
        self.server.requests()
    }

    /// Returns the newest request as JSON text in which words of any script stand as they are.
    pub(crate) fn last_request(&self) -> String {
        self.requests().pop().unwrap().json().to_string()
    }

    /// Returns what the calls that the newest request answers were answered, by their ids.
    pub(crate) fn answers(&self) -> BTreeMap<String, String> {
        let body = self.requests().pop().unwrap().json();
        let messages = body["messages"].as_array().unwrap();
        let tools = messages.iter().filter(|message| message["role"] == "tool");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        tools.map(|tool| (text(&tool["tool_call_id"]), text(&tool["content"]))).collect()
    }

    /// Names the tools that the newest request offers.
    pub(crate) fn offered(&self, protocol: Protocol) -> Vec<String> {
        let body = self.requests().pop().unwrap().json();
        let tools = match protocol {
            Protocol::OpenAi | Protocol::Anthropic => body["tools"].clone(),
            Protocol::Gemini => body["tools"][0]["functionDeclarations"].clone(),
        };
        let name = |tool: &Value| match protocol {
            Protocol::OpenAi => tool["function"]["name"].as_str().unwrap().to_owned(),
            Protocol::Anthropic | Protocol::Gemini => tool["name"].as_str().unwrap().to_owned(),
        };
        tools.as_array().unwrap().iter().map(name).collect()
    }
}

pub(crate) fn model(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::OpenAi => "openai/gpt-4o",
        Protocol::Anthropic => "anthropic/sonnet",
        Protocol::Gemini => "gemini-2.0-flash",
    }
}

/// Waits until a process is gone: killing is asked for, and the system takes a moment to do it. One that
/// has ended may still be listed.
pub(crate) fn is_gone(process: &str) -> bool {
    let runs = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", process.trim()));
        stat.is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
    };
    (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        !runs()
    })
}
