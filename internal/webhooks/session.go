package webhooks

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/parley-a2a/parley/internal/task"
)

const (
	// maxSession is the time for which a session continues while other hooks wait for its place.
	maxSession = time.Second
	// storeWait is the pause after an error of the store.
	storeWait = 2 * time.Second
	// warnEvery is the least time between two records of that.
	warnEvery = time.Minute
	// maxReports is the number of dead letters that are logged as warnings in a minute.
	maxReports = 20
	// maxUnsaved is the number of dead letters of a hook that may wait to be saved.
	maxUnsaved = 16
)

// sessionResult is the outcome of a session.
type sessionResult uint8

const (
	done     sessionResult = iota // the log has no further entries
	yielded                       // another hook is next
	failed                        // the version after notified is to be retried
	stuck                         // the store does not answer
	vanished                      // the hook or its task no longer exists
	withheld                      // another process delivers, or may do so
)

// session sends a webhook the notifications that it has not got.
func (d *Dispatcher) session(ctx context.Context, h *hook) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, wait := vanished, time.Duration(0)
	if t, ok := d.begin(h, cancel); ok {
		r, wait = d.follow(ctx, h, t)
	}
	if r == vanished {
		d.forget(h)
	}
	d.end(h, r, wait)
}

// begin returns the cached target of a hook, or nil if it must be read. It reports whether the
// hook is still registered.
func (d *Dispatcher) begin(h *hook, stop context.CancelCauseFunc) (*target, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.stop, h.recheck = stop, false
	return h.target, h.phase != gone
}

// follow sends the log from the position of the hook to its end, or until a notification fails
// or the session must yield.
func (d *Dispatcher) follow(ctx context.Context, h *hook, t *target) (sessionResult, time.Duration) {
	if t == nil {
		var r sessionResult
		if t, r = d.find(ctx, h); t == nil {
			return r, 0
		}
	}
	defer func() { t.snapshot = nil }()
	began := time.Now()
	for {
		from, last, quiet := d.position(h)
		if quiet {
			return done, 0
		}
		entries, err := d.cfg.Store.Read(ctx, h.key, from)
		switch {
		case err != nil:
			return d.unread(err), 0
		case len(entries) == 0 && from < last:
			return stuck, 0 // the log is behind the newest head that was seen
		case len(entries) == 0:
			return done, 0
		}
		for i := range entries {
			r, wait := d.deliver(ctx, h, t, &entries[i])
			if r != done {
				return r, wait
			}
			if d.yields(h, began) {
				return yielded, 0
			}
		}
	}
}

// unread returns the result of a session that cannot read the log.
func (d *Dispatcher) unread(err error) sessionResult {
	if errors.Is(err, task.ErrNotFound) {
		return vanished
	}
	d.storeFailed(err)
	return stuck
}

// position returns the version up to which the hook was notified, the last one, and whether its
// task is hidden.
func (d *Dispatcher) position(h *hook) (from, last int64, hidden bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return h.notified, h.last, h.quiet || h.answered
}

// yields reports whether the session has to stop before the end of the log.
func (d *Dispatcher) yields(h *hook, began time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopping || h.phase == gone || h.queue.breaker == open {
		return true
	}
	return time.Since(began) >= maxSession && (h.queue.first != nil || len(d.ready) > 0)
}

