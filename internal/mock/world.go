package mock

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/op"
)

const (
	// maxTasks is how many tasks are remembered. The oldest goes first.
	maxTasks = 1000
	// maxContexts is how many contexts have their messages counted.
	maxContexts = 1000
	// maxMessages is how many messages a task takes.
	maxMessages = 100
)

// state is the state of a task as v1.0 writes it.
type state string

const (
	submitted    state = "TASK_STATE_SUBMITTED"
	working      state = "TASK_STATE_WORKING"
	completed    state = "TASK_STATE_COMPLETED"
	failed       state = "TASK_STATE_FAILED"
	canceled     state = "TASK_STATE_CANCELED"
	rejected     state = "TASK_STATE_REJECTED"
	needsInput   state = "TASK_STATE_INPUT_REQUIRED"
	needsConsent state = "TASK_STATE_AUTH_REQUIRED"
)

func (s state) terminal() bool {
	return s == completed || s == failed || s == canceled || s == rejected
}
func (s state) interrupted() bool { return s == needsInput || s == needsConsent }

// world is everything that the agents remember. One lock is enough for a mock.
type world struct {
	mu       sync.Mutex // guards all fields, those of tasks, and how often rules apply
	tasks    map[string]*work
	order    []string // ids of tasks, oldest first
	turns    map[contextKey]int
	contexts []contextKey
	numbers  map[string]int // of what has been made, by its kind
	now      func() time.Time
}

type contextKey struct{ agent, context string }

// work is a task. Its fields are guarded by the lock of its world.
type work struct {
	id, context string
	agent       *agent
	shape       dialect.Shape // of its first message
	asked       *asked
	state       state
	said        object // the message of its status
	at          time.Time
	artifacts   []object
	history     []any
	messages    int
	events      []event
	fired       map[int]bool  // faults that have struck
	changed     chan struct{} // closed at the next event
	script      []action      // what is left of it
	running     bool
	nudge       chan struct{} // a message has come while it runs
	stop        context.CancelFunc
}

// event is what followers of a task are told: a frame, or a fault that strikes the
// first one who comes to it.
type event struct {
	frame object
	state state // after a frame with a status
	fault Fault
}

func newWorld() *world {
	return &world{tasks: map[string]*work{}, turns: map[contextKey]int{}, numbers: map[string]int{}, now: time.Now}
}

// nameLocked returns the next id of a kind.
func (w *world) nameLocked(kind string) string {
	w.numbers[kind]++
	return fmt.Sprintf("%s-%d", kind, w.numbers[kind])
}

// turnLocked counts a message in a context and returns its number.
func (w *world) turnLocked(k contextKey) int {
	if _, ok := w.turns[k]; !ok {
		if w.contexts = append(w.contexts, k); len(w.contexts) > maxContexts {
			delete(w.turns, w.contexts[0])
			w.contexts = slices.Delete(w.contexts, 0, 1)
		}
	}
	w.turns[k]++
	return w.turns[k]
}

// find returns the task of an agent with the given id.
func (w *world) find(a *agent, id a2a.TaskID) (*work, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.findLocked(a, id)
}

func (w *world) findLocked(a *agent, id a2a.TaskID) (*work, error) {
	t := w.tasks[string(id)]
	if t == nil || t.agent != a {
		return nil, apierror.New(a2a.ErrTaskNotFound, "task not found").With("taskId", string(id))
	}
	return t, nil
}

// continuedLocked returns the task that a message belongs to, or nil if it begins one.
func (w *world) continuedLocked(a *agent, m *op.Message) (*work, error) {
	if m.TaskID == "" {
		return nil, nil
	}
	t, err := w.findLocked(a, m.TaskID)
	switch {
	case err != nil:
		return nil, err
	case m.ContextID != "" && m.ContextID != t.context:
		return nil, apierror.Field(a2a.ErrInvalidParams, "message.contextId", "is not that of the task")
	case !t.state.interrupted():
		return nil, apierror.New(a2a.ErrUnsupportedOperation, "the task is %s and takes no message", t.state)
	case t.messages >= maxMessages:
		return nil, apierror.New(a2a.ErrUnsupportedOperation, "the task has had %d messages", t.messages)
	}
	return t, nil
}

