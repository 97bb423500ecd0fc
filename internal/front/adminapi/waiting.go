package adminapi

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/operator"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
)

// waits says why tasks do not proceed, in one answer: it looks only once at what holds for all of them.
type waits struct {
	*Handler
	r *http.Request
	// details is set for callers who may know about the hub and its agents; others learn only what concerns
	// their own tasks.
	details bool
	blocked map[task.Key]engine.Blockage
	// children are the tasks of other agents that running tasks wait for, by the keys of the latter.
	children map[task.Key]*task.Head
	// store is the reason that holds up all tasks; nil if the store works.
	store *adminjson.Waiting
	// entries are the agents of the tasks in the directory; nil for those that are not in it.
	entries map[task.Agent]*directory.Entry
	// backlogs are those of all agents at queues; nil until one is needed.
	backlogs map[task.Agent]queue.Backlog
	// approvals are the open approvals of owners in the inbox, by the ids of the tasks that wait for them.
	approvals map[task.Owner]map[a2a.TaskID]inbox.Item
}

// waiting returns why each task does not proceed; nil for those that have ended. The caller may read the
// tasks.
func (h *Handler) waiting(r *http.Request, heads ...*task.Head) []*adminjson.Waiting {
	all := make([]*adminjson.Waiting, len(heads))
	if h.Logs == nil {
		return all
	}
	w := &waits{
		Handler: h, r: r, details: h.mayRead(r, policy.AdminAgents),
		children: make(map[task.Key]*task.Head), entries: make(map[task.Agent]*directory.Entry),
		approvals: make(map[task.Owner]map[a2a.TaskID]inbox.Item),
	}
	var open []task.Key
	for _, t := range heads {
		if !t.State.Terminal() {
			open = w.follow(append(open, t.Key), t)
		}
	}
	if len(open) == 0 {
		return all
	}
	w.blocked = h.Logs.Blockages(open...)
	for _, c := range h.Hub.Ready(r.Context()) {
		if c.Name == "store" && !c.OK {
			w.store = reason(adminjson.WaitsForStore, "", "the hub cannot write its store%s", w.cause(c.Detail))
		}
	}
	for i, t := range heads {
		if !t.State.Terminal() {
			all[i] = w.of(t)
		}
	}
	return all
}

// follow notes the tasks for which a task waits, each for the next one, and adds their keys to keys.
func (w *waits) follow(keys []task.Key, t *task.Head) []task.Key {
	for t.Run.Dispatch == task.Claimed {
		child, err := w.Logs.AwaitedChild(w.r.Context(), t.Key)
		if err != nil || child == nil {
			break // after an error, the next look finds it
		}
		w.children[t.Key] = child
		keys, t = append(keys, child.Key), child
	}
	return keys
}

// of returns why a task that has not ended does not proceed.
func (w *waits) of(t *task.Head) *adminjson.Waiting {
	name := t.Performer()
	switch {
	case t.Resumed(): // the state is that of a question which was answered
	case t.State == task.InputRequired:
		if otherOwner(w.r, t) != "" && everyOwner(w.r) {
			return reason(adminjson.WaitsForAnswer, "", "agent %q waits for an answer of its caller, who alone can give it", name)
		}
		command := fmt.Sprintf("parley send --agent %s --task %s \"your answer\"", ShellWord(string(t.Agent)), ShellWord(string(t.ID)))
		return reason(adminjson.WaitsForAnswer, command, "agent %q waits for an answer", name)
	case t.State == task.AuthRequired:
		return w.permission(t, name)
	}
	if w.store != nil {
		return w.store
	}
	if w.Logs.AtOtherHub(t) {
		return reason(adminjson.Runs, "", "another hub on the same database has the task")
	}
	if _, ok := w.Hub.Agent(name); !ok {
		command := w.ifAllowed(policy.Request{Op: policy.AdminTasks}, "parley tasks reassign "+ShellWord(string(t.ID))+" --agent NAME")
		return reason(adminjson.WaitsForAgent, command, "the hub no longer has agent %q", name)
	}
	switch b := w.blocked[t.Key]; b.By {
	case engine.BlockedByPause:
		return w.whyPaused(name)
	case engine.BlockedByContext:
		return w.inContext(&b)
	case engine.BlockedByLimit:
		return reason(adminjson.WaitsForRun, "", "the hub runs as many tasks as it may at a time")
	case engine.BlockedByRecovery:
		return reason(adminjson.WaitsForRecovery, "", "the hub is recovering the tasks of an earlier process")
	}
	if e := w.elsewhere(t, name); e != nil {
		return e
	}
	if d := w.delegated(t, name); d != nil {
		return d
	}
	if t.State == task.Submitted {
		return reason(adminjson.Runs, "", "agent %q has the message and has not reported yet", name)
	}
	return reason(adminjson.Runs, "", "agent %q is working on it", name)
}

