package mock

import (
	"context"
	"maps"
	"time"
)

// runLocked lets the script of a task go on.
func (s *Server) runLocked(t *work) {
	if t.running {
		select {
		case t.nudge <- struct{}{}:
		default:
		}
		return
	}
	if s.ctx.Err() != nil {
		return
	}
	t.running = true
	ctx, cancel := context.WithCancel(s.ctx)
	t.stop = cancel
	s.runs.Go(func() {
		defer cancel()
		r := &run{world: s.world, task: t}
		r.script(ctx)
	})
}

// run is a script under way.
type run struct {
	world *world
	task  *work
}

// script does what is left of the script, up to an interruption or its end.
func (r *run) script(ctx context.Context) {
	if a, ok := r.next(); ok && a.do != doReject {
		r.status(working, nil)
	}
	for {
		a, ok := r.next()
		if !ok {
			r.finish()
			return
		}
		if goesOn := r.act(ctx, &a); !goesOn {
			return
		}
	}
}

// next returns the next action without taking it.
func (r *run) next() (action, bool) {
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	if len(r.task.script) == 0 {
		return action{}, false
	}
	return r.task.script[0], true
}

// finish completes a task whose script has ended without saying how.
func (r *run) finish() {
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	r.task.running = false
	r.world.tellStatusLocked(r.task, completed, nil)
}

// status changes the state.
func (r *run) status(s state, parts []object) bool {
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	return r.world.tellStatusLocked(r.task, s, parts)
}

var ends = map[doing]state{
	doAsk: needsInput, doAuthorize: needsConsent, doComplete: completed, doFail: failed, doReject: rejected,
}

// act does one action. It reports whether the script goes on at once.
func (r *run) act(ctx context.Context, a *action) bool {
	switch a.do {
	case doWait:
		if !pause(ctx, a.wait) {
			return r.halt()
		}
	case doSay:
		r.status(working, a.parts)
	case doArtifact:
		if !r.artifact(ctx, a) {
			return r.halt()
		}
	case doFault:
		r.world.mu.Lock()
		if !r.task.state.terminal() {
			r.world.tellLocked(r.task, event{fault: a.fault})
		}
		r.world.mu.Unlock()
	default:
		return r.rest(ctx, a)
	}
	r.take()
	return true
}

// take puts the action that was done behind.
func (r *run) take() {
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	r.task.script = r.task.script[1:]
}

func (r *run) halt() bool {
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	r.task.running = false
	return false
}

// rest ends the task, or lets it wait for its caller, or for a while.
func (r *run) rest(ctx context.Context, a *action) bool {
	r.world.mu.Lock()
	r.task.script = r.task.script[1:]
	r.task.running = a.wait > 0
	r.world.tellStatusLocked(r.task, ends[a.do], a.parts)
	r.world.mu.Unlock()
	if a.wait == 0 {
		return false
	}
	timer := time.NewTimer(a.wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.task.nudge:
	case <-ctx.Done():
		return r.halt()
	}
	return r.status(working, nil)
}

// artifact adds an artifact with its chunks.
func (r *run) artifact(ctx context.Context, a *action) bool {
	r.world.mu.Lock()
	t := r.task
	artifact := maps.Clone(a.artifact)
	if artifact["artifactId"] == nil {
		artifact["artifactId"] = "artifact-" + itoa(len(t.artifacts)+1)
	}
	id, asked := artifact["artifactId"], t.asked
	if len(a.parts) > 0 {
		artifact["parts"] = asked.parts(a.parts, t.id)
		r.world.tellArtifactLocked(t, artifact, false, len(a.chunks) == 0)
	}
	r.world.mu.Unlock()
	for i, text := range a.chunks {
		if i > 0 && !pause(ctx, a.wait) {
			return false
		}
		chunk := object{"artifactId": id}
		first := i == 0 && len(a.parts) == 0
		if first {
			chunk = maps.Clone(artifact)
		}
		chunk["parts"] = []any{object{"text": asked.fill(text, t.id)}}
		r.world.mu.Lock()
		r.world.tellArtifactLocked(t, chunk, !first, i == len(a.chunks)-1)
		r.world.mu.Unlock()
	}
	return true
}

// pause waits; it reports whether the time has passed.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
