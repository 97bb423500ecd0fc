package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
)

// ErrPartGone is returned for a part of a task that has expired, or whose file is missing.
var ErrPartGone = errors.New("part has expired")

// Part opens a large part of a task of the caller, which closes it. A caller that may get the
// task may get its parts; other callers receive the error of Get. The error is ErrPartGone if
// an entry of the task names the part and the hub no longer has it.
func (e *Engine) Part(ctx context.Context, c *op.Caller, id a2a.TaskID, d blobstore.Digest) (*blobstore.Content, error) {
	l, err := e.find(ctx, c, new(op.Target), lookup{id, need{op: policy.Get}})
	if err != nil {
		return nil, err
	}
	defer e.live.release(l)
	k := l.ref
	if e.cfg.Parts == nil {
		return nil, errNoPart
	}
	h := l.snapshot()
	p, err := e.cfg.Parts.Store.Open(partKey(k), d)
	switch {
	case err == nil && overdue(&h, p.Keep, time.Now()):
		return nil, errors.Join(ErrPartGone, p.Close())
	case err == nil:
		e.auditRead(c, AuditEvent{Action: audit.PartGet, Task: h.ID, Agent: h.Agent, Part: d.String()})
		return p, nil
	case errors.Is(err, blobstore.ErrLost):
		e.lostPart(k)(d, err)
		return nil, ErrPartGone
	case !errors.Is(err, blobstore.ErrNotFound):
		return p, err
	}
	f, err := e.fold(ctx, l, &h)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(f.AppendTask(nil, &h, task.TaskOptions{Artifacts: true}), []byte(d.String())) {
		return nil, ErrPartGone
	}
	return nil, errNoPart
}

var errNoPart = apierror.New(a2a.ErrTaskNotFound, "no such part")

// overdue reports whether a part of the task has expired.
func overdue(h *task.Head, keep time.Duration, now time.Time) bool {
	return h.State.Terminal() && now.Sub(h.StatusAt.Time()) >= keep
}

func partKey(k ref) blobstore.Key { return blobstore.Key{Owner: k.owner, Task: k.id} }

// lostPart returns a function that logs a part that an entry names and that cannot be read.
func (e *Engine) lostPart(k ref) func(blobstore.Digest, error) {
	return func(d blobstore.Digest, err error) {
		e.cfg.Logger.Error("part cannot be read", "task", k.id, "digest", d.String(), "error", err)
	}
}

// checkAddresses refuses a message with the address of a part of a task that its caller may not
// get.
func (a *admission) checkAddresses(ctx context.Context) error {
	e := a.engine
	if e.cfg.Parts == nil {
		return nil
	}
	for i, id := range e.cfg.Parts.Addresses(a.body) {
		l, err := e.find(ctx, a.caller, new(op.Target), lookup{id, need{op: policy.Get, delegated: a.delegated}})
		if errors.Is(err, a2a.ErrTaskNotFound) {
			return noAddress(partField(i))
		}
		if err != nil {
			return err
		}
		e.live.release(l)
	}
	return nil
}

// noAddress is the error for the address of a part that does not exist for the caller.
func noAddress(field string) error {
	return apierror.Field(a2a.ErrInvalidParams, field+".url", "is not a part that you may read")
}

// externalize replaces the large parts of a change by references. It returns the blobs stored for
// them, or nil; settleParts settles them when the outcome of the change is known.
func (e *Engine) externalize(l *live, c *task.Change) (*blobstore.Pending, error) {
	k := e.cfg.Parts
	if k == nil || len(c.Entries) == 0 {
		return nil, nil
	}
	held := k.Begin(partKey(l.ref))
	for i := range c.Entries {
		en := &c.Entries[i]
		if len(en.Body) == 0 {
			continue
		}
		fromCaller := en.Kind == task.Created || en.Kind == task.Message
		body, err := k.Externalize(held, en.Body, fromCaller)
		if err != nil {
			held.Drop()
			return nil, e.partProblem(err)
		}
		if m := c.Next.StatusMessage; len(m) == len(en.Body) && &m[0] == &en.Body[0] {
			c.Next.StatusMessage = body
		}
		en.Body = body
	}
	return held, nil
}

// settleParts keeps or drops the stored parts, depending on the outcome of the change that
// names them. If the outcome is unknown, it leaves them to the sweeper.
func settleParts(held *blobstore.Pending, err error) {
	switch {
	case held == nil:
	case err == nil:
		held.Keep()
	case errors.Is(err, task.ErrConflict), errors.Is(err, task.ErrExists), errors.Is(err, task.ErrKeyUsed):
		held.Drop()
	default:
		held.Defer()
	}
}

