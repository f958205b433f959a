package react

import (
	_ "embed"
	"strings"
)

//go:embed prompt.md
var promptText string

// systemPrompt returns the default prompt for databases of a dialect.
func systemPrompt(dialect string) string {
	return strings.TrimSpace(strings.ReplaceAll(promptText, "{dialect}", dialect))
}
