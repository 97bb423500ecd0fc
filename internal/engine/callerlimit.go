package engine

import (
	"fmt"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/task"
)

// retryTasks is the delay after which a refused caller may try again to have a task run.
const retryTasks = 5 * time.Second

// callerTasks holds the tasks of each caller that this process runs or has queued. A nil
// callerTasks does not limit them.
type callerTasks struct {
	// each is the largest number of tasks that one caller may have.
	each int

	mu     sync.Mutex // guards the field below
	owners map[task.Owner]map[a2a.TaskID]struct{}
}

func newCallerTasks(each int) *callerTasks {
	if each <= 0 {
		return nil
	}
	return &callerTasks{each: each, owners: make(map[task.Owner]map[a2a.TaskID]struct{})}
}

// reserve reserves a place for a task that is about to be at work, while other hubs have some tasks
// of the caller. It reports whether the task was added. If the caller has too many tasks, it returns
// an error.
func (b *callerTasks) reserve(k ref, others int) (added bool, err error) {
	if b == nil {
		return false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := b.owners[k.owner][k.id]; there {
		return false, nil
	}
	if len(b.owners[k.owner])+others >= b.each {
		refusal := apierror.New(apierror.ErrExhausted, "this caller has %d open tasks, which is the limit", b.each)
		refusal.RetryAfter = retryTasks
		return false, refusal
	}
	b.addLocked(k)
	return true, nil
}

// note records whether a task is at work.
func (b *callerTasks) note(k ref, atWork bool) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if atWork {
		b.addLocked(k)
		return
	}
	if delete(b.owners[k.owner], k.id); len(b.owners[k.owner]) == 0 {
		delete(b.owners, k.owner)
	}
}

// tasksElsewhere returns the number of tasks of an owner that other hubs have at work, up to the
// limit.
func (e *Engine) tasksElsewhere(owner task.Owner) (int, error) {
	store, ok := e.store.(Heads)
	if e.callerTasks == nil || e.cfg.Peers == nil || !ok || !e.cfg.Peers.Live("") {
		return 0, nil
	}
	n, err := store.AtWork(e.ctx, owner, e.ownHolder(), e.callerTasks.each)
	if err != nil {
		return 0, fmt.Errorf("count tasks of other hubs: %w", err)
	}
	return n, nil
}

func (b *callerTasks) addLocked(k ref) {
	if b.owners[k.owner] == nil {
		b.owners[k.owner] = make(map[a2a.TaskID]struct{})
	}
	b.owners[k.owner][k.id] = struct{}{}
}

// atWork reports whether this process runs a task or has it queued. A task that waits for its
// caller is not at work.
func (e *Engine) atWork(h *task.Head) bool {
	return h.Run.Dispatch != task.Idle && h.Run.Holder == e.ownHolder() && !h.State.Terminal()
}
