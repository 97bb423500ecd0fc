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
	{name: "garbage", send: whole("\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"), want: "400, closed"},
	{name: "no host", send: whole("GET /v1/a2a/tasks HTTP/1.1\r\n\r\n"), want: "400, closed"},
	{name: "two hosts", send: whole("GET /v1/a2a/tasks HTTP/1.1\r\n" + local + "Host: evil.example\r\n\r\n"), want: "400, closed"},
	{name: "empty host", send: whole("GET /v1/a2a/tasks HTTP/1.1\r\nHost:\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "rebound host", send: whole("GET /v1/a2a/tasks HTTP/1.1\r\nHost: evil.example\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "rebound host with port", send: whole("GET /v1/a2a/tasks HTTP/1.1\r\nHost: evil.example:4100\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "host that begins well", send: whole("GET /v1/a2a/tasks HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "host that ends well", send: whole("GET /v1/a2a/tasks HTTP/1.1\r\nHost: evil.example.localhost.\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "host of nip.io", send: whole("GET /v1/a2a/tasks HTTP/1.1\r\nHost: 127.0.0.1.nip.io\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "private host", send: whole("GET /v1/a2a/tasks HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "any address", send: whole("GET /v1/a2a/tasks HTTP/1.1\r\nHost: 0.0.0.0\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "host in the target", send: whole("GET http://evil.example/v1/a2a/tasks HTTP/1.1\r\n" + local + "\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "card for a rebound host", send: whole("GET /.well-known/agent-card.json HTTP/1.1\r\nHost: evil.example\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "health for a rebound host", send: whole("GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n"), want: "200 ok, closed"},
	{name: "foreign origin", send: whole(post + local + typed + "Origin: https://evil.example\r\nContent-Length: 2\r\n\r\n{}"), want: "403 UNAUTHORIZED, closed"},
	{name: "null origin", send: whole(post + local + typed + "Origin: null\r\nContent-Length: 2\r\n\r\n{}"), want: "403 UNAUTHORIZED, closed"},
	{name: "odd origin", send: whole(post + local + typed + "Origin: http://localhost@evil.example\r\nContent-Length: 2\r\n\r\n{}"), want: "403 UNAUTHORIZED, closed"},
	{name: "two origins", send: whole(post + local + typed + "Origin: http://localhost\r\nOrigin: http://evil.example\r\nContent-Length: 2\r\n\r\n{}"), want: "403 UNAUTHORIZED, closed"},
	{name: "foreign origin on a stream", send: whole("GET /v1/a2a/tasks/x:subscribe HTTP/1.1\r\n" + local + "Origin: https://evil.example\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "old protocol without host", send: whole("GET /healthz HTTP/1.0\r\n\r\n"), want: "200 ok, closed"},
	{name: "unknown protocol", send: whole("GET / HTTP/3.7\r\n" + local + "\r\n"), want: "505, closed"},
	{name: "space in a name", send: whole("GET /healthz HTTP/1.1\r\n" + local + "X-User : ann\r\n\r\n"), want: "400, closed"},
	{name: "folded header", send: whole("GET /healthz HTTP/1.1\r\n" + local + " X: y\r\n\r\n"), want: "400, closed"},
	{name: "NUL in a header", send: whole("GET /healthz HTTP/1.1\r\n" + local + "X-User: a\x00b\r\n\r\n"), want: "400, closed"},
	{name: "header without end", send: whole("GET /healthz HTTP/1.1\r\n" + local + "X: " + strings.Repeat("x", 300<<10) + "\r\n\r\n"), want: "431, closed"},
	{name: "negative length", send: whole(post + local + typed + "Content-Length: -1\r\n\r\n"), want: "400, closed"},
	{name: "two lengths", send: whole(post + local + typed + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), want: "400, closed"},
	{name: "length of a planet", send: whole(post + local + typed + "Content-Length: 99999999999999999999\r\n\r\n"), want: "400, closed"},
	{name: "length beyond the limit", send: whole(post + local + alices + typed + "Content-Length: 10485761\r\n\r\n"), want: "413 REQUEST_TOO_LARGE, closed"},
	{name: "unknown coding", send: whole(post + local + typed + "Transfer-Encoding: rot13\r\n\r\n"), want: "501, closed"},
	{name: "broken chunk", send: whole(post + local + alices + typed + "Transfer-Encoding: chunked\r\n\r\nzz\r\n"), want: "400 PARSE_ERROR, closed"},
	{name: "huge chunk", send: whole(post + local + alices + typed + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}"), want: "400 PARSE_ERROR, closed"},
	{name: "broken escape in the path", send: whole("GET /v1/a2a/tasks/%zz HTTP/1.1\r\n" + local + "\r\n"), want: "400, closed"},
	{name: "connect", send: whole("CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n"), want: "403 UNAUTHORIZED, closed"},
	{name: "trace", send: whole("TRACE /a2a HTTP/1.1\r\n" + local + "\r\n"), want: "405 -32601 METHOD_NOT_FOUND, closed"},
	{name: "expectation", send: whole(post + local + typed + "Expect: 200-maybe\r\nContent-Length: 2\r\n\r\n{}"), want: "417, closed"},
	{name: "body that is broken off", send: whole(post + local + alices + typed + "Content-Length: 100\r\n\r\n{"), want: "400 PARSE_ERROR, closed"},
}
