package audit

import (
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// What a [TamperError] says.
const (
	faultFormat  = "chain.format"  // a line that no writer wrote
	faultHash    = "chain.hash"    // record_hash is not that of the line
	faultLink    = "chain.link"    // prev_hash is not that of the line before
	faultSeq     = "chain.seq"     // a number left out, repeated or out of order
	faultTorn    = "chain.torn"    // the last line has no end
	faultMissing = "log.missing"   // no file, or nothing in it
	faultCreated = "log.created"   // record 0 does not name the log
	faultKey     = "log.key"       // record 0 names another key
	faultOrigin  = "log.origin"    // record 0 is of another profile or installation
	faultProfile = "chain.profile" // a record of another profile

	faultSegment   = "segment.missing"      // a segment does not begin where the one before ends
	faultRoot      = "checkpoint.root"      // the records are not those that were sealed
	faultTruncated = "checkpoint.truncated" // fewer records than were sealed
	faultSignature = "checkpoint.signature" // no seal of this log's key at that time
	faultFork      = "checkpoint.fork"      // two seals of one size that differ
)

// What a [Note] says.
const (
	lintClock = "lint.clock" // ts goes back; seq decides
	lintKeys  = "lint.keys"  // a member stands twice inside arguments
)

// A TamperError says where a log is broken, and how.
type TamperError struct {
	Seq    uint64 // where the record stands, counted from 0; for a checkpoint, the first record that it may be about
	What   string // chain.hash, chain.link, chain.seq, chain.format, chain.profile, chain.torn, segment.missing, checkpoint.root, checkpoint.truncated, checkpoint.signature, checkpoint.fork, log.missing, log.created, log.key, log.origin
	Detail string
}

// Error says where and what.
func (e *TamperError) Error() string {
	return fmt.Sprintf("audit log is broken at record %d: %s: %s", e.Seq, e.What, e.Detail)
}

// maxFaults bounds Report.Faults.
const maxFaults = 100

// A Report is what a verification finds.
type Report struct {
	Records    uint64        // read, sound or not
	Bytes      int64         // read
	Created    time.Time     // of record 0; zero where it can't be read
	Key        string        // verifier key that record 0 names
	FirstBad   *uint64       // where the first fault is; nil: none
	Faults     []TamperError // the first hundred, in order
	FaultCount int           // all of them
	Root       tlog.Hash     // of the tree of all records
	Epochs     Epochs        // the keys, as the log announces them
	Checkpoint *Checkpoint   // the newest one that the log agrees with; nil: there is none
	Unsealed   uint64        // records behind Checkpoint, all of them where there is none
	TornTail   bool          // the last line has no end: a crash, or a hand
	Missing    bool          // there is no log, or it is empty
	Notes      []Note        // the first hundred
	Took       time.Duration

	severe bool // something is wrong besides a missing end
	cut    bool // sealed records are missing
}

// A Note is something that is no fault but worth a look.
type Note struct {
	Seq    uint64
	What   string // lint.clock, lint.keys
	Detail string
}

// OK reports whether nothing is wrong.
func (r Report) OK() bool { return r.FaultCount == 0 }

// Exit statuses of a verification.
const (
	ExitSound    = 0
	ExitTampered = 1
	ExitTorn     = 3 // only the last line has no end
	ExitMissing  = 4 // missing or truncated
)

// ExitCode returns the exit status that tells r to scripts.
func (r Report) ExitCode() int {
	switch {
	case r.OK():
		return ExitSound
	case r.severe:
		return ExitTampered
	case r.Missing || r.cut:
		return ExitMissing
	default:
		return ExitTorn
	}
}

func (r *Report) add(seq uint64, what, detail string) {
	if r.FirstBad == nil {
		r.FirstBad = &seq
	}
	switch what {
	case faultMissing, faultTorn:
	case faultTruncated:
		r.cut = true
	default:
		r.severe = true
	}
	if r.FaultCount++; len(r.Faults) < maxFaults {
		r.Faults = append(r.Faults, TamperError{Seq: seq, What: what, Detail: detail})
	}
}

func (r *Report) note(seq uint64, what, detail string) {
	if len(r.Notes) < maxFaults {
		r.Notes = append(r.Notes, Note{Seq: seq, What: what, Detail: detail})
	}
}
