package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/execution"
	"github.com/parley-a2a/parley/internal/session"
	"github.com/parley-a2a/parley/internal/task"
)

// Limits of the queue of a run: the events that are not durable yet. An executor that is
// further ahead waits. Each commit takes about half of a full queue, because the executor
// continues meanwhile. Once the queues of all runs hold allQueueEvents, which need some 50 MB, each
// is limited to fewEvents: commits are shared by many runs then, and large anyway.
const (
	queueEvents    = 1024
	fewEvents      = 256
	allQueueEvents = 64 * queueEvents
	queueBytes     = 1 << 20
	// linger is how long the first event of a batch waits for more events, so that an agent
	// that answers at once costs one append.
	linger = 300 * time.Microsecond
)

// The causes with which the context of a run ends.
var (
	errRunEnded = errors.New("run has ended")
	errCanceled = errors.New("task was canceled")
	errFencedBy = errors.New("another run has taken over")
)

// run is one execution of an agent for one message of a task.
type run struct {
	engine *Engine
	live   *live
	agent  *Agent
	traits agent.Traits
	key    queueKey
	ahead  ahead
	// epoch, attempt and msg belong to this execution.
	epoch   int64
	attempt int
	msg     inbound
	ctx     context.Context
	stop    context.CancelCauseFunc
	watch   watch
	spent   spending
	// output is the number of bytes that the executor has yielded; only its goroutine uses it.
	output int64
	// round is the number of the run's next question.
	round int
	// asked is closed once a message waits; nil unless the executor has called MessageWaiting.
	// notified is set once it is closed. live.mu guards both.
	asked    chan struct{}
	notified bool
	// continues is set if another run continues with the message, so that the claim stays stored:
	// the executor has ended with execution.ErrResting, or because of the drain of the engine.
	continues bool
	// drains is set while the executor waits for the drain of the engine (UntilDrain).
	drains atomic.Bool
	// lost is set once another hub may have the task: the claim stays stored.
	lost atomic.Bool
	// begun is called at the first Flush of the executor, and at the end of the run; it may be
	// nil.
	begun func()
	// scope is ctx with the attributes for log records; seen holds the measurements.
	scope context.Context
	seen  observed

	// writing is held during a flush, so that durable entries leave the queue once.
	writing sync.Mutex

	mu sync.Mutex // guards the fields below, and ahead.held
	unstored
	emitted
}

// unstored holds the data of a run that is not durable.
type unstored struct {
	// out holds the events that are not durable. It is closed when further events are ignored: after a
	// final or interrupted status, and when the run is fenced.
	out session.Outbox[task.Entry]
	// checkpoints and records are those that are not durable; nil for nearly all agents.
	checkpoints *pendingCheckpoints
	records     *pendingRecords
	// flushing is set while a goroutine other than the executor's flushes out, or will.
	flushing bool
	linger   *time.Timer
}

// emitted describes the events of a run so far.
type emitted struct {
	// state is the state of the last status.
	state task.State
	// hasArtifact is set once the run has produced an artifact.
	hasArtifact bool
	// posed is the seq of the question with which the run has ended, if the hub answers it;
	// zero otherwise.
	posed int64
}

// perform executes the agent, and ends the run.
func (r *run) perform() {
	hold, ok := r.acquire()
	if ok {
		r.watch.start(r)
		r.execute()
		r.watch.end(r)
	}
	r.settle()
	hold.Release()
	r.end()
}

// execute reads the executor's events until its iterator ends or further events are ignored.
func (r *run) execute() {
	defer func() {
		if p := recover(); p != nil {
			r.panicked(p)
		}
	}()
	ec, ctx, err := r.context()
	switch {
	case err != nil && r.ctx.Err() != nil:
		return // the engine stopped the run, which has not begun
	case err != nil:
		r.failed(err)
		return
	}
	done, err := r.enforceDeadline()
	if err != nil {
		r.failedWith(err, true)
		return
	}
	defer done()
	r.consume(r.agent.Executor.Execute(ctx, ec))
}

func (r *run) consume(events iter.Seq2[a2a.Event, error]) {
	first := true
	for ev, err := range events {
		at := time.Now()
		r.watch.touch(at)
		if errors.Is(err, execution.ErrResting) && rests(&r.traits) {
			r.continues = true
			return
		}
		if err != nil {
			r.failedWith(err, first)
			return
		}
		if ev == nil {
			continue
		}
		if ev, err = opened(ev); err != nil {
			r.unreadable(err, true)
			return
		}
		if m, ok := bareOf(ev); ok {
			r.message(m, first)
			return
		}
		first = false
		if !r.yield(ev, task.MillisOf(at)) {
			return
		}
	}
	r.ended()
}

