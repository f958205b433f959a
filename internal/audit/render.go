package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"example.com/datamind/internal/hooks"
)

const (
	// maxLine bounds a line without its LF: entries of transparency-log tiles
	// have a length of 16 bits.
	maxLine = 1<<16 - 1
	maxArgs = 60 << 10
	maxHead = 1 << 10 // of what is kept of args that are too long

	maxText  = 4 << 10 // of a reason or an error, escaped
	maxStep  = 256     // of a text in the trail, escaped
	maxName  = 256     // of an ID or a name, escaped
	maxSteps = 40

	// ownBytes is more than what the writer adds to a line: seq, time, hashes.
	ownBytes = 512
)

// A draft is a record as text, around what only the writer knows: prev_hash,
// seq and ts. Callers render on their own goroutines.
type draft struct {
	toPrev, toSeq, toTime, toEnd []byte
}

// render writes r, which must be redacted and canonical, for profile. It cuts
// what does not fit; see [Record].
func (r *Record) render() (draft, error) {
	r.bound()
	d := r.draft()
	for d.size()+ownBytes > maxLine {
		if !r.shrink() {
			return draft{}, fmt.Errorf("audit record of %d bytes does not fit a line", d.size())
		}
		d = r.draft()
	}
	return d, nil
}

func (d draft) size() int {
	return len(d.toPrev) + len(d.toSeq) + len(d.toTime) + len(d.toEnd)
}

// bound cuts r's members to their own limits.
func (r *Record) bound() {
	for _, s := range []*string{&r.Actor, &r.Approval, &r.Call, &r.Decision, &r.Digest, &r.Hook, &r.Profile, &r.Session, &r.Tool, &r.Turn} {
		*s = cut(*s, maxName)
	}
	r.Err, r.Reason = cut(r.Err, maxText), cut(r.Reason, maxText)
	if len(r.Trail) > maxSteps {
		more := hooks.Step{Reason: fmt.Sprintf("%d more steps", len(r.Trail)-maxSteps+1)}
		r.Trail = append(r.Trail[:maxSteps-1:maxSteps-1], more)
	}
	for i := range r.Trail {
		s := &r.Trail[i]
		s.Hook, s.Action = cut(s.Hook, maxName), hooks.Action(cut(string(s.Action), maxName))
		s.Reason, s.Fault = cut(s.Reason, maxStep), cut(s.Fault, maxStep)
	}
	r.Args, r.OriginalArgs = truncate(r.Args, maxArgs), truncate(r.OriginalArgs, maxArgs)
}

// shrink makes r shorter and reports whether it could.
func (r *Record) shrink() bool {
	long := &r.Args
	if len(r.OriginalArgs) > len(r.Args) {
		long = &r.OriginalArgs
	}
	if len(*long) > 4*maxHead {
		*long = truncate(*long, 0)
		return true
	}
	if len(r.Trail) > 1 {
		r.Trail = []hooks.Step{{Reason: fmt.Sprintf("%d steps", len(r.Trail))}}
		return true
	}
	return false
}

// truncate returns canonical JSON as it is up to limit bytes, otherwise what
// stands for it.
func truncate(canonical json.RawMessage, limit int) json.RawMessage {
	if len(canonical) <= limit {
		return canonical
	}
	head := canonical[:min(maxHead, len(canonical))]
	for len(head) > 0 && len(head) < len(canonical) && !utf8.RuneStart(canonical[len(head)]) {
		head = head[:len(head)-1]
	}
	sum := sha256.Sum256(canonical)
	out := fmt.Appendf(nil, `{"_truncated":{"bytes":%d,"head":`, len(canonical))
	out = appendString(out, string(head))
	return fmt.Appendf(out, `,"sha256":"%x"}}`, sum)
}

