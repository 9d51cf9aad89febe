//! A window that is sent: prepared, rendered and recorded, beside one that is only rendered.

use std::{io::Write, path::Path, time::Instant};

use anyhow::{Context as _, Result};
use contexture_core::{AgentContext, Edit, WindowOptions};

use super::Stage;
use crate::latency::{options, quantile, turn};

/// How many pages stand in the window.
const VISIBLE: u64 = 200;

pub(super) async fn measure(dir: &Path, rounds: u32, out: &mut dyn Write) -> Result<()> {
    let stage = Stage::new(dir, "sent", VISIBLE).await?;
    let agent = stage.agent("talker", "usr")?;
    let whole = options();
    let (mut rendered, mut sent) = (Vec::new(), Vec::new());
    agent.send(&whole).await?;
    let mut asked = Asked::default();
    for round in 0..rounds {
        let messages = turn(1_000_000 + u64::from(round));
        let edit = Edit::AddTurn { segment: "usr".parse()?, messages };
        let appended = agent.apply(edit).await?.revision;
        let began = Instant::now();
        agent.window(&whole).await?;
        rendered.push(began.elapsed().as_secs_f64() * 1e3);
        stage.storage.reset();
        let began = Instant::now();
        agent.send(&whole).await?;
        sent.push(began.elapsed().as_secs_f64() * 1e3);
        asked.add(&stage);
        // Taken back, so that the window stays as large as it was.
        agent.undo(Some(appended)).await?;
    }
    let (window, send) = (quantile(&mut rendered, 0.5), quantile(&mut sent, 0.5));
    writeln!(
        out,
        "sent: a window of {VISIBLE} pages: rendered {window:.2} ms, sent {send:.2} ms \
         ({:.2} times); per window sent {}",
        send / window,
        asked.per(rounds)
    )?;
    folded(&stage, &agent, whole.budget(60_000), rounds, out).await
}

/// Sends windows for which a fold is due, and takes the fold back each time.
async fn folded(
    stage: &Stage,
    agent: &AgentContext,
    tight: WindowOptions,
    rounds: u32,
    out: &mut dyn Write,
) -> Result<()> {
    let (mut times, mut asked) = (Vec::new(), Asked::default());
    agent.fold_preview(&tight).await?.context("a fold is due")?;
    let rounds = rounds.div_ceil(4);
    for _ in 0..rounds {
        stage.storage.reset();
        let began = Instant::now();
        let sent = agent.send(&tight).await?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
        asked.add(stage);
        agent.undo(sent.record.fold).await?;
    }
    let send = quantile(&mut times, 0.5);
    writeln!(
        out,
        "sent: the same with a fold: {send:.2} ms; per window sent {}",
        asked.per(rounds)
    )?;
    Ok(())
}

/// What was asked of the storage for windows.
#[derive(Default)]
struct Asked {
    prepared: u64,
    ledger: u64,
    writes: u64,
}

impl Asked {
    fn add(&mut self, stage: &Stage) {
        // Every preparation reads the custom state once.
        self.prepared += stage.storage.calls("custom");
        self.ledger += stage.storage.calls("ledger");
        self.writes += stage.writes();
    }

    fn per(&self, rounds: u32) -> String {
        let each = |count: u64| count as f64 / f64::from(rounds);
        format!(
            "{:.1} preparations, {:.1} reads of the ledger, {:.1} durable writes",
            each(self.prepared),
            each(self.ledger),
            each(self.writes)
        )
    }
}
