use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::Sandbox;

#[test]
fn a_sound_store_is_ok() {
    let sandbox = Sandbox::with_pages();
    sandbox.json(&["session", "create", "other"]);
    assert_eq!(sandbox.json(&["store", "check"]), json!({ "ok": true, "problems": [] }));
    assert_eq!(sandbox.text(&["store", "check"]), "sqlite:.contexture/contexture.db is in order\n");
}

#[test]
fn a_flipped_byte_is_noticed() {
    let sandbox = Sandbox::with_pages();
    let database = Connection::open(sandbox.database()).unwrap();
    let changed = database
        .execute(
            "UPDATE pages SET data = CAST(replace(CAST(data AS TEXT), 'Note', 'Nope') AS BLOB)",
            [],
        )
        .unwrap();
    assert!(changed > 0);
    drop(database);
    let ran = sandbox.run(&["store", "check", "--json"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    let checked: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(checked["ok"], false);
    assert!(!checked["problems"].as_array().unwrap().is_empty());
    assert_eq!(sandbox.refused(&["page", "show", "usr-1"]).0, "corrupt");
}
