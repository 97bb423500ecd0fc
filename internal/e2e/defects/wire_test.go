package defects

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// wireInput is bytes that no client would send.
type wireInput struct {
	name string
	send string
	// code is the status of the answer; zero means that the connection ends without
	// one.
	code int
}

const (
	post  = "POST /v1/a2a/message:send HTTP/1.1\r\n"
	local = "Host: localhost\r\n"
	typed = "Content-Type: application/json\r\n"
)

// wireInputs go to a hub without authenticator, which is guarded against browsers.
var wireInputs = []wireInput{
	{"garbage", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400},
	{"no host", "GET /v1/a2a/tasks HTTP/1.1\r\n\r\n", 400},
	{"two hosts", "GET /v1/a2a/tasks HTTP/1.1\r\n" + local + "Host: evil.example\r\n\r\n", 400},
	{"empty host", "GET /v1/a2a/tasks HTTP/1.1\r\nHost:\r\n\r\n", 403},
	{"rebound host", "GET /v1/a2a/tasks HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403},
	{"rebound host with port", "GET /v1/a2a/tasks HTTP/1.1\r\nHost: evil.example:4100\r\n\r\n", 403},
	{"host that begins well", "GET /v1/a2a/tasks HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n", 403},
	{"host that ends well", "GET /v1/a2a/tasks HTTP/1.1\r\nHost: evil.example.localhost.\r\n\r\n", 403},
	{"host of nip.io", "GET /v1/a2a/tasks HTTP/1.1\r\nHost: 127.0.0.1.nip.io\r\n\r\n", 403},
	{"private host", "GET /v1/a2a/tasks HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n", 403},
	{"any address", "GET /v1/a2a/tasks HTTP/1.1\r\nHost: 0.0.0.0\r\n\r\n", 403},
	{"host in the target", "GET http://evil.example/v1/a2a/tasks HTTP/1.1\r\n" + local + "\r\n", 403},
	{"card for a rebound host", "GET /.well-known/agent-card.json HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403},
	{"health for a rebound host", "GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403},
	{"foreign origin", post + local + typed + "Origin: https://evil.example\r\nContent-Length: 2\r\n\r\n{}", 403},
	{"null origin", post + local + typed + "Origin: null\r\nContent-Length: 2\r\n\r\n{}", 403},
	{"odd origin", post + local + typed + "Origin: http://localhost@evil.example\r\nContent-Length: 2\r\n\r\n{}", 403},
	{"two origins", post + local + typed + "Origin: http://localhost\r\nOrigin: http://evil.example\r\nContent-Length: 2\r\n\r\n{}", 403},
	{"foreign origin on a stream", "GET /v1/a2a/tasks/x:subscribe HTTP/1.1\r\n" + local + "Origin: https://evil.example\r\n\r\n", 403},
	{"old protocol without host", "GET /healthz HTTP/1.0\r\n\r\n", 403},
	{"unknown protocol", "GET / HTTP/3.7\r\n" + local + "\r\n", 505},
	{"space in a name", "GET /healthz HTTP/1.1\r\n" + local + "X-User : ann\r\n\r\n", 400},
	{"folded header", "GET /healthz HTTP/1.1\r\n" + local + " X: y\r\n\r\n", 0},
	{"NUL in a header", "GET /healthz HTTP/1.1\r\n" + local + "X-User: a\x00b\r\n\r\n", 400},
	{"header without end", "GET /healthz HTTP/1.1\r\n" + local + "X: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", 431},
	{"negative length", post + local + typed + "Content-Length: -1\r\n\r\n", 400},
	{"two lengths", post + local + typed + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400},
	{"length of a planet", post + local + typed + "Content-Length: 99999999999999999999\r\n\r\n", 400},
	{"length beyond the limit", post + local + typed + "Content-Length: 10485761\r\n\r\n", 413},
	{"unknown coding", post + local + typed + "Transfer-Encoding: rot13\r\n\r\n", 501},
	{"broken chunk", post + local + typed + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
	{"huge chunk", post + local + typed + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}", 0},
	{"broken escape in the path", "GET /v1/a2a/tasks/%zz HTTP/1.1\r\n" + local + "\r\n", 400},
	{"connect", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", 403},
	{"trace", "TRACE /a2a HTTP/1.1\r\n" + local + "\r\n", 405},
	{"expectation", post + local + typed + "Expect: 200-maybe\r\nContent-Length: 2\r\n\r\n{}", 417},
	{"body that is broken off", post + local + typed + "Content-Length: 100\r\n\r\n{", 400},
}

// What comes over the wire against the rules, or from a web page, gets an error, and
// the hub goes on.
func TestHostileWire(t *testing.T) {
	t.Parallel()
	h := start(t, options{open: true})
	for _, c := range wireInputs {
		t.Run(c.name, func(t *testing.T) {
			conn := h.dial(0)
			conn.send("%s", c.send)
			if err := conn.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			code, body := conn.only(t)
			if c.code != 0 && code != c.code {
				t.Errorf("answer %d %.300s, want %d", code, body, c.code)
			}
			if c.code == 0 && code < 400 && code != 0 {
				t.Errorf("answer %d %.300s, want an error or none", code, body)
			}
			discreet(t, body)
		})
	}
	if n := h.store.appends.Load(); n != 0 {
		t.Errorf("%d changes were stored, want none", n)
	}
	h.alive("")
}

// only reads the one answer of a connection; code 0 means that there is none.
func (c *raw) only(t *testing.T) (code int, body string) {
	t.Helper()
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the connection hangs")
	}
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the answer hangs")
	}
	return resp.StatusCode, string(b)
}

// Whatever is legal on the wire is served, however unusual.
func TestUnusualWire(t *testing.T) {
	t.Parallel()
	h := start(t, options{open: true})
	body := say("hi")
	chunked := "Transfer-Encoding: chunked\r\n\r\n"
	for _, c := range []struct{ name, send, want string }{
		{"old protocol", "POST /v1/a2a/message:send HTTP/1.0\r\n" + local + typed + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body, `"TASK_STATE_COMPLETED"`},
		{"stream over the old protocol", "POST /v1/a2a/message:stream HTTP/1.0\r\n" + local + typed + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body, `"TASK_STATE_COMPLETED"`},
		{"bytes as chunks", post + local + typed + "Connection: close\r\n" + chunked + chunks(body) + "0\r\n\r\n", `"TASK_STATE_COMPLETED"`},
		{"trailer", post + local + typed + "Connection: close\r\nTrailer: X-User\r\n" + chunked + chunks(body) + "0\r\nX-User: eve\r\n\r\n", `"TASK_STATE_COMPLETED"`},
		{"get with a body", "GET /v1/a2a/tasks HTTP/1.1\r\n" + local + "Connection: close\r\nContent-Length: 9\r\n\r\n{\"id\":1}x", `"totalSize"`},
		{"own origin", "GET /v1/a2a/tasks HTTP/1.1\r\n" + local + "Origin: http://localhost:8080\r\nConnection: close\r\n\r\n", `"totalSize"`},
		{"address as host", "GET /v1/a2a/tasks HTTP/1.1\r\nHost: [::1]:4100\r\nConnection: close\r\n\r\n", `"totalSize"`},
		{"upgrade to HTTP/2", "GET /v1/a2a/tasks HTTP/1.1\r\n" + local + "Connection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n", `"totalSize"`},
		{"head of a card", "HEAD /.well-known/agent-card.json HTTP/1.1\r\n" + local + "Connection: close\r\n\r\n", ""},
	} {
		conn := h.dial(0)
		conn.send("%s", c.send)
		b, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(b), "HTTP/1.") || !strings.Contains(string(b), " 200 OK\r\n") || !strings.Contains(string(b), c.want) {
			t.Errorf("%s: %s, %v; want 200 with %s", c.name, b, err, c.want)
		}
	}
}

// chunks writes each byte as a chunk of its own.
func chunks(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteString("1\r\n" + s[i:i+1] + "\r\n")
	}
	return b.String()
}

// Whoever sends too slowly is cut off: the head of a request, a body of known length
// and one that never ends.
func TestSlowSenders(t *testing.T) {
	t.Parallel()
	h := start(t, options{
		open: true, headerTime: 500 * time.Millisecond,
		limits: &httpfront.Limits{BodyTime: 500 * time.Millisecond, WriteTime: time.Second},
	})
	for _, c := range []struct {
		name, first, then string
		code              int
	}{
		{"head", "GET /healthz HTTP/1.1\r\n", "X: y\r\n", 0},
		{"first line", "G", "E", 0},
		{"body", post + local + typed + "Content-Length: 10000\r\n\r\n", " ", 408},
		{"endless chunks", post + local + typed + "Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", 408},
		{"body of a get", "GET /v1/a2a/tasks/x HTTP/1.1\r\n" + local + "Content-Length: 10000\r\n\r\n", " ", 404},
		{"body of a stranger", "POST /nowhere HTTP/1.1\r\n" + local + "Content-Length: 10000\r\n\r\n", " ", 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn := h.dial(0)
			conn.send("%s", c.first)
			done := make(chan struct{})
			go func() {
				defer close(done)
				tick := time.NewTicker(20 * time.Millisecond)
				defer tick.Stop()
				for range tick.C {
					if _, err := io.WriteString(conn, c.then); err != nil {
						return
					}
				}
			}()
			began := time.Now()
			if code, body := conn.only(t); c.code != 0 && code != c.code {
				t.Errorf("answer %d %s, want %d", code, body, c.code)
			}
			<-done // the hub has closed the connection
			if took := time.Since(began); took > patience/2 {
				t.Errorf("the connection lived for %v", took)
			}
		})
	}
}

// HTTP/2 without TLS has the same guards, sizes and deadlines; one stream that is not
// read does not stop the others of its connection.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	h := start(t, options{})
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: &p}
	t.Cleanup(tr.CloseIdleConnections)
	h.client = &http.Client{Transport: tr, Timeout: patience}
	resp := h.stream(t.Context(), call{"ann", "POST", "/flood/message:stream", say("640"), nil})
	if resp.ProtoMajor != 2 {
		t.Fatalf("answer over %s, want HTTP/2", resp.Proto)
	}
	h.alive("ann")
	wantFault(t, restNotFound, faultOf(t, h.rest("ann", "GET", "/tasks/nope", "")))
	wantFault(t, fault{413, 413, "REQUEST_TOO_LARGE", ""},
		faultOf(t, h.rest("ann", "POST", "/message:send", say(strings.Repeat("x", 10<<20)))))
	gapless(t, 0, h.read(resp.Body).rest())
}
