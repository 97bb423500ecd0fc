package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/front/adminapi"
)

// described is the description of the API, as a hub serves it, with the operations that a test
// has called.
type described struct {
	h        *busHub
	doc      map[string]any
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
	called   map[string]bool // operations that have answered with 200
}

const (
	rootKey = "root-0123456789abcdef"
	annKey  = "ann-0123456789abcdef"
)

// describedHub starts a hub with all parts that the API has.
func describedHub(t *testing.T, b *bus.Memory) *busHub {
	t.Helper()
	cfg, err := config.Parse("parley.yaml", []byte(`
auth: {api_keys: {`+annKey+`: {agent_id: ann}, `+rootKey+`: {agent_id: root, roles: [admin]}}}
agents:
  - {name: greeter, queue: greeter}
  - {name: other, queue: other}
  - {name: vault, command: [sh, -c, 'echo done'], trust: gated, skills: [{id: open}]}
push: {allow: [loopback]}
directory: {allow: [loopback]}
audit: {level: reads}
`), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	cfg.Listen, cfg.Data, cfg.Engine.DrainTimeout = "127.0.0.1:0", t.TempDir(), -1
	cfg.OpenBus = func(context.Context) (bus.Bus, error) { return b.Peer(), nil }
	h, stop := running(t, cfg, slog.New(slog.DiscardHandler))
	<-h.Recovered()
	return &busHub{h, t, stop}
}

// readDescription reads the description without credentials. Answers must have only the members
// that it names.
func readDescription(t *testing.T, h *busHub) *described {
	t.Helper()
	code, text := h.call("GET "+adminapi.Description, "")
	if code != 200 {
		t.Fatalf("the description = %d %s", code, text)
	}
	d := &described{h: h, schemas: make(map[string]*jsonschema.Schema), called: make(map[string]bool)}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	d.doc = v.(map[string]any)
	closeObjects(d.doc["components"])
	d.compiler = jsonschema.NewCompiler()
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("api.json", d.doc); err != nil {
		t.Fatal(err)
	}
	return d
}

// closeObjects forbids members that are not named, in all objects with named members.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["properties"].(map[string]any); ok && v["type"] == "object" && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for _, inner := range v {
			closeObjects(inner)
		}
	case []any:
		for _, inner := range v {
			closeObjects(inner)
		}
	}
}

