package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"time"

	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/store"
)

// reconcileLog compares the audit log with what the database knows of it, both
// ways, and lists the calls that began and left no result. With --rebuild it
// makes the database's records anew from the log. It exits with 0 where nothing
// differs and 1 otherwise; open calls, and records that have not been read in
// yet, are no difference. It may run beside a server.
func reconcileLog(ctx context.Context, p process, c Config, args []string) error {
	f := flags("audit reconcile")
	asJSON := f.Bool("json", false, "print the result as JSON")
	rebuild := f.Bool("rebuild", false, "make the database's records anew from the log")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	path := c.storage("datamind.db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return usageError("there is no database %s", path)
	}
	db, err := store.Open(ctx, path)
	if err != nil {
		return usageError("%w", err)
	}
	r, err := reconcile(ctx, c, db)
	if err == nil && *rebuild {
		err = rebuildRecords(ctx, c, db)
		r.Rebuilt = err == nil
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return usageError("%w", err)
	}
	if err := r.print(p.stdout, *asJSON); err != nil {
		return err
	}
	if !r.OK {
		return &exitError{code: exitNo}
	}
	return nil
}

// A reconciliation is what [reconcileLog] has found.
type reconciliation struct {
	OK          bool         `json:"ok"`
	Records     uint64       `json:"records"`
	Behind      uint64       `json:"behind"` // records that the database has not read in yet
	Differences []difference `json:"differences"`
	Open        []openCall   `json:"open_calls"`
	Rebuilt     bool         `json:"rebuilt"`
}

// A difference is between the log and the database.
type difference struct {
	Seq  uint64 `json:"seq"`
	What string `json:"what"`
}

// An openCall is a call that was going to run and has no result.
type openCall struct {
	Seq     uint64 `json:"seq"` // of the intent
	Session string `json:"session_id"`
	Turn    string `json:"turn_id"`
	Call    string `json:"call_id"`
	Tool    string `json:"tool"`
}

// reconcile compares, and where something differs once more after a moment: a
// server beside us writes the log first and the database then.
func reconcile(ctx context.Context, c Config, db *store.DB) (r reconciliation, err error) {
	const moment = 250 * time.Millisecond
	for try := range 2 {
		if try > 0 {
			select {
			case <-time.After(moment):
			case <-ctx.Done():
				return r, ctx.Err()
			}
		}
		if r, err = compareLog(ctx, c, db); err != nil || r.OK {
			return r, err
		}
	}
	return r, nil
}

// openView opens the profile's log to be read.
func openView(ctx context.Context, c Config) (*audit.View, error) {
	v, err := audit.OpenView(ctx, c.path("storage", c.Data.Profile), audit.VerifyOptions{})
	if err != nil {
		return nil, err
	}
	if v.Len() == 0 {
		return nil, errors.Join(errors.New("there is no audit log"), v.Close())
	}
	return v, nil
}

func compareLog(ctx context.Context, c Config, db *store.DB) (_ reconciliation, err error) {
	v, err := openView(ctx, c)
	if err != nil {
		return reconciliation{}, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	rows, stop := iter.Pull2(db.Rows(ctx))
	defer stop()
	m := comparison{rows: rows, open: map[callKey]openCall{}, decided: map[string]decision{}}
	m.result.Records = v.Len()
	m.next()
	seq := uint64(0)
	for line, err := range v.Lines(ctx, 0, v.Len()) {
		if err == nil {
			err = m.record(seq, line)
		}
		if err != nil {
			return m.result, err
		}
		seq++
	}
	for ; m.more && m.err == nil; m.next() {
		m.differs(m.row.Seq, "the database has a record that the log has not")
	}
	if m.err != nil {
		return m.result, m.err
	}
	answered, err := db.Answered(ctx)
	if err != nil {
		return m.result, err
	}
	m.approvals(answered)
	return m.finish(), nil
}

// rebuildRecords makes the database's records anew. A server must not be adding
// to them meanwhile: where one runs, the error says which process it is.
func rebuildRecords(ctx context.Context, c Config, db *store.DB) (err error) {
	held, err := audit.Hold(c.path("storage", c.Data.Profile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	v, err := openView(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	if err := db.ForgetRecords(ctx); err != nil {
		return err
	}
	var batch []store.Record
	seq := uint64(0)
	for line, err := range v.Lines(ctx, 0, v.Len()) {
		if err != nil {
			return err
		}
		batch = append(batch, storeRecord(seq, line))
		if seq++; len(batch) == followBatch || seq == v.Len() {
			if err := db.AddRecords(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return nil
}

// print says what was found.
func (r reconciliation) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return printJSON(w, r)
	}
	for _, d := range r.Differences {
		if _, err := fmt.Fprintf(w, "record %d: %s\n", d.Seq, d.What); err != nil {
			return err
		}
	}
	for _, o := range r.Open {
		if _, err := fmt.Fprintf(w, "record %d: open call: %s of %s, turn %s, has no result\n", o.Seq, o.Tool, o.Call, o.Turn); err != nil {
			return err
		}
	}
	verdict := "the database agrees with the audit log"
	if !r.OK {
		verdict = "the database differs from the audit log"
	}
	if _, err := fmt.Fprintf(w, "%s: %d record(s), %d difference(s), %d open call(s), %d not read in yet\n",
		verdict, r.Records, len(r.Differences), len(r.Open), r.Behind); err != nil || !r.Rebuilt {
		return err
	}
	_, err := fmt.Fprintln(w, "the database's records were made anew")
	return err
}
