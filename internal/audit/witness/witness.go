package witness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/mod/sumdb/note"

	"example.com/datamind/internal/audit"
)

// Config names a witness.
type Config struct {
	Dir  string   // its key and what it remembers; on another disk than the logs
	Keys []string // verifier keys of the logs that it looks after, one a log
	Log  *slog.Logger
}

// A Witness answers add-checkpoint of C2SP tlog-witness. It is an
// [http.Handler], and safe for concurrent use.
type Witness struct {
	cfg    Config
	vkey   string
	signer note.Signer
	lock   *os.File
	mux    http.ServeMux

	mu   sync.Mutex // from looking at what is known to its being on disk
	logs map[string]memory
}

// Open opens the witness in cfg.Dir and makes its key where there is none. Two
// processes with one folder could be made to cosign two logs out of one; the
// second is refused.
func Open(cfg Config) (_ *Witness, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("open witness: %w", err)
		}
	}()
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, err
	}
	w := &Witness{cfg: cfg, logs: map[string]memory{}}
	w.mux.HandleFunc("POST /add-checkpoint", w.addCheckpoint)
	w.lock, err = os.OpenFile(filepath.Join(cfg.Dir, "witness.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(w.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another process is the witness in %s: %w", cfg.Dir, err), w.lock.Close())
	}
	if err := w.load(); err != nil {
		return nil, errors.Join(err, w.lock.Close())
	}
	return w, nil
}

func (w *Witness) load() (err error) {
	if w.signer, w.vkey, err = ensureKey(w.cfg.Dir); err != nil {
		return err
	}
	if len(w.cfg.Keys) == 0 {
		return errors.New("there is no log to look after: name the verifier key of one")
	}
	for _, k := range w.cfg.Keys {
		v, err := note.NewVerifier(k)
		if err != nil {
			return fmt.Errorf("verifier key %s: %w", k, err)
		}
		if _, twice := w.logs[v.Name()]; twice {
			return fmt.Errorf("two keys of %s; the one that its record 0 names is enough", v.Name())
		}
		if w.logs[v.Name()], err = recall(w.cfg.Dir, v.Name(), k); err != nil {
			return err
		}
	}
	return nil
}

// Key returns the witness's verifier key, for those who check cosignatures.
func (w *Witness) Key() string { return w.vkey }

// Close lets the next process be the witness.
//
// A child that was forked a moment ago may have the file, too, so closing it would
// not be enough.
func (w *Witness) Close() error {
	return errors.Join(syscall.Flock(int(w.lock.Fd()), syscall.LOCK_UN), w.lock.Close())
}

// ServeHTTP implements [http.Handler].
func (w *Witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) { w.mux.ServeHTTP(rw, r) }

// A refusal is an answer that is no cosignature.
type refusal struct {
	status int
	text   string
	size   bool // text is the size that the witness knows
}

// Error returns the answer's text.
func (r *refusal) Error() string { return r.text }

func (w *Witness) addCheckpoint(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxRequest))
	if err != nil {
		http.Error(rw, "the request is too long or was cut off", http.StatusBadRequest)
		return
	}
	lines, err := w.cosign(body)
	var no *refusal
	switch {
	case errors.As(err, &no) && no.size:
		rw.Header().Set("Content-Type", sizeType)
		rw.WriteHeader(no.status)
		_, err = io.WriteString(rw, no.text+"\n")
	case errors.As(err, &no):
		http.Error(rw, no.text, no.status)
	case err != nil:
		w.cfg.Log.ErrorContext(r.Context(), "the witness can't cosign", slog.Any("err", err))
		http.Error(rw, "the witness could not do its work; its log says why", http.StatusInternalServerError)
		return
	default:
		rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, err = rw.Write(lines)
	}
	if err != nil && no == nil {
		w.cfg.Log.DebugContext(r.Context(), "answer not written", slog.Any("err", err))
	}
}

// sizeType is the content type of an answer that tells the size that the
// witness knows.
const sizeType = "text/x.tlog.size"

// cosign checks a request, remembers its checkpoint, and returns the signature
// lines.
func (w *Witness) cosign(body []byte) ([]byte, error) {
	req, err := ParseRequest(body)
	if err != nil {
		return nil, &refusal{status: http.StatusBadRequest, text: err.Error()}
	}
	said, err := audit.PeekCheckpoint(req.Checkpoint)
	if err != nil {
		return nil, &refusal{status: http.StatusBadRequest, text: err.Error()}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	m, known := w.logs[said.Origin]
	if !known {
		return nil, &refusal{status: http.StatusNotFound, text: "this witness does not look after " + said.Origin}
	}
	c, next, err := audit.OpenSuccession(req.Checkpoint, m.keyAt(said.Size))
	if err != nil {
		return nil, &refusal{status: http.StatusForbidden, text: err.Error()}
	}
	if err := w.grown(m, req, c); err != nil {
		return nil, err
	}
	m.Note = string(req.Checkpoint)
	if next != "" && m.keyAt(c.Size+1) != next {
		m.Keys = append(slices.Clone(m.Keys), successor{From: c.Size, Key: next})
	}
	signed, err := note.Sign(&note.Note{Text: textOf(req.Checkpoint)}, w.signer)
	if err != nil {
		return nil, err
	}
	if err := m.keep(w.cfg.Dir); err != nil {
		return nil, fmt.Errorf("remember the checkpoint: %w", err)
	}
	w.logs[m.Origin] = m
	return signaturesOf(signed), nil
}

// grown checks that c is the continuation of what is known of its log.
func (w *Witness) grown(m memory, req Request, c audit.Checkpoint) error {
	last, err := m.last()
	if err != nil {
		return err
	}
	switch {
	case req.Old > c.Size:
		return &refusal{status: http.StatusBadRequest, text: "the old size is greater than the checkpoint's"}
	case req.Old != last.Size:
		return &refusal{status: http.StatusConflict, text: strconv.FormatUint(last.Size, 10), size: true}
	case c.Size == last.Size && c.Root != last.Root:
		w.cfg.Log.Error("two roots for one size: somebody has rewritten the log", slog.String("origin", c.Origin),
			slog.Uint64("size", c.Size), slog.String("known", m.Note), slog.String("submitted", string(c.Note)))
		return &refusal{status: http.StatusConflict, text: "another root was cosigned for this size"}
	}
	if err := audit.CheckConsistency(req.Proof, last, c); err != nil {
		w.cfg.Log.Warn("no proof that the log only grew", slog.String("origin", c.Origin), slog.Uint64("from", last.Size), slog.Uint64("to", c.Size))
		return &refusal{status: http.StatusUnprocessableEntity, text: err.Error()}
	}
	return nil
}

// Behind the blank line of a note its signatures begin.
const blank = "\n\n"

// textOf returns what is signed of a note.
func textOf(signed []byte) string {
	return string(signed[:bytes.LastIndex(signed, []byte(blank))+1])
}

// signaturesOf returns the signature lines of a note.
func signaturesOf(signed []byte) []byte {
	return signed[bytes.LastIndex(signed, []byte(blank))+len(blank):]
}
