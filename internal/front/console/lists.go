package console

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/trust"
)

// states are the states of tasks in the order of a task's life.
var states = []string{
	"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED",
	"TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED",
}

// count is the number of tasks in a state.
type count struct {
	State string
	N     int
	// To is the query of the list with these tasks.
	To string
}

// Many is N for a template.
func (c count) Many() int64 { return int64(c.N) }

// hubStatus is the part of /api/v1/status that pages show.
type hubStatus struct {
	Version       string
	UptimeSeconds int64
	Store         string
	Ready         bool
	Checks        []struct {
		Name   string
		OK     bool
		Detail string
	}
}

// countFilter returns the filter of the page's counts: the agent and the owners.
func (p *page) countFilter() filter {
	f := p.filterOf([]string{"scope", "owner", "agent"})
	if p.r.URL.Path == Root {
		f = filter{"scope": f["scope"]}
	}
	return f
}

// counts reads the number of tasks in each state.
func (p *page) counts() ([]count, error) {
	f := p.countFilter()
	var answer adminjson.TaskCounts
	err := p.get("/api/v1/counts?"+f.ask(), &answer)
	return countsOf(f, &answer), err
}

// countsOf returns the counts of the tasks of a filter.
func countsOf(f filter, answer *adminjson.TaskCounts) (all []count) {
	for _, name := range states {
		all = append(all, count{State: name, N: answer.Counts[name], To: f.Query("state", name)})
	}
	return all
}

// filter are the values of the fields of a form by their names: those of tasks, or of the audit log.
type filter map[string]string

// taskFields are the fields of the form for tasks.
var taskFields = []string{"q", "agent", "state", "context", "scope", "owner", "id", "since", "until", "cols", "sort", "n"}

// filterOf reads fields of a request. The scope of an administrator is "all", unless it is "mine".
func (p *page) filterOf(names []string) filter {
	f := make(filter)
	for _, name := range names {
		f[name] = strings.TrimSpace(p.r.FormValue(name))
	}
	if _, scoped := f["scope"]; scoped && (f["owner"] != "" || p.caller.Admin && f["scope"] != "mine") {
		f["scope"] = "all"
	}
	return f
}

// Query returns the filter as the query of a page; pairs are added.
func (f filter) Query(pairs ...any) string {
	var all []any
	for name, value := range f {
		all = append(all, name, value)
	}
	return query(append(all, pairs...)...)
}

// ask returns the filter as a query of /api/v1; pairs are added.
func (f filter) ask(pairs ...any) string {
	wire := maps.Clone(f)
	for name, value := range f {
		switch name {
		case "since", "until":
			wire[name] = wireTime(value)
		case "id":
			delete(wire, name)
			wire["idPrefix"] = value
		case "cols", "sort", "n":
			delete(wire, name)
		case "scope":
			wire[name] = strings.TrimPrefix(value, "mine")
		}
	}
	return wire.Query(pairs...)
}

// wireTime returns a time in the form of /api/v1: from a date, a date with a time in UTC, or how
// long ago it was, such as 15m. Other texts stay.
func wireTime(s string) string {
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return time.Now().Add(-d).UTC().Format(time.RFC3339)
	}
	for _, form := range []string{"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.Parse(form, s); err == nil {
			return t.Format(time.RFC3339)
		}
	}
	return s
}

// other returns an owner that is not the caller, or an empty text.
func (p *page) other(owner string) string {
	if owner == p.caller.Owner {
		return ""
	}
	return owner
}

// agentList reads the agents that the caller sees.
func (p *page) agentList() (adminjson.AgentList, error) {
	var list adminjson.AgentList
	err := p.get("/api/v1/agents", &list)
	return list, err
}

func (p *page) agentNames() []string {
	list, _ := p.agentList() // without it, the filter has no suggestions
	var names []string
	for i := range list.Agents {
		names = append(names, list.Agents[i].Name)
	}
	slices.Sort(names)
	return names
}

// overviewView is the first page.
type overviewView struct {
	Status hubStatus
	Counts []count
	Recent taskTable
	// Scope is "all" for the tasks of all owners.
	Scope  string
	Agents []adminjson.Agent
	// MoreAgents is the number of agents that the overview leaves out.
	MoreAgents int
	// Attention is the tasks that need a person.
	Attention attentionView
	Empty     bool
	Panels    []panel
}

// overview answers with the first page.
func overview(p *page) error {
	var v overviewView
	if err := p.get("/api/v1/status", &v.Status); err != nil && !isMissing(err) {
		return err
	}
	v.Counts, _ = p.counts() // a caller may be without permission to list tasks
	var list adminjson.TaskList
	v.Scope = p.filterOf([]string{"scope"})["scope"]
	if err := p.get("/api/v1/tasks?"+filter{"scope": v.Scope}.ask("pageSize", 8), &list); err != nil && !isMissing(err) {
		return err
	}
	p.others(list.Tasks)
	v.Recent, v.Empty = taskTable{Tasks: list.Tasks, Columns: columnsOf("")}, len(list.Tasks) == 0
	agents, err := p.agentList()
	if err != nil && !isMissing(err) {
		return err
	}
	v.Agents, v.MoreAgents = foremost(agents.Agents)
	if v.Attention, err = p.attention(v.Scope); err != nil {
		return err
	}
	v.Panels = p.curves()
	p.show(http.StatusOK, "overview", v)
	return nil
}

