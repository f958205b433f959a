package audit

import (
	"strings"
	"testing"
)

// TestLeakRulesCompile compiles what otherwise is compiled when it is needed.
func TestLeakRulesCompile(t *testing.T) {
	l, err := newLeaks()
	if err != nil {
		t.Fatal(err)
	}
	if len(l.rules) < 200 {
		t.Errorf("%d rules", len(l.rules))
	}
	for i := range l.rules {
		r := &l.rules[i]
		spec := l.specs.Rules[r.spec]
		if r.load(l.specs); r.rule.Regex == nil || r.rule.RuleID != spec.ID {
			t.Errorf("%s did not compile", spec.ID)
		}
		if len(spec.Keywords) == 0 {
			t.Errorf("%s has no keywords: it would never be used", spec.ID)
		}
	}
}

// TestLeaks has tokens that only the second pass knows. They are put together
// from parts, so that no scanner takes this file for a leak.
func TestLeaks(t *testing.T) {
	r := newRedactor(t, false)
	hex := "9f3ac1d07b52e8460d1f7a93c5be2840"
	for rule, token := range map[string]string{
		"digitalocean-pat":        "dop_v1_" + hex + "b7e16d40925a8fc3b7e16d40925a8fc3",
		"twilio-api-key":          "SK" + hex,
		"pypi-upload-token":       "pypi-AgEIcHlwaS5vcmc" + strings.Repeat("aB3-x_9Z", 8),
		"databricks-api-token":    "dapi" + hex + "-2",
		"linear-api-key":          "lin_api_" + "q7Rk2Vx9Lm4Zp8Ws3Yt6Nb1Hc5Jd0Fg7Qa2Ke9U3",
		"grafana-cloud-api-token": "glc_" + strings.Repeat("eyJvIjoiMTIz", 4),
	} {
		t.Run(rule, func(t *testing.T) {
			for _, in := range []string{token, "the value is " + token + " for now", `{"note":"` + token + `"}`} {
				if got := r.Text(in); strings.Contains(got, token) || !strings.Contains(got, redactedPrefix) {
					t.Errorf("%s became %s", in, got)
				}
			}
			if got := r.Text(token + " // gitleaks:allow"); strings.Contains(got, token) {
				t.Errorf("the text itself allowed it: %s", got)
			}
		})
	}
}

func TestKeywords(t *testing.T) {
	var k keywords
	for i, w := range []string{"ab", "abc", "ba", "x"} {
		k.add(w, i)
	}
	for text, want := range map[string]string{"": "", "a": "", "ab": "0", "xabcab": "01", "bab": "20", "zzz": "", "x": ""} {
		var tags []rune
		for _, tag := range k.in(text) {
			tags = append(tags, rune('0'+tag))
		}
		if got := string(tags); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
