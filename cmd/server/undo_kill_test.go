package main

import (
	"math/rand/v2"
	"testing"
	"time"
)

// undoKills is how often the server is killed, around the write and around its
// undo in turn.
const undoKills = 6

// TestUndoKilled kills the server around a confirmed write and around its undo:
// the rows are all as they were before or all as they were after, an undo that is
// open leads back exactly, and nothing is undone twice.
func TestUndoKilled(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	const rows = 40
	p, kill := spawnProduct(t, dir)
	defer func() { kill() }()
	count := func(where string) int64 { return p.count(t, "SELECT count(*) FROM products WHERE id <= 40 AND "+where) }
	again := func() {
		time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
		kill()
		p, kill = spawnProduct(t, dir)
	}
	for round := range undoKills {
		session := p.open(t)
		before := p.count(t, "SELECT sum(stock * id) FROM products")
		write := p.ask(t, session, "UPDATE products SET stock = stock + 100000 WHERE id <= 40").one(t, "hook_asks_user")
		p.decide(t, write)
		if round%2 == 0 {
			again()
		}
		p.waitSettled(t, session)
		p.mustVerify(t)
		written := count("stock >= 100000")
		if written != 0 && written != rows {
			t.Fatalf("round %d: %d rows are written", round, written)
		}
		id := p.openUndo(t, session)
		if id == "" {
			if written == rows { // killed between the commit and the note: no undo, but no wrong one
				execIn(t, p.demoDB(), "UPDATE products SET stock = stock - 100000 WHERE id <= 40")
			}
			continue
		}
		if written != rows {
			t.Fatalf("round %d: what was not written can be undone", round)
		}
		p.decide(t, p.undo(t, session, id))
		if round%2 == 1 {
			again()
		}
		p.waitSettled(t, session)
		p.mustVerify(t)
		if n := count("stock >= 100000"); n != 0 && n != rows {
			t.Fatalf("round %d: %d rows are undone", round, rows-n)
		}
		if u := p.undoShown(t, id); count("stock >= 100000") == rows {
			if u.State != "open" {
				t.Fatalf("round %d: not undone, and %s", round, u.State)
			}
			p.decide(t, p.undo(t, session, id))
			p.waitSettled(t, session)
		}
		if got := p.count(t, "SELECT sum(stock * id) FROM products"); got != before {
			t.Fatalf("round %d: the rows are not as they were", round)
		}
		p.do(t, "POST", "/api/undo/"+id, nil, 409) // whatever the store knows of it
	}
}

// decide confirms a question without waiting for what comes of it.
func (p *product) decide(t *testing.T, q event) {
	t.Helper()
	p.do(t, "POST", "/api/approvals/"+q.Approval, map[string]string{"decision": "confirm", "digest": q.Digest, "typed": q.Typed}, 200)
}

// openUndo is the undo that the last result of a session offers, "" for none.
func (p *product) openUndo(t *testing.T, session string) string {
	t.Helper()
	id := ""
	for _, e := range p.events(t, session).all("turn.tool_result") {
		if e.Status == "ok" {
			id, _ = undoOf(t, e)
		}
	}
	return id
}
