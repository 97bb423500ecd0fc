package adminapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/agents/command"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

var _ adminapi.Hub = (*engine.Engine)(nil)

// hub is a list of agents, of which the second is the default.
type hub struct {
	list   []engine.Agent
	checks []engine.Check
}

func (h *hub) Agents() []engine.Agent { return h.list }

func (h *hub) Ready(context.Context) []engine.Check { return h.checks }

func (h *hub) Agent(name task.Agent) (engine.Agent, bool) {
	if name == "" && len(h.list) > 1 {
		return h.list[1], true
	}
	for _, a := range h.list {
		if a.Name == name {
			return a, true
		}
	}
	return engine.Agent{}, false
}

// newHub returns a hub with a program and the built-in echo.
func newHub() *hub {
	echo := builtin.Agents()[0]
	card := &a2a.AgentCard{
		Name: "Weather", Description: "Tells the weather.", Version: "2",
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface("http://internal", a2a.TransportProtocolJSONRPC)},
		Skills:              []a2a.AgentSkill{{ID: "forecast"}},
	}
	return &hub{
		list: []engine.Agent{
			{Name: "weather", Card: card, Executor: &command.Agent{Serial: true, Silence: time.Minute}},
			{Name: "echo", Card: echo.Card, Executor: echo.Executor},
			{Name: "patient", Card: &a2a.AgentCard{}, Executor: agent.With(echo.Executor, agent.Traits{Silence: -1})},
		},
		checks: []engine.Check{{Name: "recovered", OK: true}, {Name: "store", OK: true}},
	}
}

// answer is a response with its decoded body.
type answer struct {
	code   int
	header http.Header
	body   string
}

// call sends a request of the caller "ann" to h.
func call(t testing.TB, h http.Handler, method, path string) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	return send(h, r.WithContext(auth.WithPrincipal(r.Context(), &auth.Principal{ID: "ann"})))
}

func send(h http.Handler, r *http.Request) answer {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}
}

// decode returns the body as a JSON value and checks the headers that every answer has.
func (a *answer) decode(t testing.TB) map[string]any {
	t.Helper()
	if got := a.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type = %q", got)
	}
	if got := a.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("cache control = %q", got)
	}
	if got := a.header.Get("Content-Length"); got != strconv.Itoa(len(a.body)) {
		t.Errorf("content length = %s, want %d", got, len(a.body))
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("body %q: %v", a.body, err)
	}
	return v
}

// failure checks an error in the shape of the protocol's HTTP+JSON binding.
func (a *answer) failure(t testing.TB, code int, status, reason string) map[string]any {
	t.Helper()
	e, _ := a.decode(t)["error"].(map[string]any)
	if a.code != code || e["code"] != float64(code) || e["status"] != status {
		t.Errorf("answer = %d %s, want %d %s", a.code, a.body, code, status)
	}
	details, _ := e["details"].([]any)
	if len(details) == 0 {
		t.Fatalf("error without details: %s", a.body)
	}
	info, _ := details[0].(map[string]any)
	if info["reason"] != reason || info["@type"] != "type.googleapis.com/google.rpc.ErrorInfo" {
		t.Errorf("first detail = %v, want reason %s", info, reason)
	}
	return e
}