// under returns the value at a path of the description; nil if there is none.
func (d *described) under(path ...string) any {
	var v any = d.doc
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// check checks a JSON text against the schema at a path of the description.
func (d *described) check(text string, path ...string) error {
	for i, name := range path {
		path[i] = strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
	}
	at := "api.json#/" + url.PathEscape(strings.Join(path, "/"))
	at = strings.ReplaceAll(at, "%2F", "/")
	if d.schemas[at] == nil {
		s, err := d.compiler.Compile(at)
		if err != nil {
			return err
		}
		d.schemas[at] = s
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("%.200s: %w", text, err)
	}
	return d.schemas[at].Validate(v)
}

var inPath = regexp.MustCompile(`\{id\}`)

// operation returns the path and the method of the operation of a request.
func (d *described) operation(method, path string) (string, string) {
	found := ""
	for at := range d.doc["paths"].(map[string]any) {
		pattern := "^" + inPath.ReplaceAllString(regexp.QuoteMeta(strings.ReplaceAll(at, "{id}", "\x00")), "") + "$"
		pattern = strings.ReplaceAll(pattern, "\x00", `[^/]+`)
		if regexp.MustCompile(pattern).MatchString(path) && d.under("paths", at, strings.ToLower(method)) != nil && (found == "" || strings.Count(at, "{") < strings.Count(found, "{")) {
			found = at
		}
	}
	return found, strings.ToLower(method)
}

// request sends a request that is described, and checks it and its answer.
func (d *described) request(want int, key, what, body string) string {
	d.h.t.Helper()
	method, target, _ := strings.Cut(what, " ")
	u, err := url.Parse(target)
	if err != nil {
		d.h.t.Fatal(err)
	}
	at, verb := d.operation(method, u.Path)
	if at == "" {
		d.h.t.Fatalf("%s is not described", what)
	}
	if want == 200 {
		d.checkQuery(at, verb, u.Query())
		if _, has := d.under("paths", at, verb).(map[string]any)["requestBody"]; has {
			if err := d.check(body, "paths", at, verb, "requestBody", "content", "application/json", "schema"); err != nil {
				d.h.t.Errorf("%s: the body %s is not as described: %v", what, body, err)
			}
		} else if body != "" {
			d.h.t.Errorf("%s: no body is described", what)
		}
		d.called[strings.ToUpper(verb)+" "+at] = true
	}
	header := []string{"Authorization: Bearer " + key}
	if key == "" {
		header = nil
	}
	code, answer := d.h.call(what, body, header...)
	if code != want {
		d.h.t.Errorf("%s = %d %s, want %d", what, code, answer, want)
		return answer
	}
	d.checkAnswer(what, at, verb, answer, code)
	return answer
}

// checkQuery checks that a request has only described parameters, with described values.
func (d *described) checkQuery(at, verb string, q url.Values) {
	list, _ := d.under("paths", at, verb).(map[string]any)["parameters"].([]any)
	for i, p := range list {
		p := p.(map[string]any)
		name := p["name"].(string)
		if p["in"] != "query" {
			continue
		}
		if p["required"] == true && !q.Has(name) {
			d.h.t.Errorf("%s %s: the parameter %s is missing", verb, at, name)
		}
		schema := p["schema"].(map[string]any)
		for _, value := range q[name] {
			text, _ := json.Marshal(value)
			if schema["type"] == "integer" || schema["type"] == "boolean" {
				text = []byte(value)
			}
			if schema["type"] == "array" {
				text = []byte("[" + string(text) + "]")
			}
			if err := d.check(string(text), "paths", at, verb, "parameters", fmt.Sprint(i), "schema"); err != nil {
				d.h.t.Errorf("%s %s: %s=%s is not as described: %v", verb, at, name, value, err)
			}
		}
		q.Del(name)
	}
	if len(q) > 0 {
		d.h.t.Errorf("%s %s: the parameters %v are not described", verb, at, q)
	}
}

// checkAnswer checks an answer: a value, an error, or a stream.
func (d *described) checkAnswer(what, at, verb, answer string, code int) {
	d.h.t.Helper()
	if code != 200 {
		if err := d.check(answer, "components", "schemas", "Error"); err != nil {
			d.h.t.Errorf("%s: the error %s is not as described: %v", what, answer, err)
		}
		d.checkReason(what, at, verb, answer, code)
		return
	}
	content := []string{"paths", at, verb, "responses", "200", "content"}
	if _, ok := d.under(append(slices.Clone(content), "text/event-stream")...).(map[string]any); !ok {
		if err := d.check(answer, append(content, "application/json", "schema")...); err != nil {
			d.h.t.Errorf("%s: the answer %.2000s is not as described: %v", what, answer, err)
		}
		return
	}
	n := 0
	for lines := bufio.NewScanner(strings.NewReader(answer)); lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || text == "{}" {
			continue
		}
		n++
		if err := d.check(text, append(slices.Clone(content), "text/event-stream", "x-parley-event")...); err != nil {
			d.h.t.Errorf("%s: the event %s is not as described: %v", what, text, err)
		}
	}
	if n == 0 {
		d.h.t.Errorf("%s: no event in %q", what, answer)
	}
}

// checkReason checks that the reason of an error is described.
func (d *described) checkReason(what, at, verb, answer string, code int) {
	d.h.t.Helper()
	var e struct {
		Error struct {
			Details []struct{ Reason string }
		}
	}
	if err := json.Unmarshal([]byte(answer), &e); err != nil || len(e.Error.Details) == 0 {
		d.h.t.Errorf("%s: the error %s has no reason", what, answer)
		return
	}
	reason := e.Error.Details[0].Reason
	common := d.under("components", "responses", "Error").(map[string]any)["description"].(string)
	own, _ := d.under("paths", at, verb, "responses").(map[string]any)[fmt.Sprint(code)].(map[string]any)
	special, _ := own["x-parley-reasons"].([]any)
	if !strings.Contains(common, "`"+reason+"`") && !slices.Contains(special, any(reason)) {
		d.h.t.Errorf("%s: the error %d %s is not described", what, code, reason)
	}
}

