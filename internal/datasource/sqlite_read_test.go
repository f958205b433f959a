package datasource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestValues reads every storage class from a column of every declared type: a
// value comes back as it is stored, whatever the column is called.
func TestValues(t *testing.T) {
	declared := []string{
		"", "INTEGER", "INT", "TEXT", "VARCHAR(10)", "BLOB", "REAL", "NUMERIC", "DECIMAL(10,2)",
		"DATE", "DATETIME", "TIMESTAMP", "date", "Timestamp", "BOOLEAN", "boolean", "BOOL", "TIME", "JSON",
	}
	literals := []string{
		"NULL", "0", "1", "-1", "2", "9223372036854775807", "-9223372036854775808", "1700000000", "1700000000000",
		"0.5", "1e300", "9e999", "-9e999", "''", "'text'", "'2024-01-01'", "'2024-01-01T10:00:00Z'", "'not a date'",
		"'12345678901234567890.10'", "'{\"a\": 1}'", "'中文'", "x''", "x'00ff'", "x'323032342d30312d3031'",
	}
	var columns []string
	for i, d := range declared {
		columns = append(columns, fmt.Sprintf("c%d %s", i, d))
	}
	var ddl strings.Builder
	ddl.WriteString("CREATE TABLE v (" + strings.Join(columns, ", ") + ");")
	for _, l := range literals {
		ddl.WriteString("INSERT INTO v VALUES (" + strings.Repeat(l+",", len(declared)-1) + l + ");")
	}
	s := open(t, ddl.String())

	got := read(t, s, "SELECT * FROM v")
	// The same values as expressions, which have no declared type, and how they
	// are stored.
	var plain, classes []string
	for i := range declared {
		plain = append(plain, fmt.Sprintf("iif(1, c%d, NULL)", i))
		classes = append(classes, fmt.Sprintf("typeof(c%d)", i))
	}
	want := read(t, s, "SELECT "+strings.Join(plain, ", ")+" FROM v")
	class := read(t, s, "SELECT "+strings.Join(classes, ", ")+" FROM v")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for i, row := range got {
		for j, v := range row {
			if name := strings.ToLower(cmpOr(storageClass(v), "NULL")); name != class[i][j] {
				t.Errorf("%s in %q: %T, stored as %s", literals[i], declared[j], v, class[i][j])
			}
		}
	}
	if len(got) != len(literals) {
		t.Errorf("%d rows", len(got))
	}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func TestColumnTypes(t *testing.T) {
	s := open(t, "CREATE TABLE t (a DATE, b VARCHAR(3), c); INSERT INTO t VALUES (NULL, 'x', x'00'), ('2024-01-01', 'y', 1);")
	got, err := s.Query(t.Context(), reads("SELECT a, b, c, count(*) OVER () AS n, a || b, NULL, 1.5 FROM t"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Column{
		{"a", "DATE"}, {"b", "VARCHAR(3)"}, {"c", "BLOB"}, {"n", "INTEGER"}, {"a || b", "TEXT"}, {"NULL", ""}, {"1.5", "REAL"},
	}
	if diff := cmp.Diff(want, got[0].Columns); diff != "" {
		t.Error(diff)
	}
}

func TestAppendValue(t *testing.T) {
	for _, test := range []struct {
		value any
		want  string
	}{
		{nil, `null`},
		{int64(0), `0`},
		{int64(9007199254740991), `9007199254740991`},
		{int64(9007199254740992), `"9007199254740992"`},
		{int64(-9007199254740992), `"-9007199254740992"`},
		{int64(math.MinInt64), `"-9223372036854775808"`},
		{0.1, `0.1`},
		{2.0, `2.0`},
		{math.Copysign(0, -1), `-0.0`},
		{1e21, `1e+21`},
		{1e-9, `1e-09`},
		{123456789.125, `123456789.125`},
		{math.Inf(1), `"Infinity"`},
		{math.Inf(-1), `"-Infinity"`},
		{math.MaxFloat64, `1.7976931348623157e+308`},
		{"", `""`},
		{"中\"\n\x00", `"中\"\n\u0000"`},
		{"\xff", `{"blob":"/w=="}`},
		{[]byte{}, `{"blob":""}`},
		{[]byte{0, 255}, `{"blob":"AP8="}`},
	} {
		if got := string(AppendValue(nil, test.value)); got != test.want {
			t.Errorf("%#v: got %s, want %s", test.value, got, test.want)
		}
	}
}

func FuzzAppendValue(f *testing.F) {
	f.Add("text", 0.5, int64(1))
	f.Add("\xff", math.Inf(1), int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, text string, number float64, integer int64) {
		var row []any
		b := appendRow(nil, []any{text, []byte(text), number, integer})
		if err := json.Unmarshal(b, &row); err != nil || len(row) != 4 {
			t.Fatalf("%s: %v", b, err)
		}
		if back, ok := row[2].(float64); ok && back != number {
			t.Errorf("%v came back as %v", number, back)
		}
	})
}

const counting = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 10000000) SELECT x, 'row ' || x FROM n"

func TestRowCap(t *testing.T) {
	s := open(t, "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3);")
	for _, test := range []struct {
		rows      int
		want      int
		truncated bool
	}{{2, 2, true}, {3, 3, false}, {4, 3, false}} {
		got, err := s.Query(t.Context(), reads("SELECT a FROM t"), Options{MaxRows: test.rows})
		if err != nil {
			t.Fatal(err)
		}
		if len(got[0].Values) != test.want || got[0].Truncated != test.truncated {
			t.Errorf("at most %d: %d rows, truncated %t", test.rows, len(got[0].Values), got[0].Truncated)
		}
	}
}

// TestTenMillionRows reads the first rows of a result that would not fit.
func TestTenMillionRows(t *testing.T) {
	s := open(t, "CREATE TABLE t (a);")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	got, err := s.Query(t.Context(), reads(counting), Options{})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if len(got[0].Values) != 1000 || !got[0].Truncated {
		t.Errorf("%d rows, truncated %t", len(got[0].Values), got[0].Truncated)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("allocated %d bytes", used)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("took %v", took)
	}
}

func TestByteCap(t *testing.T) {
	s := open(t, "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, printf('%.*c', 400, 'x')), (2, printf('%.*c', 400, 'y')), (3, 'z');")
	got, err := s.Query(t.Context(), reads("SELECT * FROM t"), Options{MaxBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if len(got[0].Values) != 3 {
		t.Errorf("%d rows fit", len(got[0].Values))
	}
	got, err = s.Query(t.Context(), reads("SELECT * FROM t"), Options{MaxBytes: 700})
	if err != nil {
		t.Fatal(err)
	}
	if len(got[0].Values) != 1 || !got[0].Truncated {
		t.Errorf("%d rows, truncated %t", len(got[0].Values), got[0].Truncated)
	}
	_, err = s.Query(t.Context(), reads("SELECT * FROM t"), Options{MaxBytes: 300})
	if err == nil || !strings.Contains(err.Error(), "select fewer columns") {
		t.Errorf("one row too large: %v", err)
	}
	// All statements of a call share the bytes.
	_, err = s.Query(t.Context(), reads("SELECT * FROM t WHERE a = 1", "SELECT * FROM t WHERE a = 2"), Options{MaxBytes: 700})
	if err == nil {
		t.Error("a second result went over the bytes of the call")
	}
}

// TestHugeValues asks for more memory than there may be.
func TestHugeValues(t *testing.T) {
	s := open(t, "CREATE TABLE t (a);")
	wide := "SELECT " + strings.Repeat("zeroblob(15000000) || '', ", 1000) + "1"
	for _, query := range []string{
		"SELECT zeroblob(1000000000)",
		"SELECT printf('%.*c', 1000000000, 'x')",
		"SELECT group_concat(hex(zeroblob(10000000))) FROM (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3)",
		wide,
		"WITH RECURSIVE g(x) AS (SELECT 'x' UNION ALL SELECT x || x FROM g) SELECT max(length(x)) FROM g",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := s.Query(t.Context(), reads(query), Options{})
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%.60s: no error", query)
			continue
		}
		if text := err.Error(); !strings.Contains(text, "larger than") && !strings.Contains(text, "more memory") {
			t.Errorf("%.60s: %v", query, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > maxHeap {
			t.Errorf("%.60s: allocated %d bytes", query, used)
		}
	}
	if got := readInt(t, s, "SELECT 1"); got != 1 { // the connections are still good
		t.Error(got)
	}
}

const endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT "

func TestTimeoutAndStop(t *testing.T) {
	s := open(t, company)
	for _, query := range []string{
		endless + "count(*) FROM n",             // in the first step
		endless + "x FROM n WHERE x % 1000 < 0", // that never has a row
		endless + "x FROM n ORDER BY x",
	} {
		start := time.Now()
		_, err := s.Query(t.Context(), reads(query), Options{Timeout: 100 * time.Millisecond})
		if !errors.Is(err, ErrTimeout) || !strings.Contains(err.Error(), "stopped after 100ms") {
			t.Errorf("%s: %v", query, err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("%s: took %v", query, took)
		}

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		start = time.Now()
		_, err = s.Query(ctx, reads(query), Options{})
		if !errors.Is(err, context.Canceled) || errors.Is(err, ErrTimeout) {
			t.Errorf("%s: %v", query, err)
		}
		if took := time.Since(start); took > 500*time.Millisecond {
			t.Errorf("%s: stopped after %v", query, took)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Query(ctx, reads("SELECT 1"), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// TestStopAtAnyTime stops a query that never ends at moments all around its
// beginning: an interrupt that comes too early must not be lost.
func TestStopAtAnyTime(t *testing.T) {
	s := open(t, company)
	var late []time.Duration
	for i := range 300 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*2*time.Microsecond)
		start := time.Now()
		_, err := s.Query(ctx, reads(endless+"count(*) FROM n"), Options{})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("stopped after %d µs: %v", 2*i, err)
		}
		late = append(late, time.Since(start))
	}
	slices.Sort(late)
	t.Logf("stopped within %v (median), %v (most)", late[len(late)/2], late[len(late)-1])
	if late[len(late)-1] > 2*time.Second {
		t.Errorf("stopped after %v", late[len(late)-1])
	}
}

// TestCompilingIsBounded compiles views that use each other twice, 13 deep,
// which takes the engine long.
func TestCompilingIsBounded(t *testing.T) {
	var ddl strings.Builder
	ddl.WriteString("CREATE VIEW v0 AS SELECT 1 AS a;")
	for i := range 13 {
		fmt.Fprintf(&ddl, "CREATE VIEW v%d AS SELECT x.a FROM v%d x JOIN v%d y ON x.a = y.a;", i+1, i, i)
	}
	s := open(t, ddl.String())
	start := time.Now()
	if _, err := s.Query(t.Context(), reads("SELECT * FROM v13"), Options{}); err == nil {
		t.Error("no error")
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestPlaceholders(t *testing.T) {
	s := open(t, company)
	if _, err := s.Query(t.Context(), reads("SELECT * FROM pairs WHERE id = ?"), Options{}); err == nil || !strings.Contains(err.Error(), "placeholder") {
		t.Error(err)
	}
}

func TestExplain(t *testing.T) {
	s := open(t, company)
	for _, text := range []string{
		"EXPLAIN QUERY PLAN SELECT * FROM pairs", "explain delete from pairs", " -- x\n/* y */ EXPLAIN DROP TABLE pairs",
	} {
		got, err := s.Query(t.Context(), reads(text), Options{})
		if err != nil || len(got[0].Values) == 0 {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"EXPLAIN ATTACH 'x' AS y", "EXPLAIN PRAGMA journal_mode = DELETE", "/* EXPLAIN */ DELETE FROM pairs", "EXPLAINx", "EXPLAIN"} {
		if _, err := s.Query(t.Context(), reads(text), Options{}); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
	if n := readInt(t, s, "SELECT count(*) FROM pairs"); n != 3 {
		t.Errorf("%d rows left", n)
	}
}
