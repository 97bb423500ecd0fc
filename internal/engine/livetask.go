package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/usertoken"
	"github.com/parley-a2a/parley/internal/wake"
)

// ref identifies a task for callers.
type ref struct {
	owner task.Owner
	id    a2a.TaskID
}

// live is a task that this process runs or that a caller reads. It holds the newest durable
// head, and the tail of the log.
type live struct {
	ref       ref
	contextID string
	// wraps is set if the caller that created the task accepts no bare message: op.Send.Wrap.
	wraps bool

	// write is held during one change, from reading the head to the end of the append.
	write sync.Mutex
	// uncertain is an operation with an unknown outcome; guarded by write.
	uncertain *uncertainOp

	refs int32 // guarded by the registry's lock

	mu sync.Mutex // guards the fields below
	// loaded is set once head has the stored head.
	loaded bool
	// canceling is set while a goroutine carries out the cancel request.
	canceling bool
	// refused is set if the caller that created the task got an error. It changes only with
	// write held, too.
	refused bool
	head    task.Head
	tail    tail
	// statusVersion is the version of the current status, if this process has seen it; 0 if the
	// status is older. statusSeen may be newer: that of entries whose head is not published yet.
	statusVersion, statusSeen int64
	// reads lists the versions of the task at which runs began to read a message.
	reads []reading
	unlogged
	run *run
	// rousing is set while a ticket of a resting task waits for its run; rouseAgain if Rouse was
	// called while there was a run.
	rousing, rouseAgain bool
	// questionSpan is nil unless the hub answers questions of the task and tracing is on.
	questionSpan *questionSpan
	// stalled are tickets with a place that the store could not claim.
	stalled []ticket
	// inbox are the messages that no run has read.
	inbox []inbound
	// bearers are the tokens of messages by version, see keepBearer.
	bearers map[int64]usertoken.Token
	// pending is nil unless the store has failed.
	pending *pendingWork
	noted
	// wake is closed when a field above changes; nil if no goroutine waits.
	wake chan struct{}
	// children counts the delegations in this process.
	children int64
	// followers are signalled when the status changes, and when a child is added.
	followers []wake.Signal
}

// unlogged holds the results for waiting callers that are not in the log.
type unlogged struct {
	// answer is the bare message with which the task ended.
	answer []byte
	// confirmed is the agent's newest confirmation of extensions; nil if there is none.
	confirmed *Confirmation
	// trouble is the reason why the last event could not be stored; nil after a success.
	trouble error
	// refusal is the error that the agent returned instead of a first event.
	refusal error
}

// reading is the version of the task at which a run began to read a message: the last one before
// the first event of its epoch, or until then the one at which this hub learned of the run.
type reading struct{ message, at, epoch int64 }

// dealtWithLocked reports whether a run that has read the message at version v has reached a
// status that waits for the caller.
func (l *live) dealtWithLocked(v int64) bool {
	for _, r := range l.reads {
		if r.message >= v {
			return l.head.State.Interrupted() && l.statusVersion > r.at
		}
	}
	return false
}

// readLocked notes that a run has begun to read a message, unless that is known.
func (l *live) readLocked(r reading) {
	if n := len(l.reads); n == 0 || l.reads[n-1].message != r.message {
		l.reads = append(l.reads, r)
	}
}

// eventLocked corrects the reading of a run at its first event, which may be in the same change.
func (l *live) eventLocked(e *task.Entry) {
	if n := len(l.reads); n > 0 && e.Epoch != 0 && l.reads[n-1].epoch == e.Epoch {
		l.reads[n-1].at = min(l.reads[n-1].at, e.Version-1)
	}
}

// readElsewhere notes that a run of another hub has begun to read a message, if h shows that. It
// is called before the entries up to h are published: a status that answers the message must not
// reach a reader before the hub knows that.
func (l *live) readElsewhere(h *task.Head) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.Consumed > l.head.Consumed {
		l.readLocked(reading{h.Consumed, h.Version, h.Run.Epoch})
	}
}

