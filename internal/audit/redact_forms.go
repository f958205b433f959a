package audit

import (
	"fmt"
	"regexp"
	"strings"
)

// A rule knows secrets by their form.
type rule struct {
	name   string
	gates  []string // text that has none of them, in this case, can't match
	expr   string   // group 1, or all of it, is the secret
	digits int      // text with fewer digits can't match
	ok     func(string) bool

	re *regexp.Regexp
}

func (x *rule) compile() (err error) {
	if x.re, err = regexp.Compile(x.expr); err != nil {
		return fmt.Errorf("redaction rule %s: %w", x.name, err)
	}
	return nil
}

func (x *rule) may(s string, digits int) bool {
	if digits < x.digits {
		return false
	}
	for _, g := range x.gates {
		if strings.Contains(s, g) {
			return true
		}
	}
	return len(x.gates) == 0
}

// secretRules returns the forms of secrets.
func secretRules() []rule {
	return []rule{
		{name: "pem", gates: []string{"-----BEGIN"}, expr: `-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)`},
		// Passwords hold @ and / too, though they should not: up to the last @.
		{name: "url", gates: []string{"://"}, expr: `://[^\s/:@"'<>]*:([^\s"'<>?#]+)@`, ok: unlikePort},
		{name: "url", gates: []string{"://"}, expr: `://[^\s/:@"'<>]*:([^\s/"'<>]+)@`},
		{name: "dsn", gates: []string{"@tcp(", "@unix("}, expr: `[\w.\-]+:([^\s"']+)@(?:tcp|unix)\(`},
		{name: "jwt", gates: []string{"eyJ"}, expr: `\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*`},
		{name: "aws", gates: []string{"AKIA", "ASIA", "ABIA", "ACCA"}, expr: `\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`},
		{name: "github", gates: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, expr: `\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})`},
		{name: "gitlab", gates: []string{"glpat-"}, expr: `\bglpat-[A-Za-z0-9_\-]{20,}`},
		{name: "openai", gates: []string{"sk-"}, expr: `\bsk-[A-Za-z0-9_\-]{20,}`},
		{name: "huggingface", gates: []string{"hf_"}, expr: `\bhf_[A-Za-z0-9]{30,}`},
		{name: "npm", gates: []string{"npm_"}, expr: `\bnpm_[A-Za-z0-9]{36}`},
		{name: "slack", gates: []string{"xox", "xapp-"}, expr: `\b(?:xox[abeposr]|xapp)-[A-Za-z0-9\-]{10,}`},
		{name: "slack", gates: []string{"hooks.slack.com/"}, expr: `hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_\-]{10,})`},
		{name: "google", gates: []string{"AIza", "GOCSPX-", "ya29."}, expr: `\b(?:AIza[A-Za-z0-9_\-]{35}|GOCSPX-[A-Za-z0-9_\-]{20,}|ya29\.[A-Za-z0-9_\-]{20,})`},
		{name: "stripe", gates: []string{"_live_", "_test_"}, expr: `\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`},
		{name: "sendgrid", gates: []string{"SG."}, expr: `\bSG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}`},
		{name: "bearer", gates: []string{"earer ", "EARER "}, expr: `(?i)\bbearer\s+([A-Za-z0-9._~+/\-]{8,}=*)`, ok: unlikeWord},
		{name: "basic", gates: []string{"asic ", "ASIC "}, expr: `(?i)\bbasic\s+([A-Za-z0-9+/]{8,}={0,2})`, ok: unlikeWord},
		{name: "dsn", gates: []string{"@//"}, expr: `\b\w+/([^\s/@"'<>]+)@//[\w.\-]`},
		{name: "signature", gates: []string{"ignature=", "sig="}, expr: `[?&](?:X-(?:Amz|Goog)-)?(?:[Ss]ignature|sig)=([^&\s"'<>]{8,})`},
		{name: "tencent", gates: []string{"AKID"}, expr: `\bAKID[A-Za-z0-9]{32}\b`},
		{name: "telegram", gates: []string{":AA"}, expr: `\b\d{8,10}:AA[A-Za-z0-9_\-]{32,33}\b`},
		{name: "groq", gates: []string{"gsk_"}, expr: `\bgsk_[A-Za-z0-9]{40,}`},
		{name: "model-host", gates: []string{"xai-", "r8_", "nvapi-", "pplx-", "tvly-"}, expr: `\b(?:xai-|r8_|nvapi-|pplx-|tvly-)[A-Za-z0-9_\-]{28,}`},
		{name: "chat-hook", gates: []string{"/api/webhooks/", "webhook/send?key=", "/bot/v2/hook/"}, expr: `(?:/api/webhooks/\d+/|webhook/send\?key=|/bot/v2/hook/)([A-Za-z0-9_\-]{16,})`},
	}
}

// unlikeWord tells a token from a word of a sentence, such as "basic
// authentication".
func unlikeWord(s string) bool {
	return strings.ContainsAny(s, "0123456789+/=_") || s != strings.ToLower(s) && s[1:] != strings.ToLower(s[1:])
}

// unlikePort tells a password from a port with a path, as in
// http://host:8080/@bob.
func unlikePort(s string) bool {
	port, _, path := strings.Cut(s, "/")
	return !path || port == "" || countDigits(port) < len(port)
}

// forms replaces what has the form of a secret.
func (r *Redactor) forms(s string) string {
	digits, counted := 0, false
	for i := range r.rules {
		x := &r.rules[i]
		if x.digits > 0 && !counted {
			digits, counted = countDigits(s), true
		}
		if x.may(s, digits) {
			s = x.replace(s)
		}
	}
	return s
}

func countDigits(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			n++
		}
	}
	return n
}

func (x *rule) replace(s string) string {
	var out strings.Builder
	at := 0
	for _, m := range x.re.FindAllStringSubmatchIndex(s, -1) {
		from, to := m[0], m[1]
		if len(m) > 2 {
			from, to = m[2], m[3]
		}
		if strings.HasPrefix(s[from:to], redactedPrefix) || x.ok != nil && !x.ok(s[from:to]) {
			continue
		}
		out.WriteString(s[at:from])
		out.WriteString(redacted(x.name))
		at = to
	}
	if at == 0 {
		return s
	}
	out.WriteString(s[at:])
	return out.String()
}
