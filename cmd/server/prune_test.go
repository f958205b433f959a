package main

import (
	"path/filepath"
	"testing"
	"time"
)

// Events that are old enough leave the stream; what pages show of them stays as
// it was, to the letter.
func TestPrunedPagesStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := resumeTalk(t, dir, nil, calls(query("c1", "SELECT name FROM staff WHERE id < 3"), query("c2", fire)), says("Confirm, please. It is **ten**."))
	session := k.open(t)
	q := k.ask(t, session, "clean up").one(t, "hook_asks_user")
	k.model.Add(says("They are gone."))
	k.answer(t, q, "confirm").mustComplete(t)
	k.waitSettled(t, session)
	_, before := k.page(t, "/sessions/"+session+"/transcript")
	last := fetch[struct {
		ID uint64 `json:"last_event_id"`
	}](t, k.product, "GET", "/api/sessions/"+session, nil, 200).ID
	k.stop(t)

	own := filepath.Join(dir, "storage", "default", "datamind.db")
	execIn(t, own, `UPDATE events SET at = at - 31 * 86400000000`)
	k.product = serveProduct(t, dir, talkEnv(k.model, k.db)...)
	for end := time.Now().Add(patience); countIn(t, own, `SELECT count(*) FROM events`) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing is pruned")
		}
	}
	if _, after := k.page(t, "/sessions/"+session+"/transcript"); after != before {
		t.Errorf("the transcript was\n%s\nand is\n%s", before, after)
	}
	s := k.stream(t, session, last-1)
	defer s.close()
	if e := s.next(t); e.Name != "stream.reset" {
		t.Errorf("behind a pruned event comes %s", e.Name)
	}
	k.model.Add(says("Hello."))
	s.turn(t, k.submit(t, session, "hello")).mustComplete(t)
}
