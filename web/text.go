package web

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/datamind/internal/agent"
)

// Bounds of what people type.
const (
	maxText  = agent.MaxText  // bytes of a message
	maxTitle = agent.MaxTitle // characters of a session's title
)

// checkText reports what is wrong with a message. Lines and tabs are part of
// it; other control characters only hide something.
func checkText(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return invalid("%q is empty", "text")
	case len(text) > maxText:
		return errTooLong()
	}
	if i := control(text, "\n\r\t"); i >= 0 {
		return invalid("%q holds a control character at byte %d; take it out", "text", i)
	}
	return nil
}

func errTooLong() error {
	return agent.Errorf(agent.CodeTooLarge, "the message is larger than %d KiB", maxText>>10)
}

// checkTitle returns a session's title, trimmed, or what is wrong with it.
func checkTitle(title string) (string, error) {
	title = strings.TrimSpace(title)
	if utf8.RuneCountInString(title) > maxTitle {
		return "", invalid("%q has to be of at most %d characters", "title", maxTitle)
	}
	if control(title, "") >= 0 {
		return "", invalid("%q has to be one line without control characters", "title")
	}
	return title, nil
}

// control returns where the first control character of s stands that is not
// among allowed, or -1.
func control(s, allowed string) int {
	return strings.IndexFunc(s, func(r rune) bool {
		return unicode.IsControl(r) && !strings.ContainsRune(allowed, r)
	})
}
