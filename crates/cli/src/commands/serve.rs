//! `contexture serve`

mod demo;
mod jobs;
mod runs;

use std::{
    net::{IpAddr, SocketAddr},
    path::Path,
    sync::Arc,
    time::Duration,
};

use contexture_core::{Engine, EngineSettings, ErrorKind, PageStorage};
use contexture_server::{
    Host, HostNames, HostParts, OwnerToken, ProjectSource, Rate, ServeSettings, Server,
};
use contexture_storage::SystemClock;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use super::Status;
use crate::{
    error::{Result, Stop},
    log,
    printer::Printer,
    project::Project,
    sanitize,
    served::{Announced, Basis, Entry},
    settings::Settings,
    store::Access,
};

/// How long threads may go on once the server has ended.
const GRACE: Duration = Duration::from_secs(5);

/// How many megabytes of sessions stay in memory.
pub(super) const MEMORY: u32 = 96;

/// How large the stack of a thread may grow.
const STACK: usize = 8 << 20;

/// Serve the store over HTTP on this machine
///
/// Any program can then read windows, append what was said and act on pages: GET /openapi.json describes all
/// routes. The owner's token lies in a file beside the store that only you can read; `contexture token create`
/// makes tokens for one agent or one user. SIGTERM and Ctrl-C end the server once all requests are answered.
///
/// Only programs on this machine reach it, unless --behind-proxy says that a proxy with TLS stands in front.
/// Requests are logged to standard error; CONTEXTURE_LOG says how much.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture serve
  contexture serve --demo
  contexture serve --port 0 --json")]
pub(crate) struct Args {
    /// The port; 0 takes any that is free
    #[arg(long, value_name = "N", default_value_t = 7373)]
    port: u16,
    /// The address to listen on
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    host: IpAddr,
    /// Listen on an address that other machines reach: a proxy with TLS stands in front
    #[arg(long)]
    behind_proxy: bool,
    /// A name under which requests may reach the server besides its address; repeatable. Behind a proxy, any
    /// name will do unless one is given
    #[arg(long, value_name = "NAME")]
    host_name: Vec<String>,
    /// How many megabytes of sessions to keep in memory; what is left out is read again when it is needed
    #[arg(long, value_name = "MB", default_value_t = MEMORY, value_parser = clap::value_parser!(u32).range(16..=1_048_576))]
    memory: u32,
    /// Serve the session of the tour, in a new store, and print what to try
    #[arg(long)]
    demo: bool,
}

/// Where a server listens.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ServingObject {
    /// Its address.
    url: String,
    /// The store it serves.
    store: String,
    /// The file that holds the owner's token; none for a store in memory.
    token_file: Option<String>,
    /// The owner's token, where there is no file for it: it is valid while this process runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

pub(crate) fn run(args: Args, settings: &Settings, printer: &mut Printer<'_>) -> Result<Status> {
    let mut settings = settings.clone();
    if args.demo {
        settings.store = demo::prepare()?;
    }
    log::start_by_default();
    let runtime = threads().build();
    let runtime = runtime.map_err(|error| {
        let message = format!("cannot start the threads that answer requests: {error}");
        Stop::failed(ErrorKind::Unavailable, message, "try again when the machine is less busy")
    })?;
    let served = runtime.block_on(serve(&args, &settings, printer));
    // What a tool is still doing for an agent is not waited for: its run can be resumed.
    runtime.shutdown_timeout(GRACE);
    served
}

/// Returns the threads that answer requests. What a request goes through is deep, most of all where nothing is
/// optimised, so their stacks are larger than usual; what is not used of them takes no memory.
pub(super) fn threads() -> tokio::runtime::Builder {
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    threads.enable_all().thread_stack_size(STACK);
    threads
}

/// Returns what a host over a storage is made of.
pub(super) fn parts(
    storage: Arc<dyn PageStorage>,
    settings: &Settings,
    owner: OwnerToken,
    megabytes: u32,
) -> HostParts {
    let index = settings.index(&storage);
    let memory = usize::try_from(megabytes).unwrap_or(usize::MAX).saturating_mul(1 << 20);
    let limits = EngineSettings { memory, ..EngineSettings::default() };
    let engine = Engine::with(storage, Arc::new(SystemClock), limits);
    let engine = engine.finding_with(Arc::new(index.clone()));
    HostParts {
        engine,
        index,
        project: source(),
        owner,
        rate: Rate::default(),
        runs: Arc::new(runs::ProjectRuns { store: settings.store.clone() }),
        commands: None,
    }
}

