package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings the schema of the database at path up to date, makes the
// database where there is none, and returns the version that it has then. It
// refuses a database that a newer program has written.
func Migrate(ctx context.Context, path string) (version int64, err error) {
	// SQLite would make the file readable for everyone, and gives its companions
	// the permissions of the file.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the operator's path
	if err != nil {
		return 0, err
	}
	if err := f.Close(); err != nil {
		return 0, err
	}
	w, err := openWriter(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return migrate(ctx, w)
}

func migrate(ctx context.Context, w *sql.DB) (version int64, err error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return 0, err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, w, files,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return 0, fmt.Errorf("read migrations: %w", err)
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	if have > want {
		return have, fmt.Errorf("the database has schema version %d, this program knows up to %d: it was written by a newer program", have, want)
	}
	if have == want {
		return have, nil
	}
	if _, err := p.Up(ctx); err != nil {
		return have, fmt.Errorf("migrate schema: %w", err)
	}
	return want, nil
}
