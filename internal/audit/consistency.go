package audit

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// ErrInconsistent says that a log is not the continuation of what a checkpoint
// signed.
var ErrInconsistent = errors.New("the checkpoints are not of one log that only grew")

// ProveConsistency returns the proof that the tree of the first from records
// is the beginning of that of the first to.
func ProveConsistency(t tlog.HashReader, from, to uint64) (tlog.TreeProof, error) {
	switch {
	case from > to || to > maxSize:
		return nil, fmt.Errorf("prove consistency: %d records are no beginning of %d", from, to)
	case from == 0 || from == to:
		return nil, nil
	}
	p, err := tlog.ProveTree(int64(to), int64(from), t) //nolint:gosec // G115: both are at most maxSize
	if err != nil {
		return nil, fmt.Errorf("prove consistency: %w", err)
	}
	return p, nil
}

// CheckConsistency checks that proof shows older to be the beginning of newer.
// Where it does not, that is [ErrInconsistent].
func CheckConsistency(proof tlog.TreeProof, older, newer Checkpoint) error {
	switch {
	case older.Origin != newer.Origin:
		return fmt.Errorf("%w: %s and %s", ErrInconsistent, older.Origin, newer.Origin)
	case older.Size > newer.Size || newer.Size > maxSize || len(proof) > maxPath:
		return fmt.Errorf("%w: %d records are no beginning of %d", ErrInconsistent, older.Size, newer.Size)
	case older.Size == newer.Size && older.Root != newer.Root:
		return fmt.Errorf("%w: two roots for the size %d", ErrInconsistent, older.Size)
	case older.Size == 0 && older.Root != emptyRoot():
		return fmt.Errorf("%w: this is not the root of an empty log", ErrInconsistent)
	case older.Size == 0 || older.Size == newer.Size:
		if len(proof) > 0 {
			return fmt.Errorf("%w: a proof where there is nothing to prove", ErrInconsistent)
		}
		return nil
	}
	err := tlog.CheckTree(proof, int64(newer.Size), newer.Root, int64(older.Size), older.Root) //nolint:gosec // G115: both are at most maxSize
	if err != nil {
		return fmt.Errorf("%w: size %d does not lead to size %d", ErrInconsistent, older.Size, newer.Size)
	}
	return nil
}

// emptyRoot is the root of a tree without records.
func emptyRoot() tlog.Hash { return sha256.Sum256(nil) }
