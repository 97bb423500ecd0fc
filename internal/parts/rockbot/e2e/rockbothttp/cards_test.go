package rockbothttp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbothttp"
	rb "github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// nextCard is the card of an agent at the second call.
type nextCard struct {
	// body is the card: "MEMBERS" are the members of the first card, "FAR" and "OTHER" are
	// the addresses of the agent and of another one.
	body     string
	status   int // zero means 200
	location string
	skills   string // of the hub's agent afterwards; empty means those of the first card
	error    string // the hub's error in reading the card
	// The error of a call, at once and after the hub's restart; the hub may refuse the call
	// before there is a task.
	fails   [2]string
	refused string
	// also are the paths of calls besides that of the first card.
	also []string
}

const (
	jobCard     = "/.well-known/agent.json"
	ofTheCard   = "general echo"
	notFound    = `agent "NAME" rejected the message: run message: HTTP 404 Not Found`
	noInterface = `agent "NAME" is not reachable: no usable interface: the card offers `
)

// unread returns a card that cannot be read, with the hub's error.
func unread(body, problem string) nextCard {
	return nextCard{body: body, error: "FAR" + jobCard + ": no agent card: " + problem}
}

// elsewhere returns a card whose calls fail, because the agent does not have its path.
func elsewhere(body, path string) nextCard {
	return nextCard{body: body, also: []string{path}, fails: [2]string{notFound, notFound}}
}

// skilled returns a card with these skills.
func skilled(list, skills string) nextCard {
	return nextCard{body: `{"agentName":"SampleAgent-Http","skills":` + list + `}`, skills: skills}
}

// a2aCard is a card of A2A with an interface.
func a2aCard(url, binding, version string) string {
	return `{"name":"S","version":"1","capabilities":{},"skills":[{"id":"general"}],"supportedInterfaces":[` + iface(url, binding, version) + `]}`
}

func iface(url, binding, version string) string {
	return `{"url":"` + url + `","protocolBinding":"` + binding + `","protocolVersion":"` + version + `"}`
}

var nextCards = map[string]nextCard{
	"host moves":          {body: `{"url":"OTHER",MEMBERS}`},
	"path moves":          elsewhere(`{"url":"FAR/deep",MEMBERS}`, "/deep/tasks/send"),
	"host and path move":  elsewhere(`{"url":"OTHER/deep",MEMBERS}`, "/deep/tasks/send"),
	"URL is a file":       elsewhere(`{"url":"file:///etc",MEMBERS}`, "/etc/tasks/send"),
	"URL is none":         {body: `{"url":"http://%zz",MEMBERS}`, fails: [2]string{"", noInterface + "TASKS-SEND  at http://%zz/tasks/send"}},
	"URL is 7":            unread(`{"url":7,MEMBERS}`, "read card: url: must be a string"),
	"name changes":        {body: `{"agentName":"Mallory","skills":[{"id":"general"}]}`, skills: "general"},
	"name of A2A":         {body: `{"name":"S",MEMBERS}`},
	"A2A":                 {body: a2aCard("FAR/a2a", "JSONRPC", "1.0"), skills: "general", also: []string{"/a2a"}, fails: [2]string{notFound, notFound}},
	"A2A at another host": {body: a2aCard("OTHER/a2a", "JSONRPC", "1.0"), skills: "general", also: []string{"/a2a"}, fails: [2]string{notFound, notFound}},
	"A2A beside":          elsewhere(`{"supportedInterfaces":[`+iface("FAR/a2a", "JSONRPC", "1.0")+`],MEMBERS}`, "/a2a"),
	"A2A 2.0 beside":      {body: `{"supportedInterfaces":[` + iface("FAR/a2a", "JSONRPC", "2.0") + `],MEMBERS}`, fails: [2]string{"", noInterface + "JSONRPC 2.0 at FAR/a2a"}},
	"A2A 0.3":             {body: `{"name":"S","url":"FAR/a2a","preferredTransport":"JSONRPC","protocolVersion":"0.3.0","skills":[{"id":"general"}]}`, skills: "general", also: []string{"/a2a"}, fails: [2]string{notFound, notFound}},
	"key in the query":    {body: `{"securitySchemes":{"k":{"apiKeySecurityScheme":{"location":"query","name":"key"}}},"securityRequirements":[{"schemes":{"k":{"list":[]}}}],MEMBERS}`},
	"token elsewhere":     {body: `{"securitySchemes":{"o":{"oauth2SecurityScheme":{"flows":{"clientCredentials":{"tokenUrl":"OTHER/token","scopes":{}}}}}},"securityRequirements":[{"schemes":{"o":{"list":[]}}}],MEMBERS}`},
	"security is 7":       {body: `{"securitySchemes":7,"security":7,MEMBERS}`},
	"skills vanish":       skilled(`[]`, " "),
	"skills are 7":        skilled(`7`, " "),
	"a skill is 7":        skilled(`[7,{"id":7},{"id":"general"}]`, "general"),
	"other skill":         {body: `{"agentName":"SampleAgent-Http","skills":[{"id":"spy"}]}`, skills: "spy"},
	"version changes":     {body: `{"version":"9",MEMBERS}`},
	"version is 7":        unread(`{"agentName":"SampleAgent-Http","version":7}`, "read card: version: must be a string"),
	"extension appears":   {body: `{"capabilities":{"extensions":[{"uri":"urn:new"}]},MEMBERS}`},
	"extensions are 7":    {body: `{"capabilities":{"extensions":7},MEMBERS}`},
	"extension required":  {body: `{"capabilities":{"extensions":[{"uri":"urn:new","required":true}]},MEMBERS}`, refused: "-32008 the agent requires extensions that A2A-Extensions does not name: urn:new"},
	"deregisters":         {body: `{"isDeregistering":true,MEMBERS}`},
	"name is 7":           unread(`{"agentName":7}`, "read card: agentName: must be a string"),
	"no name":             unread(`{"skills":[]}`, "it has no name"),
	"half":                unread(`{"agentName":"Sam`, "invalid JSON: unexpected end at byte 17"),
	"nothing":             unread(``, "invalid JSON: unexpected end at byte 0"),
	"web page":            unread(`<html>`, "it is a web page"),
	"list":                unread(`[]`, "read card: must be an object"),
	"huge":                {body: `{"agentName":"` + strings.Repeat("x", 300<<10) + `"}`, error: "read card: more than 262144 bytes: answer too large"},
	"404":                 {status: 404, error: "no agent card"},
	"401":                 {status: 401, error: "FAR" + jobCard + ": HTTP 401 Unauthorized"},
	"500":                 {status: 500, error: "FAR" + jobCard + ": HTTP 500 Internal Server Error"},
	"redirect":            {status: 302, location: "OTHER" + jobCard, error: "refuse redirect from HOST to OTHER" + jobCard},
}

