package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/front/adminapi"
)

type whyCmd struct {
	hubFlags
	ID  string `arg:"" help:"The id of the task, or its beginning."`
	All bool   `help:"A task of any owner, for administrators."`
	format
}

// Run prints why a task does not proceed.
func (c *whyCmd) Run(in interrupts, o *OS) error {
	info, err := c.find(in.soft)
	if err != nil {
		return err
	}
	if c.data() {
		return c.encode(o.Stdout, info)
	}
	_, err = io.WriteString(o.Stdout, c.why(info))
	return err
}

// find returns the caller's task, or that of another owner for an administrator.
func (c *whyCmd) find(ctx context.Context) (*adminjson.TaskInfo, error) {
	if c.All {
		return c.inspect(ctx, c.ID, "")
	}
	id, err := (&lookup{hubFlags: &c.hubFlags}).id(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	var info adminjson.TaskInfo
	if err := c.ask(ctx, "GET "+taskPath(id), nil, &info); err != nil {
		return c.ofOthers(ctx, id, err)
	}
	return &info, nil
}

// taskPath returns the path of a task in the hub's own interface.
func taskPath(id string) string { return adminapi.Root + "/tasks/" + url.PathEscape(id) }

// why describes a task and why it does not proceed.
func (f *hubFlags) why(info *adminjson.TaskInfo) string {
	since := max(0, time.Since(info.ChangedAt)).Round(time.Second)
	text := fmt.Sprintf("task %s of agent %s", plain(string(info.TaskID)), plain(info.Agent))
	if info.Owner != "" {
		text += " for " + plain(info.Owner)
	}
	text += ": " + stateName(a2a.TaskState(info.State))
	switch {
	case a2a.TaskState(info.State).Terminal():
		text += fmt.Sprintf(", ended %v ago\n", since)
		if info.Reason != "" {
			text += "reason: " + indented(info.Reason) + "\n"
		}
	case info.Waiting == nil:
		text += fmt.Sprintf(" for %v; this hub does not say why\n", since)
	default:
		text += fmt.Sprintf(" for %v\n", since)
		if info.Answer != "" {
			text += "question: " + plain(info.Answer) + "\n"
		}
		text += f.reason(info.Waiting) + "\n"
		if q := info.QuietSince; q != nil && info.Waiting.Code == adminjson.Runs {
			text += fmt.Sprintf("no output for %v\n", max(0, time.Since(*q)).Round(time.Second))
		}
	}
	if b := behind(info.Waiting); b != nil {
		text += fmt.Sprintf("→ parley why %s%s\n", quote(plain(string(b.TaskID))), f.flags())
	}
	if info.TraceURL != "" {
		text += "trace: " + plain(info.TraceURL) + "\n"
	}
	return text
}

// behind returns the task that holds another one up, if nothing else helps that one.
func behind(w *adminjson.Waiting) *adminjson.Blocker {
	if w == nil || w.Command != "" {
		return nil
	}
	return w.Behind
}

// indented makes a text printable below a heading.
func indented(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(printable(text)), "\n", "\n    ")
}

// reason says why a task does not proceed, and what helps.
func (f *hubFlags) reason(w *adminjson.Waiting) string {
	if w.Command == "" {
		return plain(w.Text)
	}
	command := plain(w.Command)
	if !strings.HasPrefix(command, "parley agent run ") { // it has other flags
		command += f.flags()
	}
	return plain(w.Text) + "\n→ " + command
}

// waitingName returns the reason for which a task in a list waits, or "-".
func waitingName(w *adminjson.Waiting) string { return dash(printable(w.HeldBy())) }

// waitsAfter is how long "parley send" waits for an event before it says on a terminal why there is none.
const waitsAfter = 3 * time.Second

// explainer says on a terminal why a task is silent: once after each event that no other follows. A nil
// explainer says nothing.
type explainer struct {
	hub    hubFlags
	stderr io.Writer
	// events has the id of the task for each event.
	events chan a2a.TaskID
}

// send sends m in s, and says on a terminal why the task is silent, if a Parley hub knows.
func (t *target) send(s *session, in interrupts, m *a2a.Message, o *OS) error {
	if t.onHub(s.client) {
		hub := t.hub()
		explain, end := hub.explaining(in.hard, o)
		defer end()
		s.explain = explain
	}
	return s.send(in, m)
}

// explaining starts the explainer of a command, whose output is for a person, until end is called.
func (f *hubFlags) explaining(ctx context.Context, o *OS) (e *explainer, end func()) {
	if !o.Terminal {
		return nil, func() {}
	}
	e = &explainer{hub: *f, stderr: o.Stderr, events: make(chan a2a.TaskID, 1)}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { e.run(ctx) })
	return e, func() { cancel(); wg.Wait() }
}

func (e *explainer) run(ctx context.Context) {
	silent := time.NewTimer(waitsAfter)
	defer silent.Stop()
	var id a2a.TaskID
	for {
		select {
		case id = <-e.events:
			silent.Reset(waitsAfter)
		case <-silent.C:
			if id != "" {
				if w := e.hub.taskInfo(ctx, id).Waiting; w.Held() {
					fmt.Fprintln(e.stderr, "waiting: "+e.hub.reason(w))
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// happened notes an event of the task.
func (e *explainer) happened(id a2a.TaskID) {
	if e == nil {
		return
	}
	select {
	case e.events <- id:
	default: // one is noted already
	}
}

// taskInfo returns a hub's knowledge of a task; the zero TaskInfo if the server is not a Parley hub.
func (f *hubFlags) taskInfo(ctx context.Context, id a2a.TaskID) *adminjson.TaskInfo {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	var info adminjson.TaskInfo
	if f.ask(ctx, "GET "+taskPath(string(id)), nil, &info) != nil {
		return new(adminjson.TaskInfo)
	}
	return &info
}
