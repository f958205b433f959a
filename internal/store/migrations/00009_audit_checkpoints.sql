-- +goose Up

-- Signed notes about the audit log, kept outside of its own files.
CREATE TABLE audit_checkpoints (
    origin   TEXT NOT NULL,
    size     INTEGER NOT NULL,
    note     TEXT NOT NULL,
    saved_at INTEGER NOT NULL,
    PRIMARY KEY (origin, size)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE audit_checkpoints;
