package hostile

import "strings"

// part returns a message with one part of the given JSON.
func part(json string) string {
	return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[` + json + `]}}`
}

// configured returns a message with a configuration of the given JSON.
func configured(json string) string {
	return strings.TrimSuffix(message("a"), "}") + `,"configuration":` + json + `}`
}

// badMessages are message params that every binding refuses, with the invalid field.
var badMessages = []struct{ name, params, field string }{
	{"no message", `{}`, "message"},
	{"null message", `{"message":null}`, "message"},
	{"message is a list", `{"message":[]}`, "message"},
	{"message is a string", `{"message":"hi"}`, "message"},
	{"no id", `{"message":{"role":"ROLE_USER","parts":[{"text":"a"}]}}`, "message.messageId"},
	{"empty id", `{"message":{"messageId":"","role":"ROLE_USER","parts":[{"text":"a"}]}}`, "message.messageId"},
	{"id is a number", `{"message":{"messageId":7,"role":"ROLE_USER","parts":[{"text":"a"}]}}`, "message.messageId"},
	{"long id", `{"message":{"messageId":"` + strings.Repeat("x", 513) + `","role":"ROLE_USER","parts":[{"text":"a"}]}}`, "message.messageId"},
	{"long skill", message("a", `"metadata":{"skill":"`+strings.Repeat(`\u0001`, 10_000)+`"}`), "metadata.skill"},
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
	{"text appears twice", part(`{"text":"a","text":"b"}`), "message.parts[0].text"},
	{"id is given in both spellings", `{"message":{"messageId":"m","message_id":"n","role":"ROLE_USER","parts":[{"text":"a"}]}}`, "message.message_id"},
	{"name in the wrong case", `{"message":{"messageId":"m","MessageID":"n","role":"ROLE_USER","parts":[{"text":"a"}]}}`, "message.MessageID"},
	{"message appears twice", message("a")[:len(message("a"))-1] + `,"message":{}}`, "message"},
	{"unknown name twice", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}],"x":1,"x":2}}`, "message.x"},
	{"metadata name twice", message("a", `"metadata":{"k":1,"k":2}`), "message.metadata.k"},
	{"extensions are not strings", message("a", `"extensions":[1]`), "message.extensions[0]"},
	{"NUL in the context", message("a", `"contextId":"a\u0000b"`), "message.contextId"},
	{"NUL in the task", message("a", `"taskId":"a\u0000b"`), "message.taskId"},
	{"line break in the task", message("a", `"taskId":"a\r\nSet-Cookie: x"`), "message.taskId"},
	{"long context", message("a", `"contextId":"`+strings.Repeat("c", 257)+`"`), "message.contextId"},
	{"long task", message("a", `"taskId":"`+strings.Repeat("t", 129)+`"`), "message.taskId"},
	{"context of another task", message("a", `"taskId":"$asked","contextId":"other"`), "message.contextId"},
	{"negative history", configured(`{"historyLength":-1}`), "configuration.historyLength"},
	{"huge history", configured(`{"historyLength":1e999}`), "configuration.historyLength"},
	{"broken history", configured(`{"historyLength":0.5}`), "configuration.historyLength"},
	{"truth as a string", configured(`{"returnImmediately":"yes"}`), "configuration.returnImmediately"},
	{"configuration is a list", configured(`[]`), "configuration"},
	{"unknown skill", message("a", `"metadata":{"skill":"hack"}`), "metadata.skill"},
}

// messageRows send each bad message by every method of both HTTP bindings.
func messageRows(*world) []row {
	var rows []row
	for _, m := range badMessages {
		for _, method := range []string{"SendMessage", "SendStreamingMessage"} {
			rows = append(rows, row{name: m.name + ", " + method, send: rpc(method, m.params), want: "200 -32602 INVALID_PARAMS " + m.field})
		}
		for _, method := range []string{"send", "stream"} {
			rows = append(rows, row{name: m.name + ", " + method, send: rest("POST", "/message:"+method, m.params), want: "400 INVALID_PARAMS " + m.field})
		}
	}
	return rows
}

