package console

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/clip"
)

// action is a change that a person confirms: a button that opens a form, which names the consequences.
type action struct {
	// Path is the address of the form below Root, and Verb its field of that name.
	Path, Verb string
	// Label is the word on the button, and Confirm that on the button of the form.
	Label, Confirm string
	// Title is a question, Subject names the object, and Text the consequences.
	Title, Subject, Text string
	Fields               []field
	// Danger is set for a change that cannot be undone.
	Danger bool
	// Reason and Agent are set if the form asks for them, and Remark if it has a field for a reason that may
	// stay empty. Draft and To are the values that it begins with.
	Reason, Agent, Remark bool
	Draft, To             string
	// Hold is the number of seconds in which the person may take the action back.
	Hold int
	// Open is set for a form that is open when the page is shown.
	Open bool
}

// field is a hidden field of a form.
type field struct{ Name, Value string }

// operateView are the actions that a person may take on a task.
type operateView struct {
	Actions []action
	Refused []refusedActions
}

// refusedActions are operations that are not possible now, for one reason.
type refusedActions struct {
	Names  []string
	Reason string
}

// words returns the beginning of a text on one line.
func words(text string) string { return clip.Fit(strings.Join(strings.Fields(text), " "), 80) }

// operateView returns the actions on a task, of whose message a form repeats the first words.
func (p *page) operateView(l *adminjson.TaskLog) operateView {
	var v operateView
	h := p.headOf(l)
	agent, id := l.Task.Agent, string(l.Task.TaskID)
	if l.Worker != "" {
		agent = l.Worker
	}
	subject := fmt.Sprintf("Task %s of agent %s", short(id), h.Agent)
	if message := l.Task.Message; message != "" {
		subject += ": “" + message + "”"
	}
	asked := p.r.URL.Query().Get("verb")
	add := func(a action) {
		a.Subject, a.Fields = subject, append(a.Fields, field{"id", id}, field{"owner", h.Owner})
		if a.Open = a.Verb == asked && asked != ""; a.Open {
			a.Draft, a.To = p.r.FormValue("reason"), p.r.FormValue("agent")
		}
		v.Actions = append(v.Actions, a)
	}
	for _, o := range l.Operations {
		if o.Name == "cancel" && h.Mine {
			continue // below, as for every caller
		}
		if o.Refused != "" {
			v.refuse(o)
			continue
		}
		a := operations[o.Name]
		a.Path, a.Verb, a.Fields = "task/operate", o.Name, []field{{"revision", l.Revision}}
		a.Text = strings.ReplaceAll(a.Text, "AGENT", agent)
		add(a)
	}
	if h.Ended {
		v.Refused = nil // the state says it
	}
	if h.Ended && l.Task.State != "TASK_STATE_COMPLETED" {
		add(p.againAction(&h))
	}
	if h.Mine && !h.Ended {
		add(action{
			Path: "task/cancel", Verb: "cancel", Label: "Cancel", Confirm: "Cancel the task", Title: "Cancel this task?", Danger: true,
			Text: "The hub asks " + agent + " to stop, and the task ends as CANCELED. Its output so far stays. This cannot be undone.",
		})
	}
	return v
}

// refuse adds an operation that is not possible.
func (v *operateView) refuse(o adminjson.OperatorAction) {
	for i := range v.Refused {
		if r := &v.Refused[i]; r.Reason == o.Refused {
			r.Names = append(r.Names, o.Name)
			return
		}
	}
	v.Refused = append(v.Refused, refusedActions{[]string{o.Name}, o.Refused})
}

// operations are the forms for the operations of an operator. AGENT stands for the agent of the task.
var operations = map[string]action{
	"redrive": {
		Label: "Redrive", Confirm: "Run it again", Title: "Run this task again?", Hold: 5,
		Text: "If AGENT is working on it, the run ends and the hub ignores its further output. AGENT then gets the message again, so effects outside the hub may happen twice.",
	},
	"reassign": {
		Label: "Reassign", Confirm: "Reassign the task", Title: "Give this task to another agent?", Agent: true,
		Text: "The other agent gets the message instead of AGENT. The caller sees no difference. You can reassign it again until the agent has sent output.",
	},
	"cancel": {
		Label: "Cancel", Confirm: "Cancel the task", Title: "Cancel this task?", Danger: true,
		Text: "The hub asks AGENT to stop, as its caller could, and the task ends as CANCELED. Its output so far stays. This cannot be undone.",
	},
	"fail": {
		Label: "Fail", Confirm: "Fail the task", Title: "Fail this task?", Reason: true, Danger: true,
		Text: "The task ends as FAILED. Its caller sees the reason. This cannot be undone.",
	},
}