// partProblem returns the error for the caller whose part cannot be stored.
func (e *Engine) partProblem(err error) error {
	var at *blobstore.PartError
	if !errors.As(err, &at) {
		return err
	}
	field := partField(at.Index)
	var large *blobstore.TooLargeError
	switch {
	case errors.As(err, &large):
		return apierror.Field(a2a.ErrInvalidParams, field+".raw", "%v", large)
	case errors.Is(err, blobstore.ErrNotFound), errors.Is(err, blobstore.ErrLost):
		return noAddress(field)
	case errors.Is(err, task.ErrUnavailable):
		e.cfg.Logger.Error("part cannot be stored", "error", err)
		why := "its folder cannot be written"
		if errors.Is(err, task.ErrFull) {
			why = "the disk is full"
		}
		return errors.Join(&apierror.Error{
			Err: apierror.ErrUnavailable, Message: field + ": the hub cannot store this part now: " + why, RetryAfter: 5 * time.Second,
		}, err)
	}
	return err
}

// tooLarge returns the reason why a part in an agent's entry is never stored, or the empty
// string.
func (r *run) tooLarge(en *task.Entry) string {
	k := r.engine.cfg.Parts
	if k == nil {
		return ""
	}
	var large *blobstore.TooLargeError
	if err := k.Check(en.Body); !errors.As(err, &large) {
		return ""
	}
	return fmt.Sprintf("a part of agent %q %v", r.agent.Name, large)
}

// filledMessage returns the message of a run with its references replaced by the bytes of the
// parts. A new message may refer to parts of other tasks; a stored one does not.
func (r *run) filledMessage() ([]byte, error) {
	k, e := r.engine.cfg.Parts, r.engine
	if k == nil || !blobstore.Mentions(r.msg.body) {
		return r.msg.body, nil
	}
	if err := r.awaitStored(r.ctx); err != nil {
		return nil, err
	}
	page, err := e.store.Read(r.ctx, r.live.snapshot().Key, r.msg.version-1)
	if err != nil {
		return nil, fmt.Errorf("read message: %w", err)
	}
	if len(page) == 0 {
		return nil, fmt.Errorf("read message: the log ends before v%d", r.msg.version)
	}
	return k.Fill(partKey(r.live.ref), page[0].Body, e.lostPart(r.live.ref)), nil
}

// fillTask replaces references by the bytes of the parts, for an executor.
func (e *Engine) fillTask(k ref, body []byte) []byte {
	if e.cfg.Parts == nil {
		return body
	}
	return e.cfg.Parts.FillTask(partKey(k), body, e.lostPart(k))
}

// filledTask returns a task as executors receive it.
func (e *Engine) filledTask(l *live, f *task.Fold, h *task.Head) []byte {
	return e.fillTask(l.ref, f.AppendTask(nil, h, task.TaskOptions{Artifacts: true}))
}

// endParts notifies the store of parts when a task ends.
func (e *Engine) endParts(h *task.Head) {
	if k := e.cfg.Parts; k != nil {
		if at, over := partsEnd(h); over {
			k.Store.End(blobstore.Key{Owner: h.Owner, Task: h.ID}, at)
		}
	}
}

// partsEnd returns the time when a task ended, in either way.
func partsEnd(h *task.Head) (at time.Time, over bool) {
	switch {
	case h.Visibility == task.Replied:
		return h.UpdatedAt.Time(), true
	case h.State.Terminal():
		return h.StatusAt.Time(), true
	}
	return time.Time{}, false
}

// sweepParts removes parts that have expired, and parts that no entry names.
func (e *Engine) sweepParts(ctx context.Context, now time.Time) {
	if e.cfg.Parts == nil {
		return
	}
	n, err := e.cfg.Parts.Store.Sweep(ctx, partTasks{e}, now)
	if err != nil {
		e.cfg.Logger.Error("sweep parts", "error", err)
	}
	if n > 0 {
		e.cfg.Logger.Debug("parts were removed", "count", n)
	}
}

// partTasks gives the store of parts access to tasks.
type partTasks struct{ e *Engine }

var _ blobstore.Tasks = partTasks{}

// Ended implements blobstore.Tasks.
func (t partTasks) Ended(ctx context.Context, k blobstore.Key) (time.Time, error) {
	h, err := t.e.store.Head(ctx, k.Owner, k.Task)
	if err != nil {
		return time.Time{}, fmt.Errorf("read %s: %w", k.Task, err)
	}
	at, _ := partsEnd(&h)
	return at, nil
}

// Names implements blobstore.Tasks. It reads the entries instead of the folded task, because
// readers that follow the task see each entry.
func (t partTasks) Names(ctx context.Context, k blobstore.Key, d blobstore.Digest) (bool, error) {
	h, err := t.e.store.Head(ctx, k.Owner, k.Task)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", k.Task, err)
	}
	for after := int64(0); after < h.Version; {
		page, err := t.e.store.Read(ctx, h.Key, after)
		if err != nil {
			return false, fmt.Errorf("read %s: %w", k.Task, err)
		}
		for i := range page {
			if t.e.cfg.Parts.Names(k, page[i].Body, d) {
				return true, nil
			}
		}
		if len(page) == 0 {
			break
		}
		after = page[len(page)-1].Version
	}
	return false, nil
}
