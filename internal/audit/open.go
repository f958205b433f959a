package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// Config names a log.
type Config struct {
	Dir      string    // storage/<profile>
	KeyDir   string    // outside Dir
	Profile  string    // without blanks, + and /
	Redactor *Redactor // nil: one that leaves personal data

	// SegmentBytes is the size of a file of the log from which on the next
	// record begins another. 0: 64 MiB.
	SegmentBytes int64

	disk  disk             // nil: realDisk
	now   func() time.Time // nil: time.Now
	whole int64            // bytes of a log up to which a start checks it whole; 0: wholeCheck
}

// wholeCheck is how much is checked while a start waits: what takes about as
// long as reading a folder.
const wholeCheck = 16 << 20

// mendBytes is how much of a derived file is compared at a time.
const mendBytes = 1 << 16

// Open opens the log in cfg.Dir, creates it with its key where there is none,
// and checks it: a short one whole, a long one from its last checkpoint on,
// which proves what it was, and the rest of it behind the open log; see
// [Log.Err]. A tail that a crash has torn is set aside in
// audit.torn.<seq> and a [LogRecovered] record says so. Anything else that is
// wrong is a [*TamperError], and nothing can be appended. A process that finds
// the log open in another gets [ErrLocked].
func Open(ctx context.Context, cfg Config) (_ *Log, err error) {
	if cfg.Profile == "" || strings.ContainsAny(cfg.Profile, "+/\\ \t\n") {
		return nil, fmt.Errorf("open audit log: bad profile %q", cfg.Profile)
	}
	if cfg.Redactor == nil {
		if cfg.Redactor, err = NewRedactor(false); err != nil {
			return nil, err
		}
	}
	if cfg.disk == nil {
		cfg.disk = realDisk{}
	}
	if cfg.now == nil {
		cfg.now = time.Now
	}
	if cfg.SegmentBytes <= 0 {
		cfg.SegmentBytes = defaultSegment
	}
	if cfg.whole == 0 {
		cfg.whole = wholeCheck
	}
	l, err := open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open audit log: %w", err)
	}
	return l, nil
}

func open(ctx context.Context, cfg Config) (*Log, error) {
	if err := os.MkdirAll(cfg.Dir, dirMode); err != nil {
		return nil, err
	}
	held, err := lock(cfg.Dir)
	if err != nil {
		return nil, err
	}
	l := &Log{cfg: cfg, lock: held, queue: make(chan *request, maxQueue), closed: make(chan struct{}), done: make(chan struct{})}
	l.watch, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.sealer = sealer{dir: cfg.Dir, disk: cfg.disk, head: l.Checkpoint, sync: l.syncDerived}
	found, err := l.load(ctx)
	if err == nil {
		err = l.begin(found.recovered)
	}
	if err != nil {
		l.cancel()
		return nil, errors.Join(err, l.release())
	}
	l.sealer.start()
	l.sealer.wake()
	if found.unread {
		l.checks.Go(l.recheck)
	}
	go l.run()
	return l, nil
}

// release closes the files and lets the next process have the log.
func (l *Log) release() error {
	var errs []error
	for _, d := range []*derived{l.hashes, l.ends} {
		if d != nil {
			errs = append(errs, d.close())
		}
	}
	if l.file != nil {
		errs = append(errs, l.file.Close())
	}
	return errors.Join(append(errs, unlockFile(l.lock))...)
}

// syncDerived makes durable what the next start works with.
func (l *Log) syncDerived() error { return errors.Join(l.hashes.f.Datasync(), l.ends.f.Datasync()) }

// recheck reads what the start has not read, and stops the log where it is not
// what was sealed. Where audit.hashes does not say what the records do, it is
// put right.
func (l *Log) recheck() {
	var at int64
	var nodes []byte
	mend := func() error {
		_, err := l.hashes.mend(at, nodes)
		at, nodes = at+int64(len(nodes)), nodes[:0]
		return err
	}
	var failed error
	rep, err := l.verify(l.watch, VerifyOptions{Workers: 1, line: func(_ uint64, _ facts, more []tlog.Hash) {
		for i := range more {
			nodes = append(nodes, more[i][:]...)
		}
		if len(nodes) > mendBytes && failed == nil {
			failed = mend()
		}
	}})
	switch {
	case err != nil:
		return // it was closed, or can't be read, which the next record will show
	case !rep.OK():
		_ = l.poisoned(&rep.Faults[0])
	case failed == nil:
		_ = mend() // what is wrong in it makes proofs that fail, and no more
	}
}

// begin writes record 0 of a new log, and what was mended.
func (l *Log) begin(recovered string) error {
	var batch []*request
	if records, _ := l.index.len(); records == 0 {
		args, err := json.Marshal(l.id) // in canonical order as it is
		if err != nil {
			return err
		}
		batch = append(batch, &request{record: Record{Actor: actorSystem, Args: args, Kind: LogCreated}})
	}
	if recovered != "" {
		batch = append(batch, &request{record: Record{Actor: actorSystem, Kind: LogRecovered, Reason: recovered}})
	}
	if len(batch) == 0 {
		return nil
	}
	for _, q := range batch {
		if err := q.render(l.cfg.Profile); err != nil {
			return err
		}
	}
	return l.commit(batch)
}
