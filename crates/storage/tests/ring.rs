//! A session that goes round all storages comes back as it was.

use std::sync::Arc;

use contexture_core::{
    ContextSystem, Format, PageStorage, SessionId,
    document::export,
    storage::{
        check::check_session,
        copy::{CopyOutcome, copy_session},
    },
};
use contexture_testkit::{
    conformance::{Dump, dump},
    filled::filled,
    fixture::{TickingClock, session_id},
    window::options,
};
use futures::executor::block_on;

use crate::backends;

/// All there is to see of a session: every record, its export, and its windows by hash.
#[derive(Debug, PartialEq)]
struct Sight {
    dump: Dump,
    export: String,
    windows: Vec<String>,
}

fn look(storage: &Arc<dyn PageStorage>, session: &SessionId) -> Sight {
    block_on(async {
        let clock = TickingClock::new();
        let system = ContextSystem::open(storage.clone(), session.clone(), clock).await.unwrap();
        let mut windows = Vec::new();
        for format in Format::ALL {
            windows.push(
                system
                    .as_system()
                    .reader()
                    .window(&options(format))
                    .await
                    .unwrap()
                    .hash
                    .to_string(),
            );
        }
        assert_eq!(check_session(&**storage, session).await.unwrap(), [""; 0]);
        let export = export(&system).await.unwrap();
        Sight { dump: dump(&**storage, session).await, export, windows }
    })
}

// B-15: memory → files → SQLite → PostgreSQL → S3 → SQLite: the same records, the same export
// byte for byte, the same windows.
#[test]
fn a_session_goes_round_the_ring() {
    let session = session_id();
    let begin = filled(7);
    let expected = look(&begin, &session);
    assert!(expected.export.len() > 10_000 && expected.windows.len() >= 6);
    let ring = ["files", "sqlite", "postgres", "s3", "sqlite"];
    let (mut from, mut homes) = (begin, Vec::new());
    for name in ring {
        let all = backends::all();
        let backend = all.iter().find(|backend| backend.name() == name).unwrap();
        let home = backend.home();
        let to = home.open();
        let copied = block_on(copy_session(&*from, &*to, &session, &mut |_| {})).unwrap();
        assert_eq!(copied.outcome, CopyOutcome::Copied, "{name}");
        // Read by another, as another process would.
        let read = home.open();
        let seen = look(&read, &session);
        assert!(seen == expected, "{name}: {seen:#?}\nis not\n{expected:#?}");
        from = to;
        homes.push(home);
    }
}
