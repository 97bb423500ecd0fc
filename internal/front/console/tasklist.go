package console

import (
	"bytes"
	"cmp"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
)

const (
	// rowsAtOnce is the number of tasks that are read from the hub at once.
	rowsAtOnce = 100
	// maxSorted is the number of tasks that are sorted.
	maxSorted = 1000
)

// sizes are the numbers of tasks that a page of the list may have.
var sizes = []int{50, 100, 1000, 10_000}

// column is a column of the list of tasks.
type column struct {
	// Name is that in addresses, and Label the head.
	Name, Label string
	// Usual is set for a column that is shown by default, and Num for one of numbers.
	Usual, Num bool
	// order compares by the column, the first click's order; nil if the list cannot be sorted by it.
	order func(a, b *adminjson.TaskInfo) int
}

// Sortable reports whether the list can be sorted by the column.
func (c column) Sortable() bool { return c.order != nil }

// columns are all columns in their order.
var columns = []column{
	{Name: "state", Label: "State", Usual: true, order: func(a, b *adminjson.TaskInfo) int {
		return cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State))
	}},
	{Name: "message", Label: "Message", Usual: true},
	{Name: "agent", Label: "Agent", Usual: true, order: func(a, b *adminjson.TaskInfo) int { return cmp.Compare(a.Agent, b.Agent) }},
	{Name: "owner", Label: "Owner", order: func(a, b *adminjson.TaskInfo) int { return cmp.Compare(a.Owner, b.Owner) }},
	{Name: "tokens", Label: "Tokens", Usual: true, Num: true, order: func(a, b *adminjson.TaskInfo) int {
		return cmp.Compare(b.InputTokens+b.OutputTokens, a.InputTokens+a.OutputTokens)
	}},
	{Name: "cost", Label: "Cost", Num: true, order: func(a, b *adminjson.TaskInfo) int { return cmp.Compare(b.CostUSD, a.CostUSD) }},
	{Name: "attempts", Label: "Attempts", Num: true, order: func(a, b *adminjson.TaskInfo) int { return cmp.Compare(b.Attempt, a.Attempt) }},
	{Name: "changed", Label: "Changed", Usual: true, order: func(a, b *adminjson.TaskInfo) int { return b.ChangedAt.Compare(a.ChangedAt) }},
	{Name: "created", Label: "Created", order: func(a, b *adminjson.TaskInfo) int { return b.CreatedAt.Compare(a.CreatedAt) }},
	{Name: "silent", Label: "Silent", Num: true, order: func(a, b *adminjson.TaskInfo) int { return cmp.Compare(silentOf(b), silentOf(a)) }},
	{Name: "took", Label: "Took", Usual: true, Num: true, order: func(a, b *adminjson.TaskInfo) int { return cmp.Compare(tookOf(b), tookOf(a)) }},
	{Name: "id", Label: "Id", Usual: true},
	{Name: "context", Label: "Context"},
}

