//! Looking at revisions: one conditional request for each session's root.

use std::{sync::Arc, time::Duration};

use contexture_core::{SessionId, storage::StorageResult};
use futures::{FutureExt, executor::block_on};

use super::{fault::storage_result, objects::at_once, session::Inner};
use crate::{
    runtime,
    watch::{Found, Look, Watch},
};

/// How often it is looked. Each look is a request that somebody pays for.
const PAUSE: Duration = Duration::from_secs(1);

pub(crate) fn watch(inner: Arc<Inner>) -> Watch {
    Watch::new("s3", false, move |_| Box::new(Looks { inner: inner.clone() }))
}

struct Looks {
    inner: Arc<Inner>,
}

impl Look for Looks {
    fn look(&mut self, sessions: &[SessionId], _: bool) -> StorageResult<Option<Found>> {
        let (inner, sessions) = (self.inner.clone(), sessions.to_vec());
        let found = runtime::run(&self.inner.objects.name, async move {
            let revision = |session: SessionId| {
                let inner = inner.clone();
                async move {
                    let view = inner.view(&session).await?;
                    let info = view.map_or(Ok(None), |view| view.root.info())?;
                    Ok(info.map(|info| info.revision))
                }
            };
            storage_result(
                at_once(sessions.into_iter().map(|it| revision(it).boxed()).collect()).await,
            )
        });
        block_on(found).map(Some)
    }

    fn pause(&mut self, _: bool) -> Duration {
        PAUSE
    }
}
