package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"example.com/datamind/internal/hooks"
)

// A Resolution is a person's answer to an approval, as it came in.
type Resolution struct {
	Approval string
	Answer   hooks.Answer
	Digest   string // of what the person was shown
	Typed    string
	Lang     string // of the person, "en" or "zh-Hans"
	From     string // where the answer came from, as the server saw it
}

// Resolve checks and records an answer and, for [hooks.Confirm], grants the
// call. When no approval of the session is pending any more it starts the next
// turn, whose text is the answers' [Approval.Reply], or has it start when the
// running one ends.
//
// It fails with [CodeForbidden] where the question is another user's, with
// [CodeConflict] where the approval was answered before, with
// [CodeExpired] where its time is up, and with [CodeMismatch] where the digest is
// not the approval's or what had to be typed was not, blanks around it aside.
// user is who answers; nothing in r can say otherwise.
func (s *Service) Resolve(ctx context.Context, user string, r Resolution) (Approval, *Turn, error) {
	if r.Answer != hooks.Confirm && r.Answer != hooks.Cancel {
		return Approval{}, nil, Errorf(CodeInvalid, "the decision is neither confirm nor cancel")
	}
	a, unlock, err := s.hold(ctx, user, r.Approval)
	if err != nil {
		return Approval{}, nil, err
	}
	defer unlock()
	// From here on the person's answer counts, even if the browser is gone.
	ctx = context.WithoutCancel(ctx)
	if a.State == ApprovalPending && !s.cfg.Now().Before(a.Expires) {
		if a, _, err = s.expire(ctx, a); err != nil {
			return Approval{}, nil, err
		}
	}
	if err := r.check(a); err != nil {
		return Approval{}, nil, err
	}
	a, pending, err := s.answer(ctx, a, r.Answer, user, r.From)
	if err != nil || pending > 0 {
		return a, nil, err
	}
	t, err := s.follow(ctx, user, a.Session, r.Lang)
	if CodeOf(err) == CodeInterrupted {
		err = nil // the answer is kept; its turn starts when the program does
	}
	return a, t, err
}

// hold returns an approval under its session's lock.
func (s *Service) hold(ctx context.Context, user, approval string) (a Approval, unlock func(), err error) {
	a, err = s.cfg.Store.Approval(ctx, user, approval)
	if CodeOf(err) == CodeNotFound {
		if _, ownerErr := s.cfg.Store.ApprovalOwner(ctx, approval); ownerErr == nil {
			err = Errorf(CodeForbidden, "this question is another person's to answer")
		}
	}
	if err != nil {
		return a, nil, err
	}
	unlock = s.locks.lock(a.Session)
	if a, err = s.cfg.Store.Approval(ctx, user, approval); err != nil {
		unlock()
		return a, nil, err
	}
	return a, unlock, nil
}

// check reports what speaks against r as an answer to a.
func (r Resolution) check(a Approval) error {
	switch {
	case a.State == ApprovalExpired:
		return Errorf(CodeExpired, "nobody answered in time: it has expired")
	case a.State != ApprovalPending:
		return Errorf(CodeConflict, "it was %s before", a.State)
	case !strings.EqualFold(r.Digest, a.Fingerprint.String()):
		return Errorf(CodeMismatch, "the digest is not of this call")
	case r.Answer == hooks.Confirm && a.Typed != "" && strings.TrimSpace(r.Typed) != a.Typed:
		return Errorf(CodeMismatch, "type %q to confirm", a.Typed)
	}
	return nil
}

