package sqlguard

import (
	"context"
	"fmt"
)

// judgeSQLite judges the pieces of a text: by their words what the engine must
// not even compile or is not asked about, and by the engine's own compiler what
// they do. The worse counts.
func (j *Judge) judgeSQLite(ctx context.Context, pieces []piece) ([]Statement, error) {
	statements := make([]Statement, len(pieces))
	verbs := make([]verb, len(pieces))
	var (
		texts []string
		owner []int // of each text the piece that it is for
	)
	for i, p := range pieces {
		v := verbOf(p)
		verbs[i] = v
		statements[i] = Statement{Text: p.String(), Verb: v.name, Bounded: v.bounded(p)}
		if v.explain {
			statements[i].Verb = "EXPLAIN"
		}
		statements[i].raise(refuse(p, v))
		if statements[i].Effect >= DestroysAll {
			continue // some of these act while they are compiled
		}
		if body := viewBody(p, v); body != "" {
			texts, owner = append(texts, body), append(owner, i)
		}
		texts, owner = append(texts, statements[i].Text), append(owner, i)
	}
	answers, err := j.compiler.Compile(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(answers) != len(texts) {
		return nil, fmt.Errorf("%d answers for %d statements", len(answers), len(texts))
	}
	for n, answer := range answers {
		i := owner[n]
		if body := n+1 < len(owner) && owner[n+1] == i; body {
			statements[i].raise(judgeBody(answer))
			continue
		}
		statements[i].judge(pieces[i], verbs[i], answer)
	}
	return statements, nil
}

// raise makes a statement's effect worse, or leaves it.
func (s *Statement) raise(e Effect, r Reason) {
	if e > s.Effect {
		s.Effect, s.Reason = e, r
	}
}

// viewBody returns the query of a CREATE VIEW, or "". The engine does not look
// into it before the view is used, so it is compiled by itself.
func viewBody(p piece, v verb) string {
	if v.name != "CREATE VIEW" {
		return ""
	}
	i := p.find(v.target, p.tokens[v.at].depth, "AS") + 1
	if i == 0 || !p.is(i, "SELECT") && !p.is(i, "WITH") && !p.is(i, "VALUES") {
		return ""
	}
	return p.from(i)
}

// judgeBody judges the query of a view. One that does not compile does no harm.
func judgeBody(c Compiled) (Effect, Reason) {
	for _, act := range c.Acts {
		if e, r := forbidden(act); e != Reads {
			return e, r
		}
	}
	return Reads, Reason{}
}

// judge adds what the engine says about a statement.
func (s *Statement) judge(p piece, v verb, c Compiled) {
	s.Acts = c.Acts
	s.Tables = tables(p, v, c.Acts)
	if !v.explain {
		s.Writes = writes(p, v, c.Acts)
	}
	wanted, reason := judgeActs(v, c)
	declared, why := judgeWords(p, v, c)
	if declared > wanted || declared == wanted && why.Code != "" {
		wanted, reason = declared, why
	}
	if v.explain && wanted < DestroysAll {
		return // EXPLAIN runs nothing of what it explains
	}
	s.raise(wanted, reason)
}

// judgeActs judges by what the authorizer was asked.
func judgeActs(v verb, c Compiled) (Effect, Reason) {
	var (
		effect Effect
		reason Reason
	)
	for _, act := range c.Acts {
		e, r := judgeAct(v, act)
		if e > effect || e == effect && reason.Code == "" {
			effect, reason = e, r
		}
	}
	switch {
	case effect >= DestroysAll:
		return effect, reason
	case c.Err != nil:
		return Unknown, Reason{Code: codeEngine, Name: c.Err.Error()}
	case effect == Reads && !c.ReadOnly && !v.explain && v.name != "PRAGMA" && minimum(v) == Reads:
		return Unknown, Reason{Code: codeNotReadOnly, Name: v.name}
	}
	return effect, reason
}

// judgeAct judges one question to the authorizer.
func judgeAct(v verb, act Act) (Effect, Reason) {
	if e, r := forbidden(act); e != Reads {
		return e, r
	}
	switch act.Op {
	case opInsert, opUpdate, opDelete:
		return judgeRows(v, act)
	case opCreateTable, opCreateTempTable, opCreateIndex, opCreateTempIndex,
		opCreateView, opCreateTempView, opCreateVTable, opAnalyze:
		return Adds, Reason{}
	case opCreateTrigger, opCreateTempTrigger:
		return Destroys, Reason{Code: codeStoredCode, Name: act.Arg1}
	case opDropIndex, opDropTable, opDropTempIndex, opDropTempTable,
		opDropTempTrigger, opDropTempView, opDropTrigger, opDropView, opDropVTable:
		return Destroys, Reason{Code: codeDrops, Name: act.Arg1}
	case opAlterTable:
		return Destroys, Reason{Code: codeAlters, Name: act.Arg2}
	case opReindex:
		if v.name == "CREATE INDEX" { // fills the new one
			return Adds, Reason{}
		}
		return Changes, Reason{Code: codeRewrites, Name: act.Arg1}
	}
	if act.ReadOnly() {
		return Reads, Reason{}
	}
	return Unknown, Reason{Code: codeNotListed, Name: v.name}
}

// judgeRows judges a change of rows. The engine's own tables are changed by
// CREATE and DROP, too; only there it is no one's business.
func judgeRows(v verb, act Act) (Effect, Reason) {
	if internalTable(act.Arg1) {
		if v.changesRows() {
			return Administers, Reason{Code: codeInternalTable, Name: act.Arg1}
		}
		return Reads, Reason{}
	}
	switch {
	case act.Op == opInsert:
		return Adds, Reason{}
	case v.name == "INSERT": // an upsert has a better reason, from its words
		return Changes, Reason{Code: codeTriggerChanges, Name: act.Arg1}
	case act.Op == opDelete:
		return Changes, Reason{Code: codeDeletes, Name: act.Arg1}
	}
	return Changes, Reason{Code: codeUpdates, Name: act.Arg1}
}

// forbidden returns Reads for an act that may be allowed or asked about.
func forbidden(act Act) (Effect, Reason) {
	if act.Op == opRead {
		if name, ok := pragmaTable(act.Arg1); ok && !readsPragma(name, false) {
			return Administers, Reason{Code: codePragma, Name: name}
		}
		return Reads, Reason{}
	}
	if !act.Forbidden() {
		return Reads, Reason{}
	}
	switch act.Op {
	case opAttach, opDetach:
		return Administers, Reason{Code: codeAttach}
	case opTransaction, opSavepoint:
		return Administers, Reason{Code: codeTransaction}
	case opPragma:
		return Administers, Reason{Code: codePragma, Name: act.Arg1}
	case opFunction:
		return Administers, Reason{Code: codeFunction, Name: act.Arg2}
	case opCreateVTable:
		return Administers, Reason{Code: codeModule, Name: act.Arg2}
	}
	return Unknown, Reason{Code: codeNotListed}
}
