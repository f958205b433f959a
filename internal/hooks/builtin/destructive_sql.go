package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"example.com/datamind/internal/hooks"
	"example.com/datamind/internal/sqlguard"
)

// DestructiveSQL asks about statements that change or destroy data, denies
// those that destroy a database or schema or reach out of it, and denies what
// does not parse. What an effect leads to is one table: [sqlguard.Effect.Ruling].
//
// A question's details are {"sql","effect","statements":[{"verb","effect","tables"}]}.
type DestructiveSQL struct {
	Args  map[string]string         // tool name to the argument that holds SQL
	Judge func(source string) Judge // of a data source; nil, or no judge: deny
}

var _ hooks.Hook = DestructiveSQL{}

// Name implements [hooks.Hook].
func (DestructiveSQL) Name() string { return "destructive_sql" }

// Decide implements [hooks.Hook].
func (h DestructiveSQL) Decide(ctx context.Context, c hooks.Call) (hooks.Decision, error) {
	q, refusal := inspect(ctx, c, h.Args, h.Judge)
	switch {
	case refusal != nil:
		return *refusal, nil
	case q == nil:
		return hooks.Allow{}, nil
	}
	switch worst(q.report).Ruling() {
	case sqlguard.Allow:
		return hooks.Allow{}, nil
	case sqlguard.Ask:
		details, err := json.Marshal(details{q.sql, worst(q.report).String(), q.report.Check("", c.Lang).Statements})
		if err != nil {
			return nil, fmt.Errorf("describe SQL: %w", err)
		}
		return hooks.AskUser{
			Prompt:      prompt(c, q.report),
			Details:     details,
			ConfirmArgs: json.RawMessage(`{"confirm_destructive":true}`),
		}, nil
	}
	return hooks.Deny{Reason: why(c, q.report)}, nil
}

// details are what a person is shown under the question.
type details struct {
	SQL        string                    `json:"sql"`
	Effect     string                    `json:"effect"`
	Statements []sqlguard.CheckStatement `json:"statements"`
}

// prompt is the question in words: what would be done, to which tables.
func prompt(c hooks.Call, r sqlguard.Report) string {
	var did, where []string
	unbounded := false
	for _, s := range r.Statements {
		if s.Effect.Ruling() != sqlguard.Ask {
			continue
		}
		if !slices.Contains(did, s.Verb) {
			did = append(did, s.Verb)
		}
		for _, t := range s.Tables {
			if !slices.Contains(where, t) {
				where = append(where, t)
			}
		}
		unbounded = unbounded || !s.Bounded && (s.Verb == "UPDATE" || s.Verb == "DELETE")
	}
	tables := strings.Join(where, c.Say(", ", "、"))
	var words []string
	if reason := r.Reason.In(c.Lang); r.Reason.Code != "" && len(r.Statements) == 1 {
		words = append(words, reason)
		if len(where) > 1 {
			words = append(words, fmt.Sprintf(c.Say("Tables: %s.", "涉及的表：%s。"), tables))
		}
	} else {
		words = append(words, what(c, worst(r), strings.Join(did, ", "), tables))
	}
	if unbounded {
		words = append(words, c.Say("It has no WHERE: every row is affected.", "语句没有 WHERE 条件：所有行都会受影响。"))
	}
	words = append(words, c.Say("Run it?", "是否执行？"))
	return strings.Join(words, c.Say(" ", ""))
}

func what(c hooks.Call, e sqlguard.Effect, verbs, tables string) string {
	en, zh := "This %s changes existing data", "该 %s 语句会更改现有数据"
	if e == sqlguard.Destroys {
		en, zh = "This %s destroys data or definitions", "该 %s 语句会销毁数据或定义"
	}
	if tables != "" {
		return fmt.Sprintf(c.Say(en+" (%s).", zh+"（%s）。"), verbs, tables)
	}
	return fmt.Sprintf(c.Say(en+".", zh+"。"), verbs)
}
