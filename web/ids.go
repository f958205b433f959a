package web

import (
	"strings"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
)

// The prefixes of public ids.
const (
	sessionPrefix  = "ses_"
	approvalPrefix = "apr_"
)

// pathID returns the id in a request's path. What can't be one is not looked up.
func pathID(c echo.Context, prefix string) (string, error) {
	id := c.Param("id")
	if !validID(id, prefix) {
		return "", agent.Errorf(agent.CodeNotFound, "there is nothing of this id")
	}
	return id, nil
}

// validID reports whether id is prefix and 128 bits in lower-case hexadecimal.
func validID(id, prefix string) bool {
	hex, ok := strings.CutPrefix(id, prefix)
	const digits = 32
	if !ok || len(hex) != digits {
		return false
	}
	return strings.Trim(hex, "0123456789abcdef") == ""
}