// rest sends an HTTP+JSON request without a version.
func rest(method, path, body string, headers ...string) send {
	return web(method, "/v1/a2a"+path, body, append(headers, "A2A-Version:")...)
}

// rpcRows are JSON-RPC requests that no honest client sends.
var rpcRows = []row{
	{name: "empty", send: web("POST", sendRPC, "", "Content-Type: application/json"), want: "200 -32700 PARSE_ERROR"},
	{name: "white space", send: web("POST", sendRPC, " \t\r\n"), want: "200 -32700 PARSE_ERROR"},
	{name: "null", send: web("POST", sendRPC, "null"), want: "200 -32600 INVALID_REQUEST"},
	{name: "string", send: web("POST", sendRPC, `"SendMessage"`), want: "200 -32600 INVALID_REQUEST"},
	{name: "byte order mark", send: web("POST", sendRPC, "\ufeff"+call("ListTasks", "{}")), want: "200 -32700 PARSE_ERROR"},
	{name: "UTF-16", send: web("POST", sendRPC, "\xff\xfe{\x00}\x00"), want: "200 -32700 PARSE_ERROR"},
	{name: "invalid UTF-8", send: web("POST", sendRPC, call("SendMessage", message("X")[:60]+"\xc3\x28")), want: "200 -32700 PARSE_ERROR"},
	{name: "overlong NUL", send: web("POST", sendRPC, call("SendMessage", strings.Replace(message("X"), "X", "\xc0\x80", 1))), want: "200 -32700 PARSE_ERROR"},
	{name: "NUL byte", send: web("POST", sendRPC, call("ListTasks", "{}")+"\x00"), want: "200 -32700 PARSE_ERROR"},
	{name: "NUL in a string", send: web("POST", sendRPC, call("SendMessage", strings.Replace(message("X"), "X", "\x00", 1))), want: "200 -32700 PARSE_ERROR"},
	{name: "lone high surrogate", send: web("POST", sendRPC, call("SendMessage", strings.Replace(message("X"), "X", `\ud800`, 1))), want: "200 -32700 PARSE_ERROR"},
	{name: "lone low surrogate", send: web("POST", sendRPC, call("SendMessage", strings.Replace(message("X"), "X", `\udc00x`, 1))), want: "200 -32700 PARSE_ERROR"},
	{name: "swapped surrogates", send: web("POST", sendRPC, call("SendMessage", strings.Replace(message("X"), "X", `\udc00\ud800`, 1))), want: "200 -32700 PARSE_ERROR"},
	{name: "nested 101 deep", send: web("POST", sendRPC, call("ListTasks", deep(101))), want: "200 -32700 PARSE_ERROR"},
	{name: "comment", send: web("POST", sendRPC, "/**/"+call("ListTasks", "{}")), want: "200 -32700 PARSE_ERROR"},
	{name: "NaN", send: web("POST", sendRPC, call("ListTasks", `{"pageSize":NaN}`)), want: "200 -32700 PARSE_ERROR"},
	{name: "leading zero", send: web("POST", sendRPC, call("ListTasks", `{"pageSize":010}`)), want: "200 -32700 PARSE_ERROR"},
	{name: "trailing comma", send: web("POST", sendRPC, call("ListTasks", `{"pageSize":10,}`)), want: "200 -32700 PARSE_ERROR"},
	{name: "no id and no method", send: web("POST", sendRPC, `{"jsonrpc":"2.0","params":`+message("hi")+`}`), want: "200 -32600 INVALID_REQUEST method"},
	{name: "id is an object", send: web("POST", sendRPC, `{"jsonrpc":"2.0","id":{},"method":"ListTasks"}`), want: "200 -32600 INVALID_REQUEST id"},
	{name: "id is a fraction", send: web("POST", sendRPC, `{"jsonrpc":"2.0","id":1.5,"method":"ListTasks"}`), want: "200 -32600 INVALID_REQUEST id"},
	{name: "id is long", send: web("POST", sendRPC, `{"jsonrpc":"2.0","id":"`+strings.Repeat("i", 2000)+`","method":"ListTasks"}`), want: "200 -32600 INVALID_REQUEST id"},
	{name: "method is a number", send: web("POST", sendRPC, `{"jsonrpc":"2.0","id":1,"method":1}`), want: "200 -32600 INVALID_REQUEST method"},
	{name: "no method", send: web("POST", sendRPC, `{"jsonrpc":"2.0","id":1}`), want: "200 -32600 INVALID_REQUEST method"},
	{name: "other protocol", send: web("POST", sendRPC, `{"jsonrpc":"1.0","id":1,"method":"ListTasks"}`), want: "200 -32600 INVALID_REQUEST jsonrpc"},
	{name: "params is a list", send: web("POST", sendRPC, `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":["a"]}`), want: "200 -32602 INVALID_PARAMS params"},
	{name: "unknown method", send: rpc("DeleteTask", `{}`), want: "200 -32601 METHOD_NOT_FOUND"},
	{name: "method in lower case", send: rpc("sendmessage", message("hi")), want: "200 -32601 METHOD_NOT_FOUND"},
	{name: "form", send: web("POST", sendRPC, call("SendMessage", message("hi")), "Content-Type: application/x-www-form-urlencoded"), want: "415 -32005 CONTENT_TYPE_NOT_SUPPORTED"},
	{name: "no content type", send: web("POST", sendRPC, call("SendMessage", message("hi")), "Content-Type:"), want: "415 -32005 CONTENT_TYPE_NOT_SUPPORTED"},
	{name: "type that begins well", send: web("POST", sendRPC, call("SendMessage", message("hi")), "Content-Type: application/jsonx"), want: "415 -32005 CONTENT_TYPE_NOT_SUPPORTED"},
	{name: "two versions", send: web("POST", sendRPC, call("SendMessage", message("hi")), "A2A-Version: 1.0, 0.3"), want: "200 -32009 VERSION_NOT_SUPPORTED"},
	{name: "long method", send: rpc(strings.Repeat("M", 60_000), `{}`), want: "200 -32601 METHOD_NOT_FOUND"},
	{name: "long tenant", send: web("POST", "/a2a/interview", call("SendMessage", `{"tenant":"`+strings.Repeat(`\u0001`, 10_000)+`",`+message("hi")[1:])), want: "200 -32602 INVALID_PARAMS tenant"},
	{name: "long media type", send: web("POST", "/a2a/text", call("SendMessage", part(`{"text":"a","mediaType":"`+strings.Repeat("m", 60_000)+`"}`))), want: "200 -32005 CONTENT_TYPE_NOT_SUPPORTED message.parts[0]"},
	{name: "long task id", send: rpc("GetTask", `{"id":"`+strings.Repeat("x", 60_000)+`"}`), want: "200 -32001 TASK_NOT_FOUND"},
	{name: "no such agent", send: web("POST", "/a2a/nobody", call("SendMessage", message("hi"))), want: "404 -32001 TASK_NOT_FOUND"},
	{name: "agent out of the tree", send: web("POST", "/a2a/%2e%2e", call("SendMessage", message("hi"))), want: "404 -32001 TASK_NOT_FOUND"},
	{name: "tenant with NUL", send: rpc("SendMessage", `{"tenant":"echo\u0000",`+message("hi")[1:]), want: "200 -32001 TASK_NOT_FOUND"},
	{name: "tenant against the path", send: web("POST", "/a2a/interview", call("SendMessage", `{"tenant":"echo",`+message("hi")[1:])), want: "200 -32602 INVALID_PARAMS tenant"},
	{name: "two tenants", send: rpc("ListTasks", `{"tenant":"echo","agentId":"interview"}`), want: "200 -32602 INVALID_PARAMS agentId"},
	{name: "unknown task", send: rpc("SendMessage", message("hi", `"taskId":"nope"`)), want: "200 -32001 TASK_NOT_FOUND"},
	{name: "finished task", send: rpc("SendMessage", message("hi", `"taskId":"$done"`)), want: "200 -32004 UNSUPPORTED_OPERATION"},
	{name: "task of another agent", send: web("POST", "/a2a/echo", call("GetTask", `{"id":"$asked"}`)), want: "200 -32001 TASK_NOT_FOUND"},
	{name: "media type", send: web("POST", "/a2a/text", call("SendMessage", part(`{"text":"a","mediaType":"image/png"}`))), want: "200 -32005 CONTENT_TYPE_NOT_SUPPORTED message.parts[0]"},
	{name: "get nothing", send: rpc("GetTask", `{}`), want: "200 -32602 INVALID_PARAMS id"},
	{name: "get a number", send: rpc("GetTask", `{"id":17}`), want: "200 -32602 INVALID_PARAMS id"},
	{name: "get with NUL", send: rpc("GetTask", `{"id":"$done\u0000"}`), want: "200 -32001 TASK_NOT_FOUND"},
	{name: "get with injection", send: rpc("GetTask", `{"id":"x' OR '1'='1"}`), want: "200 -32001 TASK_NOT_FOUND"},
	{name: "cancel again", send: rpc("CancelTask", `{"id":"$done"}`), want: "200 -32002 TASK_NOT_CANCELABLE"},
	{name: "cancel with metadata list", send: rpc("CancelTask", `{"id":"$asked","metadata":[]}`), want: "200 -32602 INVALID_PARAMS metadata"},
	{name: "page of nothing", send: rpc("ListTasks", `{"pageSize":0}`), want: "200 -32602 INVALID_PARAMS pageSize"},
	{name: "page of everything", send: rpc("ListTasks", `{"pageSize":101}`), want: "200 -32602 INVALID_PARAMS pageSize"},
	{name: "page beyond 64 bits", send: rpc("ListTasks", `{"pageSize":99999999999999999999}`), want: "200 -32602 INVALID_PARAMS pageSize"},
	{name: "forged token", send: rpc("ListTasks", `{"pageToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`), want: "200 -32602 INVALID_PARAMS pageToken"},
	{name: "unknown state", send: rpc("ListTasks", `{"status":"TASK_STATE_DREAMING"}`), want: "200 -32602 INVALID_PARAMS status"},
	{name: "state 99", send: rpc("ListTasks", `{"status":99}`), want: "200 -32602 INVALID_PARAMS status"},
	{name: "time", send: rpc("ListTasks", `{"statusTimestampAfter":"yesterday"}`), want: "200 -32602 INVALID_PARAMS statusTimestampAfter"},
}

