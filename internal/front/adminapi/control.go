package adminapi

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/operator"
	"github.com/parley-a2a/parley/internal/task"
)

// Operation is the body of an operator's request about a task.
type Operation struct {
	// Owner is the owner of the task; needed only if several owners have a task with the id.
	Owner task.Owner `json:"owner,omitempty"`
	// Reason is the reason that the caller gets for a failed task.
	Reason string `json:"reason,omitempty"`
	// Agent is the new agent of a task that is reassigned.
	Agent task.Agent `json:"agent,omitempty"`
	// Revision is that of the log that the operator has read. If the task has another one by now, nothing is
	// done. If empty, it is not compared.
	Revision string `json:"revision,omitempty"`
}

// Operated is a task that an operator has changed.
type Operated struct {
	TaskID a2a.TaskID `json:"taskId"`
	Owner  task.Owner `json:"owner"`
	// Agent is the agent that the caller addressed, Assigned the agent that executes the task
	// in its place.
	Agent    task.Agent `json:"agent"`
	Assigned task.Agent `json:"assigned,omitempty"`
	State    string     `json:"state"`
	// Epoch counts the executions of the task.
	Epoch     int64     `json:"epoch"`
	ChangedAt time.Time `json:"changedAt"`
}

// PauseRequest is the body of a request to pause an agent.
type PauseRequest struct {
	// Reason is why the agent is paused; callers whose tasks wait for the agent see it.
	Reason string `json:"reason,omitempty"`
}

// Pause is the answer to pausing or resuming an agent.
type Pause struct {
	Agent  task.Agent `json:"agent"`
	Paused bool       `json:"paused"`
}

// Errors of this API beside those of the protocol.
var (
	errNoTask = dialect.Report{
		Row:     dialect.Row{HTTP: http.StatusNotFound, GRPC: dialect.NotFound, Reason: "TASK_NOT_FOUND"},
		Message: "no such task",
	}
	rowChanged     = dialect.Row{HTTP: http.StatusConflict, GRPC: dialect.FailedPrecondition, Reason: "TASK_CHANGED"}
	rowNotPossible = dialect.Row{HTTP: http.StatusConflict, GRPC: dialect.FailedPrecondition, Reason: "NOT_POSSIBLE"}
)

func (h *Handler) redrive(r *http.Request, o *Operation) (*Operated, error) {
	return h.operated(r, o)(h.Control.Redrive(r.Context(), target(r, o)))
}

func (h *Handler) failTask(r *http.Request, o *Operation) (*Operated, error) {
	return h.operated(r, o)(h.Control.Fail(r.Context(), target(r, o), o.Reason))
}

func (h *Handler) cancelTask(r *http.Request, o *Operation) (*Operated, error) {
	return h.operated(r, o)(h.Control.Cancel(r.Context(), target(r, o)))
}

func (h *Handler) reassign(r *http.Request, o *Operation) (*Operated, error) {
	if o.Agent == "" {
		return nil, apierror.Field(a2a.ErrInvalidParams, "agent", "is missing")
	}
	return h.operated(r, o)(h.Control.Reassign(r.Context(), target(r, o), o.Agent))
}

func target(r *http.Request, o *Operation) operator.Target {
	by := auth.PrincipalFrom(r.Context())
	return operator.Target{ID: a2a.TaskID(r.PathValue("id")), Owner: o.Owner, Revision: o.Revision, By: cmp.Or(by.DisplayName, by.ID)}
}

// operationsOn returns the operations of an operator on a task, with the reasons against them.
func operationsOn(t *task.Head) []adminjson.OperatorAction {
	r := engine.RefusalsOf(t)
	all := []adminjson.OperatorAction{{Name: "redrive"}, {Name: "reassign"}, {Name: "cancel"}, {Name: "fail"}}
	for i, err := range []error{r.Redrive, r.Reassign, r.Cancel, r.Fail} {
		if err != nil {
			all[i].Refused = err.Error()
		}
	}
	return all
}

// operated returns a function that answers with the result of an operation.
func (h *Handler) operated(r *http.Request, o *Operation) func(task.Head, error) (*Operated, error) {
	return func(head task.Head, err error) (*Operated, error) {
		if err != nil {
			return nil, h.operationError(r, o, err)
		}
		h.record(r, "operator has changed a task", "task", r.PathValue("id"), "state", head.State.String())
		return &Operated{
			TaskID: head.ID, Owner: head.Owner, Agent: head.Agent, Assigned: head.Assigned, State: head.State.String(),
			Epoch: head.Run.Epoch, ChangedAt: head.UpdatedAt.Time(),
		}, nil
	}
}

func (h *Handler) operationError(r *http.Request, o *Operation, err error) error {
	switch {
	case errors.Is(err, task.ErrNotFound):
		return named(errNoTask, r.PathValue("id"))
	case errors.Is(err, engine.ErrNoAgent):
		return h.noAgent(r, string(o.Agent))
	case errors.Is(err, operator.ErrAmbiguous):
		return apierror.Field(a2a.ErrInvalidParams, "owner", "is needed: %s", err.Error())
	case errors.Is(err, operator.ErrReason):
		return badReason(err)
	case errors.Is(err, engine.ErrChanged):
		return refuseRow(rowChanged, err)
	case errors.Is(err, engine.ErrEnded), errors.Is(err, engine.ErrNotWaiting), errors.Is(err, engine.ErrCanceling), errors.Is(err, engine.ErrHasOutput):
		return refuseRow(rowNotPossible, err)
	}
	return err
}

func badReason(err error) error {
	return apierror.Field(a2a.ErrInvalidParams, "reason", "%s", err.Error())
}

// auditedReason is the number of characters of a reason that the audit log records.
const auditedReason = 500

func (h *Handler) pause(r *http.Request, p *PauseRequest) (*Pause, error) {
	agent := h.agentNamed(r)
	if _, there := h.Hub.Agent(agent); !there {
		return nil, h.noAgent(r, r.PathValue("id"))
	}
	if d := auditEventOf(r); d != nil && p.Reason != "" {
		d.Detail = append(d.Detail, audit.Field{Name: "reason", Value: clip.Fit(p.Reason, auditedReason)})
	}
	err := h.Control.Pause(r.Context(), operator.Pause{Agent: agent, By: auth.PrincipalFrom(r.Context()).ID, Reason: p.Reason})
	if errors.Is(err, operator.ErrReason) {
		return nil, badReason(err)
	}
	if err != nil {
		return nil, err
	}
	return h.paused(r, agent, true), nil
}

func (h *Handler) resume(r *http.Request, _ *struct{}) (*Pause, error) {
	agent := h.agentNamed(r)
	if err := h.Control.Resume(r.Context(), agent); err != nil {
		return nil, err
	}
	return h.paused(r, agent, false), nil
}

// paused returns the answer to a change of a pause, which it logs.
func (h *Handler) paused(r *http.Request, agent task.Agent, paused bool) *Pause {
	h.record(r, "operator has paused or resumed an agent", "agent", agent, "paused", paused)
	return &Pause{agent, paused}
}

func (h *Handler) log() *slog.Logger {
	if h.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return h.Logger
}

// record logs a change with its caller.
func (h *Handler) record(r *http.Request, what string, args ...any) {
	h.log().Info(what, append(args, "by", auth.PrincipalFrom(r.Context()).ID, "address", r.RemoteAddr)...)
}
