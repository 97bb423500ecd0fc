package awaken

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// answer is an answer of the hub.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func do(t *testing.T, method, url, body string, header ...string) answer {
	t.Helper()
	resp, err := hubtest.Do(t.Context(), hubtest.Request{Method: method, URL: url, Body: body, Header: header})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, b}
}

// must decodes an answer with the expected status like Awaken.
func must[T any](t *testing.T, a answer, status int) T {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	v, err := decode[T](a.body)
	if err != nil {
		t.Fatalf("Awaken cannot read %s: %v", a.body, err)
	}
	return v
}

func message1(text, ids string) string {
	return fmt.Sprintf(`{"message":{%s"messageId":"m-%d","role":"ROLE_USER","parts":[{"text":%q}]}}`, ids, messageIDs.Add(1), text)
}

// waiting adds the configuration for an immediate answer.
func waiting(body string) string {
	return strings.TrimSuffix(body, "}") + `,"configuration":{"returnImmediately":true}}`
}

// events returns the events of a stream, each decoded like Awaken.
func events(t *testing.T, a answer) []event {
	t.Helper()
	var all []event
	for ev, err := range hubtest.Events(bytes.NewReader(a.body)) {
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		e, err := decode[event]([]byte(ev.Data))
		if err != nil {
			t.Fatalf("Awaken cannot read %s: %v", ev.Data, err)
		}
		all = append(all, e)
	}
	return all
}

// localSpec is an AgentSpec from which the hub builds a card.
const localSpec = `{"id": "writer", "description": "Writes texts.", "model_id": "scripted", "system_prompt": "You write."}`

// TestServer checks the hub against the server on Awaken's page, with the types of Awaken.
func TestServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	specs := filepath.Join(dir, "specs.json")
	if err := os.WriteFile(specs, []byte("["+localSpec+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf(`
profile: awaken
push: {allow: [loopback]}
default_agent: echo
agents:
  - name: echo
    skills: [{id: general, name: General Q&A, description: Answer general questions, tags: [qa], inputModes: [text/plain], outputModes: [text/plain]}]
model_providers: [{name: scripted, base_url: "http://127.0.0.1:1/v1"}]
directory: {specs: [%q]}
`, specs)})
	api := h.URL() + "/v1/a2a"
	t.Run("Card", func(t *testing.T) { testCard(t, h) })
	t.Run("Send", func(t *testing.T) { testSend(t, api) })
	t.Run("Tasks", func(t *testing.T) { testTasks(t, api) })
	t.Run("Streams", func(t *testing.T) { testStreams(t, api) })
	t.Run("PushConfigs", func(t *testing.T) { testPush(t, api) })
	t.Run("Tenants", func(t *testing.T) { testTenants(t, api) })
	t.Run("Unsupported", func(t *testing.T) { testUnsupported(t, api) })
	t.Run("Errors", func(t *testing.T) { testErrors(t, h.URL()) })
	t.Run("Hostile", func(t *testing.T) { testHostileClient(t, api) })
}

