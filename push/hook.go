package push

import (
	"sync"
	"sync/atomic"

	"github.com/parley-a2a/parley/task"
)

// phase says where a hook is.
type phase uint8

const (
	idle    phase = iota // nothing to tell
	queued               // in the line of its lane
	telling              // a session has it
	asleep               // waits for its next try
	gone                 // forgotten; what a session still finds out does not count
)

// hook is a webhook as the dispatcher knows it. There may be very many, so it holds
// what scheduling needs and no more; the rest is read when it is needed (target).
type hook struct {
	key task.Key
	id  string

	// sibling is the next hook of the same task; guarded by the shard.
	sibling *hook

	// The fields below are guarded by Dispatcher.mu.

	lane *lane
	next *hook // behind it in the line of the lane
	// target is what a session needs, nil until the first and again after a while.
	target *target
	// trouble is nil while all is well.
	trouble *trouble
	// stop ends the session under way, or is nil.
	stop func(error)
	// told is the version up to which the webhook was told.
	told int64
	// last and rev are the newest version and revision of the task that were heard
	// of.
	last, rev int64
	// at is when an alarm is due, in nanoseconds since 1970.
	at    int64
	alarm int32 // place in the heap, from 1; 0 if in none
	phase phase
	// look asks for a session whatever the versions say.
	look bool
	// quiet, ended and answered are what the newest head said.
	quiet, ended, answered bool
	// dirty is set while the hook is in the list of what is to be saved; settled, when
	// nothing is left to tell.
	dirty, settled bool
}

// target is what a session needs to know of a hook.
type target struct {
	url     string
	dialect uint8
	scheme  string
	secret  []byte // sealed
	head    task.Head
	// origin is that of the entry which is told next.
	origin origin
	// story is the task as it was told last, of the session under way, if the webhook
	// is told whole tasks.
	story *story
}

// trouble is what a hook in difficulties carries.
type trouble struct {
	// tries is how often the version after told was tried.
	tries int
	// reason is why the last try came to nothing.
	reason string
	// lost is what was given up and is not durable yet, in order.
	lost []task.DeadLetter
	// run is what was given up last, if all since then was given up, too.
	run task.DeadLetter
}

func (h *hook) ref() task.HookRef { return task.HookRef{Task: h.key, ID: h.id} }

func (h *hook) due() int64   { return h.at }
func (h *hook) slot() *int32 { return &h.alarm }

// sight is what a head says that matters here.
type sight struct {
	version, rev           int64
	quiet, ended, answered bool
}

func sightOf(head *task.Head) sight {
	return sight{
		version: head.Version, rev: head.Rev, quiet: head.Shown == task.Quiet,
		ended: head.State.Terminal(), answered: head.Shown == task.Answered,
	}
}

// see takes in what a head says. One that is older than what is known changes
// nothing.
func (h *hook) see(s sight) {
	if s.rev < h.rev {
		return
	}
	h.last, h.rev = s.version, s.rev
	h.quiet = s.quiet
	h.ended = h.ended || s.ended
	h.answered = h.answered || s.answered
}

// wants reports whether a session has something to do.
func (h *hook) wants() bool { return h.look || h.told < h.last && !h.quiet }

const shards = 64

// registry finds the hooks of a task.
type registry struct {
	// n counts the hooks, and one more while hooks are being loaded. While it is
	// zero, nobody asks further.
	n      atomic.Int64
	shards [shards]shard
}

type shard struct {
	mu    sync.Mutex // guards the fields below; taken before Dispatcher.mu
	tasks map[task.Key]*hook
	// missed are the newest heads of unknown tasks, noted while hooks are loaded: a
	// page of hooks may be older than a change that nobody was told of. Nil when
	// nothing is loaded.
	missed map[task.Key]sight
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

// addLocked adds a hook that is not there. The caller holds s.mu.
func (r *registry) addLocked(s *shard, h *hook) {
	if s.tasks == nil {
		s.tasks = make(map[task.Key]*hook)
	}
	h.sibling = s.tasks[h.key]
	s.tasks[h.key] = h
	r.n.Add(1)
}

// removeLocked takes h out, if it is still there. The caller holds s.mu.
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

// beginLoading makes visits note the tasks that they miss.
func (r *registry) beginLoading() {
	r.n.Add(1)
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		s.missed = make(map[task.Key]sight)
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