func TestAgents(t *testing.T) {
	t.Parallel()
	got := call(t, &adminapi.Handler{Hub: newHub()}, "GET", "/api/v1/agents")
	want := map[string]any{"agents": []any{
		map[string]any{
			"name": "weather", "kind": "command", "default": false,
			"title": "Weather", "description": "Tells the weather.", "version": "2",
			"skills":     []any{map[string]any{"id": "forecast", "name": "", "description": "", "tags": []any{}}},
			"inputModes": []any{}, "outputModes": []any{},
			"traits": map[string]any{"afterCrash": "fail", "serial": true, "silence": "1m0s"},
		},
		map[string]any{
			"name": "echo", "kind": "local", "default": true,
			"title": "echo", "version": "1.0.0",
			"description": "Streams the text of a message back, word by word. Other parts are returned unchanged.",
			"skills": []any{map[string]any{
				"id": "echo", "name": "Echo", "tags": []any{"echo", "test", "streaming"},
				"inputModes":  []any{"text/plain", "application/json", "*/*"},
				"outputModes": []any{"text/plain", "application/json", "*/*"},
				"description": "Streams the text of a message back, word by word. Other parts are returned unchanged.",
			}},
			"inputModes":  []any{"text/plain", "application/json", "*/*"},
			"outputModes": []any{"text/plain", "application/json", "*/*"},
			"traits":      map[string]any{"afterCrash": "repeat", "serial": false},
		},
		map[string]any{
			"name": "patient", "kind": "local", "default": false, "title": "", "description": "", "version": "",
			"skills": []any{}, "inputModes": []any{}, "outputModes": []any{},
			"traits": map[string]any{"afterCrash": "fail", "serial": false, "silence": "never"},
		},
	}}
	if got.code != 200 {
		t.Errorf("code = %d, want 200", got.code)
	}
	if diff := cmp.Diff(want, got.decode(t)); diff != "" {
		t.Errorf("agents mismatch (-want +got):\n%s", diff)
	}
}

func TestNoAgents(t *testing.T) {
	t.Parallel()
	got := call(t, &adminapi.Handler{Hub: &hub{}}, "GET", "/api/v1/agents")
	if want := `{"agents":[]}`; got.code != 200 || got.body != want {
		t.Errorf("answer = %d %s, want %s", got.code, got.body, want)
	}
}

func TestAgent(t *testing.T) {
	t.Parallel()
	hub := newHub()
	got := call(t, &adminapi.Handler{Hub: hub}, "GET", "/api/v1/agents/weather")
	body := got.decode(t)
	if got.code != 200 || body["name"] != "weather" || body["kind"] != "command" {
		t.Errorf("answer = %d %s", got.code, got.body)
	}
	card, _ := body["card"].(map[string]any)
	if card["name"] != "Weather" {
		t.Errorf("card = %v, want that of the agent", card)
	}
	if diff := cmp.Diff([]any{}, card["supportedInterfaces"]); diff != "" {
		t.Errorf("interfaces mismatch (-want +got):\n%s", diff)
	}
	if len(hub.list[0].Card.SupportedInterfaces) != 1 {
		t.Error("the registered card was changed")
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hub := newHub()
		h := &adminapi.Handler{Hub: hub, Version: "0.1.0", Store: "memory", Started: time.Now()}
		time.Sleep(90*time.Second + 700*time.Millisecond)
		synctest.Wait()
		want := map[string]any{
			"version": "0.1.0", "started": "2000-01-01T00:00:00Z", "uptimeSeconds": 90.0, "store": "memory", "ready": true,
			"checks": []any{map[string]any{"name": "recovered", "ok": true}, map[string]any{"name": "store", "ok": true}},
		}
		got := call(t, h, "GET", "/api/v1/status")
		if diff := cmp.Diff(want, got.decode(t)); diff != "" || got.code != 200 {
			t.Errorf("status = %d, mismatch (-want +got):\n%s", got.code, diff)
		}
		hub.checks[1] = engine.Check{Name: "store", Detail: "disk full"}
		got = call(t, h, "GET", "/api/v1/status")
		body := got.decode(t)
		if got.code != 200 || body["ready"] != false || !strings.Contains(got.body, `"detail":"disk full"`) {
			t.Errorf("status = %d %s, want one that is not ready", got.code, got.body)
		}
	})
}

// index answers with totals, as a store does, and records the queries.
type index struct {
	task.Index
	totals map[task.Owner]map[task.State]int
	err    error
	asked  int
}

func (i *index) List(_ context.Context, q *task.Query) (task.ListPage, error) {
	i.asked++
	if err := q.Check(); err != nil {
		return task.ListPage{}, err
	}
	return task.ListPage{Total: i.totals[q.Owner][q.State]}, i.err
}

