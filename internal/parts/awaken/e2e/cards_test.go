package awaken

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// nextCard is the card of the server at the second call.
type nextCard struct {
	// change changes the card of the default agent. If it is nil, the documents replace it.
	// "FAR" in them is the address of the server, "OTHER" that of another one.
	change    func(card map[string]any, far, other string)
	documents map[string]document
	// skill is that of the hub's agent afterwards; empty means none. The card describes the
	// default agent, so its skills and its description never apply to the target.
	skill string
	error string // the hub's error in reading the card
	// At once, and after the hub's restart: the error of a call, and whether the hub does not
	// request a stream. A refusal is an error before there is a task.
	fails, refused [2]string
	waits          [2]bool
	// also are the paths of the calls besides those of the target.
	also []string
}

// kept are the effects of a card that is not used: the former one stays valid, until the hub
// restarts and calls the agent without a card.
func kept(n nextCard) nextCard {
	n.waits = [2]bool{false, true}
	return n
}

// unread returns a card that cannot be read, with the hub's error.
func unread(body, problem string) nextCard {
	return kept(nextCard{documents: map[string]document{cardPath: {body: body}}, error: "FAR" + cardPath + ": no agent card: " + problem})
}

// another returns a change of the interface to one that is not at the hub's address. The card
// then counts as that of another agent.
func another(change func(i map[string]any, far, other string)) nextCard {
	n := interfaceWith(change)
	n.error = "no agent card: the one at FAR" + cardPath + " belongs to another agent"
	return kept(n)
}

func interfaceWith(change func(i map[string]any, far, other string)) nextCard {
	return nextCard{change: func(c map[string]any, far, other string) {
		change(c["supportedInterfaces"].([]any)[0].(map[string]any), far, other)
	}}
}

// member returns a change of one member of the card.
func member(name string, v any) nextCard {
	return nextCard{change: func(c map[string]any, _, _ string) { c[name] = v }}
}

// capability returns a change of one capability.
func capability(name string, v any) nextCard {
	return nextCard{change: func(c map[string]any, _, _ string) { c["capabilities"].(map[string]any)[name] = v }}
}

// without adds the error of calls after a restart.
func (n nextCard) without(fails string) nextCard {
	n.fails[1] = fails
	return n
}

// security returns a change of the security schemes to a required one.
func security(scheme string) nextCard {
	return nextCard{change: func(c map[string]any, _, other string) {
		c["securitySchemes"] = json.RawMessage(`{"s":` + strings.ReplaceAll(scheme, "OTHER", other) + `}`)
		c["securityRequirements"] = json.RawMessage(`[{"schemes":{"s":{"list":[]}}}]`)
	}}
}

const noRPC = `agent "NAME" rejected the message: run message: HTTP 404 Not Found`