// field returns a member of a JSON object.
func field(t *testing.T, answer string, path ...string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(answer), &v); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	return fmt.Sprint(inside(v, path...))
}

// TestDescriptionOfTheAPI calls every operation of the API on a hub with all its parts, and checks
// the requests and the answers against the description that the hub serves.
func TestDescriptionOfTheAPI(t *testing.T) {
	t.Parallel()
	b := new(bus.Memory)
	d := readDescription(t, describedHub(t, b))
	d.request(200, "", "GET "+adminapi.Description, "")
	d.tasks(b)
	d.agents()
	d.people()
	d.notes()
	d.hub()
	d.failures()
	for at, p := range d.doc["paths"].(map[string]any) {
		for _, verb := range slices.Sorted(maps.Keys(p.(map[string]any))) {
			if o := strings.ToUpper(verb) + " " + at; !d.called[o] {
				t.Errorf("%s is described, and the test does not call it", o)
			}
		}
	}
}

// send sends a message of ann to an agent and returns the id of its task.
func (d *described) send(agent, text, more string) string {
	d.h.t.Helper()
	code, answer := d.h.call("POST /v1/a2a/"+agent+"/message:send", `{"message":{"messageId":"`+text+`","role":"ROLE_USER","parts":[{"text":"`+text+`"}]},"configuration":{"returnImmediately":true`+more+`}}`,
		"A2A-Version: 1.0", "Authorization: Bearer "+annKey)
	if code != 200 {
		d.h.t.Fatalf("send to %s = %d %s", agent, code, answer)
	}
	return field(d.h.t, answer, "task", "id")
}

// follow waits for the end of a task of ann.
func (d *described) follow(id string) {
	d.h.t.Helper()
	d.h.call("POST /v1/a2a/tasks/"+id+":subscribe", "{}", "A2A-Version: 1.0", "Last-Event-ID: 1", "Authorization: Bearer "+annKey)
}

// tasks calls the operations on tasks, their webhooks and dead letters.
func (d *described) tasks(b *bus.Memory) {
	d.h.t.Helper()
	silent := httptest.NewServer(http.NotFoundHandler())
	d.h.t.Cleanup(silent.Close)
	dead := d.send("greeter", "poison", `,"taskPushNotificationConfig":{"url":"`+silent.URL+`/hook?token=x","authentication":{"scheme":"Bearer","credentials":"c"},"id":"h1"}`)
	d.poison(b, dead)
	other := d.send("greeter", "poison2", "")
	d.poison(b, other)
	one, api := d.send("greeter", "one", ""), "/api/v1/tasks/"
	d.request(200, annKey, "GET /api/v1/tasks?agent=greeter&state=TASK_STATE_FAILED&pageSize=1", "")
	next := field(d.h.t, d.request(200, rootKey, "GET /api/v1/tasks?scope=all&pageSize=1", ""), "nextPageToken")
	d.request(200, rootKey, "GET /api/v1/tasks?scope=all&pageSize=1&pageToken="+url.QueryEscape(next), "")
	d.request(200, annKey, "GET "+api+one, "")
	d.request(200, annKey, "GET /api/v1/tasks?idPrefix="+one[:8], "")
	d.request(200, rootKey, "GET /api/v1/tasks?scope=all&owner=ann&since=2020-01-01T00:00:00Z&until=2099-01-01T00:00:00Z", "")
	d.request(200, rootKey, "GET "+api+dead+"?scope=all&owner=ann", "")
	d.request(200, annKey, "GET /api/v1/counts?agent=greeter", "")
	d.request(200, rootKey, "GET /api/v1/counts?scope=all&owner=ann", "")
	d.stream(rootKey, "GET /api/v1/counts/events?scope=all", func() {})
	d.request(200, annKey, "GET /api/v1/attention", "")
	d.stream(rootKey, "GET /api/v1/attention/events?scope=all", func() {})
	d.request(200, annKey, "GET "+api+dead+"/tree", "")
	d.request(200, annKey, "GET "+api+dead+"/tree/events", "")
	d.request(200, annKey, "GET "+api+dead+"/log?after=0&limit=1", "")
	d.request(200, rootKey, "GET "+api+dead+"/log?scope=all", "")
	d.request(200, annKey, "GET "+api+dead+"/log/events?after=0", "")
	d.request(200, rootKey, "POST "+api+one+"/reassign", `{"agent":"other"}`)
	d.request(200, rootKey, "POST "+api+one+"/redrive", `{"owner":"ann"}`)
	d.request(200, rootKey, "POST "+api+one+"/fail", `{"reason":"it hangs"}`)
	d.request(409, rootKey, "POST "+api+one+"/redrive", `{}`)
	d.request(200, rootKey, "POST "+api+d.send("greeter", "two", "")+"/cancel", `{"owner":"ann"}`)
	d.request(404, rootKey, "POST "+api+"missing/cancel", `{}`)
	d.request(404, rootKey, "POST "+api+"missing/redrive", `{}`)
	d.request(404, annKey, "GET "+api+"missing/log", "")
	d.request(200, rootKey, "GET /api/v1/push?task="+dead+"&dead=false&pageSize=2", "")
	d.request(200, rootKey, "POST /api/v1/push/"+dead+"/redeliver", `{"config":"h1"}`)
	d.request(404, rootKey, "POST /api/v1/push/missing/redeliver", `{}`)
	d.request(200, rootKey, "GET /api/v1/dead?queue=agent.task.greeter&pageSize=5", "")
	d.request(200, rootKey, "GET "+d.letter(dead), "")
	d.request(200, rootKey, "POST "+d.letter(dead)+"/replay", `{}`)
	d.request(200, rootKey, "DELETE "+d.letter(other), "")
	d.request(404, rootKey, "GET /api/v1/dead/missing", "")
}