// moving is an agent whose card changes.
type moving struct {
	nextCard

	name       string // in the hub
	hub        *hubtest.Hub
	far, other *rockbothttp.Agent
	restarts   int // 1 if the hub restarts with the change
}

// fill replaces the words of nextCard.
func (m *moving) fill(s string) string {
	first := strings.TrimSpace(string(rb.Encode(rockbothttp.SampleCard())))
	return strings.NewReplacer("MEMBERS}", first[1:], "FAR", m.far.URL(), "HOST", strings.TrimPrefix(m.far.URL(), "http://"),
		"OTHER", m.other.URL(), "NAME", m.name).Replace(s)
}

// show makes the agent serve the next card.
func (m *moving) show() {
	m.far.Show(func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		if m.location != "" {
			w.Header().Set("Location", m.fill(m.location))
		}
		if m.status != 0 {
			w.WriteHeader(m.status)
		}
		fmt.Fprint(w, m.fill(m.body))
	})
}

// look makes the hub read the card, and checks its error and the agent's skills.
func (m *moving) look(t *testing.T, problem, skills string) {
	t.Helper()
	var known struct {
		Agent struct {
			Skills []struct{ ID string }
			Remote struct{ Health struct{ Error string } }
		}
	}
	if err := hubtest.Call(within(t), hubtest.Request{URL: m.hub.URL() + "/api/v1/agents/" + m.name + "/refresh", Body: "{}"}, &known); err != nil {
		t.Fatal(err)
	}
	if problem != "" {
		problem = m.fill("card of FAR: " + problem)
	}
	if got := known.Agent.Remote.Health.Error; got != problem {
		t.Errorf("the error of the card is %q, want %q", got, problem)
	}
	var ids []string
	for _, s := range known.Agent.Skills {
		ids = append(ids, s.ID)
	}
	if got := strings.Join(ids, " "); got != strings.TrimSpace(skills) {
		t.Errorf("the agent has the skills %q, want %q", got, skills)
	}
}

// call sends a text in a context, and checks the answer.
func (m *moving) call(t *testing.T, text, context, want string) {
	t.Helper()
	e, err := at(m.hub, "/a2a/"+m.name, "").Send(within(t), message(text, "general", `,"contextId":"`+context+`"`))
	switch {
	case err != nil:
		t.Errorf("%s: %v, want %q", text, err, want)
	case e.Task != nil && (e.Task.Status.State != "inputRequired" || e.Task.Status.Message.Text() != want):
		t.Errorf("%s: the task is %s: %+v, want %q", text, e.Task.Status.State, e.Task.Status.Message, want)
	case e.Task == nil && e.Message.Text() != want:
		t.Errorf("%s: the answer is %q, want %q", text, e.Message.Text(), want)
	}
}

