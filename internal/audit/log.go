package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/mod/sumdb/tlog"
)

const (
	maxQueue = 4096    // records that wait or are written at once
	maxBatch = 4 << 20 // bytes after which a batch takes no more records
)

// What keeps a log from taking records. All but ErrClosed last until the log
// is opened anew, which checks it.
var (
	// ErrClosed says that the log was closed.
	ErrClosed = errors.New("the audit log is closed")

	// ErrForeign says that someone else wrote to, replaced or removed the file.
	ErrForeign = errors.New("the audit log's file was changed by someone else")

	// ErrPoisoned says that a sync or a truncation failed: nobody knows what
	// is on disk.
	ErrPoisoned = errors.New("the audit log's file is in an unknown state")
)

// A Log appends records to a file. It is safe for concurrent use; another
// process that opens the same log is refused.
type Log struct {
	cfg  Config
	id   birth // what record 0 says
	lock *os.File

	gate   sync.RWMutex // held for reading while a request is put into queue
	shut   bool
	queue  chan *request
	closed chan struct{} // no more requests come
	done   chan struct{} // run has returned

	index  index
	hashes *derived
	ends   *derived
	sealer sealer

	followed followed

	watch  context.Context //nolint:containedctx // of the check that goes on behind an open log
	cancel context.CancelFunc
	checks sync.WaitGroup

	// The rest belongs to run.
	file file
	prev string // hash of the last record on disk
	tree tree
	key  key // that signs now
	buf  []byte

	announced Checkpoint // by the key before, which is still in the key file; without a note: none

	poison atomic.Pointer[error] // what keeps it from taking records; nil: nothing
}

// A request is a record on its way to disk.
type request struct {
	record Record
	draft  draft
	err    error
	done   chan struct{}
}

func (q *request) render(profile string) (err error) {
	q.record.Profile, q.record.V = profile, Version
	q.draft, err = q.record.render()
	return err
}

// Append fills in Seq, Time, V, Profile and the hashes, redacts, writes r and
// syncs the file. When it returns nil the record is on disk. Concurrent calls
// share one sync.
//
// Once ctx has ended nothing is written; a record that is already on its way
// is waited for, so that an error of ctx means that there is none.
func (l *Log) Append(ctx context.Context, r Record) (Record, error) {
	q := &request{record: r.redacted(l.cfg.Redactor), done: make(chan struct{})}
	if err := q.render(l.cfg.Profile); err != nil {
		return Record{}, err
	}
	if err := l.enqueue(ctx, q); err != nil {
		return Record{}, fmt.Errorf("append to audit log: %w", err)
	}
	<-q.done
	if q.err != nil {
		return Record{}, fmt.Errorf("append to audit log: %w", q.err)
	}
	return q.record, nil
}

func (l *Log) enqueue(ctx context.Context, q *request) error {
	l.gate.RLock()
	defer l.gate.RUnlock()
	if l.shut {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case l.queue <- q:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run writes what comes, as much at once as has come.
func (l *Log) run() {
	defer close(l.done)
	batch := make([]*request, 0, maxQueue)
	for {
		batch = batch[:0]
		select {
		case q := <-l.queue:
			batch = append(batch, q)
		case <-l.closed:
			// Nothing is put into the queue any more; what is in it goes first.
			select {
			case q := <-l.queue:
				batch = append(batch, q)
			default:
				return
			}
		}
		size := batch[0].draft.size()
	gather:
		for len(batch) < maxQueue && size < maxBatch {
			select {
			case q := <-l.queue:
				batch = append(batch, q)
				size += q.draft.size()
			default:
				break gather
			}
		}
		err := l.commit(batch)
		for _, q := range batch {
			q.err = err
			close(q.done)
		}
	}
}

// Len returns the number of records.
func (l *Log) Len() uint64 {
	n, _ := l.index.len()
	return n
}

// LastSeq returns the number of the newest record. There always is one: record
// 0 is written when the log is made.
func (l *Log) LastSeq() uint64 { return l.Len() - 1 }

// Origin returns the name of the log: datamind.local/<install id>/<profile>.
func (l *Log) Origin() string { return l.id.Origin }

// Key returns the log's first verifier key, the one that record 0 names; those
// after it are in [Report.Epochs] of [Log.Verify].
func (l *Log) Key() string { return l.id.Key }

// Checkpoint returns the newest checkpoint. It covers every record that was
// acknowledged before the call.
func (l *Log) Checkpoint() Checkpoint { return l.index.checkpoint() }

// Continues says whether the log is what a checkpoint of it was about, and what
// came after: otherwise it is a [*TamperError]. Who signed it is not looked at.
func (l *Log) Continues(c Checkpoint) error {
	head := l.Checkpoint()
	switch {
	case c.Origin != head.Origin:
		return &TamperError{What: faultOrigin, Detail: fmt.Sprintf("the checkpoint is of %s, the log is %s", c.Origin, head.Origin)}
	case c.Size > head.Size:
		return &TamperError{Seq: head.Size, What: faultTruncated, Detail: fmt.Sprintf("%d records were sealed, %d are left", c.Size, head.Size)}
	}
	t, err := readTree(c.Size, l)
	if err != nil {
		return fmt.Errorf("read the audit log's tree: %w", err)
	}
	if t.root() != c.Root {
		return &TamperError{What: faultRoot, Detail: fmt.Sprintf("the first %d records are not those that were sealed", c.Size)}
	}
	return nil
}

// ReadHashes implements [golang.org/x/mod/sumdb/tlog.HashReader] over the log's
// tree, for proofs up to the size of [Log.Checkpoint]. The hashes are read from
// a file that anybody may have changed: check what is made of them against the
// checkpoint's root.
func (l *Log) ReadHashes(at []int64) ([]tlog.Hash, error) { return l.hashes.ReadHashes(at) }

// Close writes and seals what is on its way and closes the files.
func (l *Log) Close() error {
	l.gate.Lock()
	if l.shut {
		l.gate.Unlock()
		return nil
	}
	l.shut = true
	l.gate.Unlock()
	l.cancel()
	close(l.closed)
	<-l.done
	l.checks.Wait()
	if err := errors.Join(l.sealer.close(), l.release()); err != nil {
		return fmt.Errorf("close audit log: %w", err)
	}
	return nil
}
