//! Writing: changes to a session wait in line, and those that wait are written together.
//!
//! ```text
//! known root ─► decide each on it ─► large contents, delta ─► replace the root if it is still that one
//!      ▲                                                             │
//!      └──────────────── look again, decide again ◄── it is not ─────┘
//! ```
//!
//! The root in memory is used without asking whether it still stands: replacing it tells. Only a
//! refusal is never given on an old one.

use std::sync::{Arc, Mutex};

use contexture_core::storage::{
    Commit, Committed, Keep, LedgerKey, SentWindow, StorageError, StorageResult,
};
use tokio::sync::{MutexGuard, oneshot};

use super::{
    fault::{Fault, FaultResult},
    objects::{DELTA, Home},
    packs::PackBuilder,
    root::{Id, Meta, Root},
    session::{Inner, Known, Published, Session, lock},
    stage::Stage,
    table::Table,
    view::View,
};
use crate::packing::PackedContent;

/// A change that is asked for.
pub(crate) enum WriteRequest {
    Commit { commit: Box<Commit>, contents: Vec<PackedContent> },
    Record(LedgerKey, Box<SentWindow>),
    Keep(Box<Keep>),
}

impl WriteRequest {
    fn purges(&self) -> bool {
        match self {
            WriteRequest::Commit { commit, .. } => {
                commit.change.as_ref().is_some_and(|change| change.purge)
            }
            WriteRequest::Keep(_) | WriteRequest::Record(..) => false,
        }
    }

    fn weight(&self) -> usize {
        match self {
            WriteRequest::Commit { contents, .. } => {
                contents.iter().map(|packed| packed.content.bytes().len()).sum::<usize>() + 1_000
            }
            WriteRequest::Keep(_) | WriteRequest::Record(..) => 1_000,
        }
    }
}

/// What comes back.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Committed(Box<Committed>),
    Kept,
    Found(bool),
}

struct Waiting {
    request: WriteRequest,
    answer: oneshot::Sender<StorageResult<Answer>>,
}

/// The line of changes to a session, and whose turn it is.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<Vec<Waiting>>,
    turn: tokio::sync::Mutex<Turn>,
}

/// Held by whoever writes.
#[derive(Default)]
pub(crate) struct Turn {
    /// How often records were merged into chunks.
    pub(crate) merges: u64,
}

impl Queue {
    /// Waits for one's turn to write.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().await
    }

    /// Takes those from the front of the line that are written together.
    fn group(&self) -> Vec<Waiting> {
        const REQUESTS: usize = 256;
        const BYTES: usize = 8 * 1024 * 1024;
        let mut waiting = lock(&self.waiting);
        let mut bytes = 0;
        let mut count = 0;
        for (at, one) in waiting.iter().enumerate().take(REQUESTS) {
            // A purge is on its own: it rewrites what is there.
            if one.request.purges() {
                count = at.max(1);
                break;
            }
            bytes += one.request.weight();
            if at > 0 && bytes > BYTES {
                break;
            }
            count = at + 1;
        }
        waiting.drain(..count).collect()
    }
}

impl Inner {
    /// Writes a change.
    pub(crate) async fn write(
        &self,
        session: &Arc<Session>,
        request: WriteRequest,
    ) -> StorageResult<Answer> {
        let (answer, mut answered) = oneshot::channel();
        lock(&session.queue.waiting).push(Waiting { request, answer });
        let mut turn = session.queue.turn().await;
        loop {
            match answered.try_recv() {
                Ok(answer) => return answer,
                Err(oneshot::error::TryRecvError::Empty) => {}
                Err(oneshot::error::TryRecvError::Closed) => {
                    let reason = "its work was aborted".to_owned();
                    return Err(StorageError::Unavailable {
                        what: self.objects.name.clone(),
                        reason,
                    });
                }
            }
            // Whoever has the turn writes for all who wait.
            let group = session.queue.group();
            self.write_group(session, &mut turn, group).await;
        }
    }

