package react

import (
	"strconv"

	"github.com/cloudwego/eino/schema"
)

// callIDs gives the calls of a turn IDs that no two of them share.
type callIDs struct {
	used map[string]bool
	next int
}

// maxCallID bounds a model's own call IDs, in bytes.
const maxCallID = 128

// name gives every call of m an ID: the model's own, or one of ours where it
// gave none or one that the turn has seen.
func (c *callIDs) name(m *schema.Message) {
	for i := range m.ToolCalls {
		m.ToolCalls[i].ID = c.take(m.ToolCalls[i].ID)
	}
}

func (c *callIDs) take(id string) string {
	if c.used == nil {
		c.used = map[string]bool{}
	}
	for !plain(id) || c.used[id] {
		c.next++
		id = "call_" + strconv.Itoa(c.next)
	}
	c.used[id] = true
	return id
}

// plain reports whether id is fit for logs, events and the model's server.
func plain(id string) bool {
	if id == "" || len(id) > maxCallID {
		return false
	}
	for _, r := range id {
		if r <= ' ' || r > '~' {
			return false
		}
	}
	return true
}
