package main

import (
	"context"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/store"
)

// publicHistory is the store as pages and the public JSON see it: an approval's
// arguments, which the service gets exactly as they will run, come without
// secrets.
type publicHistory struct{ *store.DB }

func (h publicHistory) Approval(ctx context.Context, user, id string) (agent.Approval, error) {
	a, err := h.DB.Approval(ctx, user, id)
	return h.Public(a), err
}

func (h publicHistory) Approvals(ctx context.Context, user string, s agent.ApprovalState) ([]agent.Approval, error) {
	list, err := h.DB.Approvals(ctx, user, s)
	return h.public(list), err
}

func (h publicHistory) Snapshot(ctx context.Context, user, session string) (agent.Snapshot, error) {
	snap, err := h.DB.Snapshot(ctx, user, session)
	snap.Pending = h.public(snap.Pending)
	if q := snap.Queued; q != nil {
		q.Text = h.PublicText(q.Text)
	}
	return snap, err
}

func (h publicHistory) Queued(ctx context.Context, session string) (agent.Queued, bool, error) {
	q, ok, err := h.DB.Queued(ctx, session)
	q.Text = h.PublicText(q.Text)
	return q, ok, err
}

func (h publicHistory) public(list []agent.Approval) []agent.Approval {
	for i, a := range list {
		list[i] = h.Public(a)
	}
	return list
}