// answer records an answer in the audit log, then stores it, with a grant for a
// yes, then tells the browser. It is called under the session's lock. It returns
// how many approvals of the session are still pending.
func (s *Service) answer(ctx context.Context, a Approval, ans hooks.Answer, by, from string) (Approval, int, error) {
	now := s.cfg.Now()
	c := hooks.Consent{
		Approval: a.ID, Session: a.Session, User: a.User, Tool: a.Call.Tool, Args: a.Call.Args,
		Fingerprint: a.Fingerprint, Answer: ans, By: by, From: from, At: now,
	}
	record, err := s.cfg.Recorder.RecordConsent(ctx, c)
	if err != nil {
		return a, 0, Wrap(CodeInternal, err, "The answer could not be recorded, so it does not count.")
	}
	var grant *hooks.Grant
	if ans == hooks.Confirm {
		grant = &hooks.Grant{
			ID: NewID("gra", now), Approval: a.ID, Fingerprint: a.Fingerprint, By: by,
			Expires: now.Add(s.grantLife()),
		}
	}
	pending, err := s.cfg.Store.Answer(ctx, c, record, grant)
	if err != nil {
		return a, 0, err
	}
	a.State, a.By, a.From, a.At, a.Record = StateAfter(ans), by, from, now, record
	t := Turn{ID: a.Turn, Session: Session{ID: a.Session, User: a.User}}
	s.send(ctx, t, Event{Type: ApprovalDecided, Approval: &a})
	return a, pending, nil
}

// grantLife is how long a grant can have to wait for its call: until the
// session's other approvals are answered and the running turn is over.
func (s *Service) grantLife() time.Duration {
	return (MaxExtensions+1)*s.cfg.ApprovalTimeout + s.cfg.TurnTimeout
}

// follow starts the session's next turn, if one is due and none runs: the one
// that tells the model what was answered, which it returns, or else that of the
// message that waits. It is called under the session's lock. lang is empty for
// the language in which was asked.
func (s *Service) follow(ctx context.Context, user, session, lang string) (*Turn, error) {
	if s.running(session) {
		return nil, nil //nolint:nilnil // no turn is due
	}
	if t, err := s.tellAnswers(ctx, user, session, lang); t != nil || err != nil {
		return t, err
	}
	return nil, s.startQueued(ctx, user, session)
}

// tellAnswers starts the turn that tells the model what was answered, if answers
// are untold and no question is open.
func (s *Service) tellAnswers(ctx context.Context, user, session, lang string) (*Turn, error) {
	untold, err := s.cfg.Store.Untold(ctx, session)
	if err != nil || len(untold) == 0 {
		return nil, err
	}
	open, err := s.cfg.Store.OpenApprovals(ctx, session)
	if err != nil || len(open) > 0 {
		return nil, err
	}
	ses, err := s.cfg.Store.Session(ctx, user, session)
	if err != nil {
		return nil, err
	}
	if _, err := ses.State.Next(Resolve); err != nil {
		return nil, err
	}
	now := s.cfg.Now()
	t := Turn{ID: NewID("trn", now), Session: ses, Lang: cmp.Or(lang, untold[len(untold)-1].Lang)}
	told := make([]string, len(untold))
	for i, a := range untold {
		told[i] = a.ID
		if a.State == ApprovalConfirmed && (!s.cfg.WaitForModel || a.Call.Tool == UndoTool) {
			t.Replay = append(t.Replay, ToolCall{ID: NewID("call", now), Tool: a.Call.Tool, Args: a.Call.Args, Approval: a.ID, Asked: a.Call.ID})
		}
	}
	t.Answers, t.Checkpoint = untold, s.checkpoint(ctx, session)
	t.Text, t.ReplayOnly = replies(untold, t.Lang), replayOnly(untold)
	refused := s.preTurn(ctx, &t)
	if t, err = s.begin(ctx, t, told, "", refused); err != nil {
		return nil, err
	}
	return &t, nil
}

// replies is what the answers to several approvals add to the next turn's
// message: each says which call it is about where there is more than one.
func replies(as []Approval, lang string) string {
	if len(as) == 1 {
		return as[0].Reply(lang)
	}
	lines := make([]string, len(as))
	for i, a := range as {
		lines[i] = fmt.Sprintf("%d. %s %s: %s", i+1, a.Call.Tool, short(a.Call.Args), a.Reply(lang))
	}
	return strings.Join(lines, "\n")
}

// short is args, cut for a message that a person reads, too.
func short(args json.RawMessage) string {
	const most = 500
	if r := []rune(string(args)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return string(args)
}
