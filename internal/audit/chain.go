package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// A chain follows a log line by line, builds its tree, and notes what is wrong.
// A fault does not stop it: after a broken record it takes the log's own word
// for where it is, so that one change is not reported as a thousand.
type chain struct {
	report  Report
	keys    []string // that record 0 may name; none: any
	profile string   // that record 0 must be of; empty: any
	prev    []byte   // record_hash of the last line, as claimed
	first   []byte   // profile of record 0, as it stands
	last    []byte   // ts of the last line
	records uint64   // lines seen, which are the leaves of the tree
	next    uint64   // seq that the next record must have

	tree   tree
	nodes  []tlog.Hash // that the last line added
	epochs Epochs
	birth  birth
	roots  map[uint64]tlog.Hash // at the sizes that somebody asks for; zero: not there yet
}

// facts is what a line says of itself.
type facts struct {
	link
	leaf tlog.Hash
	bad  bool // not a record at all
	size int  // bytes with the LF, where lines are counted
	raw  []byte
}

// examine reads one line without its LF. A nil line, as [lines] reads them,
// stands for one that is longer than any record.
func examine(line []byte) facts {
	f := facts{leaf: tlog.RecordHash(line), raw: line}
	var err error
	f.link, err = readLink(line)
	f.bad = err != nil
	return f
}

// begin notes that a segment begins, and reports whether it follows the one
// before.
func (c *chain) begin(s segmentFile) bool {
	if s.active || s.first == c.next {
		return true
	}
	c.report.add(c.records, faultSegment, fmt.Sprintf("%s stands where record %d follows", s.name, c.next))
	return false
}

// line checks one line without its LF and reports whether it is sound.
func (c *chain) line(line []byte) bool { return c.follow(examine(line)) }

// follow checks the next line of the log.
func (c *chain) follow(f facts) bool {
	before, at := c.report.FaultCount, c.records
	c.records++
	c.report.Records = c.records
	var sealed tlog.Hash // before this line
	turn := at > 0 && string(f.kind) == `"`+string(KeyRotated)+`"`
	if turn {
		sealed = c.tree.root()
	}
	c.nodes = c.tree.add(f.leaf, c.nodes[:0])
	if _, wanted := c.roots[c.records]; wanted {
		c.roots[c.records] = c.tree.root()
	}
	if f.bad {
		c.report.add(at, faultFormat, "this line is not a record")
		c.prev, c.next = c.prev[:0], c.next+1
		return false
	}
	if !f.sound {
		c.report.add(at, faultHash, "the line is not what it was when its hash was made")
	}
	if f.seq != c.next {
		c.report.add(at, faultSeq, fmt.Sprintf("seq is %d where %d follows", f.seq, c.next))
	}
	if (at == 0) != (f.prev == nil) || at > 0 && string(f.prev) != string(c.prev) {
		c.report.add(at, faultLink, "prev_hash is not the hash of the record before")
	}
	switch {
	case at == 0:
		c.created(f)
	case string(f.profile) != string(c.first):
		c.report.add(at, faultProfile, "the record is of another profile")
	}
	if turn {
		c.rotated(at, f.args, sealed)
	}
	if string(f.time) < string(c.last) {
		c.report.note(at, lintClock, fmt.Sprintf("ts is %s after %s: the clock was set back", f.time, c.last))
	}
	c.prev, c.next = append(c.prev[:0], f.hash...), f.seq+1
	c.last = append(c.last[:0], f.time...)
	return c.report.FaultCount == before
}

// created checks record 0.
func (c *chain) created(f facts) {
	c.first = append(c.first, f.profile...)
	if want := strconv.Quote(c.profile); c.profile != "" && string(c.first) != want {
		c.report.add(0, faultOrigin, fmt.Sprintf("the log is of profile %s, not %s", c.first, want))
	}
	if string(f.kind) != `"`+string(LogCreated)+`"` || json.Unmarshal(f.args, &c.birth) != nil || c.birth.Key == "" {
		c.report.add(0, faultCreated, "record 0 does not say which log this is")
		return
	}
	var r Record
	if json.Unmarshal(f.raw, &r) == nil {
		c.report.Created, _ = time.Parse(TimeFormat, r.Time) // zero, as documented
	}
	c.report.Key = c.birth.Key
	c.epochs = Epochs{{Key: c.birth.Key}}
	if len(c.keys) > 0 && !slices.Contains(c.keys, c.birth.Key) {
		c.report.add(0, faultKey, "record 0 names the key "+c.birth.Key)
	}
}

// rotated checks a record that announces a key, before which the tree had this
// root.
func (c *chain) rotated(at uint64, args []byte, root tlog.Hash) {
	e, sealed, err := rotation(args, at, c.epochs.KeyAt(at))
	switch {
	case err != nil:
		c.report.add(at, faultSignature, "a key that the one before did not announce: "+err.Error())
		return
	case sealed.Root != root:
		c.report.add(at, faultRoot, "the key before has sealed other records than those before this one")
	}
	c.epochs = append(c.epochs, e)
}

// torn notes a last line without an end.
func (c *chain) torn(size int) {
	c.report.TornTail = true
	c.report.add(c.records, faultTorn, fmt.Sprintf("the last %d bytes are not a whole line", size))
}

// A birth is the arguments of record 0.
type birth struct {
	Origin string `json:"origin"` // datamind.local/<install id>/<profile>
	Random string `json:"random"` // 32 bytes in hex: no two logs begin alike
	Key    string `json:"vkey"`   // golang.org/x/mod/sumdb/note verifier key
}