// poison makes the message in the queue of an agent, which is that of a task, a dead letter.
func (d *described) poison(b *bus.Memory, task string) {
	d.h.t.Helper()
	ctx, cancel := context.WithCancel(d.h.t.Context())
	defer cancel()
	for l, err := range b.Receive(ctx, bus.Subscription{At: protocol.JobAt("greeter")}) {
		if err == nil {
			err = l.DeadLetter(ctx, "it cannot be read")
		}
		if err != nil {
			d.h.t.Fatal(err)
		}
		break
	}
	d.follow(task)
}

// letter returns the path of the dead letter of a task.
func (d *described) letter(task string) string {
	d.h.t.Helper()
	letters := d.request(200, rootKey, "GET /api/v1/dead?task="+task, "")
	var page adminapi.DeadList
	if err := json.Unmarshal([]byte(letters), &page); err != nil || len(page.Letters) != 1 {
		d.h.t.Fatalf("dead letters: %s", letters)
	}
	return "/api/v1/dead/" + string(page.Letters[0].ID)
}

// agents calls the operations on agents.
func (d *described) agents() {
	d.h.t.Helper()
	d.request(200, annKey, "GET /api/v1/agents", "")
	d.request(200, rootKey, "GET /api/v1/agents/vault", "")
	d.request(200, annKey, "GET /api/v1/search?q=echo&limit=2", "")
	body := `{"name":"far","url":"http://127.0.0.1:9/a2a","description":"Far away.","skills":[{"id":"fly","tags":["air"]}],"timeoutMs":1000,"trust":"gated","credentials":{"bearer":"b"}}`
	d.request(200, rootKey, "POST /api/v1/agents/review", `{"url":"`+d.h.URL()+`/a2a/vault"}`)
	d.request(400, rootKey, "POST /api/v1/agents/review", `{"url":"http://127.0.0.1:9/a2a"}`)
	d.request(403, annKey, "POST /api/v1/agents/review", `{"url":"http://127.0.0.1:9/a2a"}`)
	d.request(200, rootKey, "POST /api/v1/conformance", `{"url":"`+d.h.URL()+`","only":["card","get"],"key":"`+annKey+`"}`)
	d.request(400, rootKey, "POST /api/v1/conformance", `{"url":"http://127.0.0.1:9/a2a"}`)
	d.request(400, rootKey, "POST /api/v1/conformance", `{"url":"http://10.1.2.3/a2a"}`)
	d.request(403, annKey, "POST /api/v1/conformance", `{"url":"`+d.h.URL()+`"}`)
	d.request(200, rootKey, "POST /api/v1/agents", body)
	d.request(200, rootKey, "PUT /api/v1/agents/far", `{"url":"http://127.0.0.1:9/a2a","credentials":null}`)
	d.request(200, rootKey, "GET /api/v1/agents", "")
	d.request(200, rootKey, "POST /api/v1/agents/far/probe", "")
	d.request(200, rootKey, "POST /api/v1/agents/far/refresh", "")
	d.request(200, rootKey, "POST /api/v1/agents/far/pause", `{}`)
	d.request(200, rootKey, "POST /api/v1/agents/far/resume", `{}`)
	d.request(200, rootKey, "DELETE /api/v1/agents/far", "")
	d.request(404, rootKey, "DELETE /api/v1/agents/far", "")
	d.request(404, rootKey, "GET /api/v1/agents/nowhere", "")
	d.request(409, rootKey, "PUT /api/v1/agents/greeter", `{"url":"http://127.0.0.1:9/a2a"}`)
}

