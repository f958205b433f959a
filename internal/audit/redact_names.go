package audit

import (
	"strings"
	"unicode/utf8"
)

// secretName reports whether what is called name is a secret. Names are read
// as words, in snake_case, kebab-case, camelCase or Chinese: max_tokens and
// password_policy are none.
func secretName(name string) bool {
	if len(name) < 3 || len(name) > 128 {
		return false
	}
	if name[0] >= utf8.RuneSelf || !isASCII(name) {
		if secretNameChinese(name) {
			return true
		}
	}
	if !mentionsSecret(strings.ToLower(name)) {
		return false
	}
	w := nameWords(name)
	if len(w) == 0 {
		return false
	}
	last := w[len(w)-1]
	if harmlessTail(last) {
		return false
	}
	for i, x := range w {
		if secretWord(x) {
			return true
		}
		if i > 0 && (x == "key" && secretKeyOf(w[i-1]) || x == "string" && w[i-1] == "authentication") {
			return true
		}
	}
	before := ""
	if len(w) > 1 {
		before = w[len(w)-2]
	}
	switch last {
	case "token":
		return !harmlessTokenOf(before)
	case "tokens":
		return before == "access" || before == "refresh" || before == "auth" || before == "api" || before == "bearer"
	case "pass", "auth", "pin", "otp":
		return true
	case "code", "number":
		return before == "pin" || before == "otp"
	}
	return false
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// mentionsSecret reports whether text in lower case has a part of any word
// that names a secret: a gate before all that costs more.
func mentionsSecret(low string) bool {
	for _, stem := range secretStems() {
		if strings.Contains(low, stem) {
			return true
		}
	}
	return false
}

func secretStems() [22]string {
	return [...]string{
		"pass", "secret", "token", "key", "pwd", "auth", "cookie", "credential", "identified", "bearer", "pin", "otp", "cvv", "crypt", "hmac",
		"密码", "口令", "密钥", "令牌", "凭证", "私钥", "验证码",
	}
}

func secretNameChinese(name string) bool {
	for _, tail := range []string{"策略", "长度", "数量", "次数", "强度", "时间", "有效期", "期限", "类型", "名称", "提示", "规则", "上限", "要求", "状态", "数"} {
		if strings.HasSuffix(name, tail) {
			return false
		}
	}
	for _, word := range []string{"密码", "口令", "密钥", "令牌", "凭证", "私钥", "验证码"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// nameWords splits a name into its words, in lower case and without trailing
// digits.
func nameWords(name string) []string {
	var words []string
	from := 0
	end := func(to int) {
		if w := strings.TrimRight(strings.ToLower(name[from:to]), "0123456789"); w != "" {
			words = append(words, w)
		}
	}
	lower := func(i int) bool { return i < len(name) && name[i] >= 'a' && name[i] <= 'z' }
	digit := func(i int) bool { return name[i] >= '0' && name[i] <= '9' }
	for i := range len(name) {
		c := name[i]
		switch {
		case strings.IndexByte("_-. /:[]()$", c) >= 0:
			end(i)
			from = i + 1
		case c >= 'A' && c <= 'Z' && i > from && (lower(i-1) || digit(i-1) || lower(i+1)):
			end(i)
			from = i
		}
	}
	end(len(name))
	return words
}

func secretWord(w string) bool {
	switch w {
	case "secret", "secrets", "credential", "credentials", "authorization", "cookie", "cookies", "bearer", "cvv", "cvc",
		"passcode", "pwd", "passwd", "accesstoken", "authtoken", "refreshtoken", "apitoken", "sessiontoken", "idtoken":
		return true
	}
	for _, tail := range []string{"password", "passwords", "passphrase", "passwd", "apikey", "accesskey", "secretkey", "privatekey", "clientsecret", "dbpass", "userpass", "pswd"} {
		if strings.HasSuffix(w, tail) {
			return true
		}
	}
	return false
}

// secretKeyOf reports whether a key of this kind is a secret, as a primary key
// or a foreign key is not.
func secretKeyOf(w string) bool {
	switch w {
	case "api", "access", "private", "secret", "signing", "encryption", "master", "account", "storage", "ssh", "auth", "shared", "consumer", "license", "service":
		return true
	}
	return false
}

// harmlessTokenOf reports whether a token of this kind leads on, to the next
// page say, and lets nobody in.
func harmlessTokenOf(w string) bool {
	switch w {
	case "next", "page", "continuation", "cancel", "cancellation", "cursor", "sync", "pagination", "per", "stop", "eos", "bos", "pad", "max", "min":
		return true
	}
	return false
}

// harmlessTail reports whether a name that ends so is about a secret but holds
// none.
func harmlessTail(w string) bool {
	switch w {
	case "policy", "policies", "count", "counts", "limit", "limits", "length", "len", "expiry", "expires", "expired", "expiration", "at", "in",
		"ttl", "strength", "hint", "url", "uri", "endpoint", "id", "ids", "name", "names", "type", "types", "required", "enabled", "disabled", "version",
		"reset", "changed", "usage", "budget", "used", "max", "min", "rules", "rule", "column", "columns", "field", "fields", "format", "label",
		"placeholder", "attempts", "age", "days", "size", "status", "prompt", "title", "description", "table", "path", "file", "algorithm", "date",
		"time", "env", "encryption", "created", "updated", "question", "regex", "pattern", "manager", "second", "minute", "provider", "mode", "method", "domain", "scope", "rotation":
		return true
	}
	return false
}
