//! What can be chosen when a bucket is opened.

use std::{fmt, time::Duration};

use contexture_core::storage::{StorageError, StorageResult};

use crate::CreateMode;

/// How a bucket is opened.
#[derive(Clone)]
pub struct S3Options {
    /// Whether a prefix under which nothing stands is made a storage.
    pub create: CreateMode,
    /// The server, as `https://host:port`; none for Amazon's own. With it, the bucket is named in
    /// the path.
    pub endpoint: Option<String>,
    /// The access key.
    pub access_key: Option<String>,
    /// The secret that belongs to it.
    pub secret_key: Option<String>,
    /// The token of a temporary key.
    pub session_token: Option<String>,
    /// The region; with an endpoint `us-east-1` where none is given.
    pub region: Option<String>,
    /// Whether an endpoint that begins with `http://` is used: all goes over the wire in the clear.
    pub allow_http: bool,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long a request may take.
    pub timeout: Duration,
    /// For how long failed requests are made again.
    pub retry_timeout: Duration,
    /// Sizes and counts; the defaults are right for most.
    pub tuning: Tuning,
}

/// When records move on from the root, and how large objects get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tuning {
    /// How many bytes of records a root holds itself, compressed.
    pub inline_bytes: usize,
    /// How many deltas there are before they are merged into chunks.
    pub deltas: usize,
    /// How many bytes of deltas there are before they are merged into chunks, compressed.
    pub delta_bytes: u64,
    /// How many bytes the records of a chunk are, before compression.
    pub chunk_bytes: usize,
    /// How many bytes the records of the first level of chunks are before they go into the next;
    /// each further level holds ten times as much.
    pub level_bytes: u64,
    /// How large a pack of contents gets.
    pub pack_bytes: usize,
    /// From which size on, compressed, a content is written on its own with its commit.
    pub large_content: usize,
    /// How many bytes of what was read are remembered.
    pub cache_bytes: usize,
    /// How long an object that nothing refers to is kept: a snapshot or a slow writer may need it.
    pub grace: Duration,
    /// How many merges there are between two collections of what nothing refers to.
    pub collect_every: u64,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            inline_bytes: 24 * 1024,
            deltas: 16,
            delta_bytes: 2 * 1024 * 1024,
            chunk_bytes: 512 * 1024,
            level_bytes: 8 * 1024 * 1024,
            pack_bytes: 4 * 1024 * 1024,
            large_content: 64 * 1024,
            cache_bytes: 32 * 1024 * 1024,
            grace: Duration::from_secs(3_600),
            collect_every: 16,
        }
    }
}

impl Default for S3Options {
    fn default() -> Self {
        Self {
            create: CreateMode::default(),
            endpoint: None,
            access_key: None,
            secret_key: None,
            session_token: None,
            region: None,
            allow_http: false,
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(60),
            retry_timeout: Duration::from_secs(30),
            tuning: Tuning::default(),
        }
    }
}

impl S3Options {
    /// Takes endpoint, region and credentials from the usual variables: `AWS_ENDPOINT_URL_S3`,
    /// `AWS_ENDPOINT_URL` or `AWS_ENDPOINT`; `AWS_REGION` or `AWS_DEFAULT_REGION`;
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`. An endpoint that begins
    /// with `http://` is used as it is.
    pub fn from_env() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// Takes the variables from elsewhere.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: &[&str]| {
            names.iter().find_map(|name| variable(name).filter(|value| !value.trim().is_empty()))
        };
        let endpoint = first(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]);
        Self {
            allow_http: endpoint.as_deref().is_some_and(is_plain),
            endpoint,
            access_key: first(&["AWS_ACCESS_KEY_ID"]),
            secret_key: first(&["AWS_SECRET_ACCESS_KEY"]),
            session_token: first(&["AWS_SESSION_TOKEN"]),
            region: first(&["AWS_REGION", "AWS_DEFAULT_REGION"]),
            ..Self::default()
        }
    }
}