// permission returns the reason of a task that waits for a permission: an approval in the inbox, or a sign-in of the
// caller elsewhere.
func (w *waits) permission(t *task.Head, name task.Agent) *adminjson.Waiting {
	if it, open := w.approval(t); open {
		command := w.ifAllowed(policy.Request{Op: policy.AdminInbox}, "parley inbox approve "+ShellWord(string(it.ID)))
		return reason(adminjson.WaitsForPermission, command, "an administrator of the hub must approve or refuse it")
	}
	who := "its caller"
	command := "parley tasks watch " + ShellWord(string(t.ID)) + " --agent " + ShellWord(string(t.Agent))
	if everyOwner(w.r) {
		who, command = fmt.Sprintf("its caller, %s,", t.Owner), ""
	}
	at := "agent"
	if e := w.entry(name); e != nil && (e.Transport() == directory.HTTP || e.Transport() == directory.Exchange) {
		at = "remote agent"
	}
	text := fmt.Sprintf("%s must sign in or give a permission as %s %q asks, not at this hub; the agent then continues", who, at, name)
	if asked := words(t.StatusMessage); asked != "" {
		text += ": " + asked
	}
	return reason(adminjson.WaitsForPermission, command, "%s", text)
}

// approval returns the open approval in the inbox that a task waits for, if there is one.
func (w *waits) approval(t *task.Head) (it inbox.Item, open bool) {
	if w.Inbox == nil {
		return it, false
	}
	all, known := w.approvals[t.Owner]
	if !known {
		items, err := w.Inbox.List(w.r.Context(), &inbox.Query{Owner: t.Owner, State: inbox.Open, Kinds: []inbox.Kind{inbox.Approval}})
		if err != nil {
			items = nil // the next look finds them
		}
		all = make(map[a2a.TaskID]inbox.Item, len(items))
		for i := range items {
			if _, there := all[items[i].Task]; !there {
				all[items[i].Task] = items[i]
			}
		}
		w.approvals[t.Owner] = all
	}
	it, open = all[t.ID]
	return it, open
}

// delegated returns why the task does not proceed to which a task has delegated; nil if there is none.
func (w *waits) delegated(t *task.Head, name task.Agent) *adminjson.Waiting {
	child := w.children[t.Key]
	if child == nil {
		return nil
	}
	why := w.of(child)
	code := adminjson.WaitsForChild
	if !why.Held() {
		code = adminjson.Runs
	}
	text := reason(code, why.Command, "agent %q waits for task %s, to which it has delegated: %s", name, child.ID, why.Text)
	text.Behind = w.blocker(child)
	return text
}

// inContext returns why a task does not proceed for which earlier messages of its context come first.
func (w *waits) inContext(b *engine.Blockage) *adminjson.Waiting {
	if b.Behind == nil {
		return reason(adminjson.WaitsForContext, "", "earlier messages of its context come first: %d", b.Ahead)
	}
	others := ""
	if b.Ahead > 1 {
		others = fmt.Sprintf(" and %d later messages of its context", b.Ahead-1)
	}
	why := reason(adminjson.WaitsForContext, "", "behind task %s%s: %s", b.Behind.ID, others, w.busy(b.Behind))
	why.Behind = w.blocker(b.Behind)
	return why
}

// inQueue returns why a message in the queue of an agent that has workers does not proceed. The task that a
// worker has had longest is named to those who may read it.
func (w *waits) inQueue(name task.Agent, workers int) *adminjson.Waiting {
	why := reason(adminjson.WaitsInQueue, "", "the message is in the queue of agent %q, which has workers: %d", name, workers)
	if w.Bus == nil {
		return why
	}
	if w.backlogs == nil {
		w.backlogs = w.Bus.Backlogs()
	}
	b := w.backlogs[name]
	if b.Task == "" || !w.details && b.Owner != callerOf(w.r).Principal.Owner() {
		return why
	}
	if first := w.Logs.Loaded(b.Owner, b.Task); first != nil && !first.Ended() {
		why.Text += fmt.Sprintf("; behind task %s: %s", first.ID, w.busy(first))
		why.Behind = w.blocker(first)
	}
	return why
}

