package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rehash gives a line the record_hash that its bytes have.
func rehash(line string) string {
	body := line[:len(line)-hashTail]
	sum := sha256.Sum256([]byte(body + "}"))
	return body + hashMember + hex.EncodeToString(sum[:]) + `"}`
}

// rechain gives lines the numbers, links and hashes that a log of them has.
func rechain(lines []string) []string {
	var prev string
	for i, line := range lines {
		before, after, _ := strings.Cut(line, `"prev_hash":`)
		_, after, _ = strings.Cut(after, ",")
		link := `"` + prev + `"`
		if prev == "" {
			link = "null"
		}
		line = before + `"prev_hash":` + link + "," + after
		before, after, _ = strings.Cut(line, `"seq":`)
		_, after, _ = strings.Cut(after, ",")
		lines[i] = rehash(before + `"seq":` + strconv.Itoa(i) + "," + after)
		prev = lines[i][len(lines[i])-66 : len(lines[i])-2]
	}
	return lines
}

func join(lines []string) string { return strings.Join(lines, "\n") + "\n" }

func kinds(rep Report) string {
	var out []string
	for _, f := range rep.Faults {
		if !slices.Contains(out, f.What) {
			out = append(out, f.What)
		}
	}
	return strings.Join(out, " ")
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
	text := strings.Repeat("x\n", 10_000)
	rep, err := Verify(t.Context(), []io.Reader{strings.NewReader(text)}, VerifyOptions{})
	if err != nil || len(rep.Faults) != maxFaults || rep.FaultCount != 10_000 || rep.Records != 10_000 {
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
