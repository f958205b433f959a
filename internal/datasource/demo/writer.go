package demo

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mattn/go-sqlite3"
)

// A writer inserts rows. The first error stays, and what follows is left out.
type writer struct {
	conn  *sqlite3.SQLiteConn
	table string
	stmt  *sqlite3.SQLiteStmt
	err   error
}

// into makes table the one that rows go to.
func (w *writer) into(table string, columns int) {
	if w.close() != nil {
		return
	}
	stmt, err := w.conn.Prepare("INSERT INTO " + table + " VALUES (?" + strings.Repeat(",?", columns-1) + ")")
	if err != nil {
		w.err = err
		return
	}
	w.table = table
	w.stmt, _ = stmt.(*sqlite3.SQLiteStmt) // the driver has no other
}

// row inserts a row.
func (w *writer) row(values ...driver.Value) {
	if w.err != nil {
		return
	}
	args := make([]driver.Value, len(values))
	for i, v := range values {
		args[i] = value(v)
	}
	if _, err := w.stmt.Exec(args); err != nil {
		w.err = fmt.Errorf("insert into %s: %w", w.table, err)
	}
}

// value returns how a value is stored.
func value(v driver.Value) driver.Value {
	switch v := v.(type) {
	case int:
		return int64(v)
	case fen:
		return float64(v) / 100
	case date:
		if v == (date{}) {
			return nil
		}
		return time.Time(v).Format(time.DateOnly)
	case optional:
		if v == "" {
			return nil
		}
		return string(v)
	}
	return v
}

// close ends the current table and returns the first error.
func (w *writer) close() error {
	if w.stmt != nil {
		w.err = errors.Join(w.err, w.stmt.Close())
		w.stmt = nil
	}
	return w.err
}

// fen is money, in hundredths of a yuan: sums of it are exact.
type fen int64

// A date is a day; the zero value is none.
type date time.Time

// An optional is text that is NULL where it is empty.
type optional string

// day returns the date that is n days after 2010-01-01.
func day(n int) date {
	return date(time.Date(2010, 1, 1+n, 0, 0, 0, 0, time.UTC))
}

// on returns a date.
func on(year int, month time.Month, d int) date {
	return date(time.Date(year, month, d, 0, 0, 0, 0, time.UTC))
}

// number is the inverse of day.
func (d date) number() int {
	return int(time.Time(d).Sub(time.Time(day(0))).Hours() / 24)
}

func (d date) year() int { return time.Time(d).Year() }

func (d date) before(other date) bool { return time.Time(d).Before(time.Time(other)) }
