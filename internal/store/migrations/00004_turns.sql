-- +goose Up

-- Where an answer came from, as the server saw it.
ALTER TABLE approvals ADD COLUMN decided_from TEXT NOT NULL DEFAULT '';

-- The message that waits for a session's turn to end. turn is the ID that its own
-- turn will have.
CREATE TABLE queued (
    session TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    turn    TEXT NOT NULL,
    text    TEXT NOT NULL,
    lang    TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What pages show of turns whose events are pruned: the events themselves, but
-- for the pieces of text, which are joined.
CREATE TABLE archived_events (
    id      INTEGER PRIMARY KEY,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn    TEXT NOT NULL,
    name    TEXT NOT NULL,
    data    TEXT NOT NULL
) STRICT;

CREATE INDEX archived_events_by_session ON archived_events (session, id);
CREATE INDEX archived_events_by_turn ON archived_events (turn, id);

-- +goose Down
DROP TABLE archived_events;
DROP TABLE queued;
ALTER TABLE approvals DROP COLUMN decided_from;
