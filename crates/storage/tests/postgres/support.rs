//! Databases to test on, and short ways to say what tests say often.

use std::sync::Arc;

use contexture_core::{
    ContextSystem, Edit, NewDetailPage, PageIndex, PageStorage, storage::check::check_session,
};
use contexture_storage::{PostgresOptions, PostgresStorage, SystemClock};
use contexture_testkit::{
    fixture::{page, session_id, valid},
    server::PostgresServer,
};
use futures::executor::block_on;
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// Makes an empty database; returns its URL.
pub(crate) fn database() -> String {
    PostgresServer::shared().fresh_database()
}

/// Few connections: many storages are open at once.
pub(crate) fn options() -> PostgresOptions {
    PostgresOptions { max_connections: 4, ..PostgresOptions::default() }
}

pub(crate) fn open(url: &str) -> Arc<PostgresStorage> {
    Arc::new(block_on(PostgresStorage::open(url, options())).unwrap())
}

pub(crate) fn dynamic(url: &str) -> Arc<dyn PageStorage> {
    open(url)
}

/// Opens the test's session.
pub(crate) fn system(storage: Arc<dyn PageStorage>) -> ContextSystem {
    block_on(ContextSystem::open(storage, session_id(), Arc::new(SystemClock))).unwrap()
}

pub(crate) fn append(
    system: &ContextSystem,
    name: &str,
) -> Result<PageIndex, contexture_core::Error> {
    let new = NewDetailPage::new(page("usr-0"), valid(name), format!("text of {name}"));
    let made = block_on(system.as_system().apply(Edit::CreateDetailPage(new)));
    made.map(|mut outcome| outcome.pages.remove(0))
}

/// Returns the names of all pages of `usr`, in order of number.
pub(crate) fn names(storage: &dyn PageStorage) -> Vec<String> {
    let segment = valid("usr");
    let pages = block_on(contexture_testkit::state::scan(storage, &session_id(), &segment));
    pages.iter().map(|page| page.name.as_str().to_owned()).collect()
}

pub(crate) fn assert_sound(storage: &dyn PageStorage) {
    assert_eq!(block_on(check_session(storage, &session_id())).unwrap(), [""; 0]);
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
}

/// Says something to the database behind the storage's back; returns what it answers, as text.
pub(crate) fn sql(url: &str, text: &str) -> Vec<Vec<String>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        let answers = client.simple_query(text).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
        let rows = answers.iter().filter_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        rows.map(|row| {
            (0..row.len()).map(|at| row.get(at).unwrap_or_default().to_owned()).collect()
        })
        .collect()
    })
}