var nextCards = map[string]nextCard{
	"host moves": interfaceWith(func(i map[string]any, _, other string) { i["url"] = other + "/v1/a2a" }),
	"URL has credentials": interfaceWith(func(i map[string]any, far, _ string) {
		i["url"] = "http://user:pass@" + far[len("http://"):] + "/v1/a2a"
	}),
	"URL has a query":       interfaceWith(func(i map[string]any, far, _ string) { i["url"] = far + "/v1/a2a?agent=default" }),
	"path moves":            another(func(i map[string]any, far, _ string) { i["url"] = far + "/elsewhere" }),
	"host and path move":    another(func(i map[string]any, _, other string) { i["url"] = other + "/elsewhere" }),
	"URL is a file":         another(func(i map[string]any, _, _ string) { i["url"] = "file:///etc/passwd" }),
	"URL is none":           another(func(i map[string]any, _, _ string) { i["url"] = "http://%zz" }),
	"URL is 7":              another(func(i map[string]any, _, _ string) { i["url"] = 7 }),
	"gRPC alone":            another(func(i map[string]any, _, _ string) { i["url"], i["protocolBinding"] = "127.0.0.1:1", "GRPC" }),
	"binding is unknown":    interfaceWith(func(i map[string]any, _, _ string) { i["protocolBinding"] = "SMOKE" }).without(`agent "NAME" is not reachable: no usable interface: the card offers SMOKE 1.0 at FAR/v1/a2a`),
	"tenant is another":     interfaceWith(func(i map[string]any, _, _ string) { i["tenant"] = "default" }),
	"version is 2.0":        interfaceWith(func(i map[string]any, _, _ string) { i["protocolVersion"] = "2.0" }).without(`agent "NAME" is not reachable: no usable interface: the card offers HTTP+JSON 2.0 at FAR/v1/a2a`),
	"key in the query":      security(`{"apiKeySecurityScheme":{"location":"query","name":"key"}}`),
	"key in another header": security(`{"apiKeySecurityScheme":{"location":"header","name":"Authorization"}}`),
	"token of another host": security(`{"oauth2SecurityScheme":{"flows":{"clientCredentials":{"tokenUrl":"OTHER/token","scopes":{}}}}}`),
	"security is 7":         security("7"),
	"skills change":         member("skills", []any{map[string]any{"id": "spy", "name": "Spy"}}),
	"skills are 7":          member("skills", 7),
	"name changes":          member("name", "Mallory"),
	"capabilities are 7":    {change: member("capabilities", 7).change, waits: [2]bool{true, true}},
	"extension appears":     capability("extensions", []any{map[string]any{"uri": "urn:new"}}),
	"extensions are 7":      {change: capability("extensions", 7).change, waits: [2]bool{true, true}},
	"streaming ends":        {change: capability("streaming", false).change, waits: [2]bool{true, true}},
	"huge":                  kept(nextCard{documents: map[string]document{cardPath: {body: `{"name":"` + strings.Repeat("x", 300<<10) + `"}`}}, error: "read card: more than 262144 bytes: answer too large"}),
	"deep":                  unread(`{"name":"x","y":`+strings.Repeat("[", 1000)+strings.Repeat("]", 1000)+`}`, "invalid JSON: nested too deep at byte 79"),
	"half":                  unread(`{"name":"default",`, "invalid JSON: unexpected end at byte 18"),
	"nothing":               unread(``, "invalid JSON: unexpected end at byte 0"),
	"web page":              unread(`<html></html>`, "it is a web page"),
	"list":                  unread(`[]`, "read card: must be an object"),
	"name is 7":             unread(`{"name":7}`, "read card: name: must be a string"),
	"no name":               unread(`{"description":"x"}`, "it has no name"),
	"404":                   kept(nextCard{documents: map[string]document{cardPath: {status: 404}}, error: "no agent card"}),
	"401":                   kept(nextCard{documents: map[string]document{cardPath: {status: 401}}, error: "FAR" + cardPath + ": HTTP 401 Unauthorized"}),
	"500":                   kept(nextCard{documents: map[string]document{cardPath: {status: 500}}, error: "FAR" + cardPath + ": HTTP 500 Internal Server Error"}),
	"redirect":              kept(nextCard{documents: map[string]document{cardPath: {status: 302, location: "OTHER" + cardPath}}, error: "refuse redirect from FAR to OTHER" + cardPath}),
	// HTTP+JSON of v0.3 has no tenants, so the target is only in the second call, of v1.0.
	"version is 0.3": {
		change: interfaceWith(func(i map[string]any, _, _ string) { i["protocolVersion"] = "0.3.0" }).change,
		also:   []string{"/v1/a2a/v1/message:stream"},
	},
	"binding is JSON-RPC": {
		change: interfaceWith(func(i map[string]any, _, _ string) { i["protocolBinding"] = "JSONRPC" }).change,
		fails:  [2]string{noRPC, noRPC}, also: []string{"/v1/a2a"},
	},
	"extension is required": {
		change:  capability("extensions", []any{map[string]any{"uri": "urn:new", "required": true}}).change,
		refused: [2]string{"the agent requires extensions that A2A-Extensions does not name: urn:new", "the agent requires extensions that A2A-Extensions does not name: urn:new"},
	},
	"card of the target": {skill: "find", documents: map[string]document{"/v1/a2a/researcher" + cardPath: {
		body: `{"name":"Researcher","version":"1","capabilities":{"streaming":true},"skills":[{"id":"find","name":"Find"}],` +
			`"supportedInterfaces":[{"url":"OTHER/v1/a2a","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]}`,
	}}},
}

