//! A store whose requests can be made to fail, counted or spied on.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
};

use futures::stream::BoxStream;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
    path::Path,
};

/// A store that does as it is told.
#[derive(Debug)]
pub(super) struct Faulty {
    inner: Arc<dyn ObjectStore>,
    /// How many writes there were.
    pub(super) writes: AtomicU64,
    /// How many reads there were.
    pub(super) reads: AtomicU64,
    /// The write whose answer is lost: counts down, and happens at nought.
    pub(super) loses: AtomicI64,
    /// The write that is not made.
    pub(super) refuses: AtomicI64,
    /// The write from which on nothing is made or answered, as if the process had ended.
    pub(super) ends: AtomicI64,
    ended: AtomicBool,
    /// Whether conditions on writes are ignored.
    pub(super) ignores: AtomicBool,
}

impl Faulty {
    pub(super) fn new(inner: Arc<dyn ObjectStore>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            writes: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            loses: AtomicI64::new(-1),
            refuses: AtomicI64::new(-1),
            ends: AtomicI64::new(-1),
            ended: AtomicBool::new(false),
            ignores: AtomicBool::new(false),
        })
    }

    pub(super) fn requests(&self) -> (u64, u64) {
        (self.reads.swap(0, Ordering::Relaxed), self.writes.swap(0, Ordering::Relaxed))
    }

    fn check(&self) -> Result<()> {
        if self.ended.load(Ordering::Relaxed) { Err(broken()) } else { Ok(()) }
    }
}

fn falls_due(counter: &AtomicI64) -> bool {
    counter.fetch_sub(1, Ordering::Relaxed) == 0
}

fn broken() -> Error {
    Error::Generic { store: "faulty", source: "the connection was cut".into() }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("faulty")
    }
}

#[async_trait::async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        mut options: PutOptions,
    ) -> Result<PutResult> {
        self.check()?;
        self.writes.fetch_add(1, Ordering::Relaxed);
        if falls_due(&self.ends) {
            self.ended.store(true, Ordering::Relaxed);
        }
        self.check()?;
        if falls_due(&self.refuses) {
            return Err(broken());
        }
        if self.ignores.load(Ordering::Relaxed) {
            options.mode = PutMode::Overwrite;
        }
        let put = self.inner.put_opts(location, payload, options).await;
        if falls_due(&self.loses) { Err(broken()) } else { put }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.check()?;
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        if self.check().is_err() {
            return Box::pin(futures::stream::once(async { Err(broken()) }));
        }
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        if self.check().is_err() {
            return Box::pin(futures::stream::once(async { Err(broken()) }));
        }
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
