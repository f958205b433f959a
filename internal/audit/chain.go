package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// A chain follows a log line by line and notes what is wrong. A fault does not
// stop it: after a broken record it takes the log's own word for where it is,
// so that one change is not reported as a thousand.
type chain struct {
	report  Report
	keys    []string // that record 0 may name; none: any
	prev    []byte   // record_hash of the last line, as claimed
	first   []byte   // profile of record 0, as it stands
	records uint64   // lines seen
	next    uint64   // seq that the next record must have
}

// line checks one line without its LF and reports whether it is sound. A nil
// line stands for one that is longer than any record.
func (c *chain) line(line []byte) bool {
	before, at := c.report.FaultCount, c.records
	c.records++
	c.report.Records, c.report.Unsealed = c.records, c.records
	l, err := readLink(line)
	if err != nil {
		c.report.add(at, faultFormat, "this line is not a record")
		c.prev, c.next = c.prev[:0], c.next+1
		return false
	}
	if !l.sound {
		c.report.add(at, faultHash, "the line is not what it was when its hash was made")
	}
	if l.seq != c.next {
		c.report.add(at, faultSeq, fmt.Sprintf("seq is %d where %d follows", l.seq, c.next))
	}
	if (at == 0) != (l.prev == nil) || at > 0 && string(l.prev) != string(c.prev) {
		c.report.add(at, faultLink, "prev_hash is not the hash of the record before")
	}
	if at == 0 {
		c.created(l, line)
	} else if string(l.profile) != string(c.first) {
		c.report.add(at, faultProfile, "the record is of another profile")
	}
	c.prev, c.next = append(c.prev[:0], l.hash...), l.seq+1
	return c.report.FaultCount == before
}

// created checks record 0.
func (c *chain) created(l link, line []byte) {
	c.first = append(c.first, l.profile...)
	var args birth
	if string(l.kind) != `"`+string(LogCreated)+`"` || json.Unmarshal(l.args, &args) != nil || args.Key == "" {
		c.report.add(0, faultCreated, "record 0 does not say which log this is")
		return
	}
	var r Record
	if json.Unmarshal(line, &r) == nil {
		c.report.Created, _ = time.Parse(TimeFormat, r.Time) // zero, as documented
	}
	c.report.Key = args.Key
	if len(c.keys) > 0 && !slices.Contains(c.keys, args.Key) {
		c.report.add(0, faultKey, "record 0 names the key "+args.Key)
	}
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
