-- +goose Up

-- Times are microseconds since 1970, UTC.

CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    user       TEXT NOT NULL,
    tenant     TEXT NOT NULL,
    title      TEXT NOT NULL,
    source     TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('idle', 'running', 'waiting', 'closed')),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_user ON sessions (user, updated_at DESC, id);

-- A turn without ended_at runs, or ran when the program ended.
CREATE TABLE turns (
    id         TEXT PRIMARY KEY,
    session    TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    text       TEXT NOT NULL,
    lang       TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER,
    code       TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE INDEX turns_by_session ON turns (session, id);
CREATE INDEX turns_unfinished ON turns (session) WHERE ended_at IS NULL;

CREATE TABLE messages (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    id      TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn    TEXT NOT NULL,
    role    TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool')),
    text    TEXT NOT NULL,
    calls   TEXT, -- JSON
    call    TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;

CREATE INDEX messages_by_session ON messages (session, seq);

-- told is the turn whose message holds the answer.
CREATE TABLE approvals (
    id           TEXT PRIMARY KEY,
    session      TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn         TEXT NOT NULL,
    user         TEXT NOT NULL,
    call         TEXT NOT NULL,
    tool         TEXT NOT NULL,
    args         TEXT NOT NULL, -- byte for byte as they were shown
    sent         TEXT,
    hook         TEXT NOT NULL,
    prompt       TEXT NOT NULL,
    details      TEXT,
    confirm_args TEXT,
    fingerprint  BLOB NOT NULL CHECK (length(fingerprint) = 32),
    typed        TEXT NOT NULL,
    lang         TEXT NOT NULL,
    asked_at     INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    extended     INTEGER NOT NULL DEFAULT 0,
    state        TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'confirmed', 'cancelled', 'expired')),
    decided_by   TEXT NOT NULL DEFAULT '',
    decided_at   INTEGER,
    record       INTEGER NOT NULL DEFAULT 0,
    told         TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX approvals_by_user ON approvals (user, state, asked_at, id);
CREATE INDEX approvals_by_session ON approvals (session, state, id);
CREATE INDEX approvals_by_turn ON approvals (turn, call);
CREATE INDEX approvals_pending ON approvals (expires_at) WHERE state = 'pending';
CREATE INDEX approvals_pending_call ON approvals (fingerprint) WHERE state = 'pending';
CREATE INDEX approvals_untold ON approvals (session) WHERE told IS NULL AND state <> 'pending';

-- A grant is used once: used_at leaves NULL by compare-and-set, and goes back to
-- it only where the call that took the grant never entered the ledger.
CREATE TABLE grants (
    id          TEXT PRIMARY KEY,
    approval    TEXT NOT NULL UNIQUE REFERENCES approvals (id) ON DELETE CASCADE,
    fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),
    granted_by  TEXT NOT NULL,
    expires_at  INTEGER NOT NULL,
    used_at     INTEGER,
    turn        TEXT,
    call        TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX grants_unused ON grants (fingerprint) WHERE used_at IS NULL;

-- A call that may write is entered before it begins. outcome is NULL until it is
-- known.
CREATE TABLE ledger (
    turn       TEXT NOT NULL,
    call       TEXT NOT NULL,
    began_at   INTEGER NOT NULL,
    settled_at INTEGER,
    outcome    TEXT,
    PRIMARY KEY (turn, call)
) STRICT, WITHOUT ROWID;

CREATE INDEX ledger_unsettled ON ledger (turn) WHERE outcome IS NULL;

-- The row's ID is the event's in the stream, so it is never given twice. Turn and
-- call are read from the event's own public JSON.
CREATE TABLE events (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    user    TEXT NOT NULL,
    session TEXT NOT NULL,
    name    TEXT NOT NULL,
    data    TEXT NOT NULL,
    at      INTEGER NOT NULL,
    turn    TEXT GENERATED ALWAYS AS (data ->> '$.turn_id') VIRTUAL,
    call    TEXT GENERATED ALWAYS AS (data ->> '$.call_id') VIRTUAL
) STRICT;

CREATE INDEX events_by_user ON events (user, id);
CREATE INDEX events_by_session ON events (session, id);
CREATE INDEX events_by_turn ON events (turn, id);

-- Events up to this ID are pruned.
CREATE TABLE events_pruned (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    upto INTEGER NOT NULL
) STRICT;

INSERT INTO events_pruned VALUES (1, 0);

-- +goose Down
DROP TABLE events_pruned;
DROP TABLE events;
DROP TABLE ledger;
DROP TABLE grants;
DROP TABLE approvals;
DROP TABLE messages;
DROP TABLE turns;
DROP TABLE sessions;
