package sqlguard_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/datamind/internal/sqlguard"
)

func TestPlainWrite(t *testing.T) {
	j, err := sqlguard.NewJudge(sqlguard.Postgres, nil)
	if err != nil {
		t.Fatal(err)
	}
	table := sqlguard.ImageTable{Schema: "s", Name: `T "1"`, Columns: []string{"a", `b "2"`}, Key: []string{"a"}, Most: 9}
	for _, test := range []struct {
		text  string
		want  sqlguard.Write
		added string // behind the text
	}{
		{
			`UPDATE s."T ""1""" AS x SET (b, c) = (1, 2), d[1] = 3 WHERE a = 1 -- end`,
			sqlguard.Write{Verb: "UPDATE", Schema: "s", Table: `T "1"`, Sets: []string{"b", "c", "d"}},
			"\nRETURNING " + `(SELECT left(CAST(ROW(datamind_old."a", datamind_old."b ""2""") AS text), 10) FROM ONLY "s"."T ""1""" AS datamind_old WHERE datamind_old."a" = "x"."a"), left(CAST(ROW("x"."a", "x"."b ""2""") AS text), 10)`,
		},
		{
			"WITH q AS (SELECT 1) DELETE FROM t USING q RETURNING *",
			sqlguard.Write{Verb: "DELETE", Table: "t"},
			"\n, " + `left(CAST(ROW("t"."a", "t"."b ""2""") AS text), 10), CAST(NULL AS text)`,
		},
		{
			"INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
			sqlguard.Write{Verb: "INSERT", Table: "t"},
			"\nRETURNING " + `CAST(NULL AS text), left(CAST(ROW("t"."a", "t"."b ""2""") AS text), 10)`,
		},
		{
			"INSERT INTO t AS u (a) SELECT 1 ON CONFLICT (a) DO UPDATE SET b = 2",
			sqlguard.Write{Verb: "INSERT", Table: "t", Upserts: true, Sets: []string{"b"}},
			"\nRETURNING " + `(SELECT left(CAST(ROW(datamind_old."a", datamind_old."b ""2""") AS text), 10) FROM ONLY "s"."T ""1""" AS datamind_old WHERE datamind_old."a" = "u"."a"), left(CAST(ROW("u"."a", "u"."b ""2""") AS text), 10)`,
		},
		{text: "SELECT 1"},
		{text: "TRUNCATE t"},
		{text: "DELETE FROM t; DELETE FROM u"},
		{text: "WITH q AS (DELETE FROM u RETURNING *) DELETE FROM t USING q"},
		{text: "MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE"},
		{text: "EXPLAIN ANALYZE DELETE FROM t"},
		{text: "DELETE FROM t AS datamind_old"},
		{text: "DELETE FROM other.s.t"},
		{text: "DELETE FROM"},
		{text: ""},
	} {
		w, ok := j.PlainWrite(test.text)
		if diff := cmp.Diff(test.want, w); diff != "" || ok != (w.Verb != "") {
			t.Errorf("%s: %t, %s", test.text, ok, diff)
		}
		text, ok := j.WithImages(test.text, table)
		want := ""
		if test.added != "" {
			want = test.text + test.added
		}
		if ok != (want != "") || ok && text != want {
			t.Errorf("%s: got %t:\n%s\nwant\n%s", test.text, ok, text, want)
		}
	}
	if j, err = sqlguard.NewJudge(sqlguard.MySQL, nil); err != nil {
		t.Fatal(err)
	}
	if _, ok := j.PlainWrite("DELETE FROM t"); ok {
		t.Error("MySQL has it")
	}
}
