package adminapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/broker"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/secret/seal"
	"github.com/parley-a2a/parley/task"
)

// growing is a hub to which a directory adds agents.
type growing struct{ *hub }

func (g growing) Put(e *directory.Entry) error {
	g.Drop(e.Name())
	g.list = append(g.list, engine.Agent{Name: e.Name(), Card: e.Card(), Executor: g.list[0].Executor})
	return nil
}

func (g growing) Drop(name task.Agent) {
	var left []engine.Agent
	for _, a := range g.list {
		if a.Name != name {
			left = append(left, a)
		}
	}
	g.list = left
}

// answering is a Fetcher of an agent that always answers.
type answering struct{}

func (answering) Fetch(_ context.Context, r *directory.Request) (*card.Card, error) {
	if strings.Contains(r.URL, "dead") {
		return nil, fmt.Errorf("connection refused")
	}
	return card.Read([]byte(`{"name":"Peer","description":"Finds papers.","version":"1","url":"` + r.URL + `","skills":[{"id":"papers","name":"Papers","description":"Finds papers.","tags":["research"]}]}`))
}

// withDirectory returns a handler with a directory that has one agent from a file.
func withDirectory(t *testing.T, logs *bytes.Buffer) *adminapi.Handler {
	t.Helper()
	hub := newHub()
	s := configured{{Name: "inside", Title: "inside", URL: "http://dead.example", Where: "agents.yaml:3"}}
	d := directory.New(directory.Config{
		Sources: []directory.Source{s}, Registrar: growing{hub}, Fetcher: answering{}, Sealer: seal.New(),
		Services: []directory.Service{{ID: "github", Summary: "Repositories.", Tools: []directory.Tool{{Name: "list_pulls", Description: "Lists pull requests."}}}},
	})
	if err := d.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &adminapi.Handler{Hub: hub, Directory: d, Broker: broker.New(broker.Config{}), Logger: slog.New(slog.NewTextHandler(logs, nil))}
}

// configured is a file that names agents, one of them wrongly.
type configured []directory.Spec

func (configured) Name() string { return "agents.yaml" }

func (c configured) Load(context.Context) directory.Update {
	return directory.Update{Specs: c, Problems: []error{fmt.Errorf("agents.yaml:7: agents[1].ulr: unknown key")}}
}

func (configured) Follow(ctx context.Context, _ func(directory.Update)) error {
	<-ctx.Done()
	return nil
}

// ask sends a request of a caller with the given roles.
func ask(t *testing.T, h http.Handler, request, body string, roles ...string) answer {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return send(h, r.WithContext(auth.WithPrincipal(r.Context(), &auth.Principal{ID: "ann", Roles: roles})))
}

// TestCredentialsAreReplacedKeptAndCleared checks that credentials are never shown, that they
// can be replaced, kept and cleared, and that they stay with their host.
func TestCredentialsAreReplacedKeptAndCleared(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	h := withDirectory(t, &logs)
	for _, step := range []struct {
		body, want string
		code       int
	}{
		{`{"url":"https://peer.example/v2","credentials":{"apiKey":"other-secret"}}`, `"credentials":"API key"`, 200},
		{`{"url":"https://peer.example:8443/v3","description":"moved"}`, `"credentials":"API key"`, 200},
		{`{"url":"https://thief.example/v3"}`, "credentials: the agent moves to another host", 400},
		{`{"url":"http://peer.example/v3"}`, "credentials: the agent moves to another host", 400},
		{`{"url":"https://peer.example/v3","credentials":{"apiKey":7}}`, "must not be number", 400},
		{`{"url":"https://peer.example/v3","credentials":{"password":"secret"}}`, "is not known here", 400},
		{`{"url":"https://peer.example/v3"}`, `"credentials":"API key"`, 200},
		{`{"url":"https://peer.example/v3","credentials":null}`, `"credentials":"none"`, 200},
		{`{"url":"https://thief.example/v3"}`, `"credentials":"none"`, 200},
	} {
		got := ask(t, h, "PUT /api/v1/agents/my-peer", step.body, auth.RoleAdmin)
		if got.code != step.code || !strings.Contains(got.body, step.want) || strings.Contains(got.body, "secret") {
			t.Errorf("%s: %d %s, want %d %s", step.body, got.code, got.body, step.code, step.want)
		}
	}
	if strings.Contains(logs.String(), "secret") {
		t.Errorf("the log contains a secret:\n%s", &logs)
	}
}