// storeFailed pauses the start of sessions: a failing store is not asked more often, however
// many hooks wait.
func (d *Dispatcher) storeFailed(err error) {
	if errors.Is(err, task.ErrPartly) {
		return // the webhook waits alone
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	d.blocked = now.Add(storeWait)
	if now.Sub(d.warned) > warnEvery {
		d.warned = now
		d.logger.Warn("webhooks wait: the store does not answer", "error", err)
	}
}

// find reads the target of a hook. If it returns nil, the result is the reason.
func (d *Dispatcher) find(ctx context.Context, h *hook) (*target, sessionResult) {
	// No id is empty, so this position is before all hooks of the task.
	after := task.HookRef{Task: h.key}
	for {
		page, err := d.cfg.Store.Unsettled(ctx, after, 8)
		if err != nil {
			d.storeFailed(err)
			return nil, stuck
		}
		for i := range page {
			switch got := &page[i]; {
			case got.Task != h.key || got.ID > h.id:
				return nil, vanished
			case got.ID == h.id:
				return d.keep(h, got, d.originOf(ctx, &got.Head, got.Position)), done
			}
		}
		if len(page) < 8 {
			return nil, vanished
		}
		after = page[len(page)-1].Ref()
	}
}

// keep caches the target of a hook.
func (d *Dispatcher) keep(h *hook, got *task.Hooked, from origin) *target {
	t := &target{
		origin: from,
		url:    got.URL, dialect: got.Dialect, scheme: got.Scheme, secret: got.Secret,
		head: task.Head{ID: got.Head.ID, ContextID: got.Head.ContextID, Owner: got.Head.Owner},
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	h.update(viewOf(&got.Head))
	if h.phase == gone {
		return t
	}
	if old := d.cached[d.cachedNext]; old != nil {
		old.target = nil
	}
	d.cached[d.cachedNext] = h
	d.cachedNext = (d.cachedNext + 1) % maxCached
	h.target = t
	return t
}

// deliver sends one version, unless it is skipped, and advances the hook.
func (d *Dispatcher) deliver(ctx context.Context, h *hook, t *target, e *task.Entry) (sessionResult, time.Duration) {
	t.updateOrigin(e)
	if t.skips(e) {
		return d.advance(h, e.Version), 0
	}
	if reason, old := d.expired(h, e); old {
		return d.deadLetter(h, t, e.Version, reason), 0
	}
	n, err := d.notice(ctx, h, t, e)
	if err != nil {
		return d.unread(err), 0
	}
	if !d.holds(h.key) {
		return withheld, 0 // Yield forgets the hook, or Refresh continues it
	}
	v := d.try(ctx, h, t, n)
	d.updateBreaker(h, &v)
	d.attempted(h, t, e, &v)
	switch v.outcome {
	case delivered:
		return d.advance(h, e.Version), 0
	case retry:
		wait := max(jitter(maxWait(d.countTry(h, v.reason))), v.wait)
		if reason, old := d.expired(h, e); old {
			return d.deadLetter(h, t, e.Version, reason), 0
		}
		d.logger.Debug("webhook will be tried again", "task", t.head.ID, "hook", h.id, "version", e.Version, "reason", v.reason, "wait", wait)
		return failed, wait
	case undeliverable:
		d.countTry(h, v.reason)
		return d.deadLetter(h, t, e.Version, v.reason), 0
	case hookGone:
		d.countTry(h, v.reason)
		return d.deadLetterRest(h, t, v.reason), 0
	}
	return yielded, 0
}

// attempted reports a try.
func (d *Dispatcher) attempted(h *hook, t *target, e *task.Entry, v *tryResult) {
	if d.cfg.Attempted == nil || v.outcome == aborted {
		return
	}
	_, old := d.expired(h, e)
	d.cfg.Attempted(Attempt{
		Owner: t.head.Owner, Task: t.head.ID, Context: t.head.ContextID, Webhook: h.id, Version: e.Version,
		Delivered: v.outcome == delivered, Final: v.outcome != retry || old, Reason: v.reason,
	})
}

// expired reports whether a version was tried and is too old for another try.
func (d *Dispatcher) expired(h *hook, e *task.Entry) (string, bool) {
	if time.Since(e.At.Time()) < d.cfg.MaxAge {
		return "", false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if h.failure == nil || h.failure.tries == 0 {
		return "", false
	}
	return tooOld(h.failure.tries, h.failure.reason), true
}

// updateBreaker updates the breaker of the endpoint with the result of a try.
func (d *Dispatcher) updateBreaker(h *hook, v *tryResult) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := h.queue
	switch {
	case v.healthy:
		l.succeeded()
		d.disarmLocked(l)
		d.readyLocked(l)
	case v.unhealthy && l.failed(time.Since(d.start)):
		d.alarmLocked(l)
		d.logger.Warn("webhook endpoint fails; pausing its notifications",
			"endpoint", l.endpoint, "reason", v.reason, "wait", l.rest, "waiting", l.waiting)
	}
}

// countTry counts a failed try, and returns the number of tries of the version.
func (d *Dispatcher) countTry(h *hook, reason string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h.failure == nil {
		h.failure = new(failureState)
	}
	h.failure.tries++
	h.failure.reason = reason
	return h.failure.tries
}

// advance moves a hook past a version that was delivered or is skipped.
func (d *Dispatcher) advance(h *hook, version int64) sessionResult {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h.phase == gone {
		return yielded
	}
	h.notified = version
	if t := h.failure; t != nil {
		t.tries, t.reason, t.newest = 0, "", task.DeadLetter{}
		if len(t.unsaved) == 0 {
			h.failure = nil
		}
	}
	d.dirtyLocked(h)
	return done
}

// deadLetter moves a hook past a version that becomes a dead letter.
func (d *Dispatcher) deadLetter(h *hook, t *target, version int64, reason string) sessionResult {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h.phase == gone {
		return yielded
	}
	if len(h.failure.unsaved) >= maxUnsaved {
		return stuck
	}
	d.addDeadLetterLocked(h, t, version, reason)
	d.dirtyLocked(h)
	return done
}

// deadLetterRest moves a hook to the end of the log and settles it.
func (d *Dispatcher) deadLetterRest(h *hook, t *target, reason string) sessionResult {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h.phase != gone {
		d.addDeadLetterLocked(h, t, max(h.last, h.notified+1), reason)
		d.settleLocked(h)
	}
	return yielded
}

// addDeadLetterLocked records all versions up to a version as a dead letter. Versions that
// directly follow the previous dead letter extend it.
func (d *Dispatcher) addDeadLetterLocked(h *hook, t *target, version int64, reason string) {
	tr := h.failure
	if tr.newest.First == 0 || tr.newest.Last != h.notified {
		tr.newest = task.DeadLetter{First: h.notified + 1}
		d.reportLocked(h, t, reason)
	}
	tr.newest.Last, tr.newest.Attempts, tr.newest.Reason = version, tr.tries, reason
	tr.newest.At = task.MillisOf(time.Now())
	if n := len(tr.unsaved); n > 0 && tr.unsaved[n-1].First == tr.newest.First {
		tr.unsaved[n-1] = tr.newest
	} else {
		tr.unsaved = append(tr.unsaved, tr.newest)
	}
	tr.tries = 0
	h.notified = version
}

// reportLocked logs a dead letter. Only a few a minute are warnings, over all hooks, because a
// receiver can refuse every other version.
func (d *Dispatcher) reportLocked(h *hook, t *target, reason string) {
	now := time.Now()
	if now.Sub(d.reported.since) > time.Minute {
		d.reported.since, d.reported.n = now, 0
	}
	d.reported.n++
	level := slog.LevelWarn
	if d.reported.n > maxReports {
		level = slog.LevelDebug
	}
	d.logger.Log(context.Background(), level, "notification of a webhook was dropped",
		"task", t.head.ID, "hook", h.id, "version", h.notified+1, "reason", reason)
}

// end frees the place of a session and schedules its hook according to the result.
func (d *Dispatcher) end(h *hook, r sessionResult, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := h.queue
	l.busy--
	d.busy--
	h.stop = nil
	if h.left != nil {
		close(h.left)
		h.left = nil
	}
	d.wake.Send()
	defer d.readyLocked(l)
	if h.phase == gone {
		d.dropLocked(l)
		return
	}
	h.phase = idle
	switch {
	case h.settled, r == withheld:
	case r == failed:
		d.sleepLocked(h, wait)
	case r == stuck:
		d.sleepLocked(h, storeWait)
	case r == yielded:
		h.recheck = true
		d.rescheduleLocked(h)
	default:
		d.rescheduleLocked(h)
	}
}
