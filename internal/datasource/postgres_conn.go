package datasource

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Times of a connection to a server.
const (
	connectTime = 10 * time.Second // to connect
	cancelTime  = 3 * time.Second  // for a query to end once the server was told
	serverGrace = 2 * time.Second  // after which the server ends by itself what we should have ended
	lockWait    = 2 * time.Second  // for another's lock; see [ErrBusy]
)

// maxPgMessage bounds a message of the server, in bytes: a row and what is around
// it.
const maxPgMessage = maxValue + 64<<10

// A pgConnector opens connections to a PostgreSQL database with one account.
type pgConnector struct {
	config *pgconn.Config
	types  *typeNames
}

// newPostgresConnector reads an address. Its errors do not repeat the address,
// which may hold a password.
func newPostgresConnector(dsn string, readOnly bool, types *typeNames) (*pgConnector, error) {
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("the address is not valid; want postgres://user:password@host:5432/database")
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTime
	}
	maps.Copy(config.RuntimeParams, map[string]string{
		"application_name":                    "datamind",
		"client_encoding":                     "UTF8",
		"standard_conforming_strings":         "on", // as the guard reads strings
		"DateStyle":                           "ISO, YMD",
		"IntervalStyle":                       "postgres",
		"bytea_output":                        "hex",
		"extra_float_digits":                  "1", // what is written reads back the same
		"lock_timeout":                        milliseconds(lockWait),
		"idle_in_transaction_session_timeout": milliseconds(time.Minute),
		"default_transaction_read_only":       onOff(readOnly),
	})
	return &pgConnector{config: config, types: types}, nil
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Connect implements [driver.Connector].
func (o *pgConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := pgconn.ConnectConfig(ctx, o.config)
	if err != nil {
		return nil, postgresError(err)
	}
	conn.Frontend().SetMaxBodyLen(maxPgMessage)
	c := &pgLink{conn: conn, types: o.types, never: context.Background}
	if got := conn.ParameterStatus("standard_conforming_strings"); got != "on" {
		return nil, errors.Join(fmt.Errorf("the server keeps standard_conforming_strings %q, under which strings mean something else than the guard reads", got), c.Close())
	}
	return c, nil
}

// Driver implements [driver.Connector].
func (o *pgConnector) Driver() driver.Driver { return noDriver{} }

// noDriver is the driver of connections that only their connector opens.
type noDriver struct{}

func (noDriver) Open(string) (driver.Conn, error) {
	return nil, errors.New("connections are opened by their connector")
}

// A pgLink is a connection. Statements use [pgLink.step].
type pgLink struct {
	conn  *pgconn.PgConn
	types *typeNames
	never func() context.Context // for what interruptible ends in another way

	keeping *pgKeeping // of the statement that runs; nil: its rows are not kept

	mu    sync.Mutex
	spent bool // it was interrupted: a late cancellation could hit the next query
}

// Prepare implements [driver.Conn]. Nobody uses it.
func (c *pgLink) Prepare(string) (driver.Stmt, error) {
	return nil, errors.New("statements are run by step")
}

// Begin implements [driver.Conn]. Nobody uses it.
func (c *pgLink) Begin() (driver.Tx, error) { return nil, errors.New("see transaction") }

// Close implements [driver.Conn].
func (c *pgLink) Close() error {
	ctx, cancel := context.WithTimeout(c.never(), cancelTime)
	defer cancel()
	_ = c.conn.Close(ctx) // it says good-bye to a server that may have gone
	return nil
}

// IsValid implements [driver.Validator]: it reports whether the connection may
// be used again.
func (c *pgLink) IsValid() bool { return c.usable() && c.conn.TxStatus() == 'I' }

// usable reports whether the next statement could be run.
func (c *pgLink) usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.spent && !c.conn.IsClosed()
}

// ResetSession implements [driver.SessionResetter]. What the last user left in
// the session, such as a temporary table, is gone.
func (c *pgLink) ResetSession(context.Context) error {
	if !c.IsValid() {
		return driver.ErrBadConn
	}
	if _, err := c.own("DISCARD ALL"); err != nil {
		return driver.ErrBadConn
	}
	return nil
}

// own runs a statement of ours and returns its rows as text; NULL is "". Its
// placeholders are $1, $2, ….
func (c *pgLink) own(query string, args ...string) ([][]string, error) {
	values := make([][]byte, len(args))
	for i, arg := range args {
		values[i] = []byte(arg)
	}
	result := c.conn.ExecParams(c.never(), query, values, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, result.Err
	}
	rows := make([][]string, len(result.Rows))
	for i, row := range result.Rows {
		for _, v := range row {
			rows[i] = append(rows[i], string(v))
		}
	}
	return rows, nil
}

// interruptible runs f, which uses the connection, and has the server end what
// it is doing when ctx ends. A server that does not is left: the connection is
// closed.
func (c *pgLink) interruptible(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return ended(ctx, err)
	}
	done := make(chan struct{})
	var interrupting sync.WaitGroup
	interrupting.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer interrupting.Done()
		c.interrupt(context.WithoutCancel(ctx), done)
	})
	err := f()
	close(done)
	if stop() {
		interrupting.Done()
	}
	interrupting.Wait()
	if err != nil && ctx.Err() != nil && !errors.Is(err, errRollback) {
		return ended(ctx, err)
	}
	return postgresError(err)
}

// spend makes the connection one that is not used again.
func (c *pgLink) spend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spent = true
}

// cancel tells the server once to end what the connection is doing.
func (c *pgLink) cancel() {
	c.spend()
	ctx, cancel := context.WithTimeout(c.never(), cancelTime)
	defer cancel()
	_ = c.conn.CancelRequest(ctx) // where it fails, all is read and thrown away
}

// interrupt tells the server to cancel, until done.
func (c *pgLink) interrupt(ctx context.Context, done <-chan struct{}) {
	c.spend()
	ctx, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		_ = c.conn.CancelRequest(ctx) // it is tried again
		select {
		case <-done:
			return
		case <-ctx.Done():
			_ = c.conn.Conn().SetDeadline(time.Now()) // ends the read that f waits in
			return
		case <-time.After(wait):
		}
	}
}
