package defects

import (
	"strings"
	"testing"
)

// fixtures are tasks that bad input refers to: $done and $asked are ann's, $foreign is
// bob's.
type fixtures struct {
	*hub
	names *strings.Replacer
}

func (h *hub) fixtures() fixtures {
	h.t.Helper()
	asked := h.to("ann", "ask", say("hi"))
	return fixtures{h, strings.NewReplacer(
		"$done", h.to("ann", "echo", say("hi")).ID,
		"$asked", asked.ID,
		"$context", asked.ContextID,
		"$foreign", h.to("bob", "ask", say("hi")).ID,
	)}
}

// leavesNoTrace runs f and fails the test if anything was stored meanwhile, or if ann
// has other tasks than before.
func (f fixtures) leavesNoTrace(t *testing.T, do func()) {
	t.Helper()
	appends, total := f.store.appends.Load(), f.total("ann")
	do()
	if n := f.store.appends.Load() - appends; n != 0 {
		t.Errorf("%d changes were stored, want none", n)
	}
	if now := f.total("ann"); now != total {
		t.Errorf("ann has %d tasks, want the %d from before", now, total)
	}
}

// badInput is a request that must be refused.
type badInput struct {
	name    string
	method  string // of JSON-RPC, or of HTTP
	path    string
	input   string // the params, or the body
	headers []string
	want    fault
}

// nested returns JSON that is nested depth deep.
func nested(depth int) string {
	return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
}

