package react

import (
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
)

// TestDialectOfSession holds that the prompt names the dialect of the session's
// own data source.
func TestDialectOfSession(t *testing.T) {
	e := &Engine{cfg: Config{Window: defaultWindow, Dialect: func(source string) string { return "the dialect of " + source }}}
	in := []*schema.Message{schema.UserMessage("How many?")}
	for _, source := range []string{"shop", "crm"} {
		out := e.prepare(e.forSource(t.Context(), source), in)
		if len(out) != 2 || !strings.Contains(out[0].Content, "the dialect of "+source+" database") {
			t.Errorf("%s: %q", source, out[0].Content)
		}
	}
	e.cfg.System = "as configured"
	if out := e.prepare(e.forSource(t.Context(), "shop"), in); out[0].Content != "as configured" {
		t.Errorf("%q", out[0].Content)
	}
}
