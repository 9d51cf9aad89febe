//! Counting with what the store has kept, so that an unchanged window loads no vocabulary.

use std::sync::Arc;

use contexture_core::{ContextSystem, WindowOptions};
use contexture_tokens::KeptCounter;

use crate::context::Caller;

/// What a command counts with.
pub(in crate::commands) struct Counting {
    system: ContextSystem,
    counter: Arc<KeptCounter>,
}

impl Counting {
    /// Lets a window be counted with what the caller's store has kept.
    pub(in crate::commands) fn begin(caller: &Caller, options: &mut WindowOptions) -> Self {
        let system = caller.system().clone();
        let counter = Arc::new(KeptCounter::new(options.counter.clone(), system.storage()));
        options.counter = counter.clone();
        Self { system, counter }
    }

    /// Keeps what had to be counted, for the next command.
    pub(in crate::commands) async fn end(self) {
        // The command has done what it was asked for; counts can be made again.
        let _ = self.system.keep_counts().await;
        let _ = self.counter.keep().await;
    }
}
