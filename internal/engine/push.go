package engine

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
)

// MaxPushConfigs is the largest number of push notification configs of a task. Further ones are
// refused until one is deleted.
const MaxPushConfigs = 32

// Pushes reports whether callers can register push notification configs.
func (e *Engine) Pushes() bool { return e.cfg.Push != nil }

func errNoPush() error {
	return apierror.New(a2a.ErrPushNotificationNotSupported, "this hub sends no push notifications")
}

// CreatePush registers a webhook for a task of the caller. The webhook receives the changes after
// the current version of the task, or the last one if the task has ended: the caller may have
// registered it while the task ended. It replaces a webhook with the same id.
func (e *Engine) CreatePush(ctx context.Context, c *op.Caller, r *op.PushConfig) (*op.ShownPush, error) {
	l, err := e.findForPush(ctx, c, &r.Target, lookup{r.TaskID, need{op: policy.PushCreate}})
	if err != nil {
		return nil, err
	}
	defer e.live.release(l)
	hook, err := e.cfg.Push.Prepare(hookRequest(c, r))
	if err != nil {
		return nil, err
	}
	event := AuditEvent{Action: audit.PushSet, Task: r.TaskID, Agent: l.performer(), Config: hook.ID}
	if err := e.audited(c, event, func() error { return e.putHook(l, hook) }); err != nil {
		return nil, err
	}
	return shownPush(r.TaskID, hook), nil
}

// findForPush is like find, and fails if push notifications are not supported.
func (e *Engine) findForPush(ctx context.Context, c *op.Caller, t *op.Target, s lookup) (*live, error) {
	if !e.Pushes() {
		return nil, errNoPush()
	}
	return e.find(ctx, c, t, s)
}

// putHook stores a hook whose position is exactly the version of its task, or the one before if the
// task has ended and the hook replaces none, which may have delivered it. It finishes even if the
// caller disconnects, so that the observer and the store agree.
func (e *Engine) putHook(l *live, hook *task.Hook) error {
	l.write.Lock()
	defer l.write.Unlock()
	if err := e.settle(l); err != nil {
		return err
	}
	h := l.snapshot()
	replaces, err := e.roomForHook(&h, hook.ID)
	if err != nil {
		return err
	}
	hook.Task, hook.CreatedAt = h.Key, now()
	hook.Position, hook.Settled = h.Version, h.State.Terminal()
	if hook.Settled && !replaces {
		hook.Position, hook.Settled = h.Version-1, false
	}
	if err := e.store.PutHook(e.ctx, hook); err != nil {
		return e.hookFailed(l, &uncertainOp{ref: hook.Ref(), hook: hook}, err)
	}
	e.storeOK()
	e.cfg.Observer.Changed(Change{Head: &h, Webhook: hook.Ref(), Hook: hook})
	return nil
}

// roomForHook reports whether a task has a hook with this id. It returns an error if there is none, and
// no room for one. The caller holds the task's write lock.
func (e *Engine) roomForHook(h *task.Head, id string) (replaces bool, err error) {
	have, err := e.store.Hooks(e.ctx, h.Key, "", MaxPushConfigs)
	if err != nil {
		return false, notFound(err)
	}
	replaces = slices.ContainsFunc(have, func(k task.Hook) bool { return k.ID == id })
	if replaces || len(have) < MaxPushConfigs {
		return replaces, nil
	}
	return false, apierror.New(apierror.ErrExhausted, "the task has %d push notification configs, which is the limit; delete one first", MaxPushConfigs)
}

// GetPush returns a push notification config of a task of the caller.
func (e *Engine) GetPush(ctx context.Context, c *op.Caller, r *op.PushRef) (*op.ShownPush, error) {
	l, err := e.findForPush(ctx, c, &r.Target, lookup{r.TaskID, need{op: policy.PushGet}})
	if err != nil {
		return nil, err
	}
	defer e.live.release(l)
	have, err := e.store.Hooks(ctx, l.snapshot().Key, "", MaxPushConfigs)
	if err != nil {
		return nil, notFound(err)
	}
	for i := range have {
		if have[i].ID == r.ID {
			return shownPush(r.TaskID, &have[i]), nil
		}
	}
	return nil, apierror.New(a2a.ErrTaskNotFound, "the task has no push notification config %q", clip(r.ID))
}

// ListPush returns a page of the push notification configs of a task of the caller, ordered by
// id.
func (e *Engine) ListPush(ctx context.Context, c *op.Caller, r *op.PushList) (*op.PushPage, error) {
	l, err := e.findForPush(ctx, c, &r.Target, lookup{r.TaskID, need{op: policy.PushList}})
	if err != nil {
		return nil, err
	}
	defer e.live.release(l)
	h := l.snapshot()
	after, err := decodePushToken(&h, r.PageToken)
	if err != nil {
		return nil, err
	}
	size := r.PageSize
	if size == 0 || size > MaxPushConfigs {
		size = MaxPushConfigs
	}
	have, err := e.store.Hooks(ctx, h.Key, after, size+1)
	if err != nil {
		return nil, notFound(err)
	}
	p := new(op.PushPage)
	if len(have) > size {
		have = have[:size]
		p.NextPageToken = encodePushToken(&h, have[size-1].ID)
	}
	for i := range have {
		p.Configs = append(p.Configs, *shownPush(r.TaskID, &have[i]))
	}
	return p, nil
}

