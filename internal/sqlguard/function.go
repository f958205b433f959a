package sqlguard

import (
	_ "embed"
	"fmt"
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
	exact map[string]string // name, "name/arguments" or "schema.*" to code
	stars []denial
}

// readDenials reads a list of functions.
func readDenials(text string) (denials, error) {
	d := denials{exact: map[string]string{}}
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
		name := fields[0]
		prefix, suffix, star := strings.Cut(name, "*")
		if star && !strings.HasSuffix(prefix, ".") {
			d.stars = append(d.stars, denial{prefix, suffix, code})
		} else {
			d.exact[name] = code
		}
	}
	return d, nil
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
			if strings.HasPrefix(name, s.prefix) && strings.HasSuffix(name[len(s.prefix):], strings.TrimSuffix(s.suffix, "*")) {
				code = s.code
				break
			}
		}
	}
	if code == "" && schema != "" {
		code = d.exact[schema+".*"]
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
	const most = 2
	for n := 1; n <= most; n++ {
		if arguments == n || arguments < 0 {
			if code := d.exact[fmt.Sprintf("%s/%d", name, n)]; code != "" {
				return code
			}
		}
	}
	return ""
}
