package datasource

import (
	"github.com/mattn/go-sqlite3"

	"example.com/datamind/internal/sqlguard"
)

// maxActs bounds what one statement may ask the authorizer in all, repetitions
// included: views and common table expressions that use each other twice grow
// without bound while they are compiled.
const maxActs = 200_000

// A record is what the authorizer is asked while one statement is compiled.
type record struct {
	ended     func() error // nil: a statement of our own, which goes unrecorded
	acts      []sqlguard.Act
	seen      map[sqlguard.Act]struct{}
	asked     int
	exhausted error
}

// begin starts recording. ended says when to give up.
func (r *record) begin(ended func() error) {
	r.ended, r.acts, r.asked, r.exhausted = ended, nil, 0, nil
	clear(r.seen)
}

// end stops recording.
func (r *record) end() ([]sqlguard.Act, error) {
	r.ended = nil
	return r.acts, r.exhausted
}

// authorize is called by the engine, on the goroutine that is compiling.
func (r *record) authorize(op int, arg1, arg2, database string) int {
	if r.ended == nil {
		return sqlite3.SQLITE_OK
	}
	r.asked++
	if r.exhausted = r.giveUp(); r.exhausted != nil {
		return sqlite3.SQLITE_DENY
	}
	act := sqlguard.Act{Op: op, Arg1: arg1, Arg2: arg2, Database: database}
	if _, dup := r.seen[act]; !dup {
		r.seen[act] = struct{}{}
		r.acts = append(r.acts, act)
	}
	if act.Forbidden() {
		return sqlite3.SQLITE_DENY
	}
	return sqlite3.SQLITE_OK
}

func (r *record) giveUp() error {
	if r.exhausted != nil {
		return r.exhausted
	}
	if r.asked > maxActs {
		return errTooManyActs
	}
	return r.ended()
}

// errTooManyActs says that a statement is too large to be compiled.
const errTooManyActs = Error("the statement refers to too many things")
