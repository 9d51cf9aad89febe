//! Objects: reading and writing them by their names, checked.
//!
//! ```text
//! PREFIX/contexture.json              that all of this is ours
//! PREFIX/sessions/NAME                a session's root
//! PREFIX/data/NAME/LIFE/KIND-ID       all else it holds, never changed once written
//! PREFIX/quarantine/…                 what could not be read, moved here by a repair
//! ```

use std::sync::Arc;

use contexture_core::{SessionId, storage::StorageError};
use futures::{StreamExt, TryStreamExt, future::BoxFuture, stream};
use object_store::{
    Error, GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, UpdateVersion, path::Path,
};

use super::{
    cache::{Cache, Held},
    fault::{Doing, Fault, FaultResult, refused},
    frame::{self, Kind},
    manifest::Manifest,
    options::Tuning,
    root::{Id, ObjectRef, Root},
    table::Table,
};

/// How many requests of one call are on their way at once.
const AT_ONCE: usize = 24;

/// Does several things at once, though not too many; returns what came of them in order.
///
/// They are boxed because a closure that lends what it was given cannot be shown to be `Send`.
pub(crate) async fn at_once<T: Send>(
    work: Vec<BoxFuture<'_, FaultResult<T>>>,
) -> FaultResult<Vec<T>> {
    stream::iter(work).buffered(AT_ONCE).try_collect().await
}

/// The server, and what was read from it lately.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) store: Arc<dyn ObjectStore>,
    prefix: Path,
    /// How the storage is called in errors.
    pub(crate) name: String,
    pub(crate) cache: Cache,
    pub(crate) tuning: Tuning,
}

/// Bytes that were read, with what a conditional write of them needs.
pub(crate) struct Found {
    pub(crate) bytes: Vec<u8>,
    pub(crate) version: UpdateVersion,
}

/// What a conditional read found.
pub(crate) enum Looked {
    Same,
    Found(Found),
    Missing,
}

/// How a conditional write ended.
pub(crate) enum Wrote {
    Done(UpdateVersion),
    /// Somebody else wrote before.
    Lost,
    /// Nobody knows.
    Unknown(Error),
}

impl Objects {
    pub(crate) fn new(
        store: Arc<dyn ObjectStore>,
        prefix: &str,
        name: String,
        tuning: Tuning,
    ) -> Self {
        let cache = Cache::new(tuning.cache_bytes);
        Self { store, prefix: Path::from(prefix), name, cache, tuning }
    }

    /// Returns the path of an object by its parts.
    pub(crate) fn path(&self, parts: &[&str]) -> Path {
        parts.iter().fold(self.prefix.clone(), |path, part| path.join(*part))
    }

    pub(crate) fn root_path(&self, session: &SessionId) -> Path {
        self.path(&["sessions", session.as_str()])
    }

    pub(crate) fn refused(&self, doing: Doing, error: &Error) -> StorageError {
        refused(&self.name, doing, error)
    }

    /// Reads an object, unless it still is the version given.
    pub(crate) async fn look(
        &self,
        path: &Path,
        unless: Option<&UpdateVersion>,
    ) -> FaultResult<Looked> {
        let etag = unless.and_then(|version| version.e_tag.clone());
        let options = GetOptions { if_none_match: etag, ..GetOptions::default() };
        let read = async {
            let got = self.store.get_opts(path, options).await?;
            let version =
                UpdateVersion { e_tag: got.meta.e_tag.clone(), version: got.meta.version.clone() };
            Ok(Found { bytes: got.bytes().await?.to_vec(), version })
        };
        match read.await {
            Ok(found) => Ok(Looked::Found(found)),
            Err(Error::NotModified { .. }) => Ok(Looked::Same),
            Err(error @ Error::NotFound { .. }) if !super::fault::is_about_bucket(&error) => {
                Ok(Looked::Missing)
            }
            Err(error) => Err(self.refused(Doing::Reading, &error).into()),
        }
    }

