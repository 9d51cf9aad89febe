//! Store URLs: parsed, and displayed without their secrets.

use std::{fmt, path::PathBuf, str::FromStr};

use contexture_storage::Durability;

use crate::error::{Result, Stop};

pub(super) const HINT: &str = "use sqlite:PATH, sqlite:PATH?durability=process, files:DIR, \
                               postgres://USER@HOST/DATABASE, s3://BUCKET/PREFIX or memory:";

/// The URL of a store. Displayed, it shows no password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum StoreUrl {
    /// A SQLite file.
    Sqlite { path: PathBuf, durability: Durability },
    /// A folder of readable files.
    Files { folder: PathBuf, durability: Durability },
    /// A PostgreSQL database; the URL may hold a password.
    Postgres { url: String },
    /// A prefix in an S3 bucket.
    S3 { bucket: String, prefix: String },
    /// Memory that lasts for one command.
    Memory,
}

impl StoreUrl {
    /// Returns the URL as given, secrets included: to pass on, never to display.
    pub(crate) fn address(&self) -> String {
        match self {
            StoreUrl::Postgres { url } => url.clone(),
            other => other.to_string(),
        }
    }
}

impl FromStr for StoreUrl {
    type Err = Stop;

    fn from_str(url: &str) -> Result<Self> {
        let wrong = |reason: &str| {
            Stop::invalid(format!("invalid store '{}': {reason}", without_secrets(url)), HINT)
        };
        let (scheme, rest) =
            url.split_once(':').ok_or_else(|| wrong("it does not name a kind of storage"))?;
        let read = match scheme {
            "sqlite" => sqlite(rest),
            "files" => files(rest),
            "postgres" | "postgresql" => postgres(url, rest),
            "s3" => s3(rest),
            "memory" if rest.is_empty() => Ok(StoreUrl::Memory),
            "memory" => Err("nothing can follow memory:".to_owned()),
            _ => Err(format!("unknown storage '{}'", without_secrets(scheme))),
        };
        read.map_err(|reason| wrong(&reason))
    }
}

fn sqlite(rest: &str) -> Result<StoreUrl, String> {
    let (path, durability) = local("sqlite", rest)?;
    Ok(StoreUrl::Sqlite { path, durability })
}

fn files(rest: &str) -> Result<StoreUrl, String> {
    let (folder, durability) = local("files", rest)?;
    Ok(StoreUrl::Files { folder, durability })
}

/// Parses a path and the durability of commits.
fn local(scheme: &str, rest: &str) -> Result<(PathBuf, Durability), String> {
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path = named(scheme, path)?;
    let mut durability = Durability::PowerCut;
    for option in query.split('&').filter(|option| !option.is_empty()) {
        durability = match option {
            "durability=process" => Durability::Process,
            "durability=power-cut" => Durability::PowerCut,
            _ => return Err(format!("unknown option '{option}' for {scheme}:")),
        };
    }
    Ok((path, durability))
}

fn named(scheme: &str, path: &str) -> Result<PathBuf, String> {
    if path.is_empty() {
        return Err(format!("{scheme}: needs a path"));
    }
    if path.contains('\0') {
        return Err("a path cannot contain NUL".to_owned());
    }
    Ok(path.into())
}

fn postgres(url: &str, rest: &str) -> Result<StoreUrl, String> {
    let rest = rest.strip_prefix("//").ok_or("write it as postgres://USER@HOST/DATABASE")?;
    if rest.is_empty() || url.contains(char::is_control) {
        return Err("postgres: needs a host and a database".to_owned());
    }
    Ok(StoreUrl::Postgres { url: url.to_owned() })
}

fn s3(rest: &str) -> Result<StoreUrl, String> {
    let rest = rest.strip_prefix("//").ok_or("write it as s3://BUCKET/PREFIX")?;
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.is_empty() || rest.contains(char::is_control) {
        return Err("s3: needs a bucket".to_owned());
    }
    let prefix = prefix.trim_matches('/').to_owned();
    Ok(StoreUrl::S3 { bucket: bucket.to_owned(), prefix })
}

/// Returns the option of a URL for a durability.
fn option(durability: Durability) -> &'static str {
    match durability {
        Durability::PowerCut => "",
        Durability::Process => "?durability=process",
    }
}

