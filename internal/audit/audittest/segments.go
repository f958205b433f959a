package audittest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/datamind/internal/audit"
)

// Segments are what can be done to a log in several files. The file to verify
// alone is not asked about. Where a segment is gone, fewer records are left than
// the newest checkpoint has sealed, which has no root to compare then: older
// ones, saved elsewhere, do.
func Segments() []Case {
	at := func(f func(dir string, sealed []string) error) func(testing.TB, Scene, string) {
		return func(tb testing.TB, s Scene, _ string) {
			tb.Helper()
			sealed, err := filepath.Glob(filepath.Join(s.Dir(), "audit-*.jsonl"))
			if err != nil || len(sealed) < 3 {
				tb.Fatalf("segments %v, %v", sealed, err)
			}
			slices.Sort(sealed)
			if err := f(s.Dir(), sealed); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return []Case{
		{
			Name: "middle segment deleted", Folder: "segment.missing " + seqLink + " " + truncated, Saved: "segment.missing " + seqLink + " " + root + " " + truncated, Exit: audit.ExitTampered,
			also: at(func(_ string, sealed []string) error { return os.Remove(sealed[1]) }),
		},
		{
			Name: "first segment deleted", Folder: "segment.missing " + seqLink + " log.created " + truncated, Saved: "segment.missing " + seqLink + " log.created " + root + " " + truncated, Exit: audit.ExitTampered,
			also: at(func(_ string, sealed []string) error { return os.Remove(sealed[0]) }),
		},
		{
			Name: "active segment deleted", Folder: truncated, Saved: truncated, Exit: audit.ExitMissing,
			also: at(func(dir string, _ []string) error { return os.Remove(filepath.Join(dir, "audit.jsonl")) }),
		},
		{
			Name: "names of two segments swapped", Folder: seqLink + " segment.missing " + root, Saved: seqLink + " segment.missing " + root, Exit: audit.ExitTampered,
			also: at(func(_ string, sealed []string) error {
				for _, move := range [][2]string{{sealed[1], sealed[1] + ".x"}, {sealed[2], sealed[1]}, {sealed[1] + ".x", sealed[2]}} {
					if err := os.Rename(move[0], move[1]); err != nil {
						return err
					}
				}
				return nil
			}),
		},
		{
			Name: "crash between rename and create", Exit: audit.ExitSound, Opens: true,
			also: func(tb testing.TB, s Scene, content string) {
				tb.Helper()
				var first struct{ Seq uint64 }
				if err := json.NewDecoder(strings.NewReader(content)).Decode(&first); err != nil {
					tb.Fatal(err)
				}
				if err := os.Rename(s.File(), filepath.Join(s.Dir(), fmt.Sprintf("audit-%012d.jsonl", first.Seq))); err != nil {
					tb.Fatal(err)
				}
			},
		},
	}
}
