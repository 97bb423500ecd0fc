package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/execution"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// checkpointLinger is how long a checkpoint without an event waits for the next event. Usually
// one comes and saves a commit.
const checkpointLinger = 5 * time.Millisecond

// pendingCheckpoint is a checkpoint that belongs to the event with number seq: it may be stored
// together with that event or with a later one, and never before. The zero value means no
// checkpoint.
type pendingCheckpoint struct {
	seq  int64
	blob []byte
}

// pendingCheckpoints are the checkpoints of a run that are not durable yet, in the order of
// their events. run.mu guards them. A nil pendingCheckpoints is empty.
type pendingCheckpoints struct {
	list []pendingCheckpoint
	// next is the checkpoint that waits for its event; nil if there is none.
	next []byte
}

// upTo returns the newest checkpoint of an event up to seq.
func (n *pendingCheckpoints) upTo(seq int64) pendingCheckpoint {
	if n == nil {
		return pendingCheckpoint{}
	}
	for i := len(n.list) - 1; i >= 0; i-- {
		if n.list[i].seq <= seq {
			return n.list[i]
		}
	}
	return pendingCheckpoint{}
}

// assign assigns the checkpoint that waits for its event to the event seq.
func (n *pendingCheckpoints) assign(seq int64) {
	if n == nil || n.next == nil {
		return
	}
	if last := len(n.list) - 1; last >= 0 && n.list[last].seq == seq {
		n.list[last].blob = n.next
	} else {
		n.list = append(n.list, pendingCheckpoint{seq, n.next})
	}
	n.next = nil
}

// drop removes the checkpoint that was stored, s, and older ones.
func (n *pendingCheckpoints) drop(s pendingCheckpoint) {
	if n == nil || s.blob == nil {
		return
	}
	i := 0
	for i < len(n.list) && n.list[i].seq < s.seq {
		i++
	}
	if i < len(n.list) && n.list[i].seq == s.seq && &n.list[i].blob[0] == &s.blob[0] {
		i++
	}
	n.list = n.list[:copy(n.list, n.list[i:])]
}

// pendingUpTo reports whether a checkpoint of an event up to seq is not durable.
func (n *pendingCheckpoints) pendingUpTo(seq int64) bool {
	return n != nil && len(n.list) > 0 && n.list[0].seq <= seq
}

// resumes reports whether the agent continues after a crash.
func (r *run) resumes() bool { return r.traits.AfterCrash == agent.Resume }

// Checkpoint implements agent.Call.Checkpoint.
func (r *run) Checkpoint(blob []byte) error {
	if !r.resumes() || len(blob) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.out.Closed() {
		return nil
	}
	if r.checkpoints == nil {
		r.checkpoints = new(pendingCheckpoints)
	}
	r.checkpoints.next = blob
	return nil
}

// assignToNext assigns the waiting checkpoint and records to the next event.
func (r *run) assignToNext() {
	if !r.resumes() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checkpoints.assign(r.out.Last() + 1)
	r.records.assign(r.out.Last() + 1)
}

// assignToLast assigns the waiting checkpoint and records to the last event, because the event
// they waited for changes nothing. They are stored by themselves unless an event follows soon.
func (r *run) assignToLast() {
	if !r.resumes() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.waitsLocked() {
		return
	}
	r.checkpoints.assign(r.out.Last())
	r.records.assign(r.out.Last())
	if !r.out.Closed() {
		r.flushSoonLocked(checkpointLinger)
	}
}

// emptyLocked reports whether all events, checkpoints and records are durable.
func (r *run) emptyLocked() bool {
	last := r.out.Last()
	return last == r.out.Acked() && (r.out.Closed() || !r.checkpoints.pendingUpTo(last) && !r.records.pendingUpTo(last))
}

// dropSaved removes the checkpoint and the records that are durable now.
func (r *run) dropSaved(s *extras) {
	if s.empty() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checkpoints.drop(s.checkpoint)
	r.records.drop(len(s.records))
}

// applyAlone sets c to a change that stores no event.
func (r *run) applyAlone(c *task.Change, s *extras) error {
	h := &c.Prev
	if s.empty() || h.State.Terminal() || h.Run.Dispatch != task.Claimed || h.Run.Epoch != r.epoch {
		return errUnchanged
	}
	c.Next.Visibility, c.Journal = task.Visible, s.records
	c.Sidecars[task.SidecarCheckpoint] = s.checkpoint.blob
	return nil
}

