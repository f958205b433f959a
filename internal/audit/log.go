package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
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
	id   identity
	lock *os.File

	gate   sync.RWMutex // held for reading while a request is put into queue
	shut   bool
	queue  chan *request
	closed chan struct{} // no more requests come
	done   chan struct{} // run has returned

	index index

	// The rest belongs to run.
	file file
	prev string // hash of the last record on disk
	buf  []byte

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

// commit writes and syncs a batch. If it fails, the chain goes on from where
// it was, as if the batch had never been.
func (l *Log) commit(batch []*request) error {
	if err := l.Err(); err != nil {
		return err
	}
	seq, size := l.index.len()
	if err := l.untouched(size); err != nil {
		return l.poisoned(err)
	}
	prev := l.prev
	ts := l.cfg.now().UTC().Format(TimeFormat)
	l.buf = l.buf[:0]
	sizes := make([]int, len(batch))
	for i, q := range batch {
		from := len(l.buf)
		l.buf, q.record.Hash = q.draft.appendLine(l.buf, prev, seq, ts)
		sizes[i] = len(l.buf) - from
		q.record.Seq, q.record.Time = seq, ts
		if prev != "" {
			was := prev
			q.record.PrevHash = &was
		}
		prev = q.record.Hash
		seq++
	}
	if err := l.write(size); err != nil {
		return err
	}
	l.prev = prev
	l.index.add(sizes...)
	if cap(l.buf) > maxBatch {
		l.buf = nil // one burst is no reason to keep so much
	}
	return nil
}

// poisoned notes that the log takes no more records because of err.
func (l *Log) poisoned(err error) error {
	l.poison.Store(&err)
	return err
}

// Err returns what keeps the log from taking records until it is opened anew,
// [ErrForeign] or [ErrPoisoned], or nil.
func (l *Log) Err() error {
	if p := l.poison.Load(); p != nil {
		return *p
	}
	return nil
}

// untouched says whether the file is the one that we know and as long as we
// left it.
func (l *Log) untouched(size int64) error {
	at, err := os.Stat(filepath.Join(l.cfg.Dir, fileName))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrForeign, err)
	}
	ours, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPoisoned, err)
	}
	switch {
	case !os.SameFile(at, ours):
		return fmt.Errorf("%w: it was replaced", ErrForeign)
	case at.Size() != size:
		return fmt.Errorf("%w: it has %d bytes, not %d", ErrForeign, at.Size(), size)
	}
	return nil
}

// write appends l.buf to the file, which is size bytes long, and syncs it.
func (l *Log) write(size int64) error {
	n, err := l.file.Write(l.buf)
	if err == nil && n < len(l.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		if undo := l.file.Truncate(size); undo != nil {
			return l.poisoned(fmt.Errorf("%w: %w, and then: %w", ErrPoisoned, err, undo))
		}
		return err
	}
	if err := l.file.Datasync(); err != nil {
		// The kernel may have dropped the pages and call the next sync good.
		return l.poisoned(fmt.Errorf("%w: %w", ErrPoisoned, err))
	}
	return nil
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
func (l *Log) Origin() string { return l.id.origin }

// Key returns the log's verifier key.
func (l *Log) Key() string { return l.id.vkey }

// Verify reads all records that were there when it was called, and checks the
// file that is at the log's place now against the log's own key.
func (l *Log) Verify(ctx context.Context) (Report, error) { return l.VerifyWatched(ctx, nil) }

// VerifyWatched is Verify for someone who waits: progress is called now and
// then with the number of records read, out of [Log.Len].
func (l *Log) VerifyWatched(ctx context.Context, progress func(records uint64)) (rep Report, err error) {
	start := time.Now()
	records, size := l.index.len()
	f, err := os.Open(filepath.Join(l.cfg.Dir, fileName))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			rep.Missing = true
			rep.add(0, faultMissing, "the file is gone")
			rep.Took = time.Since(start)
			return rep, nil
		}
		return rep, fmt.Errorf("verify audit log: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in := io.NewSectionReader(f, 0, size)
	rep, err = Verify(ctx, []io.Reader{in}, VerifyOptions{Keys: []string{l.id.vkey}, Progress: progress})
	if err == nil && rep.OK() && rep.Records < records {
		rep.Missing = true
		rep.add(rep.Records, faultMissing, fmt.Sprintf("%d records were written, %d are left", records, rep.Records))
	}
	return rep, err
}

// Close writes what is on its way and closes the file.
func (l *Log) Close() error {
	l.gate.Lock()
	if l.shut {
		l.gate.Unlock()
		return nil
	}
	l.shut = true
	l.gate.Unlock()
	close(l.closed)
	<-l.done
	if err := l.release(); err != nil {
		return fmt.Errorf("close audit log: %w", err)
	}
	return nil
}
