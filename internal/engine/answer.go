package engine

import (
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/task"
)

// bare is a bare message of an executor: exactly one of the fields is set.
type bare struct {
	message *a2a.Message
	raw     []byte
}

// bareOf returns the message in an opened event, or false if the event is of another type.
func bareOf(ev a2a.Event) (bare, bool) {
	switch ev := ev.(type) {
	case *a2a.Message:
		return bare{message: ev}, ev != nil
	case *rawEvent:
		return bare{raw: ev.value}, ev.kind == rawMessage
	}
	return bare{}, false
}

// statusMessage returns m encoded as the message of a status.
func (l *live) statusMessage(m bare) ([]byte, error) {
	if m.raw != nil {
		return l.rawMessage(m.raw)
	}
	return l.agentMessage(m.message)
}

// answerMessage returns m encoded as an answer that belongs to no task.
func (l *live) answerMessage(m bare) ([]byte, error) {
	if m.raw == nil {
		c := *m.message
		c.TaskID, c.ContextID = "", l.contextID
		return a2ajson.AppendMessage(nil, &c)
	}
	body, _, err := a2ajson.Message(nil, m.raw, rawOptions)
	if err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	b := rawjson.AppendString([]byte(`{"contextId":`), l.contextID)
	return append(append(b, ','), body[1:]...), nil
}

// message handles a bare message of the executor, which ends its run. If the caller has not
// seen a task, the message is the answer; otherwise the task completes with it. If the executor
// has produced no artifact, the message is stored as one, too, because some clients read the
// answer of a task from its artifacts alone.
func (r *run) message(m bare, first bool) {
	body, err := r.live.statusMessage(m)
	if err != nil {
		r.unreadable(err, m.raw != nil)
		return
	}
	if first && !r.live.wraps && r.answer(m) {
		return
	}
	if !r.producedArtifact() && !r.emitAnswer(body) {
		return
	}
	r.emit(task.Entry{Kind: task.Status, State: task.Completed, At: now(), Body: body})
}

// emitAnswer emits the parts of a message as an artifact with the id of the message. It reports
// whether the engine accepts further events.
func (r *run) emitAnswer(message []byte) bool {
	var id, parts []byte
	for name, v := range rawjson.Fields(message) {
		switch name {
		case "messageId":
			id = v
		case "parts":
			parts = v
		}
	}
	en := task.Entry{Kind: task.Artifact, At: now(), LastChunk: true}
	text, ok := rawjson.String(id)
	if !ok || rawjson.KindOf(parts) != rawjson.Array || len(parts) == len("[]") {
		return true
	}
	en.ArtifactID = a2a.ArtifactID(text)
	en.Body = append(append(append(append([]byte(`{"artifactId":`), id...), `,"parts":`...), parts...), '}')
	return r.emit(en)
}

// producedArtifact reports whether the run has produced an artifact.
func (r *run) producedArtifact() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hasArtifact
}

// answer closes a quiet task with a bare message. It reports whether the task was still quiet.
func (r *run) answer(m bare) bool {
	body, err := r.live.answerMessage(m)
	if err != nil {
		r.failed(err)
		return true
	}
	return r.closeQuiet(func(l *live) { l.answer = body })
}

// refusals are the errors of an executor that are answers to its caller.
var refusals = []error{
	a2a.ErrInvalidParams, a2a.ErrInvalidRequest, a2a.ErrUnsupportedContentType, a2a.ErrUnsupportedOperation,
	a2a.ErrExtensionSupportRequired, a2a.ErrUnauthorized, a2a.ErrUnauthenticated,
}

// refuse closes a quiet task with an error that the executor returns to its caller. It reports
// whether it did so.
func (r *run) refuse(err error) bool {
	for _, sentinel := range refusals {
		if errors.Is(err, sentinel) {
			return r.closeQuiet(func(l *live) { l.refusal = err })
		}
	}
	return false
}

// closeQuiet closes a task that has not been shown to any caller, and passes the outcome to the
// waiting caller. It reports whether the task was still quiet.
func (r *run) closeQuiet(outcome func(*live)) bool {
	closed := false
	err := r.engine.change(r.live, func(c *task.Change) error {
		closed = c.Prev.Visibility == task.Hidden && c.Prev.Run.Epoch == r.epoch
		if !closed {
			return errUnchanged
		}
		c.Next.Visibility = task.Replied
		c.Next.UpdatedAt = now()
		rest(&c.Next)
		return nil
	})
	if err != nil || !closed {
		return false
	}
	r.live.mu.Lock()
	outcome(r.live)
	r.live.wakeLocked()
	r.live.mu.Unlock()
	return true
}
