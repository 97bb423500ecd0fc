package console

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/inbox"
	"github.com/parley-a2a/parley/internal/adminjson"
)

// states are the states of tasks in the order of a task's life.
var states = []string{
	"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED",
	"TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED",
}

// count is the number of tasks in a state.
type count struct {
	State, Scope string
	N            int
}

// hubStatus is the part of /api/v1/status that pages show.
type hubStatus struct {
	Version       string    `json:"version"`
	Started       time.Time `json:"started"`
	UptimeSeconds int64     `json:"uptimeSeconds"`
	Store         string    `json:"store"`
	Ready         bool      `json:"ready"`
	Checks        []struct {
		Name   string `json:"name"`
		OK     bool   `json:"ok"`
		Detail string `json:"detail"`
	} `json:"checks"`
}

// Uptime returns how long the hub runs.
func (s hubStatus) Uptime() time.Duration { return time.Duration(s.UptimeSeconds) * time.Second }

// counts reads the number of the caller's tasks in each state.
func (p *page) counts() ([]count, error) {
	scope := ""
	if p.r.FormValue("scope") == "all" {
		scope = "all"
	}
	var answer adminjson.TaskCounts
	err := p.get("/api/v1/counts?"+query("scope", scope), &answer)
	var all []count
	for _, name := range states {
		all = append(all, count{name, scope, answer.Counts[name]})
	}
	return all, err
}

// filter selects tasks.
type filter struct{ Agent, State, Context, Scope, ID, Page string }

// tasksView is the page of tasks.
type tasksView struct {
	Filter filter
	Counts []count
	Tasks  []adminjson.TaskInfo
	Agents []string
	States []string
	Next   string
	Error  string
}

// tasks answers with a page of the list of tasks.
func tasks(p *page) error {
	f := filter{
		p.r.FormValue("agent"), p.r.FormValue("state"), strings.TrimSpace(p.r.FormValue("context")), p.r.FormValue("scope"),
		strings.TrimSpace(p.r.FormValue("id")), p.r.FormValue("page"),
	}
	v := tasksView{Filter: f, States: states}
	if f.ID != "" {
		if found, err := p.jump(f.ID); found || err != nil {
			return err
		}
		v.Error = "There is no task with this id, or it belongs to another caller."
	}
	var list adminjson.TaskList
	err := p.get("/api/v1/tasks?"+query("agent", f.Agent, "state", f.State, "context", f.Context, "scope", f.Scope, "pageToken", f.Page), &list)
	if refused, ok := err.(*refusal); ok && refused.Code == http.StatusBadRequest { //nolint:errorlint // do returns it itself
		v.Error = refused.Message
	} else if err != nil {
		return err
	}
	v.Tasks, v.Next = list.Tasks, list.NextPageToken
	for i := range v.Tasks {
		if v.Tasks[i].Owner == p.caller.Owner {
			v.Tasks[i].Owner = ""
		}
	}
	v.Counts, _ = p.counts() // a caller may be without permission to list tasks
	v.Agents = p.agentNames()
	p.show(http.StatusOK, "tasks", v)
	return nil
}

// jump redirects to the page of a task, if there is one with the id.
func (p *page) jump(id string) (bool, error) {
	owner := ""
	err := p.get("/api/v1/tasks/"+segment(id), nil)
	if isMissing(err) && p.caller.Admin {
		var t adminjson.TaskInfo
		if err = p.get("/api/v1/tasks/"+segment(id)+"?scope=all", &t); err == nil {
			owner = t.Owner
		}
	}
	if isMissing(err) {
		return false, nil
	}
	if err == nil {
		http.Redirect(p.w, p.r, taskURL(id, owner), http.StatusSeeOther)
	}
	return err == nil, err
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
	Recent []adminjson.TaskInfo
	Agents []adminjson.Agent
	Items  []inbox.Item
	More   bool
	Empty  bool
}

// overview answers with the first page.
func overview(p *page) error {
	var v overviewView
	if err := p.get("/api/v1/status", &v.Status); err != nil && !isMissing(err) {
		return err
	}
	v.Counts, _ = p.counts() // a caller may be without permission to list tasks
	var list adminjson.TaskList
	if err := p.get("/api/v1/tasks?pageSize=8", &list); err != nil && !isMissing(err) {
		return err
	}
	v.Recent, v.Empty = list.Tasks, len(list.Tasks) == 0
	agents, err := p.agentList()
	if err != nil && !isMissing(err) {
		return err
	}
	v.Agents = agents.Agents
	var items adminjson.InboxList
	if err := p.get("/api/v1/inbox?pageSize=5", &items); err != nil && !isMissing(err) {
		return err
	}
	v.Items, v.More = items.Items, items.NextPageToken != ""
	p.show(http.StatusOK, "overview", v)
	return nil
}