// restRows are HTTP+JSON requests that no honest client sends.
var restRows = []row{
	{name: "no body", send: rest("POST", "/message:send", "", "Content-Type: application/json"), want: "400 PARSE_ERROR"},
	{name: "no content type", send: rest("POST", "/message:send", message("hi"), "Content-Type:"), want: "415 CONTENT_TYPE_NOT_SUPPORTED"},
	{name: "form", send: rest("POST", "/message:send", "a=b", "Content-Type: application/x-www-form-urlencoded"), want: "415 CONTENT_TYPE_NOT_SUPPORTED"},
	{name: "plain text cancel", send: rest("POST", "/tasks/$asked:cancel", "{}", "Content-Type: text/plain"), want: "415 CONTENT_TYPE_NOT_SUPPORTED"},
	{name: "list", send: rest("POST", "/message:send", "[]"), want: "400 INVALID_REQUEST"},
	{name: "trailing data", send: rest("POST", "/message:send", message("hi")+"{}"), want: "400 PARSE_ERROR"},
	{name: "invalid UTF-8", send: rest("POST", "/message:send", strings.Replace(message("X"), "X", "\xff", 1)), want: "400 PARSE_ERROR"},
	{name: "unknown agent", send: rest("POST", "/nobody/message:send", message("hi")), want: noTask},
	{name: "agent with NUL", send: rest("POST", "/echo%00/message:send", message("hi")), want: noTask},
	{name: "agent encoded twice", send: rest("POST", "/%2565cho/message:send", message("hi")), want: noTask},
	{name: "nowhere", send: rest("GET", "/task", ""), want: "404 METHOD_NOT_FOUND"},
	{name: "root", send: rest("GET", "/", ""), want: "404 METHOD_NOT_FOUND"},
	{name: "empty segment", send: rest("GET", "//tasks", ""), want: "404 METHOD_NOT_FOUND"},
	{name: "empty id", send: rest("GET", "/tasks/", ""), want: "404 METHOD_NOT_FOUND"},
	{name: "encoded dots", send: rest("GET", "/tasks/%2e%2e%2f%2e%2e%2fetc%2fpasswd", ""), want: noTask},
	{name: "encoded verb", send: rest("POST", "/tasks/$asked%3Acancel", ""), want: "405 METHOD_NOT_FOUND"},
	{name: "verb twice", send: rest("POST", "/tasks/$asked:cancel:cancel", ""), want: noTask},
	{name: "unknown verb", send: rest("POST", "/tasks/$asked:delete", ""), want: "405 METHOD_NOT_FOUND"},
	{name: "id not UTF-8", send: rest("GET", "/tasks/%ff%fe", ""), want: noTask},
	{name: "id of 30 KiB", send: rest("GET", "/tasks/"+strings.Repeat("x", 30<<10), ""), want: noTask},
	{name: "id in another case", send: func(w *world) *answer { return rest("GET", "/tasks/"+strings.ToUpper(w.names["$done"]), "")(w) }, want: noTask},
	{name: "cancel the end", send: rest("POST", "/tasks/$done:cancel", ""), want: "409 TASK_NOT_CANCELABLE"},
	{name: "message after the end", send: rest("POST", "/message:send", message("hi", `"taskId":"$done"`)), want: "400 UNSUPPORTED_OPERATION"},
	{name: "subscribe after the end", send: rest("POST", "/tasks/$done:subscribe", ""), want: "400 UNSUPPORTED_OPERATION"},
	{name: "put", send: rest("PUT", "/tasks/$done", "{}"), want: "405 METHOD_NOT_FOUND"},
	{name: "delete", send: rest("DELETE", "/tasks/$done", ""), want: "405 METHOD_NOT_FOUND"},
	{name: "patch", send: rest("PATCH", "/message:send", message("hi")), want: "405 METHOD_NOT_FOUND"},
	{name: "get a send", send: rest("GET", "/message:send", ""), want: "405 METHOD_NOT_FOUND"},
	{name: "options", send: rest("OPTIONS", "/message:send", ""), want: "405 METHOD_NOT_FOUND"},
	{name: "own method", send: rest("HACK", "/tasks", ""), want: "405 METHOD_NOT_FOUND"},
	{name: "override", send: rest("GET", "/message:send", "", "X-HTTP-Method-Override: POST"), want: "405 METHOD_NOT_FOUND"},
	{name: "page size", send: rest("GET", "/tasks?pageSize=0", ""), want: "400 INVALID_PARAMS pageSize"},
	{name: "page size in hex", send: rest("GET", "/tasks?pageSize=0x10", ""), want: "400 INVALID_PARAMS pageSize"},
	{name: "page size twice", send: rest("GET", "/tasks?pageSize=1&pageSize=2", ""), want: "400 INVALID_PARAMS pageSize"},
	{name: "page size in two spellings", send: rest("GET", "/tasks?pageSize=1&page_size=2", ""), want: "400 INVALID_PARAMS page_size"},
	{name: "token", send: rest("GET", "/tasks?pageToken=%00", ""), want: "400 INVALID_PARAMS pageToken"},
	{name: "state", send: rest("GET", "/tasks?status=DREAMING", ""), want: "400 INVALID_PARAMS status"},
	{name: "truth", send: rest("GET", "/tasks?includeArtifacts=maybe", ""), want: "400 INVALID_PARAMS includeArtifacts"},
	{name: "history", send: rest("GET", "/tasks/$done?historyLength=-1", ""), want: "400 INVALID_PARAMS historyLength"},
	{name: "broken escape", send: rest("GET", "/tasks?status=%zz", ""), want: "400 INVALID_PARAMS"},
}
