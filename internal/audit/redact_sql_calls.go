package audit

import (
	"slices"
	"strings"
)

// farthest is how many tokens a call or a statement is followed for: the work
// grows with the text and no faster.
const farthest = 200

// secretArgument returns which argument of an SQL function is a password or a
// key.
func secretArgument(function string) (n int, ok bool) {
	switch strings.ToLower(function) {
	case "crypt", "old_password":
		return 0, true
	case "pgp_sym_encrypt", "pgp_sym_decrypt", "pgp_sym_encrypt_bytea", "pgp_sym_decrypt_bytea", "aes_encrypt", "aes_decrypt", "des_encrypt", "des_decrypt",
		"hmac", "encrypt", "decrypt", "encrypt_iv", "decrypt_iv":
		return 1, true
	}
	return 0, false
}

// secretCall hides the secret argument of the call of the function that is
// token i, and reports whether it has one.
func (r *sqlRedactor) secretCall(i int) bool {
	n, ok := secretArgument(r.word(i))
	if ok {
		r.call(i+1, n)
	}
	return ok
}

// looksLikeWord reports whether s is a word, as a tokenizer's table has them
// in a column named token.
func looksLikeWord(s string) bool {
	return len(s) >= 3 && len(s) <= 12 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == ""
}

// call hides the literals in argument n of the call whose ( is token i.
func (r *sqlRedactor) call(i, n int) {
	depth, arg := 0, 0
	for end := min(len(r.tok), i+farthest); i < end; i++ {
		switch {
		case r.is(i, "("):
			depth++
		case r.is(i, ")"):
			if depth--; depth == 0 {
				return
			}
		case r.is(i, ",") && depth == 1:
			arg++
		case r.at(i) == sqlString && arg == n && !algorithm(r.word(i)):
			r.hide[i] = true
		}
	}
}

// member reports whether literal i picks a member of a JSON value and is none
// itself: doc->>'token', json_extract(doc, '$.token').
func (r *sqlRedactor) member(i int) bool {
	return r.arrow(i-1) || strings.HasPrefix(r.word(i), "$.")
}

// arrow reports whether token i ends -> or ->>.
func (r *sqlRedactor) arrow(i int) bool {
	return r.is(i, ">") && (r.is(i-1, "-") || r.is(i-1, ">"))
}

// jsonMember hides what belongs to a literal that names a secret: doc->>'token'
// = 'x', json_set(doc, '$.token', 'x').
func (r *sqlRedactor) jsonMember(i int) {
	if r.arrow(i - 1) {
		r.assigned(i + 1)
		return
	}
	if !r.is(i+1, ",") || r.at(i+2) != sqlString {
		return
	}
	depth := 0
	for k := i - 1; k > max(0, i-farthest); k-- {
		switch {
		case r.is(k, ")"):
			depth++
		case r.is(k, "(") && depth > 0:
			depth--
		case r.is(k, "("):
			if strings.Contains(strings.ToLower(r.word(k-1)), "json") || r.is(k-1, "set_config") {
				r.hide[i+2] = true
			}
			return
		}
	}
}

// setting hides value = 'x' in the statement around token i, which is the
// literal of name = 'the name of a secret'.
func (r *sqlRedactor) setting(i int) {
	if !r.is(i-1, "=") || !nameColumn(r.word(i-2)) {
		return
	}
	for k := max(0, i-farthest); k < min(len(r.tok), i+farthest); k++ {
		if r.is(k+1, "=") && valueColumn(r.word(k)) && r.at(k+2) == sqlString {
			r.hide[k+2] = true
		}
	}
}

// insertColumns says which slots of an INSERT take secrets.
type insertColumns struct {
	secretColumns
	named bool // the row that is read is that of a secret's setting
}

// takes reports whether what stands in slot is secret, and remembers of a name
// whether it is that of a secret.
func (c *insertColumns) takes(r *sqlRedactor, i, slot int) bool {
	if slot == c.name && r.at(i) == sqlString {
		c.named = secretName(r.word(i))
	}
	if slot == c.value && c.named {
		return true
	}
	return slices.Contains(c.secret, slot)
}