// agentActions returns the actions of an administrator on an agent.
func agentActions(a adminjson.Agent) []action {
	of := []field{{"agent", a.Name}}
	all := []action{{
		Path: "agents", Verb: "pause", Label: "Pause", Confirm: "Pause " + a.Name, Title: "Pause " + a.Name + "?", Fields: of,
		Text: "Further messages to the agent wait in the hub until you resume it. Tasks in progress continue.", Remark: true,
	}}
	if a.Paused {
		all[0] = action{
			Path: "agents", Verb: "resume", Label: "Resume", Confirm: "Resume " + a.Name, Title: "Resume " + a.Name + "?", Fields: of,
			Text: "The agent gets the messages that wait for it.",
		}
	}
	if a.Remote != nil && a.Remote.Registered {
		all = append(all, action{
			Path: "agents", Verb: "remove", Label: "Remove", Confirm: "Remove " + a.Name, Title: "Remove " + a.Name + "?", Fields: of, Danger: true,
			Text: "The hub forgets the agent and its credentials, and rejects further messages to it. Tasks that wait for it may fail.",
		})
	}
	return all
}

// letterActions returns the actions of an administrator on a dead letter, on the page of a queue.
func letterActions(l letterView, queue string) []action {
	of := []field{{"id", l.ID}, {"queue", queue}}
	subject := fmt.Sprintf("%s from %s: %s", l.Type, l.Source, words(l.Reason))
	return []action{
		{
			Path: "dead", Verb: "replay", Label: "Replay", Confirm: "Replay the letter", Title: "Replay this letter?", Subject: subject, Fields: of,
			Text: "The letter goes to queue " + l.Queue + " again and leaves this list. If it fails again, it comes back.",
		},
		{
			Path: "dead", Verb: "drop", Label: "Drop", Confirm: "Drop the letter", Title: "Drop this letter?", Subject: subject, Fields: of, Danger: true,
			Text: "The hub deletes the letter. This cannot be undone.",
		},
	}
}

// allLetters returns the action of an administrator on all dead letters of a page.
func allLetters(v deadLetters) action {
	of := []field{{"queue", v.Queue}}
	for i := range v.Letters {
		of = append(of, field{"id", v.Letters[i].ID})
	}
	n := len(v.Letters)
	return action{
		Path: "dead", Verb: "replay", Label: fmt.Sprintf("Replay all %d", n), Confirm: fmt.Sprintf("Replay %d letters", n), Title: "Replay all letters of this page?", Fields: of,
		Text: "The letters go to their queues again and leave this list. Those that fail again come back.",
	}
}

// hookActions returns the actions of an administrator on a webhook with dead letters.
func hookActions(h hookView, dead bool) []action {
	only := ""
	if dead {
		only = "1"
	}
	return []action{{
		Path: "webhooks", Verb: "redeliver", Label: "Redeliver", Confirm: "Redeliver", Title: "Deliver the notifications again?",
		Subject: fmt.Sprintf("Webhook %s of task %s", h.Config, short(h.Task)), Fields: []field{{"id", h.Task}, {"config", h.Config}, {"dead", only}},
		Text: "The hub sends " + h.URL + " the undelivered notifications again.",
	}}
}

// returns are the fields of forms, by their paths, that come back with a person who had to sign in to send
// the form.
var returns = map[string][]string{
	"task/operate": {"id", "owner", "verb", "reason", "agent"},
	"task/cancel":  {"id", "owner", "verb"},
	"task/again":   {"id", "owner", "verb"},
	"tasks/stop":   nil,
	"task/answer":  {"id", "text"},
	"try":          {"agent", "context", "text"},
	"context":      {"context", "text"},
	"agents":       nil,
	"inbox":        nil,
	"dead":         {"queue"},
	"webhooks":     {"dead"},
	"keys":         {"find"},
}

// maxReturn is the maximum length of the query with these fields. Longer texts do not come back.
const maxReturn = 6 << 10

// origin returns the address to which a person returns after signing in. After a form, it has the fields of
// the form, which the person confirms there.
func (p *page) origin() string {
	if p.r.Method != http.MethodGet {
		return p.formOrigin()
	}
	return p.r.URL.RequestURI()
}

func (p *page) formOrigin() string {
	form := strings.TrimPrefix(p.r.URL.Path, Root)
	names, known := returns[form]
	p.r.Body = http.MaxBytesReader(p.w, p.r.Body, maxBareForm)
	if !known || p.hub.names.SameOrigin(p.r) != nil || p.r.ParseForm() != nil {
		return Root
	}
	if strings.HasPrefix(p.r.Header.Get("Content-Type"), "multipart/") && p.r.ParseMultipartForm(maxBareForm) != nil {
		return Root
	}
	var pairs []any
	for _, name := range names {
		pairs = append(pairs, name, p.r.PostFormValue(name))
	}
	q := query(pairs...)
	if len(q) > maxReturn {
		q = query("id", p.r.PostFormValue("id"), "owner", p.r.PostFormValue("owner"))
	}
	shown, _, _ := strings.Cut(form, "/")
	return Root + shown + "?" + q
}
