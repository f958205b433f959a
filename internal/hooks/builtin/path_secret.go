package builtin

import (
	"path"
	"path/filepath"
	"strings"
	"unicode"
)

// secretNames returns the patterns of names that are closed everywhere: those of
// the program's own secrets first, then where others usually keep theirs.
func secretNames() []string {
	return []string{
		".env*", "storage", "keys",
		"*.pem", "*.key", "*.p12", "*.pfx", "id_rsa*", "id_ecdsa*", "id_ed25519*",
		".ssh", ".gnupg", ".aws", ".kube", ".docker", ".netrc", ".pgpass", ".my.cnf", ".git-credentials", ".npmrc", ".pypirc",
	}
}

// systemFolders returns folders that are no files of anybody's.
func systemFolders() []string { return []string{"/proc", "/sys", "/dev"} }

// secret reports whether the path actual is closed, which is rel below a root.
func (h PathAllowlist) secret(rel, actual string) bool {
	patterns := secretNames()
	folders := systemFolders()
	for _, s := range h.Secret {
		if !filepath.IsAbs(s) {
			patterns = append(patterns, s)
			continue
		}
		folders = append(folders, filepath.Clean(s))
		if resolved, err := resolve(s); err == nil {
			folders = append(folders, resolved)
		}
	}
	folded := fold(actual)
	for _, f := range folders {
		if _, ok := below(folded, fold(f)); ok {
			return true
		}
	}
	for element := range strings.SplitSeq(fold(rel), "/") {
		element = strings.TrimRight(element, " .")
		for _, pattern := range patterns {
			if ok, err := path.Match(fold(pattern), element); ok || err != nil {
				return true
			}
		}
	}
	return false
}

// fold returns s with the letters that file systems or people may take for one
// another made one: upper and lower case, full width, dots of other scripts.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u2024' || r == '\ufe52':
			return '.'
		case r >= '\uff01' && r <= '\uff5e':
			r -= '\uff01' - '!'
		}
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return unicode.ToLower(least)
	}, s)
}