fn is_plain(endpoint: &str) -> bool {
    endpoint.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://"))
}

impl fmt::Debug for S3Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = |secret: &Option<String>| secret.as_ref().map(|_| "…");
        f.debug_struct("S3Options")
            .field("create", &self.create)
            .field("endpoint", &self.endpoint)
            .field("access_key", &hidden(&self.access_key))
            .field("secret_key", &hidden(&self.secret_key))
            .field("session_token", &hidden(&self.session_token))
            .field("region", &self.region)
            .field("allow_http", &self.allow_http)
            .field("tuning", &self.tuning)
            .finish_non_exhaustive()
    }
}

/// A bucket and a prefix in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) bucket: String,
    /// Without slashes at its ends; empty for the whole bucket.
    pub(crate) prefix: String,
}

impl Address {
    /// Reads `s3://bucket/prefix`.
    pub(crate) fn parse(url: &str) -> StorageResult<Self> {
        let wrong = |reason: &str| StorageError::Foreign {
            // What stands before an @ may be a secret.
            what: url.rsplit_once('@').map_or(url, |(_, rest)| rest).to_owned(),
            reason: format!("an address must have the form s3://bucket/prefix: {reason}"),
        };
        let rest =
            url.strip_prefix("s3://").ok_or_else(|| wrong("it does not begin with s3://"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        if bucket.is_empty() || !bucket.bytes().all(allowed) {
            return Err(wrong(
                "a bucket's name may contain only letters, digits, '.', '-' and '_'",
            ));
        }
        let prefix = prefix.trim_matches('/');
        let part = |part: &str| !part.is_empty() && part != "." && part != "..";
        let plain = |c: char| c.is_ascii_alphanumeric() || "!-_.'()/=+@ ".contains(c);
        if !prefix.is_empty() && (!prefix.split('/').all(part) || !prefix.chars().all(plain)) {
            return Err(wrong(
                "a prefix may contain only letters, digits and the characters !-_.'()=+@, with no empty part",
            ));
        }
        Ok(Self { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}", self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let read = |url: &str| Address::parse(url).map(|address| address.to_string());
        assert_eq!(read("s3://bucket").unwrap(), "s3://bucket");
        assert_eq!(read("s3://bucket/a/b/").unwrap(), "s3://bucket/a/b");
        for wrong in ["s3:/x", "s3://", "s3:///a", "s3://b/a//c", "s3://b/../c", "http://b"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let error = read("s3://key:hush@bucket/a").unwrap_err().to_string();
        assert!(!error.contains("hush"), "{error}");
    }

    #[test]
    fn options_come_from_the_usual_variables_and_hide_secrets() {
        let options = S3Options::from_variables(|name| match name {
            "AWS_ENDPOINT_URL" => Some("http://127.0.0.1:9000".to_owned()),
            "AWS_ENDPOINT" => Some("https://elsewhere".to_owned()),
            "AWS_ACCESS_KEY_ID" => Some("who-it-is".to_owned()),
            "AWS_SECRET_ACCESS_KEY" => Some("hush-hush".to_owned()),
            "AWS_SESSION_TOKEN" => Some(" ".to_owned()),
            "AWS_DEFAULT_REGION" => Some("eu-west-1".to_owned()),
            _ => None,
        });
        assert_eq!(options.endpoint.as_deref(), Some("http://127.0.0.1:9000"));
        assert!(options.allow_http);
        assert_eq!(options.region.as_deref(), Some("eu-west-1"));
        assert_eq!(options.session_token, None);
        let told = format!("{options:?}");
        assert!(!told.contains("hush") && !told.contains("who-it-is"), "{told}");
        let secure = S3Options::from_variables(|name| {
            (name == "AWS_ENDPOINT_URL_S3").then(|| "https://host".to_owned())
        });
        assert!(!secure.allow_http);
    }
}