func testCard(t *testing.T, h *hubtest.Hub) {
	a := do(t, "GET", h.URL()+"/.well-known/agent-card.json", "")
	c := must[card](t, a, 200)
	if i := c.SupportedInterfaces[0]; *i.URL != h.URL()+"/v1/a2a" || *i.ProtocolBinding != "HTTP+JSON" || *i.ProtocolVersion != "1.0" {
		t.Errorf("first interface = %+v, want HTTP+JSON 1.0 at /v1/a2a", i)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(a.body, &raw); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"url", "id"} {
		if _, ok := raw[name]; ok {
			t.Errorf("the card has a top-level %s", name)
		}
	}
	var caps map[string]any
	if err := json.Unmarshal(raw["capabilities"], &caps); err != nil {
		t.Fatal(err)
	}
	delete(caps, "extensions")
	want := map[string]any{"streaming": true, "pushNotifications": true, "stateTransitionHistory": false, "extendedAgentCard": false}
	if diff := cmp.Diff(want, caps); diff != "" {
		t.Errorf("capabilities (-want +got):\n%s", diff)
	}
	if s := c.Skills[0]; *s.ID != "general" || *s.Name != "General Q&A" || s.Description == "" || !slices.Equal(s.Tags, []string{"qa"}) ||
		!slices.Equal(s.InputModes, []string{"text/plain"}) || !slices.Equal(s.OutputModes, []string{"text/plain"}) {
		t.Errorf("skill = %+v, want that of the document", s)
	}
	if len(c.DefaultInputModes) == 0 || len(c.DefaultOutputModes) == 0 {
		t.Errorf("modes = %v, %v", c.DefaultInputModes, c.DefaultOutputModes)
	}
	w := must[card](t, do(t, "GET", h.URL()+"/v1/a2a/writer/.well-known/agent-card.json", ""), 200)
	if *w.Name != "writer" || *w.Description != "Writes texts." || *w.SupportedInterfaces[0].URL != h.URL()+"/v1/a2a/writer" {
		t.Errorf("card of the spec = %s, %q at %s", *w.Name, *w.Description, *w.SupportedInterfaces[0].URL)
	}
}

func testSend(t *testing.T, api string) {
	const literal = `{ "message": { "taskId": "optional-client-provided-id", "contextId": "optional-client-provided-id", "messageId": "msg-123", "role": "ROLE_USER", "parts": [{ "text": "Summarize this document" }] }, "configuration": { "returnImmediately": true }}`
	got := must[sent](t, do(t, "POST", api+"/message:send", literal), 200)
	if got.Task == nil || *got.Task.ID != "optional-client-provided-id" || *got.Task.ContextID != "optional-client-provided-id" {
		t.Fatalf("answer = %+v, want the task with the ids of the client", got)
	}
	// A second message in the context of the first task creates another task; the same id
	// continues the first.
	second := must[sent](t, do(t, "POST", api+"/message:send", message1("again", `"contextId":"optional-client-provided-id",`)), 200)
	if second.Task == nil || *second.Task.ID == *got.Task.ID || *second.Task.ContextID != *got.Task.ContextID {
		t.Errorf("second task = %+v, want another one in the same context", second.Task)
	}
	slow := must[sent](t, do(t, "POST", api+"/slow/message:send", waiting(message1("1m", ""))), 200)
	if slow.Task == nil || (*slow.Task.Status.State).done() {
		t.Errorf("returnImmediately = %+v, want an open task", slow.Task)
	}
	whole := must[sent](t, do(t, "POST", api+"/slow/message:send", message1("30ms", "")), 200)
	if whole.Task == nil || *whole.Task.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("without returnImmediately = %+v, want the completed task", whole.Task)
	}
	asked := must[sent](t, do(t, "POST", api+"/interview/message:send",
		strings.TrimSuffix(message1("ask 1", ""), "}")+`,"configuration":{"returnImmediately":false}}`), 200)
	if asked.Task == nil || *asked.Task.Status.State != "TASK_STATE_INPUT_REQUIRED" {
		t.Errorf("with returnImmediately: false = %+v, want the interrupted task", asked.Task)
	}
}

