package hostile

import "strings"

const (
	noTask = "404 TASK_NOT_FOUND"
	noPath = "404 METHOD_NOT_FOUND"
)

func get(path string, headers ...string) send { return web("GET", path, "", headers...) }

// pathRows are manipulations of paths, tenants and ids.
var pathRows = []row{
	{name: "dots to the API", send: get("/v1/a2a/../../api/v1/keys"), want: noPath},
	{name: "encoded dots to the API", send: get("/v1/a2a/%2e%2e/%2e%2e/api/v1/keys"), want: noPath},
	{name: "encoded slashes to the API", send: get("/v1/a2a/tasks/..%2f..%2f..%2fapi%2fv1%2fkeys"), want: noTask},
	{name: "two slashes before the API", send: get("//api/v1/keys"), want: noPath},
	{name: "a dot in the API", send: get("/api/v1/./keys"), want: noPath},
	{name: "dots in the API", send: get("/api/v1/agents/../keys"), want: noPath},
	{name: "encoded dots in the API", send: get("/api/v1/agents/%2e%2e%2fkeys"), want: noPath},
	{name: "the API in capitals", send: get("/API/V1/keys"), want: noPath},
	{name: "the API with a semicolon", send: get("/api/v1;x/keys"), want: noPath},
	{name: "a file", send: get("/v1/a2a/tasks/../../../../etc/passwd"), want: noPath},
	{name: "a file by encoded dots", send: get("/a2a/%2e%2e%2f%2e%2e%2fetc%2fpasswd/.well-known/agent-card.json"), want: noTask},
	{name: "a file by backslashes", send: get(`/v1/a2a/tasks/..%5c..%5cparley.yaml`), want: noTask},
	{name: "encoded twice", send: get("/v1/a2a/tasks/%252e%252e%252f$asked"), want: noTask},
	{name: "an overlong slash", send: get("/v1/a2a/tasks/%c0%af$asked"), want: noTask},
	{name: "NUL behind the id", send: get("/v1/a2a/tasks/$asked%00.json"), want: noTask},
	{name: "a line break in the id", send: get("/v1/a2a/tasks/$asked%0d%0aX-Evil:%20yes"), want: noTask},
	{name: "a raw space in the path", send: raw("GET /v1/a2a/tasks/ x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), want: "400, closed"},
	{name: "a broken escape", send: get("/v1/a2a/tasks/%zz"), want: "400, closed"},
	{name: "a fragment", send: get("/v1/a2a/tasks/$foreign#/$asked"), want: noPath},
	{name: "an agent that is a path", send: web("POST", "/a2a/..%2ftally", call("SendMessage", message("x"))), want: "404 -32001 TASK_NOT_FOUND"},
	{name: "an agent that is a word of the path", send: web("POST", "/v1/a2a/tasks/message:send", message("x")), want: "405 METHOD_NOT_FOUND"},
	{name: "an agent in capitals", send: web("POST", "/v1/a2a/TALLY/message:send", message("x")), want: noTask},
	{name: "an agent with a homoglyph", send: web("POST", "/v1/a2a/t%D0%B0lly/message:send", message("x")), want: noTask},
	{name: "an agent of 30 KiB", send: web("POST", "/v1/a2a/"+strings.Repeat("a", 30<<10)+"/message:send", message("x")), want: noTask},
	{name: "a tenant that is a path", send: rpc("SendMessage", `{"tenant":"../tally",`+message("x")[1:]), want: "200 -32001 TASK_NOT_FOUND"},
	{name: "a tenant with an encoded slash", send: rpc("SendMessage", `{"tenant":"a2a%2ftally",`+message("x")[1:]), want: "200 -32001 TASK_NOT_FOUND"},
	{name: "a tenant against the path", send: web("POST", "/v1/a2a/echo/message:send", `{"tenant":"tally",`+message("x")[1:]), want: "400 INVALID_PARAMS tenant"},
	{name: "a tenant in the query", send: get("/v1/a2a/echo/tasks?tenant=tally"), want: "400 INVALID_PARAMS tenant"},
	{name: "the task of another agent", send: get("/v1/a2a/echo/tasks/$asked"), want: noTask},
	{name: "the task of another agent, by tenant", send: rpc("CancelTask", `{"tenant":"echo","id":"$asked"}`), want: "200 -32001 TASK_NOT_FOUND"},
	{name: "a message to the task of another agent", send: web("POST", "/v1/a2a/echo/message:send", message("x", `"taskId":"$asked"`)), want: noTask},
	{name: "another id than the path's", send: web("POST", "/v1/a2a/tasks/$asked:cancel", `{"id":"$second"}`), want: "400 INVALID_PARAMS id"},
	{name: "an id that is an order", send: get("/v1/a2a/tasks/x%27%20OR%20%271%27=%271"), want: noTask},
	{name: "an id with a wildcard", send: get("/v1/a2a/tasks/%25"), want: noTask},
	{name: "an id in capitals", send: func(w *world) *answer {
		return get("/v1/a2a/tasks/" + strings.ToUpper(w.names["$asked"]))(w)
	}, want: noTask},
	{name: "a webhook that is a path", send: get("/v1/a2a/tasks/$asked/pushNotificationConfigs/..%2f..%2f$foreign"), want: noTask},
	{name: "a webhook of another task", send: get("/v1/a2a/tasks/$second/pushNotificationConfigs/alicehook"), want: noTask},
	{name: "a query given twice", send: get("/v1/a2a/tasks?contextId=alicecontext&contextId=bobscontext"), want: "400 INVALID_PARAMS contextId"},
	{name: "a query in two spellings", send: get("/v1/a2a/tasks?contextId=a&context_id=b"), want: "400 INVALID_PARAMS context_id"},
	{name: "a query with a semicolon", send: get("/v1/a2a/tasks?pageSize=1;contextId=a"), want: "400 INVALID_PARAMS"},
	{name: "a note outside", send: get("/api/v1/memory/note?key=../bob/plans"), want: "400 INVALID_PARAMS key"},
	{name: "a note with a dot", send: web("PUT", "/api/v1/memory/note?key=a/./b", `{"value":"x"}`), want: "400 INVALID_PARAMS key"},
	{name: "a note with NUL", send: web("PUT", "/api/v1/memory/note?key=a%00b/c", `{"value":"x"}`), want: "400 INVALID_PARAMS key"},
}

// cursorRows are page tokens, positions and tickets that are invented or belong to another
// caller.
var cursorRows = []row{
	{name: "the good one", send: get("/v1/a2a/tasks?pageSize=1&pageToken=$page"), want: "200 ok"},
	{name: "nonsense", send: get("/v1/a2a/tasks?pageToken=AAAA"), want: "400 INVALID_PARAMS pageToken"},
	{name: "zeros", send: rpc("ListTasks", `{"pageToken":"`+strings.Repeat("A", 64)+`"}`), want: "200 -32602 INVALID_PARAMS pageToken"},
	{name: "of 60 KiB", send: rpc("ListTasks", `{"pageToken":"`+strings.Repeat("A", 60<<10)+`"}`), want: "200 -32602 INVALID_PARAMS pageToken"},
	{name: "of another caller", send: get("/v1/a2a/tasks?pageSize=1&pageToken=$bobspage"), want: "400 INVALID_PARAMS pageToken"},
	{name: "of another caller, JSON-RPC", send: rpc("ListTasks", `{"pageSize":1,"pageToken":"$bobspage"}`), want: "200 -32602 INVALID_PARAMS pageToken"},
	{name: "of another agent", send: get("/v1/a2a/echo/tasks?pageSize=1&pageToken=$page"), want: "400 INVALID_PARAMS pageToken"},
	{name: "of another filter", send: get("/v1/a2a/tasks?pageSize=1&contextId=alicecontext&pageToken=$page"), want: "400 INVALID_PARAMS pageToken"},
	{name: "of another method", send: get("/v1/a2a/tasks/$asked/pushNotificationConfigs?pageSize=1&pageToken=$page"), want: "400 INVALID_PARAMS pageToken"},
	{name: "of webhooks, for tasks", send: get("/v1/a2a/tasks?pageSize=1&pageToken=$hookpage"), want: "400 INVALID_PARAMS pageToken"},
	{name: "of webhooks, for another task", send: get("/v1/a2a/tasks/$second/pushNotificationConfigs?pageSize=1&pageToken=$hookpage"), want: "400 INVALID_PARAMS pageToken"},
	{name: "of A2A, for the API", send: get("/api/v1/tasks?pageToken=$bobspage"), want: "400 INVALID_PARAMS pageToken"},
	{name: "of a list, for a search", send: get("/api/v1/tasks?q=hello&pageSize=1&pageToken=$page"), want: "400 INVALID_PARAMS pageToken"},
	{name: "a search in the language of the index", send: get("/api/v1/tasks?q=secret%22+OR+task_words%3Ax*+NEAR(%27a%27%3A*+%7C+b)"), want: "200 ok"},
	{name: "a search with NUL and invalid UTF-8", send: get("/api/v1/tasks?q=a%00b%ff%fe+word"), want: "200 ok"},
	{name: "a search of signs", send: get("/api/v1/tasks?q=%22%27*%28%3A%5E%26"), want: "400 INVALID_PARAMS q"},
	{name: "a search of 2 KiB", send: get("/api/v1/tasks?q=" + strings.Repeat("word+", 400)), want: "400 INVALID_PARAMS q"},
	{name: "a search of all tasks", send: get("/api/v1/tasks?scope=all&q=hello"), want: forbidden},
	{name: "changed by a character", send: func(w *world) *answer {
		return get("/v1/a2a/tasks?pageSize=1&pageToken=" + changed(w.names["$page"]))(w)
	}, want: "400 INVALID_PARAMS pageToken"},
	{name: "cut off", send: func(w *world) *answer { return get("/v1/a2a/tasks?pageSize=1&pageToken=" + w.names["$page"][:8])(w) }, want: "400 INVALID_PARAMS pageToken"},
	{name: "twice", send: func(w *world) *answer {
		return get("/v1/a2a/tasks?pageSize=1&pageToken=" + w.names["$page"] + w.names["$page"])(w)
	}, want: "400 INVALID_PARAMS pageToken"},
	{name: "a position beyond numbers", send: web("POST", "/v1/a2a/tasks/$done:subscribe", "", "Last-Event-ID: 99999999999999999999999"), want: "400 UNSUPPORTED_OPERATION"},
	{name: "a position beyond numbers, by GET", send: get("/v1/a2a/tasks/$done:subscribe", "Last-Event-ID: 99999999999999999999999"), want: "200 ok"},
	{name: "a position below zero", send: web("POST", "/v1/a2a/tasks/$done:subscribe", "", "Last-Event-ID: -1"), want: "400 UNSUPPORTED_OPERATION"},
	{name: "a position that is an order", send: web("POST", "/v1/a2a/tasks/$done:subscribe", "", "Last-Event-ID: 1; DROP TABLE"), want: "400 UNSUPPORTED_OPERATION"},
	{name: "two positions", send: get("/v1/a2a/tasks/$done:subscribe", "Last-Event-ID: 1", "Last-Event-ID: 2"), want: "200 ok"},
	{name: "a position in the future", send: web("POST", "/v1/a2a/tasks/$done:subscribe", "", "Last-Event-ID: 4000000000"), want: "400 UNSUPPORTED_OPERATION"},
	{name: "an idempotency key of 60 KiB", send: web("POST", sendREST, message("x"), "Idempotency-Key: "+strings.Repeat("k", 60<<10)), want: "400 INVALID_PARAMS Idempotency-Key"},
}

// changed returns a text with another character in its middle.
func changed(s string) string {
	b := []byte(s)
	if i := len(b) / 2; b[i] == 'A' {
		b[i] = 'B'
	} else {
		b[i] = 'A'
	}
	return string(b)
}
