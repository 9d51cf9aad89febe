//! Changes made by hand, and storages to commit them to.

use std::path::{Path, PathBuf};

use contexture_core::{
    Actor, Level, Operation, Page, PageIndex, PageStorage, Permission, Revision, Segment,
    SegmentId, SegmentKind, SessionId, Timestamp, Tokens, Trust, Visibility,
    storage::{
        Basis, Change, Commit, Committed, Content, ContentHash, LedgerKey, Mark, NewSession,
        NumberClaim, PageBody, PageDelta, PageDetail, PageStanding, Place, PlaceClaim,
        SegmentDelta, SentPiece, SentSource, SentWindow, StorageResult, Version, ViewId,
    },
};
use contexture_storage::{Durability, SqliteOptions, SqliteStorage};
use futures::executor::block_on;

/// A storage in a folder of its own.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("contexture.db")
    }

    /// Opens the storage without waiting for the disk at each commit.
    pub(crate) fn open(&self) -> SqliteStorage {
        let options = SqliteOptions { durability: Durability::Process, ..SqliteOptions::default() };
        SqliteStorage::open(&self.file(), options).unwrap()
    }

    /// Opens the storage as it is by default, so that commits take long enough to be grouped.
    pub(crate) fn open_durable(&self) -> SqliteStorage {
        SqliteStorage::open(&self.file(), SqliteOptions::default()).unwrap()
    }

    /// Opens the file to change it behind the storage's back.
    pub(crate) fn meddle(&self) -> rusqlite::Connection {
        contexture_vfs::register().unwrap();
        let (flags, vfs) = (rusqlite::OpenFlags::default(), contexture_vfs::CHECKED);
        rusqlite::Connection::open_with_flags_and_vfs(self.file(), flags, vfs).unwrap()
    }

    /// Returns every byte that lies in the folder.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let entries = std::fs::read_dir(self.folder()).unwrap();
        entries.flat_map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect()
    }
}

pub(crate) fn session(name: &str) -> SessionId {
    name.parse().unwrap()
}

pub(crate) fn index(text: &str) -> PageIndex {
    text.parse().unwrap()
}

pub(crate) fn segment_id(text: &str) -> SegmentId {
    text.parse().unwrap()
}

pub(crate) fn bot() -> Actor {
    "bot".parse().unwrap()
}

pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_760_000_000_000 + millis)
}

/// A content; its text stands in its bytes.
pub(crate) fn content(text: &str) -> Content {
    let bytes = text.as_bytes().to_vec();
    Content::verify(ContentHash::of(&bytes), bytes).unwrap()
}

/// A change that does nothing yet.
pub(crate) fn change(operation: Operation) -> Change {
    Change {
        operation,
        actor: bot(),
        view: ViewId::of(&bot()),
        at: at(0),
        undoes: None,
        marks: Vec::new(),
        pages: Vec::new(),
        segments: Vec::new(),
        levels: Vec::new(),
        focus: Vec::new(),
        custom: Vec::new(),
        runs: Vec::new(),
        fold: None,
        contents: Vec::new(),
        numbers: Vec::new(),
        places: PlaceClaim::default(),
        floors: Vec::new(),
        times: None,
        purge: false,
        subjects: Vec::new(),
        moved: Vec::new(),
        basis: Basis::default(),
    }
}

pub(crate) fn segment(id: &str, ordinal: u64) -> Segment {
    Segment {
        id: segment_id(id),
        name: id.parse().unwrap(),
        description: Default::default(),
        kind: SegmentKind::User,
        permission: Permission::ReadWrite,
        capacity: Tokens(0),
        owner: None,
        ordinal,
        next_number: 1,
        touched: Revision(0),
        removed: false,
        version: Version(1),
        revision: Revision(0),
        created_at: at(0),
        updated_at: at(0),
    }
}

pub(crate) fn directory(page: &str, parent: Option<&str>, place: u64) -> Page {
    Page {
        index: index(page),
        parent: parent.map(index),
        place: Place(place),
        body: PageBody::Contents,
        name: page.parse().unwrap(),
        description: Default::default(),
        visibility: Visibility::Hidden,
        standing: PageStanding::InTree,
        author: bot(),
        rewritten_by: None,
        trust: Trust::Agent,
        sources: Vec::new(),
        turn: None,
        version: Version(1),
        revision: Revision(0),
        created_at: at(0),
        updated_at: at(0),
    }
}