// readAt returns the version of the task at which a run began to read the message at version v,
// or false if no run has read it.
func (l *live) readAt(v int64) (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.reads {
		if r.message >= v {
			return r.at, true
		}
	}
	return 0, false
}

// inbound is a message that waits for a run.
type inbound struct {
	version int64
	at      task.Millis
	body    []byte
	call    []byte
	// record is the decoded call; nil if it was not decoded yet.
	record *callRecord
}

func unreadOf(e *task.Entry) inbound {
	return inbound{version: e.Version, at: e.At, body: e.Body, call: e.Call}
}

// changedLocked returns a channel that is closed at the next change. The caller holds l.mu.
func (l *live) changedLocked() <-chan struct{} {
	if l.wake == nil {
		l.wake = make(chan struct{})
	}
	return l.wake
}

func (l *live) wakeLocked() {
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
}

// reportTrouble notifies the waiting callers that the task makes no progress, because the store
// does not work.
func (l *live) reportTrouble(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble = err
	l.wakeLocked()
}

// snapshot returns the current head.
func (l *live) snapshot() task.Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// unread returns the number of messages that no run has read.
func (l *live) unread() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.inbox)
}

// performer returns the agent that executes the task.
func (l *live) performer() task.Agent {
	h := l.snapshot()
	return h.Performer()
}

// publish applies a durable change to the task in memory, and notifies its readers.
func (l *live) publish(c *task.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	poke := len(l.followers) > 0 && statusChanged(&l.head, c)
	if c.Next.Consumed > l.head.Consumed {
		l.readLocked(reading{c.Next.Consumed, c.Next.Version, c.Next.Run.Epoch})
	}
	whole := c.Next.Rev != l.head.Rev // not entries without their head, which reload publishes first
	l.head, l.loaded, l.trouble = c.Next, true, nil
	l.tail.add(c.Entries)
	for i := range c.Entries {
		l.eventLocked(&c.Entries[i])
		switch e := &c.Entries[i]; e.Kind {
		case task.Created, task.Message:
			l.inbox = append(l.inbox, unreadOf(e))
			if e.Kind == task.Created {
				l.statusSeen = e.Version
			}
		case task.Status:
			l.statusSeen = e.Version
		}
	}
	if whole {
		l.statusVersion = l.statusSeen
	}
	for len(l.inbox) > 0 && l.inbox[0].version <= l.head.Consumed {
		l.inbox = l.inbox[1:]
	}
	l.signalWaitingLocked()
	l.wakeLocked()
	if poke {
		l.wakeFollowersLocked()
	}
}

// taskRegistry holds the live tasks.
type taskRegistry struct {
	keyed  keyed
	shards [64]shard
	seed   maphash.Seed
}

type shard struct {
	mu    sync.Mutex
	tasks map[ref]*live
}

func newTaskRegistry() *taskRegistry {
	r := &taskRegistry{seed: maphash.MakeSeed()}
	for i := range r.shards {
		r.shards[i].tasks = make(map[ref]*live)
	}
	return r
}

func (r *taskRegistry) shard(k ref) *shard {
	return &r.shards[maphash.String(r.seed, string(k.id))%uint64(len(r.shards))]
}

// hold returns the live task k with one more reference, or nil.
func (r *taskRegistry) hold(k ref) *live {
	s := r.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.tasks[k]
	if l != nil {
		l.refs++
	}
	return l
}