// columnsOf returns the columns with the names, which are separated by commas; without any, the usual ones.
func columnsOf(names string) (all []column) {
	chosen := strings.Split(names, ",")
	for _, c := range columns {
		if names == "" && c.Usual || slices.Contains(chosen, c.Name) {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return columnsOf("")
	}
	return all
}

// taskTable are tasks with the columns that are shown of them.
type taskTable struct {
	Tasks   []adminjson.TaskInfo
	Columns []column
	// Filter is that of a list that can be sorted; nil for another one.
	Filter filter
	// Pick is set if the person may choose rows.
	Pick bool
	// Cut marks the end of the rows of a page that is written in pieces.
	Cut template.HTML
}

// Order returns the direction in which the table is sorted by a column, as ARIA names it; empty for none.
// Times and numbers begin with the largest.
func (t taskTable) Order(c column) string {
	by, reverse := strings.CutPrefix(t.Filter["sort"], "-")
	switch falls := c.Num || c.Name == "changed" || c.Name == "created"; {
	case by != c.Name:
		return ""
	case falls != reverse:
		return "descending"
	}
	return "ascending"
}

// Sort returns the query of the list sorted by a column, and in the reverse order if it is already.
func (t taskTable) Sort(name string) string {
	if t.Filter["sort"] == name {
		name = "-" + name
	}
	return t.Filter.Query("sort", name)
}

// tasksView is the page of tasks.
type tasksView struct {
	Filter filter
	Page   string
	Counts []count
	Table  taskTable
	Agents []string
	States []string
	// Choices are all columns, and Sizes the possible numbers of rows.
	Choices []columnChoice
	Sizes   []int
	Size    int
	Next    string
	Error   string
	// Sorted is the number of tasks among which the page is sorted; zero if it is not. Partial is set if a
	// search may miss tasks.
	Sorted  int
	Partial bool
	// Base is the address of the hub, and Keyed is set if a command needs a key.
	Base  string
	Keyed bool
	// Cut marks the place of the links to other pages.
	Cut template.HTML
}

// isID reports whether a search is the beginning of a UUID, which is the id of a task in place of a word.
func isID(s string) bool {
	return len(s) > 8 && s[8] == '-' && strings.Trim(s, "0123456789abcdef-") == ""
}

// placed is a filter with the page that has it.
type placed struct {
	Page   string
	Filter filter
}

// columnChoice is a column that may be shown.
type columnChoice struct {
	column
	Shown bool
}

// Narrow reports whether the filter selects some of the tasks in the scope.
func (v tasksView) Narrow() bool {
	for _, name := range []string{"q", "agent", "state", "context", "owner", "id", "since", "until"} {
		if v.Filter[name] != "" {
			return true
		}
	}
	return false
}

// More reports whether a field beside those of the line is filled.
func (v tasksView) More() bool {
	f := v.Filter
	return f["id"]+f["context"]+f["since"]+f["until"]+f["owner"] != ""
}

// Beyond reports whether the filter has fields that the counts of tasks do not, so that they do not say whether the list
// is stale.
func (v tasksView) Beyond() bool {
	f := v.Filter
	return f["q"]+f["id"]+f["context"]+f["since"]+f["until"] != ""
}

// cut is where a page that is written in pieces is continued.
const cut = template.HTML("<!--cut-->")

// tasks answers with a page of the list of tasks. The beginning of an id that only one task has
// leads to the task.
func tasks(p *page) error {
	v := tasksView{
		Filter: p.filterOf(taskFields), Page: strings.TrimSpace(p.r.FormValue("page")), States: states, Sizes: sizes,
		Base: p.hub.origin(p.r), Keyed: p.session.key != "",
	}
	if isID(v.Filter["q"]) {
		v.Filter["id"], v.Filter["q"] = v.Filter["q"], ""
	}
	if chosen := p.r.Form["col"]; len(chosen) > 0 {
		v.Filter["cols"] = strings.Join(chosen, ",")
	}
	v.Table = taskTable{Filter: v.Filter, Columns: columnsOf(v.Filter["cols"]), Pick: true}
	for _, c := range columns {
		v.Choices = append(v.Choices, columnChoice{c, slices.ContainsFunc(v.Table.Columns, func(s column) bool { return s.Name == c.Name })})
	}
	v.Size = sizes[0]
	if n, err := strconv.Atoi(v.Filter["n"]); err == nil && slices.Contains(sizes, n) {
		v.Size = n
	}
	list, err := p.firstTasks(&v)
	switch refused := refusedBy(err); {
	case refused != nil && refused.Code == http.StatusBadRequest:
		v.Error = refused.Message
	case refused != nil && refused.Code == http.StatusForbidden && v.Filter["scope"] == "all" && p.r.FormValue("scope") == "" && v.Filter["owner"] == "":
		p.hub.see(p.w, p.r, Root+"tasks?scope=mine") // a policy denies the default
		return nil
	case err != nil:
		return err
	}
	id := v.Filter["id"]
	if id != "" && v.Page == "" && len(list.Tasks) == 1 && list.NextPageToken == "" {
		t := &list.Tasks[0]
		p.hub.see(p.w, p.r, taskURL(string(t.TaskID), p.other(t.Owner)))
		return nil
	}
	if v.Table.Tasks, v.Next, v.Partial = list.Tasks, list.NextPageToken, list.Partial; id != "" && len(list.Tasks) == 0 && v.Error == "" {
		v.Error = "There is no task with this id, or it belongs to another caller."
	}
	p.others(v.Table.Tasks)
	v.Counts, _ = p.counts() // a caller may be without permission to list tasks
	v.Agents = p.agentNames()
	if n := len(list.Tasks); v.Sorted > 0 || v.Next == "" || n == 0 || n >= v.Size {
		p.show(http.StatusOK, "tasks", v)
		return nil
	}
	return p.showLong(&v)
}

// firstTasks reads the first tasks of a page: all of one that is sorted.
func (p *page) firstTasks(v *tasksView) (list adminjson.TaskList, err error) {
	by, reverse := strings.CutPrefix(v.Filter["sort"], "-")
	i := slices.IndexFunc(columns, func(c column) bool { return c.Name == by && c.Sortable() })
	if i < 0 {
		return p.taskList(v.Filter, v.Page, min(v.Size, rowsAtOnce))
	}
	for more := true; more && len(list.Tasks) < maxSorted; more = list.NextPageToken != "" {
		next, err := p.taskList(v.Filter, list.NextPageToken, rowsAtOnce)
		if err != nil {
			return list, err
		}
		list.Tasks, list.NextPageToken, list.Partial = append(list.Tasks, next.Tasks...), next.NextPageToken, next.Partial
	}
	v.Sorted, list.NextPageToken = len(list.Tasks), ""
	slices.SortStableFunc(list.Tasks, func(a, b adminjson.TaskInfo) int {
		if reverse {
			a, b = b, a
		}
		return columns[i].order(&a, &b)
	})
	list.Tasks = list.Tasks[:min(len(list.Tasks), v.Size)]
	return list, nil
}

// showLong answers with a page that is written while its tasks are read.
func (p *page) showLong(v *tasksView) error {
	v.Table.Cut, v.Cut = cut, cut
	whole, err := p.whole("tasks", *v)
	if err != nil {
		return err
	}
	pieces := bytes.SplitN(whole, []byte(cut), 3)
	p.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	out := http.NewResponseController(p.w)
	send := func(b []byte) bool {
		_ = out.SetWriteDeadline(time.Now().Add(writeTime)) // not every writer has one
		_, err := p.w.Write(b)
		return err == nil && out.Flush() == nil
	}
	for n := len(v.Table.Tasks); send(pieces[0]) && n < v.Size && v.Next != ""; {
		rows, count := p.moreRows(v, min(v.Size-n, rowsAtOnce))
		if count == 0 {
			break // the hub refuses more: the link to the next page shows why
		}
		pieces[0], n = rows, n+count
	}
	pager, err := p.piece("pager", v)
	if err != nil {
		return err
	}
	_ = send(slices.Concat(pieces[1], pager, pieces[2])) // an error means that the browser has disconnected
	return nil
}

// writeTime is the time that a browser has to take a piece of a page.
const writeTime = 30 * time.Second

// moreRows returns the rows of the next tasks of a page, and their number.
func (p *page) moreRows(v *tasksView, limit int) (rows []byte, count int) {
	p, drop := p.scoped()
	defer drop()
	list, err := p.taskList(v.Filter, v.Next, limit)
	if err != nil {
		return nil, 0
	}
	p.others(list.Tasks)
	rows, err = p.piece("lines", taskTable{Tasks: list.Tasks, Columns: v.Table.Columns, Pick: true})
	if err != nil {
		return nil, 0
	}
	v.Next = list.NextPageToken
	return rows, len(list.Tasks)
}

// others removes the owner of the caller's own tasks.
func (p *page) others(all []adminjson.TaskInfo) {
	for i := range all {
		all[i].Owner = p.other(all[i].Owner)
	}
}

// taskList reads up to limit tasks. An administrator who looks at their own tasks finds those of all owners
// by their ids.
func (p *page) taskList(f filter, at string, limit int) (list adminjson.TaskList, err error) {
	ask := func(f filter) error {
		return p.get("/api/v1/tasks?"+f.ask("pageToken", at, "pageSize", limit), &list)
	}
	err = ask(f)
	if f["id"] == "" || err != nil || len(list.Tasks) > 0 || !p.caller.Admin || f["scope"] == "all" {
		return list, err
	}
	all := maps.Clone(f)
	all["scope"] = "all"
	if err = ask(all); isMissing(err) {
		return list, nil
	}
	return list, err
}
