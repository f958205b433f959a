package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// An asked question with the hook that asks it.
type asked struct {
	hook     string
	question AskUser
}

// validate reports what is wrong with a; see [AskUser].
func (a AskUser) validate() error {
	if _, err := optionalObject(a.Details); err != nil {
		return fmt.Errorf("details: %w", err)
	}
	_, err := a.confirmArgs()
	return err
}

// confirmArgs returns the members of a.ConfirmArgs.
func (a AskUser) confirmArgs() ([]member, error) {
	args, err := optionalObject(a.ConfirmArgs)
	if err != nil {
		return nil, fmt.Errorf("confirm_args: %w", err)
	}
	for _, m := range args {
		if !strings.HasPrefix(m.name, "confirm") {
			return nil, fmt.Errorf("confirm_args: key %q does not begin with \"confirm\"", m.name)
		}
	}
	return args, nil
}

// claimedBy reports whether payload, the arguments of a call, holds a's
// ConfirmArgs: whether the model says that somebody agreed.
func (a AskUser) claimedBy(payload json.RawMessage) bool {
	confirm, err := a.confirmArgs()
	if err != nil {
		return false
	}
	args, err := object(payload)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(args, func(m member) bool {
		return has(confirm, m.name) && string(m.value) != "false" && string(m.value) != "null"
	})
}

// merge makes one question of several, all of them about the same call. Where
// two have a detail of the same name and they differ, the later one's gets its
// hook's name before it: the person sees both.
func merge(asks []asked) (AskUser, error) {
	if len(asks) == 1 {
		return asks[0].question, nil
	}
	var prompts []string
	var details, confirm []member
	for _, a := range asks {
		if !slices.Contains(prompts, a.question.Prompt) {
			prompts = append(prompts, a.question.Prompt)
		}
		more, err := optionalObject(a.question.Details)
		if err != nil {
			return AskUser{}, fmt.Errorf("details of %s: %w", a.hook, err)
		}
		for _, m := range more {
			details = addDetail(details, m, a.hook)
		}
		args, err := a.question.confirmArgs()
		if err != nil {
			return AskUser{}, fmt.Errorf("question of %s: %w", a.hook, err)
		}
		for _, m := range args {
			if !has(confirm, m.name) {
				confirm = append(confirm, m)
			}
		}
	}
	return AskUser{
		Prompt:      strings.Join(prompts, "\n"),
		Details:     appendOptional(details),
		ConfirmArgs: appendOptional(confirm),
	}, nil
}

// addDetail adds m, unless it is there with the same value.
func addDetail(details []member, m member, hook string) []member {
	i := slices.IndexFunc(details, func(d member) bool { return d.name == m.name })
	switch {
	case i < 0:
		return append(details, m)
	case bytes.Equal(details[i].value, m.value):
		return details
	}
	m.name = hook + "." + m.name
	return addDetail(details, m, hook)
}

func has(members []member, name string) bool {
	return slices.ContainsFunc(members, func(m member) bool { return m.name == name })
}

// optionalObject returns the members of text, and none where text is empty.
func optionalObject(text json.RawMessage) ([]member, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	return object(text)
}

// appendOptional returns members as an object, and nothing where there are none.
func appendOptional(members []member) json.RawMessage {
	if len(members) == 0 {
		return nil
	}
	return appendObject(nil, members)
}

// validate reports what is wrong with r in phase p; see [Rewrite].
func (r Rewrite) validate(p Phase) error {
	if p == PreTool {
		if _, err := object(r.Payload); err != nil {
			return fmt.Errorf("rewritten payload: %w", err)
		}
		return nil
	}
	if !json.Valid(r.Payload) {
		return errors.New("rewritten payload: invalid JSON")
	}
	return nil
}
