package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// rehash gives a line the record_hash that its bytes have.
func rehash(line string) string {
	body := line[:len(line)-hashTail]
	sum := sha256.Sum256([]byte(body + "}"))
	return body + hashMember + hex.EncodeToString(sum[:]) + `"}`
}

// A tampering is what somebody does to the lines of a log of 20 records.
type tampering struct {
	name   string
	do     func(lines []string) string
	faults string // in order, each kind once
	first  uint64
	exit   int
}

func join(lines []string) string { return strings.Join(lines, "\n") + "\n" }

func tamperings() []tampering {
	return []tampering{
		{"edit one byte", func(l []string) string {
			l[10] = strings.Replace(l[10], "employees", "employeez", 1)
			return join(l)
		}, "chain.hash", 10, ExitTampered},
		{"edit and fix its own hash", func(l []string) string {
			l[10] = rehash(strings.Replace(l[10], "employees", "employeez", 1))
			return join(l)
		}, "chain.link", 11, ExitTampered},
		{"delete a record", func(l []string) string {
			return join(slices.Delete(l, 10, 11))
		}, "chain.seq chain.link", 10, ExitTampered},
		{"swap two records", func(l []string) string {
			l[10], l[11] = l[11], l[10]
			return join(l)
		}, "chain.seq chain.link", 10, ExitTampered},
		{"duplicate a record", func(l []string) string {
			return join(slices.Insert(l, 11, l[10]))
		}, "chain.seq chain.link", 11, ExitTampered},
		{"whitespace inside a record", func(l []string) string {
			l[10] = strings.Replace(l[10], `"seq":`, `"seq": `, 1)
			return join(l)
		}, "chain.format chain.link", 10, ExitTampered},
		{"whitespace inside arguments", func(l []string) string {
			l[10] = strings.Replace(l[10], `"sql":`, `"sql": `, 1)
			return join(l)
		}, "chain.hash", 10, ExitTampered},
		{"reorder keys inside arguments", func(l []string) string {
			l[10] = strings.Replace(l[10], `{"action":"allow","hook":"h"`, `{"hook":"h","action":"allow"`, 1)
			return join(l)
		}, "chain.hash", 10, ExitTampered},
		{"CRLF line ends", func(l []string) string {
			return strings.Join(l, "\r\n") + "\r\n"
		}, "chain.format", 0, ExitTampered},
		{"blank line inserted", func(l []string) string {
			return join(slices.Insert(l, 10, ""))
		}, "chain.format chain.seq chain.link", 10, ExitTampered},
		{"last line cut in half", func(l []string) string {
			last := l[len(l)-1]
			return join(l[:len(l)-1]) + last[:len(last)/2]
		}, "chain.torn", 19, ExitTorn},
		{"torn and tampered", func(l []string) string {
			l[10] = strings.Replace(l[10], "employees", "employeez", 1)
			return join(l) + "{"
		}, "chain.hash chain.torn", 10, ExitTampered},
		{"4 KiB of zeros at the end", func(l []string) string {
			return join(l) + strings.Repeat("\x00", 4096)
		}, "chain.torn", 20, ExitTorn},
		{"second decision smuggled in and rechained", func(l []string) string {
			l[19] = rehash(strings.Replace(l[19], `"kind":`, `"decision":"deny","kind":`, 1))
			return join(l)
		}, "chain.format", 19, ExitTampered},
		{"second decision in another spelling", func(l []string) string {
			l[19] = rehash(strings.Replace(l[19], `"kind":`, `"\u0064ecision":"deny","kind":`, 1))
			return join(l)
		}, "chain.format", 19, ExitTampered},
		{"record of another profile", func(l []string) string {
			l[19] = rehash(strings.Replace(l[19], `"profile":"default"`, `"profile":"other"`, 1))
			return join(l)
		}, "chain.profile", 19, ExitTampered},
		{"record 0 is something else", func(l []string) string {
			l[0] = rehash(strings.Replace(l[0], "log.created", "tool.intent", 1))
			return join(l)
		}, "log.created chain.link", 0, ExitTampered},
		{"head cut off", func(l []string) string {
			return join(l[1:])
		}, "chain.seq chain.link log.created", 0, ExitTampered},
		{"line longer than a record", func(l []string) string {
			l[10] = strings.Repeat("x", maxLine+1)
			return join(l)
		}, "chain.format chain.link", 10, ExitTampered},
		{"line longer than any buffer", func(l []string) string {
			l[10] = strings.Repeat("x", 3<<20)
			return join(l)
		}, "chain.format chain.link", 10, ExitTampered},
		{"emptied", func([]string) string { return "" }, "log.missing", 0, ExitMissing},
	}
}

func kinds(rep Report) string {
	var out []string
	for _, f := range rep.Faults {
		if !slices.Contains(out, f.What) {
			out = append(out, f.What)
		}
	}
	return strings.Join(out, " ")
}

