package adminapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/operator"
	"github.com/parley-a2a/parley/task"
)

// Operation is said with what an operator does to a task.
type Operation struct {
	// Owner is whose task is meant; needed only where several have one with the id.
	Owner task.Owner `json:"owner,omitempty"`
	// Reason is what the caller is told of a task that is failed.
	Reason string `json:"reason,omitempty"`
	// Agent is who gets a task that is reassigned.
	Agent task.Agent `json:"agent,omitempty"`
}

// Operated is a task to which an operator has done something.
type Operated struct {
	TaskID a2a.TaskID `json:"taskId"`
	Owner  task.Owner `json:"owner"`
	// Agent is the agent that was asked, Assigned who executes the task in its place.
	Agent    task.Agent `json:"agent"`
	Assigned task.Agent `json:"assigned,omitempty"`
	State    string     `json:"state"`
	// Epoch counts the executions of the task.
	Epoch     int64     `json:"epoch"`
	ChangedAt time.Time `json:"changedAt"`
}

// Pause is the answer to pausing an agent or giving it messages again.
type Pause struct {
	Agent  task.Agent `json:"agent"`
	Paused bool       `json:"paused"`
}

// What this API has beside the errors of the protocol.
var (
	errNoTask = dialect.Report{
		Row:     dialect.Row{HTTP: http.StatusNotFound, GRPC: dialect.NotFound, Reason: "TASK_NOT_FOUND"},
		Message: "no such task",
	}
	rowNotPossible = dialect.Row{HTTP: http.StatusConflict, GRPC: dialect.FailedPrecondition, Reason: "NOT_POSSIBLE"}
)

// operation does something to a task.
type operation func(ctx context.Context, t operator.Target, o *Operation) (task.Head, error)

// controlRoute returns what a path below the root serves about operations.
func (h *Handler) controlRoute(below string) endpoint {
	if h.Control == nil {
		return endpoint{}
	}
	if rest, ok := strings.CutPrefix(below, "/tasks/"); ok {
		id, verb := cutLast(rest)
		do := map[string]operation{"redrive": h.redrive, "fail": h.failTask, "reassign": h.reassign}[verb]
		if do == nil || id == "" {
			return endpoint{}
		}
		return endpoint{post: func(w http.ResponseWriter, r *http.Request) { h.operate(w, r, a2a.TaskID(id), do) }}
	}
	if rest, ok := strings.CutPrefix(below, "/agents/"); ok {
		name, verb, _ := strings.Cut(rest, "/")
		if name != "" && (verb == "pause" || verb == "resume") {
			return endpoint{post: func(w http.ResponseWriter, r *http.Request) { h.pause(w, r, name, verb == "pause") }}
		}
	}
	return endpoint{}
}

// cutLast cuts a path at its last slash: ids of tasks may have some.
func cutLast(path string) (id, verb string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

func (h *Handler) redrive(ctx context.Context, t operator.Target, _ *Operation) (task.Head, error) {
	return h.Control.Redrive(ctx, t)
}

func (h *Handler) failTask(ctx context.Context, t operator.Target, o *Operation) (task.Head, error) {
	return h.Control.Fail(ctx, t, o.Reason)
}

func (h *Handler) reassign(ctx context.Context, t operator.Target, o *Operation) (task.Head, error) {
	if o.Agent == "" {
		return task.Head{}, apierror.Field(a2a.ErrInvalidParams, "agent", "is missing")
	}
	return h.Control.Reassign(ctx, t, o.Agent)
}

// operate does something to a task, and answers with it.
func (h *Handler) operate(w http.ResponseWriter, r *http.Request, id a2a.TaskID, do operation) {
	var o Operation
	err := decode(r, &o)
	var head task.Head
	if err == nil {
		head, err = do(r.Context(), operator.Target{ID: id, Owner: o.Owner}, &o)
	}
	if err != nil {
		h.failOperation(w, r, err, failed{id, o.Agent})
		return
	}
	h.record(r, "operator has changed a task", "task", id, "state", head.State.String())
	h.answer(w, r, &Operated{
		TaskID: head.ID, Owner: head.Owner, Agent: head.Agent, Assigned: head.Assigned, State: head.State.String(),
		Epoch: head.Run.Epoch, ChangedAt: head.UpdatedAt.Time(),
	})
}

// failed is what an operation was about that is not possible.
type failed struct {
	task  a2a.TaskID
	agent task.Agent
}

// failOperation answers with why an operation is not possible.
func (h *Handler) failOperation(w http.ResponseWriter, r *http.Request, err error, about failed) {
	switch {
	case errors.Is(err, task.ErrNotFound):
		refuse(w, r, named(errNoTask, string(about.task)))
	case errors.Is(err, engine.ErrNoAgent):
		h.noAgent(w, r, string(about.agent))
	case errors.Is(err, operator.ErrAmbiguous):
		h.fail(w, r, apierror.Field(a2a.ErrInvalidParams, "owner", "is needed: %s", err.Error()))
	case errors.Is(err, operator.ErrReason):
		h.fail(w, r, apierror.Field(a2a.ErrInvalidParams, "reason", "%s", err.Error()))
	case errors.Is(err, engine.ErrEnded), errors.Is(err, engine.ErrNotWaiting), errors.Is(err, engine.ErrCanceling), errors.Is(err, engine.ErrSaid):
		refuse(w, r, &dialect.Report{Row: rowNotPossible, Message: err.Error()})
	default:
		h.fail(w, r, err)
	}
}

// pause pauses an agent, or gives it messages again.
func (h *Handler) pause(w http.ResponseWriter, r *http.Request, name string, paused bool) {
	agent := task.Agent(name)
	if e := h.entry(name); e != nil {
		agent = e.Name()
	}
	_, there := h.Hub.Agent(agent)
	var nothing struct{}
	err := decode(r, &nothing)
	switch {
	case err != nil:
	case paused && !there:
		h.noAgent(w, r, name)
		return
	default:
		err = h.Control.SetPaused(r.Context(), agent, paused)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.record(r, "operator has paused or resumed an agent", "agent", agent, "paused", paused)
	h.answer(w, r, &Pause{agent, paused})
}

// record logs what somebody did.
func (h *Handler) record(r *http.Request, what string, args ...any) {
	if h.Logger != nil {
		h.Logger.Info(what, append(args, "by", auth.PrincipalFrom(r.Context()).ID, "address", r.RemoteAddr)...)
	}
}
