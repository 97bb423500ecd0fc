package adminapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/task"
)

// Codes of [adminjson.Waiting].
const (
	WaitsForAnswer     = "input-required"
	WaitsForPermission = "auth-required"
	WaitsForStore      = "store-failed"
	WaitsForAgent      = "agent-missing"
	WaitsForResume     = "agent-paused"
	WaitsForContext    = "context-busy"
	WaitsForRun        = "run-limit"
	WaitsForRecovery   = "recovering"
	WaitsForBroker     = "broker-down"
	WaitsForWorker     = "no-worker"
	WaitsInQueue       = "in-queue"
	WaitsForRemote     = "agent-down"
	Runs               = "running"
)

// waiting returns why a task does not proceed, and nil if it has ended. The caller may read the task; only
// administrators learn what concerns the hub and others, and get commands that they may use.
func (h *Handler) waiting(r *http.Request, t *task.Head) *adminjson.Waiting {
	if t.State.Terminal() || h.Logs == nil {
		return nil
	}
	name := t.Performer()
	agents := policy.Request{Op: policy.AdminAgents, Agent: name}
	switch {
	case t.Resumed(): // the state is that of a question which was answered
	case t.State == task.InputRequired:
		command := ""
		if !everyOwner(r) { // the question is for the owner
			command = fmt.Sprintf("parley send --agent %s --task %s \"your answer\"", ShellWord(string(t.Agent)), ShellWord(string(t.ID)))
		}
		return reason(WaitsForAnswer, command, "agent %q waits for an answer", name)
	case t.State == task.AuthRequired:
		return reason(WaitsForPermission, h.ifAllowed(r, policy.Request{Op: policy.AdminInbox}, "parley inbox list"),
			"agent %q waits for a permission or a sign-in by a person", name)
	}
	if detail, failed := h.storeFailed(r); failed {
		return reason(WaitsForStore, "", "the hub cannot write its store%s", detail)
	}
	if h.Logs.AtOtherHub(t) {
		return reason(Runs, "", "another hub on the same database has the task")
	}
	if _, ok := h.Hub.Agent(name); !ok {
		command := h.ifAllowed(r, policy.Request{Op: policy.AdminTasks}, "parley tasks reassign "+ShellWord(string(t.ID))+" --agent NAME")
		return reason(WaitsForAgent, command, "the hub has no agent %q any more", name)
	}
	switch b := h.Logs.Blockage(t.Key); b.By {
	case engine.BlockedByPause:
		return reason(WaitsForResume, h.ifAllowed(r, agents, "parley agents resume "+ShellWord(string(name))), "agent %q is paused", name)
	case engine.BlockedByContext:
		return reason(WaitsForContext, "", "earlier messages of its context come first: %d", b.Ahead)
	case engine.BlockedByLimit:
		return reason(WaitsForRun, "", "the hub runs as many tasks as it may at a time")
	case engine.BlockedByRecovery:
		return reason(WaitsForRecovery, "", "the hub is recovering the tasks of an earlier process")
	}
	if w := h.waitingElsewhere(r, t, name); w != nil {
		return w
	}
	if t.State == task.Submitted {
		return reason(Runs, "", "agent %q has the message and has not reported yet", name)
	}
	return reason(Runs, "", "agent %q is working on it", name)
}

func reason(code, command, text string, args ...any) *adminjson.Waiting {
	return &adminjson.Waiting{Code: code, Text: fmt.Sprintf(text, args...), Command: command}
}

// waitingElsewhere returns why an agent at a queue or at another server does not proceed; nil if nothing
// is known.
func (h *Handler) waitingElsewhere(r *http.Request, t *task.Head, name task.Agent) *adminjson.Waiting {
	if h.Directory == nil {
		return nil
	}
	e, err := h.Directory.Get(string(name))
	if err != nil || e.Name() != name {
		return nil
	}
	agents := policy.Request{Op: policy.AdminAgents, Agent: name}
	switch e.Transport() {
	case directory.Queue:
		if m, ok := h.monitor(); ok {
			if c := m.Connection(); !c.Up {
				return reason(WaitsForBroker, "", "the hub is not connected to its broker%s", h.detail(r, c.Reason))
			}
		}
		if e.Workers == 0 {
			return reason(WaitsForWorker, h.ifAllowed(r, agents, "parley agent run --name "+ShellWord(string(e.Spec.Queue))+" --exec PROGRAM"),
				"no worker is connected for agent %q", name)
		}
		if t.State == task.Submitted {
			return reason(WaitsInQueue, "", "the message is in the queue of agent %q, which has workers: %d", name, e.Workers)
		}
	case directory.HTTP, directory.Exchange:
		if e.Health.State == directory.Down {
			return reason(WaitsForRemote, h.ifAllowed(r, agents, "parley agents probe "+ShellWord(string(name))),
				"agent %q is unreachable%s", name, h.detail(r, e.Health.Error))
		}
	}
	return nil
}

func (h *Handler) monitor() (bus.Monitor, bool) {
	if h.Bus == nil {
		return nil, false
	}
	m, ok := h.Bus.Bus.(bus.Monitor)
	return m, ok
}

// storeFailed reports whether the store does not work, with the reason for administrators.
func (h *Handler) storeFailed(r *http.Request) (reason string, failed bool) {
	for _, c := range h.Hub.Ready(r.Context()) {
		if c.Name == "store" && !c.OK {
			return h.detail(r, c.Detail), true
		}
	}
	return "", false
}

// ifAllowed returns a command for callers who may perform its operation, and "" for others.
func (h *Handler) ifAllowed(r *http.Request, q policy.Request, command string) string {
	if h.may(r, q) {
		return command
	}
	return ""
}

// detail returns the reason of an error for administrators, and "" for others.
func (h *Handler) detail(r *http.Request, reason string) string {
	if reason = strings.TrimSpace(reason); reason == "" || !h.mayRead(r, policy.AdminAgents) {
		return ""
	}
	return ": " + reason
}

// ShellWord returns s as one word of a shell, for commands that people copy.
func ShellWord(s string) string {
	plain := strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("-_./:@%+=,", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
	if plain && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
