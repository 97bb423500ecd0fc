package push

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/parley-a2a/parley/task"
)

const (
	// turn is the time for which a session continues while other hooks wait for its place.
	turn = time.Second
	// storeWait is the pause after an error of the store.
	storeWait = 2 * time.Second
	// warnEvery is the least time between two records of that.
	warnEvery = time.Minute
	// maxReports is the number of dead letters that are logged as warnings in a minute.
	maxReports = 20
	// maxLost is the number of dead letters of a hook that may wait to be saved.
	maxLost = 16
)

// result is the outcome of a session.
type result uint8

const (
	done     result = iota // the log has no further entries
	yielded                // another hook is next
	failed                 // the version after told is to be retried
	stuck                  // the store does not answer
	vanished               // the hook or its task no longer exists
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
	h.stop, h.look = stop, false
	return h.target, h.phase != gone
}

// follow sends the log from the position of the hook to its end, or until a notification fails
// or the session must yield.
func (d *Dispatcher) follow(ctx context.Context, h *hook, t *target) (result, time.Duration) {
	if t == nil {
		var r result
		if t, r = d.find(ctx, h); t == nil {
			return r, 0
		}
	}
	defer func() { t.story = nil }()
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
			r, wait := d.tell(ctx, h, t, &entries[i])
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
func (d *Dispatcher) unread(err error) result {
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
	return h.told, h.last, h.quiet || h.answered
}

// yields reports whether the session has to stop before the end of the log.
func (d *Dispatcher) yields(h *hook, began time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopping || h.phase == gone || h.lane.breaker == open {
		return true
	}
	return time.Since(began) >= turn && (h.lane.first != nil || len(d.ready) > 0)
}

// storeFailed pauses the start of sessions: a failing store is not asked more often, however
// many hooks wait.
func (d *Dispatcher) storeFailed(err error) {
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
func (d *Dispatcher) find(ctx context.Context, h *hook) (*target, result) {
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
				return d.keep(h, got, d.originOf(ctx, &got.Head, got.Told)), done
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
	h.see(sightOf(&got.Head))
	if h.phase == gone {
		return t
	}
	if old := d.warm[d.warmNext]; old != nil {
		old.target = nil
	}
	d.warm[d.warmNext] = h
	d.warmNext = (d.warmNext + 1) % maxWarm
	h.target = t
	return t
}

// tell sends one version, unless it is skipped, and advances the hook.
func (d *Dispatcher) tell(ctx context.Context, h *hook, t *target, e *task.Entry) (result, time.Duration) {
	t.passes(e)
	if t.skips(e) {
		return d.advance(h, e.Version), 0
	}
	if reason, old := d.expired(h, e); old {
		return d.giveUp(h, t, e.Version, reason), 0
	}
	n, err := d.notice(ctx, h, t, e)
	if err != nil {
		return d.unread(err), 0
	}
	v := d.try(ctx, h, t, n)
	d.note(h, &v)
	switch v.fate {
	case told:
		return d.advance(h, e.Version), 0
	case again:
		wait := max(jitter(patience(d.tried(h, v.reason))), v.wait)
		if reason, old := d.expired(h, e); old {
			return d.giveUp(h, t, e.Version, reason), 0
		}
		d.logger.Debug("webhook will be tried again", "task", t.head.ID, "hook", h.id, "version", e.Version, "reason", v.reason, "wait", wait)
		return failed, wait
	case lost:
		d.tried(h, v.reason)
		return d.giveUp(h, t, e.Version, v.reason), 0
	case dropped:
		d.tried(h, v.reason)
		return d.giveUpAll(h, t, v.reason), 0
	}
	return yielded, 0
}

// expired reports whether a version was tried and is too old for another try.
func (d *Dispatcher) expired(h *hook, e *task.Entry) (string, bool) {
	if time.Since(e.At.Time()) < d.cfg.MaxAge {
		return "", false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if h.trouble == nil || h.trouble.tries == 0 {
		return "", false
	}
	return tooOld(h.trouble.tries, h.trouble.reason), true
}

// note updates the breaker of the endpoint with the verdict of a try.
func (d *Dispatcher) note(h *hook, v *verdict) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := h.lane
	switch {
	case v.well:
		l.succeeded()
		d.disarmLocked(l)
		d.readyLocked(l)
	case v.sick && l.failed(time.Now()):
		d.alarmLocked(l)
		d.logger.Warn("endpoint of webhooks does not answer as it should; it is left alone for a while",
			"endpoint", l.endpoint, "reason", v.reason, "wait", l.rest, "waiting", l.waiting)
	}
}

// tried counts a failed try, and returns the number of tries of the version.
func (d *Dispatcher) tried(h *hook, reason string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h.trouble == nil {
		h.trouble = new(trouble)
	}
	h.trouble.tries++
	h.trouble.reason = reason
	return h.trouble.tries
}

// advance moves a hook past a version that was delivered or is skipped.
func (d *Dispatcher) advance(h *hook, version int64) result {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h.phase == gone {
		return yielded
	}
	h.told = version
	if t := h.trouble; t != nil {
		t.tries, t.reason, t.run = 0, "", task.DeadLetter{}
		if len(t.lost) == 0 {
			h.trouble = nil
		}
	}
	d.dirtyLocked(h)
	return done
}

// giveUp moves a hook past a version that becomes a dead letter.
func (d *Dispatcher) giveUp(h *hook, t *target, version int64, reason string) result {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h.phase == gone {
		return yielded
	}
	if len(h.trouble.lost) >= maxLost {
		return stuck
	}
	d.loseLocked(h, t, version, reason)
	d.dirtyLocked(h)
	return done
}

// giveUpAll moves a hook to the end of the log and settles it.
func (d *Dispatcher) giveUpAll(h *hook, t *target, reason string) result {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h.phase != gone {
		d.loseLocked(h, t, max(h.last, h.told+1), reason)
		d.settleLocked(h)
	}
	return yielded
}

// loseLocked records all versions up to a version as a dead letter. Versions that directly
// follow the previous dead letter extend it.
func (d *Dispatcher) loseLocked(h *hook, t *target, version int64, reason string) {
	tr := h.trouble
	if tr.run.First == 0 || tr.run.Last != h.told {
		tr.run = task.DeadLetter{First: h.told + 1}
		d.reportLocked(h, t, reason)
	}
	tr.run.Last, tr.run.Attempts, tr.run.Reason = version, tr.tries, reason
	tr.run.At = task.MillisOf(time.Now())
	if n := len(tr.lost); n > 0 && tr.lost[n-1].First == tr.run.First {
		tr.lost[n-1] = tr.run
	} else {
		tr.lost = append(tr.lost, tr.run)
	}
	tr.tries = 0
	h.told = version
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
	d.logger.Log(context.Background(), level, "webhook was not told something",
		"task", t.head.ID, "hook", h.id, "version", h.told+1, "reason", reason)
}

// end frees the place of a session and schedules its hook according to the result.
func (d *Dispatcher) end(h *hook, r result, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := h.lane
	l.busy--
	d.busy--
	h.stop = nil
	d.poke()
	defer d.readyLocked(l)
	if h.phase == gone {
		d.dropLocked(l)
		return
	}
	h.phase = idle
	switch {
	case h.settled:
	case r == failed:
		d.sleepLocked(h, wait)
	case r == stuck:
		d.sleepLocked(h, storeWait)
	case r == yielded:
		h.look = true
		d.stirLocked(h)
	default:
		d.stirLocked(h)
	}
}