// DeletePush deletes a push notification config of a task of the caller. No further
// notification is sent to it, except those in flight. Deleting it again succeeds.
func (e *Engine) DeletePush(ctx context.Context, c *op.Caller, r *op.PushRef) error {
	l, err := e.findForPush(ctx, c, &r.Target, lookup{r.TaskID, need{op: policy.PushDelete}})
	if err != nil {
		return err
	}
	defer e.live.release(l)
	event := AuditEvent{Action: audit.PushDelete, Task: r.TaskID, Agent: l.performer(), Config: r.ID}
	return e.audited(c, event, func() error { return e.dropHook(l, r.ID) })
}

// dropHook deletes a hook.
func (e *Engine) dropHook(l *live, id string) error {
	// The lock ensures that the observer receives changes in the order of the store.
	l.write.Lock()
	defer l.write.Unlock()
	if err := e.settle(l); err != nil {
		return err
	}
	name := task.HookRef{Task: l.snapshot().Key, ID: id}
	if err := e.store.DropHook(e.ctx, name); err != nil {
		return e.hookFailed(l, &uncertainOp{ref: name}, err)
	}
	e.storeOK()
	e.cfg.Observer.Changed(Change{Webhook: name})
	return nil
}

// hookFailed notes that it is unknown whether a hook was stored or deleted. It returns the
// error for the caller of the engine. Its own caller holds l.write.
func (e *Engine) hookFailed(l *live, d *uncertainOp, err error) error {
	if !errors.Is(err, task.ErrUnavailable) {
		return notFound(err)
	}
	l.uncertain = d
	err = e.storeFailed(err)
	e.scheduleRepair(l, nil)
	return err
}

func shownPush(id a2a.TaskID, h *task.Hook) *op.ShownPush {
	return &op.ShownPush{TaskID: id, ID: h.ID, URL: h.URL, Scheme: h.Scheme}
}

// inlinePush is the field of a message that holds its push notification config.
const inlinePush = "configuration.taskPushNotificationConfig"

// inline prepares the push notification config of a message to the agent. It returns nil if the
// message has none.
func (e *Engine) inline(c *op.Caller, r *op.Send, name task.Agent) (hook *task.Hook, err error) {
	if r.Push == nil {
		return nil, nil
	}
	if t := r.Push.Tenant; t != "" && t != string(name) {
		return nil, apierror.Field(a2a.ErrInvalidParams, inlinePush+".tenant", "%q is not the agent of the message", clip(t))
	}
	hook, err = e.cfg.Push.Prepare(hookRequest(c, r.Push))
	var f *apierror.Error
	if errors.As(err, &f) && len(f.Violations) == 1 {
		return nil, apierror.Field(f.Err, inlinePush+"."+f.Violations[0].Field, "%s", f.Violations[0].Problem)
	}
	return hook, err
}

// attach adds a hook to the change that makes its message durable: the hook receives the
// changes after the message. The caller holds the task's write lock.
func (e *Engine) attach(ch *task.Change, hook *task.Hook) error {
	if hook == nil {
		return nil
	}
	if ch.Prev.Key != 0 && ch.Prev.State.Open() {
		if _, err := e.roomForHook(&ch.Prev, hook.ID); err != nil {
			return err
		}
	}
	hook.Position, hook.CreatedAt = ch.Prev.Version+1, now()
	ch.Hook = hook
	return nil
}

// publish notifies readers and the observer of a durable change. The caller holds l.write.
func (e *Engine) publish(l *live, c *task.Change) {
	if e.callerTasks != nil {
		// A caller that sees the end of its task may start the next one at once.
		e.callerTasks.note(l.ref, e.atWork(&c.Next))
	}
	if e.cfg.Interest.Ends {
		e.notifyEnded(l, c)
	}
	l.publish(c)
	e.endParts(&c.Next)
	change := Change{Head: &c.Next, Moved: true, Requested: c.Sidecars[task.SidecarRecordRequest] != nil}
	if c.Hook != nil {
		c.Hook.Task = c.Next.Key
		change.Webhook, change.Hook = c.Hook.Ref(), c.Hook
	}
	e.cfg.Observer.Changed(change)
}

// encodePushToken returns a page token: the last id of a page, bound to the task by a checksum,
// so that a token of another list is refused.
func encodePushToken(h *task.Head, id string) string {
	b := binary.BigEndian.AppendUint64(nil, pushSum(h, id))
	return base64.RawURLEncoding.EncodeToString(append(b, id...))
}

func decodePushToken(h *task.Head, token string) (id string, err error) {
	if token == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) <= 8 || len(token) != base64.RawURLEncoding.EncodedLen(len(b)) || binary.BigEndian.Uint64(b) != pushSum(h, string(b[8:])) {
		return "", apierror.Field(a2a.ErrInvalidParams, "pageToken", "is not a page token of this list")
	}
	return string(b[8:]), nil
}

func pushSum(h *task.Head, id string) uint64 {
	sum := fnv.New64a()
	for _, s := range []string{"push", string(h.Owner), string(h.ID), id} {
		sum.Write([]byte(s))
		sum.Write([]byte{0})
	}
	return sum.Sum64()
}
