package sqlguard

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"github.com/xwb1989/sqlparser"
	"google.golang.org/protobuf/proto"
)

// corpus are the statements of files of testdata, but for those too big to store.
func corpus(tb testing.TB, names ...string) []string {
	tb.Helper()
	var texts []string
	for _, name := range names {
		f, err := os.Open(filepath.Join("testdata", name))
		if err != nil {
			tb.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var r struct{ SQL string }
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				tb.Fatalf("%s: %v", name, err)
			}
			texts = append(texts, r.SQL)
		}
		if err := lines.Err(); err != nil {
			tb.Fatal(err)
		}
		_ = f.Close()
	}
	return texts
}

// mustParseAlike compares the tree with that of the parser's own reader.
func mustParseAlike(t *testing.T, text string) {
	t.Helper()
	want, wantErr := pgquery.Parse(text)
	got, err := pgParse(text)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: got %v, want %v", text, err, wantErr)
	}
	if err == nil && !proto.Equal(want, got) {
		t.Fatalf("%q:\n got %v\nwant %v", text, got, want)
	}
}

// TestPostgresTree reads the trees of the corpus as the parser's own reader does.
func TestPostgresTree(t *testing.T) {
	for _, text := range corpus(t, "postgres.jsonl", "own_postgres.jsonl", "mysql.jsonl", "own.jsonl") {
		mustParseAlike(t, text)
	}
	for _, text := range []string{
		"", ";", `SELECT 'a"b\c<d>' || E'\b\f\n\r\t\x01\u00e9' AS "x""y\"`, `SELECT E'\xff'`, "SELECT U&'\\0061' UESCAPE '!'",
		"SELECT 1.5e10, .5, 0x1F, 1_000, B'01', X'ff', TRUE, NULL, 99999999999999999999, -1",
		"SELECT * FROM 订单 WHERE 城市 = '北京'", "SELECT " + strings.Repeat("(", 150) + "1" + strings.Repeat(")", 150),
		"COPY (SELECT 1) TO STDOUT WITH (FORMAT csv)", "SELECT a[1:2], (b).c[:] FROM d", "SELECT 1" + strings.Repeat("+1", 2500),
	} {
		mustParseAlike(t, text)
	}
}

// FuzzPostgresTree is TestPostgresTree for any text that the lexer lets pass.
func FuzzPostgresTree(f *testing.F) {
	fuzzTexts(f)
	f.Fuzz(func(t *testing.T, text string) {
		if _, fault := cut(Postgres, text); fault == "" {
			mustParseAlike(t, text)
		}
	})
}

// TestPostgresTreeBroken reads nothing that the parser would not write.
func TestPostgresTreeBroken(t *testing.T) {
	const whole = `{"version":170007,"stmts":[{"stmt":{"SelectStmt":{"targetList":[{"ResTarget":{"val":{"A_Const":{"sval":{"sval":"\u003e"}}}}}],"limitOption":"LIMIT_OPTION_DEFAULT","op":"SETOP_NONE"}}}]}`
	read := func(text string) bool {
		d, tree := pgReader{text: text}, &pgquery.ParseResult{}
		d.message(pgShapes()[reflect.TypeOf(tree)], reflect.ValueOf(tree).Elem())
		return !d.failed && d.at == len(text)
	}
	if !read(whole) {
		t.Fatal("the whole cannot be read")
	}
	for i := range whole {
		if read(whole[:i]) {
			t.Errorf("%s: was read", whole[:i])
		}
	}
	for _, change := range [][2]string{
		{`"A_Const"`, `"B_Const"`},
		{"SETOP_NONE", "SETOP_SOME"},
		{"170007", "1700070000000"},
		{"170007", "-"},
		{`[{"Res`, `[ {"Res`},
		{`}],"limit`, `},],"limit`},
		{`\u003e`, `\u003`},
		{`"LIMIT_OPTION_DEFAULT"`, "1"},
		{`]}`, `]},`},
	} {
		if text := strings.Replace(whole, change[0], change[1], 1); text == whole || read(text) {
			t.Errorf("%s for %s: was read", change[1], change[0])
		}
	}
}

// TestSecondReaderQueries asks the second reader about what it is not asked
// about: it never minds a query.
func TestSecondReaderQueries(t *testing.T) {
	queries := 0
	for _, text := range corpus(t, "mysql.jsonl", "own_mysql.jsonl") {
		pieces, fault := cut(MySQL, text)
		if fault != "" {
			continue
		}
		for _, p := range pieces {
			want := Reads
			if node, err := sqlparser.ParseStrictDDL(p.bare()); err == nil {
				want, _ = secondOpinion(p, node)
			}
			got, _ := secondReader(p)
			if got != want {
				t.Errorf("%q: got %s, want %s", p.String(), got, want)
			}
			if p.is(0, "SELECT") {
				queries++
			}
		}
	}
	if queries == 0 {
		t.Error("there were no queries")
	}
}