// busy describes the work of a task for which others wait.
func (w *waits) busy(t *task.Head) string {
	switch {
	case t.State.Interrupted() && !t.Resumed():
		return fmt.Sprintf("it waits for an answer, and was created %s ago", age(t.CreatedAt.Time()))
	case w.children[t.Key] != nil:
		return fmt.Sprintf("it waits for task %s, to which it has delegated", w.children[t.Key].ID)
	}
	return fmt.Sprintf("it was created %s ago, and its last output is %s old", age(t.CreatedAt.Time()), age(t.UpdatedAt.Time()))
}

// blocker returns a task for which others wait.
func (w *waits) blocker(t *task.Head) *adminjson.Blocker {
	return &adminjson.Blocker{TaskID: t.ID, Owner: otherOwner(w.r, t), Agent: string(t.Performer()), State: t.State.String(), QuietSince: quietSince(t)}
}

func reason(code, command, text string, args ...any) *adminjson.Waiting {
	return &adminjson.Waiting{Code: code, Text: fmt.Sprintf(text, args...), Command: command}
}

// whyPaused returns the reason for an agent that is paused, with that of the operator, which only administrators
// see.
func (w *waits) whyPaused(name task.Agent) *adminjson.Waiting {
	var p operator.Pause
	if w.Control != nil {
		p, _ = w.Control.PauseOf(name)
	}
	text := fmt.Sprintf("agent %q is paused", name)
	if !p.At.IsZero() {
		text += " for " + age(p.At)
	}
	if p.By != "" && w.details {
		text += fmt.Sprintf(", by %q", p.By)
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return reason(adminjson.WaitsForResume, w.ifAllowed(agentsOf(name), "parley agents resume "+ShellWord(string(name))), "%s", text)
}

// elsewhere returns why an agent at a queue or at another server does not proceed; nil if nothing is known.
func (w *waits) elsewhere(t *task.Head, name task.Agent) *adminjson.Waiting {
	e := w.entry(name)
	if e == nil {
		return nil
	}
	switch e.Transport() {
	case directory.Queue:
		if c := w.Bus.connection(); !c.Up {
			text := "the hub is not connected to its broker"
			if !c.Since.IsZero() {
				text += " for " + age(c.Since)
			}
			return reason(adminjson.WaitsForBroker, "", "%s%s", text, w.cause(c.Reason))
		}
		if e.Workers == 0 {
			command := w.ifAllowed(agentsOf(name), "parley agent run --name "+ShellWord(string(e.Spec.Queue))+" --exec PROGRAM")
			return reason(adminjson.WaitsForWorker, command, "no worker is connected for agent %q%s", name, w.contact("the last one was seen", e))
		}
		if t.State == task.Submitted {
			return w.inQueue(name, e.Workers)
		}
	case directory.HTTP, directory.Exchange:
		if e.Health.State == directory.Down {
			return reason(adminjson.WaitsForRemote, w.ifAllowed(agentsOf(name), "parley agents probe "+ShellWord(string(name))),
				"agent %q is unreachable%s%s", name, w.contact("it last answered", e), w.cause(e.Health.Error))
		}
	}
	return nil
}

// entry returns an agent as the directory has it; nil if it does not.
func (w *waits) entry(name task.Agent) *directory.Entry {
	e, known := w.entries[name]
	if known || w.Directory == nil {
		return e
	}
	e, err := w.Directory.Get(string(name))
	if err != nil || e.Name() != name {
		e = nil
	}
	w.entries[name] = e
	return e
}

func agentsOf(name task.Agent) policy.Request {
	return policy.Request{Op: policy.AdminAgents, Agent: name}
}

// ifAllowed returns a command for callers who may perform its operation, and "" for others.
func (w *waits) ifAllowed(q policy.Request, command string) string {
	if w.may(w.r, q) {
		return command
	}
	return ""
}

// cause returns the cause of a reason for administrators, and "" for others.
func (w *waits) cause(text string) string {
	if text = strings.TrimSpace(text); text == "" || !w.details {
		return ""
	}
	return ": " + text
}

// contact returns when an agent was last seen and will be probed, for administrators; "" for others.
func (w *waits) contact(seen string, e *directory.Entry) string {
	if !w.details {
		return ""
	}
	var facts []string
	if at := e.Health.SeenAt; !at.IsZero() {
		facts = append(facts, fmt.Sprintf("%s %s ago", seen, age(at)))
	}
	if next := w.Directory.NextProbe(e.Name()); !next.IsZero() {
		facts = append(facts, fmt.Sprintf("next probe in %v", max(0, time.Until(next)).Round(time.Second)))
	}
	if len(facts) == 0 {
		return ""
	}
	return " (" + strings.Join(facts, ", ") + ")"
}

// age returns the time since then in whole seconds.
func age(then time.Time) string { return max(0, time.Since(then)).Round(time.Second).String() }

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
