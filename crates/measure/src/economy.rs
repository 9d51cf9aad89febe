//! The economy of windows: what they cost, what they show in full, and whether what is used later
//! can still be seen, beside the policies others use.
//!
//! Each session that is larger than the budget is replayed; before every message of the model a
//! request is due, and every policy makes its own. A request is charged three ways ([`charge`]);
//! its detail is the original text that stands in it; later use is the share of strings the model
//! then uses that can still be seen, among those that stood in something no longer shown in full.

mod charge;
mod meter;
mod ours;
mod policy;
mod strings;
mod table;
mod talk;

use std::{io::Write, path::PathBuf, process::ExitCode, sync::Arc, time::Instant};

use contexture_core::window::{count::TokenCounter, fold::Shares, provider::ProviderFormat};
use futures::executor::block_on;

use crate::{
    data::{self, Session},
    replay::{Replay, ShareArgs, options},
};
use meter::{Meter, Sums};
use ours::Ours;
use policy::{Clear, Fold, Ground, Policy, Sliding, Summary};
use talk::Talk;

/// Flags of `economy`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder that holds the sessions.
    #[arg(long)]
    data: PathBuf,
    /// The budgets to measure under.
    #[arg(long, value_delimiter = ',', default_values_t = [8_000, 16_000, 32_000])]
    budgets: Vec<u64>,
    /// Reads only so many sessions.
    #[arg(long)]
    limit: Option<usize>,
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
    fn wants(&self, kind: Kind) -> bool {
        let named = |only: &String| kind.name().starts_with(only.as_str());
        kind == Kind::Sliding || self.only.as_ref().is_none_or(named)
    }
}

/// The policies, in the order they are shown. The first is what all are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sliding,
    Clear,
    Summary,
    Fold(u64),
    Freeze(u64, u64),
    Ours,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Sliding,
        Self::Clear,
        Self::Summary,
        Self::Fold(300),
        Self::Fold(500),
        Self::Fold(700),
        Self::Freeze(400, 600),
        Self::Ours,
    ];

    /// Returns its name.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Sliding => "sliding window".to_owned(),
            Self::Clear => "clear old results".to_owned(),
            Self::Summary => "summary and last two".to_owned(),
            Self::Fold(low) => format!("fold oldest to {} %", low / 10),
            Self::Freeze(freeze, low) => {
                format!("freeze {} %, fold to {} %", freeze / 10, low / 10)
            }
            Self::Ours => "ours".to_owned(),
        }
    }
}

/// What was measured: the sums of each policy, budget by budget.
pub(crate) struct Measured {
    pub(crate) kind: Kind,
    pub(crate) sums: Vec<Sums>,
}

/// Measures and prints the table.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let begun = Instant::now();
    let counter = contexture_tokens::counter_for("o200k_base");
    let mut sessions = data::read(&args.data, args.limit)?;
    sessions.retain(|session| args.half.is_none_or(|half| session.number() % 2 == half));
    let kinds = Kind::ALL.into_iter().filter(|kind| args.wants(*kind));
    let new = |kind| Measured { kind, sums: vec![Sums::default(); args.budgets.len()] };
    let mut measured: Vec<Measured> = kinds.map(new).collect();
    let mut replayed = vec![0; args.budgets.len()];
    for session in &sessions {
        let talk = Talk::new(session, counter.as_ref());
        for (at, &budget) in args.budgets.iter().enumerate() {
            if talk.tokens() <= budget {
                continue;
            }
            replayed[at] += 1;
            let ground = Ground::new(&talk, budget, counter.as_ref());
            for policy in &mut measured {
                let sums = measure(policy.kind, session, &ground, &counter, args.shares.shares());
                policy.sums[at].add(&sums.map_err(|error| {
                    error.context(format!("session {} within {budget}", session.id))
                })?);
            }
        }
    }
    table::write(out, &args.budgets, &measured)?;
    let seconds = begun.elapsed().as_secs_f64();
    let counts: Vec<String> = replayed.iter().map(usize::to_string).collect();
    writeln!(out, "\nSessions: {}. Wall time: {seconds:.0} s.", counts.join(", "))?;
    Ok(ExitCode::SUCCESS)
}

fn measure(
    kind: Kind,
    session: &Session,
    ground: &Ground<'_>,
    counter: &Arc<dyn TokenCounter>,
    shares: Shares,
) -> anyhow::Result<Sums> {
    let mut policy: Box<dyn Policy + '_> = match kind {
        Kind::Sliding => Box::new(Sliding::new(ground)),
        Kind::Clear => Box::new(Clear::new(ground)),
        Kind::Summary => Box::new(Summary::new(ground)),
        Kind::Fold(low) => Box::new(Fold::new(ground, 0, low)),
        Kind::Freeze(freeze, low) => Box::new(Fold::new(ground, freeze, low)),
        Kind::Ours => {
            let replay = block_on(Replay::begin(session))?;
            let options = |format| options(format, counter, ground.budget, shares);
            let automatic = options(ProviderFormat::OpenAi);
            let explicit = options(ProviderFormat::Anthropic);
            Box::new(Ours::new(ground.talk, replay, automatic, explicit))
        }
    };
    let mut meter = Meter::new(ground.talk, ground.budget);
    for call in &ground.talk.calls {
        meter.take(call, &policy.request(call)?);
    }
    Ok(meter.finish())
}
