package static

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"maps"
	"math"
	"regexp"
	"strconv"
	"testing"
)

// block returns the custom properties that a rule of a style sheet sets.
func block(t *testing.T, file, selector string) map[string]string {
	t.Helper()
	css, err := Files.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rule := regexp.MustCompile(`(?s)` + regexp.QuoteMeta(selector) + `\s*\{(.*?)\}`).FindSubmatch(css)
	if rule == nil {
		t.Fatalf("%s has no rule for %s", file, selector)
	}
	tokens := map[string]string{}
	for _, m := range regexp.MustCompile(`--([\w-]+):\s*([^;]+);`).FindAllSubmatch(rule[1], -1) {
		tokens[string(m[1])] = string(m[2])
	}
	return tokens
}

func themes(t *testing.T) map[string]map[string]string {
	t.Helper()
	light := block(t, "tokens.css", ":root")
	dark := maps.Clone(light)
	maps.Copy(dark, block(t, "tokens.css", `[data-theme="dark"]`))
	return map[string]map[string]string{"light": light, "dark": dark}
}

func TestAutomaticThemeIsTheDarkOne(t *testing.T) {
	auto, dark := block(t, "auto.css", ":root:not([data-theme])"), block(t, "tokens.css", `[data-theme="dark"]`)
	if !maps.Equal(auto, dark) {
		t.Errorf("auto.css and tokens.css differ:\n%v\n%v", auto, dark)
	}
}

// TestContrast checks every pair of colours that text or a control's outline
// is drawn in: WCAG 2.2 AA, 4.5 for text and 3 for outlines and glyphs.
func TestContrast(t *testing.T) {
	surfaces := []string{"bg", "surface", "raised"}
	type pair struct {
		fore, back string
		least      float64
	}
	var pairs []pair
	for _, s := range append(surfaces, "sunken") {
		pairs = append(pairs, pair{"ink", s, 4.5}, pair{"ink-2", s, 4.5}, pair{"ink-3", s, 4.5}, pair{"accent", s, 4.5})
	}
	for _, s := range surfaces {
		pairs = append(pairs, pair{"line-strong", s, 3}, pair{"focus", s, 3})
		for _, d := range []string{"allow", "rewrite", "ask", "deny", "neutral", "syn-kw", "syn-fn", "syn-str", "syn-num", "syn-com", "syn-danger"} {
			pairs = append(pairs, pair{d, s, 4.5})
		}
	}
	for _, d := range []string{"allow", "rewrite", "ask", "deny", "neutral"} {
		pairs = append(pairs, pair{d, d + "-soft", 4.5}, pair{"ink", d + "-soft", 4.5}, pair{"ink-2", d + "-soft", 4.5})
	}
	pairs = append(pairs, pair{"on-accent", "accent", 4.5}, pair{"on-accent", "accent-hover", 4.5},
		pair{"on-danger", "danger-fill", 4.5}, pair{"accent", "accent-soft", 4.5}, pair{"ink-2", "neutral-soft", 4.5})
	for name, tokens := range themes(t) {
		lowest := math.Inf(1)
		for _, p := range pairs {
			got := contrast(t, tokens[p.fore], tokens[p.back])
			if got < p.least {
				t.Errorf("%s: %s on %s has %.2f, less than %.1f", name, p.fore, p.back, got, p.least)
			}
			if p.least == 4.5 {
				lowest = min(lowest, got)
			}
		}
		t.Logf("%s: %d pairs, lowest for text %.2f", name, len(pairs), lowest)
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	light, dark := luminance(t, a), luminance(t, b)
	if light < dark {
		light, dark = dark, light
	}
	return (light + 0.05) / (dark + 0.05)
}

// luminance is the relative luminance of a colour #rrggbb, as WCAG defines it.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(hex[1:], 16, 32)
	if err != nil || len(hex) != len("#rrggbb") {
		t.Fatalf("%q is no colour", hex)
	}
	channel := func(shift uint) float64 {
		v := float64(n>>shift&0xff) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
}

// TestBudget bounds what a page loads, compressed.
func TestBudget(t *testing.T) {
	for name, most := range map[string]int{"dist/app.js": 30 << 10, "dist/app.css": 14 << 10} {
		content, err := Files.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s is not built: run make assets", name)
		}
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if b.Len() > most {
			t.Errorf("%s takes %d bytes, more than %d", name, b.Len(), most)
		}
		t.Logf("%s: %d bytes", name, b.Len())
	}
}