func testTasks(t *testing.T, api string) {
	first := must[sent](t, do(t, "POST", api+"/message:send", message1("hello", `"taskId":"abc-123","contextId":"abc-123",`)), 200)
	got := must[taskJSON](t, do(t, "GET", api+"/tasks/abc-123", ""), 200)
	if *got.Status.State != "TASK_STATE_COMPLETED" || got.Status.Message == nil || *got.Status.Message.Role != "ROLE_AGENT" || len(got.History) == 0 {
		t.Errorf("task = %+v, want state, message and history", got)
	}
	p := must[page](t, do(t, "GET", api+"/tasks?contextId=abc-123", ""), 200)
	if len(p.Tasks) != 1 || *p.Tasks[0].ID != *first.Task.ID || *p.TotalSize != 1 {
		t.Errorf("list = %+v, want the one task", p)
	}
	slow := must[sent](t, do(t, "POST", api+"/slow/message:send", waiting(message1("1m", ""))), 200)
	canceled := must[taskJSON](t, do(t, "POST", api+"/tasks/"+*slow.Task.ID+":cancel", ""), 200)
	if *canceled.Status.State != "TASK_STATE_CANCELED" {
		t.Errorf("canceled = %s", *canceled.Status.State)
	}
	if a := do(t, "POST", api+"/tasks/"+*slow.Task.ID+":cancel", ""); a.status != 409 || !bytes.Contains(a.body, []byte("TASK_NOT_CANCELABLE")) {
		t.Errorf("a second cancel = %d %s", a.status, a.body)
	}
	rejected := must[sent](t, do(t, "POST", api+"/interview/message:send", message1("ask 99", "")), 200)
	if *rejected.Task.Status.State != "TASK_STATE_REJECTED" {
		t.Errorf("rejected = %s", *rejected.Task.Status.State)
	}
}

func testStreams(t *testing.T, api string) {
	all := events(t, do(t, "POST", api+"/message:stream", message1("two words", "")))
	last := all[len(all)-1]
	if all[0].Task == nil || last.StatusUpdate == nil || *last.StatusUpdate.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("the stream begins with %+v and ends with %+v, want the task and its end", all[0], last)
	}
	var slow sent
	var subscribed answer
	for d := 300 * time.Millisecond; subscribed.status != 200 && d < time.Minute; d *= 2 { // a busy machine may subscribe too late
		slow = must[sent](t, do(t, "POST", api+"/slow/message:send", waiting(message1(d.String(), ""))), 200)
		subscribed = do(t, "POST", api+"/tasks/"+*slow.Task.ID+":subscribe", "")
	}
	running := events(t, subscribed)
	if len(running) < 2 || running[0].Task == nil || running[len(running)-1].StatusUpdate == nil {
		t.Errorf("a subscription to a running task = %+v, want the whole task, then updates", running)
	}
	if a := do(t, "POST", api+"/tasks/"+*slow.Task.ID+":subscribe", ""); a.status != 409 {
		t.Errorf("POST :subscribe of an ended task = %d, want Awaken's 409", a.status)
	}
	ended := events(t, do(t, "GET", api+"/tasks/"+*slow.Task.ID+":subscribe", ""))
	if len(ended) != 1 || ended[0].Task == nil || *ended[0].Task.Status.State != "TASK_STATE_COMPLETED" || len(ended[0].Task.Artifacts) == 0 {
		t.Errorf("GET :subscribe of an ended task = %+v, want the whole task alone", ended)
	}
}

func testPush(t *testing.T, api string) {
	slow := must[sent](t, do(t, "POST", api+"/slow/message:send", waiting(message1("1m", ""))), 200)
	at := api + "/tasks/" + *slow.Task.ID + "/pushNotificationConfigs"
	if a := do(t, "POST", at, `{"id":"hook","url":"http://127.0.0.1:9/hook","token":"t"}`); a.status != 200 && a.status != 201 {
		t.Fatalf("create = %d %s", a.status, a.body)
	}
	if a := do(t, "GET", at, ""); a.status != 200 || !bytes.Contains(a.body, []byte(`"hook"`)) {
		t.Errorf("list = %d %s", a.status, a.body)
	}
	if a := do(t, "GET", strings.Replace(at, "/tasks/", "/slow/tasks/", 1), ""); a.status != 200 || !bytes.Contains(a.body, []byte(`"hook"`)) {
		t.Errorf("list of the tenant = %d %s, want what was registered without it", a.status, a.body)
	}
	if a := do(t, "GET", at+"/hook", ""); a.status != 200 || !bytes.Contains(a.body, []byte("http://127.0.0.1:9/hook")) {
		t.Errorf("get = %d %s", a.status, a.body)
	}
	if a := do(t, "DELETE", at+"/hook", ""); a.status != 204 || len(a.body) != 0 {
		t.Errorf("delete = %d %s, want 204 without a body", a.status, a.body)
	}
	if a := do(t, "GET", at+"/hook", ""); a.status != 404 {
		t.Errorf("get of a deleted config = %d", a.status)
	}
	do(t, "POST", api+"/tasks/"+*slow.Task.ID+":cancel", "")
}

