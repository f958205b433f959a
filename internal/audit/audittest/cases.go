package audittest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/datamind/internal/audit"
)

// A Case is something that is done to a log, and what has to be found.
type Case struct {
	Name string

	// The kinds of faults, in order, each once: of the records alone; with the
	// checkpoint in the folder; with those that were saved elsewhere instead.
	Chain, Folder, Saved string

	Exit  int  // of audit verify, for the folder
	Opens bool // for appending, by a server that starts

	lines func(l []string) string                      // what the file holds afterwards
	also  func(tb testing.TB, s Scene, content string) // what else is done
}

// Commit does it to the scene.
func (c Case) Commit(tb testing.TB, s Scene) {
	tb.Helper()
	before := Lines(tb, s.File())
	after := join(before)
	if c.lines != nil {
		if after = c.lines(slices.Clone(before)); after == join(before) {
			tb.Fatal("nothing was changed")
		}
		write(tb, s.File(), []byte(after))
	}
	if c.also != nil {
		c.also(tb, s, after)
	}
}

// change replaces something in a line.
func change(l []string, i int, from, to string) { l[i] = strings.Replace(l[i], from, to, 1) }

const (
	root      = "checkpoint.root"
	truncated = "checkpoint.truncated"
	seqLink   = "chain.seq chain.link"
	missing   = "log.missing"
)

// Cases are what can be done to a log in one file.
func Cases() []Case {
	return slices.Concat(edits(), rewrites(), bytesOfTheFile(), seals(), crashes())
}

// edits are changes of single records.
func edits() []Case {
	return []Case{
		{
			Name: "edit one byte", Chain: "chain.hash", Folder: "chain.hash " + root, Saved: "chain.hash " + root, Exit: audit.ExitTampered,
			lines: func(l []string) string { change(l, 10, "employees", "employeez"); return join(l) },
		},
		{
			Name: "edit and fix its own hash", Chain: "chain.link", Folder: "chain.link " + root, Saved: "chain.link " + root, Exit: audit.ExitTampered,
			lines: func(l []string) string {
				change(l, 10, "employees", "employeez")
				l[10] = rehash(l[10])
				return join(l)
			},
		},
		{
			Name: "edit and rechain", Folder: root, Saved: root, Exit: audit.ExitTampered,
			lines: func(l []string) string { change(l, 10, "employees", "employeez"); return join(rechain(l)) },
		},
		{
			Name: "delete a record", Chain: seqLink, Folder: seqLink + " " + truncated, Saved: seqLink + " " + root + " " + truncated, Exit: audit.ExitTampered,
			lines: func(l []string) string { return join(slices.Delete(l, 10, 11)) },
		},
		{
			Name: "delete a record and rechain", Folder: truncated, Saved: root + " " + truncated, Exit: audit.ExitMissing,
			lines: func(l []string) string { return join(rechain(slices.Delete(l, 10, 11))) },
		},
		{
			Name: "swap two records", Chain: seqLink, Folder: seqLink + " " + root, Saved: seqLink + " " + root, Exit: audit.ExitTampered,
			lines: func(l []string) string { l[10], l[11] = l[11], l[10]; return join(l) },
		},
		{
			Name: "duplicate a record", Chain: seqLink, Folder: seqLink + " " + root, Saved: seqLink + " " + root, Exit: audit.ExitTampered,
			lines: func(l []string) string { return join(slices.Insert(l, 11, l[10])) },
		},
		{
			Name: "insert a forged record and rechain", Folder: root, Saved: root, Exit: audit.ExitTampered,
			lines: func(l []string) string { return join(rechain(slices.Insert(l, 11, l[10]))) },
		},
		{
			Name: "record of another profile", Chain: "chain.profile", Folder: "chain.profile " + root, Saved: "chain.profile " + root, Exit: audit.ExitTampered,
			lines: func(l []string) string {
				change(l, 19, `"profile":"default"`, `"profile":"other"`)
				return join(rechain(l))
			},
		},
		{
			Name: "record 0 is something else", Chain: "log.created", Folder: "log.created " + root, Saved: "log.created " + root, Exit: audit.ExitTampered,
			lines: func(l []string) string { change(l, 0, "log.created", "tool.intent"); return join(rechain(l)) },
		},
	}
}

