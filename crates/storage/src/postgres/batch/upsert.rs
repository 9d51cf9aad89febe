//! Rows of one table as one statement, in place of those that stand under the same keys.
//!
//! Most commits write one row of a table, and the server makes plain values quicker than it unfolds
//! arrays; many rows go as one array for each column, so that the statement is the same however many
//! they are.

use tokio_postgres::types::ToSql;

use super::Bound;

/// How rows are written to a table. Their first column is the session.
pub(super) struct Upsert {
    one: String,
    many: String,
}

/// What becomes of a row whose key is there already.
pub(super) enum Clash {
    /// The new one takes its place.
    Replace,
    /// The column grows by the new one's; the rest stays.
    Grow(&'static str),
    /// It is an error.
    Refuse,
}

/// The values of one column, of every row.
pub(super) trait Column {
    fn rows(&self) -> usize;
    /// The value of the only row.
    fn only(self: Box<Self>) -> Option<Box<dyn ToSql + Sync + Send>>;
    /// All values as an array.
    fn all(self: Box<Self>) -> Box<dyn ToSql + Sync + Send>;
}

impl<T: ToSql + Sync + Send + 'static> Column for Vec<T> {
    fn rows(&self) -> usize {
        self.len()
    }

    fn only(mut self: Box<Self>) -> Option<Box<dyn ToSql + Sync + Send>> {
        self.pop().map(|value| Box::new(value) as _)
    }

    fn all(self: Box<Self>) -> Box<dyn ToSql + Sync + Send> {
        self
    }
}

/// The columns of some rows, in the order of [`Upsert::new`].
macro_rules! columns {
    ($($column:expr),+ $(,)?) => { vec![$(Box::new($column) as Box<dyn Column>),+] };
}
pub(super) use columns;

impl Upsert {
    /// Describes a table by the columns of its key and the others, each with its type.
    pub(super) fn new(
        table: &str,
        key: &[(&str, &str)],
        rest: &[(&str, &str)],
        clash: Clash,
    ) -> Self {
        let all: Vec<&(&str, &str)> = key.iter().chain(rest).collect();
        let list = |each: &dyn Fn(usize, &str, &str) -> String| {
            let each = all.iter().enumerate().map(|(at, (name, kind))| each(at + 2, name, kind));
            each.collect::<Vec<_>>().join(", ")
        };
        let names = list(&|_, name, _| name.to_owned());
        let keys: String = key.iter().map(|(name, _)| format!(", {name}")).collect();
        let clash = match clash {
            Clash::Replace => {
                let set = rest.iter().map(|(name, _)| format!("{name} = excluded.{name}"));
                let set = set.collect::<Vec<_>>().join(", ");
                format!(" ON CONFLICT (session{keys}) DO UPDATE SET {set}")
            }
            Clash::Grow(name) => format!(
                " ON CONFLICT (session{keys}) DO UPDATE SET {name} = {table}.{name} + excluded.{name}"
            ),
            Clash::Refuse => String::new(),
        };
        let into = format!("INSERT INTO {table} (session, {names})");
        let values = list(&|at, _, _| format!("${at}"));
        let arrays = list(&|at, _, kind| format!("${at}::{kind}[]"));
        let picked = list(&|_, name, _| format!("w.{name}"));
        Self {
            one: format!("{into} VALUES ($1, {values}){clash}"),
            many: format!(
                "{into} SELECT $1::bigint, {picked} FROM unnest({arrays}) AS w ({names}){clash}"
            ),
        }
    }

    /// Returns the statement that writes rows, if there are any.
    pub(super) fn write(
        &'static self,
        session: i64,
        columns: Vec<Box<dyn Column>>,
    ) -> Option<Bound> {
        let rows = columns.first().map_or(0, |column| column.rows());
        debug_assert!(
            columns.iter().all(|column| column.rows() == rows),
            "columns are equally long"
        );
        let mut values: super::Values = vec![Box::new(session)];
        let sql = match rows {
            0 => return None,
            1 => {
                values.extend(columns.into_iter().filter_map(|column| column.only()));
                &self.one
            }
            _ => {
                values.extend(columns.into_iter().map(|column| column.all()));
                &self.many
            }
        };
        Some((sql, values))
    }
}
