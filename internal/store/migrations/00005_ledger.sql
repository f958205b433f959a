-- +goose Up

-- What the records of the audit log are found by. All of it is derived: it is
-- filled by reading the log and can be made anew from it at any time.

CREATE TABLE records (
    seq      INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,
    kind     TEXT NOT NULL,
    session  TEXT NOT NULL,
    turn     TEXT NOT NULL,
    call     TEXT NOT NULL,
    approval TEXT NOT NULL,
    tool     TEXT NOT NULL,
    hook     TEXT NOT NULL,
    decision TEXT NOT NULL,
    actor    TEXT NOT NULL,
    hash     BLOB NOT NULL -- empty where the line could not be read
) STRICT;

-- Each index ends in seq, so that a page of what it finds is in order already.
CREATE INDEX records_by_session ON records (session) WHERE session <> '';
CREATE INDEX records_by_tool ON records (tool) WHERE tool <> '';
CREATE INDEX records_by_hook ON records (hook) WHERE hook <> '';
CREATE INDEX records_by_decision ON records (decision) WHERE decision <> '';

-- How many records there are of a sort in half an hour and altogether, and which,
-- so that neither counting nor a range of time reads them all.
CREATE TABLE record_counts (
    at       INTEGER NOT NULL, -- of the half hour's start; -1: altogether
    tool     TEXT NOT NULL,
    hook     TEXT NOT NULL,
    decision TEXT NOT NULL,
    n        INTEGER NOT NULL,
    first    INTEGER NOT NULL,
    last     INTEGER NOT NULL,
    PRIMARY KEY (at, tool, hook, decision)
) STRICT, WITHOUT ROWID;

-- The words of a record in lower case, and what they are found by: trigrams, and
-- for words of one or two characters that stand for a whole word in writing such
-- as Chinese, trigrams made of them.
CREATE TABLE record_texts (
    seq  INTEGER PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;

CREATE VIRTUAL TABLE record_search USING fts5 (
    text,
    content = '',
    tokenize = 'trigram case_sensitive 1', detail = 'none', columnsize = 0
);

-- One row for each hook that judged a call: a step of a record's trail.
CREATE TABLE hook_executions (
    event_id    TEXT PRIMARY KEY, -- number of the record and of the step
    call_id     TEXT NOT NULL,
    hook        TEXT NOT NULL,
    phase       TEXT NOT NULL,
    decision    TEXT NOT NULL,
    took_us     INTEGER NOT NULL,
    fault       TEXT NOT NULL,
    audit_seq   INTEGER NOT NULL,
    record_hash BLOB NOT NULL,
    deliveries  INTEGER NOT NULL DEFAULT 1
) STRICT, WITHOUT ROWID;

CREATE INDEX hook_executions_by_record ON hook_executions (audit_seq);

-- +goose Down
DROP TABLE hook_executions;
DROP TABLE record_search;
DROP TABLE record_texts;
DROP TABLE record_counts;
DROP TABLE records;