/// Hides passwords in a URL: between the user's name and the host, and among the options.
fn without_secrets(url: &str) -> String {
    let (before, rest) = match url.find("://") {
        Some(at) => url.split_at(at + 3),
        None => ("", url),
    };
    // A password may hold anything, even the signs that end a host: everything before the last @ goes.
    let (user, rest) = match rest.rsplit_once('@') {
        Some((user, rest)) => match user.split_once(':') {
            Some((name, _)) => (format!("{name}:***@"), rest),
            None => (format!("{user}@"), rest),
        },
        None => (String::new(), rest),
    };
    let (place, options) = match rest.split_once('?') {
        Some((place, options)) => (place, Some(options)),
        None => (rest, None),
    };
    let hidden = |option: &str| match option.split_once('=') {
        Some((name, _)) if name.to_ascii_lowercase().contains("password") => format!("{name}=***"),
        _ => option.to_owned(),
    };
    let options = options.map(|options| {
        let options: Vec<String> = options.split('&').map(hidden).collect();
        format!("?{}", options.join("&"))
    });
    format!("{before}{user}{place}{}", options.unwrap_or_default())
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreUrl::Memory => f.write_str("memory:"),
            StoreUrl::Sqlite { path, durability } => {
                write!(f, "sqlite:{}{}", path.display(), option(*durability))
            }
            StoreUrl::Files { folder, durability } => {
                write!(f, "files:{}{}", folder.display(), option(*durability))
            }
            StoreUrl::Postgres { url } => f.write_str(&without_secrets(url)),
            StoreUrl::S3 { bucket, prefix } if prefix.is_empty() => write!(f, "s3://{bucket}"),
            StoreUrl::S3 { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use contexture_core::ErrorKind;

    use super::*;
    use crate::store::DEFAULT;

    #[test]
    fn urls_are_read_and_written_the_same() {
        for url in [
            DEFAULT,
            "sqlite:/a b/c.db",
            "sqlite:x.db?durability=process",
            "memory:",
            "files:a/b",
            "postgres://me@host:5432/db",
            "postgresql://host/db?sslmode=require",
            "s3://bucket",
            "s3://bucket/some/prefix",
        ] {
            let read = url.parse::<StoreUrl>().unwrap();
            assert_eq!((read.to_string(), read.address()), (url.to_owned(), url.to_owned()));
        }
    }

    #[test]
    fn passwords_are_never_shown() {
        for (url, shown) in [
            ("postgres://me:s3cret@host/db", "postgres://me:***@host/db"),
            ("postgres://me:s3?cr/et@host/db?a=b", "postgres://me:***@host/db?a=b"),
            ("postgresql://me:s3c@ret:x@host/db?a=b", "postgresql://me:***@host/db?a=b"),
            (
                "postgres://host/db?user=me&password=s3cret",
                "postgres://host/db?user=me&password=***",
            ),
            ("postgres://h/d?sslPassword=s3cret", "postgres://h/d?sslPassword=***"),
        ] {
            let read = url.parse::<StoreUrl>().unwrap();
            assert_eq!(
                (read.to_string(), format!("{read:?}")),
                (shown.to_owned(), shown.to_owned())
            );
            assert_eq!(read.address(), url);
        }
        for url in ["mysql://me:s3cret@host/db", "postgres:me:s3cret@host", "me:s3cret@host"] {
            let Err(Stop::Failed { message, hint, .. }) = url.parse::<StoreUrl>() else {
                panic!("{url} was accepted");
            };
            assert!(!message.contains("s3cret") && !hint.contains("s3cret"), "{message}");
        }
    }

    #[test]
    fn what_is_not_a_store_is_invalid() {
        for url in [
            "",
            "x.db",
            "sqlite:",
            "sqlite:?durability=process",
            "sqlite:x?durability=maybe",
            "sqlite:x?mode=ro",
            "memory:x",
            "files:",
            "postgres:host",
            "postgres://",
            "s3:bucket",
            "s3://",
            "mysql://x",
        ] {
            let Err(Stop::Failed { kind, message, .. }) = url.parse::<StoreUrl>() else {
                panic!("{url} was accepted");
            };
            assert_eq!(kind, ErrorKind::Invalid, "{message}");
        }
    }
}