func TestTampering(t *testing.T) {
	for _, tt := range tamperings() {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config(t)
			l := mustOpen(t, cfg)
			for i := 1; i < 20; i++ {
				r := intent(i)
				r.Trail = append(r.Trail, step("h"))
				mustAppend(t, l, r)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			name := cfg.Dir + "/" + fileName
			before := readLines(t, name)
			after := tt.do(slices.Clone(before))
			if after == join(before) {
				t.Fatal("nothing was changed")
			}
			if err := os.WriteFile(name, []byte(after), 0o600); err != nil {
				t.Fatal(err)
			}
			unsealed(t, cfg)
			rep, err := VerifyDir(t.Context(), cfg.Dir, VerifyOptions{Keys: []string{l.Key()}})
			if err != nil {
				t.Fatal(err)
			}
			if got := kinds(rep); got != tt.faults || rep.FirstBad == nil || *rep.FirstBad != tt.first || rep.ExitCode() != tt.exit {
				t.Errorf("verify: %q first %v exit %d, want %q first %d exit %d\n%v", got, rep.FirstBad, rep.ExitCode(), tt.faults, tt.first, tt.exit, rep.Faults)
			}
			again, err := Open(t.Context(), cfg)
			if tt.exit == ExitTampered {
				if _, ok := errors.AsType[*TamperError](err); !ok {
					t.Errorf("opening a tampered log: %v, want a *TamperError", err)
				}
				if now, err := os.ReadFile(name); err != nil || string(now) != after {
					t.Errorf("the evidence was changed: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = again.Close() }()
			if rep, err := again.Verify(t.Context()); err != nil || !rep.OK() {
				t.Errorf("after mending: %+v, %v", rep, err)
			}
		})
	}
}

func TestVerifyMissingFile(t *testing.T) {
	rep, err := VerifyDir(t.Context(), t.TempDir(), VerifyOptions{})
	if err != nil || rep.ExitCode() != ExitMissing || !rep.Missing {
		t.Errorf("report %+v, %v", rep, err)
	}
}

func TestVerifyForeignKey(t *testing.T) {
	cfg, _ := written(t, 3)
	rep, err := VerifyDir(t.Context(), cfg.Dir, VerifyOptions{Keys: []string{"other+12345678+AAAA"}})
	if err != nil || kinds(rep) != "log.key" || rep.ExitCode() != ExitTampered {
		t.Errorf("report %+v, %v", rep, err)
	}
}

func TestVerifyFaultsAreBounded(t *testing.T) {
	text := strings.Repeat("x\n", 100_000)
	rep, err := Verify(t.Context(), []io.Reader{strings.NewReader(text)}, VerifyOptions{})
	if err != nil || len(rep.Faults) != maxFaults || rep.FaultCount != 100_000 || rep.Records != 100_000 {
		t.Errorf("%d faults kept of %d in %d records, %v", len(rep.Faults), rep.FaultCount, rep.Records, err)
	}
}

func TestVerifyTellsProgressAndStops(t *testing.T) {
	l := mustOpen(t, config(t))
	mustAppend(t, l, intent(1))
	var last uint64
	if _, err := l.VerifyWatched(t.Context(), func(n uint64) { last = n }); err != nil || last != l.Len() {
		t.Errorf("progress ended at %d of %d: %v", last, l.Len(), err)
	}
	ctx, cancel := ended(t)
	defer cancel()
	if _, err := l.Verify(ctx); err == nil {
		t.Error("verify went on though its context had ended")
	}
}

// TestSegments checks that a chain goes on over several readers.
func TestSegments(t *testing.T) {
	_, name := written(t, 10)
	lines := readLines(t, name)
	a, b := strings.NewReader(join(lines[:4])), strings.NewReader(join(lines[4:]))
	if rep, err := Verify(t.Context(), []io.Reader{a, b}, VerifyOptions{}); err != nil || !rep.OK() || rep.Records != 10 {
		t.Errorf("two segments: %+v, %v", rep, err)
	}
	a, b = strings.NewReader(join(lines[:4])[:900]), strings.NewReader(join(lines[4:]))
	if rep, err := Verify(t.Context(), []io.Reader{a, b}, VerifyOptions{}); err != nil || rep.TornTail || rep.OK() {
		t.Errorf("a torn segment that is not the last: %+v, %v", rep, err)
	}
}

// TestRunningLogSeesTampering checks that the log verifies what is on disk,
// not what it remembers.
func TestRunningLogSeesTampering(t *testing.T) {
	cfg := config(t)
	l := mustOpen(t, cfg)
	for i := range 5 {
		mustAppend(t, l, intent(i))
	}
	name := cfg.Dir + "/" + fileName
	lines := readLines(t, name)
	if err := os.WriteFile(name, []byte(join(lines[:4])), 0o600); err != nil {
		t.Fatal(err)
	}
	rep, err := l.Verify(t.Context())
	if err != nil || rep.OK() || rep.ExitCode() != ExitMissing {
		t.Errorf("cut: %+v, %v", rep, err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if rep, err := l.Verify(t.Context()); err != nil || rep.ExitCode() != ExitMissing {
		t.Errorf("removed: %+v, %v", rep, err)
	}
}