// people calls the operations on the inbox and on trust.
func (d *described) people() {
	d.h.t.Helper()
	d.request(200, rootKey, "GET /api/v1/permissions", "")
	d.request(200, rootKey, "GET /api/v1/trust", "")
	d.request(200, rootKey, "POST /api/v1/trust", `{"agentId":"ann","level":"propose"}`)
	d.request(400, rootKey, "POST /api/v1/trust", `{"agentId":"ann","level":"fully"}`)
	d.stream(rootKey, "GET /api/v1/inbox/events", func() { d.send("vault", "please", "") })
	approvals := d.request(200, rootKey, "GET /api/v1/inbox?kind=approval&state=open&pageSize=5", "")
	var page struct{ Items []struct{ ID string } }
	if err := json.Unmarshal([]byte(approvals), &page); err != nil || len(page.Items) != 1 {
		d.h.t.Fatalf("approvals: %s", approvals)
	}
	d.request(200, rootKey, "POST /api/v1/inbox/"+page.Items[0].ID+"/approve", `{"text":"fine"}`)
	d.request(409, rootKey, "POST /api/v1/inbox/"+page.Items[0].ID+"/refuse", `{}`)
	d.request(200, rootKey, "GET /api/v1/trust", "")
	put := func(text string) string {
		return "/api/v1/inbox/" + field(d.h.t, d.request(200, annKey, "POST /api/v1/inbox", `{"text":"`+text+`","agent":"greeter","ttl":"1h"}`), "id")
	}
	first, second := put("one?"), put("two?")
	d.request(200, annKey, "GET "+first, "")
	d.request(200, annKey, "POST "+first+"/answer", `{"text":"yes"}`)
	d.request(200, annKey, "POST "+second+"/refuse", `{}`)
	d.request(404, annKey, "GET /api/v1/inbox/missing", "")
	d.stream(annKey, "GET /api/v1/inbox/events", func() { put("three?") })
}

// notes calls the operations on the memory.
func (d *described) notes() {
	d.h.t.Helper()
	d.request(200, annKey, "PUT /api/v1/memory/note?key=session/s1/plan", `{"value":"buy milk","category":"plan","tags":["home"],"ttl":"5m"}`)
	d.request(200, annKey, "GET /api/v1/memory/note?key=session/s1/plan", "")
	d.request(200, annKey, "GET /api/v1/memory?prefix=session/&category=plan&limit=1", "")
	d.request(200, annKey, "GET /api/v1/memory/search?q=milk&tag=home&category=plan&namespace=session/s1&limit=1", "")
	d.stream(annKey, "GET /api/v1/memory/events?prefix=session/", func() {})
	d.request(200, annKey, "DELETE /api/v1/memory/session?id=s1", "")
	d.request(200, annKey, "PUT /api/v1/memory/note?key=a/b/c", `{"value":"x"}`)
	d.request(200, annKey, "DELETE /api/v1/memory/note?key=a/b/c", "")
	d.request(404, annKey, "GET /api/v1/memory/note?key=a/b/c", "")
	d.request(200, annKey, "DELETE /api/v1/memory/note?prefix=a/b/", "")
	d.request(200, annKey, "GET /api/v1/memory/conversation?context=c1", "")
	d.request(413, annKey, "PUT /api/v1/memory/note?key=a/b/c", `{"value":"`+strings.Repeat("x", 9<<20)+`"}`)
}

