package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/datasource"
	"example.com/datamind/internal/sqlguard"
)

// QuerySQL is db_query_sql{sql, confirm_destructive?}.
type QuerySQL struct {
	Sources *datasource.Set
	Limits  datasource.Options // of one call; its Confirmed is not used

	Undos agent.Undos  // where what a confirmed call changes is kept; nil: nowhere
	Log   *slog.Logger // default: nothing is logged
}

// Name implements [agent.Tool].
func (QuerySQL) Name() string { return "db_query_sql" }

// Description implements [agent.Tool].
func (QuerySQL) Description() string {
	return "Runs SQL in the database's own dialect and returns the rows, up to a limit: with \"truncated\":true there are more, " +
		"so aggregate, filter or add LIMIT. Reads, INSERT and CREATE run at once. " +
		"UPDATE, DELETE, REPLACE, DROP and ALTER are shown to the user, who may confirm them; " +
		"the result is then requires_confirmation, and you wait for the user's answer instead of calling again. " +
		"Several statements separated by semicolons run in one transaction where they write; the result then has one object per statement in \"results\". " +
		"Integers beyond 2^53 come as strings, bytes as {\"blob\":base64}."
}

// Schema implements [agent.Tool].
func (QuerySQL) Schema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` +
		`"sql":{"type":"string","description":"One SQL statement, or several separated by semicolons. No placeholders."},` +
		`"confirm_destructive":{"type":"boolean","description":"Only where a confirmation told you to send it. It is no consent: the user is asked all the same."}` +
		`},"required":["sql"],"additionalProperties":false}`)
}

// Decode implements [agent.Tool].
func (QuerySQL) Decode(args json.RawMessage) (json.RawMessage, error) {
	return decodeArgs(args, []param{
		{name: "sql", kind: kindString, required: true},
		{name: "confirm_destructive", kind: kindBool},
	})
}

// judged is a call's statements as its source's judge reads them now.
type judged struct {
	source datasource.Source
	report sqlguard.Report
}

func (t QuerySQL) judge(ctx context.Context, u agent.Use) (judged, error) {
	source, err := sourceOf(t.Sources, u)
	if err != nil {
		return judged{}, err
	}
	var args struct {
		SQL string `json:"sql"`
	}
	if err := json.Unmarshal(u.Args, &args); err != nil {
		return judged{}, fmt.Errorf("read arguments: %w", err)
	}
	return judged{source, source.Judge().Inspect(ctx, args.SQL)}, nil
}

// Writes implements [agent.Tool].
func (t QuerySQL) Writes(ctx context.Context, u agent.Use) bool {
	j, err := t.judge(ctx, u)
	return err != nil || j.report.Effect != sqlguard.Reads
}

// Run implements [agent.Tool].
func (t QuerySQL) Run(ctx context.Context, u agent.Use) (json.RawMessage, error) {
	j, err := t.judge(ctx, u)
	if err != nil {
		return nil, err
	}
	if j.report.Effect > sqlguard.Destroys {
		return nil, agent.Wrap(agent.CodeDenied, nil, j.report.Reason.In(u.Lang))
	}
	confirmed, err := confirmedImpact(u)
	if err != nil {
		return nil, err
	}
	limits := t.Limits
	limits.Confirmed, limits.Keep = confirmed, t.wanted(confirmed)
	results, err := j.source.Query(ctx, j.report, limits)
	if err != nil {
		return nil, plain(err)
	}
	return encodeResults(results, t.keep(ctx, u, j.source.Name(), limits.Keep))
}

// confirmedImpact returns what the person who approved the call was shown, and
// nil where nobody was asked.
func confirmedImpact(u agent.Use) (*datasource.Impact, error) {
	if u.Approved == nil {
		return nil, nil //nolint:nilnil // no approval is no error
	}
	var details struct {
		Impact datasource.Impact `json:"impact"` // not known, where there is none
	}
	if raw := u.Approved.Question.Details; len(raw) > 0 {
		if err := json.Unmarshal(raw, &details); err != nil {
			return nil, fmt.Errorf("read what was confirmed: %w", err)
		}
	}
	return &details.Impact, nil
}
