package hostile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// hook registers a webhook for one of alice's tasks.
func hook(url string) send {
	return web("POST", "/v1/a2a/tasks/$asked/pushNotificationConfigs", `{"url":"`+url+`"}`)
}

const badURL = "400 INVALID_PARAMS url"

// hookRows are a sample of addresses that the hub must not call for a caller; the whole list is
// tested with package push.
var hookRows = []row{
	{name: "the metadata of a cloud", send: hook("http://169.254.169.254/latest/meta-data/"), want: badURL},
	{name: "the metadata of a cloud, as a number", send: hook("http://2852039166/"), want: badURL},
	{name: "the metadata of a cloud, in octal", send: hook("http://0251.0376.0251.0376/"), want: badURL},
	{name: "the metadata of a cloud, in IPv6", send: hook("http://[::ffff:a9fe:a9fe]/"), want: badURL},
	{name: "the metadata of a cloud, by name", send: hook("http://metadata.google.internal/"), want: badURL},
	{name: "this machine", send: hook("http://127.0.0.1:4100/api/v1/keys"), want: badURL},
	{name: "this machine, by name", send: hook("https://localhost./"), want: badURL},
	{name: "this machine, as zero", send: hook("http://0/"), want: badURL},
	{name: "a network of one's own", send: hook("http://10.0.0.1/"), want: badURL},
	{name: "a file", send: hook("file:///etc/passwd"), want: badURL},
	{name: "another protocol", send: hook("gopher://127.0.0.1:6379/_FLUSHALL"), want: badURL},
	{name: "with credentials", send: hook("https://user:pass@example.org/"), want: badURL},
	{name: "with a line break", send: hook(`https://example.org/\r\nX: y`), want: badURL},
	{name: "with a backslash", send: hook(`https://example.org\\@127.0.0.1/`), want: badURL},
	{name: "in a message", send: web("POST", sendREST, strings.TrimSuffix(message("x"), "}")+`,"configuration":{"taskPushNotificationConfig":{"url":"http://127.0.0.1/"}}}`), want: "400 INVALID_PARAMS configuration.taskPushNotificationConfig.url"},
	{name: "a token with a line break", send: web("POST", "/v1/a2a/tasks/$asked/pushNotificationConfigs", `{"url":"https://example.org/","token":"a\r\nX-Evil: b"}`), want: "400 INVALID_PARAMS token"},
	{name: "an id that is a path", send: web("POST", "/v1/a2a/tasks/$asked/pushNotificationConfigs", `{"id":"`+strings.Repeat("x", 2000)+`","url":"https://example.org/"}`), want: "400 INVALID_PARAMS id"},
}

// chat is a chat completions request.
func chat(body string) send {
	return web("POST", "/v1/chat/completions", body, "Authorization: Bearer $key-alice")
}

// run is an AG-UI request.
func run(path, body string) send {
	return web("POST", "/ag-ui"+path, body, "Accept: text/event-stream")
}

// job is a request to agents that take only jobs.
func job(body string) send { return web("POST", "/tasks/send", body, "A2A-Version:") }

// v03 is a call of v0.3.
func v03(method, params string) send {
	return web("POST", "/a2a", call(method, params), "A2A-Version:")
}

const say03 = `"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]`

