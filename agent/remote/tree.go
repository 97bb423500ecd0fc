package remote

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/tasktree"
)

// The bounds of a request for the tasks below a task.
const (
	treeTimeout = 3 * time.Second
	treeBytes   = 256 << 10
)

// ReadTree returns the tasks that the agent lists below the remote task that a checkpoint names: the
// metadata card.TaskTree of that task. It returns nil if the card of the agent does not declare the
// extension, and tasktree.ErrEarly if there is no remote task. It does not affect runs: the request has a connection
// of its own, which is bounded in time and bytes, and is not repeated.
func (a *Agent) ReadTree(ctx context.Context, checkpoint []byte) ([]byte, error) {
	h, err := decodeHandle(checkpoint)
	if err != nil {
		return nil, err
	}
	if h.Task == "" {
		return nil, tasktree.ErrEarly
	}
	ctx, cancel := context.WithTimeout(ctx, treeTimeout)
	defer cancel()
	p, err := a.treePeer(ctx)
	if err != nil || p == nil {
		return nil, err
	}
	none := 0
	ev, err := p.Get(peer.WithExtensions(ctx, []string{card.TaskTree}), h.Task, &none)
	if err != nil {
		return nil, err
	}
	return rawjson.Member(rawjson.Member(ev.Body(), "metadata"), card.TaskTree), nil
}

// treePeer returns the connection for ReadTree; nil if the agent does not list tasks.
func (a *Agent) treePeer(ctx context.Context) (*peer.Peer, error) {
	if _, err := a.peer(ctx); err != nil {
		return nil, err
	}
	l := &a.connection
	unlock, err := l.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if l.card == nil || !card.Declares(l.card.A2A, card.TaskTree) {
		return nil, nil
	}
	if l.trees != nil && l.treesCard == l.card {
		return l.trees, nil
	}
	o := a.options()
	o.Timeout, o.Retries, o.BreakAfter, o.MaxBody = treeTimeout, -1, -1, treeBytes
	p, err := peer.New(l.card, o)
	if err != nil {
		return nil, err
	}
	if l.trees != nil {
		_ = l.trees.Close() // a request of it that breaks is made again later
	}
	l.trees, l.treesCard = p, l.card
	return p, nil
}
