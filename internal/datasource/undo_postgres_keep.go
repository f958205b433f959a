package datasource

import (
	"bytes"

	"example.com/datamind/internal/sqlguard"
)

// maxPgRow is how many characters the image of one row has at most: four bytes
// each, as many as a row may have to be read back.
const maxPgRow = maxValue / 4

// A pgKeeping keeps the images of the rows that one statement changes. The
// statement itself returns them.
type pgKeeping struct {
	table *pgTable
	write sqlguard.Write
	text  string // of the statement, with images

	inserted, changed int64 // rows, also those that stay as they are
	rows              []RowImage
	bytes             int
	why               WhyNotKept
}

// keepable says whether the rows that r changes can be kept, and how.
func (s *postgresSource) keepable(c *pgLink, r sqlguard.Report) (*pgKeeping, WhyNotKept, error) {
	if len(r.Statements) != 1 {
		return nil, NotKeptSeveral, nil
	}
	text := r.Statements[0].Text
	w, ok := s.judge.PlainWrite(text)
	if !ok {
		return nil, NotKeptVerb, nil
	}
	table, err := c.writtenTable(w)
	if err != nil {
		return nil, "", err
	}
	if why := table.whyNot(w); why != "" {
		return nil, why, nil
	}
	k := &pgKeeping{table: table, write: w}
	k.text, ok = s.judge.WithImages(text, sqlguard.ImageTable{
		Schema: table.schema, Name: table.name, Columns: table.kept(), Key: table.key, Most: maxPgRow,
	})
	if !ok {
		return nil, NotKeptVerb, nil
	}
	return k, "", nil
}

// startKeeping is keepable for a text that is about to run. It returns nil where
// nothing is to be kept.
func (s *postgresSource) startKeeping(c *pgLink, r sqlguard.Report, o Options) (*pgKeeping, error) {
	if o.Keep == nil {
		return nil, nil //nolint:nilnil // none is no error
	}
	if o.Confirmed != nil {
		if o.Keep.Why = ExpectKept(sqlguard.Postgres, r, *o.Confirmed); o.Keep.Why != "" {
			return nil, nil //nolint:nilnil // none is no error
		}
	}
	k, why, err := s.keepable(c, r)
	o.Keep.Why = why
	return k, err
}

// run runs the statement and takes the images out of what it returns.
func (k *pgKeeping) run(c *pgLink, b *budget) (Rows, error) {
	c.conn.Frontend().SetMaxBodyLen(maxPgMessage + 2*maxValue)
	defer c.conn.Frontend().SetMaxBodyLen(maxPgMessage)
	c.keeping = k
	defer func() { c.keeping = nil }()
	rows, err := c.step(k.text, b, true)
	rows.Writes = true
	return rows, err
}

// pgImages is how many columns of a row are images.
const pgImages = 2

// take takes the images off a row that the statement returned.
func (k *pgKeeping) take(row [][]byte) [][]byte {
	rest := row[:len(row)-pgImages]
	before, after := row[len(rest)], row[len(rest)+1]
	if before == nil {
		k.inserted++
	} else {
		k.changed++
	}
	if k.why != "" {
		return rest
	}
	image := RowImage{k.row(before), k.row(after)}
	same := before != nil && after != nil && bytes.Equal(before, after)
	switch {
	case k.why != "" || same:
	case len(k.rows) >= maxImageRows:
		k.why = NotKeptMany
	case k.bytes+len(before)+len(after) > maxImageBytes:
		k.why = NotKeptLarge
	case k.write.Verb != "INSERT" && before == nil:
		k.why = NotKeptUnread
	default:
		k.bytes += len(before) + len(after)
		k.rows = append(k.rows, image)
	}
	return rest
}

// row reads an image.
func (k *pgKeeping) row(text []byte) []any {
	if text == nil || k.why != "" {
		return nil
	}
	row, err := parsePgRow(string(text), len(k.table.kept()))
	switch {
	case err == nil:
	case len(text) > maxPgRow:
		k.why = NotKeptLarge
	default:
		k.why = NotKeptUnread
	}
	return row
}

// settle says what was kept, once the statement has run: nothing where it has
// changed other rows than those that it returned.
func (k *pgKeeping) settle(start, now pgWritten) Kept {
	switch {
	case k.why != "":
		return Kept{Why: k.why}
	case !now.only(start, k.table.oid, k.inserted, k.changed):
		return Kept{Why: NotKeptBeyond}
	case len(k.rows) == 0:
		return Kept{Why: NotKeptNothing}
	}
	one := k.table.image()
	one.Rows = k.rows
	return Kept{Images: Images{Tables: []TableImage{one}}}
}

// only reports whether since start nothing was written but so many rows of one
// table.
func (w pgWritten) only(start pgWritten, oid string, inserted, changed int64) bool {
	for other, now := range w {
		was, want := start[other], [2]int64{}
		if other == oid {
			want = [2]int64{inserted, changed}
		}
		if [2]int64{now.inserted - was.inserted, now.changed - was.changed} != want {
			return false
		}
	}
	_, wrote := w[oid]
	return wrote || inserted == 0 && changed == 0
}
