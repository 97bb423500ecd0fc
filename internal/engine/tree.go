package engine

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth/policy"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/task"
)

// maxTree limits the tasks of a tree that are returned.
const maxTree = 500

// Node is a task with its position in a tree of delegations.
type Node struct {
	// Head is the current head of the task. A task that has ended as a bare message keeps its
	// former state; its Visibility is task.Replied.
	Head task.Head
	// Parent is the task that delegated the work; empty for the root of the tree.
	Parent a2a.TaskID
	// Depth is the number of tasks above it in the tree.
	Depth int
	// Kind is how the hub reaches the agent, such as "remote"; empty if the agent is not
	// registered.
	Kind string
	// More is set if the tree omits tasks below this one, because it is too large.
	More bool
}

// Ended reports whether the task has ended in any way.
func (n *Node) Ended() bool { return n.Head.State.Terminal() || n.Head.Visibility == task.Replied }

// Tree returns a task of the caller and those below it, at most 500, each after its parent.
func (e *Engine) Tree(ctx context.Context, c *op.Caller, id a2a.TaskID) ([]Node, error) {
	t, err := e.treeOf(ctx, c, id)
	if err != nil {
		return nil, err
	}
	defer t.release()
	return t.changes(ctx)
}

// WatchTree yields the tasks of Tree. It then yields each task that is new or whose status has
// changed, until the first task has ended and none below it is working. The last item is an
// error if ctx ends, or ErrDraining if the engine stops before that. WatchTree counts as a
// stream of the caller.
func (e *Engine) WatchTree(ctx context.Context, c *op.Caller, id a2a.TaskID) iter.Seq2[Node, error] {
	return func(yield func(Node, error) bool) {
		owner := c.Principal.Owner()
		if err := e.quota.acquire(owner); err != nil {
			yield(Node{}, err)
			return
		}
		defer e.quota.release(owner)
		t, err := e.treeOf(ctx, c, id)
		if err != nil {
			yield(Node{}, err)
			return
		}
		defer t.release()
		for !t.settled() || t.all[0].fresh {
			news, err := t.changes(ctx)
			for i := range news {
				if !yield(news[i], nil) {
					return
				}
			}
			if err == nil && !t.settled() {
				err = t.wait(ctx)
			}
			if err != nil {
				yield(Node{}, err)
				return
			}
		}
	}
}

// tree is a caller's view of a tree of tasks. It belongs to one goroutine.
type tree struct {
	engine *Engine
	// wake has an item if something may have changed.
	wake wake.Signal
	// all holds each task after its parent.
	all []*treeNode
}

// treeNode is a task of a tree.
type treeNode struct {
	Node
	// live is nil once the task has ended.
	live *live
	// fresh is set until the task was examined once.
	fresh    bool
	reported nodeStatus
	// children is the number of children when they were read, after the last of them.
	children int64
	after    task.Key
}

// nodeStatus is the status of a task that was yielded last.
type nodeStatus struct {
	state   task.State
	shown   task.Visibility
	version int64
	cancel  bool
	more    bool
}

// treeOf returns the tree below a task of the caller.
func (e *Engine) treeOf(ctx context.Context, c *op.Caller, id a2a.TaskID) (*tree, error) {
	root, err := e.find(ctx, c, new(op.Target), lookup{id, need{op: policy.Get}})
	if err != nil {
		return nil, err
	}
	t := &tree{engine: e, wake: wake.New()}
	t.add(&treeNode{Node: Node{Head: root.snapshot()}, live: root})
	return t, nil
}

// add adds a task to the tree.
func (t *tree) add(n *treeNode) {
	n.fresh = true
	if n.live != nil {
		n.live.follow(t.wake)
	}
	if a := t.engine.agent(n.Head.Agent); a != nil {
		n.Kind = a.kind()
	}
	t.all = append(t.all, n)
}

// release releases all tasks of the tree.
func (t *tree) release() {
	for _, n := range t.all {
		t.drop(n)
	}
}

func (t *tree) drop(n *treeNode) {
	if n.live != nil {
		n.live.unfollow(t.wake)
		t.engine.live.release(n.live)
		n.live = nil
	}
}

// wait waits until something may have changed.
func (t *tree) wait(ctx context.Context) error {
	select {
	case <-t.wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.engine.ctx.Done():
		return ErrDraining
	}
}

// settled reports whether no further change is expected.
func (t *tree) settled() bool {
	if !t.all[0].Ended() {
		return false
	}
	for _, n := range t.all {
		if !n.Ended() && !n.Head.State.Interrupted() {
			return false
		}
	}
	return true
}

// changes returns the tasks that have changed.
func (t *tree) changes(ctx context.Context) ([]Node, error) {
	var news []Node
	for i := 0; i < len(t.all); i++ { // the slice grows meanwhile
		n := t.all[i]
		if n.live == nil && !n.fresh {
			continue
		}
		now, children := n.refresh()
		if n.fresh || children != n.children || n.Ended() {
			if err := t.addChildren(ctx, n); err != nil {
				return news, err
			}
			now.more = n.More
		}
		n.children, n.fresh = children, false
		if now != n.reported && n.Head.Visibility != task.Hidden {
			n.reported = now
			news = append(news, n.Node)
		}
		if n.Ended() {
			t.drop(n)
		}
	}
	return news, nil
}

// refresh reads the current state of the task.
func (n *treeNode) refresh() (nodeStatus, int64) {
	version, children := int64(-1), n.children
	if l := n.live; l != nil {
		l.mu.Lock()
		n.Head, version, children = l.head, l.statusVersion, l.children
		l.mu.Unlock()
	}
	return nodeStatus{n.Head.State, n.Head.Visibility, version, n.Head.CancelAt != 0, n.More}, children
}

// addChildren adds the children of a task that are not in the tree yet.
func (t *tree) addChildren(ctx context.Context, n *treeNode) error {
	e := t.engine
	for !n.More {
		heads, err := task.Children(ctx, e.store, n.Head.Key, n.after, childPage)
		if err != nil {
			return fmt.Errorf("children of %s: %w", n.Head.ID, err)
		}
		for i := range heads {
			if n.More = len(t.all) >= maxTree; n.More {
				return nil
			}
			child := &treeNode{Node: Node{Head: heads[i], Parent: n.Head.ID, Depth: n.Depth + 1}}
			if !child.Ended() {
				if child.live, err = e.open(ctx, ref{heads[i].Owner, heads[i].ID}); err != nil {
					return fmt.Errorf("children of %s: %w", n.Head.ID, err)
				}
			}
			n.after = heads[i].Key
			t.add(child)
		}
		if len(heads) < childPage {
			break
		}
	}
	return nil
}

// statusChanged reports whether followers are notified of a change.
func statusChanged(before *task.Head, c *task.Change) bool {
	after := &c.Next
	if before.State != after.State || before.Visibility != after.Visibility || before.CancelAt != after.CancelAt {
		return true
	}
	return slices.ContainsFunc(c.Entries, func(e task.Entry) bool { return e.Kind == task.Status })
}

// follow registers c to be signalled when the status changes. c has room for an item.
func (l *live) follow(c wake.Signal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followers = append(l.followers, c)
}

// unfollow unregisters c.
func (l *live) unfollow(c wake.Signal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.followers, c); i >= 0 {
		l.followers = slices.Delete(l.followers, i, i+1)
	}
}

// childAdded counts a new child of the task.
func (l *live) childAdded() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.children++
	l.wakeFollowersLocked()
}

func (l *live) wakeFollowersLocked() {
	for _, c := range l.followers {
		c.Send()
	}
}
