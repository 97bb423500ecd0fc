package engine

import (
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/task"
)

// retryTasks is the delay after which a refused caller may try again to have a task run.
const retryTasks = 5 * time.Second

// busy holds the tasks of each caller that this process runs or has queued. A nil busy does not
// limit them.
type busy struct {
	// each is the largest number of tasks that one caller may have.
	each int

	mu sync.Mutex // guards the field below
	by map[task.Owner]map[a2a.TaskID]struct{}
}

func newBusy(each int) *busy {
	if each <= 0 {
		return nil
	}
	return &busy{each: each, by: make(map[task.Owner]map[a2a.TaskID]struct{})}
}

// take reserves a place for a task that is about to be at work. It reports whether the task was
// added. If the caller has too many tasks, it returns an error.
func (b *busy) take(k ref) (added bool, err error) {
	if b == nil {
		return false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := b.by[k.owner][k.id]; there {
		return false, nil
	}
	if len(b.by[k.owner]) >= b.each {
		refusal := apierror.New(apierror.ErrExhausted, "%d tasks of this caller are at work, which is the most", b.each)
		refusal.RetryAfter = retryTasks
		return false, refusal
	}
	b.addLocked(k)
	return true, nil
}

// note records whether a task is at work.
func (b *busy) note(k ref, atWork bool) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if atWork {
		b.addLocked(k)
		return
	}
	if delete(b.by[k.owner], k.id); len(b.by[k.owner]) == 0 {
		delete(b.by, k.owner)
	}
}

func (b *busy) addLocked(k ref) {
	if b.by[k.owner] == nil {
		b.by[k.owner] = make(map[a2a.TaskID]struct{})
	}
	b.by[k.owner][k.id] = struct{}{}
}

// atWork reports whether this process runs a task or has it queued. A task that waits for its
// caller is not at work.
func (e *Engine) atWork(h *task.Head) bool {
	return h.Run.Dispatch != task.Idle && h.Run.Holder == e.holder && !h.State.Terminal()
}
