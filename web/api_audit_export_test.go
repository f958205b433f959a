package web

import (
	"net/http"
	"strings"
	"testing"
)

func TestExportRecords(t *testing.T) {
	f := newFixture(t)
	w := f.do(request("GET", "/api/audit/export?format=csv&tool=db_query_sql", ``))
	lines := strings.Split(strings.TrimSuffix(w.Body.String(), "\r\n"), "\r\n")
	if w.Code != http.StatusOK || len(lines) != 3 || lines[0] != "\ufeff"+strings.Join(auditColumns(), ",") {
		t.Fatalf("status %d: %q", w.Code, w.Body)
	}
	if f.audit.filter.Tool != "db_query_sql" {
		t.Errorf("filter %+v", f.audit.filter)
	}
	if n := len(auditCells(testRecord)); n != len(auditColumns()) {
		t.Errorf("%d cells, %d columns", n, len(auditColumns()))
	}
	if !strings.HasSuffix(lines[1], ",ff") {
		t.Errorf("the line does not end in the hash: %s", lines[1])
	}
	w = f.do(request("GET", "/api/audit/export?format=jsonl", ``))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/x-ndjson" || !strings.Contains(w.Body.String(), `"record_hash":"ff"`) {
		t.Errorf("status %d, %s: %s", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	if w = f.do(request("GET", "/api/audit/export?format=xml", ``)); w.Code != http.StatusBadRequest {
		t.Errorf("a format that is none: status %d", w.Code)
	}
}
