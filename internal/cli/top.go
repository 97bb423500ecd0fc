package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/front/adminapi"
)

type topCmd struct {
	hubFlags
	Every string `help:"The time between two frames." default:"2s" placeholder:"TIME"`
	Tasks int    `help:"The maximum number of tasks to show." default:"10" placeholder:"N"`
	Mine  bool   `help:"Only your own tasks, even as an administrator."`
	Once  bool   `help:"Print one frame and exit, as without a terminal."`
	format
}

// topFrame is one screen of the command.
type topFrame struct {
	Status adminapi.Status      `json:"status"`
	Caller adminjson.Caller     `json:"caller"`
	Counts adminjson.TaskCounts `json:"counts"`
	// Attention are the reasons for which tasks need a person.
	Attention []adminjson.Attention `json:"attention"`
	Agents    []adminjson.Agent     `json:"agents"`
	Tasks     []adminjson.TaskInfo  `json:"tasks"`
	// At is the time of the frame. Took is the time for its requests in milliseconds.
	At   time.Time `json:"at"`
	Took int64     `json:"tookMs"`
}

// maxTop is the maximum number of tasks and of agents of a frame.
const maxTop = 100

func (c *topCmd) Run(in interrupts, o *OS) error {
	every, err := config.ParseDuration(c.Every)
	if err != nil || every < 100*time.Millisecond {
		return usagef("--every: %q must be a duration of at least 100ms", c.Every)
	}
	if c.Tasks < 0 || c.Tasks > maxTop {
		return usagef("--tasks must be a number between 0 and %d", maxTop)
	}
	f, err := c.frame(in.soft)
	switch {
	case err != nil:
		return err
	case c.data():
		return c.encode(o.Stdout, f)
	case c.Once || !o.Terminal:
		_, err := io.WriteString(o.drawing(), f.text(o, nil))
		return err
	}
	return c.live(in.soft, o, f, every)
}

// live draws frames over each other until ctx ends. A hub that does not answer is drawn, too.
func (c *topCmd) live(ctx context.Context, o *OS, f *topFrame, every time.Duration) error {
	w := o.drawing()
	if _, err := io.WriteString(w, "\x1b[?1049h\x1b[?25l\x1b[?7l"); err != nil {
		return err
	}
	defer io.WriteString(w, "\x1b[?7h\x1b[?25h\x1b[?1049l") //nolint:errcheck // the terminal is gone then
	tick := time.NewTicker(every)
	defer tick.Stop()
	trouble := ""
	for before := (*topFrame)(nil); ; {
		if _, err := io.WriteString(w, "\x1b[H"+strings.ReplaceAll(o.fit(f.text(o, before), trouble), "\n", "\x1b[K\n")+"\x1b[J"); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		next, err := c.frame(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if trouble = ""; err != nil {
			trouble = "\n" + plain(err.Error()) + "\n"
			continue
		}
		before, f = f, next
	}
}

// fit returns text and the end below it, with as many lines of the text as the terminal has room
// for. A longer drawing would scroll its first lines off the screen.
func (o *OS) fit(text, end string) string {
	room := 0
	if o.Lines != nil {
		room = o.Lines() - strings.Count(end, "\n") - 2 // the note, and the line of the cursor
	}
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1] // nothing follows the last line feed
	if room <= 0 || len(lines) <= room+1 {
		return text + end
	}
	return strings.Join(lines[:room], "") + fmt.Sprintf("… and %s that do not fit\n", counted(len(lines)-room, "line")) + end
}

// frame asks the hub.
func (c *topCmd) frame(ctx context.Context) (*topFrame, error) {
	f := &topFrame{At: time.Now().UTC()}
	if err := c.ask(ctx, "GET "+adminapi.Root+"/caller", nil, &f.Caller); err != nil {
		return nil, err
	}
	q := url.Values{}
	if f.Caller.Admin && !c.Mine {
		q.Set("scope", "all")
	}
	var agents adminjson.AgentList
	var tasks, submitted adminjson.TaskList
	var attention adminjson.AttentionList
	page := "/tasks?pageSize=" + strconv.Itoa(max(c.Tasks, 1)) + "&" + q.Encode()
	for _, ask := range []struct {
		path string
		out  any
	}{
		{"/status", &f.Status},
		{"/agents", &agents},
		{"/counts?" + q.Encode(), &f.Counts},
		{"/attention?" + q.Encode(), &attention},
		{page, &tasks},
		{page + "&state=" + string(a2a.TaskStateSubmitted), &submitted}, // a task that is held up has not changed lately
	} {
		if err := c.ask(ctx, "GET "+adminapi.Root+ask.path, nil, ask.out); err != nil {
			return nil, err
		}
	}
	f.Agents = append([]adminjson.Agent{}, agents.Agents[:min(len(agents.Agents), maxTop)]...)
	f.Attention = append([]adminjson.Attention{}, attention.Items[:min(len(attention.Items), maxTop)]...)
	f.Tasks = heldFirst(tasks.Tasks, submitted.Tasks)
	f.Tasks = f.Tasks[:min(len(f.Tasks), c.Tasks)]
	f.Took = time.Since(f.At).Milliseconds()
	return f, nil
}

// heldFirst returns the tasks of two lists: those that something holds up, the oldest of them first, and the others,
// the last to change first.
func heldFirst(lists ...[]adminjson.TaskInfo) []adminjson.TaskInfo {
	all, seen := []adminjson.TaskInfo{}, map[a2a.TaskID]bool{}
	for _, t := range slices.Concat(lists...) {
		if !seen[t.TaskID] {
			all, seen[t.TaskID] = append(all, t), true
		}
	}
	slices.SortFunc(all, func(a, b adminjson.TaskInfo) int {
		switch held := a.Waiting.Held(); {
		case held != b.Waiting.Held():
			return map[bool]int{true: -1, false: 1}[held]
		case held:
			return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.TaskID, b.TaskID))
		}
		return cmp.Or(b.ChangedAt.Compare(a.ChangedAt), cmp.Compare(a.TaskID, b.TaskID))
	})
	return all
}