func testTenants(t *testing.T, api string) {
	tenant := api + "/slow"
	got := must[sent](t, do(t, "POST", tenant+"/message:send", waiting(message1("1m", ""))), 200)
	id := *got.Task.ID
	if got := must[taskJSON](t, do(t, "GET", tenant+"/tasks/"+id, ""), 200); *got.ID != id {
		t.Errorf("get = %s", *got.ID)
	}
	if p := must[page](t, do(t, "GET", tenant+"/tasks", ""), 200); !slices.ContainsFunc(p.Tasks, func(x taskJSON) bool { return *x.ID == id }) {
		t.Errorf("the tenant's list has no %s", id)
	}
	if p := must[page](t, do(t, "GET", api+"/echo/tasks", ""), 200); slices.ContainsFunc(p.Tasks, func(x taskJSON) bool { return *x.ID == id }) {
		t.Errorf("the list of another tenant has %s", id)
	}
	hooks := tenant + "/tasks/" + id + "/pushNotificationConfigs"
	if a := do(t, "POST", hooks, `{"id":"h","url":"http://127.0.0.1:9/"}`); a.status/100 != 2 {
		t.Errorf("push config = %d %s", a.status, a.body)
	}
	if a := do(t, "DELETE", hooks+"/h", ""); a.status != 204 {
		t.Errorf("delete = %d", a.status)
	}
	if a := do(t, "GET", tenant+"/extendedAgentCard", ""); a.status != 501 {
		t.Errorf("extended card = %d, want 501", a.status)
	}
	if a := do(t, "POST", tenant+"/tasks/"+id+":cancel", ""); a.status != 200 {
		t.Errorf("cancel = %d %s", a.status, a.body)
	}
	if got := events(t, do(t, "GET", tenant+"/tasks/"+id+":subscribe", "")); len(got) != 1 {
		t.Errorf("subscription to the canceled task = %+v", got)
	}
	if a := do(t, "GET", api+"/echo/tasks/"+id, ""); a.status != 404 {
		t.Errorf("the task under another tenant = %d, want 404", a.status)
	}
	if all := events(t, do(t, "POST", api+"/echo/message:stream", message1("hi", ""))); len(all) < 2 {
		t.Errorf("stream of a tenant = %+v", all)
	}
}

func testUnsupported(t *testing.T, api string) {
	for _, path := range []string{"/extendedAgentCard", "/echo/extendedAgentCard"} {
		a := do(t, "GET", api+path, "")
		if a.status != 501 || detail(t, a) != "UNIMPLEMENTED UNSUPPORTED_OPERATION" {
			t.Errorf("%s = %d %s, want the google.rpc.Status of an unsupported operation", path, a.status, a.body)
		}
	}
}

// detail returns the status of an error with the reason or the field of its first detail.
func detail(t *testing.T, a answer) string {
	t.Helper()
	var e struct {
		Error struct {
			Code    int
			Status  string
			Message string
			Details []struct {
				Type            string `json:"@type"`
				Reason          string
				FieldViolations []struct{ Field string }
			}
		}
	}
	if err := json.Unmarshal(a.body, &e); err != nil || e.Error.Code != a.status || e.Error.Message == "" || len(e.Error.Details) == 0 {
		t.Fatalf("%d %s is no error of Awaken: %v", a.status, a.body, err)
	}
	d := e.Error.Details[0]
	if len(d.FieldViolations) > 0 {
		return e.Error.Status + " " + d.FieldViolations[0].Field
	}
	return e.Error.Status + " " + d.Reason
}

