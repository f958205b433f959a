-- +goose Up

-- Where a turn paused for a person, in the engine's own form. A session's
-- checkpoints go when the turn starts that tells the answers.
CREATE TABLE checkpoints (
    turn     TEXT PRIMARY KEY,
    session  TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    data     BLOB NOT NULL,
    saved_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX checkpoints_by_session ON checkpoints (session, saved_at);

-- +goose Down
DROP TABLE checkpoints;