// frontRows attack the surfaces beside A2A v1.0.
var frontRows = []row{
	{name: "chat: no key", send: web("POST", "/v1/chat/completions", `{"model":"tally"}`, "X-Api-Key:"), want: "401 invalid_api_key invalid_request_error"},
	{name: "chat: a task of another agent", send: chat(`{"model":"echo","messages":[{"role":"user","content":"x"}],"metadata":{"task_id":"$asked"}}`), want: "404 task_not_found invalid_request_error"},
	{name: "chat: a model that is a path", send: chat(`{"model":"../tally","messages":[{"role":"user","content":"x"}]}`), want: "404 model_not_found invalid_request_error model"},
	{name: "chat: a model of 30 KiB", send: chat(`{"model":"` + strings.Repeat("m", 30<<10) + `","messages":[{"role":"user","content":"x"}]}`), want: "404 model_not_found invalid_request_error model"},
	{name: "chat: two models", send: chat(`{"model":"tally","model":"echo","messages":[{"role":"user","content":"x"}]}`), want: "400 invalid_params invalid_request_error model"},
	{name: "chat: two lists of messages", send: chat(`{"model":"tally","messages":[],"messages":[{"role":"user","content":"x"}]}`), want: "400 invalid_params invalid_request_error messages"},
	{name: "chat: a file of another caller", send: chat(`{"model":"tally","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}]}`), want: "400 invalid_params invalid_request_error messages[0].content[0].file.file_id"},
	{name: "chat: two roles of a message", send: chat(`{"model":"tally","messages":[{"role":"user","content":"x","role":"system"}]}`), want: "400 invalid_params invalid_request_error messages[0].role"},
	{name: "chat: two roles in two cases", send: chat(`{"model":"tally","messages":[{"role":"user","content":"x","Role":"system"}]}`), want: "400 invalid_params invalid_request_error messages[0].Role"},
	{name: "chat: two tasks", send: chat(`{"model":"interview","messages":[{"role":"user","content":"x"}],"metadata":{"task_id":"$asked","task_id":"$foreign"}}`), want: "400 invalid_params invalid_request_error metadata.task_id"},
	{name: "chat: nested", send: chat(`{"model":"tally","messages":` + strings.Repeat("[", 50_000)), want: "400 parse_error invalid_request_error"},
	{name: "chat: tools", send: chat(`{"model":"tally","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"x"}}]}`), want: "400 invalid_params invalid_request_error tools"},
	{name: "chat: too large", send: chat(`{"model":"tally","messages":[{"role":"user","content":"` + strings.Repeat("x", 70<<10) + `"}]}`), want: "413 request_too_large invalid_request_error"},
	{name: "chat: models, no key", send: get("/v1/models", "X-Api-Key:"), want: "401 invalid_api_key invalid_request_error"},
	{name: "chat: a model that is dots", send: get("/v1/models/..%2f..%2fapi%2fv1%2fkeys"), want: "404 model_not_found invalid_request_error model"},
	{name: "AG-UI: no key", send: web("POST", "/ag-ui", "{}", "X-Api-Key:"), want: unauthenticated},
	{name: "AG-UI: an agent that is a path", send: run("/..%2ftally", "{}"), want: noTask},
	{name: "AG-UI: a run without messages", send: run("/tally", `{"threadId":1}`), want: "400 INVALID_PARAMS threadId"},
	{name: "AG-UI: two threads", send: run("/tally", `{"threadId":"a","threadId":"b","runId":"r","messages":[]}`), want: "400 INVALID_PARAMS threadId"},
	{name: "AG-UI: two roles of a message", send: run("/tally", `{"threadId":"a","runId":"r","messages":[{"id":"1","role":"user","content":"x","role":"assistant"}]}`), want: "400 INVALID_PARAMS messages[0].role"},
	{name: "AG-UI: nested", send: run("/tally", `{"threadId":"a","runId":"r","messages":[],"state":`+deep(5000)+`}`), want: "400 PARSE_ERROR"},
	{name: "AG-UI: a page", send: web("POST", "/ag-ui/tally", "{}", "Content-Type: text/plain"), want: "415 CONTENT_TYPE_NOT_SUPPORTED"},
	{name: "job: no key", send: web("POST", "/tasks/send", `{"taskId":"x"}`, "X-Api-Key:", "A2A-Version:"), want: "401 job execution_failed"},
	{name: "job: two ids", send: job(`{"taskId":"a","taskId":"b","skill":"echo","message":{"role":"user","parts":[{"kind":"text","text":"x"}]}}`), want: "400 job invalid_request"},
	{name: "job: an id that is a path", send: job(`{"taskId":"` + strings.Repeat("../", 100) + `","message":{"role":"user","parts":[{"kind":"text","text":"x"}]}}`), want: "400 job invalid_request"},
	{name: "v0.3: two kinds", send: v03("message/send", `{"message":{"kind":"message","kind":"task","messageId":"m","role":"user","parts":[]}}`), want: "200 -32602"},
	{name: "v0.3: a list", send: web("POST", "/a2a", call("tasks/list", "{}"), "A2A-Version: 0.3"), want: "200 -32601"},
	{name: "v0.3: a method in two versions", send: web("POST", "/a2a", call("message/send", `{`+say03+`}}`), "A2A-Version: 1.0"), want: "200 -32601 METHOD_NOT_FOUND"},
	{name: "MCP: no key", send: web("POST", "/mcp", "{}", "X-Api-Key:"), want: unauthenticated},
	{name: "MCP: a session of nobody", send: web("POST", "/mcp", call("tools/list", "{}"), "Mcp-Session-Id: AAAA", "Accept: application/json, text/event-stream"), want: "404"},
	{name: "MCP: a session of bob's", send: func(w *world) *answer { return w.mcp("bob", "alice", "tools/list", `{}`) }, want: "404"},
	{name: "MCP: a session of bob's is ended", send: func(w *world) *answer { return w.endSession("bob", "alice") }, want: "404"},
	{name: "MCP: an agent is registered", send: tool("register_agent", `{"agent_name":"meta","url":"http://169.254.169.254/"}`), want: "200 tool error"},
	{name: "MCP: a tool that is a path", send: tool("../get_task", `{}`), want: "200 -32602"},
	{name: "MCP: an argument twice", send: tool("get_task", `{"task_id":"$asked","task_id":"$foreign"}`), want: "200 tool error"},
	{name: "MCP: a resource that is a path", send: resource("parley://tasks/../memory/plans/bobs"), want: "200 -32602"},
	{name: "MCP: a file", send: resource("file:///etc/passwd"), want: "200 -32602"},
	{name: "MCP: a batch of what opens nothing", send: web("POST", "/mcp", "["+call("ping", "{}")+"]", "Accept: application/json, text/event-stream"), want: "200 ok"},
	{name: "a callback that nobody waits for", send: web("POST", "/api/a2a/callback/x", "{}", "X-Api-Key:"), want: noPath},
}

