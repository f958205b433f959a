package web

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"
	"time"
)

func TestAuditFilter(t *testing.T) {
	f := newFixture(t)
	w := f.do(request("GET", "/api/audit?q=%E5%88%A0+DELETE&session="+testSession.ID+"&tool=db_query_sql&hook=row_limit"+
		"&decision=ask_user&decision=deny&after=3&since=2026-03-04&until=2026-03-05T10:00:00%2B08:00&before=100&limit=20", ""))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	got := f.audit.filter
	if !got.Until.Equal(time.Date(2026, 3, 5, 2, 0, 0, 0, time.UTC)) || !got.Since.Equal(time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("from %v until %v", got.Since, got.Until)
	}
	got.Since, got.Until = time.Time{}, time.Time{}
	want := RecordFilter{
		Text: "删 DELETE", Session: testSession.ID, Tool: "db_query_sql", Hook: "row_limit",
		Decisions: []string{"ask_user", "deny"}, Before: 100, After: 3, Limit: 20,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("filter %+v, want %+v", got, want)
	}
	f.do(request("GET", "/api/audit", ""))
	if !reflect.DeepEqual(f.audit.filter, RecordFilter{Limit: pageRecords}) {
		t.Errorf("without parameters: %+v", f.audit.filter)
	}
}

func TestAuditFacets(t *testing.T) {
	f := newFixture(t)
	w := f.do(request("GET", "/api/audit/facets?q=DELETE&decision=deny", ""))
	var got facets
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s, %v", w.Code, w.Body, err)
	}
	if got.Total != 2 || got.Decisions["allow"] != 2 || got.Tools["db_query_sql"] != 2 || got.Hooks["row_limit"] != 1 {
		t.Errorf("counts %+v", got)
	}
	last := got.Times[len(got.Times)-1]
	if len(got.Times) != 48 || last.Decisions["allow"] != 2 || time.Since(last.At) > stripStep || last.At.Sub(got.Times[0].At) != 47*stripStep {
		t.Errorf("%d half hours, the last %v", len(got.Times), last)
	}
}