// part returns a message with one part of the given JSON.
func part(json string) string {
	return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[` + json + `]}}`
}

// hostileMessages are params of a message that no binding may take.
var hostileMessages = []struct{ name, params, field string }{
	{"no message", `{}`, "message"},
	{"null message", `{"message":null}`, "message"},
	{"message is a list", `{"message":[]}`, "message"},
	{"message is a string", `{"message":"hi"}`, "message"},
	{"no id", `{"message":{"role":"ROLE_USER","parts":[{"text":"a"}]}}`, "message.messageId"},
	{"empty id", `{"message":{"messageId":"","role":"ROLE_USER","parts":[{"text":"a"}]}}`, "message.messageId"},
	{"id is a number", `{"message":{"messageId":7,"role":"ROLE_USER","parts":[{"text":"a"}]}}`, "message.messageId"},
	{"long id", `{"message":{"messageId":"` + strings.Repeat("x", 513) + `","role":"ROLE_USER","parts":[{"text":"a"}]}}`, "message.messageId"},
	{"no role", `{"message":{"messageId":"m","parts":[{"text":"a"}]}}`, "message.role"},
	{"role of the agent", `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"a"}]}}`, "message.role"},
	{"unknown role", `{"message":{"messageId":"m","role":"ROLE_ROOT","parts":[{"text":"a"}]}}`, "message.role"},
	{"role zero", `{"message":{"messageId":"m","role":0,"parts":[{"text":"a"}]}}`, "message.role"},
	{"no parts", `{"message":{"messageId":"m","role":"ROLE_USER"}}`, "message.parts"},
	{"empty parts", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}`, "message.parts"},
	{"parts are an object", `{"message":{"messageId":"m","role":"ROLE_USER","parts":{}}}`, "message.parts"},
	{"too many parts", part(`{"text":"a"}` + strings.Repeat(`,{"text":"a"}`, 1000)), "message.parts"},
	{"part is null", part(`null`), "message.parts[0]"},
	{"part is empty", part(`{}`), "message.parts[0]"},
	{"second part has two arms", part(`{"text":"a"},{"text":"a","url":"b"}`), "message.parts[1]"},
	{"text is a number", part(`{"text":1e400}`), "message.parts[0].text"},
	{"raw is not base64", part(`{"raw":"***"}`), "message.parts[0].raw"},
	{"url is empty", part(`{"url":""}`), "message.parts[0].url"},
	{"metadata is a list", part(`{"text":"a","metadata":[]}`), "message.parts[0].metadata"},
	{"text is given twice", part(`{"text":"a","text":"b"}`), "message.parts[0].text"},
	{"id is given in both spellings", `{"message":{"messageId":"m","message_id":"n","role":"ROLE_USER","parts":[{"text":"a"}]}}`, "message.message_id"},
	{"name in the wrong case", `{"message":{"messageId":"m","MessageID":"n","role":"ROLE_USER","parts":[{"text":"a"}]}}`, "message.MessageID"},
	{"message is given twice", say("a")[:len(say("a"))-1] + `,"message":{}}`, "message"},
	{"unknown name twice", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}],"x":1,"x":2}}`, "message.x"},
	{"metadata name twice", say("a", `"metadata":{"k":1,"k":2}`), "message.metadata.k"},
	{"extensions are not strings", say("a", `"extensions":[1]`), "message.extensions[0]"},
	{"NUL in the context", say("a", `"contextId":"a\u0000b"`), "message.contextId"},
	{"NUL in the task", say("a", `"taskId":"a\u0000b"`), "message.taskId"},
	{"line break in the task", say("a", `"taskId":"a\r\nSet-Cookie: x"`), "message.taskId"},
	{"long context", say("a", `"contextId":"`+strings.Repeat("c", 257)+`"`), "message.contextId"},
	{"long task", say("a", `"taskId":"`+strings.Repeat("t", 129)+`"`), "message.taskId"},
	{"context of another task", say("a", `"taskId":"$asked","contextId":"other"`), "message.contextId"},
	{"negative history", strings.TrimSuffix(say("a"), "}") + `,"configuration":{"historyLength":-1}}`, "configuration.historyLength"},
	{"huge history", strings.TrimSuffix(say("a"), "}") + `,"configuration":{"historyLength":1e999}}`, "configuration.historyLength"},
	{"broken history", strings.TrimSuffix(say("a"), "}") + `,"configuration":{"historyLength":0.5}}`, "configuration.historyLength"},
	{"truth as a string", strings.TrimSuffix(say("a"), "}") + `,"configuration":{"returnImmediately":"yes"}}`, "configuration.returnImmediately"},
	{"configuration is a list", strings.TrimSuffix(say("a"), "}") + `,"configuration":[]}`, "configuration"},
	{"unknown skill", say("a", `"metadata":{"skill":"hack"}`), "metadata.skill"},
	{"skill of 64 KiB", say("a", `"metadata":{"skill":"`+strings.Repeat(`\u0001`, 64<<10)+`"}`), "metadata.skill"},
}

// What no message may say is refused alike by both HTTP bindings, with the field that
// is wrong, before anything is stored.
func TestHostileMessages(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		f := h.fixtures()
		for _, c := range hostileMessages {
			t.Run(c.name, func(t *testing.T) {
				params := f.names.Replace(c.params)
				f.leavesNoTrace(t, func() {
					for _, method := range []string{"SendMessage", "SendStreamingMessage"} {
						wantFault(t, fault{200, -32602, "INVALID_PARAMS", c.field}, faultOf(t, h.rpc("ann", method, params)))
					}
					for _, path := range []string{"/message:send", "/message:stream"} {
						wantFault(t, fault{400, 400, "INVALID_PARAMS", c.field}, faultOf(t, h.rest("ann", "POST", path, params)))
					}
				})
			})
		}
		h.alive("ann")
	})
}

// rpcInputs are hostile requests of JSON-RPC.
var rpcInputs = []badInput{
	{name: "empty", input: "", headers: []string{"Content-Type: application/json"}, want: fault{200, -32700, "PARSE_ERROR", ""}},
	{name: "white space", input: " \t\r\n", want: fault{200, -32700, "PARSE_ERROR", ""}},
	{name: "null", input: "null", want: fault{200, -32600, "INVALID_REQUEST", ""}},
	{name: "string", input: `"SendMessage"`, want: fault{200, -32600, "INVALID_REQUEST", ""}},
	{name: "byte order mark", input: "\ufeff" + envelope("ListTasks", "{}"), want: fault{200, -32700, "PARSE_ERROR", ""}},
	{name: "UTF-16", input: "\xff\xfe{\x00}\x00", want: fault{200, -32700, "PARSE_ERROR", ""}},
	{name: "invalid UTF-8", input: envelope("SendMessage", say("X")[:60]+"\xc3\x28"), want: fault{200, -32700, "PARSE_ERROR", ""}},
	{name: "overlong NUL", input: envelope("SendMessage", strings.Replace(say("X"), "X", "\xc0\x80", 1)), want: fault{200, -32700, "PARSE_ERROR", ""}},
	{name: "NUL byte", input: envelope("ListTasks", "{}") + "\x00", want: fault{200, -32700, "PARSE_ERROR", ""}},
	{name: "NUL in a string", input: envelope("SendMessage", strings.Replace(say("X"), "X", "\x00", 1)), want: fault{200, -32700, "PARSE_ERROR", ""}},
	{name: "lone high surrogate", input: envelope("SendMessage", strings.Replace(say("X"), "X", `\ud800`, 1)), want: fault{200, -32700, "PARSE_ERROR", ""}},
	{name: "lone low surrogate", input: envelope("SendMessage", strings.Replace(say("X"), "X", `\udc00x`, 1)), want: fault{200, -32700, "PARSE_ERROR", ""}},
	{name: "swapped surrogates", input: envelope("SendMessage", strings.Replace(say("X"), "X", `\udc00\ud800`, 1)), want: fault{200, -32700, "PARSE_ERROR", ""}},
	{name: "nested 101 deep", input: envelope("ListTasks", nested(101)), want: fault{200, -32700, "PARSE_ERROR", ""}},
	{name: "nested a million deep", input: strings.Repeat("[", 1_000_000), want: fault{200, -32700, "PARSE_ERROR", ""}},
	{name: "comment", input: "/**/" + envelope("ListTasks", "{}"), want: fault{200, -32700, "PARSE_ERROR", ""}},
	{name: "NaN", input: envelope("ListTasks", `{"pageSize":NaN}`), want: fault{200, -32700, "PARSE_ERROR", ""}},
	{name: "leading zero", input: envelope("ListTasks", `{"pageSize":010}`), want: fault{200, -32700, "PARSE_ERROR", ""}},
	{name: "trailing comma", input: envelope("ListTasks", `{"pageSize":10,}`), want: fault{200, -32700, "PARSE_ERROR", ""}},
	{name: "no id and no method", input: `{"jsonrpc":"2.0","params":` + say("hi") + `}`, want: fault{200, -32600, "INVALID_REQUEST", "method"}},
	{name: "id is an object", input: `{"jsonrpc":"2.0","id":{},"method":"ListTasks"}`, want: fault{200, -32600, "INVALID_REQUEST", "id"}},
	{name: "id is a fraction", input: `{"jsonrpc":"2.0","id":1.5,"method":"ListTasks"}`, want: fault{200, -32600, "INVALID_REQUEST", "id"}},
	{name: "id is long", input: `{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 2000) + `","method":"ListTasks"}`, want: fault{200, -32600, "INVALID_REQUEST", "id"}},
	{name: "id twice", input: `{"jsonrpc":"2.0","id":1,"id":2,"method":"ListTasks"}`, want: fault{200, -32600, "INVALID_REQUEST", "id"}},
	{name: "method twice", input: `{"jsonrpc":"2.0","id":1,"method":"ListTasks","method":"GetTask"}`, want: fault{200, -32600, "INVALID_REQUEST", "method"}},
	{name: "method is a number", input: `{"jsonrpc":"2.0","id":1,"method":1}`, want: fault{200, -32600, "INVALID_REQUEST", "method"}},
	{name: "no method", input: `{"jsonrpc":"2.0","id":1}`, want: fault{200, -32600, "INVALID_REQUEST", "method"}},
	{name: "other protocol", input: `{"jsonrpc":"1.0","id":1,"method":"ListTasks"}`, want: fault{200, -32600, "INVALID_REQUEST", "jsonrpc"}},
	{name: "params is a list", input: `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":["a"]}`, want: fault{200, -32602, "INVALID_PARAMS", "params"}},
	{name: "unknown method", method: "DeleteTask", input: `{}`, want: fault{200, -32601, "METHOD_NOT_FOUND", ""}},
	{name: "method in lower case", method: "sendmessage", input: say("hi"), want: fault{200, -32601, "METHOD_NOT_FOUND", ""}},
	{name: "method of 64 KiB", method: strings.Repeat("M", 64<<10), input: `{}`, want: fault{200, -32601, "METHOD_NOT_FOUND", ""}},
	{name: "plain text", input: envelope("SendMessage", say("hi")), headers: []string{"Content-Type: text/plain"}, want: fault{415, -32005, "CONTENT_TYPE_NOT_SUPPORTED", ""}},
	{name: "form", input: envelope("SendMessage", say("hi")), headers: []string{"Content-Type: application/x-www-form-urlencoded"}, want: fault{415, -32005, "CONTENT_TYPE_NOT_SUPPORTED", ""}},
	{name: "no content type", input: envelope("SendMessage", say("hi")), headers: []string{"Content-Type:"}, want: fault{415, -32005, "CONTENT_TYPE_NOT_SUPPORTED", ""}},
	{name: "type that begins well", input: envelope("SendMessage", say("hi")), headers: []string{"Content-Type: application/jsonx"}, want: fault{415, -32005, "CONTENT_TYPE_NOT_SUPPORTED", ""}},
	{name: "compressed", input: "\x1f\x8b\x08\x00", headers: []string{"Content-Encoding: gzip"}, want: fault{200, -32700, "PARSE_ERROR", ""}},
	{name: "two versions", method: "SendMessage", input: say("hi"), headers: []string{"A2A-Version: 1.0, 0.3"}, want: fault{200, -32009, "VERSION_NOT_SUPPORTED", ""}},
	{name: "nobody", method: "SendMessage", input: say("hi"), headers: []string{"X-User:"}, want: fault{401, -32000, "UNAUTHENTICATED", ""}},
	{name: "no such agent", path: "/a2a/nobody", method: "SendMessage", input: say("hi"), want: fault{404, -32001, "TASK_NOT_FOUND", ""}},
	{name: "agent out of the tree", path: "/a2a/%2e%2e", method: "SendMessage", input: say("hi"), want: fault{404, -32001, "TASK_NOT_FOUND", ""}},
	{name: "tenant out of the tree", method: "SendMessage", input: `{"tenant":"../ask",` + say("hi")[1:], want: fault{200, -32001, "TASK_NOT_FOUND", ""}},
	{name: "tenant with NUL", method: "SendMessage", input: `{"tenant":"echo\u0000",` + say("hi")[1:], want: fault{200, -32001, "TASK_NOT_FOUND", ""}},
	{name: "tenant against the path", path: "/a2a/ask", method: "SendMessage", input: `{"tenant":"echo",` + say("hi")[1:], want: fault{200, -32602, "INVALID_PARAMS", "tenant"}},
	{name: "two tenants", method: "ListTasks", input: `{"tenant":"echo","agentId":"ask"}`, want: fault{200, -32602, "INVALID_PARAMS", "agentId"}},
	{name: "tenant of 64 KiB", path: "/a2a/ask", method: "SendMessage", input: `{"tenant":"` + strings.Repeat(`\u0001`, 64<<10) + `",` + say("hi")[1:], want: fault{200, -32602, "INVALID_PARAMS", "tenant"}},
	{name: "unknown task", method: "SendMessage", input: say("hi", `"taskId":"nope"`), want: rpcNotFound},
	{name: "foreign task", method: "SendMessage", input: say("hi", `"taskId":"$foreign"`), want: rpcNotFound},
	{name: "finished task", method: "SendMessage", input: say("hi", `"taskId":"$done"`), want: fault{200, -32004, "UNSUPPORTED_OPERATION", ""}},
	{name: "task of another agent", path: "/a2a/echo", method: "GetTask", input: `{"id":"$asked"}`, want: rpcNotFound},
	{name: "media type", path: "/a2a/text", method: "SendMessage", input: part(`{"text":"a","mediaType":"image/png"}`), want: fault{200, -32005, "CONTENT_TYPE_NOT_SUPPORTED", "message.parts[0]"}},
	{name: "media type of 64 KiB", path: "/a2a/text", method: "SendMessage", input: part(`{"text":"a","mediaType":"` + strings.Repeat("m", 64<<10) + `"}`), want: fault{200, -32005, "CONTENT_TYPE_NOT_SUPPORTED", "message.parts[0]"}},
	{name: "get nothing", method: "GetTask", input: `{}`, want: fault{200, -32602, "INVALID_PARAMS", "id"}},
	{name: "get a number", method: "GetTask", input: `{"id":17}`, want: fault{200, -32602, "INVALID_PARAMS", "id"}},
	{name: "get with NUL", method: "GetTask", input: `{"id":"$done\u0000"}`, want: rpcNotFound},
	{name: "get with injection", method: "GetTask", input: `{"id":"x' OR '1'='1"}`, want: rpcNotFound},
	{name: "get 64 KiB", method: "GetTask", input: `{"id":"` + strings.Repeat("x", 64<<10) + `"}`, want: rpcNotFound},
	{name: "cancel again", method: "CancelTask", input: `{"id":"$done"}`, want: fault{200, -32002, "TASK_NOT_CANCELABLE", ""}},
	{name: "cancel with metadata list", method: "CancelTask", input: `{"id":"$asked","metadata":[]}`, want: fault{200, -32602, "INVALID_PARAMS", "metadata"}},
	{name: "page of nothing", method: "ListTasks", input: `{"pageSize":0}`, want: fault{200, -32602, "INVALID_PARAMS", "pageSize"}},
	{name: "page of everything", method: "ListTasks", input: `{"pageSize":101}`, want: fault{200, -32602, "INVALID_PARAMS", "pageSize"}},
	{name: "page beyond 64 bits", method: "ListTasks", input: `{"pageSize":99999999999999999999}`, want: fault{200, -32602, "INVALID_PARAMS", "pageSize"}},
	{name: "forged token", method: "ListTasks", input: `{"pageToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`, want: fault{200, -32602, "INVALID_PARAMS", "pageToken"}},
	{name: "unknown state", method: "ListTasks", input: `{"status":"TASK_STATE_DREAMING"}`, want: fault{200, -32602, "INVALID_PARAMS", "status"}},
	{name: "state 99", method: "ListTasks", input: `{"status":99}`, want: fault{200, -32602, "INVALID_PARAMS", "status"}},
	{name: "time", method: "ListTasks", input: `{"statusTimestampAfter":"yesterday"}`, want: fault{200, -32602, "INVALID_PARAMS", "statusTimestampAfter"}},
	{name: "extended card undeclared", method: "GetExtendedAgentCard", input: `{}`, want: fault{200, -32004, "UNSUPPORTED_OPERATION", ""}},
	{name: "extended card missing", method: "GetExtendedAgentCard", input: `{"tenant":"promising"}`, want: fault{200, -32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", ""}},
}

// Every hostile request of JSON-RPC gets exactly its error.
func TestHostileJSONRPC(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		f := h.fixtures()
		for _, c := range rpcInputs {
			t.Run(c.name, func(t *testing.T) {
				body := f.names.Replace(c.input)
				if c.method != "" {
					body = envelope(c.method, body)
				}
				path := c.path
				if path == "" {
					path = "/a2a"
				}
				f.leavesNoTrace(t, func() {
					wantFault(t, c.want, faultOf(t, h.do(call{"ann", "POST", path, body, c.headers})))
				})
			})
		}
		h.alive("ann")
	})
}

