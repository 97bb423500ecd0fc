package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/tasktree"
	"github.com/parley-a2a/parley/internal/wake"
)

// Below is the knowledge of the tasks below a remote task. The empty Below states that the remote
// agent lists none.
type Below string

const (
	// Asking states that the remote agent has not answered yet.
	Asking Below = "asking"
	// Unanswered states that the remote agent has not answered in time, or not in a readable form.
	Unanswered Below = "not answered"
	// Listed states that the remote agent has listed its tasks.
	Listed Below = "listed"
)

// Bounds of the requests for tasks below remote tasks.
const (
	// farTimeout bounds a request, with the card of the agent.
	farTimeout = 5 * time.Second
	// maxFar is how many answers are kept, and maxFarAsked how many remote tasks of a tree are
	// asked for.
	maxFar      = 256
	maxFarAsked = 32
	// Pauses between two requests for the same task: until another server has accepted it, while it works, once it has ended and its
	// answer was incomplete, and after a failure. After farRepeats incomplete answers the pause is
	// farLater.
	farEarly   = 250 * time.Millisecond
	farAgain   = 2 * time.Second
	farPending = time.Second
	farFailed  = 10 * time.Second
	farLater   = 30 * time.Second
	farRepeats = 5
)

// treeReader is an executor whose tasks are performed by another server. *remote.Agent is one.
type treeReader interface {
	// ReadTree returns the tasks below the remote task that a checkpoint names, for
	// tasktree.Parse; nil if the other server does not list them.
	ReadTree(ctx context.Context, checkpoint []byte) ([]byte, error)
}

func treeReaderOf(x a2asrv.AgentExecutor) treeReader {
	r, _ := x.(treeReader)
	return r
}

// fars keeps the answers of remote agents, also for readers that come later. The zero fars is empty.
type fars struct {
	mu  sync.Mutex // guards the field below; held before that of a far
	all map[farKey]*far
}

// farKey identifies an answer. Callers of the same owner may have different rights at the other
// server, which may know them.
type farKey struct {
	task ref
	by   string
}

// far is the last answer of a remote agent about the tasks below a task.
type far struct {
	mu sync.Mutex // guards the fields below
	// asking is set while a request is made, and at is when the last one ended.
	asking bool
	at     time.Time
	// open is set if the task had not ended when the last request began, and early if no other
	// server had accepted it.
	open    bool
	early   bool
	below   Below
	tree    tasktree.Tree
	repeats int
	// version changes with each answer.
	version   int
	followers []wake.Signal
}

// of returns the answer for a key; nil if there are too many.
func (s *fars) of(k farKey) *far {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.all[k]; f != nil {
		return f
	}
	if len(s.all) >= maxFar {
		s.dropOldestLocked()
	}
	if len(s.all) >= maxFar {
		return nil
	}
	if s.all == nil {
		s.all = make(map[farKey]*far)
	}
	f := new(far)
	s.all[k] = f
	return f
}

// dropOldestLocked removes the oldest answer without a reader.
func (s *fars) dropOldestLocked() {
	var oldest farKey
	var at time.Time
	for k, f := range s.all {
		f.mu.Lock()
		if !f.asking && len(f.followers) == 0 && (at.IsZero() || f.at.Before(at)) {
			oldest, at = k, f.at
		}
		f.mu.Unlock()
	}
	delete(s.all, oldest)
}

// pauseLocked returns the time between the last request and the next one, and reports whether a
// reader of a tree waits for the next one.
func (f *far) pauseLocked(ended bool) (pause time.Duration, awaited bool) {
	switch {
	case f.below == Unanswered:
		return farFailed, false
	case f.early && !ended:
		return farEarly, true
	case f.below == "":
		return farLater, false
	case !ended:
		return farAgain, true
	case f.open:
		return 0, true
	case !f.looseLocked():
		return farLater, false
	case f.repeats < farRepeats:
		return farPending, true
	}
	return farLater, false
}

// looseLocked reports whether a later answer may differ although the remote task has ended.
func (f *far) looseLocked() bool {
	if f.tree.Pending {
		return true
	}
	for i := range f.tree.Tasks {
		if !f.tree.Tasks[i].Ended() {
			return true
		}
	}
	return false
}

// look reads the answer for the task of a node, and asks the remote agent again if it is time. It
// returns when to look again; zero means never.
func (n *treeNode) look(t *tree) (next time.Time) {
	f, ended := n.far, n.Ended()
	f.mu.Lock()
	defer f.mu.Unlock()
	pause, awaited := f.pauseLocked(ended)
	due := f.at.IsZero() || time.Since(f.at) >= pause
	if !f.asking && due {
		f.asking = t.engine.askFar(f, n, t.caller)
		f.open = !ended
	}
	if n.Below = f.below; f.at.IsZero() && f.asking {
		n.Below = Asking
	}
	n.farAwaited = f.asking || awaited
	if n.farVersion != f.version {
		n.farVersion, n.farTree, n.farFresh = f.version, f.tree, true
	}
	if f.asking || !awaited && f.below != Unanswered {
		return time.Time{} // the answer wakes the tree
	}
	return f.at.Add(pause)
}

