package sqlguard

import (
	"slices"
	"strings"
)

// tables returns the tables that a statement writes, its own target first, or
// those that it reads where it writes none.
func tables(p piece, v verb, acts []Act) []string {
	var read, written []string
	for _, act := range acts {
		name := act.object()
		switch {
		case name == "" || internalTable(name) && act.Op != opRead:
		case act.Op == opRead:
			read = add(read, name)
		default:
			written = add(written, name)
		}
	}
	target := v.targetName(p)
	switch {
	case len(written) == 0 && len(read) == 0 && target != "":
		return []string{target}
	case len(written) == 0:
		return read
	}
	for i, name := range written {
		if strings.EqualFold(name, target) {
			copy(written[1:i+1], written[:i])
			written[0] = name
			break
		}
	}
	return written
}

// object returns the table, or the view, that an act reads or changes.
func (a Act) object() string {
	switch a.Op {
	case opRead, opInsert, opUpdate, opDelete, opCreateTable, opCreateTempTable,
		opDropTable, opDropTempTable, opCreateView, opCreateTempView, opDropView,
		opDropTempView, opCreateVTable, opDropVTable, opAnalyze:
		return a.Arg1
	case opAlterTable, opCreateIndex, opCreateTempIndex, opDropIndex,
		opDropTempIndex, opCreateTrigger, opCreateTempTrigger, opDropTrigger,
		opDropTempTrigger:
		return a.Arg2
	}
	return ""
}

func add(all []string, s string) []string {
	if slices.Contains(all, s) {
		return all
	}
	return append(all, s)
}

// writes returns the columns that a statement writes.
func writes(p piece, v verb, acts []Act) []Column {
	if !v.changesRows() {
		return nil
	}
	target := v.targetName(p)
	var all []Column
	for _, act := range acts {
		switch {
		case act.Op == opUpdate:
			all = append(all, Column{act.Arg1, act.Arg2})
		case act.Op != opInsert:
		case strings.EqualFold(act.Arg1, target):
			columns := v.columns(p)
			if len(columns) == 0 {
				columns = []string{""}
			}
			for _, name := range columns {
				all = append(all, Column{act.Arg1, name})
			}
		default: // by a trigger
			all = append(all, Column{act.Arg1, ""})
		}
	}
	return all
}
