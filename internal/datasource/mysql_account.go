package datasource

import (
	"slices"
	"strings"
)

// warnings says what the account that reads could do beside reading. alone says
// that it is also the one that writes.
func (c *myLink) warnings(alone bool) ([]Warning, error) {
	who, err := c.own("SELECT CURRENT_USER()")
	if err != nil {
		return nil, err
	}
	grants, err := c.own("SHOW GRANTS FOR CURRENT_USER()")
	if err != nil {
		return nil, err
	}
	user := who[0][0]
	var more []string
	server := false
	for _, row := range grants {
		rights, everywhere := rightsOf(row[0])
		for _, right := range rights {
			if !reading(right) && !slices.Contains(more, right) {
				more = append(more, right)
			}
			server = server || everywhere && (right == "FILE" || right == "SUPER" || strings.HasPrefix(right, "ALL"))
		}
	}
	list := strings.Join(more, ", ")
	switch {
	case server:
		return []Warning{warnReader(user,
			"may read and write files on the server and change its settings, also in a read-only transaction: it has "+list,
			"即使在只读事务中，也能读写服务器上的文件并更改其设置：拥有 "+list)}, nil
	case alone:
		return []Warning{warnOneAccount(user,
			"which a stored procedure can leave, and what it then does cannot be taken back where this database commits at once, as it does DROP TABLE",
			"存储过程可以脱离该事务，而此数据库对 DROP TABLE 之类的语句会立即提交，无法撤销")}, nil
	case len(more) > 0:
		return []Warning{warnReader(user, "may do more than read: it has "+list, "不只能读取：还拥有 "+list)}, nil
	}
	return nil, nil
}

// rightsOf returns the rights that a line of SHOW GRANTS names, and whether they
// hold for the whole server. A role is a right: nobody looks into it.
func rightsOf(line string) (rights []string, everywhere bool) {
	rest, ok := strings.CutPrefix(line, "GRANT ")
	if !ok {
		return nil, false
	}
	list, on, ok := strings.Cut(rest, " ON ")
	if !ok {
		role, _, _ := strings.Cut(rest, " TO ")
		return []string{"role " + role}, false
	}
	return splitRights(list), strings.HasPrefix(on, "*.*")
}

// splitRights splits a list at its commas, not at those of a list of columns.
func splitRights(list string) []string {
	var all []string
	depth, start := 0, 0
	for i, r := range list + "," {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			right, _, _ := strings.Cut(strings.TrimSpace(list[start:i]), " (")
			all = append(all, right)
			start = i + 1
		}
	}
	return all
}

// reading reports whether a right lets an account read at most.
func reading(right string) bool {
	switch right {
	case "USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES", "PROCESS", "REFERENCES":
		return true
	}
	return false
}
