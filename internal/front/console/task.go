package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
)

const (
	// firstEntries is how many entries of a log a page reads at once; of a longer log it shows
	// the last ones.
	firstEntries = 1000
	lastEntries  = 300
)

// taskView is the page of a task.
type taskView struct {
	Head headView
	// As is the way to show texts.
	As      string
	Entries []entryView
	Tree    treeSum
	// Earlier is set if the page begins after the first entry; First and Before are the versions
	// around it.
	Earlier bool
	From    int64
	// Cursor is the version after which the script follows; Live is set if the task may still
	// change.
	Cursor int64
	Live   bool
	// Revision is that of the summary, which may be older than the entries.
	Revision string
	// After are the notices after the last entry, and News is the event after which the script
	// follows them.
	After   []mark
	News    string
	Hooks   []hookView
	Copy    *copyView
	Error   string
	Operate operateView
	// Agents are those to which an operator may assign the task.
	Agents []string
	// At is the address at which the task is performed, for administrators.
	At string
}

// title distinguishes the tabs of a browser.
func (v taskView) title() string { return stateWord(v.Head.State) + " · " + v.Head.Agent }

// headView is the summary of a task.
type headView struct {
	adminjson.TaskInfo
	Worker          string
	Attempt         int64
	CancelRequested bool
	Version         int64
	Owner           string
	Ended           bool
	Asks            bool
	// Mine is set if the caller may change the task.
	Mine bool
	// Draft is an answer that the person has begun.
	Draft string
	Took  time.Duration
	// Silent is how long the agent has sent no output, of a task at work.
	Silent time.Duration
}

// hookView is a webhook of a task, for administrators.
type hookView struct {
	Config, URL, State string
	Task, Owner        string
	Delivered, Version int64
	Tries              int
	NextTry            *time.Time
	LastError          string
	Dead               []deadView `json:"deadLetters"`
}

// deadView is a range of versions that a webhook has not accepted.
type deadView struct {
	First, Last int64
	At          *time.Time
	Attempts    int
	Reason      string
}

// treeView is a task in the tree of delegations.
type treeView struct {
	TaskID    string
	Depth     int
	Agent     string
	Kind      string
	State     string
	Text      string
	CreatedAt time.Time
	AgeMs     int64
	More      bool
	Input     int64   `json:"inputTokens"`
	Output    int64   `json:"outputTokens"`
	USD       float64 `json:"costUsd"`
	// Took is AgeMs as a duration; Offset and Width place it in the time of the whole tree, in
	// steps of a twentieth.
	Took          time.Duration `json:"-"`
	Offset, Width int           `json:"-"`
	Here          bool          `json:"-"`
	// Via is the remote agent whose server has listed the task; Below says whether the server of a
	// remote agent has listed the tasks below its own.
	Via, Below string
	// Address is that of a remote agent, for administrators. The tasks below it are there.
	Address string `json:"-"`
	// Owner is the owner of the task if it is not the caller.
	Owner string `json:"-"`
}

// treeSum is a tree with the sums over its tasks.
type treeSum struct {
	Tasks []treeView
	// all are the tasks also of a tree that is not shown, because it is the task alone.
	all           []treeView
	Open          int
	Took          time.Duration
	Input, Output int64
	USD           float64
	// Far is set if other servers list tasks, or may list some, and Asks while one is asked.
	Far, Asks bool
	// At is the address at which the task of the page is performed, for administrators.
	At string
}

// segment escapes an id for a path.
func segment(id string) string { return url.PathEscape(id) }

// ended reports whether a state is final.
func ended(state string) bool {
	switch state {
	case "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED":
		return true
	}
	return false
}

// headOf returns the summary of a log.
func (p *page) headOf(l *adminjson.TaskLog) headView {
	h := headView{
		TaskInfo: l.Task, Worker: l.Worker, Attempt: l.Attempt, CancelRequested: l.CancelRequested, Version: l.Version,
		Owner: p.r.FormValue("owner"), Ended: ended(l.Task.State),
	}
	h.Asks = strings.HasSuffix(l.Task.State, "INPUT_REQUIRED") || strings.HasSuffix(l.Task.State, "AUTH_REQUIRED")
	h.Mine = h.Owner == "" || h.Owner == p.caller.Owner
	h.Took, h.Silent = tookOf(&l.Task), silentOf(&l.Task)
	return h
}

