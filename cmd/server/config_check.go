package main

import (
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"

	"example.com/datamind/internal/agent/react/models"
)

// usageError is an [exitError] of exitUsage.
func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// knownOnly refuses a variable that is none of fields. A misspelt switch would
// otherwise leave the user believing in a guard that is off, or the reverse.
func knownOnly(vars, from map[string]string, fields []env.FieldParams) error {
	var names []string
	for _, f := range fields {
		names = append(names, f.Key)
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if strings.HasPrefix(name, "DATAMIND_") && !slices.Contains(names, name) {
			return usageError("%s (%s) is not a setting; did you mean %s?", name, from[name], nearest(name, names))
		}
	}
	return nil
}

// nearest returns the name that takes the fewest edits to come to from name.
func nearest(name string, names []string) string {
	best, least := "", 1<<30
	for _, n := range names {
		if d := editDistance(name, n); d < least {
			best, least = n, d
		}
	}
	return best
}

// editDistance is Levenshtein's, over bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left, above := i+1, i
		for j := range len(b) {
			d := above
			if a[i] != b[j] {
				d = 1 + min(above, left, row[j+1])
			}
			above, row[j], left = row[j+1], left, d
		}
		row[len(b)] = left
	}
	return row[len(b)]
}

// profileName is what a profile may be called: it becomes a folder.
var profileName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// check says what is wrong with a value that parses. A setting for something
// that this version can't do is refused: to ignore it would be to promise it.
func (c Config) check() error {
	for _, check := range []func() error{c.checkAddr, c.checkChoices, c.checkLater, c.checkNumbers, c.checkModel, c.checkRoots, c.checkWitness} {
		if err := check(); err != nil {
			return err
		}
	}
	if !profileName.MatchString(c.Data.Profile) {
		return usageError("%sDATA__PROFILE: want lower-case letters, digits, - and _, at most 63", prefix)
	}
	return nil
}

// checkAddr refuses an address that others can reach: there is no login yet, so
// whoever reached it could confirm.
func (c Config) checkAddr() error {
	host, _, err := net.SplitHostPort(c.HTTP.Addr)
	if err != nil {
		return usageError("%sHTTP__ADDR: want host:port, for example 127.0.0.1:8080", prefix)
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return usageError("%sHTTP__ADDR: %s can be reached from other machines, which needs a login, and this version has none; "+
			"use 127.0.0.1:8080 and a tunnel or a proxy that logs people in", prefix, c.HTTP.Addr)
	}
	return nil
}

// checkChoices checks the settings that take one of a few words.
func (c Config) checkChoices() error {
	for _, s := range []struct {
		name, value string
		choices     []string
	}{
		{"AGENT__CONFIRM", c.Agent.Confirm, []string{"replay", "model"}},
		{"AUDIT__PERSONAL_DATA", c.Audit.PersonalData, []string{"keep", redactPersonal}},
		{"LOG__FORMAT", c.Log.Format, []string{"text", "json"}},
		{"LLM__PROTOCOL", c.LLM.Protocol, []string{"openai_chat_completions", "anthropic"}},
		{"AGENT__BACKEND", c.Agent.Backend, []string{"native", "sdk"}},
		{"AGENT__HITL", c.Agent.HITL, []string{"hook", "interrupt"}},
	} {
		if !slices.Contains(s.choices, s.value) {
			return usageError("%s%s: want %s", prefix, s.name, strings.Join(s.choices, " or "))
		}
	}
	if c.Agent.HITL == "interrupt" && c.Agent.Confirm == "model" {
		return usageError("%sAGENT__HITL=interrupt goes on with exactly the call that was confirmed, so it does not go with %sAGENT__CONFIRM=model; "+
			"take one of the two out", prefix, prefix)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Log.Level)); err != nil {
		return usageError("%sLOG__LEVEL: want debug, info, warn or error", prefix)
	}
	return nil
}

// checkLater refuses what is designed and not built.
func (c Config) checkLater() error {
	for _, s := range []struct {
		name string
		set  bool
	}{
		{"AGENT__BACKEND=sdk", c.Agent.Backend == "sdk"},
		{"BUS", c.Bus != "memory"},
		{"HOOKS__RUNNER", c.Hooks.Runner != ""},
		{"HOOKS__HTTP_ALLOW", len(c.Hooks.HTTPAllow) > 0},
	} {
		if s.set {
			return usageError("%s%s: this version can't do that yet; take the setting out", prefix, s.name)
		}
	}
	return nil
}

// checkNumbers checks the ranges.
func (c Config) checkNumbers() error {
	for _, s := range []struct {
		name             string
		value, low, high int
	}{
		{"LLM__TIMEOUT_S", c.LLM.TimeoutS, 1, 3600},
		{"LLM__MAX_TOKENS", c.LLM.MaxTokens, 1, 1 << 20},
		{"LLM__MAX_RETRIES", c.LLM.MaxRetries, 0, 10},
		{"DATA__EVENT_DAYS", c.Data.EventDays, 1, 36500},
		{"DB__ROW_LIMIT", c.DB.RowLimit, 1, 1_000_000},
		{"DB__QUERY_TIMEOUT_S", c.DB.QueryTimeoutS, 1, 3600},
		{"DB__MAX_RESULT_BYTES", c.DB.MaxResultBytes, 1 << 10, 1 << 30},
		{"AGENT__MAX_TURNS", c.Agent.MaxTurns, 1, 1000},
		{"AGENT__MAX_TOOL_CALLS", c.Agent.MaxToolCalls, 1, 1000},
		{"AGENT__WALL_CLOCK_TIMEOUT_S", c.Agent.WallClockTimeoutS, 1, 86400},
		{"AGENT__ASK_TIMEOUT_S", c.Agent.AskTimeoutS, 1, 86400},
	} {
		if s.value < s.low || s.value > s.high {
			return usageError("%s%s: want a number from %d to %d", prefix, s.name, s.low, s.high)
		}
	}
	most := float32(2)
	if c.LLM.Protocol == models.Anthropic {
		most = 1
	}
	if c.LLM.Temperature < 0 || c.LLM.Temperature > most {
		return usageError("%sLLM__TEMPERATURE: want a number from 0 to %v", prefix, most)
	}
	return nil
}

// checkModel refuses half a model.
func (c Config) checkModel() error {
	switch {
	case c.modelConfig().IsDemo():
		return nil
	case c.LLM.APIBase == "":
		return usageError("%sLLM__API_BASE: missing; it is the address of the model's server, for example https://api.openai.com/v1", prefix)
	case c.LLM.Model == models.DemoName:
		return usageError("%sLLM__MODEL: missing; it is the model's name at %s", prefix, c.LLM.APIBase)
	default:
		return nil
	}
}

// checkRoots refuses a folder that would be another one from another working
// directory.
func (c Config) checkRoots() error {
	for _, root := range c.Hooks.PathAllowlistExtra {
		if !filepath.IsAbs(root) {
			return usageError("%sHOOKS__PATH_ALLOWLIST_EXTRA: %q is not an absolute path", prefix, root)
		}
	}
	return nil
}
