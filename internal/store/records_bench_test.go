package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/datamind/internal/hooks"
)

// synthetic makes the record number seq of a long log.
func synthetic(r *rand.Rand, seq uint64) Record {
	decisions := []string{"allow", "allow", "allow", "allow", "rewrite", "rewrite", "", "", "ask_user", "deny"}
	tools := []string{"db_query_sql", "db_query_sql", "db_query_sql", "db_list_tables", "db_describe_table", "db_import_csv"}
	tables := []string{"employees", "departments", "salaries", "orders", "products", "customers", "sessions", "staging_q3"}
	table, tool := tables[r.IntN(len(tables))], tools[r.IntN(len(tools))]
	rec := Record{
		Seq: seq, At: noon.Add(time.Duration(seq) * 5 * time.Second), Kind: "tool.intent", Hash: hashOf(seq), Actor: "agent",
		Session: fmt.Sprintf("ses_%032x", seq/40), Turn: fmt.Sprintf("trn_%032x", seq/8), Call: fmt.Sprintf("call_%024x", seq/2),
		Tool: tool, Decision: decisions[r.IntN(len(decisions))], Phase: "pre_tool_use",
		Text: fmt.Sprintf("%s\nselect t.id, t.name, count(*) from %s t where t.status = 'state %d' and t.id > %d group by t.id order by 1\ndestructive_sql\nrow_limit",
			tool, table, r.IntN(50), r.IntN(1_000_000)),
		Steps: []hooks.Step{{Hook: "path_allowlist", Action: hooks.Allowing}, {Hook: "destructive_sql", Action: hooks.Allowing, TookMicros: 40}, {Hook: "row_limit", Action: hooks.Allowing, TookMicros: 20}},
	}
	switch rec.Decision {
	case "rewrite":
		rec.Hook = "row_limit"
	case "deny", "ask_user":
		rec.Hook = "destructive_sql"
	}
	if seq%1000 == 0 {
		rec.Text += "\n删除离职员工的记录"
	}
	return rec
}

// BenchmarkRecords asks a store of a million records, or as many as the variable
// says, for first pages and counts. Filling it is what takes the time.
func BenchmarkRecords(b *testing.B) {
	total := uint64(1_000_000)
	if s := os.Getenv("RECORDS"); s != "" {
		if _, err := fmt.Sscan(s, &total); err != nil {
			b.Fatal(err)
		}
	}
	path := filepath.Join(b.TempDir(), "datamind.db")
	db, err := Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // a benchmark
	r := rand.New(rand.NewPCG(1, 2))
	start := time.Now()
	for seq := uint64(0); seq < total; {
		batch := make([]Record, 0, 512)
		for ; len(batch) < cap(batch) && seq < total; seq++ {
			batch = append(batch, synthetic(r, seq))
		}
		if err := db.AddRecords(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	filled := time.Since(start)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d records added in %v, %.0f a second, %d bytes each", total, filled, float64(total)/filled.Seconds(), info.Size()/int64(total))
	end := noon.Add(time.Duration(total) * 5 * time.Second)
	for _, bb := range []struct {
		name string
		q    RecordQuery
	}{
		{"all", RecordQuery{}},
		{"deny", RecordQuery{Decisions: []string{"deny"}}},
		{"deny ask", RecordQuery{Decisions: []string{"deny", "ask_user"}}},
		{"tool hook", RecordQuery{Tool: "db_import_csv", Hook: "row_limit"}},
		{"session", RecordQuery{Session: fmt.Sprintf("ses_%032x", total/80)}},
		{"last day", RecordQuery{Since: end.Add(-24 * time.Hour)}},
		{"first day", RecordQuery{Until: noon.Add(24 * time.Hour)}},
		{"middle page", RecordQuery{Before: total / 2}},
		{"common word", RecordQuery{Text: "employees"}},
		{"rare word", RecordQuery{Text: "离职员工"}},
		{"no word", RecordQuery{Text: "nowhere to be found"}},
		{"two characters", RecordQuery{Text: "离职"}},
		{"no two characters", RecordQuery{Text: "没有"}},
		{"word and decision", RecordQuery{Text: "salaries", Decisions: []string{"deny"}}},
	} {
		q := bb.q
		q.Limit = 51
		b.Run("page/"+bb.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := db.Records(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("counts/"+bb.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := db.CountRecords(b.Context(), q, end); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