// yield queues the entries of an event. It reports whether further events are accepted.
func (r *run) yield(ev a2a.Event, at task.Millis) bool {
	var few [2]task.Entry
	entries, err := r.live.entries(few[:0], ev, at)
	if err != nil {
		_, raw := ev.(*rawEvent)
		r.unreadable(err, raw)
		return false
	}
	if len(entries) == 0 {
		r.assignToLast()
	}
	for i := range entries {
		if r.exceeds(&entries[i]) {
			return false
		}
		if i == len(entries)-1 {
			r.assignToNext()
		}
		if !r.emit(entries[i]) {
			return false
		}
	}
	return true
}

// emit queues an entry. It reports whether further ones are accepted.
func (r *run) emit(en task.Entry) bool {
	en.Meta = unreserved(en.Meta)
	if text := r.tooLarge(&en); text != "" {
		en = r.live.statusEntry(task.Failed, text)
	}
	q := r.engine.cfg.Questions
	asks := en.Kind == task.Status && en.State == task.InputRequired && q != nil && q.Takes(r.agent.Name) && !callsTool(en.Body)
	if asks {
		_ = r.awaitStored(r.ctx) // a question refers to the stored task
		en = r.question(en)
	}
	r.mu.Lock()
	if !r.out.Room(r.ctx, &r.mu, size(&en)) {
		r.mu.Unlock()
		return false
	}
	en.Epoch, en.Seq = r.epoch, r.out.Last()+1
	r.out.Add(en)
	last := asks || en.Kind == task.Status && (en.State.Terminal() || en.State == task.InputRequired)
	switch {
	case asks:
		r.state, r.posed = task.InputRequired, en.Seq
	case en.Kind == task.Status:
		r.state = en.State
	case en.Kind == task.Artifact:
		r.hasArtifact = true
	}
	if last {
		r.out.Close()
		r.ahead.ready.Send()
	} else {
		r.flushSoonLocked(linger)
	}
	r.mu.Unlock()
	return !last
}

// queueFull reports whether the queue of a run with n events has no room for another one. A run that
// waits continues after its own next commit, so that runs do not wait for each other.
func (e *Engine) queueFull(n int) bool {
	return n >= queueEvents || n >= fewEvents && e.queues.Total.Load() >= allQueueEvents
}

// flushSoonLocked schedules a flush after d, unless the queue is flushed already, or is held until the
// message is stored.
func (r *run) flushSoonLocked(d time.Duration) {
	if !r.flushing && !r.ahead.held {
		r.flushing = true
		r.scheduleLocked(d)
	}
}

// scheduleLocked schedules a flush after d, on a goroutine that the engine waits for.
func (r *run) scheduleLocked(d time.Duration) {
	if !r.engine.work.join() {
		return
	}
	r.linger = time.AfterFunc(d, func() {
		defer r.engine.work.leave()
		r.pump()
	})
}

// pump flushes until the queue is empty.
func (r *run) pump() {
	for {
		err := r.flush()
		r.mu.Lock()
		if r.emptyLocked() {
			r.flushing = false
			r.mu.Unlock()
			return
		}
		if err != nil {
			r.scheduleLocked(retryDelay)
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
	}
}

// retryDelay is the time between attempts to write to a store that does not work.
const retryDelay = 500 * time.Millisecond

// settle waits until all queued entries are durable, or the engine stops.
func (r *run) settle() {
	_ = r.awaitStored(r.engine.ctx) // the events may be stored with the message
	r.mu.Lock()
	if r.flushing && r.linger != nil && r.linger.Stop() {
		r.engine.work.leave()
		r.flushing = false
	}
	r.mu.Unlock()
	for {
		err := r.flush()
		r.mu.Lock()
		empty := r.emptyLocked()
		r.mu.Unlock()
		if empty {
			return
		}
		if err == nil {
			continue
		}
		select {
		case <-time.After(retryDelay):
		case <-r.engine.ctx.Done():
			return
		}
	}
}

// flush makes the queue durable in one append.
func (r *run) flush() error {
	r.writing.Lock()
	defer r.writing.Unlock()
	batch, kept := r.unsaved()
	if len(batch) == 0 && kept.empty() {
		return nil
	}
	var output []task.Entry
	err := r.engine.change(r.live, func(c *task.Change) error {
		batch, kept = r.unsaved()
		if len(batch) == 0 && kept.empty() {
			return errUnchanged
		}
		err := r.apply(c, batch, &kept)
		output = c.Entries
		return err
	})
	var bad *badEvent
	switch {
	case err == nil:
		r.acknowledge(batch)
		r.dropSaved(&kept)
		r.notifyOutput(output)
	case errors.As(err, &bad):
		r.dropAfter(bad)
	case errors.Is(err, task.ErrFenced), errors.Is(err, task.ErrTerminal), errors.Is(err, task.ErrNotFound):
		r.fence(errFencedBy)
	default:
		r.live.reportTrouble(err)
		return err
	}
	return nil
}

// unsaved returns the events that are not durable, and the data to be stored beside them.
func (r *run) unsaved() ([]task.Entry, extras) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unsavedLocked()
}

