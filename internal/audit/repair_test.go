package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRepairTail puts an end to a log that no writer has written.
func TestRepairTail(t *testing.T) {
	for name, c := range map[string]struct {
		tail string // appended to the log's file
		want string // what is set aside of it; empty: all
	}{
		"garbage":               {tail: "\x01\x02garbage\nmore\n"},
		"torn":                  {tail: `{"actor":"age`},
		"a line and a half":     {tail: "{}\n{"},
		"forged, without chain": {tail: `{"seq":5}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, file := written(t, 5)
			f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString(c.tail); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			done, err := RepairTail(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			aside, err := os.ReadFile(filepath.Join(cfg.Dir, done.File))
			if err != nil || string(aside) != c.tail || done.From != 5 || done.Bytes != int64(len(c.tail)) {
				t.Errorf("%+v, %q, %v", done, aside, err)
			}
			l := mustOpen(t, cfg)
			r, err := l.Record(t.Context(), 5)
			if err != nil || r.Kind != LogRecovered || !strings.Contains(r.Reason, done.File) {
				t.Errorf("got %+v, %v", r, err)
			}
			if rep, err := l.Verify(t.Context()); err != nil || !rep.OK() {
				t.Errorf("%+v, %v", rep.Faults, err)
			}
			if _, err := RepairTail(t.Context(), cfg); !errors.Is(err, ErrLocked) {
				t.Errorf("beside an open log: %v", err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := RepairTail(t.Context(), cfg); !errors.Is(err, ErrSound) {
				t.Errorf("again: %v", err)
			}
		})
	}
}

// TestRepairNothingSealed leaves alone what a checkpoint covers.
func TestRepairNothingSealed(t *testing.T) {
	for name, change := range map[string]func(file string, lines []string) error{
		"last record changed": func(file string, lines []string) error {
			lines[4] = strings.Replace(lines[4], "SELECT", "DELETE", 1)
			return os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
		},
		"last record torn": func(file string, lines []string) error {
			return os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600)
		},
		"middle left out": func(file string, lines []string) error {
			return os.WriteFile(file, []byte(strings.Join(append(lines[:2:2], lines[3:]...), "\n")+"\n"), 0o600)
		},
		"empty": func(file string, _ []string) error { return os.WriteFile(file, nil, 0o600) },
		"checkpoint lost": func(file string, _ []string) error {
			return os.WriteFile(filepath.Join(filepath.Dir(file), checkpointName), []byte("x"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, file := written(t, 5)
			if err := change(file, readLines(t, file)); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if done, err := RepairTail(t.Context(), cfg); !errors.Is(err, ErrSealed) {
				t.Errorf("got %+v, %v", done, err)
			}
			if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
				t.Errorf("the file was changed, %v", err)
			}
		})
	}
}
