package audit

import (
	"bufio"
	"errors"
	"io"
)

// lines reads the lines of a log. Memory stays bounded, whatever it reads.
type lines struct {
	r    *bufio.Reader
	read int64 // bytes, over all lines so far
}

func newLines(r io.Reader) *lines {
	return &lines{r: bufio.NewReaderSize(r, 1<<18)}
}

// next returns the next line without its LF, valid until the next call; nil
// and no error where the line is longer than a record can be. At the end it
// returns io.EOF, with what stands behind the last LF.
func (l *lines) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	l.read += int64(len(line))
	switch {
	case err == nil && len(line) <= maxLine+1:
		return line[:len(line)-1], nil
	case err == nil:
		return nil, nil
	case !errors.Is(err, bufio.ErrBufferFull):
		return line, err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.r.ReadSlice('\n')
		l.read += int64(len(line))
	}
	if errors.Is(err, io.EOF) {
		return line, err
	}
	return nil, err
}
