//! Subscriptions: what changes in the caller's view, for as long as the request stands.

use contexture_core::{FeedEvent, SeenChange};
use futures::StreamExt as _;
use rmcp::{ErrorData, service::SubscriptionContext};

use super::{
    access::{Access, Asked},
    resources::uri,
};
use crate::Host;

/// What a client is to read again.
enum Changed {
    /// What the caller may know of one edit.
    Seen(SeenChange),
    /// Anything: edits were missed.
    Anything,
}

/// Notifies of changes that the caller may know of, until the client or the server ends it.
pub(super) async fn listen(
    host: &Host,
    access: &Access,
    context: &SubscriptionContext,
) -> Result<(), ErrorData> {
    let id = access.default_session();
    // Whoever may not open the session is notified of nothing.
    if access.session(host, &Asked::default()).await.is_err() {
        context.cancelled().await;
        return Ok(());
    }
    let opened = host.engine().open(id).await;
    let system = opened.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let mut subscription = system.subscribe();
    let mut stopping = host.stopping();
    loop {
        if *stopping.borrow() {
            return Ok(());
        }
        let event = tokio::select! {
            () = context.cancelled() => return Ok(()),
            _ = stopping.changed() => continue,
            event = subscription.next() => event,
        };
        let changed = match event {
            None => return Ok(()),
            Some(FeedEvent::Lagged { .. }) => Some(Changed::Anything),
            Some(FeedEvent::Change(entry)) => {
                // The view is asked for again: a token may be revoked, an agent's mode may change.
                let Ok(session) = access.session(host, &Asked::default()).await else {
                    return Ok(());
                };
                let Ok(seen) = session.reader().change(&entry).await else { return Ok(()) };
                seen.map(Changed::Seen)
            }
        };
        let Some(changed) = changed else { continue };
        if notify(context, id.as_str(), &changed).await.is_err() {
            return Ok(());
        }
    }
}

async fn notify(
    context: &SubscriptionContext,
    session: &str,
    changed: &Changed,
) -> Result<(), rmcp::service::SubscriptionSendError> {
    let (accepted, sink) = (context.accepted(), context.sink());
    let wanted = accepted.resource_subscriptions.clone().unwrap_or_default();
    let uris = match changed {
        Changed::Seen(seen) => {
            let touched: Vec<String> = seen.pages.iter().map(|page| uri(session, page)).collect();
            wanted.into_iter().filter(|uri| touched.contains(uri)).collect()
        }
        Changed::Anything => wanted,
    };
    for uri in uris {
        sink.notify_resource_updated(uri).await?;
    }
    let lists = match changed {
        Changed::Seen(seen) => !seen.pages.is_empty() || !seen.segments.is_empty(),
        Changed::Anything => true,
    };
    if lists && accepted.resources_list_changed == Some(true) {
        sink.notify_resource_list_changed().await?;
    }
    Ok(())
}