// moving is an agent whose card changes.
type moving struct {
	nextCard

	name       string // in the hub
	hub        *hubtest.Hub
	far, other *server
	restarts   int // 1 if the hub restarts with the change
	asked      string
}

// show makes the server serve the next card.
func (m *moving) show() {
	at := strings.NewReplacer("FAR", m.far.URL, "OTHER", m.other.URL)
	pages := map[string]*document{}
	for path, d := range m.documents {
		pages[path] = &document{d.status, at.Replace(d.body), at.Replace(d.location)}
	}
	if m.change != nil {
		c := m.far.card()
		m.change(c, m.far.URL, m.other.URL)
		b, _ := json.Marshal(c) // a card can be encoded
		pages[cardPath] = &document{body: string(b)}
	}
	m.far.serves(pages)
}

// look makes the hub read the card, and checks its error and the hub's description of the
// agent.
func (m *moving) look(t *testing.T, reason, skill string) {
	t.Helper()
	var known struct {
		Agent struct {
			Description string
			Skills      []struct{ ID string }
			Remote      struct{ Health struct{ Error string } }
		}
	}
	a := do(t, "POST", m.hub.URL()+"/api/v1/agents/"+m.name+"/refresh", "{}")
	if err := json.Unmarshal(a.body, &known); err != nil || a.status != 200 {
		t.Fatalf("refresh: %d %s, %v", a.status, a.body, err)
	}
	if reason != "" {
		reason = "card of FAR/v1/a2a: " + reason
		if strings.HasPrefix(m.error, "refuse") { // names the server without a scheme
			reason = strings.Replace(reason, "from FAR", "from "+m.far.Listener.Addr().String(), 1)
		}
		reason = strings.NewReplacer("FAR", m.far.URL, "OTHER", m.other.URL).Replace(reason)
	}
	got := known.Agent
	if got.Remote.Health.Error != reason {
		t.Errorf("the error of the card is %q, want %q", got.Remote.Health.Error, reason)
	}
	ids := ""
	for _, s := range got.Skills {
		ids += s.ID
	}
	if ids != skill || got.Description != "" {
		t.Errorf("the agent has the skills %q and the description %q, want %q and none", ids, got.Description, skill)
	}
}

// send sends a text and returns the task.
func (m *moving) send(t *testing.T, text, ids string) *taskJSON {
	t.Helper()
	return must[sent](t, do(t, "POST", m.hub.URL()+"/v1/a2a/"+m.name+"/message:send", message1(text, ids)), 200).Task
}

// hi checks that the agent answers, and by which call; "" means any.
func (m *moving) hi(t *testing.T, call string) {
	t.Helper()
	got := m.send(t, "hi", "")
	if *got.Status.State != "TASK_STATE_COMPLETED" || len(got.Artifacts) != 1 || textOf(got.Artifacts[0].Parts) != "awaken says: hi" {
		t.Errorf("the task is %s with the artifacts %+v", *got.Status.State, got.Artifacts)
	}
	sends := m.far.seen("/v1/a2a/researcher/message:")
	if last := sends[len(sends)-1].Path; !strings.HasSuffix(last, call) {
		t.Errorf("the message came by %s, want %s", last, call)
	}
}

func (m *moving) before(t *testing.T) {
	m.look(t, "", "")
	asked := m.send(t, "ask which city?", "")
	if *asked.Status.State != "TASK_STATE_INPUT_REQUIRED" {
		t.Fatalf("the question is %s", *asked.Status.State)
	}
	m.asked = *asked.ID
	m.hi(t, "message:stream")
}

