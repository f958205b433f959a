package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"example.com/datamind/internal/audit"
	"example.com/datamind/web"
)

// auditConfig names the profile's log, to be opened for appending: no server may
// be running.
func (c Config) auditConfig() (audit.Config, error) {
	redactor, err := audit.NewRedactor(c.Audit.PersonalData == redactPersonal)
	return audit.Config{Dir: c.storage(""), KeyDir: c.path("keys"), Profile: c.Data.Profile, Redactor: redactor}, err
}

// repairLog sets aside a broken end of the log, which keeps a server from
// starting. exitNo where what is broken was sealed.
func repairLog(ctx context.Context, p process, c Config, args []string) error {
	f := flags("audit repair")
	tail := f.Bool("tail", false, "set aside everything from the first bad line on")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	if !*tail {
		return usageError("audit repair: want --tail: it sets aside everything from the first bad line on, if none of it was sealed")
	}
	cfg, err := c.auditConfig()
	if err != nil {
		return err
	}
	done, err := audit.RepairTail(ctx, cfg)
	if errors.Is(err, audit.ErrSound) {
		_, err = fmt.Fprintln(p.stdout, "there is nothing to repair")
		return err
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "the log ends with record %d again; %d bytes that stood behind it are in %s, and a record says so\n",
		done.From-1, done.Bytes, filepath.Join(cfg.Dir, done.File))
	return err
}

// importSeed copies a log in the predecessor's format into the profile's.
// exitNo where that log is not sound.
func importSeed(ctx context.Context, p process, c Config, args []string) (err error) {
	rest, err := parseMixed(flags("audit import-seed"), args, 1)
	if err != nil {
		return err
	}
	in, err := os.Open(rest[0])
	if err != nil {
		return usageError("%w", err)
	}
	defer func() { _ = in.Close() }() // only read
	if same(in, c.storage("audit.jsonl")) {
		return usageError("audit import-seed: the new log is kept under this very name; move the file elsewhere first")
	}
	cfg, err := c.auditConfig()
	if err != nil {
		return err
	}
	l, err := audit.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	done, err := l.ImportSeed(ctx, rest[0], in)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "imported %d record(s) as numbers %d and following; the old chain verifies (%s), the file's SHA-256 is %s\n",
		done.Records, done.From, done.Strength, done.SHA256)
	return err
}

// same says whether an open file is the one of this name.
func same(f *os.File, name string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(name)
	return err == nil && os.SameFile(a, b)
}

// verifyOther verifies what is no log of this program's: an archive of one, or a
// log in the predecessor's format, whose chain is weak, which is said.
func verifyOther(ctx context.Context, p process, file string, asJSON bool, strength string, verify func(context.Context, io.Reader) (audit.Report, error)) error {
	in := p.stdin
	if file != "-" {
		f, err := os.Open(file) //nolint:gosec // G304: the file is the user's to name
		if err != nil {
			return usageError("%w", err)
		}
		defer func() { _ = f.Close() }() // only read
		in = f
	}
	report, err := verify(ctx, in)
	if err != nil {
		return usageError("%s: %w", file, err)
	}
	if asJSON {
		err = printJSON(p.stdout, struct {
			verification
			Strength string `json:"strength,omitempty"`
		}{verificationOf(report), strength})
	} else {
		err = printReport(p.stdout, file, report, false)
		if err == nil && strength != "" {
			_, err = fmt.Fprintf(p.stdout, "%s: a chain of this format is %s: it shows carelessness, not intent\n", file, strength)
		}
	}
	if status := report.ExitCode(); err == nil && status != audit.ExitSound {
		return &exitError{code: status}
	}
	return err
}

// exportLog writes records and all that it takes to verify them to standard
// output, as a tar file. exitNo where the log has no such records.
func exportLog(ctx context.Context, p process, c Config, args []string) (err error) {
	f := flags("audit export")
	var o audit.ArchiveOptions
	f.Uint64Var(&o.From, "from", 0, "number of the first record")
	last := f.Int64("to", -1, "number of the last record; default: the last one that the checkpoint covers")
	table := f.Bool("csv", false, "the records as a table, too")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	if *last >= 0 {
		o.To = uint64(*last) + 1
	}
	if *table {
		o.Table = web.AuditTable
	}
	v, err := viewLog(ctx, p, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	return audit.WriteArchive(ctx, p.stdout, v, o)
}
