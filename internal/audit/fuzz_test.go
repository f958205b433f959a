package audit

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// FuzzFolder fills a log's folder with bytes. Whatever they are, verify says
// something about them, and a log that it calls sound can be read.
func FuzzFolder(f *testing.F) {
	cfg, list := notes(f, 12)
	sealed, err := os.ReadFile(filepath.Join(cfg.Dir, sealedName(0)))
	if err != nil {
		f.Fatal(err)
	}
	active, err := os.ReadFile(filepath.Join(cfg.Dir, fileName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed, active, list[12].Note, list[3].Note, uint64(5))
	f.Add(sealed, []byte{}, list[3].Note, []byte{}, uint64(0))
	f.Add([]byte{}, sealed, []byte("x\n"), list[12].Note, uint64(1))
	f.Add(sealed, sealed[:100], make([]byte, 100), []byte("a\n1\nb\n\n— a x\n"), uint64(1<<40))
	f.Fuzz(func(t *testing.T, sealed, active, note, saved []byte, first uint64) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{"audit-000000000000.jsonl": sealed, sealedName(first % 1e9): active, fileName: active, checkpointName: note} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		v, err := OpenView(context.Background(), dir, VerifyOptions{Checkpoints: []Saved{{"saved", saved}}, Lint: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = v.Close() }()
		rep := v.Report()
		if rep.OK() != (rep.ExitCode() == ExitSound) || rep.Records != v.Len() || rep.Unsealed > rep.Records {
			t.Fatalf("%+v", rep)
		}
		if !rep.OK() {
			return
		}
		for _, err := range v.Lines(context.Background(), 0, v.Len()) {
			if err != nil {
				return // it was changed meanwhile, or is no log
			}
		}
	})
}
