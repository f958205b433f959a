package audit

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// A tree is the right edge of the Merkle tree of RFC 6962 whose leaves are the
// lines of the log: all that it takes to go on, and to know the root.
type tree struct {
	n    uint64      // leaves
	edge []tlog.Hash // roots of the full subtrees, from the left; as many as n has bits set
}

// add appends a leaf and the nodes that it completes to nodes, in the order in
// which [tlog.StoredHashIndex] numbers them.
func (t *tree) add(leaf tlog.Hash, nodes []tlog.Hash) []tlog.Hash {
	h := leaf
	nodes = append(nodes, h)
	for n := t.n; n&1 == 1; n >>= 1 {
		last := len(t.edge) - 1
		h = tlog.NodeHash(t.edge[last], h)
		t.edge = t.edge[:last]
		nodes = append(nodes, h)
	}
	t.edge = append(t.edge, h)
	t.n++
	return nodes
}

// root returns the hash of the whole tree.
func (t *tree) root() tlog.Hash {
	if t.n == 0 {
		h, _ := tlog.TreeHash(0, nil) // of no leaves, it reads nothing
		return h
	}
	h := t.edge[len(t.edge)-1]
	for i := len(t.edge) - 2; i >= 0; i-- {
		h = tlog.NodeHash(t.edge[i], h)
	}
	return h
}

// storedAt returns the number of nodes that a tree of n leaves has stored.
func storedAt(n uint64) int64 { return tlog.StoredHashCount(int64(n)) } //nolint:gosec // G115: no log has 2^63 records

// readTree reads the tree of n leaves out of r.
func readTree(n uint64, r tlog.HashReader) (tree, error) {
	t := tree{n: n}
	var at []int64
	for level, left := 63, uint64(0); level >= 0; level-- {
		if size := uint64(1) << level; n&size != 0 {
			at = append(at, tlog.StoredHashIndex(level, int64(left>>level))) //nolint:gosec // G115: as above
			left += size
		}
	}
	var err error
	if len(at) > 0 {
		t.edge, err = r.ReadHashes(at)
	}
	return t, err
}

// memoryHashes are stored hashes in memory.
type memoryHashes []tlog.Hash

// ReadHashes implements [tlog.HashReader].
func (m memoryHashes) ReadHashes(at []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(at))
	for i, x := range at {
		if x < 0 || x >= int64(len(m)) {
			return nil, fmt.Errorf("the tree has no hash %d", x)
		}
		out[i] = m[x]
	}
	return out, nil
}
