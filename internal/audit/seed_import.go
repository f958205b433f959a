package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"example.com/datamind/internal/hooks"
)

// An Imported is the arguments of a [LogImported] record, which follows the
// records that were copied.
type Imported struct {
	File     string `json:"file"`
	Format   string `json:"format"`
	From     uint64 `json:"from"` // first copy; a key.rotated may stand among them
	Records  uint64 `json:"records"`
	SHA256   string `json:"sha256"` // of the file
	Strength string `json:"strength"`
}

// ErrImported says that a file was imported before.
var ErrImported = errors.New("this file was imported already")

// importWindow is the number of copies that are on their way to disk at once.
const importWindow = 1024

// ImportSeed verifies a log in the predecessor's format and copies its records
// to the end of this one, each as a [ToolOutcome] or, where the call was denied
// or asked about, as a [HookDecision]; when it was written, and its old hash,
// stand in the reason. What is wrong with the file is a [*TamperError], and
// nothing is copied. An import that was cut off has no LogImported record.
func (l *Log) ImportSeed(ctx context.Context, name string, in io.ReadSeeker) (Imported, error) {
	sum := sha256.New()
	rep, err := VerifySeed(ctx, io.TeeReader(in, sum))
	if err == nil && !rep.OK() {
		err = &rep.Faults[0]
	}
	if err != nil {
		return Imported{}, fmt.Errorf("import %s: %w", name, err)
	}
	out := Imported{
		File: filepath.Base(name), Format: "seed", From: l.Len(), Records: rep.Records,
		SHA256: hex.EncodeToString(sum.Sum(nil)), Strength: SeedStrength,
	}
	if err := l.notImported(ctx, out.SHA256); err != nil {
		return Imported{}, err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return Imported{}, fmt.Errorf("import %s: %w", name, err)
	}
	again := sha256.New()
	if err := l.copySeed(ctx, io.TeeReader(in, again)); err != nil {
		return Imported{}, fmt.Errorf("import %s: %w", name, err)
	}
	if hex.EncodeToString(again.Sum(nil)) != out.SHA256 {
		return Imported{}, fmt.Errorf("import %s: the file was changed meanwhile", name)
	}
	args, err := json.Marshal(out)
	if err != nil {
		return Imported{}, err
	}
	_, err = l.Append(ctx, Record{Actor: actorSystem, Args: args, Kind: LogImported})
	return out, err
}

// notImported looks for an import of a file of this hash.
func (l *Log) notImported(ctx context.Context, sum string) error {
	for e, err := range l.backwards(ctx, 0) {
		if err != nil {
			return err
		}
		if k, err := readLink(e.line); err != nil || string(k.kind) != `"`+string(LogImported)+`"` {
			continue
		}
		var r struct{ Args Imported }
		if json.Unmarshal(e.line, &r) == nil && r.Args.SHA256 == sum {
			return fmt.Errorf("%w, as records %d and following", ErrImported, r.Args.From)
		}
	}
	return nil
}

// copySeed appends the records of a sound log in their order.
func (l *Log) copySeed(ctx context.Context, in io.Reader) error {
	var waiting []*request
	wait := func() error {
		for _, q := range waiting {
			if <-q.done; q.err != nil {
				return q.err
			}
		}
		waiting = waiting[:0]
		return nil
	}
	_, err := readSeed(ctx, in, func(s seedRecord) error {
		q := &request{record: s.record().redacted(l.cfg.Redactor), done: make(chan struct{})}
		if err := q.render(l.cfg.Profile); err != nil {
			return err
		}
		if err := l.enqueue(ctx, q); err != nil {
			return err
		}
		if waiting = append(waiting, q); len(waiting) < importWindow {
			return nil
		}
		return wait()
	})
	return errors.Join(err, wait())
}

// record returns what s says in this log's terms.
func (s seedRecord) record() Record {
	v := s.value
	r := Record{
		Actor: actorAgent, Err: v.word("error"), Kind: ToolOutcome, Phase: hooks.PostTool,
		Session: v.word("session_id"), Tool: v.word("tool"),
	}
	if args, ok := v.get("args"); ok {
		r.Args = args.append(nil)
	}
	switch v.word("decision") {
	case "denied":
		r.Kind, r.Phase, r.Decision = HookDecision, hooks.PreTool, string(hooks.Denying)
	case "asks_user":
		r.Kind, r.Phase, r.Decision = HookDecision, hooks.PreTool, string(hooks.Asking)
	}
	said := []string{"imported", "written " + v.word("ts"), "record_hash " + s.hash}
	if trace := v.word("trace_id"); trace != "" {
		said = append(said, "trace "+trace)
	}
	if result, ok := v.get("result"); ok {
		said = append(said, "result "+string(result.append(nil)))
	}
	r.Reason = strings.Join(said, "; ")
	return r
}

// get returns a member of an object.
func (v value) get(name string) (value, bool) {
	for i, k := range v.keys {
		if k == name {
			return v.list[i], true
		}
	}
	return value{}, false
}
