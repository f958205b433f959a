package sqlguard_test

import (
	"encoding/json"
	"testing"
)

// TestCheck has the lines that `datamind check` prints.
func TestCheck(t *testing.T) {
	j := newJudge(t, schema(t))
	for _, tt := range []struct{ text, want string }{
		{"SELECT id FROM orders", `{"id":"a","decision":"allow","effect":"reads","statements":[{"verb":"SELECT","effect":"reads","tables":["orders"]}],"reason":""}`},
		{"SELECT 1; DELETE FROM orders", `{"id":"a","decision":"ask","effect":"changes","statements":[{"verb":"SELECT","effect":"reads","tables":[]},{"verb":"DELETE","effect":"changes","tables":["orders"]}],"reason":"Deletes rows of orders."}`},
		{"", `{"id":"a","decision":"deny","effect":"unknown","statements":[],"reason":"There is nothing to run: the text is empty or only a comment."}`},
	} {
		got, err := json.Marshal(j.Inspect(t.Context(), tt.text).Check("a", "en"))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != tt.want {
			t.Errorf("%q\n got %s\nwant %s", tt.text, got, tt.want)
		}
	}
}
