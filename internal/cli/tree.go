package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/front/adminapi"
)

const (
	// treeRows is the maximum number of tasks of a tree on a terminal.
	treeRows = 20
	// treeMost is the maximum number of tasks of a tree that are kept.
	treeMost = 1000
)

// treeShow writes the tree of a task, if it has more than one task.
type treeShow struct {
	out io.Writer
	// format writes each change as data. drawn draws the whole tree again on each change.
	format format
	drawn  bool

	nodes []treeNode
	at    map[a2a.TaskID]int // index in nodes
	// rows is the number of lines of the drawn tree above the cursor.
	rows int
}

// treeNode is a task with the time at which the hub reported it.
type treeNode struct {
	adminapi.TreeTask
	seen time.Time
}

func (n *treeNode) age() time.Duration {
	age := time.Duration(n.AgeMs) * time.Millisecond
	if !a2a.TaskState(n.State).Terminal() {
		age += time.Since(n.seen)
	}
	return age
}

// shown reports whether the tree is shown: a single task is not.
func (t *treeShow) shown() bool { return t != nil && len(t.nodes) > 1 }

// put adds or updates a task; it reports whether the tree has changed.
func (t *treeShow) put(n *adminapi.TreeTask) bool {
	i, known := t.at[n.TaskID]
	if !known {
		if len(t.nodes) == treeMost {
			return false
		}
		t.at[n.TaskID] = len(t.nodes)
		t.nodes = append(t.nodes, treeNode{*n, time.Now()})
		return true
	}
	old := t.nodes[i].TreeTask
	t.nodes[i] = treeNode{*n, time.Now()}
	old.AgeMs = n.AgeMs
	return old != *n
}

// node shows a task of the tree.
func (s *show) node(n *adminapi.TreeTask) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tree
	first := !t.shown()
	if !t.put(n) || !t.shown() {
		return nil
	}
	s.endLine()
	switch {
	case t.drawn:
		return t.draw()
	case first:
		for i := range t.nodes {
			if err := t.line(&t.nodes[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return t.line(&t.nodes[t.at[n.TaskID]])
}

// branches reports whether the task has delegated work.
func (s *show) branches() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tree.shown()
}

// redraw draws the tree with the current ages.
func (s *show) redraw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tree.shown() {
		_ = s.tree.draw() // the next change reports the error
	}
}

func (t *treeShow) line(n *treeNode) error {
	if t.format.data() {
		return t.format.encode(t.out, map[string]any{"node": &n.TreeTask})
	}
	_, err := fmt.Fprintf(t.out, "%s\t%s\t%s\t%s\t%s\t%s\n", plain(string(n.TaskID)), cmp.Or(plain(string(n.ParentID)), "-"),
		stateName(a2a.TaskState(n.State)), plain(string(n.Agent)), ageName(n.age()), plain(n.note()))
	return err
}

// note returns the remark on a task beside its state.
func (n *treeNode) note() string {
	switch {
	case n.More:
		return "(further tasks are not shown) " + n.Text
	case n.Below == adminapi.Unanswered:
		return "(its server has not listed the tasks below it) " + n.Text
	case n.CancelRequested && !a2a.TaskState(n.State).Terminal():
		return "(to be canceled) " + n.Text
	}
	return n.Text
}

// draw draws the tree over the previous one. The terminal cuts long lines, so that each row is
// one line.
func (t *treeShow) draw() error {
	var b strings.Builder
	if t.rows > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", t.rows)
	}
	b.WriteString("\x1b[?7l")
	rows := t.table()
	t.rows = len(rows)
	for _, row := range rows {
		b.WriteString(row + "\n")
	}
	b.WriteString("\x1b[?7h")
	_, err := io.WriteString(t.out, b.String())
	return err
}

// treeTable is a tree as rows.
type treeTable struct {
	*treeShow
	// labels are the names of the agents with their branches.
	labels []string
	nodes  []*treeNode
}

// table returns the tree as lines.
func (t *treeShow) table() []string {
	all := treeTable{treeShow: t}
	all.add("", "", 0)
	hidden := 0
	if len(all.nodes) > treeRows {
		hidden = len(all.nodes) - treeRows + 1
		all.nodes = all.nodes[:treeRows-1]
	}
	width := 0
	for i := range all.nodes {
		width = max(width, utf8.RuneCountInString(all.labels[i]))
	}
	var rows []string
	for i, n := range all.nodes {
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(all.labels[i]))
		rows = append(rows, strings.TrimRight(fmt.Sprintf("%s%s  %-14s %6s  %s", all.labels[i], pad,
			stateName(a2a.TaskState(n.State)), ageName(n.age()), plain(n.note())), " "))
	}
	if hidden > 0 {
		rows = append(rows, fmt.Sprintf("… and %d more", hidden))
	}
	return rows
}

// add adds the task at an index and its descendants. lead precedes the task itself, below its
// children. A child always comes after its parent.
func (t *treeTable) add(lead, below string, i int) {
	n := &t.treeShow.nodes[i]
	name := plain(string(n.Agent))
	if n.Kind == "remote" {
		name += " (remote)"
	}
	t.labels, t.nodes = append(t.labels, lead+name), append(t.nodes, n)
	var children []int
	for j := i + 1; j < len(t.treeShow.nodes); j++ {
		if t.treeShow.nodes[j].ParentID == n.TaskID {
			children = append(children, j)
		}
	}
	for k, j := range children {
		branch, next := "├─ ", "│  "
		if k == len(children)-1 {
			branch, next = "└─ ", "   "
		}
		t.add(below+branch, below+next, j)
	}
}

// ageName formats a duration for a person: 12s, 3m04s, 2h05m, 4d07h.
func ageName(d time.Duration) string {
	switch s := int(d.Seconds()); {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 24*3600:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	default:
		return fmt.Sprintf("%dd%02dh", s/(24*3600), s/3600%24)
	}
}