// cut makes s valid UTF-8 and cuts it so that it takes about limit bytes at
// most when it is escaped.
func cut(s string, limit int) string {
	s = printable(s, false)
	if len(s)*6 <= limit {
		return s
	}
	size := 0
	for i, r := range s {
		switch {
		case r < 0x20:
			size += 6
		case r == '"' || r == '\\':
			size += 2
		default:
			size += utf8.RuneLen(r)
		}
		if size > limit {
			return fmt.Sprintf("%s… [%d bytes]", s[:i], len(s))
		}
	}
	return s
}

// draft writes r's members in their order.
func (r *Record) draft() draft {
	var d draft
	b := append(make([]byte, 0, 512+len(r.Args)+len(r.OriginalArgs)), '{')
	b = member(b, "actor", r.Actor)
	b = member(b, "approval_id", r.Approval)
	b = rawMember(b, "args", r.Args)
	b = member(b, "call_id", r.Call)
	if r.ClaimedConsent {
		b = append(b, `"claimed_consent":true,`...)
	}
	b = member(b, "decision", r.Decision)
	b = member(b, "digest", r.Digest)
	b = member(b, "error", r.Err)
	b = member(b, "hook", r.Hook)
	b = member(b, "kind", string(r.Kind))
	b = rawMember(b, "original_args", r.OriginalArgs)
	b = member(b, "phase", string(r.Phase))
	b = append(b, `"prev_hash":`...)
	d.toPrev = b

	b = append(make([]byte, 0, 256), `,"profile":`...)
	b = append(appendString(b, r.Profile), ',')
	b = member(b, "reason", r.Reason)
	if s := r.Result; s != nil {
		b = fmt.Appendf(b, `"result":{"bytes":%d,"rows":%d,"sha256":"%s"},`, s.Bytes, s.Rows, s.SHA256)
	}
	b = append(b, `"seq":`...)
	d.toSeq = b

	b = append(make([]byte, 0, 256+len(r.Trail)*64), ',')
	b = member(b, "session_id", r.Session)
	b = member(b, "tool", r.Tool)
	b = trailMember(b, r.Trail)
	b = append(b, `"ts":"`...)
	d.toTime = b

	b = append(make([]byte, 0, 64), `",`...)
	b = member(b, "turn_id", r.Turn)
	b = append(b, `"v":2}`...)
	d.toEnd = b
	return d
}

func member(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	b = append(append(append(b, '"'), name...), `":`...)
	return append(appendString(b, s), ',')
}

func rawMember(b []byte, name string, canonical json.RawMessage) []byte {
	if len(canonical) == 0 {
		return b
	}
	b = append(append(append(b, '"'), name...), `":`...)
	return append(append(b, canonical...), ',')
}

func trailMember(b []byte, trail []hooks.Step) []byte {
	if len(trail) == 0 {
		return b
	}
	b = append(b, `"trail":[`...)
	for i, s := range trail {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		b = member(b, "action", string(s.Action))
		b = member(b, "fault", s.Fault)
		b = member(b, "hook", s.Hook)
		b = member(b, "reason", s.Reason)
		b = append(strconv.AppendInt(append(b, `"took_us":`...), s.TookMicros, 10), '}')
	}
	return append(b, "],"...)
}

// appendLine appends the whole line with its LF to dst and returns it with the
// record's hash. An empty prev is null.
func (d draft) appendLine(dst []byte, prev string, seq uint64, ts string) (line []byte, hash string) {
	from := len(dst)
	dst = append(dst, d.toPrev...)
	if prev == "" {
		dst = append(dst, "null"...)
	} else {
		dst = append(append(append(dst, '"'), prev...), '"')
	}
	dst = append(dst, d.toSeq...)
	dst = strconv.AppendUint(dst, seq, 10)
	dst = append(dst, d.toTime...)
	dst = append(dst, ts...)
	dst = append(dst, d.toEnd...)
	sum := sha256.Sum256(dst[from:])
	hash = hex.EncodeToString(sum[:])
	dst = append(dst[:len(dst)-1], hashMember...)
	dst = append(dst, hash...)
	return append(dst, "\"}\n"...), hash
}