// tool calls a tool as alice.
func tool(name, args string) send {
	return func(w *world) *answer {
		return w.mcp("alice", "alice", "tools/call", `{"name":"`+name+`","arguments":`+args+`}`)
	}
}

// resource reads a resource as alice.
func resource(uri string) send {
	return func(w *world) *answer { return w.mcp("alice", "alice", "resources/read", `{"uri":"`+uri+`"}`) }
}

// mcp opens a session of one caller and calls a method in it as another one.
func (w *world) mcp(owner, caller, method, params string) *answer {
	id, err := w.session(owner)
	if err != nil {
		return &answer{outcome: err.Error()}
	}
	a := w.post(caller, "/mcp", w.in(call(method, params)), "Mcp-Session-Id", id)
	w.post(owner, "/mcp", "", "Mcp-Session-Id", id) // ends it
	return a
}

// endSession opens a session of one caller, ends it as another one, and then uses it.
func (w *world) endSession(owner, caller string) *answer {
	id, err := w.session(owner)
	if err != nil {
		return &answer{outcome: err.Error()}
	}
	a := w.post(caller, "/mcp", "", "Mcp-Session-Id", id)
	if still := w.post(owner, "/mcp", call("tools/list", "{}"), "Mcp-Session-Id", id); still.status != http.StatusOK {
		a.outcome = "the session is over: " + still.String()
	}
	w.post(owner, "/mcp", "", "Mcp-Session-Id", id)
	return a
}

func (w *world) session(owner string) (string, error) {
	hello := call("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`)
	a := w.post(owner, "/mcp", hello)
	_, rest, _ := bytes.Cut(a.head, []byte("Mcp-Session-Id: "))
	id, _, ok := bytes.Cut(rest, []byte("\r\n"))
	if !ok {
		return "", fmt.Errorf("no session: %s %s", a, a.head)
	}
	w.post(owner, "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", string(id))
	return string(id), nil
}

// post sends a body, or a DELETE without one, with a regular HTTP client.
func (w *world) post(caller, path, body string, headers ...string) *answer {
	method := http.MethodPost
	if body == "" {
		method = http.MethodDelete
	}
	r, err := http.NewRequestWithContext(context.Background(), method, w.hub.URL()+path, strings.NewReader(body))
	if err != nil {
		return &answer{outcome: err.Error()}
	}
	r.Header.Set("X-Api-Key", keyOf(caller))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := w.client.Do(r)
	if err != nil {
		return &answer{outcome: err.Error()}
	}
	defer resp.Body.Close()
	a := &answer{status: resp.StatusCode}
	var head bytes.Buffer
	_ = resp.Header.Write(&head)
	a.head = head.Bytes()
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		a.outcome = err.Error()
	}
	return a
}

const forbidden = "403 UNAUTHORIZED"

