package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"example.com/datamind/internal/hooks"
)

// PathAllowlist denies tool calls that name a path outside Roots, or one that
// is secret. Symbolic links are followed before the comparison, also those in
// the parents of a path that does not exist yet. That is a check, not a lock:
// the tool itself opens its file through an [os.Root].
//
// Everywhere inside Roots these stay closed, whatever their case: files and
// folders named .env*, storage or keys, and others in which secrets are kept;
// see secretNames.
type PathAllowlist struct {
	Roots  []string            // absolute: the profile's data folder, the working directory, extras
	Secret []string            // more that stays closed: absolute folders and files, or patterns of one name
	Args   map[string][]string // tool name to the arguments that hold a path or a list of paths
	Dir    string              // what relative paths start from; empty: the working directory
}

var _ hooks.Hook = PathAllowlist{}

// Name implements [hooks.Hook].
func (PathAllowlist) Name() string { return "path_allowlist" }

// Decide implements [hooks.Hook].
func (h PathAllowlist) Decide(_ context.Context, c hooks.Call) (hooks.Decision, error) {
	names, ok := h.Args[c.Tool]
	if !ok {
		return hooks.Allow{}, nil
	}
	args, err := members(c.Payload)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		value, given, err := argument(args, name)
		if err != nil {
			return nil, err
		}
		if !given {
			continue // the tool's own default, or its error
		}
		paths, ok := list(value)
		if !ok {
			return hooks.Deny{Reason: fmt.Sprintf(c.Say("The argument %q is not a path.", "参数 %q 不是路径。"), name)}, nil
		}
		for _, p := range paths {
			if err := h.admit(p); err != nil {
				return hooks.Deny{Reason: refusal(c, p, err)}, nil
			}
		}
	}
	return hooks.Allow{}, nil
}

// list returns the path, or the paths, that value holds.
func list(value json.RawMessage) ([]string, bool) {
	if s, ok := text(value); ok {
		return []string{s}, true
	}
	var values []json.RawMessage
	if err := json.Unmarshal(value, &values); err != nil || values == nil {
		return nil, false
	}
	paths := make([]string, len(values))
	for i, v := range values {
		var ok bool
		if paths[i], ok = text(v); !ok {
			return nil, false
		}
	}
	return paths, true
}

// The reasons for which a path is refused.
var (
	errForm       = errors.New("form")
	errUnresolved = errors.New("unresolved")
	errOutside    = errors.New("outside")
	errSecret     = errors.New("secret")
)

// refusal puts err in words. They do not say where the roots are, nor what is
// behind a link.
func refusal(c hooks.Call, p string, err error) string {
	const limit = 200
	if len(p) > limit {
		p = strings.ToValidUTF8(p[:limit], "") + "…"
	}
	format := c.Say("The path %q cannot be checked, so it is refused.", "无法检查路径 %q，因此拒绝访问。")
	switch {
	case errors.Is(err, errForm):
		format = c.Say("The path %q is not a plain file path. Give a path without ~, URL scheme, backslashes and invisible characters.",
			"路径 %q 不是普通文件路径。请勿使用 ~、URL 前缀、反斜杠或不可见字符。")
	case errors.Is(err, errOutside):
		format = c.Say("The path %q is outside the folders that the agent may use.", "路径 %q 不在允许智能体使用的文件夹内。")
	case errors.Is(err, errSecret):
		format = c.Say("The path %q may hold secrets and stays closed.", "路径 %q 可能含有机密，禁止访问。")
	}
	return fmt.Sprintf(format, p)
}

// admit returns nil if p may be used.
func (h PathAllowlist) admit(p string) error {
	if !plain(p) {
		return errForm
	}
	if !filepath.IsAbs(p) {
		dir := h.Dir
		if dir == "" {
			var err error
			if dir, err = os.Getwd(); err != nil {
				return fmt.Errorf("%w: %w", errUnresolved, err)
			}
		}
		p = dir + "/" + p // not Join: see below
	}
	if err := h.inside(p); err != nil {
		return err
	}
	// The system follows a link before it goes up from it, programs that clean
	// a path first do not. Both readings have to be fine.
	if clean := filepath.Clean(p); strings.Contains(p, "..") && clean != p {
		return h.inside(clean)
	}
	return nil
}

// plain reports whether p is a path and nothing that only some readers take for
// one, or take for another.
func plain(p string) bool {
	lower := strings.ToLower(p)
	return p != "" && p[0] != '~' &&
		strings.ToValidUTF8(p, "") == p &&
		!strings.Contains(p, `\`) && !strings.Contains(p, "://") && !strings.HasPrefix(lower, "file:") &&
		!strings.ContainsFunc(p, func(r rune) bool {
			return unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
		})
}

// inside returns nil if the absolute path p ends inside a root, and neither the
// name that was given nor what it stands for is secret.
func (h PathAllowlist) inside(p string) error {
	actual, err := resolve(p)
	if err != nil {
		return err
	}
	err = errOutside
	for _, root := range h.Roots {
		if !filepath.IsAbs(root) {
			return fmt.Errorf("%w: root %q is not absolute", errUnresolved, root)
		}
		resolved, rerr := resolve(root)
		if rerr != nil {
			return rerr
		}
		rel, ok := below(actual, resolved)
		if !ok {
			continue
		}
		if h.secret(rel, actual) {
			return errSecret
		}
		if rel, ok := below(filepath.Clean(p), filepath.Clean(root)); ok && h.secret(rel, actual) {
			return errSecret // a link that bears a secret's name
		}
		err = nil
	}
	return err
}

// below returns what leads from root to p, and whether p is root or inside it.
func below(p, root string) (string, bool) {
	if p == root || root == "/" {
		return strings.TrimPrefix(p, root), true
	}
	return strings.CutPrefix(p, root+"/")
}
