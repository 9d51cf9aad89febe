//! The Context of a view as a value: frozen until its state moves, and made even when that fails.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    Error, Format, Result, Timestamp, Tokens, ViewId,
    context::{Context, ContextVersion, Diagnostic, Frozen, Inputs, Reuse},
    system::{Purpose, Reader},
    window::{fold::Shares, request::WindowOptions},
};

/// How many views and budgets keep a frozen Context.
const MOST: usize = 64;

/// The Contexts that are frozen, by all that shapes them beside the state and the level.
#[derive(Debug, Default)]
pub(crate) struct FrozenContexts(Mutex<HashMap<FrozenKey, Frozen>>);

/// The view with all it mounts, since two views of one agent may show different segments.
type FrozenKey = (ViewId, String, Option<Tokens>, Option<Tokens>, Tokens, Shares, String);

impl Reader<'_> {
    /// Returns the view's Context. While nothing moves it is the very same value (D-11, D-35).
    ///
    /// Applications change without an edit: with any mounted it is made anew each time.
    pub async fn context(&self, options: &WindowOptions) -> Result<Arc<Context>> {
        let options = WindowOptions { format: Format::Context, ..options.clone() };
        let system = self.system;
        let key = (
            self.view.clone(),
            format!("{:?} {:?}", self.guard, options.max_messages),
            options.budget,
            options.part_limit,
            options.reserved,
            options.shares,
            format!("{} {}", options.counter.name(), options.filter.name()),
        );
        let since = system.inner.measures.drops();
        let freezes = options.apps.ids().next().is_none();
        if freezes {
            let heads = system.storage().views(system.session()).await?;
            let inputs = Inputs {
                app_id: system.app(),
                session_id: system.session().as_str(),
                version: self.version(&heads),
                level: options.level,
            };
            if let Some(context) = system.inner.frozen.reuse(&key, &inputs) {
                return Ok(context);
            }
        }
        let prepared = self.prepare(&options, Purpose::Record).await?;
        let context = Arc::new(self.whole_context(&options, &prepared).await?);
        if freezes {
            // A Context made from what was purged meanwhile must not stay.
            let stands = || system.inner.measures.drops() == since;
            let new = Frozen::new(system.app(), system.session().as_str());
            system.inner.frozen.freeze(key, new, &context, stands);
        }
        Ok(context)
    }

    /// Returns the Context that tells why there is none: it has all that every Context must have
    /// (D-23, D-25).
    pub async fn error_context(&self, error: &Error) -> Context {
        let system = self.system;
        let heads = system.storage().views(system.session()).await;
        let version = heads.map_or(ContextVersion::NONE, |heads| self.version(&heads));
        let at: Timestamp = system.created_at();
        let diagnostics = vec![Diagnostic::from(error)];
        Context::error(system.app(), system.session().as_str(), version, at, diagnostics)
    }
}

impl FrozenContexts {
    fn reuse(&self, key: &FrozenKey, inputs: &Inputs<'_>) -> Option<Arc<Context>> {
        let frozen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match frozen.get(key)?.reuse(inputs) {
            Reuse::Same(context) => Some(context),
            // Whatever the reason, it is rendered again (D-26).
            Reuse::Stale(_) => None,
        }
    }

    fn freeze(
        &self,
        key: FrozenKey,
        new: Frozen,
        context: &Arc<Context>,
        stands: impl FnOnce() -> bool,
    ) {
        let mut frozen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !stands() {
            return;
        }
        if frozen.len() >= MOST && !frozen.contains_key(&key) {
            frozen.clear();
        }
        let frozen = frozen.entry(key).or_insert(new);
        if let Err(mismatch) = frozen.freeze(context.clone()) {
            // Somebody rendered a later state meanwhile: that one stays.
            tracing::debug!("not frozen: {mismatch}");
        }
    }

    /// Drops everything: what a purge took must not stay in a Context.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