// inboxView is the page of the inbox.
type inboxView struct {
	Items       []itemView
	State, Next string
	Error       string
}

// itemView is an item of the inbox.
type itemView struct {
	inbox.Item
	// Always is set if the person may approve the skill of the caller for all further messages, too.
	// Also are the further skills that the caller may use from then on, because they are approved
	// for a trust that it does not have yet.
	Always bool
	Also   []string
}

// itemViews returns items with the ways to settle them.
func (p *page) itemViews(items []inbox.Item) []itemView {
	all, grants := make([]itemView, len(items)), false
	for i, it := range items {
		all[i].Item = it
		all[i].Always = p.caller.Admin && it.Kind == inbox.Approval && it.State == inbox.Open && it.Skill != "" && it.Caller != ""
		grants = grants || all[i].Always
	}
	var list struct{ Entries []trust.Entry }
	if !grants {
		return all
	}
	err := p.get("/api/v1/trust", &list)
	for i := range all {
		v := &all[i]
		v.Always = v.Always && err == nil // without trust, or without permission to read it, an approval counts once
		for _, e := range list.Entries {
			if string(e.Subject) == v.Caller && e.Level != trust.Act {
				v.Also = slices.DeleteFunc(slices.Clone(e.Skills), func(s string) bool { return strings.EqualFold(s, v.Skill) })
			}
		}
	}
	return all
}

// trustAlways approves an item, and its skill for all further messages of its caller. Both are those
// that the hub has of the item.
func (p *page) trustAlways(path string, d adminjson.Decision) error {
	var it inbox.Item
	if err := p.do(http.MethodPost, path+"/approve", d, &it); err != nil {
		return err
	}
	if it.Kind != inbox.Approval || it.Skill == "" || it.Caller == "" {
		return &refusal{Code: http.StatusConflict, Message: "The item is settled, but names no skill of a caller that could be approved always."}
	}
	err := p.do(http.MethodPost, "/api/v1/trust", map[string]any{"agentId": it.Caller, "level": trust.Act.String(), "approve": []string{it.Skill}}, nil)
	if refused := refusedBy(err); refused != nil && refused.Code != http.StatusUnauthorized {
		return &refusal{Code: refused.Code, Message: "Approved once. The trust in " + it.Caller + " is unchanged: " + refused.Message}
	}
	return err
}

// showInbox answers with the page of the inbox.
func showInbox(p *page) error { return p.showInbox(http.StatusOK, "") }

func (p *page) showInbox(code int, trouble string) error {
	v := inboxView{State: p.r.FormValue("state"), Error: trouble}
	if v.State == "" || p.r.Method == http.MethodPost {
		v.State = "open"
	}
	var list adminjson.InboxList
	if err := p.get("/api/v1/inbox?"+query("state", v.State, "pageToken", p.r.FormValue("page")), &list); err != nil {
		return err
	}
	v.Items, v.Next = p.itemViews(list.Items), list.NextPageToken
	p.show(code, "inbox", v)
	return nil
}

// settle answers, approves or refuses an item.
func settle(p *page) error {
	verb := p.r.PostFormValue("verb")
	if !slices.Contains([]string{"answer", "approve", "always", "refuse"}, verb) {
		return p.showInbox(http.StatusBadRequest, "Choose to answer, approve or refuse.")
	}
	path, d := "/api/v1/inbox/"+segment(p.r.PostFormValue("id")), adminjson.Decision{Text: p.r.PostFormValue("text")}
	var err error
	if verb == "always" {
		err = p.trustAlways(path, d)
	} else {
		err = p.do(http.MethodPost, path+"/"+verb, d, nil)
	}
	if refused := refusedBy(err); refused != nil && refused.Code != http.StatusUnauthorized {
		return p.showInbox(refused.Code, refused.Message)
	}
	if err == nil {
		p.hub.see(p.w, p.r, Root+"inbox")
	}
	return err
}

// tryView is the page where one sends a message.
type tryView struct {
	Agents          []adminjson.Agent
	Chosen          *adminjson.Agent
	Card            cardView
	Text, Data      string
	Error           string
	Context, TaskID string
	// Reply is the answer of an agent that has begun no task.
	Reply []partView
}