// MessageWaiting implements agent.Call.MessageWaiting.
func (r *run) MessageWaiting() <-chan struct{} {
	r.live.mu.Lock()
	defer r.live.mu.Unlock()
	if r.asked == nil {
		r.asked = make(chan struct{})
	}
	r.live.signalWaitingLocked()
	return r.asked
}

// signalWaitingLocked notifies the run of the task that a message waits, if the run has called
// MessageWaiting and a message waits.
func (l *live) signalWaitingLocked() {
	r := l.run
	if r == nil || r.asked == nil || r.notified || len(l.inbox) == 0 {
		return
	}
	r.notified = true
	close(r.asked)
}

// resumeCall sets the checkpoint and the task from which a run continues.
func (e *Engine) resumeCall(ctx context.Context, l *live, c *agent.Call) (err error) {
	h := l.snapshot()
	if c.Saved, err = e.store.Sidecar(ctx, h.Key, task.SidecarCheckpoint); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	if old, ok := bytes.CutPrefix(c.Saved, forgottenMark); ok {
		c.Saved, c.Forgotten = nil, old
	}
	f, err := e.fold(ctx, l, &h)
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	h = headAsAsked(h, f)
	c.Task = e.fillTask(l.ref, f.AppendTask(nil, &h, task.TaskOptions{Artifacts: true}))
	c.Sealed = h.Sealed
	return nil
}

// earlierTasks limits the tasks of a context that are searched for an earlier checkpoint.
const earlierTasks = 5

// EarlierCheckpoint returns the last checkpoint of the newest other task of the run's agent and
// context; see agent.Call.EarlierCheckpoint.
func (r *run) EarlierCheckpoint(ctx context.Context) ([]byte, error) {
	e := r.engine
	page, err := e.store.List(ctx, &task.Query{
		Owner: r.live.ref.owner, Agent: r.agent.Name, ContextID: r.live.contextID, Limit: earlierTasks,
	})
	if err != nil {
		return nil, fmt.Errorf("find earlier tasks: %w", err)
	}
	for i := range page.Heads {
		h := &page.Heads[i]
		if h.ID == r.live.ref.id {
			continue
		}
		saved, err := e.store.Sidecar(ctx, h.Key, task.SidecarCheckpoint)
		if err != nil {
			return nil, fmt.Errorf("find earlier checkpoint: %w", err)
		}
		if len(saved) > 0 && !bytes.HasPrefix(saved, forgottenMark) {
			return saved, nil
		}
	}
	return nil, nil
}

// CheckpointOf returns the last checkpoint of another task of the run's owner and agent; see
// agent.Call.CheckpointOf.
func (r *run) CheckpointOf(ctx context.Context, id a2a.TaskID) ([]byte, error) {
	e := r.engine
	l, err := e.open(ctx, ref{r.live.ref.owner, id})
	if errors.Is(err, task.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find task %s: %w", id, err)
	}
	defer e.live.release(l)
	h := l.snapshot()
	if h.Agent != r.agent.Name || h.Visibility != task.Visible {
		return nil, nil
	}
	saved, err := e.store.Sidecar(ctx, h.Key, task.SidecarCheckpoint)
	if err != nil {
		return nil, fmt.Errorf("find checkpoint of task %s: %w", id, err)
	}
	if bytes.HasPrefix(saved, forgottenMark) {
		return nil, nil
	}
	return saved, nil
}

// lastCaller returns the caller of the message that was read last, with the stored fields.
func (e *Engine) lastCaller(l *live) (*op.Caller, error) {
	h := l.snapshot()
	page, err := e.store.Read(e.ctx, h.Key, max(h.Consumed, 1)-1)
	if err != nil {
		return nil, err
	}
	if len(page) == 0 {
		return nil, fmt.Errorf("read %s: log ends before v%d", h.ID, h.Consumed)
	}
	rec, err := decodeCall(page[0].Call)
	if err != nil {
		return nil, err
	}
	return &op.Caller{Principal: rec.Principal, Params: rec.Params, Extensions: rec.Extensions}, nil
}

// endOrphan carries out a cancel request without the agent.
func (e *Engine) endOrphan(l *live) error {
	c, err := e.lastCaller(l)
	if err != nil {
		return err
	}
	return e.endCanceled(l, c)
}

// recoverCancel carries out a cancel request of an earlier process. The agent receives it in
// the name of the caller whose message it was processing.
func (e *Engine) recoverCancel(l *live) error {
	c, err := e.lastCaller(l)
	if err != nil {
		return err
	}
	if !l.claimCancel() {
		return nil
	}
	if h := l.snapshot(); h.CancelAt == 0 || h.State.Terminal() {
		l.releaseCancel() // another goroutine has carried it out meanwhile
		return nil
	}
	e.startCancel(l, &cancelCall{c, &op.Cancel{ID: l.ref.id}})
	return nil
}

