package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	textclip "github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/tasktree"
	"github.com/parley-a2a/parley/internal/wake"
)

// maxTree limits the tasks of a tree that are returned.
const maxTree = 500

// maxWords limits the text of a node that is read from artifacts, in bytes.
const maxWords = 4 << 10

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
	// Text is the text of the status message. If that has none, and the task has ended or waits, it is
	// the beginning of the text of the artifacts.
	Text string
	// Below are the known tasks below a task of a remote agent.
	Below Below
	// Far is a task below that of a remote agent, which that agent has listed; nil for tasks of this
	// hub. Only the ID and the Agent of its Head are set, and they are the other server's. Via is the
	// remote agent.
	Far *tasktree.Task
	Via task.Agent
}

// Ended reports whether the task has ended in any way.
func (n *Node) Ended() bool { return n.Head.State.Terminal() || n.Head.Visibility == task.Replied }

// Tree returns a task of the caller and those below it, at most 500, each after its parent. It
// returns the known tasks at other servers, and does not wait for these.
func (e *Engine) Tree(ctx context.Context, c *op.Caller, id a2a.TaskID) ([]Node, error) {
	root, err := e.find(ctx, c, new(op.Target), lookup{id, need{op: policy.Get}})
	if err != nil {
		return nil, err
	}
	return e.treeBelow(ctx, c, root)
}

// InspectTree is Tree for the task of any owner. Its caller checks that the request is an operator's. Remote agents are
// not asked for it: they list the tasks below a task to its caller.
func (e *Engine) InspectTree(ctx context.Context, owner task.Owner, id a2a.TaskID) ([]Node, error) {
	root, err := e.open(ctx, ref{owner, id})
	if err != nil {
		return nil, fmt.Errorf("inspect the tree: %w", err)
	}
	return e.treeBelow(ctx, nil, root)
}

