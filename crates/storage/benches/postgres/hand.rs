//! What somebody would write by hand: the same rows in the same tables, in one transaction of two
//! round trips, with prepared statements.

use contexture_core::{
    storage::{
        Checksum, Content, Inverse, PageBefore, PageBody, PageDetail, PageStanding, Place, Version,
        ViewId,
    },
    *,
};
use futures::future::{join4, try_join_all};
use tokio_postgres::{Client, NoTls, Statement, types::ToSql};

use crate::text;

pub(crate) struct Hand {
    db: Client,
    lock: Statement,
    segment: Statement,
    parent: Statement,
    writes: Vec<Statement>,
}

const WRITES: [&str; 6] = [
    "INSERT INTO contexture_contents (session, hash, refs, raw, data) VALUES ($1, $2, 1, NULL, $3)
     ON CONFLICT (session, hash) DO UPDATE SET refs = contexture_contents.refs + 1",
    "UPDATE contexture_segments SET data = $2, checksum = $3 WHERE session = $1 AND name = 'usr'",
    "INSERT INTO contexture_pages VALUES ($1, 'usr', $2, 0, $2, 0, 1, NULL, $3, $4)",
    "INSERT INTO contexture_directories VALUES ($1, 'usr', 0, 1)
     ON CONFLICT (session, segment, number) DO UPDATE SET
         listed = contexture_directories.listed + 1",
    "INSERT INTO contexture_history VALUES ($1, $2, 'system', TRUE, 1, NULL, $3, $4)",
    "UPDATE contexture_sessions SET revision = $2, next_place = $2, updated_at = $3, checksum = $4
     WHERE id = $1",
];

impl Hand {
    pub(crate) async fn new(url: &str) -> Self {
        let (db, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let lock = "SELECT id, revision FROM contexture_sessions WHERE name = $1 FOR UPDATE";
        let lock = db.prepare(lock).await.unwrap();
        let of = "(SELECT id FROM contexture_sessions WHERE name = $1)";
        let segment = format!(
            "SELECT data, checksum FROM contexture_segments WHERE session = {of} AND name = 'usr'"
        );
        let segment = db.prepare(&segment).await.unwrap();
        let parent = format!(
            "SELECT data, checksum FROM contexture_pages
             WHERE session = {of} AND segment = 'usr' AND number = 0"
        );
        let parent = db.prepare(&parent).await.unwrap();
        let writes = try_join_all(WRITES.map(|sql| db.prepare(sql))).await.unwrap();
        Self { db, lock, segment, parent, writes }
    }

    pub(crate) async fn append(&self, session: &str, seed: usize) {
        let db = &self.db;
        let name: &[&(dyn ToSql + Sync)] = &[&session];
        let (begun, locked, segment, parent) = join4(
            db.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED"),
            db.query_one(&self.lock, name),
            db.query_one(&self.segment, name),
            db.query_one(&self.parent, name),
        )
        .await;
        begun.unwrap();
        let locked = locked.unwrap();
        let (id, number) = (locked.get::<_, i64>(0), locked.get::<_, i64>(1) + 1);
        let segment: Vec<u8> = segment.unwrap().get(0);
        let segment: Segment = serde_json::from_slice(&segment).unwrap();
        let parent: Vec<u8> = parent.unwrap().get(0);
        Page::decode(&parent).unwrap();
        let (page, content, entry) = rows(seed, number);
        let (page, entry) = (page.encode(), serde_json::to_vec(&entry).unwrap());
        let segment = serde_json::to_vec(&segment).unwrap();
        let sum = |bytes: &[u8]| Checksum::of(bytes).0.to_vec();
        let (hash, body) = (content.hash().as_bytes().to_vec(), content.bytes());
        let sums = [sum(&segment), sum(&page), sum(&entry), sum(&number.to_le_bytes())];
        let values: [&[&(dyn ToSql + Sync)]; 6] = [
            &[&id, &hash, &body],
            &[&id, &segment, &sums[0]],
            &[&id, &number, &page, &sums[1]],
            &[&id],
            &[&id, &number, &entry, &sums[2]],
            &[&id, &number, &number, &sums[3]],
        ];
        let writes = self.writes.iter().zip(values).map(|(sql, values)| db.execute(sql, values));
        let (written, committed) =
            futures::future::join(try_join_all(writes), db.batch_execute("COMMIT")).await;
        written.unwrap();
        committed.unwrap();
    }
}

fn rows(seed: usize, number: i64) -> (Page, Content, HistoryEntry) {
    let at = Timestamp::from_millis(0);
    let message = Message { at: Some(at), ..Message::text(Role::System, text(seed)) };
    let content = Content::encode(&[message]);
    let number = u64::try_from(number).unwrap();
    let page = Page {
        index: PageIndex::new("usr".parse().unwrap(), number),
        parent: Some("usr-0".parse().unwrap()),
        place: Place(number),
        body: PageBody::Detail(PageDetail {
            content: content.hash(),
            messages: 1,
            counted: None,
            weight: 1_000,
            open: Vec::new(),
        }),
        name: format!("Page {seed}").parse().unwrap(),
        description: Description::default(),
        visibility: Visibility::Hidden,
        standing: PageStanding::InTree,
        author: Actor::System,
        rewritten_by: None,
        trust: Trust::System,
        sources: Vec::new(),
        turn: None,
        version: Version(1),
        revision: Revision(number),
        created_at: at,
        updated_at: at,
    };
    let before = PageBefore {
        index: page.index.clone(),
        before: None,
        after: Some(Version(1)),
        previous: None,
        assigned: Some(content.hash()),
        purged: false,
        restores: None,
    };
    let entry = HistoryEntry {
        revision: Revision(number),
        at,
        actor: Actor::System,
        view: ViewId::SYSTEM,
        operation: Operation::CreateDetailPage,
        pages: vec![page.index.clone()],
        segments: Vec::new(),
        undoes: None,
        undone_by: None,
        redone_by: None,
        fold: None,
        inverse: Inverse { pages: vec![before], ..Inverse::default() },
    };
    (page, content, entry)
}
