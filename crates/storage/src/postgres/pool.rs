//! Connections: a few that everybody shares, each replaced when it breaks; one of its own for a
//! snapshot.

use std::{
    future::Future,
    sync::{Arc, OnceLock},
    time::Duration,
};

use contexture_core::storage::{StorageError, StorageResult};
use deadpool_postgres::{
    ClientWrapper, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime,
};
use futures::future::BoxFuture;
use tokio::{sync::Mutex, time::timeout};
use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    PostgresOptions,
    address::Address,
    error::{Fault, FaultResult, unavailable},
    tls,
};

/// The ways to a database.
pub(crate) struct Connections {
    pool: Pool,
    /// How the database is called in errors.
    pub(crate) what: String,
    pub(crate) patience: Duration,
    /// For a connection that stands outside the pool.
    pub(crate) config: Config,
    pub(crate) tls: MakeRustlsConnect,
    /// Names this process to those who hear of its commits.
    pub(crate) tag: String,
    /// The schema its tables are in.
    schema: OnceLock<String>,
}

impl Connections {
    /// Prepares to connect; nothing is asked of the server yet.
    pub(crate) fn new(address: &Address, options: &PostgresOptions) -> StorageResult<Self> {
        let tls = tls::connector(address)?;
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(address.config.clone(), tls.clone(), recycling);
        let patience = Some(options.timeout);
        let pool = Pool::builder(manager)
            .max_size(options.max_connections.max(1))
            .runtime(Runtime::Tokio1)
            .wait_timeout(patience)
            .create_timeout(patience)
            .recycle_timeout(patience)
            .build();
        let pool = pool.map_err(|error| unavailable(&address.name, error))?;
        let tag = crate::random::bytes::<8>("a tag")?;
        Ok(Self {
            pool,
            what: address.name.clone(),
            patience: options.timeout,
            config: address.config.clone(),
            tls,
            tag: tag.iter().map(|byte| format!("{byte:02x}")).collect(),
            schema: OnceLock::new(),
        })
    }

    /// Notes the schema in which the tables are, and with it the channel on which commits are told.
    pub(crate) async fn learn_schema(&self, db: &ClientWrapper) -> FaultResult<()> {
        let row = db.query_one("SELECT current_schema()::text", &[]).await?;
        let schema: Option<String> = row.try_get(0)?;
        self.schema.get_or_init(|| schema.unwrap_or_default());
        Ok(())
    }

    /// Returns the channel of this store, as SQL writes it. Stores in other schemas have their own.
    pub(crate) fn channel(&self) -> String {
        let schema = self.schema.get().map_or("", String::as_str);
        // A name is cut after 63 bytes.
        let fits = schema.char_indices().take_while(|(at, char)| at + char.len_utf8() <= 52);
        let fits: String = fits.map(|(_, char)| char).collect();
        format!("\"contexture_{}\"", fits.replace('"', "\"\""))
    }

    /// Takes a connection, making one if need be.
    pub(crate) async fn take(&self) -> FaultResult<Object> {
        Ok(self.pool.get().await?)
    }

    /// Reads something. A connection that turns out to be broken is replaced, once: the server may
    /// have been away since it was last used.
    pub(crate) async fn read<T>(
        &self,
        work: impl for<'a> Fn(&'a ClientWrapper) -> BoxFuture<'a, FaultResult<T>>,
    ) -> StorageResult<T> {
        let mut again = true;
        loop {
            let done = async {
                let db = self.take().await?;
                let done = self.within(work(&db)).await;
                if done.is_err() {
                    retire(db);
                }
                done
            };
            match done.await {
                Err(fault @ Fault::Postgres(_)) if again && fault.is_lost() => again = false,
                done => return done.map_err(|fault| fault.at(&self.what)),
            }
        }
    }

    /// Waits for an answer, but not for ever.
    pub(crate) async fn within<T>(
        &self,
        work: impl Future<Output = FaultResult<T>>,
    ) -> FaultResult<T> {
        match timeout(self.patience, work).await {
            Ok(done) => done,
            Err(_) => Err(Fault::Late("it did not answer in time")),
        }
    }
}

/// Closes a connection instead of giving it back: a transaction may be open on it, or answers
/// still to come.
pub(crate) fn retire(db: Object) {
    drop(Object::take(db));
}

/// Everything as it stood at one moment, on a connection of its own.
pub(crate) struct Still {
    /// Reads take turns.
    db: Mutex<ClientWrapper>,
    what: String,
}

impl Still {
    /// Begins to stand still.
    pub(crate) async fn new(connections: &Connections) -> FaultResult<Arc<Self>> {
        let db = Object::take(connections.take().await?);
        // It may be held for long without a question; the server is not to end it for that.
        connections
            .within(async {
                db.batch_execute(
                    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
                     SET LOCAL idle_in_transaction_session_timeout = 0",
                )
                .await?;
                // The first question is what fixes the moment.
                Ok(db.batch_execute("SELECT version FROM contexture_meta").await?)
            })
            .await?;
        Ok(Arc::new(Self { db: Mutex::new(db), what: connections.what.clone() }))
    }

    pub(crate) async fn read<T>(
        &self,
        work: impl for<'a> Fn(&'a ClientWrapper) -> BoxFuture<'a, FaultResult<T>>,
    ) -> StorageResult<T> {
        let db = self.db.lock().await;
        work(&db).await.map_err(|fault| match fault {
            Fault::Storage(error) => error,
            fault => {
                let error = fault.at(&self.what);
                match error {
                    StorageError::Unavailable { what, reason } => {
                        StorageError::Unavailable { what: format!("a snapshot of {what}"), reason }
                    }
                    error => error,
                }
            }
        })
    }
}

/// Waits before the next attempt: longer each time, and never as long as others do.
pub(crate) async fn pause(attempt: u32, first: Duration) {
    let most = first.saturating_mul(1 << attempt.min(6));
    let share = crate::random::bytes::<2>("a pause").map_or(1 << 15, u16::from_le_bytes);
    tokio::time::sleep(most.mul_f64(0.5 + f64::from(share) / f64::from(u16::MAX) / 2.0)).await;
}
