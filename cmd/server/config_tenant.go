package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Columns are columns by the name of their table.
type Columns map[string]string

// UnmarshalText reads a JSON object. A table may stand in it once only, in
// whatever case: which of two columns counts would be a matter of luck.
func (c *Columns) UnmarshalText(text []byte) error {
	form := errors.New(`want a JSON object such as {"orders":"tenant_id"}`)
	var m map[string]string
	if err := json.Unmarshal(text, &m); err != nil {
		return form
	}
	seen := map[string]bool{}
	for table, column := range m {
		key := strings.ToLower(table)
		switch {
		case table == "" || column == "":
			return form
		case seen[key]:
			return fmt.Errorf("it has the table %s twice", key)
		}
		seen[key] = true
	}
	*c = m
	return nil
}
