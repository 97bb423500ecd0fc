package hostile

import "strings"

// tasks requests alice's tasks with additional headers.
func tasks(headers ...string) send { return web("GET", "/v1/a2a/tasks", "", headers...) }

// old sends a request of HTTP/1.0.
func old(request, body string) send {
	return raw(request + " HTTP/1.0\r\nHost: 127.0.0.1\r\nX-Api-Key: $key-alice\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: $length\r\n\r\n" + body)
}

// chunks writes each byte as a chunk of its own.
func chunks(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteString("1\r\n" + s[i:i+1] + "\r\n")
	}
	return b.String()
}

// smuggled is a request in a body, which the hub must not answer as a request.
const smuggled = "GET /v1/a2a/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: $key-bob\r\n\r\n"

// headRows are heads of HTTP/1.1 that no honest client sends.
var headRows = []row{
	{name: "length and chunks", send: web("POST", "/a2a", "0\r\n\r\n", "Content-Length: 5", "Transfer-Encoding: chunked"), want: "200 -32700 PARSE_ERROR"},
	{name: "length and chunks, with a request behind", send: web("POST", "/a2a", "0\r\n\r\n"+smuggled, "Content-Length: 200", "Transfer-Encoding: chunked"), want: "200 -32700 PARSE_ERROR, then 200 ok"},
	{name: "two lengths", send: web("POST", "/a2a", "{}", "Content-Length: 2", "Content-Length: 200"), want: "400, closed"},
	{name: "two lengths in one", send: web("POST", "/a2a", "{}", "Content-Length: 2, 200"), want: "400, closed"},
	{name: "length with a sign", send: web("POST", "/a2a", "{}", "Content-Length: +2"), want: "400, closed"},
	{name: "length below zero", send: web("POST", "/a2a", "{}", "Content-Length: -2"), want: "400, closed"},
	{name: "length in hex", send: web("POST", "/a2a", "{}", "Content-Length: 0x2"), want: "400, closed"},
	{name: "length beyond 64 bits", send: web("POST", "/a2a", "{}", "Content-Length: 99999999999999999999"), want: "400, closed"},
	{name: "chunks twice", send: web("POST", "/a2a", "0\r\n\r\n", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), want: "501, closed"},
	{name: "chunks and something", send: web("POST", "/a2a", "0\r\n\r\n", "Transfer-Encoding: chunked, identity"), want: "501, closed"},
	{name: "chunks in disguise", send: web("POST", "/a2a", "0\r\n\r\n", "Transfer-Encoding: xchunked"), want: "501, closed"},
	{name: "chunks with a tab", send: web("POST", "/a2a", "0\r\n\r\n", "Transfer-Encoding:\x0bchunked"), want: "400, closed"},
	{name: "a space before the colon", send: web("POST", "/a2a", "{}", "Content-Length : 2"), want: "400, closed"},
	{name: "a folded line", send: tasks("X-Fold: a\r\n X-Api-Key: $key-bob"), want: "200 ok"},
	{name: "a line feed alone", send: raw("GET /v1/a2a/tasks HTTP/1.1\nHost: 127.0.0.1\nX-Api-Key: $key-alice\n\n"), want: "200 ok"},
	{name: "a carriage return alone", send: tasks("X-A: b\rX-Api-Key: $key-bob"), want: "400, closed"},
	{name: "NUL in a header", send: tasks("X-A: b\x00c"), want: "400, closed"},
	{name: "a header without a colon", send: tasks("X A b"), want: "400, closed"},
	{name: "two hosts", send: tasks("Host: 127.0.0.1", "Host: evil.example"), want: "400, closed"},
	{name: "no host", send: tasks("Host:"), want: "400, closed"},
	{name: "a host elsewhere", send: tasks("Host: evil.example", "X-Api-Key:"), want: "403 UNAUTHORIZED"},
	{name: "a host elsewhere, with a wrong key", send: tasks("Host: evil.example", "X-Api-Key: wrong"), want: unauthenticated},
	{name: "a host elsewhere, with a key that no page has", send: tasks("Host: evil.example"), want: "200 ok"},
	{name: "a host that is rebound", send: tasks("Host: 127.0.0.1.evil.example", "X-Api-Key:"), want: "403 UNAUTHORIZED"},
	{name: "a host with a path", send: tasks("Host: 127.0.0.1/evil"), want: "400, closed"},
	{name: "a target elsewhere", send: web("GET", "http://evil.example/v1/a2a/tasks", "", "X-Api-Key:"), want: "403 UNAUTHORIZED"},
	{name: "a target of another scheme", send: web("GET", "file:///etc/passwd", ""), want: noPath},
	{name: "a tunnel", send: web("CONNECT", "169.254.169.254:80", ""), want: noPath},
	{name: "an asterisk", send: web("OPTIONS", "*", ""), want: "200"},
	{name: "a page of another origin", send: tasks("Origin: https://evil.example"), want: "403 UNAUTHORIZED"},
	{name: "a page without an origin", send: tasks("Origin: null"), want: "403 UNAUTHORIZED"},
	{name: "two origins", send: tasks("Origin: http://127.0.0.1", "Origin: https://evil.example"), want: "403 UNAUTHORIZED"},
	{name: "a form of another origin", send: web("POST", "/a2a", call("SendMessage", message("x")), "Content-Type: text/plain"), want: "415 -32005 CONTENT_TYPE_NOT_SUPPORTED"},
	{name: "two versions", send: web("POST", "/a2a", call("ListTasks", "{}"), "A2A-Version: 1.0", "A2A-Version: 0.3"), want: "200 -32009 VERSION_NOT_SUPPORTED"},
	{name: "two versions, HTTP+JSON", send: tasks("A2A-Version: 1.0", "A2A-Version: 2.0"), want: "400 VERSION_NOT_SUPPORTED"},
	{name: "a version of 60 KiB", send: tasks("A2A-Version: " + strings.Repeat("1", 60<<10)), want: "400 VERSION_NOT_SUPPORTED"},
	{name: "two content types", send: web("POST", "/a2a", call("SendMessage", message("x")), "Content-Type: text/plain", "Content-Type: application/json"), want: "415 -32005 CONTENT_TYPE_NOT_SUPPORTED"},
	{name: "a content type with another inside", send: web("POST", "/a2a", call("SendMessage", message("x")), "Content-Type: text/plain; a=application/json"), want: "415 -32005 CONTENT_TYPE_NOT_SUPPORTED"},
	{name: "a head of 100 KiB", send: tasks("X-Long: " + strings.Repeat("x", 100<<10)), want: "431 REQUEST_TOO_LARGE, closed"},
	{name: "a head of ten thousand lines", send: tasks(strings.Split(strings.Repeat("X-A: b\n", 9999)+"X-A: b", "\n")...), want: "431 REQUEST_TOO_LARGE, closed"},
	{name: "a target of 100 KiB", send: web("GET", "/v1/a2a/tasks/"+strings.Repeat("x", 100<<10), ""), want: "431 REQUEST_TOO_LARGE, closed"},
	{name: "an upgrade to a socket", send: tasks("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="), want: "200 ok"},
	{name: "an upgrade to HTTP/2", send: tasks("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"), want: "200 ok"},
	{name: "HTTP/1.0, JSON-RPC", send: old("POST /a2a", call("ListTasks", "{}")), want: "200 ok, closed"},
	{name: "HTTP/1.0, a stream", send: old("GET /v1/a2a/tasks/$done:subscribe", ""), want: "200 ok, closed"},
	{name: "bytes as chunks, with a trailer", send: web("POST", "/a2a", chunks(call("ListTasks", "{}"))+"0\r\nX-User: eve\r\n\r\n", "Transfer-Encoding: chunked", "Trailer: X-User"), want: "200 ok"},
	{name: "a GET with a body", send: web("GET", "/v1/a2a/tasks", `{"id":1}x`), want: "200 ok"},
	{name: "a page of this machine", send: tasks("Origin: http://localhost:8080"), want: "200 ok"},
	{name: "a host that is an address of this machine", send: tasks("Host: [::1]:4100", "X-Api-Key:"), want: unauthenticated},
	{name: "HTTP/0.9", send: raw("GET /v1/a2a/tasks\r\n\r\n"), want: "400, closed"},
	{name: "HTTP/9.9", send: raw("GET / HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n"), want: "505, closed"},
	{name: "TLS", send: raw("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"), want: "400, closed"},
	{name: "another protocol", send: raw("SSH-2.0-OpenSSH_9.9\r\n\r\n"), want: "400, closed"},
	{name: "nothing but zeros", send: raw(strings.Repeat("\x00", 4096) + "\r\n\r\n"), want: "400, closed"},
	{name: "a method with a break", send: raw("GE\rT / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), want: "400, closed"},
	{name: "trailers that are credentials", send: web("POST", "/a2a", "0\r\nX-Api-Key: $key-root\r\n\r\n", "X-Api-Key:", "Transfer-Encoding: chunked", "Trailer: X-Api-Key"), want: "401 -32000 UNAUTHENTICATED"},
}
