-- +goose Up

-- Where args, sent or details were redacted, what they were before, sealed.
ALTER TABLE approvals ADD COLUMN sealed BLOB;

-- +goose Down
ALTER TABLE approvals DROP COLUMN sealed;
