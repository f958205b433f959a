-- +goose Up

-- What a confirmed write changed, so that a person can take it back. images is
-- the data source's own form, and goes when the undo is used or void.
CREATE TABLE undos (
    id         TEXT PRIMARY KEY,
    session    TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    user       TEXT NOT NULL,
    source     TEXT NOT NULL,
    turn       TEXT NOT NULL,
    call       TEXT NOT NULL,
    state      TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'used', 'void')),
    rows       INTEGER NOT NULL,
    tables     TEXT NOT NULL, -- JSON
    images     BLOB,
    problem    TEXT NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_turn  TEXT NOT NULL DEFAULT '',
    used_call  TEXT NOT NULL DEFAULT '',
    UNIQUE (turn, call),
    CHECK ((state = 'open') = (images IS NOT NULL))
) STRICT;

CREATE INDEX undos_by_session ON undos (session, id);
CREATE INDEX undos_open ON undos (expires_at) WHERE state = 'open';

-- +goose Down
DROP TABLE undos;
