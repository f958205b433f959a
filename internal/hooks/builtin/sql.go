package builtin

import (
	"context"
	"encoding/json"
	"fmt"

	"example.com/datamind/internal/hooks"
	"example.com/datamind/internal/sqlguard"
)

// A question is the SQL of a call with what was found in it.
type question struct {
	arg    string // the argument that holds the SQL
	sql    string
	judge  Judge
	report sqlguard.Report
}

// inspect reads the SQL of a call. It returns nil where the call's tool takes
// none, and a refusal where the SQL cannot be judged.
func inspect(ctx context.Context, c hooks.Call, args map[string]string, judge func(source string) Judge) (*question, *hooks.Deny) {
	return ask(c, args, judge, func(q *question) { q.report = q.judge.Inspect(ctx, q.sql) })
}

// ask finds the SQL of a call and its judge, and lets use put questions to it.
// Like inspect, it returns nil or a refusal where it can't, also where the judge
// panics: then it has judged nothing.
func ask(c hooks.Call, args map[string]string, judge func(source string) Judge, use func(*question)) (*question, *hooks.Deny) {
	arg, ok := args[c.Tool]
	if !ok {
		return nil, nil
	}
	sql, err := sqlOf(c.Payload, arg)
	if err != nil {
		return nil, &hooks.Deny{Reason: fmt.Sprintf(c.Say(
			"The SQL cannot be read from the arguments: %v.", "无法从参数中读取 SQL：%v。"), err)}
	}
	q := &question{arg: arg, sql: sql}
	if err := q.put(judge, c.Source, use); err != nil {
		return nil, &hooks.Deny{Reason: fmt.Sprintf(c.Say(
			"The SQL cannot be judged: %v.", "无法判定此 SQL：%v。"), err)}
	}
	return q, nil
}

// put finds the judge of source for q and calls use.
func (q *question) put(judge func(source string) Judge, source string, use func(*question)) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the judge of %q failed", source)
		}
	}()
	if judge != nil {
		q.judge = judge(source)
	}
	if q.judge == nil {
		return fmt.Errorf("there is no judge for %q", source)
	}
	use(q)
	return nil
}

// sqlOf returns the argument arg of payload, which holds SQL.
func sqlOf(payload json.RawMessage, arg string) (string, error) {
	args, err := members(payload)
	if err != nil {
		return "", err
	}
	value, _, err := argument(args, arg)
	if err != nil {
		return "", err
	}
	sql, ok := text(value)
	if !ok {
		return "", fmt.Errorf("argument %q is not a text", arg)
	}
	return sql, nil
}

// worst returns the effect of a report: the worst of what it says itself and
// of its statements. A report without statements is about nothing known.
func worst(r sqlguard.Report) sqlguard.Effect {
	if len(r.Statements) == 0 {
		return max(r.Effect, sqlguard.Unknown)
	}
	e := r.Effect
	for _, s := range r.Statements {
		e = max(e, s.Effect)
	}
	return e
}

// why returns the report's reason in the language of the call's person, with a
// general one where it has none.
func why(c hooks.Call, r sqlguard.Report) string {
	if r.Reason.Code != "" {
		if words := r.Reason.In(c.Lang); words != "" {
			return words
		}
	}
	switch worst(r) {
	case sqlguard.DestroysAll:
		return c.Say("It would destroy a whole database or schema.", "它会销毁整个数据库或模式。")
	case sqlguard.Administers:
		return c.Say("It would administer the database server or reach out of the database.", "它会管理数据库服务器，或触及数据库之外。")
	case sqlguard.Unknown:
		return c.Say("It is not understood in whole, so nobody can say what it would do.", "无法完全理解该语句，因此无法判断其后果。")
	case sqlguard.Reads, sqlguard.Adds, sqlguard.Changes, sqlguard.Destroys:
	}
	return ""
}