// tookOf returns how long a task has taken, or takes so far.
func tookOf(t *adminjson.TaskInfo) time.Duration {
	if ended(t.State) {
		return t.ChangedAt.Sub(t.CreatedAt)
	}
	return time.Since(t.CreatedAt)
}

// silentOf returns how long the agent of a task has sent no output; zero for a task that is not at work.
func silentOf(t *adminjson.TaskInfo) time.Duration {
	if t.QuietSince == nil {
		return 0
	}
	return max(0, time.Since(*t.QuietSince))
}

// longSilent is how long an agent is silent before a list says so.
const longSilent = time.Minute

// showTask answers with the page of a task.
func showTask(p *page) error { return p.showTask(http.StatusOK, "") }

// showTask answers with the page of a task and the error of a change, if there is one.
func (p *page) showTask(code int, trouble string) error {
	l, err := p.readLog()
	if err != nil {
		return err
	}
	head := p.headOf(l)
	r := p.readerOf(l)
	v := taskView{Head: head, As: r.as, Entries: r.views(l.Entries), Copy: p.copies(l), Error: trouble, Revision: l.Revision, Live: !head.Ended || l.Next > 0}
	if n := len(l.Entries); n > 0 {
		v.From, v.Cursor = l.Entries[0].Version, l.Entries[n-1].Version
		v.Earlier = v.From > 1
		if v.Live {
			v.Entries[len(v.Entries)-1].unfinished()
		}
	}
	var notices []mark
	notices, v.News = p.past(l)
	v.After = weave(v.Entries, notices, v.Earlier)
	v.Tree = p.tree()
	v.Live = v.Live || v.Tree.Asks
	if v.Hooks = p.hooks(head.Owner); len(v.Entries) > 0 {
		annotate(v.Entries, v.Hooks)
	}
	if v.Operate = p.operateView(l); len(l.Operations) > 0 && !head.Ended {
		v.Agents = p.agentNames()
	}
	if v.At = v.Tree.At; v.At == "" {
		v.At = p.addressOf(cmp.Or(l.Worker, l.Task.Agent))
	}
	v.Head.Draft = p.r.URL.Query().Get("text")
	p.show(code, "task", v)
	return nil
}

// readerOf returns the reader of a log for the page.
func (p *page) readerOf(l *adminjson.TaskLog) *reader {
	r := &reader{task: p.r.FormValue("id"), owner: p.r.FormValue("owner"), agent: cmp.Or(l.Worker, l.Task.Agent), room: maxPage}
	if as := p.r.FormValue("as"); as == "text" || as == "markdown" {
		r.as = as
	}
	return r
}

// readLog reads the entries that a page shows: all of a short log, else the last ones, or those
// after the version in the address.
func (p *page) readLog() (*adminjson.TaskLog, error) {
	l, after := new(adminjson.TaskLog), p.r.FormValue("after")
	if after != "" {
		return l, p.get(p.logPath("", "after", after, "limit", firstEntries), l)
	}
	if err := p.get(p.logPath("", "limit", firstEntries), l); err != nil || l.Next == 0 {
		return l, err
	}
	last := new(adminjson.TaskLog)
	return last, p.get(p.logPath("", "after", max(0, l.Version-lastEntries)), last)
}

// tree returns the tasks below a task with their sums; no tasks if there is only the task itself, or if
// the caller may not read it.
func (p *page) tree() treeSum {
	sum := p.readTree()
	p.addresses(&sum)
	return sum
}

// readTree is tree without the addresses of remote agents.
func (p *page) readTree() (sum treeSum) {
	var answer struct {
		Tasks []treeView
	}
	id, owner := p.r.FormValue("id"), p.r.FormValue("owner")
	path := "/api/v1/tasks/" + segment(id) + "/tree"
	if owner == p.caller.Owner {
		owner = ""
	}
	if owner != "" {
		path += "?" + query("scope", "all", "owner", owner)
	}
	if err := p.get(path, &answer); err != nil || len(answer.Tasks) == 0 {
		return sum
	}
	sum.Took, sum.all = place(answer.Tasks, id), answer.Tasks
	for i := range answer.Tasks {
		t := &answer.Tasks[i]
		t.Owner = owner
		sum.Input, sum.Output, sum.USD = sum.Input+t.Input, sum.Output+t.Output, sum.USD+t.USD
		if !ended(t.State) {
			sum.Open++
		}
		sum.Far, sum.Asks = sum.Far || t.Below != "" || t.remote() && !ended(t.State), sum.Asks || t.Below == "asking"
	}
	if len(answer.Tasks) > 1 || sum.Asks || sum.Input+sum.Output > 0 || sum.USD > 0 {
		sum.Tasks = answer.Tasks
	}
	return sum
}