pub(crate) fn leaf(page: &str, parent: &str, place: u64, content: &Content) -> Page {
    let detail = PageDetail {
        content: content.hash(),
        messages: 1,
        counted: None,
        weight: content.bytes().len() as u64,
        open: Vec::new(),
    };
    Page { body: PageBody::Detail(detail), ..directory(page, Some(parent), place) }
}

pub(crate) fn put(before: Option<Page>, after: Page) -> PageDelta {
    let previous = before.as_ref().map(|page| page.revision);
    PageDelta { index: after.index.clone(), before, after: Some(after), previous, restores: None }
}

pub(crate) fn take(before: Page) -> PageDelta {
    let previous = Some(before.revision);
    PageDelta {
        index: before.index.clone(),
        before: Some(before),
        after: None,
        previous,
        restores: None,
    }
}

/// Adds a segment with its root, whose place is claimed.
pub(crate) fn add_segment(id: &str, ordinal: u64) -> Change {
    Change {
        segments: vec![SegmentDelta { before: None, after: segment(id, ordinal), restores: None }],
        pages: vec![put(None, directory(&format!("{id}-0"), None, PROVISIONAL))],
        places: PlaceClaim { first: Place(PROVISIONAL), count: 1 },
        ..change(Operation::AddSegment)
    }
}

/// Where provisional numbers and places begin.
pub(crate) const PROVISIONAL: u64 = 1 << 63;

/// Appends one leaf to a segment's root.
pub(crate) fn append(id: &str, text: &str) -> Change {
    let (number, place) = (PROVISIONAL, PROVISIONAL);
    let content = content(text);
    let page = leaf(&format!("{id}-{number}"), &format!("{id}-0"), place, &content);
    Change {
        subjects: vec![page.index.clone()],
        pages: vec![put(None, page)],
        contents: vec![content],
        numbers: vec![NumberClaim { segment: segment_id(id), first: number, count: 1 }],
        places: PlaceClaim { first: Place(place), count: 1 },
        ..change(Operation::CreateDetailPage)
    }
}

pub(crate) fn new_session() -> NewSession {
    NewSession { app: "test".to_owned(), at: at(0), mark: Some(Mark::from_seed(b"test")) }
}

pub(crate) fn commit(
    storage: &dyn PageStorage,
    name: &str,
    change: Change,
) -> StorageResult<Committed> {
    block_on(storage.commit(&session(name), Commit { create: None, change: Some(change) }))
}

/// Makes a session with the segment `usr`.
pub(crate) fn init(storage: &dyn PageStorage, name: &str) {
    let commit = Commit { create: Some(new_session()), change: Some(add_segment("usr", 0)) };
    block_on(storage.commit(&session(name), commit)).unwrap();
}

/// Reads a page that must be there.
pub(crate) fn page(storage: &dyn PageStorage, name: &str, page: &str) -> Page {
    let pages = block_on(storage.pages(&session(name), &[index(page)])).unwrap();
    pages.into_iter().next().flatten().unwrap_or_else(|| panic!("{page} is not there"))
}

/// The ledger of a view, for one provider.
pub(crate) fn ledger(view: &str) -> LedgerKey {
    LedgerKey { view: view.parse().unwrap(), format: "openai".parse().unwrap() }
}

/// A window sent; it holds one line of the engine.
pub(crate) fn sent(number: u64, line: &str) -> SentWindow {
    let source = SentSource::Engine(line.to_owned());
    let page = index("usr-1");
    let piece = SentPiece { page, system: false, tokens: Tokens(3), source, quotes: None };
    SentWindow {
        messages: 2,
        number,
        at: at(0),
        revision: Revision(1),
        level: Level::Full,
        budget: None,
        tokenizer: "approx".to_owned(),
        model: None,
        renderer: 1,
        head: None,
        reserved: Tokens(0),
        hash: ContentHash::of(line.as_bytes()),
        tokens: Tokens(3),
        cached: Tokens(0),
        reread: Tokens(0),
        fold: None,
        kept: 0,
        pieces: vec![piece],
        frozen: 0,
        previous_tail: None,
        frame: Some(line.to_owned()),
        filter: Default::default(),
        usage: None,
    }
}

pub(crate) fn assert_sound(storage: &dyn PageStorage) {
    assert_eq!(block_on(storage.verify()).unwrap(), Vec::<String>::new());
}