func (m *moving) before(t *testing.T) {
	m.look(t, "", ofTheCard)
	m.call(t, "weather", "trip-"+m.name, "which city?")
	m.call(t, "hi", "c1-"+m.name, "Echo: hi")
}

func (m *moving) during(t *testing.T) {
	skills := m.skills
	if skills == "" {
		skills = ofTheCard
	}
	m.look(t, m.error, skills)
	switch {
	case m.refused != "":
		var refused *rockbothttp.Error
		_, err := at(m.hub, "/a2a/"+m.name, "").Send(within(t), message("hi", "general", ""))
		if !errors.As(err, &refused) || err.Error() != m.refused {
			t.Errorf("the call is answered with %v, want %q", err, m.refused)
		}
	case m.fails[m.restarts] != "":
		m.call(t, "hi", "c2-"+m.name, m.fill(m.fails[m.restarts]))
	default:
		m.call(t, "hi", "c2-"+m.name, "Echo: hi")
	}
}

// after checks that the first card counts again, that the agent gets the answer to its
// question, and that no job came twice.
func (m *moving) after(t *testing.T) {
	m.look(t, "", ofTheCard)
	m.call(t, "hi", "c3-"+m.name, "Echo: hi")
	m.call(t, "Oslo", "trip-"+m.name, "sunny in Oslo")
	want := []string{"weather", "hi", "hi", "hi", "Oslo"}
	if m.refused != "" || m.fails[m.restarts] != "" {
		want = []string{"weather", "hi", "hi", "Oslo"}
	}
	var got []string
	for _, job := range m.far.Jobs() {
		got = append(got, job.Message.Text())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	paths := map[string]bool{}
	for _, c := range m.far.Calls() {
		if c.Method == http.MethodPost {
			paths[c.Path] = true
		}
		if c.Key != "secret-key" || c.Query != "" {
			t.Errorf("%s %s?%s with the key %q", c.Method, c.Path, c.Query, c.Key)
		}
	}
	called := slices.Sorted(maps.Keys(paths))
	if diff := cmp.Diff(slices.Sorted(slices.Values(append([]string{"/tasks/send"}, m.also...))), called); diff != "" {
		t.Errorf("paths of the calls (-want +got):\n%s", diff)
	}
}

// asksOnce asks for a city, and echoes all other texts.
func asksOnce(job *rb.Request) *rb.Result {
	switch text := job.Message.Text(); text {
	case "weather", "Oslo":
		return asks(job)
	default:
		return rockbothttp.Result(job, rb.Completed, "Echo: "+text)
	}
}

// TestChangingCards: the card has changed at the second call, at which the hub may have
// restarted. The hub calls the configured host with its key, and no other host; an unreadable
// card changes nothing; the question of before is answered.
func TestChangingCards(t *testing.T) {
	t.Parallel()
	for restarts, name := range []string{"at once", "and the hub restarts"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changeCards(t, restarts)
		})
	}
}

func changeCards(t *testing.T, restarts int) {
	other := rockbothttp.StartAgent(t, &rockbothttp.Agent{})
	rows, file, tasks := map[string]*moving{}, "agents:\n", 0
	for name, next := range nextCards {
		far := rockbothttp.StartAgent(t, &rockbothttp.Agent{Header: "X-Api-Key", Value: "secret-key", Handle: asksOnce})
		m := &moving{nextCard: next, name: fmt.Sprintf("agent%d", len(rows)), far: far, other: other, restarts: restarts}
		rows[name] = m
		file += fmt.Sprintf("  - {name: %s, url: %q, headers: {X-Api-Key: secret-key}}\n", m.name, far.URL())
		if tasks += 4; next.refused != "" {
			tasks--
		}
	}
	h := hubtest.Start(t, hubtest.Options{Config: "directory: {agents_file: " + write(t, "agents.yaml", file) + "}\n"})
	each := func(phase string, f func(*moving, *testing.T)) {
		t.Run(phase, func(t *testing.T) {
			for name, m := range rows {
				m.hub = h
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					f(m, t)
				})
			}
		})
	}
	each("before", (*moving).before)
	for _, m := range rows {
		m.show()
	}
	if restarts > 0 {
		h.Restart()
	}
	each("during", (*moving).during)
	for _, m := range rows {
		m.far.Show(nil)
	}
	each("after", (*moving).after)
	var list struct{ TotalSize int }
	if err := hubtest.Call(within(t), hubtest.Request{URL: h.URL() + "/v1/a2a/tasks"}, &list); err != nil || list.TotalSize != tasks {
		t.Errorf("the hub has %d tasks, %v, want %d", list.TotalSize, err, tasks)
	}
	if all := other.Calls(); len(all) != 0 {
		b, _ := json.Marshal(all)
		t.Errorf("the other host was called: %s", b)
	}
}