// testErrors checks the errors that Awaken's own suites require.
func testErrors(t *testing.T, url string) {
	for _, tt := range []struct {
		method, path, body string
		header             []string
		status             int
		detail             string
	}{
		{"GET", "/.well-known/agent-card.json", "", []string{"A2A-Version", "0.9"}, 400, "FAILED_PRECONDITION VERSION_NOT_SUPPORTED"},
		{"POST", "/v1/a2a/message:send", strings.Replace(message1("x", ""), "ROLE_USER", "ROLE_AGENT", 1), nil, 400, "INVALID_ARGUMENT message.role"},
		{"POST", "/v1/a2a/message:send", message1("x", ""), []string{"Content-Type", "text/plain"}, 400, "INVALID_ARGUMENT contentType"},
		{"POST", "/v1/a2a/tasks/x:pause", "", nil, 404, "NOT_FOUND METHOD_NOT_FOUND"},
		{"GET", "/v1/a2a/tasks/x/unknown", "", nil, 404, "NOT_FOUND METHOD_NOT_FOUND"},
		{"GET", "/v1/a2a/tasks/none", "", nil, 404, "NOT_FOUND TASK_NOT_FOUND"},
	} {
		a := do(t, tt.method, url+tt.path, tt.body, tt.header...)
		if a.status != tt.status || detail(t, a) != tt.detail {
			t.Errorf("%s %s = %d %s, want %d %s", tt.method, tt.path, a.status, a.body, tt.status, tt.detail)
		}
	}
}

// testHostileClient sends requests that Awaken's client never sends. The hub must store
// nothing.
func testHostileClient(t *testing.T, api string) {
	before := *must[page](t, do(t, "GET", api+"/tasks", ""), 200).TotalSize
	for name, body := range map[string]string{
		"a role that is not there": `{"message":{"messageId":"h","role":"ROLE_SYSTEM","parts":[{"text":"x"}]}}`,
		"parts that are no list":   `{"message":{"messageId":"h","role":"ROLE_USER","parts":{"text":"x"}}}`,
		"a text that is a number":  `{"message":{"messageId":"h","role":"ROLE_USER","parts":[{"text":1}]}}`,
		"no message id":            `{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}`,
		"no parts":                 `{"message":{"messageId":"h","role":"ROLE_USER","parts":[]}}`,
		"two contents in a part":   `{"message":{"messageId":"h","role":"ROLE_USER","parts":[{"text":"x","url":"http://x"}]}}`,
		"two agents":               `{"agentId":"echo","tenant":"slow","message":{"messageId":"h","role":"ROLE_USER","parts":[{"text":"x"}]}}`,
		"an ended task":            `{"message":{"taskId":"optional-client-provided-id","messageId":"h","role":"ROLE_USER","parts":[{"text":"x"}]}}`,
		"half of it":               `{"message":{"messageId":"h"`,
	} {
		if a := do(t, "POST", api+"/message:send", body); a.status != 400 {
			t.Errorf("%s = %d %s, want 400", name, a.status, a.body)
		} else {
			detail(t, a)
		}
	}
	if after := *must[page](t, do(t, "GET", api+"/tasks", ""), 200).TotalSize; after != before {
		t.Errorf("there are %d tasks, were %d", after, before)
	}
}

// TestExtendedCard requests the extended card with one bearer token, of any length.
func TestExtendedCard(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{Config: "extended_card: {token: card-token-1}\n"})
	if c := must[card](t, do(t, "GET", h.URL()+"/.well-known/agent-card.json", ""), 200); !c.Capabilities.ExtendedAgentCard {
		t.Error("the card does not declare the extended one")
	}
	for _, path := range []string{"/v1/a2a/extendedAgentCard", "/v1/a2a/echo/extendedAgentCard"} {
		if a := do(t, "GET", h.URL()+path, "", "Authorization", "Bearer wrong"); a.status != 401 {
			t.Errorf("%s with a wrong token = %d, want 401", path, a.status)
		}
		must[card](t, do(t, "GET", h.URL()+path, "", "Authorization", "Bearer card-token-1"), 200)
	}
}
