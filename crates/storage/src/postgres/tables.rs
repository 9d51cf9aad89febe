//! What the tables are, version by version. None of these texts is changed once released.
//!
//! Plain SQL, so that databases that speak PostgreSQL's language take it too: no sequences, triggers
//! or foreign keys. A session has a random key and every row of it begins with that key, so that
//! sessions never wait for each other. Names are compared byte by byte. What may hold any text at all
//! is BYTEA: TEXT cannot hold U+0000.
//!
//! A row that is decoded carries a checksum over its key and its data ([`super::rows`]); columns
//! beside the data exist only to find it, and are compared with it when it is read.

/// The statements of the first version.
pub(crate) const FIRST: &[&str] = &[
    // A name with `~` is no session's: one that is being taken over, or removed. `recent`: the
    // last transactions that wrote to the session, by their random ids.
    r#"CREATE TABLE contexture_sessions (
        name TEXT COLLATE "C" PRIMARY KEY,
        id BIGINT NOT NULL UNIQUE,
        app BYTEA NOT NULL,
        revision BIGINT NOT NULL,
        next_place BIGINT NOT NULL,
        mark TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL,
        recent BYTEA NOT NULL,
        checksum BYTEA NOT NULL
    )"#,
    r#"CREATE TABLE contexture_segments (
        session BIGINT NOT NULL,
        name TEXT COLLATE "C" NOT NULL,
        data BYTEA NOT NULL,
        checksum BYTEA NOT NULL,
        PRIMARY KEY (session, name)
    )"#,
    // standing: 0 listed, 1 archived cold, 2 moved. turn_author: only for pages of a turn.
    r#"CREATE TABLE contexture_pages (
        session BIGINT NOT NULL,
        segment TEXT COLLATE "C" NOT NULL,
        number BIGINT NOT NULL,
        parent BIGINT,
        place BIGINT NOT NULL,
        standing BIGINT NOT NULL,
        version BIGINT NOT NULL,
        turn_author TEXT COLLATE "C",
        data BYTEA NOT NULL,
        checksum BYTEA NOT NULL,
        PRIMARY KEY (session, segment, number)
    )"#,
    "CREATE INDEX contexture_pages_by_parent
        ON contexture_pages (session, segment, parent, standing, place) WHERE parent IS NOT NULL",
    "CREATE INDEX contexture_pages_unlisted
        ON contexture_pages (session, segment, standing, number) WHERE standing <> 0",
    "CREATE INDEX contexture_pages_of_turns
        ON contexture_pages (session, segment, turn_author, place)
        WHERE turn_author IS NOT NULL AND standing = 0",
    // How many pages a directory lists, because counting a million takes too long.
    r#"CREATE TABLE contexture_directories (
        session BIGINT NOT NULL,
        segment TEXT COLLATE "C" NOT NULL,
        number BIGINT NOT NULL,
        listed BIGINT NOT NULL,
        PRIMARY KEY (session, segment, number)
    )"#,
    // refs: how many assignments in the session's history refer to it. raw: the size before
    // compression, where the data is compressed.
    "CREATE TABLE contexture_contents (
        session BIGINT NOT NULL,
        hash BYTEA NOT NULL,
        refs BIGINT NOT NULL,
        raw BIGINT,
        data BYTEA NOT NULL,
        PRIMARY KEY (session, hash)
    )",
    r#"CREATE TABLE contexture_levels (
        session BIGINT NOT NULL,
        view_id TEXT COLLATE "C" NOT NULL,
        segment TEXT COLLATE "C" NOT NULL,
        chunk BIGINT NOT NULL,
        data BYTEA NOT NULL,
        checksum BYTEA NOT NULL,
        PRIMARY KEY (session, view_id, segment, chunk)
    )"#,
    // A view stays here when it has nothing left to say.
    r#"CREATE TABLE contexture_views (
        session BIGINT NOT NULL,
        view_id TEXT COLLATE "C" NOT NULL,
        touched BIGINT NOT NULL,
        checksum BYTEA NOT NULL,
        PRIMARY KEY (session, view_id)
    )"#,
    r#"CREATE TABLE contexture_focus (
        session BIGINT NOT NULL,
        view_id TEXT COLLATE "C" NOT NULL,
        page TEXT NOT NULL,
        checksum BYTEA NOT NULL,
        PRIMARY KEY (session, view_id)
    )"#,
    r#"CREATE TABLE contexture_custom (
        session BIGINT NOT NULL,
        name TEXT COLLATE "C" NOT NULL,
        content BYTEA NOT NULL,
        checksum BYTEA NOT NULL,
        PRIMARY KEY (session, name)
    )"#,
    // undoable: while the edit is neither undone nor an undo. written_by: the transaction, by its
    // random id.
    r#"CREATE TABLE contexture_history (
        session BIGINT NOT NULL,
        revision BIGINT NOT NULL,
        actor TEXT COLLATE "C" NOT NULL,
        undoable BOOLEAN NOT NULL,
        written_by BIGINT NOT NULL,
        raw BIGINT,
        data BYTEA NOT NULL,
        checksum BYTEA NOT NULL,
        PRIMARY KEY (session, revision)
    )"#,
    "CREATE INDEX contexture_history_by_actor
        ON contexture_history (session, actor, undoable, revision)",
    r#"CREATE TABLE contexture_ledger (
        session BIGINT NOT NULL,
        view_id TEXT COLLATE "C" NOT NULL,
        format TEXT COLLATE "C" NOT NULL,
        number BIGINT NOT NULL,
        raw BIGINT,
        data BYTEA NOT NULL,
        checksum BYTEA NOT NULL,
        PRIMARY KEY (session, view_id, format, number)
    )"#,
    r#"CREATE TABLE contexture_runs (
        session BIGINT NOT NULL,
        name TEXT COLLATE "C" NOT NULL,
        version BIGINT NOT NULL,
        content BYTEA NOT NULL,
        updated_at BIGINT NOT NULL,
        checksum BYTEA NOT NULL,
        PRIMARY KEY (session, name)
    )"#,
    // Derived, and only asked for by key, so there is nothing to check them against.
    "CREATE TABLE contexture_counts (
        hash BYTEA PRIMARY KEY,
        tokens BIGINT NOT NULL
    )",
    // Rows that could not be read, each as JSON, under the table they stood in.
    "CREATE TABLE contexture_quarantine (
        id BIGINT PRIMARY KEY,
        source TEXT NOT NULL,
        reason TEXT NOT NULL,
        content BYTEA NOT NULL,
        taken_at TIMESTAMPTZ NOT NULL
    )",
];

/// The tables whose rows belong to a session, with the columns that name a row in it.
pub(crate) const OF_SESSIONS: &[(&str, &str)] = &[
    ("contexture_pages", "segment, number"),
    ("contexture_contents", "hash"),
    ("contexture_history", "revision"),
    ("contexture_ledger", "view_id, format, number"),
    ("contexture_levels", "view_id, segment, chunk"),
    ("contexture_directories", "segment, number"),
    ("contexture_segments", "name"),
    ("contexture_views", "view_id"),
    ("contexture_focus", "view_id"),
    ("contexture_custom", "name"),
    ("contexture_runs", "name"),
];
