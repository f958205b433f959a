package audit

import (
	"fmt"
	"time"
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
)

// A TamperError says where a log is broken, and how.
type TamperError struct {
	Seq    uint64 // where the record stands, counted from 0
	What   string // chain.hash, chain.link, chain.seq, chain.format, chain.profile, chain.torn, log.missing, log.created, log.key, log.origin
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
	Checkpoint *Checkpoint   // the newest one that the log agrees with; nil: there is none
	Unsealed   uint64        // records behind Checkpoint, all of them where there is none
	TornTail   bool          // the last line has no end: a crash, or a hand
	Missing    bool          // there is no log, or it is empty
	Took       time.Duration
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
	case r.Missing && r.FaultCount == 1:
		return ExitMissing
	case r.TornTail && r.FaultCount == 1:
		return ExitTorn
	default:
		return ExitTampered
	}
}

func (r *Report) add(seq uint64, what, detail string) {
	if r.FirstBad == nil {
		r.FirstBad = &seq
	}
	if r.FaultCount++; len(r.Faults) < maxFaults {
		r.Faults = append(r.Faults, TamperError{Seq: seq, What: what, Detail: detail})
	}
}
