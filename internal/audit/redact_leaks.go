package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
	leakconfig "github.com/zricethezav/gitleaks/v8/config"
)

// leaks is the second pass over a text: the rules of gitleaks, which know the
// tokens of some two hundred makers.
//
// All of its rules compiled take 25 MB and 0.2 s. A rule counts only where one
// of its keywords stands in the text, and most never do: each is compiled when
// one of its keywords is first seen.
type leaks struct {
	specs leakconfig.ViperConfig
	rules []leakRule
	words keywords // its values are indexes of rules
}

type leakRule struct {
	spec    int // in specs.Rules
	compile sync.Once
	rule    leakconfig.Rule
	allowed []*leakconfig.Allowlist
}

// genericRule goes by the names beside a value, which our own rules know
// better: it takes primary keys for secrets.
const genericRule = "generic-api-key"

func newLeaks() (*leaks, error) {
	l := &leaks{}
	if _, err := toml.Decode(leakconfig.DefaultConfig, &l.specs); err != nil {
		return nil, fmt.Errorf("rules of gitleaks: %w", err)
	}
	for i, r := range l.specs.Rules {
		if r.Path != "" || r.ID == genericRule { // of files, not of texts
			continue
		}
		for _, word := range r.Keywords {
			l.words.add(strings.ToLower(word), len(l.rules))
		}
		l.rules = append(l.rules, leakRule{spec: i})
	}
	return l, nil
}

// redact replaces what a rule finds in s, which is low in lower case.
func (l *leaks) redact(s, low string) string {
	for _, i := range l.words.in(low) {
		r := &l.rules[i]
		r.compile.Do(func() { r.load(l.specs) })
		for _, secret := range r.secrets(s) {
			s = strings.ReplaceAll(s, secret, redacted(r.rule.RuleID))
		}
	}
	return s
}

// load compiles the rule. One that does not compile, which a test rules out,
// finds nothing.
func (r *leakRule) load(specs leakconfig.ViperConfig) {
	specs.Rules = specs.Rules[r.spec : r.spec+1 : r.spec+1]
	if c, err := specs.Translate(); err == nil {
		r.rule = c.Rules[specs.Rules[0].ID]
		r.allowed = slices.Concat(r.rule.Allowlists, c.Allowlists)
	}
}

// secrets returns what the rule takes for secrets in s.
func (r *leakRule) secrets(s string) (found []string) {
	if r.rule.Regex == nil {
		return nil
	}
	for _, groups := range r.rule.Regex.FindAllStringSubmatch(s, -1) {
		secret := groups[r.rule.SecretGroup]
		if r.rule.SecretGroup == 0 { // then it is the first group that holds anything
			for _, g := range slices.Backward(groups[1:]) {
				secret = cmp.Or(g, secret)
			}
		}
		if len(secret) >= minSecret && !strings.Contains(secret, redactedPrefix) &&
			(r.rule.Entropy == 0 || entropy(secret) > r.rule.Entropy) && !r.harmless(secret) {
			found = append(found, secret)
		}
	}
	return found
}

// harmless reports whether one of the rule's lists of examples and placeholders
// has the secret.
func (r *leakRule) harmless(secret string) bool {
	return slices.ContainsFunc(r.allowed, func(a *leakconfig.Allowlist) bool {
		stop, _ := a.ContainsStopWord(secret)
		return stop || a.RegexAllowed(secret)
	})
}

// entropy is the Shannon entropy of s in bits a byte.
func entropy(s string) (bits float64) {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// keywords finds words in a text in one go.
type keywords struct {
	by [1 << 12][]keyword // by a hash of the first two bytes
}

type keyword struct {
	word string
	tag  int
}

func pair(a, b byte) int { return (int(a)<<5 ^ int(b)) & (1<<12 - 1) }

// add takes a word of at least two bytes; shorter ones are left out.
func (k *keywords) add(word string, tag int) {
	if len(word) < 2 {
		return
	}
	h := pair(word[0], word[1])
	k.by[h] = append(k.by[h], keyword{word, tag})
}

// in returns the tags of the words that stand in s, each once.
func (k *keywords) in(s string) []int {
	var tags []int
	for i := 0; i+1 < len(s); i++ {
	words:
		for _, w := range k.by[pair(s[i], s[i+1])] {
			if !strings.HasPrefix(s[i:], w.word) {
				continue
			}
			for _, t := range tags {
				if t == w.tag {
					continue words
				}
			}
			tags = append(tags, w.tag)
		}
	}
	return tags
}
