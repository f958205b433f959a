package audit

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// stream redacts text that comes in pieces, as the sink of a turn does.
func stream(r *Redactor, pieces ...string) string {
	var out strings.Builder
	held := ""
	for _, p := range pieces {
		held += p
		n := r.Settled(held)
		out.WriteString(r.Text(held[:n]))
		held = held[n:]
	}
	return out.String() + r.Text(held)
}

// letters is text in pieces of one character.
func letters(text string) (pieces []string) {
	for _, c := range text {
		pieces = append(pieces, string(c))
	}
	return pieces
}

// TestStreamHidesSecrets cuts every text at every place.
func TestStreamHidesSecrets(t *testing.T) {
	r := newRedactor(t, false)
	sk := "sk-" + "proj-" + strings.Repeat("Ab3", 12)
	for _, tt := range []struct{ text, leak string }{
		{"The password: S3cr3t-x9 is set.", secret},
		{"Use api key = S3cr3t-x9 for it.", secret},
		{"登录密码是S3cr3t-x9，请保密", secret},
		{"I found " + sk + " in the table.", sk},
		{"They use " + "glpat-" + strings.Repeat("xY7_", 6) + " there.", strings.Repeat("xY7_", 6)},
		{"The token is " + jwt() + ".", "dozjgNry"},
		{"It connects to postgres://app:S3cr3t-x9@10.0.0.5/x today.", secret},
		{"Run UPDATE users SET password = 'S3cr3t-x9' WHERE id = 1 then.", secret},
		{"The password for the shop is S3cr3t-x9 now.", secret},
		{"Here:\n\n| id | password |\n|---|---|\n| 1 | none |\n| 2 | S3cr3t-x9 |\n\nThat is all.", secret},
		{"id,name,password\n1,bob,none\n2,eve,S3cr3t-x9\n\nThat is all.", secret},
		{"auth_token: |\n  S3cr3t-x8\n  S3cr3t-x9\nnext: 1\n", secret},
		{"- name: DB_PASSWORD\n  value: S3cr3t-x9\n", secret},
		{"<password>S3cr3t-x9</password>", secret},
		{"-----BEGIN RSA PRIVATE" + " KEY-----\nMIIEpAIBAAKCAQEA\nabc\n-----END RSA PRIVATE" + " KEY-----\nthat is it", "MIIEpAI"},
	} {
		if !strings.Contains(tt.text, tt.leak) {
			t.Fatalf("the secret is not in %q", tt.text)
		}
		for i := range tt.text {
			if got := stream(r, tt.text[:i], tt.text[i:]); strings.Contains(got, tt.leak) {
				t.Errorf("cut at %d: %s", i, got)
			}
		}
		if got := stream(r, letters(tt.text)...); strings.Contains(got, tt.leak) {
			t.Errorf("letter by letter: %s", got)
		}
	}
}

// TestStreamFlows: prose is neither changed nor held back.
func TestStreamFlows(t *testing.T) {
	r := newRedactor(t, false)
	for _, text := range []string{
		"There are four departments. Sales has the most people, and shipping the fewest.",
		"研发部人数最多，其次是销售部。", "Hello", "one", "Let me ", "It is done",
		"The author passed the exam.", "One, two, and three.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
	} {
		if got := stream(r, letters(text)...); got != text {
			t.Errorf("%q became %q", text, got)
		}
		if n := r.Settled(text); n != len(text) {
			t.Errorf("%q: %q is held back", text, text[n:])
		}
	}
	long := "the key " + strings.Repeat("and more words ", 20)
	if n := r.Settled(long); n != len(long) {
		t.Errorf("a name holds back what is out of its reach: %d of %d", n, len(long))
	}
	if n := r.Settled(strings.Repeat("a1", mostUnsettled)); n != 2*mostUnsettled {
		t.Errorf("a word without an end is waited with: %d", n)
	}
}

func FuzzSettled(f *testing.F) {
	r, err := NewRedactor(true)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("the password is", " x")
	f.Add("密码", "是")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, s := range []string{a, a + b} {
			n := r.Settled(s)
			if n < 0 || n > len(s) || utf8.ValidString(s) && !utf8.ValidString(s[:n]) {
				t.Fatalf("%q: %d", s, n)
			}
		}
	})
}
