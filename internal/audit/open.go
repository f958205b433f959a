package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Config names a log.
type Config struct {
	Dir      string    // storage/<profile>
	KeyDir   string    // outside Dir
	Profile  string    // without blanks, + and /
	Redactor *Redactor // nil: one that leaves personal data

	open func(name string) (file, error) // nil: openDisk
	now  func() time.Time                // nil: time.Now
}

// Open opens the log in cfg.Dir, creates it with its key where there is none,
// and checks it whole. A tail that a crash has torn is set aside in
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
	if cfg.open == nil {
		cfg.open = openDisk
	}
	if cfg.now == nil {
		cfg.now = time.Now
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
	recovered, err := l.load(ctx)
	if err == nil {
		err = l.begin(recovered)
	}
	if err != nil {
		return nil, errors.Join(err, l.release())
	}
	go l.run()
	return l, nil
}

// release closes the files and lets the next process have the log.
func (l *Log) release() (err error) {
	if l.file != nil {
		err = l.file.Close()
	}
	return errors.Join(err, l.lock.Close())
}

// load reads the log, checks it, and opens it for appending. It returns what
// mending it has to tell.
func (l *Log) load(ctx context.Context) (recovered string, err error) {
	name := filepath.Join(l.cfg.Dir, fileName)
	f, err := os.Open(name) //nolint:gosec // G304: the folder is the operator's to name
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var torn int64
	var c chain
	if err == nil {
		torn, err = l.check(ctx, f, &c)
		if err := errors.Join(err, f.Close()); err != nil {
			return "", err
		}
	}
	if l.id, err = ensureKey(l.cfg.KeyDir, l.cfg.Profile, c.records == 0); err != nil {
		return "", err
	}
	if c.records > 0 && c.report.Key != l.id.vkey {
		return "", &TamperError{What: faultKey, Detail: fmt.Sprintf("record 0 names the key %s, %s holds %s", c.report.Key, keyFile, l.id.vkey)}
	}
	if torn > 0 {
		if recovered, err = l.quarantine(name, torn); err != nil {
			return "", err
		}
	}
	if l.file, err = l.cfg.open(name); err != nil {
		return "", err
	}
	return recovered, syncDir(l.cfg.Dir)
}

// check follows the log in f into c and l.index, and returns the number of
// torn bytes behind the last sound record.
func (l *Log) check(ctx context.Context, f *os.File, c *chain) (torn int64, err error) {
	in := newLines(f)
	for {
		if c.records%progressEvery == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			l.prev = string(c.prev)
			return int64(len(line)), l.ours(c)
		}
		if err != nil {
			return 0, err
		}
		if !c.line(line) {
			if torn, err = zeroTail(f, l.index.end); torn > 0 || err != nil {
				l.prev = string(c.prev)
				return torn, errors.Join(err, l.ours(c))
			}
			return 0, &c.report.Faults[0]
		}
		l.index.add(len(line) + 1)
	}
}

// ours says whether record 0 is of this profile.
func (l *Log) ours(c *chain) error {
	if want := strconv.Quote(l.cfg.Profile); c.records > 0 && string(c.first) != want {
		return &TamperError{What: faultOrigin, Detail: fmt.Sprintf("the log is of profile %s, not %s", c.first, want)}
	}
	return nil
}

// zeroTail returns the number of bytes behind from if all of them are zero or
// line ends, otherwise 0. That is what a file system may leave of a write that
// it had made room for when the power went.
func zeroTail(f *os.File, from int64) (int64, error) {
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return 0, err
	}
	buf, size, zeros := make([]byte, 1<<16), int64(0), false
	for {
		n, err := f.Read(buf)
		zeros = zeros || bytes.IndexByte(buf[:n], 0) >= 0
		if len(bytes.Trim(buf[:n], "\x00\n")) > 0 {
			return 0, nil
		}
		size += int64(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	if !zeros {
		return 0, nil
	}
	return size, nil
}

// quarantine moves the last torn bytes of the log out of it, and returns what
// to say about it.
func (l *Log) quarantine(name string, torn int64) (string, error) {
	records, size := l.index.len()
	f, err := os.OpenFile(name, os.O_RDWR, fileMode) //nolint:gosec // G302, G304: as openDisk
	if err != nil {
		return "", err
	}
	aside := filepath.Join(l.cfg.Dir, tornName+strconv.FormatUint(records, 10))
	out, err := os.OpenFile(aside, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode) //nolint:gosec // G302, G304: as openDisk
	if err != nil {
		return "", errors.Join(err, f.Close())
	}
	_, err = io.Copy(out, io.NewSectionReader(f, size, torn))
	err = errors.Join(err, out.Sync(), out.Close())
	if err == nil {
		err = errors.Join(syncDir(l.cfg.Dir), f.Truncate(size), f.Sync())
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("set torn bytes aside: %w", err)
	}
	return fmt.Sprintf("%d torn bytes at offset %d set aside in %s", torn, size, filepath.Base(aside)), nil
}

// begin writes record 0 of a new log, and what was mended.
func (l *Log) begin(recovered string) error {
	var batch []*request
	if records, _ := l.index.len(); records == 0 {
		args, err := json.Marshal(newBirth(l.id)) // in canonical order as it is
		if err != nil {
			return err
		}
		batch = append(batch, &request{record: Record{Actor: "system", Args: args, Kind: LogCreated}})
	}
	if recovered != "" {
		batch = append(batch, &request{record: Record{Actor: "system", Kind: LogRecovered, Reason: recovered}})
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
