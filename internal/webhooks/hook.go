package webhooks

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/internal/task"
)

// phase is the scheduling state of a hook.
type phase uint8

const (
	idle    phase = iota // nothing to send
	queued               // in the queue of its endpoint
	running              // has a running session
	asleep               // waits for its next try
	gone                 // forgotten; results of its session do not count
)

// hook is the state of a webhook in the dispatcher. There may be very many, so it holds only
// the fields that scheduling needs; a session reads the rest on demand (target).
type hook struct {
	key task.Key
	id  string

	sibling *hook

	// The fields below are guarded by Dispatcher.mu.

	queue *endpointQueue
	next  *hook // the next hook in the queue of the endpoint
	// target is nil before the first session, and again when it is evicted from the cache.
	target *target
	// failure is nil while no try has failed.
	failure *failureState
	// stop cancels the running session; nil if there is none.
	stop func(error)
	// left is closed when the running session ends; nil unless Yield waits for that.
	left chan struct{}
	// notified is the version up to which the webhook was notified.
	notified int64
	// last and rev are the newest known version and revision of the task.
	last, rev int64
	// at is the time of the next alarm, since Dispatcher.start.
	at    time.Duration
	alarm int32 // position in the heap, from 1; 0 if in none
	phase phase
	// recheck requests a session regardless of the versions.
	recheck bool
	// quiet, ended and answered come from the newest head.
	quiet, ended, answered bool
	// dirty is set while the hook is in the list of positions to save; settled, when no
	// notification is left to send.
	dirty, settled bool
}

// target holds the fields of a hook that a session needs.
type target struct {
	url     string
	dialect uint8
	scheme  string
	secret  []byte // sealed
	head    task.Head
	// origin is that of the entry that is sent next.
	origin origin
	// snapshot is the task at the version that was sent last. A session sets it for webhooks that
	// get whole tasks.
	snapshot *taskFold
}

// failureState is the state of a hook whose tries failed.
type failureState struct {
	// tries counts the tries of the version after notified.
	tries int
	// reason is the error of the last try.
	reason string
	// letters holds, in order, the dead letters that are not durable yet.
	unsaved []task.DeadLetter
	// newest is the newest dead letter, if no version after it was delivered. Further dropped
	// versions extend it.
	newest task.DeadLetter
}

func (h *hook) ref() task.HookRef { return task.HookRef{Task: h.key, ID: h.id} }

func (h *hook) due() time.Duration { return h.at }
func (h *hook) slot() *int32       { return &h.alarm }

// taskView holds the fields of a head that matter to hooks.
type taskView struct {
	version, rev           int64
	quiet, ended, answered bool
}

func viewOf(head *task.Head) taskView {
	return taskView{
		version: head.Version, rev: head.Rev, quiet: head.Visibility == task.Hidden,
		ended: head.State.Terminal(), answered: head.Visibility == task.Replied,
	}
}

// update updates the hook from a head. An older head than the known one changes nothing.
func (h *hook) update(s taskView) {
	if s.rev < h.rev {
		return
	}
	h.last, h.rev = s.version, s.rev
	h.quiet = s.quiet
	h.ended = h.ended || s.ended
	h.answered = h.answered || s.answered
}

func (h *hook) wants() bool { return h.recheck || h.notified < h.last && !h.quiet }

const shards = 64

// registry finds the hooks of a task.
type registry struct {
	// n counts the hooks, plus one while hooks are being loaded. While it is zero, Moved
	// returns at once.
	n      atomic.Int64
	shards [shards]shard
}

type shard struct {
	mu    sync.Mutex // guards the fields below; taken before Dispatcher.mu
	tasks map[task.Key]*hook
	// missed holds the newest heads of changed tasks while hooks are loaded; nil otherwise. A
	// loaded page may be older than a change that arrived before its hooks were known.
	missed map[task.Key]taskView
}

func (r *registry) shard(key task.Key) *shard { return &r.shards[uint64(key)%shards] }

// findLocked returns a hook, or nil. The caller holds s.mu.
func (s *shard) findLocked(ref task.HookRef) *hook {
	for h := s.tasks[ref.Task]; h != nil; h = h.sibling {
		if h.id == ref.ID {
			return h
		}
	}
	return nil
}

// addLocked adds a hook that is not in the registry. The caller holds s.mu.
func (r *registry) addLocked(s *shard, h *hook) {
	if s.tasks == nil {
		s.tasks = make(map[task.Key]*hook)
	}
	h.sibling = s.tasks[h.key]
	s.tasks[h.key] = h
	r.n.Add(1)
}

// removeLocked removes h, if it is still registered. The caller holds s.mu.
func (r *registry) removeLocked(s *shard, h *hook) {
	first := s.tasks[h.key]
	if first == h {
		if h.sibling == nil {
			delete(s.tasks, h.key)
		} else {
			s.tasks[h.key] = h.sibling
		}
		r.n.Add(-1)
		return
	}
	for at := first; at != nil; at = at.sibling {
		if at.sibling == h {
			at.sibling = h.sibling
			r.n.Add(-1)
			return
		}
	}
}

// beginLoading makes Moved record the heads of changed tasks.
func (r *registry) beginLoading() {
	r.n.Add(1)
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		s.missed = make(map[task.Key]taskView)
		s.mu.Unlock()
	}
}

func (r *registry) endLoading() {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		s.missed = nil
		s.mu.Unlock()
	}
	r.n.Add(-1)
}
