//! The command line end to end: one binary, a module per topic, each test in a folder of its own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agent_as;
mod agent_clear;
mod agent_context;
mod agent_errors;
mod agent_files;
mod agent_kill;
mod agent_mcp;
mod agent_run;
mod agent_seed;
mod agent_settings_reach;
mod agent_speech;
mod agent_stop;
mod agent_store_reach;
mod agent_support;
mod agents;
mod agents_doc;
mod bad_input;
mod bad_stores;
mod chat;
mod chat_script;
mod chat_support;
mod chat_terminal;
mod documents;
mod fold;
mod help;
mod history;
mod import;
mod init;
mod output;
mod page_edits;
mod page_reads;
mod press;
mod processes;
mod read_only;
mod readme;
mod segments;
mod sessions;
mod store;
mod store_ring;
mod support;
mod terminal;
mod tour;
mod turns;
mod window;