// cardView is the part of a card that agents of the list do not have.
type cardView struct {
	Skills []struct {
		ID          string
		Name        string
		Description string
		Examples    []string
	}
	Capabilities struct {
		Streaming bool
		Push      bool `json:"pushNotifications"`
	}
	// Schemes are the ways to authenticate by their names, and Requirements the sets of them of which
	// a caller needs one.
	Schemes      map[string]map[string]json.RawMessage `json:"securitySchemes"`
	Requirements []map[string]json.RawMessage          `json:"securityRequirements"`
	Interfaces   []struct {
		URL     string
		Binding string `json:"protocolBinding"`
		Version string `json:"protocolVersion"`
	} `json:"supportedInterfaces"`
}

// try answers with the page where one sends a message.
func try(p *page) error { return p.showTry(http.StatusOK, tryView{Text: p.r.FormValue("text")}) }

func (p *page) showTry(code int, v tryView) error {
	list, err := p.agentList()
	if err != nil {
		return err
	}
	name := p.r.FormValue("agent")
	v.Agents, v.Context = list.Agents, p.r.FormValue("context")
	for i := range v.Agents {
		if a := &v.Agents[i]; name == a.Name || name == "" && a.Default {
			v.Chosen = a
		}
	}
	if v.Chosen != nil {
		var full adminjson.Agent
		if err := p.get("/api/v1/agents/"+segment(v.Chosen.Name), &full); err == nil {
			_ = json.Unmarshal(full.Card, &v.Card) // the hub has written it
		}
		p.demands(v.Chosen.Name, &v.Card)
	}
	p.show(code, "try", v)
	return nil
}

// demands sets how callers of an agent authenticate, by the card that the hub shows them.
func (p *page) demands(agent string, v *cardView) {
	var public cardView
	if err := p.get("/a2a/"+segment(agent)+"/.well-known/agent-card.json", &public); err == nil { // a policy may hide it
		v.Schemes, v.Requirements = public.Schemes, public.Requirements
	}
}

// send sends a message to an agent, into a context, or as the answer to a task, and shows where it went.
func send(p *page) error {
	agent, text, id := p.r.PostFormValue("agent"), p.r.PostFormValue("text"), p.r.PostFormValue("id")
	thread := p.r.URL.Path == Root+"context"
	again := func(code int, trouble string, reply []partView) error {
		data := p.r.PostFormValue("data")
		if thread {
			return p.showThread(code, &threadView{Text: text, Data: data, Error: trouble, Reply: reply})
		}
		return p.showTry(code, tryView{Text: text, Data: data, Error: trouble, Reply: reply})
	}
	onTask := id != "" && !thread
	parts, err := p.messageParts()
	if refused := refusedBy(err); refused != nil && !onTask {
		return again(refused.Code, refused.Message, nil)
	} else if err != nil {
		return p.done(err)
	}
	message := map[string]any{"messageId": uuid.NewString(), "role": "ROLE_USER", "parts": parts}
	path := "/v1/a2a/message:send"
	if agent != "" {
		path = "/v1/a2a/" + segment(agent) + "/message:send"
	}
	if id != "" {
		// A message with an unknown id would begin a task with this id.
		if err = p.get("/api/v1/tasks/"+segment(id), nil); err != nil && onTask {
			return p.done(err)
		}
		path, message["taskId"] = "/v1/a2a/message:send", id
	}
	c := strings.TrimSpace(p.r.PostFormValue("context"))
	if c != "" {
		message["contextId"] = c
	}
	var answer struct {
		Task    struct{ ID string }
		Message *content
	}
	if err == nil {
		err = p.do(http.MethodPost, path, map[string]any{"message": message, "configuration": map[string]any{"returnImmediately": true}}, &answer)
	}
	if onTask {
		return p.done(err)
	}
	refused := refusedBy(err)
	switch {
	case refused != nil && refused.Code != http.StatusUnauthorized:
		return again(refused.Code, refused.Message, nil)
	case err != nil:
		return err
	case answer.Message != nil:
		r := &reader{room: maxPage}
		var reply []partView
		for i := range answer.Message.Parts {
			reply = append(reply, r.part(&answer.Message.Parts[i], 0, i))
		}
		return again(http.StatusOK, "", reply)
	case thread:
		p.hub.see(p.w, p.r, threadURL(c, "")+"#end")
		return nil
	}
	p.hub.see(p.w, p.r, taskURL(answer.Task.ID, ""))
	return nil
}

// maxForemost is the maximum number of agents on the overview.
const maxForemost = 50

// foremost returns the agents for the overview, those in trouble before the others if there are many, and the number of
// those that are left out.
func foremost(all []adminjson.Agent) (shown []adminjson.Agent, more int) {
	if len(all) <= maxForemost {
		return all, 0
	}
	healthy := func(a *adminjson.Agent) int {
		if a.Paused || a.State != "" && a.State != "up" {
			return 0
		}
		return 1
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b adminjson.Agent) int { return healthy(&a) - healthy(&b) })
	return all[:maxForemost], len(all) - maxForemost
}
