package datasource

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImagesRoundTrip(t *testing.T) {
	im := Images{Tables: []TableImage{{
		Table: `a "b" 表`, Cascade: true, Shape: "x", Columns: []string{"rowid", "c"}, Key: []int{0},
		Rows: []RowImage{
			{[]any{int64(math.MinInt64), nil}, []any{int64(math.MaxInt64), ""}},
			{nil, []any{math.Inf(-1), []byte{}}},
			{[]any{math.Copysign(0, -1), "\xff\x00'"}, nil},
		},
	}, {Table: "none", Columns: []string{"x"}, Key: []int{0}}}}
	data, err := im.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back Images
	if err := back.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(im, back); diff != "" {
		t.Error(diff)
	}
	if equalRows([]any{math.Copysign(0, -1)}, []any{0.0}) || equalRows([]any{"x"}, []any{[]byte("x")}) || equalRows(nil, []any{}) {
		t.Error("different values are the same")
	}
	for n := range data {
		if err := new(Images).UnmarshalBinary(data[:n]); !errors.Is(err, errImages) {
			t.Errorf("cut after %d bytes: %v", n, err)
		}
	}
}

// FuzzImages reads anything: what it takes writes back as the same.
func FuzzImages(f *testing.F) {
	im := Images{Tables: []TableImage{{Table: "t", Columns: []string{"a", "b"}, Key: []int{1}, Rows: []RowImage{{[]any{int64(1), "x"}, nil}}}}}
	if data, err := im.MarshalBinary(); err == nil {
		f.Add(data)
	}
	f.Add([]byte(imagesMagic + "\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var one, two Images
		if one.UnmarshalBinary(data) != nil {
			return
		}
		written, err := one.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := two.UnmarshalBinary(written); err != nil {
			t.Fatalf("%q: %v", written, err)
		}
		if again, err := two.MarshalBinary(); err != nil || !bytes.Equal(again, written) {
			t.Errorf("%q is written as %q", written, again)
		}
	})
}
