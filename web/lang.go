package web

import (
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
)

// The languages that there are texts in.
const (
	english = "en"
	chinese = "zh-Hans"
)

// langCookie is the cookie that holds a person's choice.
const langCookie = "lang"

// lang returns the language that the person behind a request reads: the one
// that they chose, else the one that their browser prefers, else English.
func lang(c echo.Context) string {
	if cookie, err := c.Cookie(langCookie); err == nil {
		if l := language(cookie.Value); l != "" {
			return l
		}
	}
	return preferred(c.Request().Header.Get("Accept-Language"))
}

// language returns the language that the tag stands for, or "". Whoever reads
// any Chinese is better served by ours than by English.
func language(tag string) string {
	primary, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
	switch primary {
	case "en":
		return english
	case "zh":
		return chinese
	default:
		return ""
	}
}

// preferred returns the language of the highest weight in an Accept-Language
// header. Of equal weights the first one counts.
func preferred(header string) string {
	const most = 32 // entries that are looked at; browsers send a handful
	best, weight := english, 0.0
	n := 0
	for entry := range strings.SplitSeq(header, ",") {
		if n++; n > most {
			break
		}
		tag, params, _ := strings.Cut(entry, ";")
		l, q := language(tag), 1.0
		if v, ok := strings.CutPrefix(strings.TrimSpace(params), "q="); ok {
			f, err := strconv.ParseFloat(v, 64)
			if err != nil || f < 0 || f > 1 {
				continue
			}
			q = f
		}
		if l != "" && q > weight {
			best, weight = l, q
		}
	}
	return best
}