// addresses sets the addresses of remote agents for an administrator.
func (p *page) addresses(s *treeSum) {
	remote := false
	for i := range s.all {
		remote = remote || s.all[i].remote()
	}
	if !p.caller.Admin || !remote {
		return
	}
	list, _ := p.agentList() // a policy may hide them
	locate(s.all, list.Agents)
	for i := range s.all {
		if t := &s.all[i]; t.Here {
			s.At = t.Address
		}
	}
}

// state identifies the content of a tree on a page, except times.
func (s *treeSum) state() string {
	var b []byte
	for i := range s.Tasks {
		t := &s.Tasks[i]
		b = fmt.Append(b, t.TaskID, t.State, t.Text, t.Below, t.More, t.Input, t.Output, t.USD, ";")
	}
	return key(string(b))
}

// remote reports whether the agent of the task is another server.
func (t *treeView) remote() bool { return t.Kind == "remote" }

// locate sets the addresses of remote agents. Only administrators get them from the hub.
func locate(tasks []treeView, agents []adminjson.Agent) {
	for i := range tasks {
		for j := range agents {
			if t, a := &tasks[i], &agents[j]; t.remote() && a.Name == t.Agent && a.Remote != nil {
				t.Address = a.Remote.URL
			}
		}
	}
}

// addressOf returns the address of a remote agent, for administrators. The reasons of failures that other callers
// have got do not name it.
func (p *page) addressOf(agent string) string {
	var a adminjson.Agent
	if !p.caller.Admin || p.get("/api/v1/agents/"+segment(agent), &a) != nil || a.Remote == nil {
		return ""
	}
	return a.Remote.URL
}

// place computes where each task lies in the time of the tree, and returns that time.
func place(all []treeView, here string) time.Duration {
	first, last := all[0].CreatedAt, all[0].CreatedAt.Add(time.Millisecond)
	for i := range all {
		t := &all[i]
		t.Took, t.Here = time.Duration(t.AgeMs)*time.Millisecond, t.TaskID == here
		if end := t.CreatedAt.Add(t.Took); end.After(last) {
			last = end
		}
		t.Depth = min(t.Depth, 12)
	}
	whole := last.Sub(first)
	for i := range all {
		t := &all[i]
		t.Offset = min(19, max(0, int(20*t.CreatedAt.Sub(first)/whole)))
		t.Width = min(20-t.Offset, max(1, int(20*t.Took/whole)))
	}
	return whole
}

// hooks returns the webhooks of a task of an owner, if the caller may see them.
func (p *page) hooks(owner string) (of []hookView) {
	if !p.caller.Admin {
		return nil
	}
	var answer struct {
		Webhooks []hookView
	}
	if err := p.get("/api/v1/push?"+query("task", p.r.FormValue("id")), &answer); err != nil {
		return nil
	}
	if owner == "" {
		owner = p.caller.Owner
	}
	for i := range answer.Webhooks {
		if h := &answer.Webhooks[i]; h.Owner == owner {
			of = append(of, *h)
		}
	}
	return of
}

// annotate adds the deliveries to webhooks to the entries of a page: the last entry that each has
// accepted, and those that none of its tries could deliver.
func annotate(entries []entryView, hooks []hookView) {
	for i := range hooks {
		h := &hooks[i]
		for _, d := range h.Dead {
			remark(entries, d.Last, mark{Tone: "bad", At: d.At, Text: fmt.Sprintf("webhook %s did not accept #%d to #%d after %d tries: %s", h.Config, d.First, d.Last, d.Attempts, d.Reason)})
		}
		if h.LastError != "" {
			remark(entries, h.Delivered+1, mark{Tone: "ask", At: h.NextTry, Text: fmt.Sprintf("webhook %s: try %d failed: %s", h.Config, h.Tries, h.LastError)})
		}
		if h.Delivered > 1 && h.Delivered >= entries[0].Version { // the message of the caller is never delivered
			remark(entries, h.Delivered, mark{Tone: "good", Text: "webhook " + h.Config + " is notified up to here"})
		}
	}
}

