//! Databases that earlier programs wrote, opened by this one.

use contexture_testkit::old_store::check_before_users;
use futures::executor::block_on;

use crate::support::{database, dynamic, sql};

#[test]
fn a_database_from_before_users_is_read() {
    let url = database();
    sql(&url, include_str!("../fixtures/before_users/postgres.sql"));
    block_on(check_before_users(dynamic(&url)));
}
