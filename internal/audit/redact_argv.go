package audit

import "strings"

// argvRules are the short flags by which programs take passwords. Long ones,
// such as --password, tell by their name.
func argvRules() []rule {
	const upTo = `\s(?:[^|;\n]*\s)?` // other arguments
	return []rule{
		{name: "argv", gates: []string{"mysql", "mariadb"}, expr: `\b(?:mysql|mariadb)[\w\-]*` + upTo + `-p['"]?([^\s'"]+)`},
		{name: "argv", gates: []string{"curl "}, expr: `\bcurl` + upTo + `(?:-u|--user)[ =]?['"]?[^\s:'"]+:([^\s'"]+)`},
		{name: "argv", gates: []string{"sshpass"}, expr: `\bsshpass\s+-p\s*['"]?([^\s'"]+)`},
		{name: "argv", gates: []string{"sqlcmd", "osql", "mosquito_"}, expr: `\b(?:sqlcmd|osql|mosquito_[ps]ub)` + upTo + `-P\s*['"]?([^\s'"]+)`},
		{name: "argv", gates: []string{"redis-cli"}, expr: `\bredis-cli` + upTo + `-a\s+['"]?([^\s'"]+)`},
		{name: "argv", gates: []string{"ldap"}, expr: `\bldap[a-z]+` + upTo + `-w\s+['"]?([^\s'"]+)`},
		{name: "argv", gates: []string{"mongo"}, expr: `\bmongo[a-z]*` + upTo + `-p\s+['"]?([^\s'"]+)`},
		{name: "argv", gates: []string{"htpasswd"}, expr: `\bhtpasswd` + upTo + `-[a-zA-Z]*b[a-zA-Z]*\s[^|;\n]*?['"]?([^\s'"|;]+)['"]?\s*(?:$|[|;\n])`},
		{name: "argv", gates: []string{"sudo "}, expr: `\becho\s+(?:-n\s+)?['"]?([^\s'"|]+)['"]?\s*\|\s*sudo\s+-S`},
		{name: "argv", gates: []string{"sqlplus"}, expr: `\bsqlplus\s+(?:-\w+\s+)*\w+/([^\s/@'"]+)`},
		{name: "pgpass", gates: []string{":5432:", ":5433:", ":6432:", ":*:"}, expr: `(?m)^[\w.*\-]+:(?:\d{4}|\*):[\w.*\-]+:[\w.*\-]+:([^\s:]+)`},
	}
}

// hideArguments hides what v, such as {"command":"sqlcmd","args":[…]}, gives a
// program.
func (v *value) hideArguments() bool {
	for _, args := range []string{"args", "argv", "arguments"} {
		list := v.member(args)
		if list == nil || list.kind != array {
			continue
		}
		for _, command := range []string{"command", "cmd", "program"} {
			if program := v.member(command); program != nil && program.kind == text {
				return list.hideFlags(program.text)
			}
		}
	}
	return false
}

// hideFlags hides what stands in v, the arguments of a program with or without
// itself, behind flags that take secrets. Without a name it is the first of v.
func (v *value) hideFlags(program string) bool {
	if program == "" && len(v.list) > 1 && v.list[0].kind == text {
		program = v.list[0].text
	}
	changed, short := false, passwordFlag(program)
	for i := range v.list {
		e := &v.list[i]
		before := ""
		if i > 0 && v.list[i-1].kind == text {
			before = v.list[i-1].text
		}
		switch {
		case strings.HasPrefix(before, "-") && (before == short || secretName(strings.TrimLeft(before, "-"))):
			changed = e.hide("argv") || changed
		case e.kind != text:
		case (before == "-u" || before == "--user") && strings.Contains(e.text, ":"):
			user, _, _ := strings.Cut(e.text, ":")
			changed = e.replace(user+":"+redacted("argv")) || changed
		case mysqlClient(program) && strings.HasPrefix(e.text, "-p") && len(e.text) > 2:
			changed = e.replace("-p"+redacted("argv")) || changed
		}
	}
	return changed
}

// passwordFlag returns the short flag by which a program, which may have a
// path, takes its password as the next argument, or "".
func passwordFlag(program string) string {
	switch name := program[strings.LastIndexByte(program, '/')+1:]; {
	case name == "sshpass" || strings.HasPrefix(name, "mongo"):
		return "-p"
	case name == "sqlcmd" || name == "osql" || strings.HasPrefix(name, "mosquito_"):
		return "-P"
	case name == "redis-cli":
		return "-a"
	case strings.HasPrefix(name, "ldap"):
		return "-w"
	}
	return ""
}

func mysqlClient(program string) bool {
	name := program[strings.LastIndexByte(program, '/')+1:]
	return strings.HasPrefix(name, "mysql") || strings.HasPrefix(name, "mariadb")
}
