//! Opening: the client, whose prefix it is, and whether the server keeps to conditions.

use std::sync::Arc;

use contexture_core::storage::{StorageError, StorageResult};
use futures::TryStreamExt;
use object_store::{
    BackoffConfig, ClientOptions, ObjectStore, RetryConfig, UpdateVersion,
    aws::{AmazonS3Builder, S3ConditionalPut},
};
use serde::{Deserialize, Serialize};

use super::{
    fault::{Doing, FaultResult},
    frame,
    objects::{Looked, Objects, Wrote},
    options::{Address, S3Options},
    root::Id,
};
use crate::CreateMode;

/// Makes the client.
pub(crate) fn connect(
    address: &Address,
    options: &S3Options,
) -> StorageResult<Arc<dyn ObjectStore>> {
    let refused = |reason: &str| StorageError::Unavailable {
        what: address.to_string(),
        reason: reason.to_owned(),
    };
    let (Some(key), Some(secret)) = (&options.access_key, &options.secret_key) else {
        return Err(refused(
            "there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        ));
    };
    let region = match (&options.region, &options.endpoint) {
        (Some(region), _) => region.as_str(),
        // Servers that are not Amazon's have no regions and take this for theirs.
        (None, Some(_)) => "us-east-1",
        (None, None) => return Err(refused("there is no region; set AWS_REGION")),
    };
    let plain = options.endpoint.as_deref().is_some_and(|endpoint| endpoint.starts_with("http://"));
    if plain && !options.allow_http {
        return Err(refused("its endpoint uses plain http, which is not allowed; use https"));
    }
    // Whoever came first has decided; any will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = ClientOptions::new()
        .with_allow_http(plain)
        .with_connect_timeout(options.connect_timeout)
        .with_timeout(options.timeout);
    let retry = RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: 6,
        retry_timeout: options.retry_timeout,
    };
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(&address.bucket)
        .with_region(region)
        .with_access_key_id(key)
        .with_secret_access_key(secret)
        .with_client_options(client)
        .with_retry(retry)
        .with_conditional_put(S3ConditionalPut::ETagMatch);
    if let Some(token) = &options.session_token {
        builder = builder.with_token(token);
    }
    if let Some(endpoint) = &options.endpoint {
        builder = builder
            .with_endpoint(endpoint.trim_end_matches('/'))
            .with_virtual_hosted_style_request(false);
    }
    let store = builder.build().map_err(|error| refused(&error.to_string()))?;
    Ok(Arc::new(store))
}

/// What says whose prefix it is.
#[derive(Serialize, Deserialize)]
struct Marker {
    contexture: String,
    version: i64,
}

/// Sees to it that the prefix is ours, and that the server keeps to conditions.
pub(crate) async fn prepare(objects: &Objects, create: CreateMode) -> FaultResult<()> {
    let path = objects.path(&["contexture.json"]);
    let is_marked = match objects.look(&path, None).await? {
        Looked::Found(found) => {
            check_marker(objects, &found.bytes)?;
            true
        }
        Looked::Missing | Looked::Same => false,
    };
    if !is_marked {
        let mut listed = objects.store.list(Some(&objects.path(&[])));
        let first = listed.try_next().await;
        let first = first.map_err(|error| objects.refused(Doing::Reading, &error))?;
        if let Some(first) = first {
            return Err(StorageError::Foreign {
                what: objects.name.clone(),
                reason: format!("it holds other objects, such as {}", first.location),
            }
            .into());
        }
        if create == CreateMode::MustExist {
            return Err(StorageError::Missing { what: objects.name.clone() }.into());
        }
    }
    probe(objects).await?;
    if !is_marked {
        let marker = Marker { contexture: "s3".to_owned(), version: i64::from(frame::VERSION) };
        let bytes = serde_json::to_vec(&marker).expect("a marker has only string keys");
        // Whoever else makes it at the same time makes the same.
        objects.put(&path, bytes).await?;
    }
    Ok(())
}

fn check_marker(objects: &Objects, bytes: &[u8]) -> StorageResult<()> {
    let what = format!("{}/contexture.json", objects.name);
    let foreign = |reason: String| StorageError::Foreign { what: what.clone(), reason };
    let marker: Marker = serde_json::from_slice(bytes)
        .map_err(|error| foreign(format!("it is not a marker of ours: {error}")))?;
    if marker.contexture != "s3" {
        return Err(foreign(format!("it names the format '{}'", marker.contexture)));
    }
    let known = i64::from(frame::VERSION);
    if marker.version > known {
        return Err(StorageError::Newer { what, found: marker.version, known });
    }
    Ok(())
}

/// Tries whether the server keeps to conditions: without them writers would overwrite each other.
async fn probe(objects: &Objects) -> FaultResult<()> {
    let path = objects.path(&[&format!("probe-{}", Id::random(&objects.name)?)]);
    let tried = async {
        if let Wrote::Unknown(error) = objects.swap(&path, b"first".to_vec(), None).await? {
            return Err(objects.refused(Doing::Writing, &error).into());
        }
        let again = objects.swap(&path, b"second".to_vec(), None).await?;
        let wrong = UpdateVersion {
            e_tag: Some("\"00000000000000000000000000000000\"".to_owned()),
            version: None,
        };
        let swapped = objects.swap(&path, b"third".to_vec(), Some(wrong)).await?;
        FaultResult::Ok((again, swapped))
    };
    let tried = tried.await;
    // Left behind, it would be in nobody's way.
    let _ = objects.delete(vec![path]).await;
    let ignored = match tried? {
        (Wrote::Done(_), _) => "If-None-Match",
        (_, Wrote::Done(_)) => "If-Match",
        (Wrote::Unknown(error), _) | (_, Wrote::Unknown(error)) => {
            return Err(objects.refused(Doing::Writing, &error).into());
        }
        (Wrote::Lost, Wrote::Lost) => return Ok(()),
    };
    let reason = format!(
        "its server ignores {ignored} on writes, so changes would be lost; use one that \
         supports conditional writes, such as Amazon S3, Cloudflare R2 or a current MinIO or Ceph"
    );
    Err(StorageError::Foreign { what: objects.name.clone(), reason }.into())
}
