package engine

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth/policy"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// maxTree limits the tasks of a tree that are returned.
const maxTree = 500

// Node is a task with its position in a tree of delegations.
type Node struct {
	// Head is the current head of the task. A task that has ended as a bare message keeps its
	// former state; its Shown is task.Answered.
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
func (n *Node) Ended() bool { return n.Head.State.Terminal() || n.Head.Shown == task.Answered }

// Tree returns a task of the caller and those below it, at most 500, each after its parent.
func (e *Engine) Tree(ctx context.Context, c *op.Caller, id a2a.TaskID) ([]Node, error) {
	t, err := e.plant(ctx, c, id)
	if err != nil {
		return nil, err
	}
	defer t.fell()
	return t.look(ctx)
}

// WatchTree yields the tasks of Tree. It then yields each task that is new or whose status has
// changed, until the first task has ended and none below it is working. The last item is an
// error if ctx ends, or ErrDraining if the engine stops before that. WatchTree counts as a
// stream of the caller.
func (e *Engine) WatchTree(ctx context.Context, c *op.Caller, id a2a.TaskID) iter.Seq2[Node, error] {
	return func(yield func(Node, error) bool) {
		owner := c.Principal.Owner()
		if err := e.quota.take(owner); err != nil {
			yield(Node{}, err)
			return
		}
		defer e.quota.give(owner)
		t, err := e.plant(ctx, c, id)
		if err != nil {
			yield(Node{}, err)
			return
		}
		defer t.fell()
		for !t.still() || t.all[0].fresh {
			news, err := t.look(ctx)
			for i := range news {
				if !yield(news[i], nil) {
					return
				}
			}
			if err == nil && !t.still() {
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
	// poke has an item if something may have changed.
	poke chan struct{}
	// all holds each task after its parent.
	all []*branch
}

// branch is a task of a tree.
type branch struct {
	Node
	// live is nil once the task has ended.
	live *live
	// fresh is set until the task was examined once.
	fresh bool
	told  told
	// children is the number of children when they were read, after the last of them.
	children int64
	after    task.Key
}

// told is the status of a task that was yielded last.
type told struct {
	state   task.State
	shown   task.Shown
	version int64
	cancel  bool
	more    bool
}

// plant returns the tree below a task of the caller.
func (e *Engine) plant(ctx context.Context, c *op.Caller, id a2a.TaskID) (*tree, error) {
	root, err := e.find(ctx, c, new(op.Target), sought{id, need{op: policy.Get}})
	if err != nil {
		return nil, err
	}
	t := &tree{engine: e, poke: make(chan struct{}, 1)}
	t.hold(&branch{Node: Node{Head: root.snapshot()}, live: root})
	return t, nil
}

// hold adds a task to the tree.
func (t *tree) hold(b *branch) {
	b.fresh = true
	if b.live != nil {
		b.live.follow(t.poke)
	}
	if a := t.engine.agent(b.Head.Agent); a != nil {
		b.Kind = a.kind()
	}
	t.all = append(t.all, b)
}

// fell releases all tasks of the tree.
func (t *tree) fell() {
	for _, b := range t.all {
		t.drop(b)
	}
}

func (t *tree) drop(b *branch) {
	if b.live != nil {
		b.live.unfollow(t.poke)
		t.engine.live.release(b.live)
		b.live = nil
	}
}

// wait waits until something may have changed.
func (t *tree) wait(ctx context.Context) error {
	select {
	case <-t.poke:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.engine.ctx.Done():
		return ErrDraining
	}
}

// still reports whether no further change is expected.
func (t *tree) still() bool {
	if !t.all[0].Ended() {
		return false
	}
	for _, b := range t.all {
		if !b.Ended() && !b.Head.State.Interrupted() {
			return false
		}
	}
	return true
}

// look returns the tasks that have changed.
func (t *tree) look(ctx context.Context) ([]Node, error) {
	var news []Node
	for i := 0; i < len(t.all); i++ { // the slice grows meanwhile
		b := t.all[i]
		if b.live == nil && !b.fresh {
			continue
		}
		now, children := b.refresh()
		if b.fresh || children != b.children || b.Ended() {
			if err := t.grow(ctx, b); err != nil {
				return news, err
			}
			now.more = b.More
		}
		b.children, b.fresh = children, false
		if now != b.told && b.Head.Shown != task.Quiet {
			b.told = now
			news = append(news, b.Node)
		}
		if b.Ended() {
			t.drop(b)
		}
	}
	return news, nil
}

// refresh reads the current state of the task.
func (b *branch) refresh() (told, int64) {
	version, children := int64(-1), b.children
	if l := b.live; l != nil {
		l.mu.Lock()
		b.Head, version, children = l.head, l.statusVersion, l.children
		l.mu.Unlock()
	}
	return told{b.Head.State, b.Head.Shown, version, b.Head.CancelAt != 0, b.More}, children
}

// grow adds the children of a task that are not in the tree yet.
func (t *tree) grow(ctx context.Context, b *branch) error {
	e := t.engine
	for !b.More {
		heads, err := e.store.Children(ctx, b.Head.Key, b.after, childPage)
		if err != nil {
			return fmt.Errorf("children of %s: %w", b.Head.ID, err)
		}
		for i := range heads {
			if b.More = len(t.all) >= maxTree; b.More {
				return nil
			}
			child := &branch{Node: Node{Head: heads[i], Parent: b.Head.ID, Depth: b.Depth + 1}}
			if !child.Ended() {
				if child.live, err = e.open(ctx, ref{heads[i].Owner, heads[i].ID}); err != nil {
					return fmt.Errorf("children of %s: %w", b.Head.ID, err)
				}
			}
			b.after = heads[i].Key
			t.hold(child)
		}
		if len(heads) < childPage {
			break
		}
	}
	return nil
}

// moved reports whether followers are notified of a change.
func moved(before *task.Head, c *task.Change) bool {
	after := &c.Next
	if before.State != after.State || before.Shown != after.Shown || before.CancelAt != after.CancelAt {
		return true
	}
	return slices.ContainsFunc(c.Entries, func(e task.Entry) bool { return e.Kind == task.Status })
}

// follow registers c to be signalled when the status changes. c has room for an item.
func (l *live) follow(c chan<- struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followers = append(l.followers, c)
}

// unfollow unregisters c.
func (l *live) unfollow(c chan<- struct{}) {
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
	l.pokeLocked()
}

func (l *live) pokeLocked() {
	for _, c := range l.followers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
