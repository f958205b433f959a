package dbtest

import (
	"strings"
	"testing"
)

func TestServers(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(testing.TB, string) Database
	}{{"postgres", Postgres}, {"mariadb", MariaDB}} {
		t.Run(test.name, func(t *testing.T) {
			d := test.make(t, "CREATE TABLE 订单 (id INT PRIMARY KEY); INSERT INTO 订单 VALUES (1), (2)")
			if got := d.Run(t, "SELECT id, id + 1 FROM 订单 ORDER BY id"); got != "1\t2\n2\t3\n" {
				t.Errorf("got %q", got)
			}
			before := d.Dump(t)
			if !strings.Contains(before, "订单") || before != d.Dump(t) {
				t.Error("a dump is not the same twice")
			}
			d.Run(t, "DELETE FROM 订单 WHERE id = 2")
			if before == d.Dump(t) {
				t.Error("a dump does not show that a row is gone")
			}
			d.Run(t, "CREATE TABLE base (a INT, b INT); CREATE VIEW v AS SELECT a, b FROM base")
			before = d.Dump(t)
			d.Run(t, "ALTER TABLE base DROP COLUMN b CASCADE")
			if before == d.Dump(t) {
				t.Error("a dump does not show that a view is broken")
			}
		})
	}
}