    async fn write_group(&self, session: &Session, turn: &mut Turn, mut group: Vec<Waiting>) {
        while !group.is_empty() {
            match self.try_group(session, &mut group).await {
                Ok(Some((answers, known))) => {
                    for (waiting, answer) in group.drain(..).zip(answers) {
                        // Whoever no longer waits does not want to know.
                        let _ = waiting.answer.send(answer);
                    }
                    if let Some(known) = known {
                        self.tend(session, turn, known).await;
                    }
                }
                // One of them spoilt it and was answered; the others are written without it.
                Ok(None) => {}
                Err(fault) => {
                    session.forget();
                    let error = fault.into_storage_error();
                    for waiting in group.drain(..) {
                        let _ = waiting.answer.send(Err(error.clone()));
                    }
                }
            }
        }
    }

    /// Writes a group; returns the answers, and the root if it was replaced.
    async fn try_group(
        &self,
        session: &Session,
        group: &mut Vec<Waiting>,
    ) -> FaultResult<Option<(Vec<StorageResult<Answer>>, Option<Known>)>> {
        /// How often others may come first.
        const TRIES: u32 = 200;
        let mut known = session.known();
        let mut is_fresh = false;
        for tries in 0..TRIES {
            if known.is_none() || tries > 0 {
                known = self.fresh(session).await?;
                is_fresh = true;
            }
            let mut stage = self.stage(session, known.as_ref())?;
            let mut answers = Vec::with_capacity(group.len());
            let mut is_gone = false;
            for at in 0..group.len() {
                let answer = self.decide(session, &mut stage, &group[at].request).await;
                if matches!(answer, Err(Fault::Gone(_))) && !is_fresh {
                    is_gone = true;
                    break;
                }
                let answer = answer.map_err(Fault::into_storage_error);
                if stage.spoilt {
                    let _ = group.remove(at).answer.send(answer);
                    return Ok(None);
                }
                answers.push(answer);
            }
            let refuses = |answer| matches!(answer, &(Err(_) | Ok(Answer::Found(false))));
            if is_gone || (!is_fresh && answers.iter().any(refuses)) {
                // Nobody is refused on a root that may have been replaced.
                let before = known.as_ref().map(|known| known.version.clone());
                known = self.fresh(session).await?;
                is_fresh = true;
                if is_gone || known.as_ref().map(|known| &known.version) != before.as_ref() {
                    continue;
                }
            }
            if !stage.changed {
                return Ok(Some((answers, None)));
            }
            let purges = group.iter().any(|waiting| waiting.request.purges());
            let base = known.as_ref().map(|known| known.version.clone());
            let before = known.as_ref().and_then(|known| self.view_of(&session.id, known));
            let published = if purges {
                self.publish_purge(session, base, stage).await?
            } else {
                let root = self.root_after(stage).await?;
                self.publish(session, base, root).await?
            };
            if let Published::Done(known) = published {
                self.hand_to_snapshots(session, before.as_ref());
                return Ok(Some((answers, Some(known))));
            }
            self.wait(tries).await?;
        }
        let reason = "too many other processes are writing to this session".to_owned();
        Err(StorageError::Unavailable { what: self.objects.name.clone(), reason }.into())
    }

    /// Returns a session as it stands, to be changed.
    fn stage(&self, session: &Session, known: Option<&Known>) -> FaultResult<Stage> {
        if let Some(view) = known.and_then(|known| self.view_of(&session.id, known)) {
            let info = view.root.info()?;
            return Ok(Stage::new(view, info));
        }
        let incarnation = Id::random(&self.objects.name)?;
        let mut root = Root::new(&session.id, incarnation);
        if let Some(known) = known {
            // One that was being taken over: its writers are to see that theirs has ended.
            root.meta.sequence = known.root.meta.sequence;
        }
        let home = Home::new(&self.objects, &session.id, &root);
        Ok(Stage::new(View::new(home, Arc::new(root)), None))
    }