// beginLocked makes a task. The oldest ones are forgotten.
func (w *world) beginLocked(a *agent, contextID string) *work {
	t := &work{
		id: w.nameLocked("mock-task"), context: contextID, agent: a, state: submitted, at: w.now(), changed: make(chan struct{}),
		fired: map[int]bool{}, nudge: make(chan struct{}, 1), stop: func() {},
	}
	w.tasks[t.id] = t
	if w.order = append(w.order, t.id); len(w.order) > maxTasks {
		old := w.tasks[w.order[0]]
		delete(w.tasks, old.id)
		w.order = slices.Delete(w.order, 0, 1)
		if !old.state.terminal() {
			w.tellStatusLocked(old, canceled, nil)
		}
		old.stop()
	}
	return t
}

// hearLocked adds a message to the history of a task. What the task said last becomes
// history, too.
func (w *world) hearLocked(t *work, m object, a *asked) object {
	m = maps.Clone(m)
	m["taskId"], m["contextId"] = t.id, t.context
	if t.said != nil {
		t.history = append(t.history, t.said)
		t.said = nil
	}
	t.history = append(t.history, m)
	t.messages++
	t.asked = a
	return m
}

// tellLocked adds an event and wakes those who follow.
func (w *world) tellLocked(t *work, e event) {
	t.events = append(t.events, e)
	close(t.changed)
	t.changed = make(chan struct{})
}

// tellStatusLocked changes the state of a task that has not ended; it reports whether it did.
func (w *world) tellStatusLocked(t *work, s state, parts []object) bool {
	if t.state.terminal() {
		return false
	}
	if t.said != nil {
		t.history = append(t.history, t.said)
	}
	t.state, t.said, t.at = s, nil, w.now()
	if parts != nil {
		t.said = w.messageLocked(t, parts)
	}
	w.tellLocked(t, event{state: s, frame: object{"statusUpdate": object{
		"taskId": t.id, "contextId": t.context, "status": t.status(),
	}}})
	return true
}

// messageLocked makes a message of the agent.
func (w *world) messageLocked(t *work, parts []object) object {
	return object{
		"messageId": w.nameLocked("mock-message"), "role": "ROLE_AGENT", "taskId": t.id, "contextId": t.context,
		"parts": t.asked.parts(parts, t.id),
	}
}

// tellArtifactLocked adds an artifact, or parts to one that is there.
func (w *world) tellArtifactLocked(t *work, artifact object, extend, last bool) {
	if t.state.terminal() {
		return
	}
	i := slices.IndexFunc(t.artifacts, func(a object) bool { return a["artifactId"] == artifact["artifactId"] })
	switch {
	case i < 0:
		t.artifacts = append(t.artifacts, artifact)
	case extend:
		whole := maps.Clone(t.artifacts[i])
		whole["parts"] = slices.Concat(whole["parts"].([]any), artifact["parts"].([]any))
		t.artifacts[i] = whole
	default:
		t.artifacts[i] = artifact
	}
	update := object{"taskId": t.id, "contextId": t.context, "artifact": artifact}
	if extend {
		update["append"] = true
	}
	if last {
		update["lastChunk"] = true
	}
	w.tellLocked(t, event{frame: object{"artifactUpdate": update}})
}

func (t *work) status() object {
	s := object{"state": string(t.state), "timestamp": t.at.UTC().Format("2006-01-02T15:04:05.000Z")}
	if t.said != nil {
		s["message"] = t.said
	}
	return s
}

// view is how much of a task is shown.
type view struct {
	history   *int
	artifacts bool
}

// taskLocked returns the task as v1.0 JSON. Messages and artifacts are shared: nobody
// changes them.
func (t *work) taskLocked(v view) object {
	o := object{"id": t.id, "contextId": t.context, "status": t.status()}
	if v.artifacts && len(t.artifacts) > 0 {
		list := make([]any, len(t.artifacts))
		for i, a := range t.artifacts {
			list[i] = a
		}
		o["artifacts"] = list
	}
	h := t.history
	if v.history != nil && *v.history < len(h) {
		h = h[len(h)-*v.history:]
	}
	if len(h) > 0 {
		o["history"] = slices.Clone(h)
	}
	return o
}

// parts returns parts with what was asked put into their texts.
func (a *asked) parts(in []object, task string) []any {
	out := make([]any, len(in))
	for i, p := range in {
		text, ok := p["text"].(string)
		if !ok {
			out[i] = p
			continue
		}
		p = maps.Clone(p)
		p["text"] = a.fill(text, task)
		out[i] = p
	}
	return out
}
