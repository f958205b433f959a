package audit

import (
	"errors"
	"fmt"
	"testing"
)

// segmented makes a log of n records in several files, which it leaves open.
func segmented(tb testing.TB, n int) (Config, *Log) {
	tb.Helper()
	cfg := config(tb)
	cfg.SegmentBytes = 2000
	l := mustOpen(tb, cfg)
	for i := 1; i < n; i++ {
		mustAppend(tb, l, intent(i))
	}
	if len(l.index.segments) < 3 {
		tb.Fatalf("%d segments", len(l.index.segments))
	}
	return cfg, l
}

// TestView reads a log beside the one that has it open, and finds the same.
func TestView(t *testing.T) {
	cfg, l := segmented(t, 30)
	v, err := OpenView(t.Context(), cfg.Dir, VerifyOptions{Keys: []string{l.Key()}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	head := l.Checkpoint()
	if rep := v.Report(); !rep.OK() || v.Len() != 30 || rep.Records != 30 || rep.Root != head.Root || head.Size != 30 {
		t.Fatalf("view: %+v; checkpoint: %+v", v.Report(), head)
	}
	if _, err := v.Report().Epochs.Open(head.Note); err != nil {
		t.Errorf("checkpoint: %v", err)
	}
	for seq := range uint64(30) {
		a, err := l.RawRecord(t.Context(), seq)
		b, err2 := v.RawRecord(t.Context(), seq)
		if err := errors.Join(err, err2); err != nil || string(a) != string(b) {
			t.Errorf("record %d: %s and %s, %v", seq, a, b, err)
		}
		for _, tree := range []Tree{l, v} {
			p, err := Prove(t.Context(), tree, head, seq)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Check([]string{l.Key()}); err != nil {
				t.Errorf("proof of record %d: %v", seq, err)
			}
		}
	}
	if _, err := v.RawRecord(t.Context(), 30); !errors.Is(err, ErrNoRecord) {
		t.Errorf("record 30: %v", err)
	}
	var got []string
	for line, err := range v.Lines(t.Context(), 5, 99) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(line))
	}
	if len(got) != 25 {
		t.Errorf("%d lines from 5 on", len(got))
	}
	mustAppend(t, l, intent(30))
	if v.Len() != 30 {
		t.Error("the view has grown")
	}
}

// TestRecordsOverSegments reads backwards over the files' ends.
func TestRecordsOverSegments(t *testing.T) {
	_, l := segmented(t, 30)
	var seqs []uint64
	for s := l.Len(); s > 0; s-- {
		seqs = append(seqs, s-1)
	}
	want := uint64(30)
	for line, err := range l.Lines(t.Context(), seqs) {
		want--
		r, bad := Decode(want, line)
		if err = errors.Join(err, bad); err != nil || r.Seq != want {
			t.Fatalf("record %d where %d follows: %v", r.Seq, want, err)
		}
		if r.Seq > 0 && r.Call != fmt.Sprintf("call_%d", r.Seq) {
			t.Errorf("record %d is of %s", r.Seq, r.Call)
		}
	}
	if want != 0 {
		t.Errorf("ended before record %d", want)
	}
	if rep, err := l.Verify(t.Context()); err != nil || !rep.OK() || rep.Unsealed != 0 || rep.Checkpoint == nil {
		t.Errorf("verify: %+v, %v", rep, err)
	}
}