    /// Writes an object that nobody else writes.
    pub(crate) async fn put(&self, path: &Path, bytes: Vec<u8>) -> FaultResult<()> {
        let put = self.store.put(path, bytes.into()).await;
        put.map(|_| ()).map_err(|error| self.refused(Doing::Writing, &error).into())
    }

    /// Writes an object if it still is the version given, or is not there where none is given.
    pub(crate) async fn swap(
        &self,
        path: &Path,
        bytes: Vec<u8>,
        version: Option<UpdateVersion>,
    ) -> FaultResult<Wrote> {
        let mode = version.map_or(PutMode::Create, PutMode::Update);
        match self.store.put_opts(path, bytes.into(), mode.into()).await {
            Ok(put) => Ok(Wrote::Done(put.into())),
            Err(error) if super::fault::is_about_bucket(&error) => {
                Err(self.refused(Doing::Writing, &error).into())
            }
            Err(
                Error::Precondition { .. } | Error::AlreadyExists { .. } | Error::NotFound { .. },
            ) => Ok(Wrote::Lost),
            Err(error @ (Error::PermissionDenied { .. } | Error::Unauthenticated { .. })) => {
                Err(self.refused(Doing::Writing, &error).into())
            }
            Err(error) => Ok(Wrote::Unknown(error)),
        }
    }

    pub(crate) async fn list(&self, parts: &[&str]) -> FaultResult<Vec<ObjectMeta>> {
        let listed: Result<Vec<ObjectMeta>, Error> =
            self.store.list(Some(&self.path(parts))).try_collect().await;
        listed.map_err(|error| self.refused(Doing::Reading, &error).into())
    }

    /// Tells whether there is any object under a path.
    pub(crate) async fn has_any(&self, parts: &[&str]) -> FaultResult<bool> {
        match self.store.list(Some(&self.path(parts))).next().await {
            None => Ok(false),
            Some(Ok(_)) => Ok(true),
            Some(Err(error)) => Err(self.refused(Doing::Reading, &error).into()),
        }
    }

    /// Deletes objects; one that is gone already is no error.
    pub(crate) async fn delete(&self, paths: Vec<Path>) -> FaultResult<()> {
        let paths = stream::iter(paths).map(Ok).boxed();
        let mut deleted = self.store.delete_stream(paths);
        while let Some(one) = deleted.next().await {
            match one {
                Ok(_) | Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(self.refused(Doing::Writing, &error).into()),
            }
        }
        Ok(())
    }
}

/// The kinds of objects in a session's folder, by the letter their names begin with.
pub(crate) const CHUNK: char = 'c';
pub(crate) const DELTA: char = 'd';
pub(crate) const MANIFEST: char = 'm';
pub(crate) const PACK: char = 'p';

/// Returns what an object is called in its folder.
pub(crate) fn object_name(kind: char, id: Id) -> String {
    format!("{kind}-{id}")
}

/// The folder of a session's objects.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    pub(crate) objects: Arc<Objects>,
    pub(crate) session: SessionId,
    pub(crate) incarnation: Id,
}

impl Home {
    pub(crate) fn new(objects: &Arc<Objects>, session: &SessionId, root: &Root) -> Self {
        let (objects, session) = (objects.clone(), session.clone());
        Self { objects, session, incarnation: root.meta.incarnation }
    }

    pub(crate) fn folder(&self) -> Path {
        let incarnation = self.incarnation.to_string();
        self.objects.path(&["data", self.session.as_str(), &incarnation])
    }

    pub(crate) fn path(&self, name: &str) -> Path {
        self.folder().join(name)
    }

    /// Returns how an object is called in errors.
    pub(crate) fn named(&self, kind: char, id: Id) -> String {
        let name = self.path(&object_name(kind, id));
        format!("object {name} of session '{}'", self.session)
    }

    /// Lists the folder: what objects are called in it, and when they were written.
    pub(crate) async fn list(&self) -> FaultResult<Vec<ObjectMeta>> {
        let incarnation = self.incarnation.to_string();
        self.objects.list(&["data", self.session.as_str(), &incarnation]).await
    }

    pub(crate) async fn delete(&self, names: &[String]) -> FaultResult<()> {
        self.objects.delete(names.iter().map(|name| self.path(name)).collect()).await
    }

