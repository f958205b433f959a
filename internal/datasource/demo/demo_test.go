package demo

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"
)

func openDemo(tb testing.TB) (db *sql.DB, path string) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "storage", "demo.db")
	start := time.Now()
	if err := Create(tb.Context(), path); err != nil {
		tb.Fatal(err)
	}
	tb.Logf("made in %v", time.Since(start))
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=ro")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db, path
}

// TestRows checks what schema.sql says about the rows, and that they fit
// together: each query counts what must not be there, or what there is.
func TestRows(t *testing.T) {
	db, _ := openDemo(t)
	for _, test := range []struct {
		query string
		want  int
	}{
		{"SELECT count(*) FROM departments", 8},
		{"SELECT count(*) FROM employees", 1046},
		{"SELECT count(*) FROM employees WHERE status = 'active'", 858},
		{"SELECT count(*) FROM employees WHERE status = 'left'", 188},
		{"SELECT count(*) FROM employees WHERE left_on < '2019-01-01'", 37},
		{"SELECT count(*) FROM employees WHERE left_on = '2018-12-31'", 1},
		{"SELECT count(*) > 0 FROM employees WHERE left_on = '2019-01-01'", 1},
		{"SELECT count(*) FROM employees WHERE manager_id IS NULL", 8},
		{"SELECT count(*) FROM employees e JOIN employees m ON m.id = e.manager_id WHERE m.status = 'left'", 0},
		{"SELECT count(*) FROM employees e JOIN employees m ON m.id = e.manager_id WHERE m.department_id <> e.department_id", 0},
		{"SELECT count(*) FROM employees WHERE joined_on >= left_on", 0},
		{"SELECT count(*) > 100 FROM employees WHERE name_zh IS NULL", 1},
		{"SELECT count(*) FROM employees WHERE NOT json_valid(profile)", 0},
		{"SELECT count(*) FROM salaries WHERE amount <= 0 OR valid_to < valid_from", 0},
		{"SELECT count(*) FROM employees e WHERE status = 'active' AND 1 <> (SELECT count(*) FROM salaries WHERE employee_id = e.id AND valid_to IS NULL)", 0},
		{"SELECT count(*) FROM employees e WHERE status = 'left' AND left_on <> (SELECT max(valid_to) FROM salaries WHERE employee_id = e.id)", 0},
		{"SELECT count(*) FROM salaries s WHERE EXISTS (SELECT 1 FROM salaries o WHERE o.employee_id = s.employee_id AND o.id = s.id + 1 AND date(s.valid_to, '+1 day') <> o.valid_from)", 0},
		{"SELECT count(*) FROM salaries s JOIN employees e ON e.id = s.employee_id WHERE valid_from < joined_on", 0},
		{"SELECT count(*) FROM reviews r JOIN employees e ON e.id = r.employee_id WHERE r.year <= CAST(substr(joined_on, 1, 4) AS INTEGER)", 0},
		{"SELECT count(*) > 0 FROM reviews WHERE comment IS NULL", 1},
		{"SELECT count(*) FROM customers", 600},
		{"SELECT count(DISTINCT city) FROM customers", 14},
		{"SELECT count(*) FROM customers WHERE created_on > '2025-06-30'", 0},
		{"SELECT count(*) FROM customers WHERE preferences IS NOT NULL AND NOT json_valid(preferences)", 0},
		{"SELECT count(*) FROM products", 120},
		{"SELECT count(DISTINCT category) FROM products", 6},
		{"SELECT count(*) FROM products WHERE price <= 0 OR typeof(weight_kg) <> 'text'", 0},
		{"SELECT count(DISTINCT name) FROM products", 120},
		{"SELECT count(*) FROM orders", 20000},
		{"SELECT count(*) FROM orders o WHERE round(total, 2) <> (SELECT round(sum(quantity * unit_price), 2) FROM order_items WHERE order_id = o.id)", 0},
		{"SELECT count(*) FROM orders o JOIN customers c ON c.id = o.customer_id WHERE date(ordered_at) < created_on", 0},
		{"SELECT count(*) FROM orders WHERE ordered_at < '2019-01-01' OR ordered_at >= '2025-07-01'", 0},
		{"SELECT count(*) FROM orders WHERE shipped_on < date(ordered_at)", 0},
		{"SELECT count(DISTINCT substr(ordered_at, 1, 7)) FROM orders", 78},
		{"SELECT count(DISTINCT status) FROM orders", 6},
		{"SELECT count(*) FROM 订单备注", 1500},
		{"SELECT count(DISTINCT 订单编号) FROM 订单备注", 1500},
		{"SELECT count(*) FROM pragma_foreign_key_check", 0},
		{"SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'", 0},
		{"SELECT count(*) FROM monthly_sales", 78},
		{"SELECT count(*) FROM current_salaries", 858},
		{"SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'", 1},
	} {
		var got int
		if err := db.QueryRow(test.query).Scan(&got); err != nil {
			t.Errorf("%s: %v", test.query, err)
		} else if got != test.want {
			t.Errorf("%s: got %d, want %d", test.query, got, test.want)
		}
	}
}

func TestCreateIsRepeatable(t *testing.T) {
	_, one := openDemo(t)
	_, two := openDemo(t)
	a, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(two)
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Error("two demo databases differ")
	}
	entries, err := os.ReadDir(filepath.Dir(one))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "demo.db" && e.Name() != "demo.db-wal" && e.Name() != "demo.db-shm" {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

func TestCreateKeepsWhatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.db")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Create(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "mine" {
		t.Error("an existing file was replaced")
	}
}

func BenchmarkCreate(b *testing.B) {
	for b.Loop() {
		if err := Create(b.Context(), filepath.Join(b.TempDir(), "demo.db")); err != nil {
			b.Fatal(err)
		}
	}
}
