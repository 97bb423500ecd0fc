package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/events"
)

// watchCmd prints the events of a hub.
type watchCmd struct {
	hubFlags
	All      bool     `help:"The events of all owners, for administrators. It is required."`
	Agent    string   `help:"Only events of this agent." placeholder:"NAME"`
	Owner    string   `help:"Only events of this owner, such as org:acme." placeholder:"OWNER"`
	Task     string   `help:"Only events of the tasks with this id." placeholder:"ID"`
	Context  string   `help:"Only events of the tasks of this context." placeholder:"ID"`
	Kind     []string `help:"Only these kinds: families such as task, worker, webhook, agent, inbox, dead, audit, hub, or types such as task.status." placeholder:"KIND"`
	After    string   `help:"Begin after the event with this id; \"first\" means with the oldest. Without it, begin now." placeholder:"ID"`
	NoFollow bool     `help:"End with the newest event."`
	JSON     bool     `name:"json" help:"Print the events as JSON, one a line."`
}

// Help shows examples.
func (watchCmd) Help() string {
	return `Prints each event of the hub on a line with six columns separated by tabs: time, type, owner, agent, task, and ` +
		`details as name=value. The watch resumes a broken stream where it ended. A line of type gap stands for events ` +
		`that the hub could not keep. The hub records the watch in its audit log. "parley tasks watch" follows one task.

Examples:

    parley watch --all
    parley watch --all --kind task.status,webhook --agent report
    parley watch --all --after first --no-follow --json`
}

// Run prints the events until it is interrupted.
func (c *watchCmd) Run(ctx context.Context, o *OS) error {
	if !c.All {
		return usagef("give --all for the events of all owners, or use: parley tasks watch TASK")
	}
	return o.interruptible(ctx, func(in interrupts) error {
		w := &eventWatch{cmd: c, out: o.Stdout, notices: o.Stderr, at: c.After}
		err := w.follow(in.soft)
		if in.soft.Err() != nil {
			return nil // an interruption is the usual end
		}
		return err
	})
}

// eventWatch follows the events of a hub.
type eventWatch struct {
	cmd     *watchCmd
	out     io.Writer
	notices io.Writer
	// at is the id of the last event.
	at string
	// over is set once a stream was complete.
	over bool
}

// follow prints events until ctx ends, or until all were printed. It resumes a broken stream;
// only the first stream must open at once.
func (w *eventWatch) follow(ctx context.Context) error {
	pause, away, opened := treeRetry, false, false
	for {
		resp, err := w.open(ctx)
		switch {
		case err == nil:
			if away {
				fmt.Fprintf(w.notices, "parley: %s reports events again\n", w.cmd.URL)
			}
			pause, away, opened = treeRetry, false, true
			err = w.show(resp.Body)
			resp.Body.Close()
			if err != nil || w.over || ctx.Err() != nil {
				return err
			}
		case !opened || !passing(err):
			return err
		}
		if !away {
			fmt.Fprintf(w.notices, "parley: %s reports no more events; waiting for it\n", w.cmd.URL)
			away = true
		}
		if backoff.Sleep(ctx, pause) != nil {
			return nil
		}
		pause = min(2*pause, treeRetryMost)
	}
}

// open opens a stream.
func (w *eventWatch) open(ctx context.Context) (*http.Response, error) {
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
	resp, err := c.events(ctx, "/events?"+q.Encode())
	if err != nil || resp.StatusCode == http.StatusOK {
		return resp, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxEvent))
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	err = c.refusal(resp, body)
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests {
		err = fmt.Errorf("%w: %w", errBusy, err)
	}
	return nil, err
}

// show prints the events of a stream.
func (w *eventWatch) show(stream io.Reader) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			w.at = value
		case "data":
			if err := w.event(value); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s sends events that are too long: %w", w.cmd.URL, client.ErrUnreachable)
	}
	return nil
}

// event prints an event.
func (w *eventWatch) event(data string) error {
	var e events.Event
	if err := json.Unmarshal([]byte(data), &e); err != nil || e.Type == "" {
		return fmt.Errorf("%s answers with something else than a Parley hub does", w.cmd.URL)
	}
	if e.Type == events.StreamEnd && w.cmd.NoFollow {
		w.over = true
		return nil
	}
	if w.cmd.JSON {
		_, err := fmt.Fprintln(w.out, data)
		return err
	}
	_, err := fmt.Fprintf(w.out, "%s\t%s\t%s\t%s\t%s\t%s\n", timeName(&e.Time), plain(e.Type), dash(plain(string(e.Owner))),
		dash(plain(string(e.Agent))), dash(plain(string(e.Task))), details(e.Data))
	return err
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
