//! Reading a session ahead of what is done with it.

use std::io;

use contexture_core::{
    SegmentId, SessionId,
    storage::{SessionInfo, StorageResult},
};
use futures::{SinkExt, StreamExt, channel::mpsc, executor::block_on};

use super::read::RawPages;
use crate::{error::SearchError, index::SearchIndex};

/// How many batches wait at most.
const WAITING: usize = 2;

/// The pages of a session, a batch at a time, read by a thread of its own: the next ones are read while one is cut.
pub(super) struct ReadAhead(mpsc::Receiver<StorageResult<Read>>);

enum Read {
    Pages(RawPages),
    /// There are no more.
    All,
}

impl ReadAhead {
    /// Begins to read. It ends when this is dropped.
    pub(super) async fn begin(
        index: &SearchIndex,
        info: &SessionInfo,
    ) -> Result<Self, SearchError> {
        let segments = index.inner.storage.segments(&info.id).await?;
        let segments: Vec<SegmentId> = segments.into_iter().map(|segment| segment.id).collect();
        let (index, session) = (index.clone(), info.id.clone());
        let (sender, batches) = mpsc::channel(WAITING);
        let thread = std::thread::Builder::new().name("search read".to_owned());
        thread.spawn(move || block_on(read_segments(&index, &session, &segments, sender)))?;
        Ok(Self(batches))
    }

    /// Returns the next pages; none after the last.
    pub(super) async fn next(&mut self) -> Result<Option<RawPages>, SearchError> {
        match self.0.next().await {
            Some(Ok(Read::Pages(pages))) => Ok(Some(pages)),
            Some(Ok(Read::All)) => Ok(None),
            Some(Err(error)) => Err(error.into()),
            None => Err(io::Error::other("reading the store has ended early").into()),
        }
    }
}

async fn read_segments(
    index: &SearchIndex,
    session: &SessionId,
    segments: &[SegmentId],
    mut batches: mpsc::Sender<StorageResult<Read>>,
) {
    for segment in segments {
        let mut after = None;
        loop {
            let batch = index.scan(session, segment, after).await;
            let last = batch.as_ref().map(RawPages::last);
            let Ok(Some(last)) = last else {
                match batch {
                    Ok(_) => break,
                    // The first error is the last batch. Nobody may be waiting for it any more.
                    Err(error) => return drop(batches.send(Err(error)).await),
                }
            };
            after = Some(last);
            if batches.send(batch.map(Read::Pages)).await.is_err() {
                return;
            }
        }
    }
    drop(batches.send(Ok(Read::All)).await);
}