// treeBelow returns a task and those below it. The reference to root passes to it.
func (e *Engine) treeBelow(ctx context.Context, c *op.Caller, root *live) ([]Node, error) {
	t := e.treeOf(c, root)
	defer t.release()
	nodes, err := t.changes(ctx)
	for i := range nodes {
		nodes[i].Text = e.lastWords(ctx, &nodes[i].Head)
	}
	return nodes, err
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
		root, err := e.find(ctx, c, new(op.Target), lookup{id, need{op: policy.Get}})
		if err != nil {
			yield(Node{}, err)
			return
		}
		t := e.treeOf(c, root)
		defer t.release()
		for !t.settled() || t.all[0].fresh {
			more, err := t.yield(ctx, yield)
			if !more {
				return
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

// yield yields the tasks that have changed. It reports false if no further ones are wanted.
func (t *tree) yield(ctx context.Context, yield func(Node, error) bool) (more bool, err error) {
	news, err := t.changes(ctx)
	for i := range news {
		news[i].Text = t.engine.lastWords(ctx, &news[i].Head)
		if !yield(news[i], nil) {
			return false, err
		}
	}
	return true, err
}

// tree is a caller's view of a tree of tasks. It belongs to one goroutine.
type tree struct {
	engine *Engine
	// caller is the caller of the task; nil for an operator.
	caller *op.Caller
	// wake has an item if something may have changed.
	wake wake.Signal
	// all holds each task after its parent.
	all []*treeNode
	// asked is the number of remote tasks whose agents are asked, and farSize the number of tasks
	// that they have listed. next is when the next of them is asked; zero means never.
	asked, farSize int
	next           time.Time
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

	// far is the answer of a remote agent; nil for others. The other fields are its last state:
	// farAwaited states that more is expected soon, farFresh that farTree has news, farMore that
	// tasks of it are not in the tree.
	far                           *far
	farVersion                    int
	farTree                       tasktree.Tree
	farSeen                       map[string]tasktree.Task
	farAwaited, farFresh, farMore bool
}

// nodeStatus is the status of a task that was yielded last.
type nodeStatus struct {
	state   task.State
	shown   task.Visibility
	version int64
	cancel  bool
	more    bool
	below   Below
}

// treeOf returns the tree below a task. The reference to root passes to it.
func (e *Engine) treeOf(c *op.Caller, root *live) *tree {
	t := &tree{engine: e, caller: c, wake: wake.New()}
	t.add(&treeNode{Node: Node{Head: root.snapshot()}, live: root})
	return t
}

// add adds a task to the tree.
func (t *tree) add(n *treeNode) {
	n.fresh = true
	if n.live != nil {
		n.live.follow(t.wake)
	}
	if a := t.engine.agent(n.Head.Agent); a != nil {
		n.Kind = a.kind()
		t.addFar(n, a)
	}
	t.all = append(t.all, n)
}

// release releases all tasks of the tree.
func (t *tree) release() {
	for _, n := range t.all {
		t.drop(n)
		t.dropFar(n)
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
	var due <-chan time.Time
	if !t.next.IsZero() {
		timer := time.NewTimer(time.Until(t.next))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
		return nil
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
		if !n.Ended() && !n.Head.State.Interrupted() || n.farAwaited && n.Ended() {
			return false
		}
	}
	return true
}

// changes returns the tasks that have changed.
func (t *tree) changes(ctx context.Context) ([]Node, error) {
	var news []Node
	t.next = time.Time{}
	for i := 0; i < len(t.all); i++ { // the slice grows meanwhile
		n := t.all[i]
		if n.live == nil && !n.fresh && n.far == nil {
			continue
		}
		now, children := n.refresh()
		if n.live != nil && (children != n.children || n.Ended()) || n.fresh {
			if err := t.addChildren(ctx, n); err != nil {
				return news, err
			}
		}
		far := t.farChanges(n)
		now.more, now.below = n.More || n.farMore, n.Below
		n.children, n.fresh = children, false
		if now != n.reported && n.Head.Visibility != task.Hidden {
			n.reported = now
			shown := n.Node
			shown.More = now.more
			news = append(news, shown)
		}
		news = append(news, far...)
		if n.Ended() {
			t.drop(n)
		}
	}
	return news, nil
}

// farChanges returns the tasks below a remote task that have changed.
func (t *tree) farChanges(n *treeNode) []Node {
	if n.far == nil {
		return nil
	}
	if next := n.look(t); !next.IsZero() && (t.next.IsZero() || next.Before(t.next)) {
		t.next = next
	}
	return t.farNews(n)
}

// refresh reads the current state of the task.
func (n *treeNode) refresh() (nodeStatus, int64) {
	version, children := int64(-1), n.children
	if l := n.live; l != nil {
		l.mu.Lock()
		n.Head, version, children = l.head, l.statusVersion, l.children
		l.mu.Unlock()
	}
	return nodeStatus{state: n.Head.State, shown: n.Head.Visibility, version: version, cancel: n.Head.CancelAt != 0}, children
}

// lastWords returns the text of the status message. If that has none, and the task has ended or waits, it
// returns the beginning of the text of the first artifact that has any, if that is in the first page of the
// log and the page is not large: a tree may have hundreds of tasks.
func (e *Engine) lastWords(ctx context.Context, h *task.Head) string {
	text := strings.TrimSpace(task.TextOf(h.StatusMessage))
	if text != "" || h.Key == 0 || h.State.Open() && !h.State.Interrupted() {
		return text
	}
	page, hold, err := e.readPage(ctx, h.Key, 0, noMemory)
	if err != nil {
		return "" // large, deleted meanwhile, or damaged, which the store has reported
	}
	defer hold.Release()
	var from a2a.ArtifactID
	for i := range page {
		en := &page[i]
		if en.Kind != task.Artifact || text != "" && en.ArtifactID != from {
			continue
		}
		if from = en.ArtifactID; !en.Append {
			text = ""
		}
		text = textclip.Bytes(text+task.TextOf(en.Body), maxWords)
	}
	return strings.TrimSpace(text)
}

// errLarge is the error of noMemory.
var errLarge = errors.New("the page is large")

// noMemory is an acquirer for readers that do without a large page.
func noMemory(context.Context, int64) (*membudget.Hold, error) { return nil, errLarge }

// addChildren adds the children of a task that are not in the tree yet.
func (t *tree) addChildren(ctx context.Context, n *treeNode) error {
	e := t.engine
	if n.More {
		return nil
	}
	for h, err := range e.children(ctx, n.Head.Key, n.after) {
		if err != nil {
			return fmt.Errorf("children of %s: %w", n.Head.ID, err)
		}
		if n.More = len(t.all) >= maxTree; n.More {
			break
		}
		child := &treeNode{Node: Node{Head: *h, Parent: n.Head.ID, Depth: n.Depth + 1}}
		if !child.Ended() {
			if child.live, err = e.open(ctx, ref{h.Owner, h.ID}); err != nil {
				return fmt.Errorf("children of %s: %w", n.Head.ID, err)
			}
		}
		n.after = h.Key
		t.add(child)
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
