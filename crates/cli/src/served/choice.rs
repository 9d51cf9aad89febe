//! `--server`: whether a server is used, and which.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    str::FromStr,
};

/// Which server runs commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerChoice {
    /// The one that runs on the same store, where it does the same.
    Auto,
    /// None.
    Never,
    /// The one that listens at this address of this machine.
    At(SocketAddr),
}

impl FromStr for ServerChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "" | "auto" => return Ok(Self::Auto),
            "never" => return Ok(Self::Never),
            _ => {}
        }
        let (scheme, rest) =
            text.split_once("://").ok_or("use auto, never, or http://127.0.0.1:PORT")?;
        if !scheme.eq_ignore_ascii_case("http") {
            return Err(
                "use http:// and an address of this machine; `ssh -L` brings another machine's port here",
            );
        }
        let address = address(rest.strip_suffix('/').unwrap_or(rest));
        let address = address.ok_or("write http://HOST:PORT, with nothing behind it")?;
        match address.ip().is_loopback() {
            true => Ok(Self::At(address)),
            false => {
                Err("without TLS, only a server on this machine can be used: http://127.0.0.1:PORT")
            }
        }
    }
}

/// Reads where a server listens. Names of other machines are not looked up: they are no loopback addresses.
fn address(authority: &str) -> Option<SocketAddr> {
    const PORT: u16 = 80;
    if let Ok(address) = authority.parse() {
        return Some(address);
    }
    let bare = authority.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(authority);
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Some(SocketAddr::new(ip, PORT));
    }
    let (name, port) = match authority.split_once(':') {
        Some((name, port)) => (name, port.parse().ok()?),
        None => (authority, PORT),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let ip = match name.eq_ignore_ascii_case("localhost") {
        true => Ipv4Addr::LOCALHOST,
        false => Ipv4Addr::UNSPECIFIED,
    };
    Some(SocketAddr::new(ip.into(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_spoken_to_without_tls() {
        let at = |text: &str| Ok(ServerChoice::At(text.parse().unwrap()));
        let read = |text: &str| text.parse::<ServerChoice>();
        assert_eq!(read("auto"), Ok(ServerChoice::Auto));
        assert_eq!(read("never"), Ok(ServerChoice::Never));
        assert_eq!(read("http://127.0.0.1:7373"), at("127.0.0.1:7373"));
        assert_eq!(read("HTTP://localhost:7373/"), at("127.0.0.1:7373"));
        assert_eq!(read("http://localhost"), at("127.0.0.1:80"));
        assert_eq!(read("http://[::1]:1"), at("[::1]:1"));
        assert_eq!(read("http://[::1]"), at("[::1]:80"));
        for refused in [
            "http://10.0.0.1:7373",
            "http://example.com",
            "http://localhost.example.com:1",
            "http://0.0.0.0:1",
            "https://127.0.0.1:7373",
            "http://",
            "http://127.0.0.1:7373/v1",
            "http://me@127.0.0.1:1",
            "http://127.0.0.1:99999",
            "127.0.0.1:7373",
            "always",
        ] {
            assert!(read(refused).is_err(), "{refused}");
        }
    }
}
