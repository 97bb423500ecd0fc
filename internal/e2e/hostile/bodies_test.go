package hostile

import (
	"bytes"
	"compress/gzip"
	"strings"
)

// bomb returns a small body that is very large when unpacked.
func bomb() string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for range 64 {
		_, _ = z.Write(make([]byte, 1<<20))
	}
	_ = z.Close()
	return b.String()
}

// deep returns JSON that is nested n levels deep.
func deep(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }

const (
	sendRPC  = "/a2a"
	sendREST = "/v1/a2a/message:send"
)

// bodyRows are bodies that no honest client sends.
var bodyRows = []row{
	{name: "a bomb of gzip", send: web("POST", sendREST, bomb(), "Content-Encoding: gzip"), want: "415 CONTENT_TYPE_NOT_SUPPORTED"},
	{name: "a bomb of gzip, JSON-RPC", send: web("POST", sendRPC, bomb(), "Content-Encoding: gzip"), want: "415 -32005 CONTENT_TYPE_NOT_SUPPORTED"},
	{name: "larger than allowed", send: web("POST", sendREST, message(strings.Repeat("x", 70<<10))), want: "413 REQUEST_TOO_LARGE"},
	{name: "larger than allowed, JSON-RPC", send: web("POST", sendRPC, call("SendMessage", message(strings.Repeat("x", 70<<10)))), want: "413 -32600 REQUEST_TOO_LARGE"},
	{name: "larger than it says", send: web("POST", sendREST, message("x"), "Content-Length: 999999999999"), want: "413 REQUEST_TOO_LARGE, closed"},
	{name: "chunks without an end", send: web("POST", sendREST, strings.Repeat("400\r\n"+strings.Repeat(" ", 0x400)+"\r\n", 100)+"0\r\n\r\n", "Transfer-Encoding: chunked"), want: "413 REQUEST_TOO_LARGE"},
	{name: "a chunk of 2^64", send: web("POST", sendREST, "ffffffffffffffffff\r\n", "Transfer-Encoding: chunked"), want: "400 PARSE_ERROR, closed"},
	{name: "a chunk below zero", send: web("POST", sendREST, "-1\r\n", "Transfer-Encoding: chunked"), want: "400 PARSE_ERROR, closed"},
	{name: "a chunk with much to say", send: web("POST", sendREST, "1;"+strings.Repeat("x", 20<<10)+"\r\n{\r\n", "Transfer-Encoding: chunked"), want: "400 PARSE_ERROR, closed"},
	{name: "nested 60,000 deep", send: web("POST", sendREST, strings.Repeat("[", 60_000)), want: "400 PARSE_ERROR"},
	{name: "nested below the message", send: web("POST", sendREST, message("x", `"metadata":`+deep(200))), want: "400 PARSE_ERROR"},
	{name: "a batch", send: web("POST", sendRPC, "["+call("ListTasks", "{}")+","+call("ListTasks", "{}")+"]"), want: "200 -32600 INVALID_REQUEST"},
	{name: "an empty batch", send: web("POST", sendRPC, "[]"), want: "200 -32600 INVALID_REQUEST"},
	{name: "a batch of ten thousand", send: web("POST", sendRPC, "["+strings.Repeat("1,", 10_000)+"1]"), want: "200 -32600 INVALID_REQUEST"},
	{name: "two methods", send: web("POST", sendRPC, `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{},"method":"CancelTask"}`), want: "200 -32600 INVALID_REQUEST method"},
	{name: "two ids of a call", send: web("POST", sendRPC, `{"jsonrpc":"2.0","id":1,"id":2,"method":"ListTasks","params":{}}`), want: "200 -32600 INVALID_REQUEST id"},
	{name: "two params", send: web("POST", sendRPC, `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"$asked"},"params":{"id":"$foreign"}}`), want: "200 -32600 INVALID_REQUEST params"},
	{name: "a method by an escape", send: web("POST", sendRPC, `{"jsonrpc":"2.0","id":1,"method":"ListTasks","m\u0065thod":"CancelTask","params":{}}`), want: "200 -32600 INVALID_REQUEST method"},
	{name: "two tasks", send: rpc("GetTask", `{"id":"$asked","id":"$foreign"}`), want: "200 -32602 INVALID_PARAMS id"},
	{name: "two tasks by an escape", send: rpc("CancelTask", `{"id":"$asked","\u0069d":"$second"}`), want: "200 -32602 INVALID_PARAMS id"},
	{name: "two tenants", send: rpc("SendMessage", `{"tenant":"tally","tenant":"echo",`+message("x")[1:]), want: "200 -32602 INVALID_PARAMS tenant"},
	{name: "two spellings of a tenant", send: rpc("SendMessage", `{"tenant":"tally","agentId":"echo",`+message("x")[1:]), want: "200 -32602 INVALID_PARAMS agentId"},
	{name: "two task ids of a message", send: web("POST", sendREST, message("x", `"taskId":"$asked"`, `"taskId":"$done"`)), want: "400 INVALID_PARAMS message.taskId"},
	{name: "two spellings of a task id", send: web("POST", sendREST, message("x", `"taskId":"$asked"`, `"task_id":"$done"`)), want: "400 INVALID_PARAMS message.task_id"},
	{name: "two contexts", send: web("POST", sendREST, message("x", `"contextId":"a"`, `"contextId":"b"`)), want: "400 INVALID_PARAMS message.contextId"},
	{name: "two roles", send: web("POST", sendREST, message("x", `"role":"ROLE_AGENT"`)), want: "400 INVALID_PARAMS message.role"},
	{name: "two messages", send: web("POST", sendREST, strings.TrimSuffix(message("x"), "}")+","+message("y")[1:]), want: "400 INVALID_PARAMS message"},
	{name: "two urls of a webhook", send: web("POST", "/v1/a2a/tasks/$asked/pushNotificationConfigs", `{"url":"https://example.org","url":"https://evil.example"}`), want: "400 INVALID_PARAMS url"},
	{name: "two skills", send: web("POST", sendREST, message("x", `"metadata":{"skill":"tally","skill":"echo"}`)), want: "400 INVALID_PARAMS message.metadata.skill"},
	{name: "a byte order mark", send: web("POST", sendREST, "\ufeff"+message("x")), want: "400 PARSE_ERROR"},
	{name: "UTF-16", send: web("POST", sendREST, "\xfe\xff\x00{\x00}"), want: "400 PARSE_ERROR"},
	{name: "invalid UTF-8", send: web("POST", sendREST, message("\xc3\x28")), want: "400 PARSE_ERROR"},
	{name: "an overlong slash", send: web("POST", sendREST, message("..\xc0\xaf..")), want: "400 PARSE_ERROR"},
	{name: "a surrogate in UTF-8", send: web("POST", sendREST, message("\xed\xa0\x80")), want: "400 PARSE_ERROR"},
	{name: "a lone surrogate", send: web("POST", sendREST, message(`\ud800`)), want: "400 PARSE_ERROR"},
	{name: "a lone surrogate as a name", send: web("POST", sendREST, message("x", `"metadata":{"\udfff":1}`)), want: "400 PARSE_ERROR"},
	{name: "NUL between", send: web("POST", sendREST, "\x00"+message("x")), want: "400 PARSE_ERROR"},
	{name: "NUL in a task id", send: rpc("GetTask", `{"id":"$asked\u0000"}`), want: "200 -32001 TASK_NOT_FOUND"},
	{name: "a number of 60,000 digits", send: rpc("ListTasks", `{"pageSize":`+strings.Repeat("9", 60_000)+`}`), want: "200 -32602 INVALID_PARAMS pageSize"},
	{name: "a number with a huge exponent", send: rpc("ListTasks", `{"pageSize":1e999999999}`), want: "200 -32602 INVALID_PARAMS pageSize"},
	{name: "a number as task", send: rpc("GetTask", `{"id":{"$ne":null}}`), want: "200 -32602 INVALID_PARAMS id"},
	{name: "a prototype", send: rpc("GetTask", `{"__proto__":{"id":"$asked"}}`), want: "200 -32602 INVALID_PARAMS id"},
	{name: "entities", send: web("POST", sendREST, `<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>`, "Content-Type: application/xml"), want: "415 CONTENT_TYPE_NOT_SUPPORTED"},
	{name: "a form", send: web("POST", sendREST, "message=x", "Content-Type: application/x-www-form-urlencoded"), want: "415 CONTENT_TYPE_NOT_SUPPORTED"},
	{name: "parts of a form", send: web("POST", sendREST, "--a\r\nContent-Disposition: form-data; name=message\r\n\r\nx\r\n--a--", "Content-Type: multipart/form-data; boundary=a"), want: "415 CONTENT_TYPE_NOT_SUPPORTED"},
}
