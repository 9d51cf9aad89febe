//! Programs that replay recorded agent sessions through the engine.
//!
//! ```text
//!  data ──► replay ──┬─► economy   what windows cost, show and keep visible, and whether an agent could
//!                    │             go on from them, beside other policies
//!                    └─► check     whether every window is right, in every provider format
//!                        latency   how long a window takes, in sessions it makes itself
//!                        sessions  what many open sessions take in memory
//!                        hot       what is done with every request: windows sent, steps of runs, and
//!                                  windows while others write
//!                        damage    what is read from a store that is damaged, at every place
//!  data ──────────────► agent_files   how agent files of all dialects are read
//!  data ──────────────► recall        how well questions find the turns that answer them
//! ```
//!
//! The first two read a folder of sessions, one a line. All print to standard output. They are for
//! people who work on the engine and no part of what is published.

mod agent_files;
mod check;
mod damage;
mod data;
mod economy;
mod hot;
mod latency;
mod recall;
mod replay;
mod sessions;

use std::{
    io::{BufWriter, Write},
    process::ExitCode,
};

use clap::Parser;

/// Replays recorded agent sessions through the engine.
#[derive(Debug, Parser)]
#[command(name = "contexture-measure")]
enum Command {
    /// Compares what windows cost and show, and whether an agent could go on from them, with other
    /// policies, as Markdown tables.
    Economy(economy::Args),
    /// Verifies every window of every session in every provider format.
    Check(check::Args),
    /// Measures windows and folds in sessions of ten thousand and a million pages.
    Latency(latency::Args),
    /// Measures what many open sessions take in memory, as a Markdown table.
    Sessions(sessions::Args),
    /// Measures what is done with every request, on SQLite.
    Hot(hot::Args),
    /// Damages a SQLite store at every place and counts what is read from it, as a Markdown table.
    Damage(damage::Args),
    /// Reads agent files of all dialects and counts what became of them, as a Markdown table.
    AgentFiles(agent_files::Args),
    /// Measures how well questions find the turns that answer them, as Markdown tables.
    Recall(recall::Args),
    /// Measures one window in a process of its own.
    #[command(hide = true)]
    LatencyChild {
        /// The session's file.
        path: std::path::PathBuf,
    },
    /// Measures one way to have sessions open in a process of its own.
    #[command(hide = true)]
    SessionsChild {
        /// The store's file.
        path: std::path::PathBuf,
        /// Which way.
        way: sessions::Way,
        /// How many sessions.
        sessions: usize,
    },
}

fn main() -> anyhow::Result<ExitCode> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let code = match Command::parse() {
        Command::Economy(args) => economy::run(&args, &mut out)?,
        Command::Check(args) => check::run(&args, &mut out)?,
        Command::Latency(args) => latency::run(&args, &mut out)?,
        Command::Sessions(args) => sessions::run(&args, &mut out)?,
        Command::Hot(args) => hot::run(&args, &mut out)?,
        Command::Damage(args) => damage::run(&args, &mut out)?,
        Command::AgentFiles(args) => agent_files::run(&args, &mut out)?,
        Command::Recall(args) => recall::run(&args, &mut out)?,
        Command::LatencyChild { path } => latency::child(&path, &mut out)?,
        Command::SessionsChild { path, way, sessions } => {
            sessions::child(&path, way, sessions, &mut out)?
        }
    };
    out.flush()?;
    Ok(code)
}
