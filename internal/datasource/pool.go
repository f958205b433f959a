package datasource

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// poolOf returns n connections at most that connector opens.
func poolOf(connector driver.Connector, n int) *sql.DB {
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db
}

// withConn runs f with a connection of db. f must leave no transaction open; it
// returns [driver.ErrBadConn] where it had to, and the connection is closed.
func withConn[C driver.Conn](ctx context.Context, db *sql.DB, f func(C) error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	defer func() {
		if e := conn.Close(); err == nil && e != nil && !errors.Is(e, sql.ErrConnDone) {
			err = e
		}
	}()
	return conn.Raw(func(driverConn any) error {
		c, ok := driverConn.(C)
		if !ok {
			return fmt.Errorf("unexpected connection %T", driverConn)
		}
		return f(c)
	})
}
