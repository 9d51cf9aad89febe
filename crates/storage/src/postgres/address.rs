//! Addresses: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…`, read once, shown without secrets.

use std::{path::PathBuf, time::Duration};

use contexture_core::storage::{StorageError, StorageResult};
use tokio_postgres::{
    Config,
    config::{Host, SslMode},
};

/// How the server is to prove who it is, in the words of libpq.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Not at all: what travels may be encrypted, but to whom is not known.
    Anyone,
    /// By a certificate of an authority that is trusted, whatever name it is for.
    Authority,
    /// By such a certificate for this very name.
    Name,
}

/// Where a database is, and how to get there.
pub(crate) struct Address {
    pub(crate) config: Config,
    pub(crate) trust: Trust,
    /// The file with the authorities that are trusted; none for those of the web.
    pub(crate) roots: Option<PathBuf>,
    /// How it is called in errors: without user and password.
    pub(crate) name: String,
}

impl Address {
    pub(crate) fn parse(url: &str, timeout: Duration) -> StorageResult<Self> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(refused("it does not begin with postgres://"));
        }
        let (bare, own) = take_own_options(url)?;
        // What the parser says may quote the address, and with it a password.
        let mut config: Config = bare.parse().map_err(|_| {
            refused(
                "expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, \
                 with special characters of user and password as %XX",
            )
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(refused("it names no host"));
        }
        config.ssl_mode(own.ssl_mode);
        if config.get_application_name().is_none() {
            config.application_name("contexture");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(timeout);
        }
        // A server that vanished without a word must not hold a caller for ever.
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(timeout);
        }
        if config.get_keepalives_idle() > Duration::from_secs(60) {
            config.keepalives_idle(Duration::from_secs(60));
        }
        let name = name(&config);
        Ok(Self { config, trust: own.trust, roots: own.roots, name })
    }
}

/// The options that `tokio-postgres` does not know, or knows less of.
struct Own {
    ssl_mode: SslMode,
    trust: Trust,
    roots: Option<PathBuf>,
}

fn take_own_options(url: &str) -> StorageResult<(String, Own)> {
    let mut own = Own { ssl_mode: SslMode::Prefer, trust: Trust::Anyone, roots: None };
    let Some((address, query)) = url.rsplit_once('?') else { return Ok((url.to_owned(), own)) };
    let mut rest = Vec::new();
    let mut mode = "prefer";
    for option in query.split('&') {
        match option.split_once('=') {
            Some(("sslmode", value)) => mode = value,
            Some(("sslrootcert", "system")) => own.roots = None,
            Some(("sslrootcert", value)) => own.roots = Some(PathBuf::from(decode(value)?)),
            _ => rest.push(option),
        }
    }
    (own.ssl_mode, own.trust) = match mode {
        "disable" => (SslMode::Disable, Trust::Anyone),
        "allow" | "prefer" => (SslMode::Prefer, Trust::Anyone),
        // As in libpq: anyone who names authorities wants them checked.
        "require" if own.roots.is_some() => (SslMode::Require, Trust::Authority),
        "require" => (SslMode::Require, Trust::Anyone),
        "verify-ca" => (SslMode::Require, Trust::Authority),
        "verify-full" => (SslMode::Require, Trust::Name),
        _ => {
            return Err(refused(
                "sslmode must be one of disable, prefer, require, verify-ca, verify-full",
            ));
        }
    };
    let bare =
        if rest.is_empty() { address.to_owned() } else { format!("{address}?{}", rest.join("&")) };
    Ok((bare, own))
}

/// Reads `%XX`.
fn decode(text: &str) -> StorageResult<String> {
    let fault = || refused("sslrootcert must be a path, with special characters as %XX");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, tail) = tail.split_at_checked(2).ok_or_else(fault)?;
        let digits = std::str::from_utf8(digits).map_err(|_| fault())?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| fault())?);
        rest = tail;
    }
    String::from_utf8(bytes).map_err(|_| fault())
}

fn refused(reason: &str) -> StorageError {
    let what = "the address of a PostgreSQL database".to_owned();
    StorageError::Unavailable { what, reason: reason.to_owned() }
}

fn name(config: &Config) -> String {
    let ports = config.get_ports();
    let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(5432);
    let hosts = config.get_hosts().iter().enumerate().map(|(at, host)| match host {
        Host::Tcp(host) => format!("{host}:{}", port(at)),
        #[cfg(unix)]
        Host::Unix(path) => format!("{}:{}", path.display(), port(at)),
    });
    let mut hosts: Vec<String> = hosts.collect();
    if hosts.is_empty() {
        hosts.extend(config.get_hostaddrs().iter().map(ToString::to_string));
    }
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("postgres://{}/{database}", hosts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> StorageResult<Address> {
        Address::parse(url, Duration::from_secs(5))
    }

    #[test]
    fn modes_are_those_of_libpq() {
        let mode = |options: &str| {
            let address = parse(&format!("postgres://me@db.example/x{options}")).unwrap();
            (address.config.get_ssl_mode(), address.trust)
        };
        assert_eq!(mode(""), (SslMode::Prefer, Trust::Anyone));
        assert_eq!(mode("?sslmode=disable"), (SslMode::Disable, Trust::Anyone));
        assert_eq!(mode("?sslmode=require"), (SslMode::Require, Trust::Anyone));
        assert_eq!(
            mode("?sslrootcert=/a%20b.pem&sslmode=require&connect_timeout=3"),
            (SslMode::Require, Trust::Authority)
        );
        assert_eq!(mode("?sslmode=verify-ca"), (SslMode::Require, Trust::Authority));
        assert_eq!(mode("?sslmode=verify-full"), (SslMode::Require, Trust::Name));
        let roots =
            parse("postgres://h/x?sslmode=verify-full&sslrootcert=/a%20b.pem").unwrap().roots;
        assert_eq!(roots, Some(PathBuf::from("/a b.pem")));
    }

    #[test]
    fn secrets_are_in_no_name_and_no_error() {
        let address = parse("postgres://me:hunter2@db.example:5433,other/data?sslmode=disable");
        assert_eq!(address.unwrap().name, "postgres://db.example:5433,other:5432/data");
        for bad in [
            "postgres://me:hunter2@db:hunter2/x",
            "postgres://me:hun?ter2=hunter2@db/x?hunter2=1",
            "postgres://me:hunter2@db/x?sslmode=hunter2",
            "postgres://me:hunter2@db/x?sslrootcert=%hunter2",
            "mysql://me:hunter2@db/x",
        ] {
            let error = parse(bad).err().unwrap_or_else(|| panic!("{bad} was taken"));
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }
}
