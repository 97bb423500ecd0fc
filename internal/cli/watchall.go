package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/events"
)

type watchCmd struct {
	hubFlags
	All      bool     `help:"Required: the events of all owners, for administrators."`
	Agent    string   `help:"Only events of this agent." placeholder:"NAME"`
	Owner    string   `help:"Only events of this owner, such as org:acme." placeholder:"OWNER"`
	Task     string   `help:"Only events of the tasks with this id." placeholder:"ID"`
	Context  string   `help:"Only events of the tasks of this context." placeholder:"ID"`
	Kind     []string `help:"Only these kinds: families such as task, worker, webhook, agent, inbox, dead, audit, hub, or types such as task.status." placeholder:"KIND"`
	After    string   `help:"Start after the event with this id, or with the oldest event if it is \"first\"; by default, start now." placeholder:"ID"`
	NoFollow bool     `help:"Stop at the newest event."`
	format
}

// Run prints the events until it is interrupted.
func (c *watchCmd) Run(in interrupts, o *OS) error {
	if !c.All {
		return usagef("give --all for the events of all owners, or use: parley tasks watch TASK")
	}
	w := &eventWatch{cmd: c, out: o.Stdout, notices: o.Stderr, at: c.After}
	f := &follower{hub: &w.cmd.hubFlags, kind: "events", path: w.path, show: w.show, notices: w.notices}
	err := f.run(in.soft)
	if in.soft.Err() != nil {
		return nil // an interruption is the usual end
	}
	return err
}

// eventWatch follows the events of a hub.
type eventWatch struct {
	cmd     *watchCmd
	out     io.Writer
	notices io.Writer
	// at is the id of the last event.
	at string
}

// path returns the path of the stream that begins after the last event.
func (w *eventWatch) path() string {
	c, q := w.cmd, url.Values{}
	for name, value := range map[string]string{
		"agent": c.Agent, "owner": c.Owner, "task": c.Task, "context": c.Context, "kind": strings.Join(c.Kind, ","), "after": w.at,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if c.NoFollow {
		q.Set("follow", "false")
	}
	return "/events?" + q.Encode()
}

// show prints the events of a stream. It reports whether all were printed.
func (w *eventWatch) show(stream io.Reader) (over bool, err error) {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			w.at = value
		case "data":
			if over, err := w.event(value); over || err != nil {
				return over, err
			}
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return false, fmt.Errorf("%s sends events that are too long: %w", w.cmd.URL, client.ErrUnreachable)
	}
	return false, nil
}

// event prints an event. It reports whether it was the last one.
func (w *eventWatch) event(data string) (last bool, err error) {
	var e events.Event
	if err := json.Unmarshal([]byte(data), &e); err != nil || e.Type == "" {
		return false, fmt.Errorf("%s is not a Parley hub: unexpected response", w.cmd.URL)
	}
	if e.Type == events.StreamEnd && w.cmd.NoFollow {
		return true, nil
	}
	if w.cmd.yaml() {
		return false, writeYAML(w.out, []byte(data))
	}
	if w.cmd.data() {
		_, err = fmt.Fprintln(w.out, data)
		return false, err
	}
	_, err = fmt.Fprintf(w.out, "%s\t%s\t%s\t%s\t%s\t%s\n", timeName(&e.Time), plain(e.Type), dash(plain(string(e.Owner))),
		dash(plain(string(e.Agent))), dash(plain(string(e.Task))), details(e.Data))
	return false, err
}

// details formats the data of an event on one line, sorted by name.
func details(data map[string]any) string {
	var all []string
	for name, value := range data {
		text := plain(fmt.Sprint(value))
		if text == "" || strings.ContainsAny(text, " =\"") {
			text = strconv.Quote(text)
		}
		all = append(all, plain(name)+"="+text)
	}
	slices.Sort(all)
	return dash(strings.Join(all, " "))
}
