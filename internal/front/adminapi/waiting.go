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
	WaitsForBroker     = "broker-down"
	WaitsForWorker     = "no-worker"
	WaitsForFreeWorker = "workers-busy"
	WaitsForRemote     = "agent-down"
	Runs               = "running"
)

// waiting returns why a task does not proceed, and nil if it has ended. The caller may read the task; only
// administrators learn what concerns the hub and others.
func (h *Handler) waiting(r *http.Request, t *task.Head) *adminjson.Waiting {
	if t.State.Terminal() || h.Logs == nil {
		return nil
	}
	name := t.Performer()
	say := func(code, command, text string, args ...any) *adminjson.Waiting {
		return &adminjson.Waiting{Code: code, Text: fmt.Sprintf(text, args...), Command: command}
	}
	switch t.State {
	case task.InputRequired:
		return say(WaitsForAnswer, fmt.Sprintf("parley send --agent %s --task %s \"your answer\"", ShellWord(string(t.Agent)), ShellWord(string(t.ID))), "agent %q waits for an answer", name)
	case task.AuthRequired:
		return say(WaitsForPermission, h.ifOperator(r, "parley inbox list"), "agent %q waits for a permission or a sign-in by a person", name)
	}
	if reason, failed := h.storeFailed(r); failed {
		return say(WaitsForStore, "", "the hub cannot write its store%s", reason)
	}
	if _, ok := h.Hub.Agent(name); !ok {
		return say(WaitsForAgent, h.ifOperator(r, "parley tasks reassign "+ShellWord(string(t.ID))+" --agent NAME"), "the hub has no agent %q any more", name)
	}
	switch b := h.Logs.Blockage(t.Key); b.By {
	case engine.BlockedByPause:
		return say(WaitsForResume, h.ifOperator(r, "parley agents resume "+ShellWord(string(name))), "agent %q is paused", name)
	case engine.BlockedByContext:
		return say(WaitsForContext, "", "earlier messages of its context come first: %d", b.Ahead)
	case engine.BlockedByLimit:
		return say(WaitsForRun, "", "the hub runs as many tasks as it may at a time")
	}
	if w := h.waitingElsewhere(r, t, name); w != nil {
		return w
	}
	return say(Runs, "", "agent %q is working on it", name)
}

// waitingElsewhere returns why an agent at a queue or at another server does not proceed; nil if nothing
// is known.
func (h *Handler) waitingElsewhere(r *http.Request, t *task.Head, name task.Agent) *adminjson.Waiting {
	if h.Directory == nil {
		return nil
	}
	e, err := h.Directory.Get(string(name))
	if err != nil {
		return nil
	}
	switch e.Transport() {
	case directory.Queue:
		if m, ok := h.monitor(); ok {
			if c := m.Connection(); !c.Up {
				return &adminjson.Waiting{Code: WaitsForBroker, Text: "the hub is not connected to its broker" + h.detail(r, c.Reason)}
			}
		}
		if e.Workers == 0 {
			return &adminjson.Waiting{
				Code: WaitsForWorker, Text: fmt.Sprintf("no worker is connected for agent %q", name),
				Command: h.ifOperator(r, "parley agent run --name "+ShellWord(string(e.Spec.Queue))+" --exec PROGRAM"),
			}
		}
		if t.State == task.Submitted {
			return &adminjson.Waiting{Code: WaitsForFreeWorker, Text: fmt.Sprintf("all workers of agent %q are busy", name)}
		}
	case directory.HTTP:
		if e.Health.State == directory.Down {
			return &adminjson.Waiting{
				Code: WaitsForRemote, Text: fmt.Sprintf("agent %q is unreachable", name) + h.detail(r, e.Health.Error),
				Command: h.ifOperator(r, "parley agents probe "+ShellWord(string(name))),
			}
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

// ifOperator returns a command for callers who may use it, and "" for others.
func (h *Handler) ifOperator(r *http.Request, command string) string {
	if h.mayRead(r, policy.AdminAgents) {
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