func (m *moving) during(t *testing.T) {
	m.look(t, m.error, m.skill)
	fails, refused := strings.NewReplacer("NAME", m.name, "FAR", m.far.URL).Replace(m.fails[m.restarts]), m.refused[m.restarts]
	switch {
	case refused != "":
		a := do(t, "POST", m.hub.URL()+"/v1/a2a/"+m.name+"/message:send", message1("hi", ""))
		var answer struct{ Error struct{ Message string } }
		if err := json.Unmarshal(a.body, &answer); err != nil || a.status != 400 || answer.Error.Message != refused {
			t.Errorf("the call is answered with %d %s, want %q", a.status, a.body, refused)
		}
	case fails != "":
		got := m.send(t, "hi", "")
		if *got.Status.State != "TASK_STATE_FAILED" || textOf(got.Status.Message.Parts) != fails {
			t.Errorf("the task is %s: %+v, want it to fail with %q", *got.Status.State, got.Status.Message, fails)
		}
	case m.waits[m.restarts]:
		m.hi(t, "message:send")
	default:
		m.hi(t, "message:stream")
	}
}

// after checks that the first card counts again, that the task of before continues, and that
// nothing was executed twice.
func (m *moving) after(t *testing.T) {
	m.look(t, "", "")
	if m.error != "" && m.restarts > 0 {
		m.hi(t, "") // the hub reads a missing card again after a minute
	} else {
		m.hi(t, "message:stream")
	}
	got := m.send(t, "Rome", fmt.Sprintf(`"taskId":%q,`, m.asked))
	if *got.ID != m.asked || *got.Status.State != "TASK_STATE_COMPLETED" || textOf(got.Artifacts[0].Parts) != "awaken says: Rome" {
		t.Errorf("the task of before is %s with the artifacts %+v", *got.Status.State, got.Artifacts)
	}
	want := 4
	if m.fails[m.restarts] != "" || m.refused[m.restarts] != "" {
		want = 3
	}
	m.far.mu.Lock()
	defer m.far.mu.Unlock()
	if len(m.far.tasks) != want {
		t.Errorf("the server has %d tasks, want %d", len(m.far.tasks), want)
	}
	paths := map[string]bool{}
	for _, c := range m.far.calls {
		if c.Method == "POST" && c.Query != "" || c.Authorization != "Bearer ..." {
			t.Errorf("%s %s?%s with Authorization %q", c.Method, c.Path, c.Query, c.Authorization)
		}
		if c.Method == "POST" && !strings.HasPrefix(c.Path, "/v1/a2a/researcher/message:") {
			paths[c.Path] = true
		}
	}
	also := map[string]bool{}
	for _, path := range m.also {
		also[path] = true
	}
	if diff := cmp.Diff(also, paths); diff != "" {
		t.Errorf("calls beside those of the target (-want +got):\n%s", diff)
	}
}

// TestChangingCards: the card has changed at the second call, at which the hub may have
// restarted. The hub calls the target at the configured host with its token, and no other host;
// an unreadable card changes nothing; the task of before continues.
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
	other := newServer(t, "", "default", "researcher")
	rows, config, tasks := map[string]*moving{}, "agents:\n", 0
	for name, next := range nextCards {
		m := &moving{nextCard: next, name: fmt.Sprintf("agent%d", len(rows)), far: newServer(t, "...", "default", "researcher"), other: other, restarts: restarts}
		rows[name] = m
		config += fmt.Sprintf("  - {name: %s, questions: suspend, endpoint: {backend: a2a, base_url: %q, auth: {type: bearer, token: \"...\"}, target: researcher, options: {poll_interval_ms: 20}}}\n",
			m.name, m.far.URL+"/v1/a2a")
		if tasks += 4; next.refused[restarts] != "" {
			tasks--
		}
	}
	h := hubtest.Start(t, hubtest.Options{Config: config})
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
		m.far.serves(nil)
	}
	each("after", (*moving).after)
	var list struct{ TotalSize int }
	if a := do(t, "GET", h.URL()+"/v1/a2a/tasks", ""); json.Unmarshal(a.body, &list) != nil || list.TotalSize != tasks {
		t.Errorf("the hub has %d tasks, want %d", list.TotalSize, tasks)
	}
	if all := other.seen(""); len(all) != 0 {
		t.Errorf("the other host has received %+v", all)
	}
}
