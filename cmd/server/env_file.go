package main

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
)

// envFile is the file in the working directory that is read before the
// environment.
const envFile = ".env.datamind"

// parseEnvFile reads NAME=value lines. Blank lines and lines that begin with #
// are skipped, a leading "export " too. A value may stand in single or double
// quotes, which are taken off; nothing is expanded or unescaped, so that a
// password stays what it is. A line that is none of this is an error that names
// its number and not its text, which may be a secret.
func parseEnvFile(data []byte) (map[string]string, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	vars := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		line = strings.TrimPrefix(line, "export ")
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.ContainsAny(name, " \t\"'") {
			return nil, fmt.Errorf("line %d: want NAME=value", n)
		}
		if _, twice := vars[name]; twice {
			return nil, fmt.Errorf("line %d: %s is set a second time", n, name)
		}
		value, err := unquote(strings.TrimSpace(value))
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", n, name, err)
		}
		vars[name] = value
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	return vars, nil
}

// unquote takes off one pair of quotes, if the value has one.
func unquote(value string) (string, error) {
	if value == "" || value[0] != '"' && value[0] != '\'' {
		return value, nil
	}
	if len(value) < 2 || value[len(value)-1] != value[0] {
		return "", fmt.Errorf("the quote %c is not closed", value[0])
	}
	return value[1 : len(value)-1], nil
}