// operatorRows are requests to /api/v1 by a caller that is not an administrator.
var operatorRows = []row{
	{name: "keys", send: get("/api/v1/keys"), want: forbidden},
	{name: "a key of one's own", send: web("POST", "/api/v1/keys", `{"agentId":"x","roles":["admin"]}`), want: forbidden},
	{name: "a key is revoked", send: web("DELETE", "/api/v1/keys/config-00000000", ""), want: forbidden},
	{name: "an agent is registered", send: web("POST", "/api/v1/agents", `{"url":"https://example.org/"}`), want: forbidden},
	{name: "an agent is replaced", send: web("PUT", "/api/v1/agents/tally", `{"url":"https://example.org/"}`), want: forbidden},
	{name: "an agent is removed", send: web("DELETE", "/api/v1/agents/tally", ""), want: forbidden},
	{name: "an agent is paused", send: web("POST", "/api/v1/agents/tally/pause", "{}"), want: forbidden},
	{name: "an agent is probed", send: web("POST", "/api/v1/agents/tally/probe", "{}"), want: forbidden},
	{name: "a task is ended", send: web("POST", "/api/v1/tasks/$foreign/fail", `{"reason":"x"}`), want: forbidden},
	{name: "one's own task is redriven", send: web("POST", "/api/v1/tasks/$done/redrive", "{}"), want: forbidden},
	{name: "a task is given away", send: web("POST", "/api/v1/tasks/$foreign/reassign", `{"agent":"tally"}`), want: forbidden},
	{name: "webhooks of all", send: get("/api/v1/push"), want: forbidden},
	{name: "webhooks are notified again", send: web("POST", "/api/v1/push/$foreign/redeliver", "{}"), want: forbidden},
	{name: "trust", send: get("/api/v1/trust"), want: forbidden},
	{name: "trust is changed", send: web("POST", "/api/v1/trust", `{"agent":"x","level":"act"}`), want: forbidden},
	{name: "dead letters", send: get("/api/v1/dead"), want: forbidden},
	{name: "the audit log", send: get("/api/v1/audit"), want: forbidden},
	{name: "the audit log of oneself", send: get("/api/v1/audit?actor=alice"), want: forbidden},
	{name: "the audit log is ended", send: web("DELETE", "/api/v1/audit", ""), want: "405 METHOD_NOT_FOUND"},
	{name: "costs", send: get("/api/v1/costs"), want: forbidden},
	{name: "a field that nobody knows", send: web("POST", "/api/v1/inbox", `{"text":"x","owner":"globex"}`), want: "400 INVALID_PARAMS owner"},
	{name: "a method that is overridden", send: web("GET", "/api/v1/keys", "", "X-HTTP-Method-Override: DELETE"), want: forbidden},
	{name: "a body of 70 KiB", send: web("POST", "/api/v1/inbox", `{"text":"`+strings.Repeat("x", 70<<10)+`"}`), want: "400 INVALID_PARAMS text"},
	{name: "measurements", send: get("/metrics"), want: forbidden},
}

const untrusted = "no signature of the card can be trusted"

// cardRows are cards of remote agents that an operator registers.
func cardRows(w *world) []row {
	var rows []row
	for _, c := range []struct{ name, want string }{
		{"good", "up, signed by partner"},
		{"unsigned", "down: card is not signed"},
		{"by-a-stranger", "down: " + untrusted},
		{"changed-by-a-byte", "down: " + untrusted},
		{"address-changed", "down: " + untrusted},
		{"signature-changed", "down: " + untrusted},
		{"header-changed", "down: " + untrusted},
		{"named-twice", "down: " + untrusted},
		{"keys-elsewhere", "down: " + untrusted + ", evil keys asked 0 times"},
		{"keys-of-another", "down: " + untrusted},
		{"away", "down: refuse redirect"},
		{"endless", "down: answer too large"},
	} {
		rows = append(rows, row{name: c.name, send: func(w *world) *answer { return w.register(c.name) }, want: c.want})
	}
	return append(rows,
		row{name: "the keys of the hub are public alone", send: get("/.well-known/jwks.json", "X-Api-Key:"), want: "200 ok"},
		row{name: "the metadata of a cloud", send: operator("POST", "/api/v1/agents", `{"name":"meta","url":"http://169.254.169.254/latest/"}`), want: "400 INVALID_PARAMS"},
		row{name: "a file", send: operator("POST", "/api/v1/agents", `{"name":"file","url":"file:///etc/passwd"}`), want: "400 INVALID_PARAMS"},
		row{name: "a name that is a path", send: operator("PUT", "/api/v1/agents/..%2f..%2fx", `{"url":"https://example.org"}`), want: noPath},
		row{name: "the name of one that is there", send: operator("PUT", "/api/v1/agents/tally", `{"url":"https://example.org"}`), want: "409 AGENT_CONFIGURED"},
	)
}

func operator(method, path, body string) send {
	return web(method, path, body, "Authorization: Bearer $key-root")
}

// register registers a remote agent, reads its state, and removes it.
func (w *world) register(name string) *answer {
	a := w.post("root", "/api/v1/agents", `{"name":"`+name+`","url":"`+w.elsewhere.URL+"/"+name+`"}`)
	defer w.post("root", "/api/v1/agents/"+name, "")
	var got struct {
		Remote struct {
			SignedBy string
			Health   struct{ State, Error string }
		}
	}
	w.post("root", "/api/v1/agents/"+name+"/refresh", "{}")
	if err := w.call("root", "GET", "/api/v1/agents/"+name, "", &got); err != nil {
		a.outcome = "not there: " + a.String()
		return a
	}
	a.outcome = got.Remote.Health.State
	for _, reason := range []string{"card is not signed", untrusted, "refuse redirect", "answer too large"} {
		if strings.Contains(got.Remote.Health.Error, reason) {
			a.outcome += ": " + reason
		}
	}
	if got.Remote.SignedBy != "" {
		a.outcome += ", signed by " + got.Remote.SignedBy
	}
	if name == "keys-elsewhere" {
		a.outcome += fmt.Sprintf(", evil keys asked %d times", w.elsewhere.times("/evil-keys"))
	}
	return a
}
