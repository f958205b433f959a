package web

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestMetrics(t *testing.T) {
	f := newFixture(t)
	f.audit.broken = errors.New("the file was replaced")
	w := f.do(request("GET", "/metrics", ``))
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Fatalf("status %d, %s", w.Code, w.Header().Get("Content-Type"))
	}
	for _, line := range []string{`datamind_build_info{version="v0.0.0-test"} 1`, "datamind_audit_log_up 0", "datamind_audit_records 8", "go_goroutines "} {
		if !strings.Contains(w.Body.String(), line) {
			t.Errorf("no line %s", line)
		}
	}
}
