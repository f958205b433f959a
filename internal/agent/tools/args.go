package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxArgs bounds the arguments of a call, in bytes.
const maxArgs = 1 << 20

// A param is an argument that a tool takes.
type param struct {
	name     string
	kind     kind
	required bool
}

// A kind is the JSON type of an argument.
type kind string

const (
	kindString kind = "string"
	kindBool   kind = "boolean"
)

// decodeArgs reads a JSON object that has params and nothing else, each at most
// once and written exactly so, and returns it written again: keys in the order
// of params, no spaces. Its errors name what is wrong, for the model.
func decodeArgs(args json.RawMessage, params []param) (json.RawMessage, error) {
	switch {
	case len(args) > maxArgs:
		return nil, fmt.Errorf("the arguments are larger than %d bytes", maxArgs)
	case !utf8.Valid(args):
		return nil, errors.New("the arguments are not valid UTF-8")
	case len(bytes.TrimSpace(args)) == 0:
		args = json.RawMessage("{}") // what some models send for no arguments
	}
	values, err := readObject(args, params)
	if err != nil {
		return nil, err
	}
	out := []byte{'{'}
	for _, p := range params {
		v, ok := values[p.name]
		if !ok && p.required {
			return nil, fmt.Errorf("the argument %q is missing", p.name)
		}
		if !ok {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		member, err := encode(v)
		if err != nil {
			return nil, err
		}
		out = append(out, `"`+p.name+`":`...)
		out = append(out, member...)
	}
	return append(out, '}'), nil
}

func readObject(args json.RawMessage, params []param) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("the arguments must be a JSON object")
	}
	values := map[string]any{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, errors.New("the arguments are not valid JSON")
		}
		name, _ := key.(string) // a key is a string, or Token fails
		p, err := paramOf(name, params)
		if err != nil {
			return nil, err
		}
		if _, dup := values[name]; dup {
			return nil, fmt.Errorf("the argument %q is there twice", name)
		}
		var v any
		if err := d.Decode(&v); err != nil {
			return nil, fmt.Errorf("the argument %q is not valid JSON", name)
		}
		if !p.kind.has(v) {
			return nil, fmt.Errorf("the argument %q must be a %s", name, p.kind)
		}
		values[name] = v
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return nil, errors.New("the arguments are not valid JSON")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the arguments' JSON object")
	}
	return values, nil
}

func paramOf(name string, params []param) (param, error) {
	i := slices.IndexFunc(params, func(p param) bool { return p.name == name })
	if i >= 0 {
		return params[i], nil
	}
	for _, p := range params {
		if strings.EqualFold(p.name, name) {
			return param{}, fmt.Errorf("there is no argument %q; write %q", name, p.name)
		}
	}
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.name
	}
	if len(names) == 0 {
		return param{}, fmt.Errorf("there is no argument %q; this tool takes none", name)
	}
	return param{}, fmt.Errorf("there is no argument %q; there are %s", name, strings.Join(names, ", "))
}

func (k kind) has(v any) bool {
	switch v.(type) {
	case string:
		return k == kindString
	case bool:
		return k == kindBool
	}
	return false
}
