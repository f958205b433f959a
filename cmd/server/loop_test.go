package main

import (
	"strings"
	"testing"
)

// A model that makes the same denied call again and again is stopped at the third
// time, whatever it says between; the page says why.
func TestLoopBreaker(t *testing.T) {
	t.Parallel()
	const drop = "DROP DATABASE demo"
	k := serveTalk(t, nil, calls(query("a", drop)), calls(query("b", drop)), calls(query("c", "SELECT 1"), query("d", drop)), says("I give up."))
	session := k.open(t)
	es := k.ask(t, session, "drop it")
	if e := es.one(t, "turn.failed"); e.Code != "loop" || !strings.Contains(e.Message, "three times") || !strings.Contains(e.Message, "db_query_sql") {
		t.Errorf("%s %q", e.Code, e.Message)
	}
	if got := es.statuses(); got != "denied denied ok denied" || len(k.model.Requests()) != 3 {
		t.Errorf("%s after %d requests", got, len(k.model.Requests()))
	}
	said := 0
	for _, r := range k.records(t, session) {
		if r.Kind == "hook.decision" && strings.Contains(r.Reason, "three times") {
			said++
		}
	}
	if said != 1 {
		t.Errorf("%d records say that the turn was ended", said)
	}
	if _, page := k.page(t, "/sessions/"+session); !strings.Contains(page, "The run was ended: The same call") {
		t.Error("the page does not say why the turn ended")
	}
	// The next turn counts anew.
	k.model.Add(calls(query("a", drop)), says("Denied."))
	k.ask(t, session, "again").mustComplete(t)
	k.mustEnd(t, session)
	k.mustTally(t, session)
}
