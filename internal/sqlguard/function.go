package sqlguard

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// What functions do that may not be called is data: a file per dialect.
var (
	//go:embed functions/postgres.txt
	postgresFunctions string
	//go:embed functions/mysql.txt
	mysqlFunctions string
)

// A denial is a line of such a file.
type denial struct {
	prefix, suffix string // of a name with a star
	code           string // of a reason
}

// denials are the functions of a dialect that are not just called.
type denials struct {
	exact   map[string]string // by name
	schemas map[string]string // by schema
	counted map[counted]string
	stars   []denial
}

// A counted is a function with so many arguments.
type counted struct {
	name      string
	arguments int
}

// readDenials reads a list of functions.
func readDenials(text string) (denials, error) {
	d := denials{exact: map[string]string{}, schemas: map[string]string{}, counted: map[counted]string{}}
	for n, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return denials{}, fmt.Errorf("functions: line %d: want a name, what it does and why", n+1)
		}
		code := functionCode(fields[1])
		if code == "" {
			return denials{}, fmt.Errorf("functions: line %d: nothing is called %q", n+1, fields[1])
		}
		if err := d.add(fields[0], code); err != nil {
			return denials{}, fmt.Errorf("functions: line %d: %w", n+1, err)
		}
	}
	return d, nil
}

// add adds a line's function: "name", "na*", "schema.*" or "name/arguments".
func (d *denials) add(name, code string) error {
	prefix, suffix, star := strings.Cut(name, "*")
	schema, isSchema := strings.CutSuffix(prefix, ".")
	name, arguments, isCounted := strings.Cut(name, "/")
	switch {
	case star && isSchema:
		d.schemas[schema] = code
	case star:
		d.stars = append(d.stars, denial{prefix, strings.TrimSuffix(suffix, "*"), code})
	case isCounted:
		n, err := strconv.Atoi(arguments)
		if err != nil {
			return fmt.Errorf("%q is no number of arguments", arguments)
		}
		d.counted[counted{name, n}] = code
	default:
		d.exact[name] = code
	}
	return nil
}

// functionCode returns the reason that a word of the list stands for.
func functionCode(word string) string {
	switch word {
	case "waits":
		return codeWaits
	case "locks":
		return codeLocks
	case "server":
		return codeServerFunction
	case "file":
		return codeFileFunction
	case "sql":
		return codeTextFunction
	case "network":
		return codeNetworkFunction
	case "setting":
		return codeSettingFunction
	case "sequence":
		return codeSequence
	}
	return ""
}

// judge judges a call by its name, in lower case, and its schema, if any. A
// call has arguments, -1 where it is not known how many.
func (d denials) judge(schema, name string, arguments int) (Effect, Reason) {
	code := d.exact[name]
	if code == "" {
		for _, s := range d.stars {
			if strings.HasPrefix(name, s.prefix) && strings.HasSuffix(name[len(s.prefix):], s.suffix) {
				code = s.code
				break
			}
		}
	}
	if code == "" && schema != "" {
		code = d.schemas[schema]
	}
	if code == "" {
		code = d.byArguments(name, arguments)
	}
	switch code {
	case "":
		return Reads, Reason{}
	case codeSequence:
		return Changes, Reason{Code: code, Name: name}
	}
	return Administers, Reason{Code: code, Name: name}
}

// byArguments looks up a call that only so many arguments make one to deny.
func (d denials) byArguments(name string, arguments int) string {
	if arguments >= 0 {
		return d.counted[counted{name, arguments}]
	}
	for c, code := range d.counted {
		if c.name == name {
			return code
		}
	}
	return ""
}
