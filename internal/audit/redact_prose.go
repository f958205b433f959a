package audit

import "strings"

// proseReach is how many bytes behind its name a secret is looked for in a
// sentence; less than what a growing text is waited with.
const proseReach = secretReach - 16

// redactProse replaces what a sentence calls a secret: the password is x,
// password 'x', the token for the shop is x, set the password to x. What
// stands there must look like a secret and not like a word, since sentences
// say much about secrets without telling them.
func redactProse(s string) string {
	var out strings.Builder
	done := 0
	before := ""
	for at := 0; at < len(s); {
		word, from, to := proseWord(s, at)
		at = to
		name, possessive := strings.CutSuffix(strings.TrimPrefix(word, "("), "'s")
		name = strings.TrimLeft(name, "，。：；、")
		if strings.EqualFold(name, "key") {
			name = before + "_" + name
		}
		column := columnWord(before)
		before = word
		if column || from == to || strings.HasPrefix(name, "-") || !proseName(name) {
			continue
		}
		if from, to = proseValue(s, at, possessive, directName(name)); from < to {
			out.WriteString(s[done:from])
			out.WriteString(redacted("prose"))
			done, at = to, to
		}
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// proseWord returns the word at or behind s[at].
func proseWord(s string, at int) (word string, from, to int) {
	for at < len(s) && strings.IndexByte(" \t\r\n", s[at]) >= 0 {
		at++
	}
	to = at
	for to < len(s) && strings.IndexByte(" \t\r\n", s[to]) < 0 {
		to++
	}
	return s[at:to], at, to
}

// proseName reports whether a sentence that names name may tell the secret.
// What pass, pin and auth mean there is anyone's guess.
func proseName(name string) bool {
	if len(name) > maxNameSpan || strings.ContainsAny(name, ".,:;=()[]{}<>/@'\"`|") || !secretName(name) {
		return false
	}
	switch w := nameWords(name); w[len(w)-1] {
	case "pass", "pin", "auth", "otp", "code", "number":
		return false
	}
	return true
}

// columnWord reports whether the name behind w is that of a column.
func columnWord(w string) bool {
	switch strings.ToLower(w) {
	case "column", "field", "rename":
		return true
	}
	return false
}

// directName reports whether the secret may follow its name at once.
func directName(name string) bool {
	low := strings.ToLower(name)
	for _, tail := range []string{"password", "passwd", "passphrase", "passcode", "pwd", "密码", "口令"} {
		if strings.HasSuffix(low, tail) {
			return true
		}
	}
	return false
}

// proseValue returns where the value stands of the name that ends at s[at], or
// from == to. The value stands behind "is" or "to", or at once where direct
// says so.
func proseValue(s string, at int, tell, direct bool) (from, to int) {
	end := min(len(s), at+proseReach)
	first, changes, owner := true, true, 0 // owner: words that say whose it is
	for at < end {
		word, wordAt, next := proseWord(s, at)
		if strings.IndexByte(s[at:wordAt], '\n') >= 0 || word == "" {
			return 0, 0
		}
		if tell || first && direct {
			if from, to = opaqueAt(s, wordAt, next); from < to {
				return from, to
			}
		}
		low := strings.ToLower(word)
		switch {
		case low == "is" || low == "was" || low == "be" || low == "to" && changes || tell && low == "now":
			tell = true
		case changeWord(low):
			tell = false
		case tell || !plainWord(low) || harmlessTail(low):
			return 0, 0
		case low == "of" || low == "for" || low == "on":
			owner = 1
		case owner > 0 && (low == "the" || low == "my" || low == "our" || low == "user" || low == "role" || low == "account"):
		case owner > 0:
			owner--
		default:
			changes = false
		}
		at, first = next, false
	}
	return 0, 0
}

// changeWord reports whether w leads on to a new secret: changed to x.
func changeWord(w string) bool {
	return w == "set" || w == "reset" || w == "changed" || w == "updated"
}

// plainWord reports whether w goes on with a sentence.
func plainWord(w string) bool {
	for i := range len(w) {
		if !nameByte(w[i]) {
			return false
		}
	}
	return w != ""
}

// opaqueAt returns the secret in the word s[from:to], or from == to where it
// looks like a word. A quoted one may hold blanks.
func opaqueAt(s string, from, to int) (int, int) {
	if q := s[from]; q == '"' || q == '\'' || q == '`' {
		from++
		if to = from + quoted(s[from:min(len(s), from+proseReach)], q); to == len(s) || s[to] != q {
			return 0, 0
		}
	} else {
		to = from + until(s[from:to], "(\"'`,;<>{}[]|")
		to = from + len(strings.TrimRight(s[from:to], ".:?"))
	}
	if !opaque(s[from:to]) {
		return 0, 0
	}
	return from, to
}

// opaque reports whether v looks like a secret: letters with digits or signs
// among them, and no name of an algorithm, path, address or placeholder.
func opaque(v string) bool {
	if len(v) < minSecret || strings.IndexByte("/.-<{$[%+", v[0]) >= 0 || strings.Contains(v, "://") || algorithm(v) {
		return false
	}
	letters, others := false, false
	for i := range len(v) {
		switch c := v[i]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			letters = true
		case c >= '0' && c <= '9' || strings.IndexByte("!#$%^&*@~", c) >= 0:
			others = true
		}
	}
	return letters && others
}

// algorithm reports whether v is the name of a way to hash, encrypt or encode.
func algorithm(v string) bool {
	switch strings.ToLower(strings.ReplaceAll(v, "-", "")) {
	case "bf", "des", "xdes", "md5", "sha1", "sha224", "sha256", "sha384", "sha512", "hex", "base64", "escape", "utf8", "utf8mb4", "aes", "aes128", "aes256",
		"bcrypt", "scrypt", "argon2", "argon2id", "scramsha256", "scramsha512", "oauth2", "pbkdf2", "hs256", "rs256", "ed25519", "rsa2048", "rsa4096":
		return true
	}
	return false
}
