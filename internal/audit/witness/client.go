package witness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	cosign "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"example.com/datamind/internal/audit"
)

// A Client submits checkpoints to one witness.
type Client struct {
	url  string
	keys note.Verifiers // of the witness; nil: not known
	http *http.Client
}

// NewClient returns a client of the witness at address, a submission prefix
// such as http://10.0.0.7:8099. The verifier key of the witness may be empty;
// its cosignatures are then kept as they come, and whoever reads them has to
// check them.
func NewClient(address, vkey string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("want the address of a witness, for example https://witness.example")
	}
	c := &Client{
		url: strings.TrimRight(u.String(), "/") + "/add-checkpoint",
		http: &http.Client{
			Timeout:       requestTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if vkey != "" {
		v, err := cosign.NewVerifierForCosignatureV1(vkey)
		if err != nil {
			return nil, fmt.Errorf("verifier key of the witness: %w", err)
		}
		c.keys = note.VerifierList(v)
	}
	return c, nil
}

const (
	requestTimeout = 10 * time.Second
	maxAnswer      = 16 << 10
)

// A RefusedError is the answer of a witness that does not cosign.
type RefusedError struct {
	Status int
	Text   string // of the witness, shortened
}

// Error says what the witness said.
func (r *RefusedError) Error() string {
	return fmt.Sprintf("the witness answered %d: %s", r.Status, r.Text)
}

// An outdated is the answer of a witness that knows another size than the one
// that a proof begins at.
type outdated struct{ size uint64 }

func (o *outdated) Error() string { return fmt.Sprintf("the witness has seen %d records", o.size) }

// ErrCut says that a witness has cosigned more records than there are: the end
// of the log was cut off, or the witness saw another log.
var ErrCut = errors.New("the witness has cosigned more records than the log has")

// A Log is what a witness is told about: its tree, and the notes with which its
// keys have named their successors, the oldest first.
type Log interface {
	tlog.HashReader
	Successions() ([][]byte, error)
}

// Submit has checkpoint c of l cosigned, by a witness that has probably seen
// the first known records. It returns c's note with the cosignatures.
func (c *Client) Submit(ctx context.Context, l Log, cp audit.Checkpoint, known uint64) ([]byte, error) {
	known = min(known, cp.Size) // if it has seen more, let it say so
	signed, err := c.bring(ctx, l, cp, &known)
	var no *RefusedError
	if !errors.As(err, &no) || no.Status != http.StatusForbidden {
		return signed, err
	}
	// It may not have heard of the key that signs now. It is told of one after
	// the other, from where it stands.
	named, err := l.Successions()
	if err != nil {
		return nil, err
	}
	for _, raw := range named {
		s, err := audit.PeekCheckpoint(raw)
		if err != nil {
			return nil, err
		}
		if s.Size < known || s.Size > cp.Size {
			continue
		}
		if _, err := c.bring(ctx, l, s, &known); err != nil && !errors.Is(err, ErrCut) { // it has heard of this one
			return nil, fmt.Errorf("tell the witness of the key after record %d: %w", s.Size, err)
		}
	}
	return c.bring(ctx, l, cp, &known)
}

// bring submits cp until the witness and we agree on what it has seen.
func (c *Client) bring(ctx context.Context, l Log, cp audit.Checkpoint, known *uint64) ([]byte, error) {
	const tries = 3 // another client may be submitting the same log
	var err error
	for range tries {
		if *known > cp.Size {
			return nil, fmt.Errorf("%w: %d, not %d", ErrCut, *known, cp.Size)
		}
		req := Request{Old: *known, Checkpoint: cp.Note}
		if req.Proof, err = audit.ProveConsistency(l, *known, cp.Size); err != nil {
			return nil, err
		}
		var lines []byte
		lines, err = c.add(ctx, req)
		if other, ok := errors.AsType[*outdated](err); ok {
			*known = other.size
			continue
		}
		if err != nil {
			return nil, err
		}
		*known = cp.Size
		return c.join(cp.Note, lines)
	}
	return nil, err
}

// add sends one request and returns the signature lines of the answer.
func (c *Client) add(ctx context.Context, req Request) (lines []byte, err error) {
	body, err := req.MarshalText()
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "text/plain; charset=utf-8")
	res, err := c.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("reach the witness: %w", err)
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the witness's answer: %w", err)
	}
	switch {
	case res.StatusCode == http.StatusOK:
		return answer, nil
	case res.StatusCode == http.StatusConflict && res.Header.Get("Content-Type") == sizeType:
		size, err := audit.ParseSize(strings.TrimSuffix(string(answer), "\n"))
		if err != nil {
			return nil, fmt.Errorf("read the witness's answer: %w", err)
		}
		return nil, &outdated{size}
	default:
		text := strings.ToValidUTF8(strings.TrimSpace(string(answer)), "?")
		return nil, &RefusedError{Status: res.StatusCode, Text: text[:min(len(text), 200)]}
	}
}

// join puts a witness's signature lines under a note: those of its key where
// that is known.
func (c *Client) join(signed, lines []byte) ([]byte, error) {
	n, err := note.Open(append(bytes.Clone(signed), lines...), c.keys)
	var unverified *note.UnverifiedNoteError
	switch {
	case c.keys == nil && errors.As(err, &unverified):
		// Of the right form, and only that can be said.
		if len(lines) == 0 {
			return nil, errors.New("the witness's answer holds no signature")
		}
		return append(bytes.Clone(signed), lines...), nil
	case err != nil:
		return nil, fmt.Errorf("the witness's answer is no cosignature by its key: %w", err)
	}
	out := bytes.Clone(signed)
	for _, s := range n.Sigs {
		out = fmt.Appendf(out, "— %s %s\n", s.Name, s.Base64)
	}
	return out, nil
}

// cosignedAt returns when a witness has cosigned a note, by its own clock; zero
// where none has.
func cosignedAt(signed []byte) time.Time {
	var at time.Time
	var unverified *note.UnverifiedNoteError
	if _, err := note.Open(signed, nil); !errors.As(err, &unverified) {
		return at
	}
	for _, s := range unverified.Note.UnverifiedSigs {
		// The log's own signatures are shorter and have no time.
		if t, err := cosign.CoSigV1Timestamp(s); err == nil && t.After(at) {
			at = t
		}
	}
	return at
}

// Cosigned checks that a witness has cosigned a checkpoint, and returns when,
// by its clock.
func Cosigned(signed []byte, vkey string) (time.Time, error) {
	v, err := cosign.NewVerifierForCosignatureV1(strings.TrimSpace(vkey))
	if err != nil {
		return time.Time{}, fmt.Errorf("verifier key of the witness: %w", err)
	}
	n, err := note.Open(signed, note.VerifierList(v))
	if err != nil {
		return time.Time{}, fmt.Errorf("%s has not cosigned this: %w", v.Name(), err)
	}
	return cosign.CoSigV1Timestamp(n.Sigs[0])
}