// rewrites are changes of what was written from some record on.
func rewrites() []Case {
	return []Case{
		{
			Name: "drop the last ten records", Folder: truncated, Saved: truncated, Exit: audit.ExitMissing,
			lines: func(l []string) string { return join(l[:10]) },
		},
		{
			Name: "drop the last record", Folder: truncated, Saved: truncated, Exit: audit.ExitMissing,
			lines: func(l []string) string { return join(l[:19]) },
		},
		{
			Name: "head cut off", Chain: seqLink + " log.created", Folder: seqLink + " log.created " + truncated, Saved: seqLink + " log.created " + root + " " + truncated, Exit: audit.ExitTampered,
			lines: func(l []string) string { return join(l[1:]) },
		},
		{
			Name: "drop the tail and append others", Folder: root, Saved: root, Exit: audit.ExitTampered,
			lines: func(l []string) string {
				for i := 16; i < len(l); i++ {
					change(l, i, "employees", "departments")
				}
				return join(rechain(append(l, l[1])))
			},
		},
		{
			Name: "delete the file", Chain: missing, Folder: missing + " " + truncated, Saved: missing + " " + truncated, Exit: audit.ExitMissing,
			also: func(tb testing.TB, s Scene, _ string) {
				tb.Helper()
				if err := os.Remove(s.File()); err != nil {
					tb.Fatal(err)
				}
			},
		},
		{
			Name: "empty the file", Chain: missing, Folder: missing + " " + truncated, Saved: missing + " " + truncated, Exit: audit.ExitMissing,
			lines: func([]string) string { return "" },
		},
		{
			Name: "rewrite everything", Folder: root, Saved: root, Exit: audit.ExitTampered,
			lines: rewritten,
		},
		{
			Name: "rewrite everything and seal it with the stolen key", Saved: root, Exit: audit.ExitSound, Opens: true,
			lines: rewritten, also: sealStolen,
		},
		{
			Name: "drop the tail and seal it with the stolen key", Saved: truncated, Exit: audit.ExitSound, Opens: true,
			lines: func(l []string) string { return join(l[:16]) }, also: sealStolen,
		},
	}
}

func rewritten(l []string) string {
	for i := 1; i < len(l); i++ {
		change(l, i, "employees", "departments")
	}
	return join(rechain(l))
}

func sealStolen(tb testing.TB, s Scene, content string) {
	tb.Helper()
	write(tb, filepath.Join(s.Dir(), "checkpoint"), seal(tb, s.stolen(tb), content))
}

// bytesOfTheFile are changes that leave the records' values alone.
func bytesOfTheFile() []Case {
	return []Case{
		{
			Name: "whitespace inside a record", Chain: "chain.format chain.link", Folder: "chain.format chain.link " + root, Saved: "chain.format chain.link " + root, Exit: audit.ExitTampered,
			lines: func(l []string) string { change(l, 10, `"seq":`, `"seq": `); return join(l) },
		},
		{
			Name: "whitespace inside arguments", Chain: "chain.hash", Folder: "chain.hash " + root, Saved: "chain.hash " + root, Exit: audit.ExitTampered,
			lines: func(l []string) string { change(l, 10, `"sql":`, `"sql": `); return join(l) },
		},
		{
			Name: "reorder members", Chain: "chain.hash", Folder: "chain.hash " + root, Saved: "chain.hash " + root, Exit: audit.ExitTampered,
			lines: func(l []string) string { change(l, 10, `"bytes":12,"rows":1`, `"rows":1,"bytes":12`); return join(l) },
		},
		{
			Name: "second decision smuggled in and rechained", Chain: "chain.format chain.link", Folder: "chain.format chain.link " + root, Saved: "chain.format chain.link " + root, Exit: audit.ExitTampered,
			lines: func(l []string) string {
				change(l, 10, `"digest":`, `"decision":"deny","digest":`)
				return join(rechain(l))
			},
		},
		{
			Name: "second decision in another spelling", Chain: "chain.format chain.link", Folder: "chain.format chain.link " + root, Saved: "chain.format chain.link " + root, Exit: audit.ExitTampered,
			lines: func(l []string) string {
				change(l, 10, `"digest":`, `"\u0064ecision":"deny","digest":`)
				return join(rechain(l))
			},
		},
		{
			Name: "second argument smuggled in and rechained", Folder: root, Saved: root, Exit: audit.ExitTampered,
			lines: func(l []string) string {
				change(l, 10, `"args":{`, `"args":{"sql":"SELECT 1",`)
				return join(rechain(l))
			},
		},
		{
			Name: "CRLF line ends", Chain: "chain.format", Folder: "chain.format " + root, Saved: "chain.format " + root, Exit: audit.ExitTampered,
			lines: func(l []string) string { return strings.Join(l, "\r\n") + "\r\n" },
		},
		{
			Name: "blank line inserted", Chain: "chain.format " + seqLink, Folder: "chain.format " + seqLink + " " + root, Saved: "chain.format " + seqLink + " " + root, Exit: audit.ExitTampered,
			lines: func(l []string) string { return join(slices.Insert(l, 10, "")) },
		},
		{
			Name: "line longer than a record", Chain: "chain.format chain.link", Folder: "chain.format chain.link " + root, Saved: "chain.format chain.link " + root, Exit: audit.ExitTampered,
			lines: func(l []string) string { l[10] = strings.Repeat("x", 1<<16); return join(l) },
		},
		{
			Name: "line longer than any buffer", Chain: "chain.format chain.link", Folder: "chain.format chain.link " + root, Saved: "chain.format chain.link " + root, Exit: audit.ExitTampered,
			lines: func(l []string) string { l[10] = strings.Repeat("x", 3<<20); return join(l) },
		},
	}
}

