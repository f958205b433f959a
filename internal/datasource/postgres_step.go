package datasource

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// batchRows is how many rows are asked for at a time. The server makes no more
// than that, so that what is left of a large result costs nothing on either
// side.
const batchRows = 128

// statementName names the statement on the server while it runs.
const statementName = "datamind"

// step runs one statement inside a transaction and reads the rows that b has
// room for. With whole it runs to its end even so, as what writes has to.
func (c *pgLink) step(text string, b *budget, whole bool) (Rows, error) {
	described, err := c.conn.Prepare(c.never(), statementName, text, nil)
	if err != nil {
		return Rows{}, err
	}
	if n := len(described.ParamOIDs); n > 0 {
		return Rows{}, fmt.Errorf("the statement has %d placeholders; write the values themselves", n)
	}
	f := pgFetch{link: c, budget: b, whole: whole}
	if err := f.describe(described.Fields); err != nil {
		return Rows{}, err
	}
	if err := f.run(); err != nil {
		return Rows{}, err
	}
	if f.cancelled {
		return f.rows, nil
	}
	if c.conn.TxStatus() != 'T' || controls(f.tag) {
		c.spend()
		return Rows{}, fmt.Errorf("%w: it ends the transaction that it runs in", ErrRefused)
	}
	return f.rows, c.conn.Deallocate(c.never(), statementName)
}

// A pgFetch reads the rows of one statement, some at a time.
type pgFetch struct {
	link   *pgLink
	budget *budget
	whole  bool

	kinds []pgKind
	rows  Rows
	full  bool // no more rows are wanted
	ended bool // there are no more
	tag   string
	err   error

	returned  int64 // rows, with those that are not wanted
	cancelled bool  // a COPY, which the server cannot be asked for by and by
}

// describe sets the columns.
func (f *pgFetch) describe(fields []pgconn.FieldDescription) error {
	names, err := f.link.types.of(f.link, fields)
	if err != nil {
		return err
	}
	f.rows.Columns = make([]Column, len(fields))
	f.kinds = make([]pgKind, len(fields))
	for i, field := range fields {
		f.rows.Columns[i] = Column{Name: field.Name, Type: names[i]}
		f.kinds[i] = kindOfOID(field.DataTypeOID)
	}
	if f.link.keeping != nil {
		n := len(fields) - pgImages
		f.rows.Columns, f.kinds = f.rows.Columns[:n], f.kinds[:n]
	}
	return nil
}

// run executes the statement.
func (f *pgFetch) run() error {
	front := f.link.conn.Frontend()
	front.SendBind(&pgproto3.Bind{PreparedStatement: statementName})
	for {
		n := uint32(batchRows)
		if f.full {
			n = 0 // to the end
		}
		front.SendExecute(&pgproto3.Execute{MaxRows: n})
		front.SendSync(&pgproto3.Sync{})
		if err := front.Flush(); err != nil {
			return err
		}
		if err := f.receive(); err != nil {
			return err
		}
		if f.err != nil || f.ended || f.full && !f.whole {
			return f.err
		}
	}
}

// receive reads what one Execute brings. What the statement is to blame for is
// f.err; an error that it returns is the connection's.
func (f *pgFetch) receive() error {
	for {
		message, err := f.link.conn.ReceiveMessage(f.link.never())
		if err != nil {
			if _, long := errors.AsType[*pgproto3.ExceededMaxBodyLenErr](err); long {
				return fmt.Errorf("one row is larger than %d MiB; select fewer columns, or parts of them with substr", maxValue>>20)
			}
			return err
		}
		switch m := message.(type) {
		case *pgproto3.DataRow:
			f.returned++
			f.add(m.Values)
		case *pgproto3.CopyOutResponse:
			f.rows.Columns, f.kinds = []Column{{Name: "copy", Type: "text"}}, []pgKind{pgText}
		case *pgproto3.CopyData:
			f.addLine(m.Data)
		case *pgproto3.CopyInResponse:
			if err := f.refuseCopy(); err != nil {
				return err
			}
		case *pgproto3.CommandComplete:
			f.ended, f.tag = true, string(m.CommandTag)
			f.rows.Affected = affected(f.tag, f.returned)
		case *pgproto3.EmptyQueryResponse:
			f.ended = true
		case *pgproto3.ErrorResponse:
			f.fail(pgconn.ErrorResponseToPgError(m))
		case *pgproto3.ReadyForQuery:
			return nil
		}
	}
}

// add takes a row, unless no more are wanted.
func (f *pgFetch) add(raw [][]byte) {
	if f.link.keeping != nil {
		if raw = f.link.keeping.take(raw); len(raw) == 0 {
			return
		}
	}
	if f.full || f.err != nil {
		return
	}
	values := make([]any, len(raw))
	for i, v := range raw {
		if values[i], f.err = f.kinds[i].value(v); f.err != nil {
			return
		}
	}
	ok, err := f.budget.add(&f.rows, values)
	f.full, f.err = !ok, err
}

// addLine takes a line of a COPY … TO STDOUT, and ends it where no more are
// wanted.
func (f *pgFetch) addLine(line []byte) {
	f.add([][]byte{bytes.TrimSuffix(line, []byte("\n"))})
	if f.full && !f.whole && !f.cancelled {
		f.cancelled = true
		f.link.cancel()
	}
}

// fail notes the server's error.
func (f *pgFetch) fail(e *pgconn.PgError) {
	if f.cancelled && e.Code == "57014" {
		f.ended = true
		return
	}
	f.err = errors.Join(f.err, e)
}

// refuseCopy ends a COPY … FROM STDIN, for which nobody has data.
func (f *pgFetch) refuseCopy() error {
	front := f.link.conn.Frontend()
	front.Send(&pgproto3.CopyFail{Message: "there is no data to copy"})
	front.SendSync(&pgproto3.Sync{})
	return front.Flush()
}

// affected returns the number of rows that a command wrote. One that returns its
// rows says only how many it has returned since it was asked last.
func affected(tag string, returned int64) int64 {
	t := pgconn.NewCommandTag(tag)
	switch {
	case t.Select(), strings.HasPrefix(t.String(), "COPY"):
		return 0
	case t.Insert(), t.Update(), t.Delete(), strings.HasPrefix(t.String(), "MERGE"):
		return max(t.RowsAffected(), returned)
	}
	return t.RowsAffected()
}

// controls reports whether a command is one about transactions. COMMIT AND CHAIN
// leaves the connection in a transaction, but in another.
func controls(tag string) bool {
	switch tag {
	case "BEGIN", "START TRANSACTION", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "PREPARE TRANSACTION":
		return true
	}
	return false
}
