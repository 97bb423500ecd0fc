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

// maxTree is how many tasks of a tree are told.
const maxTree = 500

// Node is a task with its place in a tree of delegations.
type Node struct {
	// Head is the task's as it is now. A task that has ended as a bare message has the
	// state that it had before; its Shown says so.
	Head task.Head
	// Parent is the task that has asked for it; empty for the first of the tree.
	Parent a2a.TaskID
	// Depth is how many tasks are above it in the tree.
	Depth int
	// Kind says how its agent is reached, such as "remote"; empty if the agent is gone.
	Kind string
	// More is set if there are tasks below it that are not told, because the tree is too
	// large.
	More bool
}

// Ended reports whether nothing more becomes of the task.
func (n *Node) Ended() bool { return n.Head.State.Terminal() || n.Head.Shown == task.Answered }

// Tree returns a task of the caller and those below it, each after the one that has asked
// for it: 500 of them at most.
func (e *Engine) Tree(ctx context.Context, c *op.Caller, id a2a.TaskID) ([]Node, error) {
	t, err := e.plant(ctx, c, id)
	if err != nil {
		return nil, err
	}
	defer t.fell()
	return t.look(ctx)
}

// WatchTree returns what Tree does, and then each of these tasks again whose status has
// moved, or that is new, until the first one has ended and none below it is at work. The
// last item is an error if the caller goes away, or if the engine stops before that:
// ErrDraining. It counts as a stream of the caller.
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

// tree is somebody's view of a tree of tasks. It belongs to one goroutine.
type tree struct {
	engine *Engine
	// poke has an item when something may have changed.
	poke chan struct{}
	// all has each task after its parent.
	all []*branch
}

// branch is a task of a tree.
type branch struct {
	Node
	// live is nil once the task has ended.
	live *live
	// fresh is set until it was looked at once.
	fresh bool
	told  told
	// children is how many it had begun when they were read, after the last of them.
	children int64
	after    task.Key
}

// told is what was said of a task last.
type told struct {
	state   task.State
	shown   task.Shown
	version int64
	cancel  bool
	more    bool
}

// plant returns the tree of a task.
func (e *Engine) plant(ctx context.Context, c *op.Caller, id a2a.TaskID) (*tree, error) {
	root, err := e.find(ctx, c, new(op.Target), sought{id, need{op: policy.Get}})
	if err != nil {
		return nil, err
	}
	t := &tree{engine: e, poke: make(chan struct{}, 1)}
	t.hold(&branch{Node: Node{Head: root.snapshot()}, live: root})
	return t, nil
}

// hold takes a task into the tree.
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

// fell lets go of everything.
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

// wait waits until there may be something new.
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

// still reports whether nothing more is to be expected.
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

// look returns the tasks of which something is new.
func (t *tree) look(ctx context.Context) ([]Node, error) {
	var news []Node
	for i := 0; i < len(t.all); i++ { // it grows meanwhile
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

// refresh reads the task as it is now.
func (b *branch) refresh() (told, int64) {
	version, children := int64(-1), b.children
	if l := b.live; l != nil {
		l.mu.Lock()
		b.Head, version, children = l.head, l.statusVersion, l.children
		l.mu.Unlock()
	}
	return told{b.Head.State, b.Head.Shown, version, b.Head.CancelAt != 0, b.More}, children
}

// grow takes in the children of a task that are not in the tree yet.
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

// moved reports whether a change is one of those that followers hear of.
func moved(before *task.Head, c *task.Change) bool {
	after := &c.Next
	if before.State != after.State || before.Shown != after.Shown || before.CancelAt != after.CancelAt {
		return true
	}
	return slices.ContainsFunc(c.Entries, func(e task.Entry) bool { return e.Kind == task.Status })
}

// follow lets c be poked when the status moves. c has room for an item.
func (l *live) follow(c chan<- struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followers = append(l.followers, c)
}

// unfollow ends what follow has begun.
func (l *live) unfollow(c chan<- struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.followers, c); i >= 0 {
		l.followers = slices.Delete(l.followers, i, i+1)
	}
}

// begot notes that the task has begun another one.
func (l *live) begot() {
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
