package audit

import (
	"slices"
	"strconv"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

// TestTree checks each size of a tree against golang.org/x/mod's.
func TestTree(t *testing.T) {
	var ours tree
	var nodes, theirs memoryHashes
	for n := range int64(300) {
		root, err := tlog.TreeHash(n, theirs)
		if err != nil || root != ours.root() {
			t.Fatalf("root of %d leaves: %v, want %v (%v)", n, ours.root(), root, err)
		}
		again, err := readTree(uint64(n), nodes)
		if err != nil || again.root() != root || len(again.edge) != len(ours.edge) {
			t.Fatalf("tree of %d leaves, read again: %v, want %v (%v)", n, again.root(), root, err)
		}
		line := []byte("line " + strconv.FormatInt(n, 10))
		stored, err := tlog.StoredHashes(n, line, theirs)
		if err != nil {
			t.Fatal(err)
		}
		theirs = append(theirs, stored...)
		nodes = ours.add(tlog.RecordHash(line), nodes)
		if !slices.Equal(nodes, theirs) {
			t.Fatalf("stored hashes differ from leaf %d on", n)
		}
	}
	if _, err := nodes.ReadHashes([]int64{int64(len(nodes))}); err == nil {
		t.Error("a hash behind the tree was read")
	}
}
