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
	"github.com/parley-a2a/parley/internal/wake"
)

const (
	// maxTasks is the largest number of tasks to keep. The oldest is dropped first.
	maxTasks = 1000
	// maxContexts is the largest number of contexts whose messages are counted.
	maxContexts = 1000
	// maxMessages is the largest number of messages of a task.
	maxMessages = 100
)

// taskState is the v1.0 name of a task's state.
type taskState string

const (
	submitted     taskState = "TASK_STATE_SUBMITTED"
	working       taskState = "TASK_STATE_WORKING"
	completed     taskState = "TASK_STATE_COMPLETED"
	failed        taskState = "TASK_STATE_FAILED"
	canceled      taskState = "TASK_STATE_CANCELED"
	rejected      taskState = "TASK_STATE_REJECTED"
	inputRequired taskState = "TASK_STATE_INPUT_REQUIRED"
	authRequired  taskState = "TASK_STATE_AUTH_REQUIRED"
)

func (s taskState) terminal() bool {
	return s == completed || s == failed || s == canceled || s == rejected
}
func (s taskState) interrupted() bool { return s == inputRequired || s == authRequired }

// state is the memory of all agents. One lock suffices for a mock.
type state struct {
	mu       sync.Mutex // guards all fields, those of tasks, and how often rules apply
	tasks    map[string]*task
	order    []string // ids of tasks, oldest first
	turns    map[contextKey]int
	contexts []contextKey
	numbers  map[string]int // the last number of each kind of id
	now      func() time.Time
}

type contextKey struct{ agent, context string }

// task is a task of an agent. Its fields are guarded by the lock of its state.
type task struct {
	id, context   string
	agent         *agent
	shape         dialect.Shape // of its first message
	input         *matchInput
	state         taskState
	statusMessage object // the message of its status
	at            time.Time
	artifacts     []object
	history       []any
	messages      int
	events        []event
	faultsTaken   map[int]bool   // by the number of the event
	changed       wake.Broadcast // at each event
	script        []step         // the remaining steps
	running       bool
	nudge         wake.Signal // a message has arrived while it runs
	stop          context.CancelFunc
}

// event is one event for the followers of a task: a frame, or a fault that is injected for the
// first follower that reaches it.
type event struct {
	frame object
	state taskState // after a frame with a status
	fault Fault
}

func newState() *state {
	return &state{tasks: map[string]*task{}, turns: map[contextKey]int{}, numbers: map[string]int{}, now: time.Now}
}

// nameLocked returns the next id of a kind.
func (st *state) nameLocked(kind string) string {
	st.numbers[kind]++
	return fmt.Sprintf("%s-%d", kind, st.numbers[kind])
}

// turnLocked counts a message in a context and returns its number.
func (st *state) turnLocked(k contextKey) int {
	if _, ok := st.turns[k]; !ok {
		if st.contexts = append(st.contexts, k); len(st.contexts) > maxContexts {
			delete(st.turns, st.contexts[0])
			st.contexts = slices.Delete(st.contexts, 0, 1)
		}
	}
	st.turns[k]++
	return st.turns[k]
}

// find returns the task of an agent with the given id.
func (st *state) find(a *agent, id a2a.TaskID) (*task, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.findLocked(a, id)
}

func (st *state) findLocked(a *agent, id a2a.TaskID) (*task, error) {
	t := st.tasks[string(id)]
	if t == nil || t.agent != a {
		return nil, apierror.New(a2a.ErrTaskNotFound, "task not found").With("taskId", string(id))
	}
	return t, nil
}

// continuedLocked returns the task that a message continues, or nil if it begins one.
func (st *state) continuedLocked(a *agent, m *op.Message) (*task, error) {
	if m.TaskID == "" {
		return nil, nil
	}
	t, err := st.findLocked(a, m.TaskID)
	switch {
	case err != nil:
		return nil, err
	case m.ContextID != "" && m.ContextID != t.context:
		return nil, apierror.Field(a2a.ErrInvalidParams, "message.contextId", "is not the task's")
	case !t.state.interrupted():
		return nil, apierror.New(a2a.ErrUnsupportedOperation, "the task is %s and accepts no messages", t.state)
	case t.messages >= maxMessages:
		return nil, apierror.New(a2a.ErrUnsupportedOperation, "the task has had %d messages", t.messages)
	}
	return t, nil
}

// beginLocked creates a task and drops the oldest ones.
func (st *state) beginLocked(a *agent, contextID string) *task {
	t := &task{
		id: st.nameLocked("mock-task"), context: contextID, agent: a, state: submitted, at: st.now(),
		faultsTaken: map[int]bool{}, nudge: wake.New(), stop: func() {},
	}
	st.tasks[t.id] = t
	if st.order = append(st.order, t.id); len(st.order) > maxTasks {
		old := st.tasks[st.order[0]]
		delete(st.tasks, old.id)
		st.order = slices.Delete(st.order, 0, 1)
		if !old.state.terminal() {
			st.setStatusLocked(old, canceled, nil)
		}
		old.stop()
	}
	return t
}

// receiveLocked adds a message to the history of a task. It also moves the message of the
// status to the history.
func (st *state) receiveLocked(t *task, m object, a *matchInput) object {
	m = maps.Clone(m)
	m["taskId"], m["contextId"] = t.id, t.context
	if t.statusMessage != nil {
		t.history = append(t.history, t.statusMessage)
		t.statusMessage = nil
	}
	t.history = append(t.history, m)
	t.messages++
	t.input = a
	return m
}

// publishLocked adds an event and wakes the followers.
func (st *state) publishLocked(t *task, e event) {
	t.events = append(t.events, e)
	t.changed.Send()
}

// setStatusLocked changes the state of a task that has not ended; it reports whether it did.
func (st *state) setStatusLocked(t *task, s taskState, parts []object) bool {
	if t.state.terminal() {
		return false
	}
	if t.statusMessage != nil {
		t.history = append(t.history, t.statusMessage)
	}
	t.state, t.statusMessage, t.at = s, nil, st.now()
	if parts != nil {
		t.statusMessage = object{
			"messageId": st.nameLocked("mock-message"), "role": "ROLE_AGENT", "taskId": t.id, "contextId": t.context,
			"parts": t.input.parts(parts, t.id),
		}
	}
	st.publishLocked(t, event{state: s, frame: object{"statusUpdate": object{
		"taskId": t.id, "contextId": t.context, "status": t.status(),
	}}})
	return true
}

// putArtifactLocked adds an artifact, or parts to an existing one.
func (st *state) putArtifactLocked(t *task, artifact object, extend, last bool) {
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
	st.publishLocked(t, event{frame: object{"artifactUpdate": update}})
}

func (t *task) status() object {
	s := object{"state": string(t.state), "timestamp": t.at.UTC().Format("2006-01-02T15:04:05.000Z")}
	if t.statusMessage != nil {
		s["message"] = t.statusMessage
	}
	return s
}

// view selects the parts of a task to return.
type view struct {
	history   *int
	artifacts bool
}

// taskLocked returns the task as v1.0 JSON. Messages and artifacts are shared and
// must not be changed.
func (t *task) taskLocked(v view) object {
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

// parts returns parts with the placeholders in their texts filled from the message.
func (a *matchInput) parts(in []object, task string) []any {
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
