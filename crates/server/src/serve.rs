//! Listening: connections that are bounded in number and in time, and an end that loses nothing.

mod settings;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
    time,
};

pub use settings::{HostNames, Limits, ServeSettings};

use crate::{Host, Result, ServerError, http};

/// How long to wait after an error of the listener that has nothing to do with one connection, such as too
/// many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// A server that listens and does not yet answer.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    settings: ServeSettings,
    address: SocketAddr,
}

impl Server {
    /// Listens on an address. An address that other machines can reach is refused unless a proxy stands in
    /// front: tokens and texts would cross the network in clear.
    pub async fn bind(address: SocketAddr, mut settings: ServeSettings) -> Result<Self> {
        if !address.ip().is_loopback() && !settings.behind_proxy {
            return Err(ServerError::denied(
                format!("{address} can be reached from other machines, and there is no TLS"),
                "listen on 127.0.0.1; or put a proxy with TLS in front and say --behind-proxy",
            ));
        }
        let unusable = |error: io::Error| {
            ServerError::unavailable(
                format!("cannot listen on {address}: {error}"),
                "choose another port with --port; 0 takes any that is free",
            )
        };
        let listener = TcpListener::bind(address).await.map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        settings.names.add_address(address);
        Ok(Self { listener, settings, address })
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `until` is ready. Then it takes no more connections, lets requests that are
    /// being answered end, and closes what is left after the time that the settings give.
    pub async fn run(self, host: Arc<Host>, until: impl Future<Output = ()>) {
        let Self { listener, settings, .. } = self;
        let router = http::router(host.clone(), &settings);
        let slots = Arc::new(Semaphore::new(settings.limits.connections));
        let (ending, end) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut until = std::pin::pin!(until);
        loop {
            let accepted = tokio::select! {
                () = &mut until => break,
                accepted = accept(&listener, &slots) => accepted,
                Some(_) = connections.join_next() => continue,
            };
            let Some((stream, slot)) = accepted else { continue };
            let (host, router) = (host.clone(), router.clone());
            let connection = answer(stream, router, settings.limits, end.clone());
            connections.spawn(async move {
                let _counted = host.counters().connection();
                connection.await;
                drop(slot);
            });
        }
        drop(listener);
        host.stop();
        let _ = ending.send(true);
        let drained = async { while connections.join_next().await.is_some() {} };
        if time::timeout(settings.limits.drain, drained).await.is_err() {
            tracing::warn!("closed connections that were still being answered");
        }
        connections.shutdown().await;
        host.finish().await;
    }
}

/// Takes the next connection when there is room for it.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let slot = slots.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, slot)),
        Err(error) => {
            tracing::debug!(%error, "a connection was not accepted");
            time::sleep(PAUSE).await;
            None
        }
    }
}

/// Answers the requests of one connection.
async fn answer(stream: TcpStream, router: Router, limits: Limits, mut end: watch::Receiver<bool>) {
    // Answers are small and waited for.
    let _ = stream.set_nodelay(true);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(limits.header_bytes)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        _ = end.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
