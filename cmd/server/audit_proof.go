package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/audit/witness"
)

// proveRecord prints a file that proves, without the log, that a record is in
// it. exitNo where there is no such record, or no true proof of it.
func proveRecord(ctx context.Context, p process, c Config, args []string) (err error) {
	f := flags("audit prove")
	file := f.String("checkpoint", "", "file with the checkpoint that the proof leads to; default: the newest one in the log's folder")
	rest, err := parseMixed(f, args, 1)
	if err != nil {
		return err
	}
	seq, err := strconv.ParseUint(rest[0], 10, 63)
	if err != nil {
		return usageError("audit prove: %q is not the number of a record", rest[0])
	}
	v, err := viewLog(ctx, p, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	cp, err := newest(v)
	if *file != "" {
		cp, err = checkpointOf(p, v, *file)
	}
	if err != nil {
		return err
	}
	proof, err := audit.Prove(ctx, v, cp, seq)
	if err != nil {
		return err
	}
	text, err := proof.MarshalText()
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(text)
	return err
}

// newest returns the newest checkpoint in the log's folder that the log agrees
// with.
func newest(v *audit.View) (audit.Checkpoint, error) {
	cp := v.Report().Checkpoint
	if cp == nil {
		return audit.Checkpoint{}, errors.New("the log has no checkpoint that it agrees with")
	}
	return *cp, nil
}

// checkProof checks a file of audit prove and prints the record. It needs no log
// and no network. exitNo where the proof is false.
func checkProof(_ context.Context, p process, c Config, args []string) error {
	f := flags("audit check-proof")
	vkey := f.String("vkey", "", "file with the log's verifier key, as record 0 names it; default: keys/audit.vkey")
	cosigner := f.String("witness", "", "file with the verifier key of a witness that must have cosigned")
	rest, err := parseMixed(f, args, 1)
	if err != nil {
		return err
	}
	keys, err := c.logKeys(*vkey)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return usageError("audit check-proof: whose log? Name the file with its verifier key with --vkey; a proof can't vouch for its own key")
	}
	raw, err := readFile(p, rest[0], audit.MaxProof)
	if err != nil {
		return err
	}
	proof, err := audit.ParseProof(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", rest[0], err)
	}
	cp, err := proof.Check(keys)
	if err != nil {
		return fmt.Errorf("%s: %w", rest[0], err)
	}
	said := fmt.Sprintf("record %d is in the log %s, proven by its checkpoint of %d records", proof.Seq, cp.Origin, cp.Size)
	if *cosigner != "" {
		key, err := readFile(p, *cosigner, audit.MaxNote)
		if err != nil {
			return err
		}
		at, err := witness.Cosigned(proof.Checkpoint, string(key))
		if err != nil {
			return fmt.Errorf("%s: %w", rest[0], err)
		}
		said += ", cosigned by the witness at " + at.UTC().Format("2006-01-02 15:04:05Z")
	}
	_, err = fmt.Fprintf(p.stdout, "%s\n%s\n", said, proof.Line)
	return err
}

// compareCheckpoints proves out of the log that one checkpoint is about the
// beginning of what the other is about, checks the proof, and prints it. exitNo
// where that is not so.
func compareCheckpoints(ctx context.Context, p process, c Config, args []string) (err error) {
	rest, err := parseMixed(flags("audit consistency"), args, 2)
	if err != nil {
		return err
	}
	v, err := viewLog(ctx, p, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	older, err := checkpointOf(p, v, rest[0])
	if err != nil {
		return err
	}
	newer, err := checkpointOf(p, v, rest[1])
	if err != nil {
		return err
	}
	if older.Size > newer.Size {
		older, newer = newer, older
	}
	if newer.Size > v.Len() {
		return fmt.Errorf("the checkpoint is about %d records, the log has %d: its end was cut off", newer.Size, v.Len())
	}
	proof, err := audit.ProveConsistency(v, older.Size, newer.Size)
	if err != nil {
		return err
	}
	if err := audit.CheckConsistency(proof, older, newer); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(p.stdout, "consistent: %d records are the beginning of %d\n", older.Size, newer.Size); err != nil {
		return err
	}
	for _, h := range proof {
		if _, err := fmt.Fprintln(p.stdout, h); err != nil {
			return err
		}
	}
	return nil
}

// showCheckpoint prints the newest checkpoint, to be kept where the log is not.
// exitNo where the log is not what was sealed: such a checkpoint is no use.
func showCheckpoint(ctx context.Context, p process, c Config, args []string) (err error) {
	f := flags("audit checkpoint")
	save := f.String("save", "", "file to write it to")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	v, err := viewLog(ctx, p, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	cp, err := newest(v)
	if err != nil {
		return err
	}
	if !v.Report().OK() {
		return errors.New("the log is not sound; a checkpoint of it would say that it is")
	}
	if *save != "" {
		if err := os.WriteFile(*save, cp.Note, 0o644); err != nil { //nolint:gosec // G306: it is there to be handed out
			return usageError("%w", err)
		}
		_, err = fmt.Fprintf(p.stderr, "datamind: the checkpoint of %d records is in %s\n", cp.Size, *save)
		return err
	}
	_, err = p.stdout.Write(cp.Note)
	return err
}
