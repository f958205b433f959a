package views

import (
	"context"
	"html"
	"io"
	"time"

	"github.com/a-h/templ"

	"example.com/datamind/web/i18n"
)

// places are what fills the places of a text that holds more than words.
type places map[string]templ.Component

// rich writes a text with components in its places. args choose its plural form.
func rich(t *i18n.Texts, key string, fill places, args ...any) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		for _, p := range t.Parts(key, args...) {
			if c := fill[p.Place]; c != nil {
				if err := c.Render(ctx, w); err != nil {
					return err
				}
				continue
			}
			text := p.Words
			if p.Place != "" {
				text = filled(args, p.Place)
			}
			if _, err := io.WriteString(w, html.EscapeString(text)); err != nil {
				return err
			}
		}
		return nil
	})
}

// filled returns the argument for a place as text.
func filled(args []any, place string) string {
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] != place {
			continue
		}
		switch v := args[i+1].(type) {
		case string:
			return v
		case int:
			return i18n.Number(int64(v))
		case int64:
			return i18n.Number(v)
		case uint64:
			return i18n.Number(int64(v)) //nolint:gosec // counts of records and rows
		}
	}
	return "{" + place + "}"
}

// utc is how the server writes a time of day; the browser puts the viewer's
// own zone in its place.
func utc(at time.Time, form string) string {
	at = at.UTC()
	switch form {
	case "time":
		return at.Format("15:04:05 UTC")
	case "short":
		return at.Format("15:04 UTC")
	case "day":
		return at.Format("2006-01-02")
	default:
		return at.Format("2006-01-02 15:04:05 UTC")
	}
}
