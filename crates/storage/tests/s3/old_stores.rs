//! Buckets that earlier programs wrote, opened by this one.

use std::{fs, path::Path};

use contexture_testkit::{old_store::check_before_users, server::S3Server};
use futures::executor::block_on;
use object_store::{ObjectStore, ObjectStoreExt, aws::AmazonS3Builder};

use crate::{open, small};

/// Puts every file below a folder into the bucket, named by its path.
async fn upload(bucket: &dyn ObjectStore, folder: &Path, prefix: &str) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = format!("{prefix}/{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            Box::pin(upload(bucket, &entry.path(), &name)).await;
        } else {
            let bytes = fs::read(entry.path()).unwrap();
            bucket.put(&name.into(), bytes.into()).await.unwrap();
        }
    }
}

#[test]
fn a_bucket_from_before_users_is_read() {
    let server = S3Server::shared();
    // The storage installs what every client of this process needs for TLS.
    drop(open("another", small()));
    let bucket = AmazonS3Builder::new()
        .with_endpoint(server.endpoint())
        .with_access_key_id(server.access_key())
        .with_secret_access_key(server.secret_key())
        .with_region(server.region())
        .with_bucket_name(server.bucket())
        .with_allow_http(true)
        .build()
        .unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/before_users/s3");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(upload(&bucket, &folder, "before-users"));
    block_on(check_before_users(open("before-users", small())));
}
