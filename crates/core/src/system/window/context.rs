//! The Context of a view as a value: frozen until its state moves, and made even when that fails.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    Error, Format, Reader, Result, WindowOptions,
    context::{Context, ContextVersion, Diagnostic, Frozen, Inputs, Reuse},
    system::{
        Purpose,
        memory::{Bytes, Memory},
    },
    view::entries::ViewEntries,
};

/// How many views keep frozen Contexts, and how many bytes these may take.
const MOST: usize = 64;
const MOST_BYTES: usize = 16 << 20;

/// The Contexts that are frozen, by view: with all it mounts, since two views of one agent may show
/// different segments.
#[derive(Debug)]
pub(crate) struct FrozenContexts(Mutex<ByView>);

#[derive(Debug)]
struct ByView {
    views: HashMap<String, Frozen>,
    bytes: Bytes,
}

impl Reader<'_> {
    /// Returns the view's Context. While nothing moves it is the very same value (D-11, D-35).
    pub async fn context(&self, options: &WindowOptions) -> Result<Arc<Context>> {
        let options = WindowOptions { format: Format::Context, ..options.clone() };
        let system = self.system;
        let view = format!("{:?} {:?}", self.view, self.guard);
        let since = system.inner.derived.drops();
        let heads = system.storage().views(system.session()).await?;
        let custom = system.storage().custom(system.session()).await?;
        let identity = self.identify(&options, Purpose::Record, &heads, &custom).await?;
        let inputs = Inputs {
            app_id: system.app(),
            session_id: system.session().as_str(),
            version: identity.version,
            key: &identity.key,
        };
        if let Some(context) = system.inner.frozen.reuse(&view, &inputs) {
            return Ok(context);
        }
        let prepared = self.prepare(&options, Purpose::Record).await?;
        let context = Arc::new(self.whole_context(&options, &prepared).await?);
        // A Context made from what was purged meanwhile must not stay.
        let stands = || system.inner.derived.drops() == since;
        let new = Frozen::new(system.app(), system.session().as_str());
        system.inner.frozen.freeze(view, new, &context, stands);
        system.used();
        Ok(context)
    }

    /// Returns the Context that tells why there is none: it has all that every Context must have
    /// (D-23, D-25).
    pub async fn error_context(&self, error: &Error) -> Context {
        let system = self.system;
        let storage = system.storage();
        let heads = storage.views(system.session()).await;
        let (version, at) = match heads {
            Ok(heads) => {
                let custom = storage.custom(system.session()).await.unwrap_or_default();
                let entries = ViewEntries::of(&self.view, &custom);
                let (version, state) = self.version(&heads, entries.map_or(0, |it| it.rounds));
                (version, self.time_of(state).await.unwrap_or(system.created_at()))
            }
            Err(_) => (ContextVersion::NONE, system.created_at()),
        };
        let diagnostics = vec![Diagnostic::from(error)];
        Context::error(system.app(), system.session().as_str(), version, at, diagnostics)
    }
}

impl FrozenContexts {
    pub(crate) fn new(memory: &Arc<Memory>) -> Self {
        Self(Mutex::new(ByView { views: HashMap::new(), bytes: Bytes::new(memory) }))
    }

    fn lock(&self) -> MutexGuard<'_, ByView> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reuse(&self, view: &str, inputs: &Inputs<'_>) -> Option<Arc<Context>> {
        match self.lock().views.get(view)?.reuse(inputs) {
            Reuse::Same(context) => Some(context),
            // Whatever the reason, it is rendered again (D-26).
            Reuse::Stale(_) => None,
        }
    }

    fn freeze(
        &self,
        view: String,
        new: Frozen,
        context: &Arc<Context>,
        stands: impl FnOnce() -> bool,
    ) {
        let by_view = &mut *self.lock();
        if !stands() {
            return;
        }
        let is_full = by_view.views.len() >= MOST && !by_view.views.contains_key(&view);
        if is_full || by_view.bytes.get() > MOST_BYTES {
            by_view.views.clear();
        }
        let frozen = by_view.views.entry(view).or_insert(new);
        if let Err(mismatch) = frozen.freeze(context.clone()) {
            // Somebody rendered a later state meanwhile: that one stays.
            tracing::debug!("not frozen: {mismatch}");
        }
        by_view.bytes.set(by_view.views.values().map(Frozen::bytes).sum());
    }

    /// Drops everything: what a purge took must not stay in a Context.
    pub(crate) fn clear(&self) {
        let mut by_view = self.lock();
        by_view.views.clear();
        by_view.bytes.set(0);
    }
}
