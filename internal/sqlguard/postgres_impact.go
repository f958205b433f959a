package sqlguard

import (
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// What the queries call what they add. A statement that has these names itself
// is left alone.
const (
	ownPrefix = "datamind_"
	ownKeys   = "datamind_keys"
	ownNew    = "datamind_new"
	ownRows   = "datamind_rows"
)

// pgImpact is [Judge.Impact] for PostgreSQL.
func (j *Judge) pgImpact(text string, pieces []piece) (Counting, bool) {
	nodes, reason := parsePostgres(text, pieces)
	if reason.Code != "" || strings.Contains(strings.ToLower(text), ownPrefix) {
		return Counting{}, false
	}
	s := j.judgeNode(nodes[0])
	if s.Effect != Changes && s.Effect != Destroys {
		return Counting{}, false
	}
	c := Counting{Verb: s.Verb}
	var ok bool
	switch x := nodes[0].Node.(type) {
	case *pgquery.Node_DeleteStmt:
		d := x.DeleteStmt
		c.Tables, ok = j.pgCount(pgTarget{with: d.WithClause, table: d.Relation, others: d.UsingClause, where: d.WhereClause})
	case *pgquery.Node_UpdateStmt:
		u := x.UpdateStmt
		c.Tables, ok = j.pgCount(pgTarget{
			with: u.WithClause, table: u.Relation, others: u.FromClause, where: u.WhereClause, sets: u.TargetList,
		})
	case *pgquery.Node_InsertStmt:
		c.Tables, ok = pgWhole([]*pgquery.RangeVar{x.InsertStmt.Relation}, false)
		ok = ok && j.pgReads(x.InsertStmt.WithClause)
	case *pgquery.Node_TruncateStmt:
		var tables []*pgquery.RangeVar
		for _, n := range x.TruncateStmt.Relations {
			tables = append(tables, n.GetRangeVar())
		}
		c.Cascade = x.TruncateStmt.Behavior == pgquery.DropBehavior_DROP_CASCADE
		c.Tables, ok = pgWhole(tables, true)
	case *pgquery.Node_DropStmt:
		c.Cascade = x.DropStmt.Behavior == pgquery.DropBehavior_DROP_CASCADE
		if x.DropStmt.RemoveType == pgquery.ObjectType_OBJECT_TABLE {
			c.Tables, ok = pgWhole(pgDropOf(x.DropStmt).tables, true)
		}
	}
	return c, ok
}

// pgWhole counts whole tables.
func pgWhole(tables []*pgquery.RangeVar, all bool) ([]CountedTable, bool) {
	var counted []CountedTable
	for _, r := range tables {
		total, ok := pgTotal(r)
		if !ok {
			return nil, false
		}
		t := CountedTable{Table: pgName(r), Total: total, quote: ansiQuote}
		if all {
			t.Count = total
		}
		counted = append(counted, t)
	}
	return counted, len(counted) > 0
}

func pgTotal(r *pgquery.RangeVar) (string, bool) {
	bare := &pgquery.RangeVar{Schemaname: r.Schemaname, Relname: r.Relname, Inh: true, Relpersistence: "p"}
	if r.Relpersistence != "" { // one that was parsed, not one made of a name
		bare.Inh = r.Inh
	}
	return pgText(pgQuery{targets: []*pgquery.Node{pgCountStar()}, from: []*pgquery.Node{pgFrom(bare)}})
}

// A pgTarget is a statement that changes rows of a table.
type pgTarget struct {
	with   *pgquery.WithClause
	table  *pgquery.RangeVar
	others []*pgquery.Node // of FROM or USING
	where  *pgquery.Node
	sets   []*pgquery.Node
}

// pgCount counts the rows of an UPDATE or DELETE.
func (j *Judge) pgCount(t pgTarget) ([]CountedTable, bool) {
	if !j.pgReads(t.with) || pgNamesTable(t.with, t.table) || t.where != nil && pgFind(t.where, pgVaries) {
		return nil, false
	}
	where := t.where
	if len(t.others) > 0 { // every row once, however many others it meets
		where = pgExists(t.others, t.where)
	}
	q := pgQuery{with: t.with, from: []*pgquery.Node{pgFrom(t.table)}, where: where}
	target := t.table.Relname
	if a := t.table.Alias; a != nil {
		target = a.Aliasname
	}
	c := CountedTable{Table: pgName(t.table), quote: ansiQuote, target: ansiQuote(target)}
	var ok bool
	if c.Total, ok = pgTotal(t.table); !ok {
		return nil, false
	}
	if c.Count, ok = pgText(q.selecting(pgCountStar())); !ok {
		return nil, false
	}
	keys, ok := pgText(q.selecting(pgColumn(ownKeys)))
	before, after, found := strings.Cut(keys, ownKeys)
	if !ok || !found {
		return nil, false
	}
	c.keys = [2]string{before, after}
	c.Sample, c.Set, ok = t.sample(q, target)
	return []CountedTable{c}, ok
}

// sample returns the query of some rows, with their new values where those can
// be read off the statement.
func (t pgTarget) sample(q pgQuery, target string) (text string, set []string, ok bool) {
	q = q.selecting(pgStar(target))
	q.limit = SampleRows
	values, set := t.values()
	switch {
	case len(values) == 0:
		set = nil
	case len(t.others) == 0:
		q.targets = append(q.targets, values...)
	default: // of the others that a row meets, one is taken, as the statement does
		q.targets = append(q.targets, pgStar(ownNew))
		one := pgQuery{targets: values, from: t.others, where: t.where, limit: 1}
		q.from = append(q.from, &pgquery.Node{Node: &pgquery.Node_RangeSubselect{RangeSubselect: &pgquery.RangeSubselect{
			Lateral: true, Subquery: one.node(), Alias: &pgquery.Alias{Aliasname: ownNew},
		}}})
		q.where = nil
	}
	text, ok = pgText(q)
	return text, set, ok
}

// values returns the new values of an UPDATE and the columns that get them, or
// none where one of them cannot be read off the statement.
func (t pgTarget) values() (values []*pgquery.Node, set []string) {
	for _, n := range t.sets {
		r := n.GetResTarget()
		if r == nil || len(r.Indirection) > 0 {
			return nil, nil
		}
		value := r.Val
		if m := value.GetMultiAssignRef(); m != nil {
			row := m.Source.GetRowExpr()
			if row == nil || int(m.Colno) > len(row.Args) {
				return nil, nil
			}
			value = row.Args[m.Colno-1]
		}
		if value.GetSetToDefault() != nil || pgFind(value, pgVaries) {
			return nil, nil
		}
		set = append(set, r.Name)
		values = append(values, pgquery.MakeResTargetNodeWithNameAndVal("new."+r.Name, value, 0))
	}
	return values, set
}

// pgReads reports whether common table expressions only read, and always alike.
func (j *Judge) pgReads(c *pgquery.WithClause) bool {
	if c == nil {
		return true
	}
	w := &pgWalk{functions: j.functions, bounded: true}
	w.with(c)
	return w.effect == Reads && !pgFind(c, pgVaries)
}

// pgNamesTable reports whether a common table expression has the name of a table, so
// that a query on it would read something else.
func pgNamesTable(c *pgquery.WithClause, r *pgquery.RangeVar) bool {
	if r.Schemaname != "" {
		return false
	}
	for _, n := range c.GetCtes() {
		if n.GetCommonTableExpr().GetCtename() == r.Relname {
			return true
		}
	}
	return false
}

// pgVaries reports whether an expression may be something else the next time,
// or depends on where a cursor is.
func pgVaries(m proto.Message) bool {
	switch x := m.(type) {
	case *pgquery.CurrentOfExpr:
		return true
	case *pgquery.FuncCall:
		path := pgNames(x.Funcname)
		switch name := strings.ToLower(path[len(path)-1]); name {
		case "random", "random_normal", "clock_timestamp", "timeofday", "gen_random_uuid", "uuidv4", "uuidv7",
			"gen_random_bytes", "nextval":
			return true
		default:
			if strings.HasPrefix(name, "uuid_generate_") {
				return true
			}
		}
	}
	return false
}
