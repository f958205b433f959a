package audit

import "encoding/json"

// lint notes what is in a sound record, and yet may be read in two ways.
func (c *chain) lint(seq uint64, f facts) {
	var r struct {
		Args     json.RawMessage `json:"args"`
		Original json.RawMessage `json:"original_args"`
		Trail    json.RawMessage `json:"trail"`
		Result   json.RawMessage `json:"result"`
	}
	if json.Unmarshal(f.raw, &r) != nil {
		c.report.note(seq, lintKeys, "the record is not JSON")
		return
	}
	for _, raw := range []json.RawMessage{r.Args, r.Original, r.Trail, r.Result} {
		if len(raw) == 0 {
			continue
		}
		if _, err := parseJSON(raw); err != nil {
			c.report.note(seq, lintKeys, err.Error())
		}
	}
}