func (r *run) unsavedLocked() ([]task.Entry, extras) {
	return r.out.Events(), extras{r.checkpoints.upTo(r.out.Last()), r.records.upTo(r.out.Last())}
}

// badEvent is an event that the protocol forbids at its position.
type badEvent struct {
	seq int64
	err error
}

func (b *badEvent) Error() string { return b.err.Error() }
func (b *badEvent) Unwrap() error { return b.err }

// apply adds the batch, and the checkpoint and records beside it, to c. Once the engine fences
// its runs, it adds nothing.
func (r *run) apply(c *task.Change, batch []task.Entry, kept *extras) error {
	if r.engine.fenced.Load() {
		return fmt.Errorf("engine: %w", task.ErrFenced)
	}
	if len(batch) == 0 {
		return r.applyAlone(c, kept)
	}
	r.mu.Lock()
	posed := r.posed
	r.mu.Unlock()
	c.Next.Visibility = task.Visible
	before := len(c.Entries)
	c.Entries = slices.Grow(c.Entries, len(batch))
	for i := range batch {
		h, en, err := task.Apply(c.Next, batch[i])
		switch {
		case errors.Is(err, task.ErrRepeated):
			continue
		case errors.Is(err, task.ErrFenced), errors.Is(err, task.ErrTerminal):
			return err
		case err != nil:
			return &badEvent{batch[i].Seq, err}
		}
		c.Next = h
		c.Entries = append(c.Entries, en)
		switch {
		case posed != 0 && en.Seq == posed:
			// While a head waits, its Attempt counts the statuses that the hub has added to the question.
			c.Next.Run.Holder, c.Next.Run.Dispatch, c.Next.Run.Attempt = r.engine.ownHolder(), task.Asking, 0
		case en.Kind == task.Status && en.State == task.InputRequired:
			rest(&c.Next)
		}
	}
	if len(c.Entries) == before {
		return r.applyAlone(c, kept)
	}
	switch last := c.Entries[len(c.Entries)-1].Seq; {
	case c.Next.State.Open():
		c.Sidecars[task.SidecarCheckpoint], c.Journal = kept.checkpoint.blob, kept.records
	case kept.checkpoint.seq == last: // a task that has ended is not continued, but others may refer to it
		c.Sidecars[task.SidecarCheckpoint] = kept.checkpoint.blob
	}
	return nil
}

// acknowledge removes durable events from the queue. A goroutine that ended the task may have
// fenced the run in the meantime, which empties the queue.
func (r *run) acknowledge(durable []task.Entry) {
	if len(durable) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.Acknowledge(durable[len(durable)-1].Seq)
}

// dropAfter keeps the events before a bad one, and replaces that one by the failure of the
// task.
func (r *run) dropAfter(bad *badEvent) {
	reference := uuid.NewString()
	r.engine.cfg.Logger.ErrorContext(r.scope, "agent broke the protocol", "agent", r.agent.Name, "task", r.live.ref.id,
		"reference", reference, "error", bad.err)
	text := fmt.Sprintf("agent %q sent an event that the protocol forbids (reference %s)", r.agent.Name, reference)
	en := r.live.statusEntry(task.Failed, text)
	en.Epoch, en.Seq = r.epoch, bad.seq
	r.mu.Lock()
	r.out.Replace(en.Seq, en) // unless the run was fenced in the meantime
	r.out.Close()
	r.state = task.Failed
	r.mu.Unlock()
	r.stop(bad.err)
}

// fence makes the engine ignore further events of the run, and ends its context.
func (r *run) fence(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop(cause) // before other goroutines can see the empty queue
	r.out.Discard()
	r.checkpoints, r.records = nil, nil
}

// Flush waits until all events yielded so far are durable. It returns an error if the run was
// fenced: then the last events may have been dropped. It implements agent.Call.Flush.
func (r *run) Flush(ctx context.Context) error {
	if err := r.awaitStored(ctx); err != nil {
		return err
	}
	r.hasBegun()
	r.mu.Lock()
	want := r.out.Last()
	r.checkpoints.assign(want)
	r.records.assign(want)
	r.mu.Unlock()
	for {
		r.mu.Lock()
		done := r.out.Acked() >= want && !r.checkpoints.pendingUpTo(want) && !r.records.pendingUpTo(want) || r.out.Closed() && r.emptyLocked()
		r.mu.Unlock()
		if done {
			return r.cutOff()
		}
		if err := r.flush(); err == nil {
			continue
		}
		select {
		case <-time.After(retryDelay):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// cutOff returns the reason why the last events of the executor may have been dropped; nil if
// they were not.
func (r *run) cutOff() error {
	if err := context.Cause(r.ctx); !errors.Is(err, errRunEnded) {
		return err
	}
	return nil
}