// holdThis adds a reference to l, unless it has none. It reports whether it did.
func (r *taskRegistry) holdThis(l *live) bool {
	s := r.shard(l.ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks[l.ref] != l {
		return false
	}
	l.refs++
	return true
}

// add registers l unless the task is live already. It returns the registered task with one more
// reference.
func (r *taskRegistry) add(l *live) *live {
	s := r.shard(l.ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	if there := s.tasks[l.ref]; there != nil {
		there.refs++
		return there
	}
	s.tasks[l.ref] = l
	l.refs++
	return l
}

// retain adds a reference to a task that the caller holds.
func (r *taskRegistry) retain(l *live) {
	s := r.shard(l.ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	l.refs++
}

// release drops a reference, and removes a task without references.
func (r *taskRegistry) release(l *live) {
	s := r.shard(l.ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.refs--; l.refs > 0 {
		return
	}
	delete(s.tasks, l.ref)
	l.mu.Lock()
	r.keyed.remove(l.head.Key, l)
	l.tail.free()
	l.mu.Unlock()
}

// newLive returns a task that is neither registered nor loaded.
func (e *Engine) newLive(k ref) *live {
	return &live{ref: k, tail: tail{total: &e.tailBytes}}
}

// open returns the task k with one more reference, and reads its head if it is not live. The
// caller releases it.
func (e *Engine) open(ctx context.Context, k ref) (*live, error) {
	l := e.live.hold(k)
	if l == nil {
		l = e.live.add(e.newLive(k))
	}
	read, err := e.load(ctx, l)
	if err == nil && !read && e.cfg.Peers != nil {
		err = e.refresh(l) // the head was read before this call, perhaps long before
	}
	if err != nil {
		e.live.release(l)
		return nil, err
	}
	return l, nil
}

// load reads the head of a registered task that is not loaded, and reports whether it did. It reads
// after the task was registered, so that no change of this process can come in between.
func (e *Engine) load(ctx context.Context, l *live) (read bool, err error) {
	if l.isLoaded() {
		return false, nil
	}
	l.write.Lock()
	defer l.write.Unlock()
	if err := e.settle(l); err != nil {
		return false, err
	}
	if l.isLoaded() {
		return false, nil
	}
	hints := e.live.keyed.hinted()
	h, err := e.store.Head(ctx, l.ref.owner, l.ref.id)
	if err != nil {
		return false, err
	}
	inbox, err := e.unread(ctx, &h)
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	l.head, l.inbox, l.contextID, l.loaded = h, inbox, h.ContextID, true
	l.loadedAt = h.Version
	if h.State.Interrupted() {
		l.waited.since = h.StatusAt
	}
	l.mu.Unlock()
	if e.cfg.Peers != nil && e.live.keyed.add(h.Key, l, hints) {
		err = e.reload(l)
	}
	return true, err
}

func (l *live) isLoaded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.loaded
}

// unread returns the messages that no run has read yet.
func (e *Engine) unread(ctx context.Context, h *task.Head) ([]inbound, error) {
	if !h.Waiting() || h.State.Terminal() {
		return nil, nil
	}
	var inbox []inbound
	for after := h.Consumed; after < h.LastMessage; {
		page, err := e.store.Read(ctx, h.Key, after)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return nil, fmt.Errorf("read %s after v%d: log ends before v%d", h.ID, after, h.LastMessage)
		}
		for i := range page {
			if en := &page[i]; (en.Kind == task.Created || en.Kind == task.Message) && en.Version <= h.LastMessage {
				inbox = append(inbox, unreadOf(en))
			}
		}
		after = page[len(page)-1].Version
	}
	return inbox, nil
}

// errUnchanged is returned by a step that changes nothing.
var errUnchanged = errors.New("nothing to change")

// step computes a change from the current head. It may be called again after a conflict. It
// sets Next and Entries; its caller sets Rev.
type step func(c *task.Change) error

// changes pools the Change structs: they are large, and stores do not keep them.
var changes = sync.Pool{New: func() any { return new(task.Change) }}

// change makes one durable change of l and publishes it. Errors of f are returned unchanged.
func (e *Engine) change(l *live, f step) error {
	l.write.Lock()
	defer l.write.Unlock()
	if err := e.settle(l); err != nil {
		return err
	}
	return e.changeLocked(l, f)
}

// changeLocked is change for a caller that holds l.write and has settled l.
func (e *Engine) changeLocked(l *live, f step) error {
	c := changes.Get().(*task.Change)
	defer func() {
		if l.uncertain == nil || l.uncertain.change != c {
			*c = task.Change{}
			changes.Put(c)
		}
	}()
	for range 8 {
		prev := l.snapshot()
		*c = task.Change{Prev: prev, Next: prev}
		if err := f(c); err != nil {
			if errors.Is(err, errUnchanged) {
				return nil
			}
			return err
		}
		held, err := e.externalize(l, c)
		if err != nil {
			return err
		}
		c.Next.Rev = prev.Rev + 1
		if c.Next.UpdatedAt < prev.UpdatedAt {
			c.Next.UpdatedAt = prev.UpdatedAt
		}
		err = e.append(c)
		settleParts(held, err)
		switch {
		case err == nil:
			e.storeOK()
			if prev.Rev == 0 && e.cfg.Peers != nil {
				e.live.keyed.add(c.Next.Key, l, 0)
			}
			e.publish(l, c)
			return nil
		case errors.Is(err, task.ErrConflict):
			if err := e.reload(l); err != nil {
				e.scheduleRepair(l, nil)
				return err
			}
		case errors.Is(err, task.ErrExists), errors.Is(err, task.ErrKeyUsed):
			return err
		default:
			l.uncertain = &uncertainOp{change: c}
			err = e.storeFailed(fmt.Errorf("append %s after v%d: %w", l.ref.id, prev.Version, err))
			e.scheduleRepair(l, c)
			return err
		}
	}
	return fmt.Errorf("append %s: %w", l.ref.id, task.ErrConflict)
}

// reload reads changes that another process or call has stored. The caller holds l.write.
func (e *Engine) reload(l *live) error {
	h, err := e.store.Head(e.ctx, l.ref.owner, l.ref.id)
	if err != nil {
		return fmt.Errorf("read %s: %w", l.ref.id, err)
	}
	if e.cfg.Peers != nil {
		l.readElsewhere(&h)
	}
	before := l.snapshot()
	for have := l.snapshot(); have.Rev != h.Rev; have = l.snapshot() {
		if have.Version >= h.Version {
			break
		}
		page, err := e.store.Read(e.ctx, h.Key, have.Version)
		if err != nil {
			return fmt.Errorf("read %s: %w", l.ref.id, err)
		}
		if len(page) == 0 {
			return fmt.Errorf("read %s: log ends at v%d, head is at v%d", l.ref.id, have.Version, h.Version)
		}
		// Another hub may have stored more since the head was read. Those entries come with their head.
		if i := slices.IndexFunc(page, func(e task.Entry) bool { return e.Version > h.Version }); i >= 0 {
			page = page[:i]
		}
		next := have
		next.Version = page[len(page)-1].Version
		l.publish(&task.Change{Prev: have, Next: next, Entries: page})
	}
	if e.cfg.Peers == nil {
		e.publish(l, &task.Change{Next: h})
	} else if have := l.snapshot(); have.Rev != h.Rev {
		if err := e.unreadAgain(l, &have, &h); err != nil {
			return err
		}
		if e.callerTasks != nil {
			e.callerTasks.note(l.ref, e.atWork(&h))
		}
		l.publish(&task.Change{Next: h})
		e.endParts(&h)
		e.react(l, &before, &h)
	}
	return nil
}

// unreadAgain adds the messages to the unread ones that another hub has put back, because the run that
// had read them has ended: this hub may be the one that continues the task. The caller holds l.write.
func (e *Engine) unreadAgain(l *live, have, h *task.Head) error {
	if h.Consumed >= have.Consumed {
		return nil
	}
	inbox, err := e.unread(e.ctx, h)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inbox = inbox
	return nil
}

// await waits until done reports true, the context ends, MaxWait has passed, or the engine
// stops. It reports whether done reported true. done is called with l.mu held.
func (e *Engine) await(ctx context.Context, l *live, done func() bool) (bool, error) {
	l.mu.Lock()
	if done() {
		l.mu.Unlock()
		return true, nil
	}
	w := &wait{live: l}
	defer time.AfterFunc(e.cfg.MaxWait, w.end).Stop()
	for {
		wake := l.changedLocked()
		l.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-e.ctx.Done():
			return false, nil
		}
		l.mu.Lock()
		if ok := done(); ok || w.over {
			l.mu.Unlock()
			return ok, nil
		}
	}
}

// wait is a call that waits for a task for a limited time.
type wait struct {
	live *live
	over bool // guarded by the task's lock
}

// end notes that the time has passed.
func (w *wait) end() {
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	w.over = true
	w.live.wakeLocked()
}
