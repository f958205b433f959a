package main

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Sources are data sources by name.
type Sources map[string]SourceAddress

// A SourceAddress is where a data source is. In the setting it is one address
// or, for two accounts, {"reader":"…","writer":"…"}.
type SourceAddress struct {
	Reader Secret `json:"reader"` // empty: the writer reads, too
	Writer Secret `json:"writer"`
}

// UnmarshalText reads a JSON object. Its errors do not repeat the text, which
// may hold passwords.
func (s *Sources) UnmarshalText(text []byte) error {
	var m map[string]SourceAddress
	if err := json.Unmarshal(text, &m); err != nil {
		return errors.New(`want a JSON object such as {"name":"sqlite:/path/to.db"} or {"name":{"reader":"postgres://…","writer":"postgres://…"}}`)
	}
	for name := range m {
		if name == "" {
			return errors.New("a data source has no name")
		}
	}
	*s = m
	return nil
}

// UnmarshalJSON reads an address or two of them.
func (a *SourceAddress) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &a.Writer) == nil && a.Writer != "" {
		return nil
	}
	type plain SourceAddress
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode((*plain)(a)); err != nil {
		return err
	}
	if a.Reader == "" || a.Writer == "" {
		return errors.New("want both reader and writer")
	}
	return nil
}
