//! Encryption: each mode asks of the server's certificate what libpq asks, no more and no less.

use std::{fs, path::Path, process::Command};

use contexture_core::{ErrorKind, storage::StorageResult};
use contexture_storage::PostgresStorage;
use contexture_testkit::server::PostgresServer;
use futures::executor::block_on;

use crate::support::{options, sql};

fn openssl(folder: &Path, arguments: &str) {
    let output = Command::new("openssl")
        .args(arguments.split(' '))
        .current_dir(folder)
        .output()
        .expect("openssl comes with PostgreSQL");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Makes an authority, a certificate of it for `localhost` alone, and an authority of nobody.
fn certificates(folder: &Path) {
    let new = "req -x509 -newkey rsa:2048 -nodes -days 30";
    for name in ["authority", "stranger"] {
        openssl(folder, &format!("{new} -keyout {name}.key -out {name}.crt -subj /CN={name}"));
    }
    openssl(
        folder,
        "req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=server",
    );
    fs::write(folder.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    openssl(
        folder,
        "x509 -req -in server.csr -CA authority.crt -CAkey authority.key -CAcreateserial \
         -days 30 -extfile names -out server.crt"
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .as_str(),
    );
}

// Encrypted connections, and who is trusted in each mode.
#[test]
fn certificates_are_asked_for_as_libpq_does() {
    let server = PostgresServer::start();
    let url = server.fresh_database();
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let at = |name: &str| folder.path().join(name).display().to_string();
    for (setting, value) in [
        ("ssl_cert_file", at("server.crt")),
        ("ssl_key_file", at("server.key")),
        ("ssl", "on".to_owned()),
    ] {
        sql(&url, &format!("ALTER SYSTEM SET {setting} = '{value}'"));
    }
    server.stop();
    server.start_again();
    assert_eq!(sql(&url, "SHOW ssl"), [["on"]]);

    let address = url.split("://").nth(1).unwrap();
    let address = address.rsplit_once('@').map_or(address, |(_, rest)| rest);
    let (host, rest) = address.split_once(':').unwrap();
    assert_eq!(host, "127.0.0.1");
    let open = |host: &str, options_: &str| -> StorageResult<PostgresStorage> {
        let url = format!("postgres://postgres@{host}:{rest}?{options_}");
        block_on(PostgresStorage::open(&url, options()))
    };
    let encrypted = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                     WHERE ssl AND application_name = 'contexture'";
    let (ours, strange) = (at("authority.crt"), at("stranger.crt"));
    for (host, mode, roots, works) in [
        ("127.0.0.1", "require", None, true),
        ("127.0.0.1", "prefer", None, true),
        ("localhost", "verify-full", Some(&ours), true),
        ("127.0.0.1", "verify-full", Some(&ours), false),
        ("127.0.0.1", "verify-ca", Some(&ours), true),
        ("127.0.0.1", "require", Some(&ours), true),
        ("localhost", "verify-full", Some(&strange), false),
        ("127.0.0.1", "verify-ca", Some(&strange), false),
        ("127.0.0.1", "require", Some(&strange), false),
        ("localhost", "verify-full", None, false),
    ] {
        let roots = roots.map(|roots| format!("&sslrootcert={roots}")).unwrap_or_default();
        let opened = open(host, &format!("sslmode={mode}{roots}"));
        assert_eq!(opened.is_ok(), works, "{host} {mode} {roots}: {opened:?}");
        match opened {
            Ok(storage) => {
                assert_ne!(sql(&url, encrypted), [["0"]], "{mode} is not encrypted");
                drop(storage);
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}"),
        }
    }
    let plain = open("127.0.0.1", "sslmode=disable").unwrap();
    drop(plain);
}