async fn serve(args: &Args, settings: &Settings, printer: &mut Printer<'_>) -> Result<Status> {
    let storage = settings.store.open(Access::Create).await?;
    let token_file = settings.store.token_file()?;
    let owner = match &token_file {
        Some(file) => OwnerToken::read_or_create(file)?,
        None => OwnerToken::random()?,
    };
    let basis = Basis::of(&settings.store);
    let mut parts = parts(storage, settings, owner.clone(), args.memory);
    parts.commands = Some(Arc::new(jobs::StoreJobs::new(settings.store.clone(), basis.clone())));
    let host = Arc::new(Host::new(parts));
    // Broken settings are reported now, not by the first request.
    host.project().await?;
    let names = match args.behind_proxy && args.host_name.is_empty() {
        true => HostNames::any(),
        false => HostNames::new(args.host_name.iter().cloned()),
    };
    let behind_proxy = args.behind_proxy;
    let serve_settings = ServeSettings { names, behind_proxy, ..ServeSettings::default() };
    let address = SocketAddr::new(args.host, args.port);
    let server = Server::bind(address, serve_settings).await?;
    // From here on a signal ends the server in order.
    let stop = stopped()?;
    let serving = ServingObject {
        url: format!("http://{}", server.address()),
        store: settings.store.to_string(),
        token: token_file.is_none().then(|| owner.to_string()),
        token_file: token_file.as_deref().map(shown),
    };
    let announced = announce(&server, settings, basis, printer)?;
    report(args, settings, &serving, printer)?;
    let stop = async move {
        stop.await;
        // Commands run on their own from here on.
        drop(announced);
    };
    server.run(host, stop).await;
    printer.note("the server has ended")?;
    Ok(Status::Done)
}

/// Says beside the store where the server is, for commands of this machine. They do without where it cannot be said.
fn announce(
    server: &Server,
    settings: &Settings,
    basis: Option<Basis>,
    printer: &mut Printer<'_>,
) -> Result<Option<Announced>> {
    let entry = basis.map(|basis| Entry::new(server.address(), basis));
    let entry = entry.filter(|entry| entry.address().is_some());
    let (Some(entry), Some(file)) = (entry, settings.store.server_file()) else { return Ok(None) };
    match entry.announce(file.clone()) {
        Ok(announced) => Ok(Some(announced)),
        Err(error) => {
            let file = file.display();
            printer.warn(&format!(
                "commands will not use this server: cannot write {file}: {error}"
            ))?;
            Ok(None)
        }
    }
}

/// Prints where the server listens, and what to try.
fn report(
    args: &Args,
    settings: &Settings,
    serving: &ServingObject,
    printer: &mut Printer<'_>,
) -> Result<()> {
    if printer.is_json() {
        printer.json(serving)?;
        return printer.flush();
    }
    let ServingObject { url, store, token_file, token } = serving;
    printer.line(format_args!("serving {} at {url}", sanitize::line(store)))?;
    match (token_file, token) {
        (Some(file), _) => printer.line(format_args!("the owner's token is in {file}"))?,
        (None, Some(token)) => printer.line(format_args!("the owner's token is {token}"))?,
        (None, None) => {}
    }
    if args.demo {
        for line in demo::lines(serving, settings) {
            printer.line(line)?;
        }
    }
    printer.flush()
}

/// Returns what is ready when the process is asked to end.
fn stopped() -> Result<impl Future<Output = ()>> {
    let unusable = |error: std::io::Error| {
        let message = format!("cannot listen to signals: {error}");
        Stop::failed(ErrorKind::Unavailable, message, "try again when the machine is less busy")
    };
    let mut terminate = signal(SignalKind::terminate()).map_err(unusable)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(unusable)?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Returns what reads the agents and settings of the project.
fn source() -> ProjectSource {
    Arc::new(|| {
        let Project { catalog, settings, folder, .. } = Project::load().map_err(runs::refused)?;
        Ok(contexture_server::Project { catalog, settings, folder })
    })
}

fn shown(path: &Path) -> String {
    sanitize::line(&path.display().to_string())
}