// seals are changes of who has signed what.
func seals() []Case {
	return []Case{
		{
			Name: "record appended without the key", Exit: audit.ExitSound, Opens: true,
			lines: func(l []string) string { return join(rechain(append(l, l[19]))) },
		},
		{
			Name: "checkpoint of another key", Folder: "checkpoint.signature", Exit: audit.ExitTampered,
			also: func(tb testing.TB, s Scene, content string) {
				tb.Helper()
				write(tb, filepath.Join(s.Dir(), "checkpoint"), seal(tb, s.foreign(tb), content))
			},
		},
		{
			Name: "checkpoint that is none", Folder: "checkpoint.signature", Exit: audit.ExitTampered,
			also: func(tb testing.TB, s Scene, _ string) {
				tb.Helper()
				write(tb, filepath.Join(s.Dir(), "checkpoint"), []byte("20 records, honestly\n"))
			},
		},
		{
			Name: "two roots signed for one size", Folder: "checkpoint.fork checkpoint.root", Exit: audit.ExitTampered, Opens: true,
			also: func(tb testing.TB, s Scene, content string) {
				tb.Helper()
				kept := filepath.Join(s.Dir(), "checkpoints")
				if err := os.Mkdir(kept, 0o700); err != nil {
					tb.Fatal(err)
				}
				write(tb, filepath.Join(kept, "20"), seal(tb, s.stolen(tb), strings.Replace(content, "employees", "departments", 1)))
			},
		},
		{
			Name: "checkpoint emptied by a loss of power", Exit: audit.ExitSound, Opens: true,
			also: func(tb testing.TB, s Scene, _ string) {
				tb.Helper()
				write(tb, filepath.Join(s.Dir(), "checkpoint"), make([]byte, 200))
			},
		},
	}
}

// crashes are ends that a crash may leave, and some that it can't.
func crashes() []Case {
	return []Case{
		{
			Name: "sealed line cut in half", Chain: "chain.torn", Folder: "chain.torn " + truncated, Saved: "chain.torn " + truncated, Exit: audit.ExitMissing,
			lines: func(l []string) string { return join(l[:19]) + l[19][:len(l[19])/2] },
		},
		{
			Name: "line behind the checkpoint cut in half", Chain: "chain.torn", Folder: "chain.torn", Saved: "chain.torn", Exit: audit.ExitTorn, Opens: true,
			lines: func(l []string) string { return join(l) + l[19][:len(l[19])/2] },
		},
		{
			Name: "torn and tampered", Chain: "chain.hash chain.torn", Folder: "chain.hash chain.torn " + root, Saved: "chain.hash chain.torn " + root, Exit: audit.ExitTampered,
			lines: func(l []string) string { change(l, 10, "employees", "employeez"); return join(l) + "{" },
		},
		{
			Name: "4 KiB of zeros at the end", Chain: "chain.torn", Folder: "chain.torn", Saved: "chain.torn", Exit: audit.ExitTorn, Opens: true,
			lines: func(l []string) string { return join(l) + strings.Repeat("\x00", 4096) },
		},
	}
}
