package audit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A slowFile waits in each sync until it may go on.
type slowFile struct {
	file
	waiting, goOn chan struct{}
}

func (f *slowFile) Datasync() error {
	f.waiting <- struct{}{}
	<-f.goOn
	return f.file.Datasync()
}

// TestCancelledWhileWriting: a record that is on its way is waited for, so
// that nobody takes for unwritten what is written.
func TestCancelledWhileWriting(t *testing.T) {
	f := &slowFile{waiting: make(chan struct{}), goOn: make(chan struct{})}
	cfg := config(t)
	cfg.disk = wrapped{func(w file) file { f.file = w; return f }}
	go func() { <-f.waiting; f.goOn <- struct{}{} }() // record 0
	l := mustOpen(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := l.Append(ctx, intent(1))
		done <- err
	}()
	<-f.waiting
	cancel()
	select {
	case err := <-done:
		t.Fatalf("append returned before the sync: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	f.goOn <- struct{}{}
	if err := <-done; err != nil || l.Len() != 2 {
		t.Errorf("append: %v, %d records", err, l.Len())
	}
}

func TestFullQueue(t *testing.T) {
	l := &Log{queue: make(chan *request)} // nobody takes anything out
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := l.enqueue(ctx, &request{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("enqueue: %v", err)
	}
}

// TestCloseWhileAppending: every caller hears the truth, and none waits for
// ever.
func TestCloseWhileAppending(t *testing.T) {
	cfg := config(t)
	l := mustOpen(t, cfg)
	var good atomic.Uint64
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for {
				_, err := l.Append(context.Background(), intent(w))
				if errors.Is(err, ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				good.Add(1)
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	rep, err := VerifyDir(t.Context(), cfg.Dir, VerifyOptions{})
	if err != nil || !rep.OK() || rep.Records != good.Load()+1 {
		t.Errorf("%d records, %d acknowledged: %+v, %v", rep.Records, good.Load()+1, rep, err)
	}
}

// TestVerifyBesideAWriter: who only reads never calls a line torn that is
// being written.
func TestVerifyBesideAWriter(t *testing.T) {
	cfg := config(t)
	l := mustOpen(t, cfg)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := l.Append(context.Background(), intent(w)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var last uint64
	for range 30 {
		rep, err := VerifyDir(t.Context(), cfg.Dir, VerifyOptions{})
		if err != nil || !rep.OK() || rep.Records < last {
			t.Errorf("verify: %+v, %v", rep, err)
			break
		}
		last = rep.Records
	}
	close(stop)
	wg.Wait()
}
