package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/tasktree"
)

// sharesTree reports whether the configuration shares the trees of an agent with all its callers.
func (e *Engine) sharesTree(name task.Agent) bool {
	return slices.Contains(e.cfg.ShareTrees, string(name)) || slices.Contains(e.cfg.ShareTrees, "*")
}

// wantsTree reports whether a caller has activated card.TaskTree for a task of an agent, and may
// do so. A caller without credentials may: it reads the tasks of all such callers anyway.
func (e *Engine) wantsTree(c *op.Caller, name task.Agent) bool {
	return slices.Contains(c.Extensions, card.TaskTree) && (e.sharesTree(name) || c.Principal.Anonymous())
}

// treeAnswer returns a task without its contents, and with the tasks below it in its metadata.
func (e *Engine) treeAnswer(ctx context.Context, c *op.Caller, h *task.Head) (*Answer, error) {
	t, err := e.sharedTree(ctx, c, h)
	if err != nil {
		return nil, err
	}
	meta := rawjson.AppendString([]byte(`{`), card.TaskTree)
	meta = append(t.Append(append(meta, ':')), '}')
	f := new(task.Fold)
	if err := f.Add(&task.Entry{Version: 1, Kind: task.Status, State: h.State, Meta: meta}); err != nil {
		return nil, fmt.Errorf("tree of %s: %w", h.ID, err)
	}
	a := answerOf(h, f, new(int))
	a.Head.StatusMessage = nil
	active := append(e.Activated(h.Agent, c.Extensions), card.TaskTree)
	a.Confirmed = &Confirmation{uris: active}
	return a, nil
}

// sharedTree returns the tasks below a task. A task that the policy hides from the caller is
// omitted with those below it.
func (e *Engine) sharedTree(ctx context.Context, c *op.Caller, h *task.Head) (*tasktree.Tree, error) {
	root, err := e.find(ctx, c, new(op.Target), lookup{h.ID, need{op: policy.Get}})
	if err != nil {
		return nil, err
	}
	t := e.treeOf(c, root)
	defer t.release()
	nodes, err := t.changes(ctx)
	if err != nil {
		return nil, err
	}
	out, now := &tasktree.Tree{Tasks: []tasktree.Task{}}, time.Now()
	listed := map[string]bool{string(h.ID): true}
	for i := range nodes {
		n := &nodes[i]
		out.Pending = out.Pending || n.Below == Asking
		if n.Parent == "" {
			out.More = n.More
			continue
		}
		if !listed[string(n.Parent)] || n.Far == nil && !e.mayGet(c, n.Head.Agent) {
			continue
		}
		if len(out.Tasks) >= tasktree.MaxTasks || n.Depth > tasktree.MaxDepth {
			out.More = true
			continue
		}
		listed[string(n.Head.ID)] = true
		out.Tasks = append(out.Tasks, sharedNode(n, h, now))
	}
	for _, n := range t.all {
		out.Pending = out.Pending || n.farTree.Pending
	}
	return out, nil
}

// sharedNode returns the shared form of a node.
func sharedNode(n *Node, root *task.Head, now time.Time) tasktree.Task {
	one := n.Far
	if one == nil {
		own := tasktree.Of(&n.Head, now)
		one = &own
	}
	out := *one
	out.More = n.More || n.Below == Unanswered
	if out.ParentID = n.Parent; out.ParentID == root.ID {
		out.ParentID = ""
	}
	return out
}

// mayGet reports whether the policy allows a caller to get tasks of an agent.
func (e *Engine) mayGet(c *op.Caller, name task.Agent) bool {
	return e.cfg.Policy == nil || e.cfg.Policy.Allows(c.Principal, &policy.Request{Op: policy.Get, Agent: name})
}
