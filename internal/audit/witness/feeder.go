package witness

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"example.com/datamind/internal/audit"
)

// A Source is a log that is appended to.
type Source interface {
	Log

	// Checkpoint returns the newest checkpoint.
	Checkpoint() audit.Checkpoint
}

// A Feeder submits a log's checkpoints to a witness while the log grows. It
// works beside the log and never holds it up: what the witness misses while it
// is away is in the next checkpoint.
type Feeder struct {
	client *Client
	source Source
	dir    string
	log    *slog.Logger

	mu    sync.Mutex
	state State

	cancel context.CancelFunc
	done   chan struct{}
}

// A State is how a feeder stands with its witness.
type State struct {
	Note []byte    // newest note with cosignatures; nil: none yet
	Size uint64    // that it is about
	At   time.Time // when the witness cosigned it; zero: never
	Err  error     // of the last try; nil: it was cosigned
}

const (
	// fileName lies beside the log's own checkpoint.
	fileName = "checkpoint.witnessed"

	lookEvery  = 2 * time.Second  // for a new checkpoint
	renewEvery = 10 * time.Minute // where there is none: the witness says that it still knows the log
	firstWait  = time.Second      // after a failure, then twice as long each time
	longWait   = 5 * time.Minute
	lastWord   = 2 * time.Second // for what is still to be cosigned at the end
)

// Feed starts to submit the checkpoints of source, whose folder is dir, until
// Close is called.
func Feed(client *Client, source Source, dir string, log *slog.Logger) (*Feeder, error) {
	f := &Feeder{client: client, source: source, dir: dir, log: log, done: make(chan struct{})}
	raw, err := os.ReadFile(filepath.Join(dir, fileName)) //nolint:gosec // G304: the folder is the operator's to name
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// A file that can't be read is no reason to stand still: the witness says
	// what it knows.
	if c, err := audit.PeekCheckpoint(raw); err == nil {
		f.state = State{Note: raw, Size: c.Size, At: cosignedAt(raw)}
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	go f.run(ctx)
	return f, nil
}

// State returns how f stands with its witness.
func (f *Feeder) State() State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// Close submits what is left, if the witness is there, and stops. The log must
// still be open.
func (f *Feeder) Close() error {
	f.cancel()
	<-f.done
	return nil
}

func (f *Feeder) run(ctx context.Context) {
	defer close(f.done)
	wait := firstWait
	for {
		pause := lookEvery
		if f.due() {
			if err := f.submit(ctx); err != nil && ctx.Err() == nil {
				pause, wait = spread(wait), min(2*wait, longWait)
			} else {
				wait = firstWait
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			f.finish(ctx)
			return
		}
	}
}

// spread returns d give or take a quarter, so that many servers don't come back
// at once.
func spread(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2) //nolint:gosec // G404: no secret
}

// due reports whether there is something to submit.
func (f *Feeder) due() bool {
	s := f.State()
	return f.source.Checkpoint().Size != s.Size || s.Err != nil || time.Since(s.At) >= renewEvery
}

// finish submits the last checkpoint, unless the witness was away before.
func (f *Feeder) finish(ctx context.Context) {
	if s := f.State(); s.Err != nil || s.Size == f.source.Checkpoint().Size {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
	defer cancel()
	_ = f.submit(ctx) // the next start does it
}

func (f *Feeder) submit(ctx context.Context) error {
	c := f.source.Checkpoint()
	before := f.State()
	signed, err := f.client.Submit(ctx, f.source, c, before.Size)
	if err == nil {
		err = writeFile(f.dir, fileName, signed, 0o640)
	}
	if err != nil {
		f.failed(ctx, before, err)
		return err
	}
	if before.Err != nil {
		f.log.InfoContext(ctx, "the witness cosigns again", slog.Uint64("size", c.Size))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = State{Note: signed, Size: c.Size, At: time.Now()}
	return nil
}

// failed notes an error, and says so once and not every time. That the witness
// has seen another log is always said.
func (f *Feeder) failed(ctx context.Context, before State, err error) {
	if ctx.Err() != nil {
		return
	}
	var no *RefusedError
	switch {
	case errors.Is(err, ErrCut) || errors.As(err, &no) && no.Status != http.StatusTooManyRequests && no.Status < http.StatusInternalServerError:
		f.log.ErrorContext(ctx, "the witness does not cosign the audit log", slog.Any("err", err))
	case before.Err == nil:
		f.log.WarnContext(ctx, "the witness is away; the audit log goes on and is cosigned later", slog.Any("err", err))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Err = err
}
