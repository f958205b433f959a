package store

import (
	"path/filepath"
	"strconv"
	"testing"
)

// TestAuditCheckpoints: the newest one of a log is found, the first of a size
// stands, and the table stays small.
func TestAuditCheckpoints(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "datamind.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if note, err := db.AuditCheckpoint(t.Context(), "a"); err != nil || note != nil {
		t.Fatalf("nothing stored, and there is %q, %v", note, err)
	}
	save := func(origin string, size uint64, note string) {
		t.Helper()
		if err := db.SaveAuditCheckpoint(t.Context(), origin, size, []byte(note)); err != nil {
			t.Fatal(err)
		}
	}
	for size := range uint64(keptCheckpoints + 20) {
		save("a", size, strconv.FormatUint(size, 10))
	}
	save("a", keptCheckpoints+19, "another")
	save("b", 7, "of b")
	for origin, want := range map[string]string{"a": strconv.Itoa(keptCheckpoints + 19), "b": "of b"} {
		if note, err := db.AuditCheckpoint(t.Context(), origin); err != nil || string(note) != want {
			t.Errorf("newest of %s: %q, %v; want %q", origin, note, err, want)
		}
	}
	var rows, oldest int
	if err := db.read.QueryRowContext(t.Context(), `SELECT count(*), min(size) FROM audit_checkpoints WHERE origin = 'a'`).Scan(&rows, &oldest); err != nil || rows != keptCheckpoints || oldest != 20 {
		t.Errorf("%d rows from size %d on, %v", rows, oldest, err)
	}
}
