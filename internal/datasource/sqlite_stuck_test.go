package datasource

import (
	"errors"
	"testing"
	"time"
)

// TestStuckFunction holds that a function that the engine can't interrupt keeps
// nobody waiting: neither who asked for it nor, however many there are, others.
func TestStuckFunction(t *testing.T) {
	s := open(t, company)
	const slow = "SELECT instr(zeroblob(700000), CAST(zeroblob(350000) || x'01' AS BLOB))"
	stuck := make(chan error)
	begin := time.Now()
	for range readers + 1 {
		go func() {
			_, err := s.Query(t.Context(), reads(slow), Options{Timeout: 50 * time.Millisecond})
			stuck <- err
		}()
	}
	for range readers + 1 {
		if err := <-stuck; !errors.Is(err, ErrTimeout) {
			t.Errorf("got %v, want ErrTimeout", err)
		}
	}
	if took := time.Since(begin); took > 10*stuckAfter {
		t.Errorf("the callers waited for %s", took)
	}
	if got := readInt(t, s, "SELECT 1"); got != 1 {
		t.Errorf("the next read got %d", got)
	}
}
