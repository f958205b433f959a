-- +goose Up

-- What goes back to the model's server with a message: JSON, the engine's own.
ALTER TABLE messages ADD COLUMN echo TEXT;

-- +goose Down
ALTER TABLE messages DROP COLUMN echo;
