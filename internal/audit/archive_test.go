package audit

import (
	"archive/tar"
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// archived returns an archive of a log of n records.
func archived(tb testing.TB, cfg Config, o ArchiveOptions) []byte {
	tb.Helper()
	v, err := OpenView(tb.Context(), cfg.Dir, VerifyOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	var b bytes.Buffer
	if err := WriteArchive(tb.Context(), &b, v, o); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// TestArchive verifies archives of every part of a log.
func TestArchive(t *testing.T) {
	const n = 11
	cfg, file := written(t, n)
	lines := readLines(t, file)
	l := mustOpen(t, cfg)
	key := l.Key()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for from := range uint64(n) {
		for to := from + 1; to <= n; to++ {
			a := archived(t, cfg, ArchiveOptions{From: from, To: to})
			rep, err := VerifyArchive(t.Context(), bytes.NewReader(a), []string{key})
			if err != nil || !rep.OK() || rep.Records != to-from || rep.Checkpoint == nil || rep.Checkpoint.Size != n {
				t.Errorf("%d to %d: %+v, %v", from, to, rep, err)
			}
			if !bytes.Contains(a, []byte(strings.Join(lines[from:to], "\n")+"\n")) {
				t.Errorf("%d to %d: the lines are others", from, to)
			}
		}
	}
	whole := archived(t, cfg, ArchiveOptions{Table: func(_ uint64, line []byte) ([]byte, error) { return append(line[:min(len(line), 5)], '\n'), nil }})
	if rep, err := VerifyArchive(t.Context(), bytes.NewReader(whole), nil); err != nil || !rep.OK() || rep.Records != n {
		t.Errorf("with its own key: %+v, %v", rep, err)
	}
	_, other := written(t, 1)
	otherKey := readLines(t, other)[0]
	_, otherKey, _ = strings.Cut(otherKey, `"vkey":"`)
	otherKey, _, _ = strings.Cut(otherKey, `"`)
	part := archived(t, cfg, ArchiveOptions{From: 3, To: 9})
	for name, c := range map[string]struct {
		file []byte
		keys []string
		want string
	}{
		"record changed":    {bytes.Replace(part, []byte("id = 5"), []byte("id = 6"), 1), []string{key}, faultHash},
		"other key":         {part, []string{otherKey}, faultSignature},
		"node changed":      {bytes.Replace(part, []byte(`"left": [`+"\n"+`    "`), []byte(`"left": [`+"\n"+`    "A`), 1)[:len(part)], []string{key}, ""},
		"moved":             {bytes.Replace(part, []byte(`"from": 3`), []byte(`"from": 2`), 1), []string{key}, faultSeq},
		"checkpoint edited": {bytes.Replace(part, []byte("\n11\n"), []byte("\n12\n"), 1), []string{key}, faultSignature},
	} {
		rep, err := VerifyArchive(t.Context(), bytes.NewReader(c.file), c.keys)
		if c.want == "" && (err != nil || !rep.OK()) {
			continue
		}
		if err != nil || !slices.ContainsFunc(rep.Faults, func(f TamperError) bool { return f.What == c.want }) {
			t.Errorf("%s: %+v, %v", name, rep.Faults, err)
		}
	}
	if _, err := VerifyArchive(t.Context(), strings.NewReader("hello"), nil); !errors.Is(err, ErrArchive) {
		t.Errorf("no archive: %v", err)
	}
}

// TestArchiveSmuggled: whoever unpacks an archive that verifies finds in it what
// was verified, and nothing else.
func TestArchiveSmuggled(t *testing.T) {
	cfg, _ := written(t, 3)
	genuine := archived(t, cfg, ArchiveOptions{Table: func(uint64, []byte) ([]byte, error) { return []byte("x\n"), nil }})
	if rep, err := VerifyArchive(t.Context(), bytes.NewReader(genuine), nil); err != nil || !rep.OK() {
		t.Fatalf("genuine: %+v, %v", rep, err)
	}
	with := func(h tar.Header) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := errors.Join(w.WriteHeader(&h), w.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	const trailer = 1024 // ends a tar file
	join := func(a, b []byte) []byte { return slices.Concat(a[:len(a)-trailer], b) }
	for name, file := range map[string][]byte{
		"records twice":   join(genuine, with(tar.Header{Name: archiveRecords})),
		"key behind":      join(genuine, with(tar.Header{Name: archiveKey})),
		"key twice":       join(with(tar.Header{Name: archiveKey}), genuine),
		"link first":      join(with(tar.Header{Name: archiveDir, Typeflag: tar.TypeSymlink, Linkname: "/etc"}), genuine),
		"link as records": join(with(tar.Header{Name: archiveRecords, Typeflag: tar.TypeLink, Linkname: "x"}), genuine),
	} {
		if rep, err := VerifyArchive(t.Context(), bytes.NewReader(file), nil); !errors.Is(err, ErrArchive) {
			t.Errorf("%s: %+v, %v", name, rep, err)
		}
	}
}

func FuzzArchive(f *testing.F) {
	cfg, _ := written(f, 6)
	f.Add(archived(f, cfg, ArchiveOptions{From: 2, To: 4}))
	f.Fuzz(func(t *testing.T, file []byte) {
		_, _ = VerifyArchive(t.Context(), bytes.NewReader(file), nil)
	})
}
