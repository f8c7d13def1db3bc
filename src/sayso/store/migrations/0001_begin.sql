-- Everything of version 1. Text in the words of SQLite; for PostgreSQL the types are translated (postgres.py).
-- `place` keeps the order in which rows were added.

CREATE TABLE meta (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    "user" TEXT NOT NULL,
    workspace TEXT NOT NULL,
    parent TEXT,
    opened_at REAL NOT NULL,
    ended_at REAL,
    head BLOB NOT NULL,
    spends INTEGER NOT NULL,
    mac BLOB NOT NULL
) STRICT;
CREATE INDEX sessions_open ON sessions (place) WHERE ended_at IS NULL;
CREATE INDEX sessions_parent ON sessions (parent, place) WHERE parent IS NOT NULL;

CREATE TABLE grants (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    body BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    mac BLOB NOT NULL
) STRICT;
CREATE INDEX grants_key ON grants (session, kind, value);

-- One row for each number of a grant: of two that spend the same number, the second fails.
CREATE TABLE spends (
    "grant" TEXT NOT NULL,
    number INTEGER NOT NULL,
    session TEXT NOT NULL,
    what TEXT NOT NULL,
    call TEXT,
    at REAL NOT NULL,
    PRIMARY KEY ("grant", number)
) STRICT, WITHOUT ROWID;

CREATE TABLE denials (
    session TEXT NOT NULL,
    digest TEXT NOT NULL,
    turn INTEGER NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (session, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE sendings (
    place INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    domain TEXT NOT NULL,
    content TEXT NOT NULL,
    operation TEXT NOT NULL,
    at REAL NOT NULL
) STRICT;
CREATE INDEX sendings_key ON sendings (session, domain, content);

CREATE TABLE reviews (
    name TEXT NOT NULL PRIMARY KEY,
    at REAL NOT NULL,
    "by" TEXT,
    mac BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE questions (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    digest TEXT NOT NULL,
    body BLOB NOT NULL,
    opened_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    state TEXT NOT NULL,
    answer TEXT,
    reason TEXT,
    "by" TEXT,
    closed_at REAL,
    edited BLOB
) STRICT;
CREATE INDEX questions_state ON questions (state, place);
CREATE INDEX questions_session ON questions (session, place);
CREATE INDEX questions_open ON questions (session, digest) WHERE state = 'open';

CREATE TABLE calls (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    digest TEXT NOT NULL,
    tool TEXT NOT NULL,
    body BLOB NOT NULL,
    state TEXT NOT NULL,
    at REAL NOT NULL,
    host_id TEXT,
    key TEXT,
    effect_key TEXT,
    question TEXT,
    fence INTEGER NOT NULL,
    holder TEXT,
    lease_until REAL,
    result BLOB,
    ended_at REAL
) STRICT;
CREATE INDEX calls_host ON calls (session, host_id) WHERE host_id IS NOT NULL;
CREATE INDEX calls_key ON calls (session, tool, key) WHERE key IS NOT NULL;
CREATE INDEX calls_effect ON calls (effect_key) WHERE effect_key IS NOT NULL;
CREATE INDEX calls_state ON calls (state, place);
CREATE INDEX calls_result ON calls (ended_at) WHERE result IS NOT NULL;

CREATE TABLE entries (
    stream TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at REAL NOT NULL,
    event TEXT NOT NULL,
    session TEXT NOT NULL,
    body BLOB,
    prev BLOB NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (stream, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE nodes (
    stream TEXT NOT NULL,
    level INTEGER NOT NULL,
    "index" INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (stream, level, "index")
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoints (
    place INTEGER PRIMARY KEY,
    size INTEGER NOT NULL,
    at REAL NOT NULL,
    note TEXT NOT NULL
) STRICT;

CREATE TABLE secrets (
    stream TEXT NOT NULL,
    seq INTEGER NOT NULL,
    name TEXT NOT NULL,
    salt BLOB NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (stream, seq, name)
) STRICT, WITHOUT ROWID;