// agents answers with the page of agents.
func agents(p *page) error {
	list, err := p.agentList()
	if err != nil {
		return err
	}
	p.show(http.StatusOK, "agents", list)
	return nil
}

// inboxView is the page of the inbox.
type inboxView struct {
	Items       []inbox.Item
	State, Next string
	Error       string
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
	v.Items, v.Next = list.Items, list.NextPageToken
	p.show(code, "inbox", v)
	return nil
}

// settle answers, approves or refuses an item.
func settle(p *page) error {
	verb := p.r.PostFormValue("verb")
	if !slices.Contains([]string{"answer", "approve", "refuse"}, verb) {
		return p.showInbox(http.StatusBadRequest, "Choose to answer, approve or refuse.")
	}
	err := p.do(http.MethodPost, "/api/v1/inbox/"+segment(p.r.PostFormValue("id"))+"/"+verb, adminjson.Decision{Text: p.r.PostFormValue("text")}, nil)
	if refused, ok := err.(*refusal); ok && refused.Code != http.StatusUnauthorized { //nolint:errorlint // do returns it itself
		return p.showInbox(refused.Code, refused.Message)
	}
	if err == nil {
		http.Redirect(p.w, p.r, Root+"inbox", http.StatusSeeOther)
	}
	return err
}

// tryView is the page where one sends a message.
type tryView struct {
	Agents          []adminjson.Agent
	Chosen          *adminjson.Agent
	Card            cardView
	Text, Error     string
	Context, TaskID string
	// Reply is the answer of an agent that has begun no task.
	Reply []partView
}

// cardView is the part of a card that agents of the list do not have.
type cardView struct {
	Skills []struct {
		ID          string   `json:"id"`
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Tags        []string `json:"tags"`
		Examples    []string `json:"examples"`
	} `json:"skills"`
	Capabilities struct {
		Streaming bool `json:"streaming"`
		Push      bool `json:"pushNotifications"`
	} `json:"capabilities"`
	Provider struct {
		Organization string `json:"organization"`
	} `json:"provider"`
	Interfaces []struct {
		URL     string `json:"url"`
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
	}
	p.show(code, "try", v)
	return nil
}

// send sends a message to an agent, or an answer to a task, and shows the task.
func send(p *page) error {
	agent, text, id := p.r.PostFormValue("agent"), p.r.PostFormValue("text"), p.r.PostFormValue("id")
	message := map[string]any{"messageId": uuid.NewString(), "role": "ROLE_USER", "parts": []any{map[string]any{"text": text}}}
	path := "/v1/a2a/message:send"
	if agent != "" {
		path = "/v1/a2a/" + segment(agent) + "/message:send"
	}
	if id != "" {
		path, message["taskId"] = "/v1/a2a/message:send", id
	}
	if c := strings.TrimSpace(p.r.PostFormValue("context")); c != "" {
		message["contextId"] = c
	}
	var answer struct {
		Task    struct{ ID string } `json:"task"`
		Message *content            `json:"message"`
	}
	err := p.do(http.MethodPost, path, map[string]any{"message": message, "configuration": map[string]any{"returnImmediately": true}}, &answer)
	if id != "" {
		return p.done(err)
	}
	refused, ok := err.(*refusal) //nolint:errorlint // do returns it itself
	switch {
	case ok && refused.Code != http.StatusUnauthorized:
		return p.showTry(refused.Code, tryView{Text: text, Error: refused.Message})
	case err != nil:
		return err
	case answer.Message != nil:
		v, r := tryView{Text: text}, &reader{room: maxPage}
		for i := range answer.Message.Parts {
			v.Reply = append(v.Reply, r.part(&answer.Message.Parts[i], 0, i))
		}
		return p.showTry(http.StatusOK, v)
	}
	http.Redirect(p.w, p.r, taskURL(answer.Task.ID, ""), http.StatusSeeOther)
	return nil
}
