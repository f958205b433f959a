package datasource

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

// mysqlAddress is how an address has to be written.
const mysqlAddress = "mysql://user:password@host:3306/database, with ?tls=true for an encrypted connection or ?socket=/path for a local one" //nolint:gosec // an example, without a password

// mysqlConfig reads an address. Its errors do not repeat it.
func mysqlConfig(dsn string) (*mysql.Config, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Opaque != "" {
		return nil, errors.New("the address is not valid; want " + mysqlAddress)
	}
	cfg := mysql.NewConfig()
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.DBName = strings.TrimPrefix(u.Path, "/")
	if cfg.DBName == "" || cfg.User == "" {
		return nil, errors.New("the address names no database or no user; want " + mysqlAddress)
	}
	cfg.Net, cfg.Addr = "tcp", u.Host
	if u.Port() == "" {
		cfg.Addr = u.Host + ":3306"
	}
	for key, values := range u.Query() {
		switch value := values[0]; key {
		case "socket":
			cfg.Net, cfg.Addr = "unix", value
		case "tls":
			cfg.TLSConfig = value
		default:
			return nil, fmt.Errorf("the address has an unknown parameter %q; there are tls and socket", key)
		}
	}
	cfg.Timeout = connectTime
	cfg.Logger = &mysql.NopLogger{}
	// The driver's defaults, which matter here: one statement at a time, no
	// local files, no placeholders put in by the driver, dates as text.
	cfg.MultiStatements, cfg.AllowAllFiles, cfg.InterpolateParams, cfg.ParseTime = false, false, false, false
	return cfg, cfg.Apply(mysql.Charset("utf8mb4", ""))
}

// A myConnector opens connections to a MySQL database with one account.
type myConnector struct {
	open     driver.Connector
	readOnly bool
}

func newMySQLConnector(dsn string, readOnly bool) (*myConnector, error) {
	cfg, err := mysqlConfig(dsn)
	if err != nil {
		return nil, err
	}
	open, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, errors.New("the address is not valid; want " + mysqlAddress)
	}
	return &myConnector{open: open, readOnly: readOnly}, nil
}

// Connect implements [driver.Connector].
func (o *myConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := o.open.Connect(ctx)
	if err != nil {
		return nil, mysqlError(err)
	}
	c := &myLink{Conn: conn, connector: o, never: context.Background}
	if err := c.prepare(); err != nil {
		return nil, errors.Join(mysqlError(err), conn.Close())
	}
	return c, nil
}

// Driver implements [driver.Connector].
func (o *myConnector) Driver() driver.Driver { return noDriver{} }

// A myLink is a connection. Statements use [myLink.step].
type myLink struct {
	driver.Conn
	connector *myConnector
	never     func() context.Context // for what interruptible ends in another way
	id        string                 // the connection's number on the server
	maria     bool
	readOnly  string // the variable that says that the session is
	began     int64  // see controls

	mu    sync.Mutex
	spent bool
	hard  context.CancelFunc // leaves a server that does not answer
}

// prepare looks at what kind of server it is and sets up the session.
func (c *myLink) prepare() error {
	rows, err := c.own("SELECT CONNECTION_ID(), VERSION(), @@SESSION.sql_mode")
	if err != nil {
		return err
	}
	c.id = rows[0][0]
	c.maria = strings.Contains(rows[0][1], "MariaDB")
	if err := readableMode(rows[0][2]); err != nil {
		return err
	}
	c.readOnly = "@@SESSION.transaction_read_only"
	if c.maria {
		c.readOnly = "@@SESSION.tx_read_only"
	}
	seconds := int(lockWait.Seconds())
	set := fmt.Sprintf("SET SESSION autocommit = 1, innodb_lock_wait_timeout = %d, lock_wait_timeout = %d", seconds, seconds)
	if _, err := c.own(set); err != nil {
		return err
	}
	if c.connector.readOnly {
		_, err = c.own("SET SESSION TRANSACTION READ ONLY")
	}
	return err
}

// readableMode refuses modes under which the server cuts a text into words
// otherwise than the guard does.
func readableMode(mode string) error {
	for one := range strings.SplitSeq(mode, ",") {
		switch one {
		case "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES":
			return fmt.Errorf("the server runs with sql_mode %s, under which quotes mean something else than the guard reads; "+
				"take it out of the server's sql_mode, or of the account's init_connect", one)
		}
	}
	return nil
}

// IsValid implements [driver.Validator].
func (c *myLink) IsValid() bool {
	v, ok := c.Conn.(driver.Validator)
	return c.usable() && (!ok || v.IsValid())
}

// ResetSession implements [driver.SessionResetter].
func (c *myLink) ResetSession(ctx context.Context) error {
	if r, ok := c.Conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

func (c *myLink) usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.spent
}

// spend makes the connection one that is not used again.
func (c *myLink) spend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spent = true
}

// query sends a statement.
func (c *myLink) query(text string) (driver.Rows, error) {
	q, ok := c.Conn.(driver.QueryerContext)
	if !ok {
		return nil, fmt.Errorf("unexpected connection %T", c.Conn)
	}
	ctx, cancel := context.WithCancel(c.never())
	c.mu.Lock()
	c.hard = cancel
	c.mu.Unlock()
	return q.QueryContext(ctx, text, nil)
}

// own runs a statement of ours and returns its rows as text; NULL is "".
func (c *myLink) own(text string) (all [][]string, err error) {
	rows, err := c.query(text)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		one := make([]string, len(row))
		for i, v := range row {
			switch v := v.(type) {
			case nil:
			case []byte:
				one[i] = string(v)
			default:
				one[i] = fmt.Sprint(v)
			}
		}
		all = append(all, one)
	}
}

// interruptible runs f, which uses the connection, and has the server end what
// it is doing when ctx ends.
func (c *myLink) interruptible(ctx context.Context, f func() error) error {
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
	return mysqlError(err)
}

// interrupt tells the server to cancel, until done, and leaves it if it does
// not.
func (c *myLink) interrupt(ctx context.Context, done <-chan struct{}) {
	c.spend()
	ctx, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		_ = c.kill(ctx) // it is tried again
		select {
		case <-done:
			return
		case <-ctx.Done():
			c.mu.Lock()
			c.hard()
			c.mu.Unlock()
			return
		case <-time.After(wait):
		}
	}
}

// kill ends, from another connection, the query that this one runs. The protocol
// has no other way.
func (c *myLink) kill(ctx context.Context) error {
	conn, err := c.connector.open.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // it has done what it was for
	e, ok := conn.(driver.ExecerContext)
	if !ok {
		return fmt.Errorf("unexpected connection %T", conn)
	}
	_, err = e.ExecContext(ctx, "KILL QUERY "+c.id, nil)
	return err
}
