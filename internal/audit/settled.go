package audit

import (
	"errors"
	"io"
	"time"
)

// settled reads the first left bytes of a file that may be growing, and to the
// end of the line that they end in: a writer beside us may be in the middle of
// it. What has not grown on for a while is torn.
type settled struct {
	r      io.Reader
	left   int64
	last   byte
	waited int
}

const (
	settleWait  = 20 * time.Millisecond
	settleTries = 10
)

func (s *settled) Read(p []byte) (int, error) {
	if s.left > 0 {
		n, err := s.r.Read(p[:min(int64(len(p)), s.left)])
		s.left -= int64(n)
		if n > 0 {
			s.last = p[n-1]
		}
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		s.left = 0 // it shrank
		return n, nil
	}
	if s.last == '\n' || s.last == 0 || len(p) == 0 {
		return 0, io.EOF
	}
	n, err := s.r.Read(p[:1])
	if n == 1 {
		s.last = p[0]
		return 1, nil
	}
	if !errors.Is(err, io.EOF) || s.waited == settleTries {
		return 0, err
	}
	s.waited++
	time.Sleep(settleWait)
	return 0, nil
}