// restInputs are hostile requests of HTTP+JSON. Paths are below /v1/a2a.
var restInputs = []badInput{
	{"no body", "POST", "/message:send", "", []string{"Content-Type: application/json"}, fault{400, 400, "PARSE_ERROR", ""}},
	{"no content type", "POST", "/message:send", say("hi"), []string{"Content-Type:"}, fault{415, 415, "CONTENT_TYPE_NOT_SUPPORTED", ""}},
	{"form", "POST", "/message:send", "a=b", []string{"Content-Type: application/x-www-form-urlencoded"}, fault{415, 415, "CONTENT_TYPE_NOT_SUPPORTED", ""}},
	{"plain text cancel", "POST", "/tasks/$asked:cancel", "{}", []string{"Content-Type: text/plain"}, fault{415, 415, "CONTENT_TYPE_NOT_SUPPORTED", ""}},
	{"list", "POST", "/message:send", "[]", nil, fault{400, 400, "INVALID_REQUEST", ""}},
	{"trailing data", "POST", "/message:send", say("hi") + "{}", nil, fault{400, 400, "PARSE_ERROR", ""}},
	{"invalid UTF-8", "POST", "/message:send", strings.Replace(say("X"), "X", "\xff", 1), nil, fault{400, 400, "PARSE_ERROR", ""}},
	{"lone surrogate", "POST", "/message:send", strings.Replace(say("X"), "X", `\udfff`, 1), nil, fault{400, 400, "PARSE_ERROR", ""}},
	{"nested", "POST", "/message:send", nested(500), nil, fault{400, 400, "PARSE_ERROR", ""}},
	{"nobody", "GET", "/tasks", "", []string{"X-User:"}, fault{401, 401, "UNAUTHENTICATED", ""}},
	{"unknown agent", "POST", "/nobody/message:send", say("hi"), nil, restNotFound},
	{"agent out of the tree", "POST", "/%2e%2e%2fecho/message:send", say("hi"), nil, restNotFound},
	{"agent with NUL", "POST", "/echo%00/message:send", say("hi"), nil, restNotFound},
	{"agent encoded twice", "POST", "/%2565cho/message:send", say("hi"), nil, restNotFound},
	{"tenant against the path", "POST", "/echo/message:send", `{"tenant":"ask",` + say("hi")[1:], nil, fault{400, 400, "INVALID_PARAMS", "tenant"}},
	{"nowhere", "GET", "/task", "", nil, fault{404, 404, "METHOD_NOT_FOUND", ""}},
	{"root", "GET", "/", "", nil, fault{404, 404, "METHOD_NOT_FOUND", ""}},
	{"empty segment", "GET", "//tasks", "", nil, fault{404, 404, "METHOD_NOT_FOUND", ""}},
	{"empty id", "GET", "/tasks/", "", nil, fault{404, 404, "METHOD_NOT_FOUND", ""}},
	{"dots", "GET", "/tasks/../../../etc/passwd", "", nil, fault{404, 404, "METHOD_NOT_FOUND", ""}},
	{"encoded dots", "GET", "/tasks/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "", nil, restNotFound},
	{"backslashes", "GET", "/tasks/..%5c..%5cboot.ini", "", nil, restNotFound},
	{"encoded verb", "POST", "/tasks/$asked%3Acancel", "", nil, fault{405, 405, "METHOD_NOT_FOUND", ""}},
	{"verb twice", "POST", "/tasks/$asked:cancel:cancel", "", nil, restNotFound},
	{"unknown verb", "POST", "/tasks/$asked:delete", "", nil, fault{405, 405, "METHOD_NOT_FOUND", ""}},
	{"id with NUL", "GET", "/tasks/$done%00", "", nil, restNotFound},
	{"id with CRLF", "GET", "/tasks/$done%0d%0aSet-Cookie:%20a=b", "", nil, restNotFound},
	{"id not UTF-8", "GET", "/tasks/%ff%fe", "", nil, restNotFound},
	{"id with injection", "GET", "/tasks/x%27%20OR%20%271%27=%271", "", nil, restNotFound},
	{"id of 30 KiB", "GET", "/tasks/" + strings.Repeat("x", 30<<10), "", nil, restNotFound},
	{"id in another case", "GET", "/tasks/$DONE", "", nil, restNotFound},
	{"foreign", "GET", "/tasks/$foreign", "", nil, restNotFound},
	{"foreign cancel", "POST", "/tasks/$foreign:cancel", "", nil, restNotFound},
	{"foreign stream", "GET", "/tasks/$foreign:subscribe", "", []string{"Last-Event-ID: 1"}, restNotFound},
	{"other agent's", "GET", "/echo/tasks/$asked", "", nil, restNotFound},
	{"two ids", "POST", "/tasks/$asked:cancel", `{"id":"$done"}`, nil, fault{400, 400, "INVALID_PARAMS", "id"}},
	{"cancel the end", "POST", "/tasks/$done:cancel", "", nil, fault{409, 409, "TASK_NOT_CANCELABLE", ""}},
	{"message after the end", "POST", "/message:send", say("hi", `"taskId":"$done"`), nil, fault{400, 400, "UNSUPPORTED_OPERATION", ""}},
	{"subscribe after the end", "POST", "/tasks/$done:subscribe", "", nil, fault{400, 400, "UNSUPPORTED_OPERATION", ""}},
	{"put", "PUT", "/tasks/$done", "{}", nil, fault{405, 405, "METHOD_NOT_FOUND", ""}},
	{"delete", "DELETE", "/tasks/$done", "", nil, fault{405, 405, "METHOD_NOT_FOUND", ""}},
	{"patch", "PATCH", "/message:send", say("hi"), nil, fault{405, 405, "METHOD_NOT_FOUND", ""}},
	{"get a send", "GET", "/message:send", "", nil, fault{405, 405, "METHOD_NOT_FOUND", ""}},
	{"options", "OPTIONS", "/message:send", "", nil, fault{405, 405, "METHOD_NOT_FOUND", ""}},
	{"own method", "HACK", "/tasks", "", nil, fault{405, 405, "METHOD_NOT_FOUND", ""}},
	{"override", "GET", "/message:send", "", []string{"X-HTTP-Method-Override: POST"}, fault{405, 405, "METHOD_NOT_FOUND", ""}},
	{"page size", "GET", "/tasks?pageSize=0", "", nil, fault{400, 400, "INVALID_PARAMS", "pageSize"}},
	{"page size in hex", "GET", "/tasks?pageSize=0x10", "", nil, fault{400, 400, "INVALID_PARAMS", "pageSize"}},
	{"page size twice", "GET", "/tasks?pageSize=1&pageSize=2", "", nil, fault{400, 400, "INVALID_PARAMS", "pageSize"}},
	{"page size in two spellings", "GET", "/tasks?pageSize=1&page_size=2", "", nil, fault{400, 400, "INVALID_PARAMS", "page_size"}},
	{"token", "GET", "/tasks?pageToken=%00", "", nil, fault{400, 400, "INVALID_PARAMS", "pageToken"}},
	{"state", "GET", "/tasks?status=DREAMING", "", nil, fault{400, 400, "INVALID_PARAMS", "status"}},
	{"truth", "GET", "/tasks?includeArtifacts=maybe", "", nil, fault{400, 400, "INVALID_PARAMS", "includeArtifacts"}},
	{"history", "GET", "/tasks/$done?historyLength=-1", "", nil, fault{400, 400, "INVALID_PARAMS", "historyLength"}},
	{"broken escape", "GET", "/tasks?status=%zz", "", nil, fault{400, 400, "INVALID_PARAMS", ""}},
	{"semicolon", "GET", "/tasks?pageSize=1;pageToken=x", "", nil, fault{400, 400, "INVALID_PARAMS", ""}},
	{"extended card", "GET", "/extendedAgentCard", "", nil, fault{501, 501, "UNSUPPORTED_OPERATION", ""}},
	{"extended card missing", "GET", "/promising/extendedAgentCard", "", nil, fault{400, 400, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", ""}},
}

// Every hostile request of HTTP+JSON gets exactly its error.
func TestHostileREST(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		f := h.fixtures()
		for _, c := range restInputs {
			t.Run(c.name, func(t *testing.T) {
				path := strings.ReplaceAll(f.names.Replace(c.path), "$DONE", strings.ToUpper(f.names.Replace("$done")))
				f.leavesNoTrace(t, func() {
					a := h.rest("ann", c.method, path, f.names.Replace(c.input), c.headers...)
					wantFault(t, c.want, faultOf(t, a))
					if a.header.Get("Set-Cookie") != "" {
						t.Error("a header was injected")
					}
				})
			})
		}
		h.alive("ann")
	})
}

// Odd input that is legal must not be refused, lost or changed.
func TestOddButLegal(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		for name, text := range map[string]string{
			"NUL": "a\x00b", "astral": "😀", "separators": "a\u2028b\u2029c", "quotes": `"\"`, "html": "</script><!--",
			"direction": "\u202eabc", "lines": "data: x\n\nid: 99\n\nevent: y\r\n\r\n", "empty": "",
		} {
			want := "> " + text
			w := h.to("ann", "echo", say(text))
			if len(w.Artifacts) != 1 || w.Artifacts[0].Parts[0].Text != want {
				t.Errorf("%s: echo answers %+v, want %q", name, w.Artifacts, want)
			}
			resp := h.stream(t.Context(), call{"ann", "POST", "/echo/message:stream", say(text), nil})
			all := h.read(resp.Body).rest()
			gapless(t, 0, all)
			if len(all) != 4 || all[2].frame(t).ArtifactUpdate.Artifact.Parts[0].Text != want {
				t.Errorf("%s: the stream has %v", name, all)
			}
		}
		for name, members := range map[string]string{
			"huge number": `"metadata":{"n":1e999,"m":-123456789012345678901234567890.5}`,
			"deep":        `"metadata":` + nested(90),
			"unknown":     `"x":{"y":[null,1e999]}`,
			"free names":  `"metadata":{"":1,"__proto__":{"a":1,"a":2}}`,
		} {
			w := h.to("ann", "echo", say("hi", members))
			if w.Status.State != "TASK_STATE_COMPLETED" {
				t.Errorf("%s: the task is %s: %s", name, w.Status.State, w.statusText())
			}
			if got := string(w.History[0]); !strings.Contains(got, members) {
				t.Errorf("%s: the message is %s, want it to contain %s", name, got, members)
			}
		}
		w := h.to("ann", "echo", strings.TrimSuffix(say("hi"), "}")+`,"metadata":{"n":1e999}}`)
		if w.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("huge number beside the message: the task is %s: %s", w.Status.State, w.statusText())
		}
		w = h.to("ann", "echo", part(`{"data":1e999}`))
		if w.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("huge number as data: the task is %s: %s", w.Status.State, w.statusText())
		}
	})
}