// remark adds a mark to the entry of a version.
func remark(entries []entryView, version int64, m mark) {
	i := 0
	for i < len(entries)-1 && entries[i].Last < version {
		i++
	}
	entries[i].Marks = append(entries[i].Marks, m)
}

// copyView has the values in the commands and programs that send the first message of a task again.
type copyView struct {
	// Base is the address of the hub, and Address that at which the agent receives messages.
	Base, Address string
	// Message is the body of the request, and Text the message if it is one text.
	Message string
	Text    *string
	// Keyed is set if the request needs a key.
	Keyed bool
}

// copies returns how to send the first message of a task again; nil for a message that is too long.
func (p *page) copies(l *adminjson.TaskLog) *copyView {
	if len(l.Entries) == 0 || l.Entries[0].Kind != "created" || len(l.Entries[0].Message) > maxText {
		return nil
	}
	var c content
	var raw struct {
		Parts json.RawMessage
	}
	if json.Unmarshal(l.Entries[0].Message, &c) != nil || json.Unmarshal(l.Entries[0].Message, &raw) != nil || len(c.Parts) == 0 {
		return nil
	}
	message, err := json.Marshal(map[string]any{"message": map[string]any{"messageId": "again", "role": "ROLE_USER", "parts": raw.Parts}})
	if err != nil {
		return nil
	}
	v := &copyView{Base: p.hub.origin(p.r), Message: string(message), Keyed: p.session.key != ""}
	if v.Address = v.Base + "/v1/a2a/" + segment(l.Task.Agent) + "/message:send"; len(c.Parts) == 1 {
		v.Text = c.Parts[0].Text
	}
	return v
}

// literal returns a text as a string of Python, which reads the strings of JSON.
func literal(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // not reached: every text can be encoded
	}
	return string(b)
}

// quote returns a text as one word of a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// cancel requests the cancellation of a task.
func cancel(p *page) error {
	err := p.do(http.MethodPost, "/v1/a2a/tasks/"+segment(p.r.PostFormValue("id"))+":cancel", struct{}{}, nil)
	return p.done(err)
}

// operate changes a task for its operator: it runs it again, ends it, or assigns it to another
// agent. The hub refuses it if the task has changed since the operator read its page.
func operate(p *page) error {
	verb, reason := p.r.PostFormValue("verb"), strings.TrimSpace(p.r.PostFormValue("reason"))
	switch {
	case !slices.Contains([]string{"redrive", "cancel", "fail", "reassign"}, verb):
		return p.showTask(http.StatusBadRequest, "Choose to redrive, cancel, fail or reassign the task.")
	case verb == "fail" && reason == "":
		return p.showTask(http.StatusBadRequest, "Nothing was done: a reason is required to fail a task. Its caller sees it.")
	}
	owner := p.r.PostFormValue("owner")
	if owner == "" {
		owner = p.caller.Owner
	}
	change := map[string]any{"owner": owner, "reason": reason, "revision": p.r.PostFormValue("revision")}
	if verb == "reassign" {
		change["agent"] = p.r.PostFormValue("agent")
	}
	return p.done(p.do(http.MethodPost, "/api/v1/tasks/"+segment(p.r.PostFormValue("id"))+"/"+verb, change, nil))
}

// done returns to the page of the task after a change, or shows its error there.
func (p *page) done(err error) error {
	refused := refusedBy(err)
	switch {
	case refused != nil && refused.Code != http.StatusUnauthorized && !isMissing(err):
		return p.showTask(refused.Code, refused.Message)
	case err != nil:
		return err
	}
	p.hub.see(p.w, p.r, taskURL(p.r.PostFormValue("id"), p.r.PostFormValue("owner")))
	return nil
}

// taskURL returns the address of the page of a task.
func taskURL(id, owner string) string { return Root + "task?" + query("id", id, "owner", owner) }

// number parses a version; a wrong one is the beginning.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