// hub calls the operations on the hub itself.
func (d *described) hub() {
	d.h.t.Helper()
	d.request(200, annKey, "GET /api/v1/status", "")
	d.request(200, rootKey, "GET /api/v1/status", "")
	d.request(200, annKey, "GET /api/v1/caller", "")
	d.request(200, rootKey, "GET /api/v1/costs?agent=greeter&skill=x&minSamples=0", "")
	d.request(200, rootKey, "GET /api/v1/confidences", "")
	d.request(200, rootKey, "GET /api/v1/keys", "")
	id := field(d.h.t, d.request(200, rootKey, "POST /api/v1/keys", `{"agentId":"bob","displayName":"Bob","owner":"acme","expiresIn":"1h"}`), "id")
	d.request(200, rootKey, "POST /api/v1/keys", `{"busAgent":"greeter"}`)
	d.request(200, rootKey, "DELETE /api/v1/keys/"+id+"?after=1h", "")
	d.request(404, rootKey, "DELETE /api/v1/keys/missing", "")
	d.request(200, rootKey, "GET /api/v1/audit?action=key&since=2020-01-01T00:00:00Z&limit=2", "")
	d.request(200, rootKey, "GET /api/v1/audit?after=1", "")
	d.request(200, rootKey, "GET /api/v1/audit/verify", "")
	d.request(200, rootKey, "GET /api/v1/graph?last=hour", "")
	d.request(400, rootKey, "GET /api/v1/graph?last=year", "")
	d.request(403, annKey, "GET /api/v1/graph", "")
	d.request(200, rootKey, "GET /api/v1/samples", "")
	d.request(400, rootKey, "GET /api/v1/samples?after=x", "")
	d.request(403, annKey, "GET /api/v1/samples", "")
	d.request(200, rootKey, "GET /api/v1/events?after=first&follow=false", "")
	d.request(200, rootKey, "GET /api/v1/events?since=2020-01-01T00:00:00Z&follow=false", "")
	d.request(200, rootKey, "GET /api/v1/events?after=first&follow=false&kind=task&agent=greeter", "")
}

// failures checks errors that every operation may have.
func (d *described) failures() {
	d.h.t.Helper()
	d.request(401, "", "GET /api/v1/status", "")
	d.request(401, "wrong-0123456789abcdef", "GET /api/v1/agents", "")
	d.request(403, annKey, "GET /api/v1/keys", "")
	d.request(403, annKey, "GET /api/v1/tasks?scope=all", "")
	d.request(400, annKey, "GET /api/v1/tasks?pageSize=0", "")
	d.request(400, rootKey, "POST /api/v1/keys", `{"unknown":1}`)
	d.request(400, rootKey, "POST /api/v1/keys", `{`)
	d.request(400, rootKey, "GET /api/v1/audit?limit=0", "")
	d.request(415, rootKey, "POST /api/v1/keys", "")
}

// stream reads a stream up to its first event. act is called once the stream is open.
func (d *described) stream(key, what string, act func()) {
	t := d.h.t
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp, err := (&httpQuery{at: d.h.URL(), what: what, header: []string{"Authorization: Bearer " + key}}).ask(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	act()
	var got bytes.Buffer
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		fmt.Fprintln(&got, lines.Text())
		if strings.HasPrefix(lines.Text(), "data: ") {
			break
		}
	}
	method, path, _ := strings.Cut(what, " ")
	path, _, _ = strings.Cut(path, "?")
	at, verb := d.operation(method, path)
	d.called[method+" "+at] = true
	d.checkAnswer(what, at, verb, got.String(), resp.StatusCode)
}
