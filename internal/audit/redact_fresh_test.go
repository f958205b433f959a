package audit_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"example.com/datamind/internal/audit"
)

// A redactionCase is a row of testdata/redaction_fresh.jsonl: a text, or a JSON
// value in canonical form, and the part of it that must not survive. Without a
// secret it is a trap, which must stay as it is.
type redactionCase struct {
	ID     string          `json:"id"`
	PII    bool            `json:"pii"`
	In     json.RawMessage `json:"in"`
	Secret *string         `json:"secret"`
	// Known says why a row can't be told apart; it is counted and not demanded.
	Known string `json:"known,omitempty"`
}

// redact runs the row through r and returns what went in and what came out.
func (c *redactionCase) redact(t *testing.T, r *audit.Redactor) (in, out string) {
	t.Helper()
	if c.In[0] != '"' {
		return string(c.In), string(r.JSON(c.In))
	}
	if err := json.Unmarshal(c.In, &in); err != nil {
		t.Fatalf("%s: %v", c.ID, err)
	}
	return in, r.Text(in)
}

// TestFreshRedactions runs rows that were written without knowledge of the rules.
// When they were first run, the rules missed 34 of 209 secrets and changed 15 of
// 227 traps. A second batch (b…), in other words, was written after the kinds of
// those were mended and met 3 misses of 35 and 2 false alarms of 57. The rows
// have become tests since and measure nothing any more.
func TestFreshRedactions(t *testing.T) {
	data, err := os.ReadFile("testdata/redaction_fresh.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	redactors := map[bool]*audit.Redactor{}
	for _, pii := range []bool{false, true} {
		if redactors[pii], err = audit.NewRedactor(pii); err != nil {
			t.Fatal(err)
		}
	}
	var secrets, traps, misses, alarms, known int
	for rows := bufio.NewScanner(bytes.NewReader(data)); rows.Scan(); {
		var c redactionCase
		if err := json.Unmarshal(rows.Bytes(), &c); err != nil {
			t.Fatalf("%v in %s", err, rows.Text())
		}
		in, out := c.redact(t, redactors[c.PII])
		var failed bool
		if c.Secret == nil {
			traps++
			if failed = out != in; failed {
				alarms++
			}
		} else {
			if !strings.Contains(in, *c.Secret) {
				t.Fatalf("%s: the secret is not in the text", c.ID)
			}
			secrets++
			if failed = strings.Contains(out, *c.Secret); failed {
				misses++
			}
		}
		switch {
		case failed && c.Known != "":
			known++
		case failed:
			t.Errorf("%s, personal data %t:\n%s\nbecame\n%s", c.ID, c.PII, in, out)
		case c.Known != "":
			t.Errorf("%s is right now; it needs no %q any more", c.ID, c.Known)
		}
	}
	t.Logf("%d misses of %d secrets, %d false alarms of %d traps, %d of them known", misses, secrets, alarms, traps, known)
}
