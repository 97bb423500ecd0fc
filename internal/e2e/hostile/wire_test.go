package hostile

import "strings"

const (
	post   = "POST /v1/a2a/message:send HTTP/1.1\r\n"
	local  = "Host: localhost\r\n"
	typed  = "Content-Type: application/json\r\n"
	alices = "X-Api-Key: $key-alice\r\n"
)

// wireRows are bytes that no client sends, and requests that a web page makes, without a key.
var wireRows = []row{
	{name: "empty host", send: whole("GET /v1/a2a/tasks HTTP/1.1\r\nHost:\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "rebound host with port", send: whole("GET /v1/a2a/tasks HTTP/1.1\r\nHost: evil.example:4100\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "host that begins well", send: whole("GET /v1/a2a/tasks HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "host that ends well", send: whole("GET /v1/a2a/tasks HTTP/1.1\r\nHost: evil.example.localhost.\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "host of nip.io", send: whole("GET /v1/a2a/tasks HTTP/1.1\r\nHost: 127.0.0.1.nip.io\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "private host", send: whole("GET /v1/a2a/tasks HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "any address", send: whole("GET /v1/a2a/tasks HTTP/1.1\r\nHost: 0.0.0.0\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "card for a rebound host", send: whole("GET /.well-known/agent-card.json HTTP/1.1\r\nHost: evil.example\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "health for a rebound host", send: whole("GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n"), want: "200 ok, closed"},
	{name: "odd origin", send: whole(post + local + typed + "Origin: http://localhost@evil.example\r\nContent-Length: 2\r\n\r\n{}"), want: "403 UNAUTHORIZED, closed"},
	{name: "foreign origin on a stream", send: whole("GET /v1/a2a/tasks/x:subscribe HTTP/1.1\r\n" + local + "Origin: https://evil.example\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "old protocol without host", send: whole("GET /healthz HTTP/1.0\r\n\r\n"), want: "200 ok, closed"},
	{name: "folded header", send: whole("GET /healthz HTTP/1.1\r\n" + local + " X: y\r\n\r\n"), want: "400, closed"},
	{name: "header without end", send: whole("GET /healthz HTTP/1.1\r\n" + local + "X: " + strings.Repeat("x", 300<<10) + "\r\n\r\n"), want: "431, closed"},
	{name: "huge chunk", send: whole(post + local + alices + typed + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}"), want: "400 PARSE_ERROR, closed"},
	{name: "connect", send: whole("CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "trace", send: whole("TRACE /a2a HTTP/1.1\r\n" + local + "\r\n"), want: "405 -32601 METHOD_NOT_FOUND, closed"},
	{name: "expectation", send: whole(post + local + typed + "Expect: 200-maybe\r\nContent-Length: 2\r\n\r\n{}"), want: "417, closed"},
	{name: "body that is broken off", send: whole(post + local + alices + typed + "Content-Length: 100\r\n\r\n{"), want: "400 PARSE_ERROR, closed"},
}
