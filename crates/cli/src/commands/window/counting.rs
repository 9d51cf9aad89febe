//! Counts tokens with the store's kept counts, so that an unchanged window loads no vocabulary.

use std::sync::Arc;

use contexture_core::{ContextSystem, WindowOptions};
use contexture_tokens::KeptCounter;

/// The counter of a command.
pub(in crate::commands) struct Counting {
    system: ContextSystem,
    counter: Arc<KeptCounter>,
}

impl Counting {
    /// Makes a window use the counts kept in the caller's store.
    pub(in crate::commands) fn begin(system: ContextSystem, options: &mut WindowOptions) -> Self {
        let counter = Arc::new(KeptCounter::new(options.counter.clone(), system.storage()));
        options.counter = counter.clone();
        Self { system, counter }
    }

    /// Keeps the new counts for the next command.
    pub(in crate::commands) async fn end(self) {
        // The command has done its work; lost counts can be made again.
        let _ = self.system.keep_counts().await;
        let _ = self.counter.keep().await;
    }
}