    async fn decide(
        &self,
        session: &Session,
        stage: &mut Stage,
        request: &WriteRequest,
    ) -> FaultResult<Answer> {
        let id = &session.id;
        match request {
            WriteRequest::Commit { commit, contents } => {
                let large = self.objects.tuning.large_content;
                let commit = Commit::clone(commit);
                let committed = stage.commit(id, commit, contents, large).await?;
                Ok(Answer::Committed(Box::new(committed)))
            }
            WriteRequest::Record(key, sent) => {
                stage.record(id, key, sent).await.map(|()| Answer::Kept)
            }
            WriteRequest::Keep(keep) => stage.keep(id, keep).await.map(Answer::Found),
        }
    }

    /// Writes what a change needs beside the root, and returns the root that names it.
    async fn root_after(&self, mut stage: Stage) -> FaultResult<Root> {
        let tuning = &self.objects.tuning;
        let home = stage.view.home.clone();
        let mut root = (*stage.view.root).clone();
        if let Some(info) = &stage.info {
            root.set_info(info);
        }
        if !root.meta.doomed.is_empty() {
            // A purge was broken off before it had deleted all of it.
            home.delete(&std::mem::take(&mut root.meta.doomed)).await?;
        }
        for pack in gather(&stage.large, tuning.pack_bytes) {
            let (id, records) = pack.write(&home).await?;
            root.meta.packs.push(id);
            stage.view.over.extend(records.into_iter().map(|(key, value)| (key, Some(value))));
        }
        let mut table = root.inline.under(&stage.view.over);
        if root.meta.deltas.is_empty() && root.meta.manifest.is_none() {
            table = present(&table);
        }
        let is_small = table.raw() <= tuning.inline_bytes.saturating_mul(8);
        root.inline = Arc::new(table);
        if !is_small || root.encode().len() > tuning.inline_bytes {
            let table = std::mem::take(&mut root.inline);
            let delta = home.put_table(DELTA, Arc::unwrap_or_clone(table)).await?;
            root.meta.deltas.push(delta);
        }
        Ok(root)
    }

    /// Merges deltas into chunks when they are many, and collects what nothing refers to.
    async fn tend(&self, session: &Session, turn: &mut Turn, known: Known) {
        /// How many packs a root names itself.
        const PACKS: usize = 64;
        let tuning = &self.objects.tuning;
        let Meta { deltas, packs, .. } = &known.root.meta;
        let bytes: u64 = deltas.iter().map(|delta| delta.size).sum();
        if deltas.len() < tuning.deltas && bytes < tuning.delta_bytes && packs.len() < PACKS {
            return;
        }
        turn.merges += 1;
        let collects = turn.merges.is_multiple_of(tuning.collect_every.max(1));
        let tended = async {
            self.compact(session, known).await?;
            if collects {
                self.collect(session).await?;
                self.collect_gone().await?;
            }
            Ok::<_, Fault>(())
        };
        // What was asked for is written; the next writer tries this again.
        if let Err(fault) = tended.await {
            tracing::warn!(session = %session.id, error = %fault.into_storage_error(), "deltas were not merged");
        }
    }
}

/// Returns what is there, without what says that something is gone.
fn present(table: &Table) -> Table {
    let mut kept = Table::default();
    for (key, value) in table.records().filter(|(_, value)| value.is_some()) {
        kept.push(key, value);
    }
    kept
}

/// Puts contents into packs.
fn gather(contents: &[PackedContent], most: usize) -> Vec<PackBuilder> {
    let mut packs: Vec<PackBuilder> = Vec::new();
    for packed in contents {
        let data = packed.packed.stored(packed.content.bytes());
        if packs.last().is_none_or(|pack| pack.size() + data.len() > most) {
            packs.push(PackBuilder::default());
        }
        if let Some(pack) = packs.last_mut() {
            pack.add(packed.content.hash(), packed.packed.raw, data);
        }
    }
    packs
}