// continueTask lets a task continue whose agent has refused to cancel it, if an earlier process
// left the task.
func (e *Engine) continueTask(l *live) {
	if h := l.snapshot(); e.orphaned(&h) {
		e.adoptOrphan(e.ctx, l)
	}
}

// pendingRecord is a record that belongs to the event with number seq, see
// pendingCheckpoint.
type pendingRecord struct {
	seq int64
	task.Record
}

// pendingRecords are the records of a run that are not durable yet, in order. run.mu guards
// them. A nil pendingRecords is empty.
type pendingRecords struct {
	list []pendingRecord
	// ready is the number of records at the start of list that have their event; the others
	// wait for it.
	ready int
	// last is the number of the newest record of the task, and size the total size of all
	// records.
	last, size int64
}

// upTo returns the records of events up to seq.
func (j *pendingRecords) upTo(seq int64) []task.Record {
	if j == nil {
		return nil
	}
	var found []task.Record
	for _, one := range j.list[:j.ready] {
		if one.seq <= seq {
			found = append(found, one.Record)
		}
	}
	return found
}

// assign assigns the records that wait for their event to the event seq.
func (j *pendingRecords) assign(seq int64) {
	if j == nil {
		return
	}
	for ; j.ready < len(j.list); j.ready++ {
		j.list[j.ready].seq = seq
	}
}

// drop removes the first n records, which are stored.
func (j *pendingRecords) drop(n int) {
	if j == nil || n == 0 {
		return
	}
	n = min(n, j.ready)
	clear(j.list[:n])
	j.list, j.ready = j.list[n:], j.ready-n
}

// pendingUpTo reports whether a record of an event up to seq is not durable.
func (j *pendingRecords) pendingUpTo(seq int64) bool {
	return j != nil && j.ready > 0 && j.list[0].seq <= seq
}

// waitsLocked reports whether a checkpoint or a record waits for its event.
func (r *run) waitsLocked() bool {
	return r.checkpoints != nil && r.checkpoints.next != nil || r.records != nil && r.records.ready < len(r.records.list)
}

// extras holds the data that is stored with a change beside its events.
type extras struct {
	checkpoint pendingCheckpoint
	records    []task.Record
}

func (s *extras) empty() bool { return s.checkpoint.blob == nil && len(s.records) == 0 }

// Journal implements agent.Call.Journal.
func (r *run) Journal(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if !r.resumes() {
			return
		}
		for rec, err := range r.engine.journal(ctx, r.live.snapshot().Key) {
			if !yield(rec.Data, err) {
				return
			}
		}
	}
}

// journal yields the stored records of a task.
func (e *Engine) journal(ctx context.Context, key task.Key) iter.Seq2[task.Record, error] {
	return func(yield func(task.Record, error) bool) {
		for after := int64(0); ; {
			page, err := e.store.Journal(ctx, key, after)
			if err != nil {
				yield(task.Record{}, err)
				return
			}
			if len(page) == 0 {
				return
			}
			for _, rec := range page {
				after = rec.Number
				if !yield(rec, nil) {
					return
				}
			}
		}
	}
}

// Record implements agent.Call.Record.
func (r *run) Record(ctx context.Context, record []byte) error {
	if !r.resumes() {
		return nil
	}
	if err := r.openJournal(ctx); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.out.Closed() {
		return nil
	}
	j := r.records
	if j.last >= execution.MaxRecords || j.size+int64(len(record)) > execution.MaxJournal {
		return fmt.Errorf("record %d, %d bytes after %d: %w", j.last+1, len(record), j.size, agent.ErrJournal)
	}
	j.last++
	j.size += int64(len(record))
	j.list = append(j.list, pendingRecord{Record: task.Record{Number: j.last, Data: record}})
	return nil
}

// openJournal determines the length of the journal.
func (r *run) openJournal(ctx context.Context) error {
	r.mu.Lock()
	there := r.records != nil
	r.mu.Unlock()
	if there {
		return nil
	}
	j := new(pendingRecords)
	if r.attempt > 1 || r.msg.version > 1 {
		for rec, err := range r.engine.journal(ctx, r.live.snapshot().Key) {
			if err != nil {
				return err
			}
			j.last = rec.Number
			j.size += int64(len(rec.Data))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = j
	return nil
}
