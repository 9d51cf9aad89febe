//! What windows cost, what they show in full, and whether what is used later can still be seen.
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

use std::{io::Write, sync::Arc};

use anyhow::Context;
use contexture_core::{ProviderFormat, TokenCounter, window::FoldShares};
use futures::executor::block_on;

use self::{
    meter::{Meter, Sums},
    ours::Ours,
    policy::{Clear, Fold, Ground, Policy, Sliding, Summary},
    talk::Talk,
};
use super::{Args, parallel, record::Recording};
use crate::{
    data::Session,
    replay::{Replay, options},
};

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

    pub(crate) fn name(self) -> String {
        let share = |thousandths: u64| thousandths as f64 / 1_000.0;
        match self {
            Self::Sliding => "sliding window".to_owned(),
            Self::Clear => "clear old results".to_owned(),
            Self::Summary => "summary and last two".to_owned(),
            Self::Fold(low) => format!("fold oldest to {}", share(low)),
            Self::Freeze(freeze, low) => {
                format!("freeze {}, fold to {}", share(freeze), share(low))
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

/// A session as it is replayed and as it is measured.
struct Read {
    single: bool,
    session: Session,
    talk: Talk,
}

/// Measures and writes the table, of all kinds of sessions together.
pub(super) fn write(
    args: &Args,
    recordings: &[Recording],
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let counter = contexture_tokens::counter_for("o200k_base");
    let sessions = parallel::map(recordings, |recording| {
        let session = Session::parse(&recording.line)?;
        let talk = Talk::new(&session, counter.as_ref());
        Ok(Read { single: recording.is_single(), session, talk })
    })?;
    let is_wanted = |kind: &Kind| *kind == Kind::Sliding || args.wants(&kind.name());
    let kinds = Kind::ALL.into_iter().filter(is_wanted);
    let mut measured: Vec<Measured> =
        kinds.map(|kind| Measured { kind, sums: Vec::new() }).collect();
    let (mut budgets, mut replayed) = (Vec::new(), Vec::new());
    for &budget in &args.budgets {
        let long = |single: bool| {
            let of_kind = sessions.iter().filter(move |it| it.single == single);
            args.sample(of_kind.filter(|it| it.talk.tokens() > budget).collect())
        };
        let chosen = [long(true), long(false)].concat();
        if chosen.is_empty() {
            continue;
        }
        budgets.push(budget);
        replayed.push(chosen.len().to_string());
        for policy in &mut measured {
            let sums = parallel::map(&chosen, |read| {
                let sums = measure(policy.kind, read, budget, &counter, args.shares.shares());
                sums.with_context(|| format!("session {} within {budget}", read.session.id))
            })?;
            policy.sums.push(sums.iter().fold(Sums::default(), Sums::plus));
        }
    }
    if budgets.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nall sessions larger than the budget: {}\n", replayed.join(", "))?;
    table::write(out, &budgets, &measured)?;
    Ok(())
}

fn measure(
    kind: Kind,
    read: &Read,
    budget: u64,
    counter: &Arc<dyn TokenCounter>,
    shares: FoldShares,
) -> anyhow::Result<Sums> {
    let ground = &Ground::new(&read.talk, budget, counter.as_ref());
    let mut policy: Box<dyn Policy + '_> = match kind {
        Kind::Sliding => Box::new(Sliding::new(ground)),
        Kind::Clear => Box::new(Clear::new(ground)),
        Kind::Summary => Box::new(Summary::new(ground)),
        Kind::Fold(low) => Box::new(Fold::new(ground, 0, low)),
        Kind::Freeze(freeze, low) => Box::new(Fold::new(ground, freeze, low)),
        Kind::Ours => {
            let replay = block_on(Replay::begin(&read.session))?;
            let options = |format| options(format, counter, budget, shares);
            let automatic = options(ProviderFormat::OpenAi);
            let explicit = options(ProviderFormat::Anthropic);
            Box::new(Ours::new(ground.talk, replay, automatic, explicit))
        }
    };
    let mut meter = Meter::new(ground.talk, budget);
    for call in &ground.talk.calls {
        meter.take(call, &policy.request(call)?);
    }
    Ok(meter.finish())
}