func TestRegisteredAgents(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	h := withDirectory(t, &logs)
	const body = `{"title":"My Peer","url":"https://peer.example/a2a","target":"x","timeoutMs":5000,"skills":[{"id":"extra"}],
		"credentials":{"bearer":"very-secret","headerName":"X-K","headerValueBase64":"dmVyeS1zZWNyZXQ="}}`
	for name, got := range map[string]answer{
		"add":  ask(t, h, "POST /api/v1/agents", body, auth.RoleAdmin),
		"list": ask(t, h, "GET /api/v1/agents", "", auth.RoleAdmin),
		"get":  ask(t, h, "GET /api/v1/agents/my-peer", "", auth.RoleAdmin),
	} {
		if got.code != 200 || !strings.Contains(got.body, `"name":"my-peer"`) || strings.Contains(got.body, "secret") || strings.Contains(got.body, "dmVyeS") {
			t.Errorf("%s: %d %s", name, got.code, got.body)
		}
	}
	if v := ask(t, h, "POST /api/v1/agents/my-peer/refresh", "", auth.RoleAdmin); v.code != 200 {
		t.Fatalf("refresh: %d %s", v.code, v.body)
	} else if p := v.decode(t); p["reachable"] != true || p["skillCount"] != 2.0 || p["changed"] != true {
		t.Errorf("refresh = %v", p)
	}
	got := ask(t, h, "GET /api/v1/agents/my-peer", "", auth.RoleAdmin)
	d := got.decode(t)
	remote := d["remote"].(map[string]any)
	if remote["url"] != "https://peer.example/a2a" || remote["credentials"] != "bearer token, header X-K" || remote["registered"] != true ||
		d["state"] != "up" || d["description"] != "Finds papers." || remote["target"] != "x" {
		t.Errorf("agent = %s", got.body)
	}
	// A change keeps the credentials, unless it has new ones.
	got = ask(t, h, "PUT /api/v1/agents/my-peer", `{"url":"https://peer.example/v2"}`, auth.RoleAdmin)
	if got.code != 200 || !strings.Contains(got.body, "bearer token") {
		t.Errorf("update: %d %s", got.code, got.body)
	}
	got = ask(t, h, "PUT /api/v1/agents/my-peer", `{"url":"https://peer.example/v2","credentials":{}}`, auth.RoleAdmin)
	if got.code != 200 || !strings.Contains(got.body, `"credentials":"none"`) {
		t.Errorf("update without credentials: %d %s", got.code, got.body)
	}
	if got := ask(t, h, "DELETE /api/v1/agents/My%20Peer", "", auth.RoleAdmin); got.code != 200 {
		t.Errorf("delete: %d %s", got.code, got.body)
	}
	if got := ask(t, h, "GET /api/v1/agents/my-peer", "", auth.RoleAdmin); got.code != 404 || !strings.Contains(got.body, "AGENT_NOT_FOUND") {
		t.Errorf("after delete: %d %s", got.code, got.body)
	}
	for _, part := range []string{"agent registered", "agent removed", "by=ann"} {
		if !strings.Contains(logs.String(), part) {
			t.Errorf("the log does not say %q:\n%s", part, logs.String())
		}
	}
}

// TestWhatOthersSeeOfAgents checks that callers other than administrators see an agent's
// skills, but not its address or health.
func TestWhatOthersSeeOfAgents(t *testing.T) {
	t.Parallel()
	h := withDirectory(t, new(bytes.Buffer))
	for path, want := range map[string]string{"/api/v1/agents": `"name":"inside"`, "/api/v1/agents/inside": `"lastSeen":"never","state":"unknown"`} {
		mine, theirs := ask(t, h, "GET "+path, "", auth.RoleAdmin), ask(t, h, "GET "+path, "")
		if theirs.code != 200 || !strings.Contains(theirs.body, want) || strings.Contains(theirs.body, "dead.example") || strings.Contains(theirs.body, "ulr") {
			t.Errorf("%s for others: %d %s", path, theirs.code, theirs.body)
		}
		if !strings.Contains(mine.body, "dead.example") {
			t.Errorf("%s for an administrator: %s", path, mine.body)
		}
	}
	if got := ask(t, h, "GET /api/v1/agents", "", auth.RoleAdmin); !strings.Contains(got.body, `"problems":[{"source":"agents.yaml","problem":"agents.yaml:7: agents[1].ulr: unknown key"}]`) {
		t.Errorf("problems of the file: %s", got.body)
	}
	for _, request := range []string{
		"POST /api/v1/agents", "PUT /api/v1/agents/x", "DELETE /api/v1/agents/inside", "POST /api/v1/agents/inside/probe",
		"POST /api/v1/agents/inside/refresh", "GET /api/v1/costs", "GET /api/v1/confidences",
	} {
		if got := ask(t, h, request, `{"url":"https://x.example"}`); got.code != http.StatusForbidden {
			t.Errorf("%s of somebody: %d %s", request, got.code, got.body)
		}
	}
}

