package mock

import (
	"context"
	"maps"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
)

// runLocked continues the script of a task.
func (s *Server) runLocked(t *task) {
	if t.running {
		t.nudge.Send()
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
		r := &run{state: s.state, task: t}
		r.script(ctx)
	})
}

// run is a running script.
type run struct {
	state *state
	task  *task
}

// script executes the remaining steps, up to an interruption or the end.
func (r *run) script(ctx context.Context) {
	if a, ok := r.next(); ok && a.kind != stepReject {
		r.status(working, nil)
	}
	for {
		a, ok := r.next()
		if !ok {
			r.finish()
			return
		}
		if more := r.act(ctx, &a); !more {
			return
		}
	}
}

// next returns the next action without consuming it.
func (r *run) next() (step, bool) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if len(r.task.script) == 0 {
		return step{}, false
	}
	return r.task.script[0], true
}

// finish completes a task whose script has no final step.
func (r *run) finish() {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.task.running = false
	r.state.setStatusLocked(r.task, completed, nil)
}

// status changes the state.
func (r *run) status(s taskState, parts []object) bool {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return r.state.setStatusLocked(r.task, s, parts)
}

var ends = map[stepKind]taskState{
	stepAsk: inputRequired, stepAuthorize: authRequired, stepComplete: completed, stepFail: failed, stepReject: rejected,
}

// act executes one step. It reports whether the script continues immediately.
func (r *run) act(ctx context.Context, a *step) bool {
	switch a.kind {
	case stepWait:
		if !pause(ctx, a.wait) {
			return r.halt()
		}
	case stepSay:
		r.status(working, a.parts)
	case stepArtifact:
		if !r.artifact(ctx, a) {
			return r.halt()
		}
	case stepFault:
		r.state.mu.Lock()
		if !r.task.state.terminal() {
			r.state.publishLocked(r.task, event{fault: a.fault})
		}
		r.state.mu.Unlock()
	default:
		return r.rest(ctx, a)
	}
	r.take()
	return true
}

// take removes the completed action.
func (r *run) take() {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.task.script = r.task.script[1:]
}

func (r *run) halt() bool {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.task.running = false
	return false
}

// rest ends the task, or makes it wait for a message or for a time.
func (r *run) rest(ctx context.Context, a *step) bool {
	r.state.mu.Lock()
	r.task.script = r.task.script[1:]
	r.task.running = a.wait > 0
	r.state.setStatusLocked(r.task, ends[a.kind], a.parts)
	r.state.mu.Unlock()
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
func (r *run) artifact(ctx context.Context, a *step) bool {
	r.state.mu.Lock()
	t := r.task
	artifact := maps.Clone(a.artifact)
	if artifact["artifactId"] == nil {
		artifact["artifactId"] = "artifact-" + strconv.Itoa(len(t.artifacts)+1)
	}
	id, input := artifact["artifactId"], t.input
	if len(a.parts) > 0 {
		artifact["parts"] = input.parts(a.parts, t.id)
		r.state.putArtifactLocked(t, artifact, false, len(a.chunks) == 0)
	}
	r.state.mu.Unlock()
	for i, text := range a.chunks {
		if i > 0 && !pause(ctx, a.wait) {
			return false
		}
		chunk := object{"artifactId": id}
		first := i == 0 && len(a.parts) == 0
		if first {
			chunk = maps.Clone(artifact)
		}
		chunk["parts"] = []any{object{"text": input.fill(text, t.id)}}
		r.state.mu.Lock()
		r.state.putArtifactLocked(t, chunk, !first, i == len(a.chunks)-1)
		r.state.mu.Unlock()
	}
	return true
}

// pause sleeps for d. It returns false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool { return backoff.Sleep(ctx, d) == nil }