// TestCounts checks that callers get the numbers of their own tasks, and administrators those of
// all owners.
func TestCounts(t *testing.T) {
	t.Parallel()
	h, _, _ := keyed(t)
	a := new(auditor)
	h.Audit = a
	h.Tasks = &index{totals: map[task.Owner]map[task.State]int{
		"clerk": {task.Working: 2, task.Completed: 40}, "bob": {task.Failed: 7}, "": {task.Working: 2, task.Completed: 40, task.Failed: 7},
	}}
	const mine, all, bobs = `{"counts":{"TASK_STATE_COMPLETED":40,"TASK_STATE_WORKING":2},"total":42}`,
		`{"counts":{"TASK_STATE_COMPLETED":40,"TASK_STATE_FAILED":7,"TASK_STATE_WORKING":2},"total":49}`,
		`{"counts":{"TASK_STATE_FAILED":7},"total":7}`
	for _, tt := range []struct {
		p     *auth.Principal
		query string
		code  int
		want  string
	}{
		{clerk, "", 200, mine},
		{clerk, "?agent=echo", 200, mine},
		{clerk, "?scope=all", 403, ""},
		{clerk, "?scope=all&owner=clerk", 403, ""},
		{clerk, "?owner=bob", 400, ""},
		{clerk, "?scope=mine", 400, ""},
		{boss, "?scope=all", 200, all},
		{boss, "?scope=all&owner=bob", 200, bobs},
		{boss, "?scope=all&owner=nemo", 200, `{"counts":{},"total":0}`},
	} {
		got := as(t, h, tt.p, "GET /api/v1/counts"+tt.query, "")
		if got.code != tt.code || tt.want != "" && got.body != tt.want {
			t.Errorf("%s%s: %d %s, want %d %s", tt.p.ID, tt.query, got.code, got.body, tt.code, tt.want)
		}
	}
	if n := strings.Count(strings.Join(a.entries, "\n"), "ended "+boss.ID+" task.inspect counts/"); n != 3 {
		t.Errorf("audit entries %v, want three of all owners", a.entries)
	}
}

func TestStatusCountsTheCallersTasks(t *testing.T) {
	t.Parallel()
	x := &index{totals: map[task.Owner]map[task.State]int{
		"ann": {task.Working: 2, task.Completed: 40},
		"bob": {task.Failed: 7},
	}}
	got := call(t, &adminapi.Handler{Hub: newHub(), Tasks: x}, "GET", "/api/v1/status")
	want := map[string]any{"TASK_STATE_WORKING": 2.0, "TASK_STATE_COMPLETED": 40.0}
	if diff := cmp.Diff(want, got.decode(t)["tasks"]); diff != "" {
		t.Errorf("tasks mismatch (-want +got):\n%s", diff)
	}
	if x.asked != 8 {
		t.Errorf("the index was asked %d times, want once for each state", x.asked)
	}
}

func TestStatusOnARealEngine(t *testing.T) {
	t.Parallel()
	store := new(memstore.Store)
	e := engine.New(engine.Config{Store: store})
	echo := builtin.Agents()[0]
	if err := e.Register(engine.Agent{Name: echo.Name, Card: echo.Card, Executor: echo.Executor}); err != nil {
		t.Fatal(err)
	}
	h := &adminapi.Handler{Hub: e, Tasks: store, Store: "memory"}
	got := call(t, h, "GET", "/api/v1/status")
	if body := got.decode(t); got.code != 200 || body["ready"] != false {
		t.Errorf("status = %d %s, want an engine that has not recovered yet", got.code, got.body)
	}
	got = call(t, h, "GET", "/api/v1/agents/echo")
	if body := got.decode(t); got.code != 200 || body["default"] != true {
		t.Errorf("agent = %d %s, want the default one", got.code, got.body)
	}
}

func TestErrorsOfTheStoreStayInTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := &adminapi.Handler{
		Hub: newHub(), Tasks: &index{err: errors.New("secret path of a disk")},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}
	got := call(t, h, "GET", "/api/v1/status")
	e := got.failure(t, 500, "INTERNAL", "INTERNAL_ERROR")
	if strings.Contains(got.body, "secret") {
		t.Errorf("answer %s has data that callers must not see", got.body)
	}
	meta, _ := e["details"].([]any)[0].(map[string]any)["metadata"].(map[string]any)
	reference, _ := meta["reference"].(string)
	if reference == "" || strings.Count(log.String(), reference) != 1 || !strings.Contains(log.String(), "secret path") {
		t.Errorf("reference %q, log %q: want one record", reference, log.String())
	}
	h.Logger = nil
	if got := call(t, h, "GET", "/api/v1/status"); got.code != 500 {
		t.Errorf("without a logger = %d, want 500", got.code)
	}
	h.Tasks = &index{err: task.ErrUnavailable}
	got = call(t, h, "GET", "/api/v1/status")
	got.failure(t, 503, "UNAVAILABLE", "UNAVAILABLE")
}

func TestWrongPaths(t *testing.T) {
	t.Parallel()
	h := &adminapi.Handler{Hub: newHub()}
	for _, path := range []string{"/api/v1", "/api/v1/", "/api/v1/nothing", "/api/v1/status/", "/api/v1/agents/", "/api/v1/agents/echo/card"} {
		got := call(t, h, "GET", path)
		got.failure(t, 404, "UNIMPLEMENTED", "METHOD_NOT_FOUND")
	}
	got := call(t, h, "GET", "/api/v1/agents/nobody")
	got.failure(t, 404, "NOT_FOUND", "AGENT_NOT_FOUND")
}

// TestUncleanPaths checks that a path that a ServeMux would redirect is refused.
func TestUncleanPaths(t *testing.T) {
	t.Parallel()
	h := &adminapi.Handler{Hub: newHub()}
	for _, path := range []string{"/api/v1//status", "/api/v1/./status", "/api/v1/agents/../status", "/api/v1/agents/echo/", "//api/v1/status"} {
		for _, method := range []string{"GET", "POST"} {
			r := httptest.NewRequestWithContext(auth.WithPrincipal(t.Context(), &auth.Principal{ID: "ann"}), method, "/", nil)
			r.URL.Path = path
			got := send(h, r)
			got.failure(t, 404, "UNIMPLEMENTED", "METHOD_NOT_FOUND")
		}
	}
}

func TestWrongMethods(t *testing.T) {
	t.Parallel()
	h := &adminapi.Handler{Hub: newHub()}
	for _, path := range []string{"/api/v1/status", "/api/v1/agents", "/api/v1/agents/echo"} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			got := call(t, h, method, path)
			got.failure(t, 405, "UNIMPLEMENTED", "METHOD_NOT_FOUND")
			if allow := got.header.Get("Allow"); allow != "GET, HEAD" {
				t.Errorf("%s %s: Allow = %q", method, path, allow)
			}
		}
	}
	if got := call(t, h, "POST", "/api/v1/nothing"); got.code != 404 {
		t.Errorf("POST to an unknown path = %d, want 404", got.code)
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	h := &adminapi.Handler{Hub: newHub()}
	get := call(t, h, "GET", "/api/v1/agents")
	head := call(t, h, "HEAD", "/api/v1/agents")
	if head.code != 200 || head.body != "" {
		t.Errorf("HEAD = %d %q, want no body", head.code, head.body)
	}
	if diff := cmp.Diff(get.header, head.header); diff != "" {
		t.Errorf("headers mismatch (-GET +HEAD):\n%s", diff)
	}
}

func TestCallerIsRequired(t *testing.T) {
	t.Parallel()
	got := send(&adminapi.Handler{Hub: newHub()}, httptest.NewRequest("GET", "/api/v1/agents", nil))
	got.failure(t, 401, "UNAUTHENTICATED", "UNAUTHENTICATED")
}

// TestDisconnectedCallers checks that a failure caused by the caller's disconnect is not
// logged as an error of the hub.
func TestDisconnectedCallers(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	waited := errors.New("the time to wait is over")
	h := &adminapi.Handler{Hub: newHub(), Tasks: &index{err: waited}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(waited)
	ctx = auth.WithPrincipal(ctx, &auth.Principal{ID: "ann"})
	send(h, httptest.NewRequestWithContext(ctx, "GET", "/api/v1/status", nil))
	if log.Len() > 0 {
		t.Errorf("the log has %s", log.String())
	}
}