// text draws the frame. before is the previous one, or nil.
func (f *topFrame) text(o *OS, before *topFrame) string {
	var b strings.Builder
	s := &f.Status
	fmt.Fprintf(&b, "parley %s  up %s  %s  %s\n", plain(s.Version), ageName(time.Duration(s.UptimeSeconds)*time.Second), plain(s.Store), f.readiness(o))
	if s.Bus != nil {
		fmt.Fprintf(&b, "bus %s  %s\n", plain(s.Bus.Kind), map[bool]string{true: "connected", false: "not connected: " + plain(s.Bus.Reason)}[s.Bus.Connected])
	}
	b.WriteString("\n" + f.counts(o, before) + "\n\n")
	if len(f.Attention) > 0 {
		_ = f.attention(o).write(&b) // a strings.Builder returns no error
		b.WriteString("\n")
	}
	_ = f.agents(o).write(&b)
	if len(f.Tasks) > 0 {
		b.WriteString("\n")
		_ = f.tasks(o).write(&b)
	}
	return b.String()
}

// readiness returns the failed checks.
func (f *topFrame) readiness(o *OS) string {
	var failed []string
	for _, c := range f.Status.Checks {
		if !c.OK {
			failed = append(failed, plain(c.Name+colon(c.Detail)))
		}
	}
	if len(failed) == 0 {
		return colored(o, green, "ready")
	}
	return colored(o, red, "not ready: "+strings.Join(failed, "; "))
}

func colored(o *OS, color, text string) string {
	if !o.Colors {
		return text
	}
	return color + text + colorOff
}

// counts returns the line of the numbers of tasks. The rate is that of tasks which have ended
// since the frame before.
func (f *topFrame) counts(o *OS, before *topFrame) string {
	parts := []string{"tasks " + strconv.Itoa(f.Counts.Total)}
	for _, s := range states {
		if n := f.Counts.Counts[s.String()]; n > 0 {
			name := stateName(s)
			parts = append(parts, colored(o, stateColors[name], fmt.Sprintf("%s %d", name, n)))
		}
	}
	if before != nil && f.At.After(before.At) {
		ended := 0
		for _, s := range states {
			if s.Terminal() {
				ended += f.Counts.Counts[s.String()] - before.Counts.Counts[s.String()]
			}
		}
		parts = append(parts, fmt.Sprintf("%.1f ended/s", max(0, float64(ended)/f.At.Sub(before.At).Seconds())))
	}
	return strings.Join(parts, "  ")
}

// agents returns the agents with their queues, those with trouble and with waiting work first.
func (f *topFrame) agents(o *OS) *grid {
	queues := map[string]adminapi.QueueStatus{}
	if f.Status.Bus != nil {
		for _, q := range f.Status.Bus.Queues {
			queues[q.Agent] = q
		}
	}
	g := &grid{heads: []string{"AGENT", "KIND", "STATE", "WAITING", "HELD", "WORKERS", "TROUBLE"}, colors: o.Colors, now: f.At}
	rank := func(a *adminjson.Agent) int {
		n := queues[a.Name].Waiting
		if a.State == "down" || a.Paused {
			n += 1 << 40
		}
		return n
	}
	all := slices.Clone(f.Agents)
	slices.SortStableFunc(all, func(a, b adminjson.Agent) int { return cmp.Compare(rank(&b), rank(&a)) })
	for i := range all {
		a := &all[i]
		row := []string{a.Name, a.Kind, cmp.Or(agentState(a), "up"), "-", "-", "-", dash(agentTrouble(a))}
		if q, ok := queues[a.Name]; ok {
			row[3], row[4], row[5] = strconv.Itoa(q.Waiting), strconv.Itoa(q.Held), strconv.Itoa(q.Workers)
		}
		g.rows = append(g.rows, row)
	}
	return g
}

// attention returns why tasks need a person, as the console has it.
func (f *topFrame) attention(o *OS) *grid {
	g := &grid{heads: []string{"ATTENTION", "TASKS", "SINCE", "AGENT", "TASK", "REASON"}, colors: o.Colors, now: f.At}
	for i := range f.Attention {
		a := &f.Attention[i]
		since := a.Since
		if a.Code == adminjson.Failed {
			since = a.Last
		}
		g.rows = append(g.rows, []string{a.Code, strconv.Itoa(a.Count), since.Format(time.RFC3339), a.Agent, string(a.TaskID), a.Text})
	}
	return g
}

func (f *topFrame) tasks(o *OS) *grid {
	g := &grid{heads: []string{"TASK", "STATE", "AGENT", "CHANGED", "TOOK", "OWNER", "WAITING"}, colors: o.Colors, now: f.At}
	for i := range f.Tasks {
		t := &f.Tasks[i]
		end := f.At
		if a2a.TaskState(t.State).Terminal() {
			end = t.ChangedAt
		}
		waiting := "-"
		if t.Waiting.Held() {
			waiting = t.Waiting.Text
		}
		g.rows = append(g.rows, []string{
			string(t.TaskID), stateName(a2a.TaskState(t.State)), t.Agent, t.ChangedAt.Format(time.RFC3339), ageName(max(0, end.Sub(t.CreatedAt))), dash(t.Owner), waiting,
		})
	}
	return g
}
