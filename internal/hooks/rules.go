package hooks

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// arrange checks rules and returns them in the order in which they run: guards
// first, each group by priority, equal priorities as given. All that is wrong
// is reported at once.
func arrange(rules []Rule) ([]Rule, error) {
	var errs []error
	for i, r := range rules {
		if err := check(r); err != nil {
			errs = append(errs, fmt.Errorf("rule %d (%s): %w", i, name(r), err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i, r := range rules {
		for _, earlier := range rules[:i] {
			if err := clash(earlier, r); err != nil {
				errs = append(errs, fmt.Errorf("rule %d (%s): %w", i, name(r), err))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].Phases = slices.Clone(rules[i].Phases)
		rules[i].Tools = slices.Clone(rules[i].Tools)
	}
	slices.SortStableFunc(rules, func(a, b Rule) int {
		if a.Guard != b.Guard {
			if a.Guard {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Priority, b.Priority)
	})
	return rules, nil
}

// check reports why r could never run, or not as it says.
func check(r Rule) error {
	switch {
	case r.Hook == nil:
		return errors.New("it has no hook")
	case strings.TrimSpace(r.Hook.Name()) == "":
		return errors.New("its hook has no name")
	case len(r.Phases) == 0:
		return errors.New("it can never run: it names no phase")
	case r.Timeout < 0:
		return fmt.Errorf("its timeout %v is negative", r.Timeout)
	case r.OnFault > FailOpen:
		return fmt.Errorf("unknown fault policy %d", r.OnFault)
	}
	for i, p := range r.Phases {
		if !p.known() {
			return fmt.Errorf("unknown phase %q", p)
		}
		if slices.Contains(r.Phases[:i], p) {
			return fmt.Errorf("it names phase %s twice", p)
		}
	}
	if len(r.Tools) > 0 && !slices.ContainsFunc(r.Phases, Phase.usesTool) {
		return errors.New("it can never run: it names tools, but no phase in which a tool is used")
	}
	for _, pattern := range r.Tools {
		if pattern == "" {
			return errors.New("a tool pattern is empty")
		}
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("tool pattern %q: %w", pattern, err)
		}
	}
	return nil
}

// clash reports whether b does over again, or takes the place of, what the rule
// a before it does.
func clash(a, b Rule) error {
	if name(a) != name(b) {
		return nil
	}
	if a.Guard != b.Guard {
		return errors.New("it has the name of a guard, which cannot be replaced")
	}
	shared := slices.ContainsFunc(a.Phases, func(p Phase) bool { return slices.Contains(b.Phases, p) })
	if shared && a.Tenant == b.Tenant && sameSet(a.Tools, b.Tools) {
		return errors.New("the hook is there already, for the same phase, tools and tenant")
	}
	return nil
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func name(r Rule) string {
	if r.Hook == nil {
		return "no hook"
	}
	return r.Hook.Name()
}
