//! The economy of windows: what they cost and what an agent can still do from them, beside the policies
//! others use.
//!
//! ```text
//!  record ──► parallel ──┬─► onward   whether an agent could go on: what was asked, what its next message
//!                        │            takes over, what it is about to edit; a token is four bytes
//!                        └─► detail   three ways to charge, text in full, whether what is used later can
//!                                     be seen; tokens are counted
//! ```
//!
//! Both replay the same recorded sessions, and before every message of the model each policy gives its
//! window. They count tokens differently, so each has its own table.

mod detail;
mod onward;
mod parallel;
mod record;

use std::{io::Write, path::PathBuf, process::ExitCode, time::Instant};

use self::record::Recording;
use crate::{data::number, replay::ShareArgs};

/// Flags of `economy`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder that holds the sessions.
    #[arg(long)]
    data: PathBuf,
    /// The budgets to measure under.
    #[arg(long, value_delimiter = ',', default_values_t = [8_000, 16_000, 32_000])]
    budgets: Vec<u64>,
    /// Replays at most so many sessions of each kind for a budget, evenly chosen.
    #[arg(long)]
    most: Option<usize>,
    /// Replays only sessions of these data sets.
    #[arg(long)]
    dataset: Vec<String>,
    /// Measures only the policies whose names begin so, beside the sliding window.
    #[arg(long)]
    only: Option<String>,
    /// Measures only one half of the sessions, 0 or 1, by a hash of their ids.
    #[arg(long, value_parser = clap::value_parser!(u64).range(0..=1))]
    half: Option<u64>,
    #[command(flatten)]
    shares: ShareArgs,
}

impl Args {
    fn takes(&self, recording: &Recording) -> bool {
        let is_of_half = self.half.is_none_or(|half| number(&recording.session_id) % 2 == half);
        is_of_half && (self.dataset.is_empty() || self.dataset.contains(&recording.dataset))
    }

    fn wants(&self, policy: &str) -> bool {
        let named = |only: &String| policy.starts_with(only.as_str());
        self.only.as_ref().is_none_or(named)
    }

    /// Chooses evenly among the sessions of a kind that are long enough.
    fn sample<'a, T>(&self, long: Vec<&'a T>) -> Vec<&'a T> {
        match self.most {
            Some(most) if long.len() > most => {
                (0..most).map(|at| long[at * long.len() / most]).collect()
            }
            _ => long,
        }
    }
}

/// Measures and prints the tables.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let begun = Instant::now();
    let mut recordings = record::read(&args.data)?;
    recordings.retain(|recording| args.takes(recording));
    onward::write(args, &recordings, out)?;
    detail::write(args, &recordings, out)?;
    writeln!(out, "\nWall time: {:.0} s.", begun.elapsed().as_secs_f64())?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(session_id: &str, dataset: &str) -> Recording {
        let stats = r#"{"tokens_o200k":1}"#;
        let ids = format!(r#""session_id":"{session_id}","dataset":"{dataset}""#);
        Recording::parse(format!(r#"{{{ids},"stats":{stats},"messages":[]}}"#)).unwrap()
    }

    fn args(flags: &[&str]) -> Args {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            args: Args,
        }
        let line = ["economy", "--data", "."].iter().chain(flags);
        <Line as clap::Parser>::parse_from(line).args
    }

    #[test]
    fn flags_choose_sessions_and_policies() {
        let all: Vec<Recording> = (0..20).map(|n| recording(&format!("s{n}"), "one")).collect();
        let count = |flags: &[&str]| {
            let args = args(flags);
            all.iter().filter(|it| args.takes(it)).count()
        };
        assert_eq!(count(&["--half", "0"]) + count(&["--half", "1"]), 20);
        assert!(count(&["--half", "0"]) > 0 && count(&["--half", "1"]) > 0);
        assert_eq!((count(&["--dataset", "one"]), count(&["--dataset", "two"])), (20, 0));
        assert!(args(&["--only", "fold"]).wants("fold oldest to 0.5"));
        assert!(!args(&["--only", "fold"]).wants("ours"));
        let long: Vec<u64> = (0..10).collect();
        let sample = |flags: &[&str]| args(flags).sample(long.iter().collect());
        assert_eq!(sample(&["--most", "3"]), [&0, &3, &6]);
        assert_eq!(sample(&["--most", "10"]).len(), 10);
    }
}
