//! What the tables are, version by version. None of these texts is changed once released.
//!
//! Sessions and segments have short integer keys, so that the rows of pages stay small. A row that
//! is decoded carries a checksum over its key and its data ([`super::rows`]); columns beside the
//! data exist only to find it, and are compared with it when it is read.

/// The tables of the first version.
pub(crate) const FIRST: &str = "
    CREATE TABLE sessions (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        app TEXT NOT NULL,
        revision INTEGER NOT NULL,
        next_place INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        checksum BLOB NOT NULL
    ) STRICT;

    -- Without data a row only gives a name its key, for what may refer to a segment that is not there.
    CREATE TABLE segments (
        id INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        name TEXT NOT NULL,
        data BLOB,
        checksum BLOB NOT NULL,
        UNIQUE (session, name)
    ) STRICT;

    -- standing: 0 listed, 1 archived cold, 2 moved. turn_author: only for pages of a turn.
    CREATE TABLE pages (
        segment INTEGER NOT NULL,
        number INTEGER NOT NULL,
        parent INTEGER,
        place INTEGER NOT NULL,
        standing INTEGER NOT NULL,
        version INTEGER NOT NULL,
        turn_author TEXT,
        data BLOB NOT NULL,
        checksum BLOB NOT NULL,
        PRIMARY KEY (segment, number)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX pages_by_parent ON pages (segment, parent, standing, place)
        WHERE parent IS NOT NULL;
    CREATE INDEX pages_unlisted ON pages (segment, standing, number) WHERE standing <> 0;
    CREATE INDEX pages_of_turns ON pages (segment, turn_author, place)
        WHERE turn_author IS NOT NULL AND standing = 0;

    -- How many pages a directory lists, because counting a million takes too long.
    CREATE TABLE directories (
        segment INTEGER NOT NULL,
        number INTEGER NOT NULL,
        listed INTEGER NOT NULL,
        PRIMARY KEY (segment, number)
    ) STRICT, WITHOUT ROWID;

    -- The blob lies apart, so that counting a reference does not rewrite it. raw: the size before
    -- compression, where the blob is compressed.
    CREATE TABLE contents (
        hash BLOB PRIMARY KEY,
        refs INTEGER NOT NULL,
        raw INTEGER,
        blob INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE blobs (
        id INTEGER PRIMARY KEY,
        data BLOB NOT NULL
    ) STRICT;

    CREATE TABLE levels (
        session INTEGER NOT NULL,
        view TEXT NOT NULL,
        segment INTEGER NOT NULL,
        chunk INTEGER NOT NULL,
        data BLOB NOT NULL,
        checksum BLOB NOT NULL,
        PRIMARY KEY (session, view, segment, chunk)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE focus (
        session INTEGER NOT NULL,
        view TEXT NOT NULL,
        page TEXT NOT NULL,
        checksum BLOB NOT NULL,
        PRIMARY KEY (session, view)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE custom (
        session INTEGER NOT NULL,
        name TEXT NOT NULL,
        content TEXT NOT NULL,
        checksum BLOB NOT NULL,
        PRIMARY KEY (session, name)
    ) STRICT, WITHOUT ROWID;

    -- undoable: 1 while the edit is neither undone nor an undo.
    CREATE TABLE history (
        session INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        actor TEXT NOT NULL,
        undoable INTEGER NOT NULL,
        raw INTEGER,
        data BLOB NOT NULL,
        checksum BLOB NOT NULL,
        PRIMARY KEY (session, revision)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX history_by_actor ON history (session, actor, undoable, revision);
";

/// What the second version adds: marks, what is known of views, windows sent, token counts.
///
/// A session made before has no mark of its own in its row, and its checksum covers none.
pub(crate) const SECOND: &str = "
    ALTER TABLE sessions ADD COLUMN mark TEXT;

    -- A view stays here when it has nothing left to say.
    CREATE TABLE views (
        session INTEGER NOT NULL,
        view TEXT NOT NULL,
        touched INTEGER NOT NULL,
        checksum BLOB NOT NULL,
        PRIMARY KEY (session, view)
    ) STRICT, WITHOUT ROWID;

    -- raw: the size before compression, where the data is compressed.
    CREATE TABLE ledger (
        session INTEGER NOT NULL,
        view TEXT NOT NULL,
        format TEXT NOT NULL,
        number INTEGER NOT NULL,
        raw INTEGER,
        data BLOB NOT NULL,
        checksum BLOB NOT NULL,
        PRIMARY KEY (session, view, format, number)
    ) STRICT, WITHOUT ROWID;

    -- Derived, and only asked for by key, so there is nothing to check them against.
    CREATE TABLE counts (
        key BLOB PRIMARY KEY,
        tokens INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
";

/// What the third version adds: run records, which are no part of history.
pub(crate) const THIRD: &str = "
    CREATE TABLE runs (
        session INTEGER NOT NULL,
        key TEXT NOT NULL,
        version INTEGER NOT NULL,
        value TEXT NOT NULL,
        updated_at INTEGER NOT NULL,
        checksum BLOB NOT NULL,
        PRIMARY KEY (session, key)
    ) STRICT, WITHOUT ROWID;
";

/// What the fourth version adds: what could not be read, and what is still being taken over.
pub(crate) const FOURTH: &str = "
    -- A row as it was found, as JSON with blobs in hexadecimal. Nothing here is ever read back.
    CREATE TABLE quarantine (
        id INTEGER PRIMARY KEY,
        origin TEXT NOT NULL,
        key TEXT NOT NULL,
        content TEXT NOT NULL,
        reason TEXT NOT NULL,
        taken_at INTEGER NOT NULL
    ) STRICT;

    -- Contents of a session that is not whole yet, while none of its entries has assigned them.
    CREATE TABLE staged (
        session INTEGER NOT NULL,
        hash BLOB NOT NULL,
        PRIMARY KEY (session, hash)
    ) STRICT, WITHOUT ROWID;
";