func TestAgentErrors(t *testing.T) {
	t.Parallel()
	h := withDirectory(t, new(bytes.Buffer))
	for _, tt := range []struct {
		request, body string
		code          int
		says          string
	}{
		{"POST /api/v1/agents", `{"title":"x"}`, 400, "url: is missing"},
		{"POST /api/v1/agents", `{"url":"https://x.example"}`, 400, "name: is missing"},
		{"POST /api/v1/agents", `{"urll":"x"}`, 400, "urll"},
		{"POST /api/v1/agents", `{"name":"x","url":"https://x.example","timeoutMs":-1}`, 400, "must not be negative"},
		{"PUT /api/v1/agents/a", `{"name":"b","url":"https://x.example"}`, 400, "not the name in the path"},
		{"PUT /api/v1/agents/a", `{"url":"https://x.example","credentials":{"headerName":"k","headerValueBase64":"%"}}`, 400, "is not base64"},
		{"PUT /api/v1/agents/inside", `{"url":"https://x.example"}`, 409, "the agent is configured in agents.yaml; change it there"},
		{"DELETE /api/v1/agents/inside", "", 409, "AGENT_CONFIGURED"},
		{"DELETE /api/v1/agents/insid", "", 404, "did you mean inside?"},
		{"POST /api/v1/agents/nobody/probe", "", 404, "AGENT_NOT_FOUND"},
		{"GET /api/v1/agents/inside/probe", "", 405, "not allowed"},
		{"POST /api/v1/agents/inside/other", "", 404, "nothing is served"},
		{"PATCH /api/v1/agents/inside", "", 405, "GET, HEAD, PUT, DELETE"},
		{"GET /api/v1/search", "", 400, "q: is missing"},
		{"GET /api/v1/search?q=x&limit=1000", "", 400, "limit"},
		{"GET /api/v1/costs?minSamples=-1", "", 400, "minSamples"},
	} {
		if got := ask(t, h, tt.request, tt.body, auth.RoleAdmin); got.code != tt.code || !strings.Contains(got.body, tt.says) {
			t.Errorf("%s %s: %d %s, want %d with %q", tt.request, tt.body, got.code, got.body, tt.code, tt.says)
		}
	}
	if got := ask(t, h, "POST /api/v1/agents/inside/probe", "", auth.RoleAdmin); got.code != 200 || !strings.Contains(got.body, `"reachable":false`) || !strings.Contains(got.body, "connection refused") {
		t.Errorf("probe of an agent that is down: %d %s", got.code, got.body)
	}
}

func TestSearchAgentsAndServices(t *testing.T) {
	t.Parallel()
	h := withDirectory(t, new(bytes.Buffer))
	if got := ask(t, h, "POST /api/v1/agents", `{"name":"peer","url":"https://peer.example"}`, auth.RoleAdmin); got.code != 200 {
		t.Fatal(got.body)
	}
	ask(t, h, "POST /api/v1/agents/peer/refresh", "", auth.RoleAdmin)
	for query, want := range map[string]string{
		"research+papers": `{"results":[{"id":"peer","type":"a2a","summary":"Finds papers.","relevance_score":1,"top_skills":["papers"]}]}`,
		"pull+requests":   `{"results":[{"id":"github","type":"mcp","summary":"Repositories.","relevance_score":1,"top_tools":["list_pulls"]}]}`,
		"zzz":             `{"results":[]}`,
	} {
		if diff := cmp.Diff(want, ask(t, h, "GET /api/v1/search?q="+query, "").body); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

// TestWithoutDirectory checks that without a directory no agent can be registered or searched
// for.
func TestWithoutDirectory(t *testing.T) {
	t.Parallel()
	h := &adminapi.Handler{Hub: newHub()}
	for request, code := range map[string]int{
		"POST /api/v1/agents": 405, "PUT /api/v1/agents/x": 405, "GET /api/v1/search?q=x": 404, "GET /api/v1/costs": 404,
		"POST /api/v1/agents/echo/probe": 404, "GET /api/v1/agents/echo": 200,
	} {
		if got := ask(t, h, request, "{}", auth.RoleAdmin); got.code != code {
			t.Errorf("%s: %d %s, want %d", request, got.code, got.body, code)
		}
	}
}

// TestReviewAgent checks that a review shows the card of an agent and registers nothing.
func TestReviewAgent(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	h := withDirectory(t, &logs)
	before := as(t, h, boss, "GET /api/v1/agents", "").body
	got := as(t, h, boss, "POST /api/v1/agents/review", `{"url":"http://peer.example"}`, isJSON)
	var r adminjson.Reviewed
	if err := json.Unmarshal([]byte(got.body), &r); err != nil || got.code != 200 || r.Name != "peer" || !strings.Contains(string(r.Card), "Finds papers.") {
		t.Errorf("review = %d %s", got.code, got.body)
	}
	if after := as(t, h, boss, "GET /api/v1/agents", "").body; after != before {
		t.Errorf("after a review the agents are %s, want %s", after, before)
	}
	for _, body := range []string{`{"url":"http://dead.example"}`, `{"url":"file:///etc/passwd"}`, `{}`, `{"url":"http://peer.example","name":"No Name"}`} {
		if got := as(t, h, boss, "POST /api/v1/agents/review", body, isJSON); got.code != 400 {
			t.Errorf("review of %s = %d %s, want 400", body, got.code, got.body)
		}
	}
	if got := as(t, h, clerk, "POST /api/v1/agents/review", `{"url":"http://peer.example"}`, isJSON); got.code != 403 {
		t.Errorf("review by a caller = %d %s, want 403", got.code, got.body)
	}
}
