package audit

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func prove(tb testing.TB, f *forest, c Checkpoint, seq uint64) Proof {
	tb.Helper()
	p, err := Prove(tb.Context(), f, c, seq)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// TestProof proves every record of logs of every size up to 20, each in every
// checkpoint that covers it.
func TestProof(t *testing.T) {
	f := planted(t, 20, "a")
	for size := uint64(1); size <= 20; size++ {
		c := f.at(t, size)
		for seq := range size {
			text, err := prove(t, f, c, seq).MarshalText()
			if err != nil {
				t.Fatal(err)
			}
			p, err := ParseProof(text)
			if err != nil {
				t.Fatalf("%d of %d: %v\n%s", seq, size, err, text)
			}
			got, err := p.Check([]string{f.vkey})
			if err != nil || got.Size != size || got.Root != c.Root || !bytes.Equal(p.Line, f.lines[seq]) {
				t.Errorf("%d of %d: %+v, %v", seq, size, got, err)
			}
		}
		if _, err := Prove(t.Context(), f, c, size); !errors.Is(err, ErrNoRecord) {
			t.Errorf("record %d of %d: %v", size, size, err)
		}
	}
}

// TestProofOverKeys proves records with the first key of a log alone.
func TestProofOverKeys(t *testing.T) {
	f := planted(t, 5, "a")
	early := f.at(t, 5)
	for range 3 {
		f.rotate(t)
		f.grow(t, 4, "b")
	}
	thief := f.signer
	for _, c := range []Checkpoint{early, f.at(t, uint64(len(f.lines)))} {
		text, err := prove(t, f, c, 3).MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		p, err := ParseProof(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if _, err := p.Check([]string{f.vkey}); err != nil {
			t.Error(err)
		}
		if back, err := p.MarshalText(); err != nil || !bytes.Equal(back, text) {
			t.Errorf("read and written again: %s, %v", back, err)
		}
		if len(p.Successions) == 0 {
			continue
		}
		p.Successions = p.Successions[1:]
		if _, err := p.Check([]string{f.vkey}); !errors.Is(err, ErrProof) {
			t.Errorf("a key left out: %v", err)
		}
	}
	// Whoever has today's key can't sign for yesterday.
	f.signer = thief
	forged := f.at(t, 5)
	p := prove(t, f, forged, 3)
	p.Successions = f.notes
	if _, err := p.Check([]string{f.vkey}); !errors.Is(err, ErrProof) {
		t.Errorf("yesterday signed with today's key: %v", err)
	}
}

// TestFalseProof changes what a proof says, one thing at a time.
func TestFalseProof(t *testing.T) {
	f, other := planted(t, 9, "a"), planted(t, 9, "b")
	for name, change := range map[string]func(p *Proof){
		"record":        func(p *Proof) { p.Line[20] ^= 1 },
		"other record":  func(p *Proof) { p.Line = f.lines[4] },
		"number":        func(p *Proof) { p.Seq++ },
		"far number":    func(p *Proof) { p.Seq = 1 << 40 },
		"hash":          func(p *Proof) { p.Path[1][7] ^= 1 },
		"hash left out": func(p *Proof) { p.Path = p.Path[1:] },
		"hash more":     func(p *Proof) { p.Path = append(p.Path, tlog.Hash{}) },
		"size":          func(p *Proof) { p.Checkpoint = bytes.Replace(p.Checkpoint, []byte("\n9\n"), []byte("\n8\n"), 1) },
		"other log":     func(p *Proof) { p.Checkpoint = other.at(t, 9).Note },
		"other size":    func(p *Proof) { p.Checkpoint = f.at(t, 8).Note },
		"no signature":  func(p *Proof) { p.Checkpoint = p.Checkpoint[:bytes.IndexRune(p.Checkpoint, '—')] },
	} {
		t.Run(name, func(t *testing.T) {
			p := prove(t, f, f.at(t, 9), 3)
			p.Line = bytes.Clone(p.Line)
			change(&p)
			if c, err := p.Check([]string{f.vkey}); !errors.Is(err, ErrProof) {
				t.Errorf("got %+v, %v", c, err)
			}
		})
	}
	if _, err := prove(t, f, f.at(t, 9), 3).Check([]string{other.vkey}); !errors.Is(err, ErrSignature) {
		t.Errorf("with another's key: %v", err)
	}
}

// TestProofOfForged proves records that were logged, but are not what a writer
// would have logged there.
func TestProofOfForged(t *testing.T) {
	f := planted(t, 3, "a")
	f.add(t, f.lines[1])
	f.add(t, []byte(`{"forged":true}`))
	c := f.at(t, 5)
	for _, seq := range []uint64{3, 4} {
		if _, err := prove(t, f, c, seq).Check([]string{f.vkey}); !errors.Is(err, ErrProof) {
			t.Errorf("record %d: %v", seq, err)
		}
	}
}

// TestProveFromChangedTree proves out of a tree whose hashes or records were
// changed on disk.
func TestProveFromChangedTree(t *testing.T) {
	f := planted(t, 9, "a")
	c := f.at(t, 9)
	f.hashes[tlog.StoredHashIndex(0, 2)][0] ^= 1
	if p, err := Prove(t.Context(), f, c, 3); !errors.Is(err, ErrProof) {
		t.Errorf("changed hash: %+v, %v", p, err)
	}
	f = planted(t, 9, "a")
	c = f.at(t, 9)
	f.lines[3] = bytes.Replace(f.lines[3], []byte(`"a"`), []byte(`"b"`), 1)
	if p, err := Prove(t.Context(), f, c, 3); !errors.Is(err, ErrProof) {
		t.Errorf("changed record: %+v, %v", p, err)
	}
}

func TestConsistency(t *testing.T) {
	f, fork := planted(t, 33, "a"), planted(t, 33, "a")
	fork.lines, fork.hashes = fork.lines[:20], fork.hashes[:tlog.StoredHashCount(20)]
	for range 13 {
		fork.add(t, []byte(`{"forged":true}`))
	}
	for from := range uint64(34) {
		for to := from; to <= 33; to++ {
			proof, err := ProveConsistency(f, from, to)
			if err != nil {
				t.Fatal(err)
			}
			older, newer := f.at(t, from), f.at(t, to)
			if err := CheckConsistency(proof, older, newer); err != nil {
				t.Errorf("%d to %d: %v", from, to, err)
			}
			if from <= 20 {
				continue
			}
			if err := CheckConsistency(proof, fork.at(t, from), newer); !errors.Is(err, ErrInconsistent) {
				t.Errorf("fork of %d to %d: %v", from, to, err)
			}
		}
	}
	if _, err := ProveConsistency(f, 5, 4); err == nil {
		t.Error("5 is the beginning of 4")
	}
	if err := CheckConsistency(nil, f.at(t, 5), f.at(t, 4)); !errors.Is(err, ErrInconsistent) {
		t.Error("5 is checked to be the beginning of 4")
	}
	elsewhere := f.at(t, 5)
	elsewhere.Origin += "2"
	if err := CheckConsistency(nil, f.at(t, 5), elsewhere); !errors.Is(err, ErrInconsistent) {
		t.Error("two logs are one")
	}
}

func TestParseCheckpoint(t *testing.T) {
	f := planted(t, 3, "a")
	c := f.at(t, 3)
	if got, err := OpenCheckpoint(c.Note, f.vkey); err != nil || got.text() != c.text() {
		t.Errorf("got %+v, %v", got, err)
	}
	sign := func(text string) string {
		msg, err := note.Sign(&note.Note{Text: text}, f.signer)
		if err != nil {
			t.Fatal(err)
		}
		return string(msg)
	}
	root := c.Root.String()
	for name, file := range map[string]string{
		"empty":             "",
		"not a note":        "hello\n",
		"no root":           sign(testOrigin + "\n3\n"),
		"extension":         sign(testOrigin + "\n3\n" + root + "\nmore\n"),
		"no origin":         sign("\n3\n" + root + "\n"),
		"leading zero":      sign(testOrigin + "\n03\n" + root + "\n"),
		"sign":              sign(testOrigin + "\n+3\n" + root + "\n"),
		"negative":          sign(testOrigin + "\n-3\n" + root + "\n"),
		"huge":              sign(testOrigin + "\n9223372036854775807\n" + root + "\n"),
		"short root":        sign(testOrigin + "\n3\nAAAA\n"),
		"stray bits":        sign(testOrigin + "\n3\n" + strings.Repeat("A", 42) + "B=\n"),
		"control character": strings.Replace(sign(testOrigin+"\n3\n"+root+"\n"), "\n3", "\r\n3", 1),
		"long":              sign(strings.Repeat("x", MaxNote) + "\n3\n" + root + "\n"),
	} {
		if c, err := ParseCheckpoint([]byte(file)); !errors.Is(err, ErrNote) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	other := planted(t, 3, "a")
	twice := append(bytes.Clone(c.Note), other.at(t, 3).Note[bytes.IndexRune(other.at(t, 3).Note, '—'):]...)
	if _, err := OpenCheckpoint(twice, f.vkey); err != nil {
		t.Errorf("a signature of someone else beside the log's: %v", err)
	}
	if _, err := OpenCheckpoint([]byte(sign("datamind.local/test/b\n3\n"+root+"\n")), f.vkey); !errors.Is(err, ErrSignature) {
		t.Errorf("one log signs for another: %v", err)
	}
}

func FuzzParseProof(f *testing.F) {
	l := planted(f, 9, "a")
	text, err := prove(f, l, l.at(f, 9), 3).MarshalText()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	l.rotate(f)
	if text, err = prove(f, l, l.at(f, 10), 3).MarshalText(); err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(proofHeader + "\nextra QQ==\nindex 0\n\nx\n1\nAAAA\n\n— x AAAAAAAA\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		p, err := ParseProof(file)
		if err != nil {
			return
		}
		back, err := p.MarshalText()
		if err != nil || !bytes.Equal(back, file) {
			t.Errorf("%q is written as %q, %v", file, back, err)
		}
		if c, err := p.Check([]string{l.vkey}); err == nil && !bytes.Equal(p.Line, l.lines[p.Seq]) {
			t.Errorf("a false proof passes: %q in %+v", p.Line, c)
		}
	})
}

func FuzzParseCheckpoint(f *testing.F) {
	l := planted(f, 9, "a")
	f.Add(l.at(f, 9).Note)
	f.Add([]byte("a\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n— a AAAAAAAA\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		c, err := ParseCheckpoint(file)
		if err != nil {
			return
		}
		if !bytes.HasPrefix(file, []byte(c.text()+"\n")) {
			t.Errorf("%q is read as %q", file, c.text())
		}
	})
}

// BenchmarkProof measures what proofs cost at a million records, beside a
// hash reader that costs nothing.
func BenchmarkProof(b *testing.B) {
	const size = 1_000_000
	f := &forest{hashes: make([]tlog.Hash, 0, tlog.StoredHashCount(size))}
	for i := range int64(size) {
		more, err := tlog.StoredHashesForRecordHash(i, tlog.RecordHash([]byte{byte(i), byte(i >> 8), byte(i >> 16)}), f)
		if err != nil {
			b.Fatal(err)
		}
		f.hashes = append(f.hashes, more...)
	}
	root, err := tlog.TreeHash(size, f)
	if err != nil {
		b.Fatal(err)
	}
	c := Checkpoint{Size: size, Root: root}
	b.Run("inclusion", func(b *testing.B) {
		for i := int64(0); b.Loop(); i = (i + 7919) % size {
			path, err := tlog.ProveRecord(size, i, f)
			if err != nil {
				b.Fatal(err)
			}
			p := Proof{Seq: uint64(i), Line: []byte{byte(i), byte(i >> 8), byte(i >> 16)}, Path: path}
			if err := p.leadsTo(c); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("consistency", func(b *testing.B) {
		older := Checkpoint{Size: 654_321}
		if older.Root, err = tlog.TreeHash(int64(older.Size), f); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			proof, err := ProveConsistency(f, older.Size, size)
			if err != nil {
				b.Fatal(err)
			}
			if err := CheckConsistency(proof, older, c); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tile", func(b *testing.B) {
		for b.Loop() {
			if _, err := ReadTile(b.Context(), f, size, "0/x001/234"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
