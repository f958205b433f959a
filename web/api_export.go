package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
)

// GET /api/sessions/:id/export: the conversation as Markdown
func (s *Server) exportSession(c echo.Context) error {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return err
	}
	snapshot, err := s.cfg.History.Snapshot(c.Request().Context(), user(c), id)
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Disposition", `attachment; filename="`+id+`.md"`)
	return c.Blob(http.StatusOK, "text/markdown; charset=utf-8", exportOf(snapshot))
}

// exportOf writes a conversation down. What was said is quoted as it is; calls
// and their results stand in code blocks.
func exportOf(s agent.Snapshot) []byte {
	var b strings.Builder
	title := s.Session.Title
	if title == "" {
		title = s.Session.ID
	}
	fmt.Fprintf(&b, "# %s\n\n%s, %s\n", title, s.Session.Source, s.Session.Created.UTC().Format(time.RFC3339))
	for _, m := range s.Messages {
		fmt.Fprintf(&b, "\n## %s, %s\n", m.Role, m.At.UTC().Format(time.RFC3339))
		switch {
		case m.Role == agent.RoleTool:
			b.WriteString("\n" + fenced("json", m.Text))
		case m.Text != "":
			b.WriteString("\n" + m.Text + "\n")
		}
		for _, call := range m.Calls {
			fmt.Fprintf(&b, "\n`%s`\n\n%s", call.Tool, fenced("json", string(call.Args)))
		}
	}
	return []byte(b.String())
}

// fenced is text as a code block, with a fence that text can't close.
func fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + text + "\n" + fence + "\n"
}
