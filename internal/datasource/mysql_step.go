package datasource

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"
)

// drainRows is how many rows are read and thrown away, once no more are wanted,
// before the query is killed: a few are cheaper than a new connection.
const drainRows = 200

// step runs one statement and reads the rows that b has room for. With whole it
// runs to its end even so, as what writes has to.
func (c *myLink) step(text string, b *budget, whole bool) (out Rows, err error) {
	rows, err := c.query(text)
	if err != nil {
		return Rows{}, err
	}
	defer func() {
		// Closing reads what is left, which ends with an error if it was killed.
		if e := rows.Close(); e != nil && c.usable() {
			err = errors.Join(err, e)
		}
	}()
	out.Columns, err = mysqlColumns(rows)
	if err != nil {
		return Rows{}, err
	}
	row := make([]driver.Value, len(out.Columns))
	for unwanted := 0; ; {
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return Rows{}, err
		}
		out.Affected++
		if out.Truncated {
			if unwanted++; unwanted > drainRows && !whole {
				return out, c.abandon()
			}
			continue
		}
		values := make([]any, len(row))
		for i, v := range row {
			values[i] = mysqlValue(v, out.Columns[i].Type)
		}
		if _, err := b.add(&out, values); err != nil {
			return Rows{}, errors.Join(err, c.abandon())
		}
	}
}

// abandon ends a query of which there are more rows than are wanted.
func (c *myLink) abandon() error {
	c.spend()
	ctx, cancel := context.WithTimeout(c.never(), cancelTime)
	defer cancel()
	if err := c.kill(ctx); err != nil {
		c.mu.Lock()
		c.hard()
		c.mu.Unlock()
	}
	return nil
}

// transaction runs f in a transaction that begin starts, and ends it: in vain
// where f fails. When ctx ends before f has returned, the server ends what f is
// doing; the commit is never interrupted.
func (c *myLink) transaction(ctx context.Context, begin string, f func() error) error {
	err := c.interruptible(ctx, func() error {
		// The server's own clock is for the case that we are gone by then.
		limit := serverGrace
		if deadline, ok := ctx.Deadline(); ok {
			limit += time.Until(deadline)
		}
		if _, err := c.own(c.timeLimit(max(limit, serverGrace))); err != nil {
			return err
		}
		if _, err := c.own(begin); err != nil {
			return err
		}
		return f()
	})
	if err == nil && ctx.Err() != nil && !c.usable() {
		err = ended(ctx, ctx.Err())
	}
	if err != nil {
		if c.usable() {
			_, rollback := c.own("ROLLBACK")
			err = errors.Join(err, mysqlError(rollback))
		}
		return err
	}
	_, err = c.own("COMMIT")
	return mysqlError(err)
}

// timeLimit sets how long statements may run: in MySQL those that read, in
// MariaDB all.
func (c *myLink) timeLimit(d time.Duration) string {
	if c.maria {
		return fmt.Sprintf("SET SESSION max_statement_time = %.3f", d.Seconds())
	}
	return fmt.Sprintf("SET SESSION max_execution_time = %d", d.Milliseconds())
}

// holds makes sure, before statement i of a text of n, that the session is still
// read-only and that no earlier statement has ended the transaction: the server
// counts how often it was told to begin or end one.
func (c *myLink) holds(i, n int) error {
	rows, err := c.own("SELECT " + c.readOnly)
	if err != nil {
		return err
	}
	if rows[0][0] != "1" {
		c.spend()
		return fmt.Errorf("%w: the session is not read-only any more", ErrRefused)
	}
	if n == 1 {
		return nil
	}
	controls, err := c.controls()
	if err != nil {
		return err
	}
	if i > 0 && controls != c.began {
		c.spend()
		return fmt.Errorf("%w: a statement ended the transaction that it runs in", ErrRefused)
	}
	c.began = controls
	return nil
}

// controls returns how many statements about transactions and settings the
// session has had.
func (c *myLink) controls() (int64, error) {
	rows, err := c.own(`SHOW SESSION STATUS WHERE Variable_name IN ('Com_begin', 'Com_commit', 'Com_rollback', 'Com_savepoint',
	'Com_rollback_to_savepoint', 'Com_release_savepoint', 'Com_set_option')`)
	if err != nil {
		return 0, err
	}
	var n int64
	for _, row := range rows {
		n += number(row[1])
	}
	return n, nil
}
