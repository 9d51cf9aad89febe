//! What can be set of a server.

use std::{collections::BTreeSet, net::SocketAddr, time::Duration};

/// What can be set of a server.
#[derive(Debug, Clone, Default)]
pub struct ServeSettings {
    /// The names under which requests may reach it.
    pub names: HostNames,
    /// Whether a proxy stands in front that speaks TLS and is the only one to reach it.
    pub behind_proxy: bool,
    /// What bounds it.
    pub limits: Limits,
}

/// What bounds a server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How many connections may be open. More wait until one is closed.
    pub connections: usize,
    /// How many requests may be answered at once. More are refused for the moment.
    pub requests: usize,
    /// How long a connection may be idle, or take to send the head of a request.
    pub header_time: Duration,
    /// How large the head of a request may be.
    pub header_bytes: usize,
    /// How long requests that are being answered may take once the server ends.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4_096,
            requests: 1_024,
            header_time: Duration::from_secs(30),
            header_bytes: 64 << 10,
            drain: Duration::from_secs(10),
        }
    }
}

/// The names under which requests may reach a server. A page of another site that makes a browser resolve its
/// own name to this machine names itself, and is refused.
#[derive(Debug, Clone, Default)]
pub struct HostNames {
    names: BTreeSet<String>,
    /// Whether any name will do: a proxy in front has judged it.
    any: bool,
}

impl HostNames {
    /// Admits these names besides those of the machine itself.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let names = names.into_iter().map(|name| name.to_ascii_lowercase());
        Self { names: names.collect(), any: false }
    }

    /// Admits any name: a proxy in front has judged it.
    pub fn any() -> Self {
        Self { names: BTreeSet::new(), any: true }
    }

    /// Admits the names of the address that the server listens on.
    pub(super) fn add_address(&mut self, address: SocketAddr) {
        let ip = match address {
            SocketAddr::V4(address) => address.ip().to_string(),
            SocketAddr::V6(address) => format!("[{}]", address.ip()),
        };
        self.names.insert(ip);
        if address.ip().is_loopback() {
            self.names.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
        }
    }

    /// Returns whether a request may name this host, with a port or without.
    pub(crate) fn admit(&self, host: &str) -> bool {
        self.any || self.names.contains(&without_port(host).to_ascii_lowercase())
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_sites_are_refused() {
        let mut names = HostNames::new(["Context.example".to_owned()]);
        names.add_address("127.0.0.1:80".parse().unwrap());
        for right in
            ["127.0.0.1", "127.0.0.1:7373", "LOCALHOST:1", "[::1]:1", "[::1]", "context.example"]
        {
            assert!(names.admit(right), "{right}");
        }
        for wrong in
            ["", "evil.example", "127.0.0.1.evil.example", "localhost@evil", "[::2]:1", "::1"]
        {
            assert!(!names.admit(wrong), "{wrong}");
        }
        assert!(HostNames::any().admit("evil.example"));
    }
}
