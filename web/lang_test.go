package web

import (
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
)

func TestLang(t *testing.T) {
	tests := []struct{ cookie, header, want string }{
		{"", "", english},
		{"", "en-US,en;q=0.9", english},
		{"", "zh-CN,zh;q=0.9,en;q=0.8", chinese},
		{"", "zh-TW", chinese},
		{"", "ZH-hans", chinese},
		{"", "fr, zh;q=0.5, en;q=0.4", chinese},
		{"", "en;q=0.4, zh;q=0.5", chinese},
		{"", "en, zh", english},
		{"", "zh;q=0, en;q=0.1", english},
		{"", "zh;q=2, en;q=0.1", english},
		{"", "zh;q=x", english},
		{"", "zh;q=NaN", english},
		{"", "*", english},
		{"", "zhx", english},
		{"", ";;;,,,q=1", english},
		{"", strings.Repeat("fr,", 100) + "zh", english}, // nobody asks for so many
		{"zh-Hans", "en", chinese},
		{"zh", "en", chinese},
		{"en", "zh", english},
		{"fr", "zh", chinese},
		{"../../etc", "zh", chinese},
	}
	for _, tt := range tests {
		r := request("GET", "/", "", "Accept-Language", tt.header)
		if tt.cookie != "" {
			r.Header.Set("Cookie", "lang="+tt.cookie)
		}
		if got := lang(echo.New().NewContext(r, nil)); got != tt.want {
			t.Errorf("cookie %q, header %.40q: %s, want %s", tt.cookie, tt.header, got, tt.want)
		}
	}
}