// askFar asks a remote agent in a goroutine of the engine. It reports false if the engine has
// ended. The caller holds f.mu.
func (e *Engine) askFar(f *far, n *treeNode, c *op.Caller) bool {
	a, key := e.agent(n.Head.Agent), n.Head.Key
	return a != nil && e.work.run(func() {
		ctx, cancel := context.WithTimeoutCause(auth.WithPrincipal(e.ctx, c.Principal), farTimeout, fmt.Errorf("no answer within %v", farTimeout))
		defer cancel()
		tree, err := e.readFar(ctx, treeReaderOf(a.Executor), key)
		if err != nil {
			e.cfg.Logger.Debug("read the tasks below a remote task", "task", n.Head.ID, "agent", a.Name, "error", err)
		}
		f.answered(tree, err)
	})
}

// readFar requests the tasks below a remote task; nil if the agent lists none.
func (e *Engine) readFar(ctx context.Context, r treeReader, key task.Key) (*tasktree.Tree, error) {
	saved, err := e.store.Sidecar(ctx, key, task.SidecarCheckpoint)
	switch {
	case err != nil || r == nil:
		return nil, err
	case len(saved) == 0, bytes.HasPrefix(saved, forgottenMark):
		return nil, tasktree.ErrEarly
	}
	b, err := r.ReadTree(ctx, saved)
	if err != nil || b == nil {
		return nil, err
	}
	return tasktree.Parse(b)
}

// answered keeps an answer. An earlier one stays if the agent does not answer.
func (f *far) answered(tree *tasktree.Tree, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asking, f.at = false, time.Now()
	f.version++
	f.early = errors.Is(err, tasktree.ErrEarly)
	switch {
	case f.early:
	case err != nil:
		f.below = Unanswered
	case tree == nil:
		f.below, f.tree = "", tasktree.Tree{}
	default:
		f.below, f.tree = Listed, *tree
	}
	if f.repeats++; f.open {
		f.repeats = 0
	}
	for _, w := range f.followers {
		w.Send()
	}
}

// addFar connects a node to the answers of its remote agent.
func (t *tree) addFar(n *treeNode, a *Agent) {
	if t.caller == nil || treeReaderOf(a.Executor) == nil || n.Kind != "remote" {
		return
	}
	if t.asked >= maxFarAsked {
		n.Below = Unanswered
		return
	}
	t.asked++
	n.far = t.engine.fars.of(farKey{ref{n.Head.Owner, n.Head.ID}, t.caller.Principal.ID})
	if n.far == nil {
		n.Below = Unanswered
		return
	}
	n.far.mu.Lock()
	defer n.far.mu.Unlock()
	n.far.followers = append(n.far.followers, t.wake)
}

// dropFar disconnects it.
func (t *tree) dropFar(n *treeNode) {
	if n.far == nil {
		return
	}
	n.far.mu.Lock()
	defer n.far.mu.Unlock()
	if i := slices.Index(n.far.followers, t.wake); i >= 0 {
		n.far.followers = slices.Delete(n.far.followers, i, i+1)
	}
}

// farNews returns the tasks below a remote task that are new or have changed. A task that the tree
// has already is dropped, so a peer cannot claim a cycle.
func (t *tree) farNews(n *treeNode) []Node {
	if !n.farFresh {
		return nil
	}
	n.farFresh = false
	if n.farSeen == nil {
		n.farSeen = make(map[string]tasktree.Task)
	}
	var news []Node
	for i := range n.farTree.Tasks {
		one := n.farTree.Tasks[i]
		before, known := n.farSeen[string(one.ID)]
		if !known && (t.has(&one) || len(t.all)+t.farSize >= maxTree || !t.reachable(n, &one)) {
			n.farMore = true
			continue
		}
		if !known {
			t.farSize++
		}
		n.farSeen[string(one.ID)] = one
		if before.State == one.State && before.More == one.More && before.InputTokens == one.InputTokens && before.CostUSD == one.CostUSD && known {
			continue
		}
		parent := one.ParentID
		if parent == "" {
			parent = n.Head.ID
		}
		news = append(news, Node{Head: task.Head{ID: one.ID, Agent: one.Agent}, Parent: parent, Depth: n.Depth + 1 + one.Depth, Far: &one, Via: n.Head.Agent, More: one.More})
	}
	n.farMore = n.farMore || n.farTree.More
	return news
}

// has reports whether the tree has a task of that id.
func (t *tree) has(one *tasktree.Task) bool {
	for _, n := range t.all {
		if _, twice := n.farSeen[string(one.ID)]; twice || n.Head.ID == one.ID {
			return true
		}
	}
	return false
}

// reachable reports whether the parent of a task below n is in the tree.
func (t *tree) reachable(n *treeNode, one *tasktree.Task) bool {
	_, ok := n.farSeen[string(one.ParentID)]
	return ok || one.ParentID == ""
}
