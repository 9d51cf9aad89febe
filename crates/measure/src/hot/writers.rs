//! Windows that are read while many others write to the same session: to segments of their own, and
//! to the one that the window shows.

use std::{
    io::Write,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Result;
use contexture_core::{Edit, Message, NewSegment, Role, SegmentKind};

use super::Stage;
use crate::latency::{options, quantile};

/// How many others write.
const WRITERS: usize = 64;

/// How many pages stand in the window.
const VISIBLE: u64 = 200;

/// How long nobody reads between two windows, so that others have their turn.
const PAUSE: Duration = Duration::from_millis(2);

pub(super) async fn measure(dir: &Path, rounds: u32, out: &mut dyn Write) -> Result<()> {
    measure_beside(dir, "elsewhere", rounds, out).await?;
    measure_beside(dir, "in its segment", rounds, out).await
}

async fn measure_beside(dir: &Path, place: &str, rounds: u32, out: &mut dyn Write) -> Result<()> {
    let elsewhere = place == "elsewhere";
    let stage = Stage::new(dir, &format!("writers-{elsewhere}"), VISIBLE).await?;
    for at in 0..WRITERS {
        let new = NewSegment::new(format!("seg-{at}").parse()?, SegmentKind::Custom);
        stage.system.as_system().apply(Edit::AddSegment(new)).await?;
    }
    let reader = stage.agent("talker", "usr")?;
    let options = options();
    let (mut alone, mut among) = (Vec::new(), Vec::new());
    reader.window(&options).await?;
    for _ in 0..rounds {
        let began = Instant::now();
        reader.window(&options).await?;
        alone.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let (done, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut tasks = Vec::new();
    for at in 0..WRITERS {
        let segment = if elsewhere { format!("seg-{at}") } else { "usr".to_owned() };
        let writer = stage.agent(&format!("writer-{at}"), &segment)?;
        let (done, written) = (done.clone(), written.clone());
        tasks.push(tokio::spawn(async move {
            while !done.load(Ordering::Relaxed) {
                let message = Message::text(Role::User, "a short word");
                let page = writer.add_turn(vec![message]).await?.pop();
                written.fetch_add(1, Ordering::Relaxed);
                // Where all share a segment it must not grow while it is measured.
                if let (false, Some(page)) = (elsewhere, page) {
                    writer.remove_page(page).await?;
                    written.fetch_add(1, Ordering::Relaxed);
                }
            }
            anyhow::Ok(())
        }));
    }
    while written.load(Ordering::Relaxed) < WRITERS as u64 {
        tokio::time::sleep(PAUSE).await;
    }
    stage.storage.reset();
    let (before, from) = (written.load(Ordering::Relaxed), Instant::now());
    for _ in 0..rounds {
        let began = Instant::now();
        reader.window(&options).await?;
        among.push(began.elapsed().as_secs_f64() * 1e3);
        tokio::time::sleep(PAUSE).await;
    }
    let rate = (written.load(Ordering::Relaxed) - before) as f64 / from.elapsed().as_secs_f64();
    let (prepared, snapshots) = (stage.storage.calls("custom"), stage.storage.calls("snapshot"));
    done.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await??;
    }
    let each = |count: u64| count as f64 / f64::from(rounds);
    let median = quantile(&mut alone, 0.5);
    let [half, most] = [0.5, 0.99].map(|share| quantile(&mut among, share));
    writeln!(
        out,
        "writers: a window of {VISIBLE} pages alone {median:.2} ms; while {WRITERS} write {place} \
         ({rate:.0} commits/s): p50 {half:.2} ms, p99 {most:.2} ms, {:.1} times p50 alone; per \
         window {:.2} preparations and {:.2} snapshots",
        half / median,
        each(prepared),
        each(snapshots)
    )?;
    Ok(())
}