    /// Reads an object whole.
    pub(crate) async fn read(&self, kind: char, id: Id) -> FaultResult<Vec<u8>> {
        let found = self.objects.look(&self.path(&object_name(kind, id)), None).await?;
        match found {
            Looked::Found(found) => Ok(found.bytes),
            Looked::Missing | Looked::Same => Err(Fault::Gone(self.named(kind, id))),
        }
    }

    async fn payload(&self, kind: char, frame: Kind, object: &ObjectRef) -> FaultResult<Vec<u8>> {
        let what = self.named(kind, object.id);
        let bytes = self.read(kind, object.id).await?;
        let (payload, sum) = frame::unseal(frame, &bytes, &what)?;
        if sum != object.sum.0 {
            return Err(Fault::corrupt(what, "another object is in its place"));
        }
        Ok(payload)
    }

    async fn held<F>(&self, id: Id, read: F) -> FaultResult<Held>
    where
        F: Future<Output = FaultResult<Held>>,
    {
        let cache = &self.objects.cache;
        let held = cache.cell(id).get_or_try_init(|| read).await?.clone();
        cache.weigh(id, &held);
        Ok(held)
    }

    /// Reads a chunk or a delta from the server.
    pub(crate) async fn read_table(&self, kind: char, object: &ObjectRef) -> FaultResult<Table> {
        let payload = self.payload(kind, Kind::Table, object).await?;
        Table::decode(&payload, &self.named(kind, object.id))
    }

    /// Reads a manifest from the server.
    pub(crate) async fn read_manifest(&self, object: &ObjectRef) -> FaultResult<Manifest> {
        let payload = self.payload(MANIFEST, Kind::Manifest, object).await?;
        Manifest::decode(&payload, &self.named(MANIFEST, object.id))
    }

    /// Returns a chunk or a delta.
    pub(crate) async fn table(&self, kind: char, object: &ObjectRef) -> FaultResult<Arc<Table>> {
        let read = async { Ok(Held::Table(Arc::new(self.read_table(kind, object).await?))) };
        match self.held(object.id, read).await? {
            Held::Table(table) => Ok(table),
            Held::Manifest(_) => {
                Err(Fault::corrupt(self.named(kind, object.id), "it is a different kind of object"))
            }
        }
    }

    /// Returns a manifest; an empty one where there is none yet.
    pub(crate) async fn manifest(&self, object: Option<&ObjectRef>) -> FaultResult<Arc<Manifest>> {
        let Some(object) = object else { return Ok(Arc::default()) };
        let read = async { Ok(Held::Manifest(Arc::new(self.read_manifest(object).await?))) };
        match self.held(object.id, read).await? {
            Held::Manifest(manifest) => Ok(manifest),
            Held::Table(_) => Err(Fault::corrupt(
                self.named(MANIFEST, object.id),
                "it is a different kind of object",
            )),
        }
    }

    /// Writes a chunk or a delta.
    pub(crate) async fn put_table(&self, kind: char, table: Table) -> FaultResult<ObjectRef> {
        let object = self.put_frame(kind, Kind::Table, &table.encode()).await?;
        // Whoever wrote it will read it next.
        let held = Held::Table(Arc::new(table));
        if self.objects.cache.cell(object.id).set(held.clone()).is_ok() {
            self.objects.cache.weigh(object.id, &held);
        }
        Ok(object)
    }

    pub(crate) async fn put_manifest(&self, manifest: &Manifest) -> FaultResult<ObjectRef> {
        self.put_frame(MANIFEST, Kind::Manifest, &manifest.encode()).await
    }

    async fn put_frame(&self, kind: char, frame: Kind, payload: &[u8]) -> FaultResult<ObjectRef> {
        let id = Id::random(&self.objects.name)?;
        let sealed = frame::seal(frame, payload);
        let object = ObjectRef { id, size: sealed.bytes.len() as u64, sum: Id(sealed.checksum) };
        self.objects.put(&self.path(&object_name(kind, id)), sealed.bytes).await?;
        Ok(object)
    }
}
