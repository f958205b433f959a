package audit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

const (
	sealEvery = time.Second // between two notes that outlive a loss of power
	keepEvery = time.Hour   // between two notes that are kept
	noteMode  = 0o644
)

// A sealer writes the newest checkpoint beside the log: soon after each batch,
// and each second so that it is durable. It is not on the way of a record, for
// the file need only never be ahead of the log.
type sealer struct {
	dir  string
	disk disk
	head func() Checkpoint
	sync func() error // what the note is worth less without

	woken chan struct{}
	stop  chan struct{}
	done  chan struct{}

	mu     sync.Mutex
	wrote  uint64    // size of the note in the file
	synced uint64    // size of the note that is durable
	kept   time.Time // when the last note was kept
}

func (s *sealer) start() {
	s.woken, s.stop, s.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go s.run()
}

// wake says that there is a newer checkpoint.
func (s *sealer) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

func (s *sealer) run() {
	defer close(s.done)
	var due <-chan time.Time
	for {
		durable := false
		select {
		case <-s.stop:
			return
		case <-s.woken:
			if due == nil {
				due = time.After(sealEvery)
			}
		case <-due:
			due, durable = nil, true
		}
		if err := s.write(durable); err != nil && due == nil {
			due = time.After(sealEvery) // again; the log itself is none the worse
		}
	}
}

// write writes the newest checkpoint where it is not written yet.
func (s *sealer) write(durable bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	head := s.head()
	if head.Size == s.synced || !durable && head.Size == s.wrote {
		return nil
	}
	if durable {
		if err := s.sync(); err != nil {
			return err
		}
	}
	if err := replaceFile(s.disk, s.dir, checkpointName, head.Note, noteMode, durable); err != nil {
		return err
	}
	s.wrote = head.Size
	if !durable {
		return nil
	}
	if err := s.disk.syncDir(s.dir); err != nil {
		return err
	}
	s.synced = head.Size
	return s.keepHourly(head)
}

// keepHourly keeps a note if the last one was kept an hour ago.
func (s *sealer) keepHourly(head Checkpoint) error {
	if s.kept.IsZero() {
		sizes, err := keptSizes(filepath.Join(s.dir, keptDir))
		if err != nil {
			return err
		}
		if len(sizes) > 0 {
			last := strconv.FormatUint(sizes[len(sizes)-1], 10)
			if info, err := os.Stat(filepath.Join(s.dir, keptDir, last)); err == nil {
				s.kept = info.ModTime()
			}
		}
	}
	now := time.Now()
	if now.Sub(s.kept) < keepEvery {
		return nil
	}
	if err := s.put(keptDir, head); err != nil {
		return err
	}
	s.kept = now
	return nil
}

// keep writes a note that stays, in the folder named sub.
func (s *sealer) keep(sub string, c Checkpoint) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(sub, c)
}

func (s *sealer) put(sub string, c Checkpoint) error {
	dir := filepath.Join(s.dir, sub)
	if err := os.Mkdir(dir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return errors.Join(writeFile(s.disk, dir, strconv.FormatUint(c.Size, 10), c.Note, noteMode), s.disk.syncDir(s.dir))
}

// close writes the last checkpoint.
func (s *sealer) close() error {
	if s.stop == nil {
		return nil
	}
	close(s.stop)
	<-s.done
	return s.write(true)
}
