package stalled

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

	"github.com/parley-a2a/parley/internal/limits"
)

const (
	post  = "POST /v1/a2a/message:send HTTP/1.1\r\n"
	local = "Host: localhost\r\n"
	typed = "Content-Type: application/json\r\n"
)

// A hub without authenticator is guarded against browsers, too, except for its probes. Package
// hostile tests other violations of HTTP.
func TestHostileWire(t *testing.T) {
	t.Parallel()
	h := start(t, options{open: true})
	for _, send := range []string{
		"GET /v1/a2a/tasks HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		"GET /v1/a2a/tasks HTTP/1.1\r\nHost: 127.0.0.1.nip.io\r\n\r\n",
		"GET http://evil.example/v1/a2a/tasks HTTP/1.1\r\n" + local + "\r\n",
		"GET /.well-known/agent-card.json HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		post + local + typed + "Origin: https://evil.example\r\nContent-Length: 2\r\n\r\n{}",
		post + local + typed + "Origin: null\r\nContent-Length: 2\r\n\r\n{}",
		"GET /v1/a2a/tasks/x:subscribe HTTP/1.1\r\n" + local + "Origin: https://evil.example\r\n\r\n",
		"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
	} {
		conn := h.dial(0)
		conn.send("%s", send)
		if code, body := conn.only(t); code != http.StatusForbidden {
			t.Errorf("%q: answer %d %.300s, want 403", send, code, body)
		} else {
			discreet(t, body)
		}
	}
	probe := h.dial(0)
	probe.send("GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n")
	if code, body := probe.only(t); code != http.StatusOK || body != `{"status":"ok"}` {
		t.Errorf("/healthz: answer %d %.300s, want 200 and the status alone", code, body)
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

// Every legal request is served, however unusual.
func TestUnusualWire(t *testing.T) {
	t.Parallel()
	h := start(t, options{open: true})
	body := sendParams("hi")
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

// A client that sends too slowly is disconnected: in the head of a request, in a body of known
// length and in an endless body.
func TestSlowSenders(t *testing.T) {
	t.Parallel()
	const short = 500 * time.Millisecond
	// Each hub has one short limit, so that a head is never late by accident.
	heads := start(t, options{
		open: true, headerTime: short, limits: &limits.Limits{BodyTime: time.Hour, WriteTime: time.Hour},
	})
	bodies := start(t, options{
		open: true, headerTime: time.Hour, limits: &limits.Limits{BodyTime: short, WriteTime: time.Hour},
	})
	for _, c := range []struct {
		name, first, then string
		head              bool
		code              int
	}{
		{"head", "GET /healthz HTTP/1.1\r\n", "X: y\r\n", true, 0},
		{"first line", "G", "E", true, 0},
		{"body", post + local + typed + "Content-Length: 10000\r\n\r\n", " ", false, 408},
		{"endless chunks", post + local + typed + "Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", false, 408},
		{"body of a get", "GET /v1/a2a/tasks/x HTTP/1.1\r\n" + local + "Content-Length: 10000\r\n\r\n", " ", false, 404},
		{"body of a stranger", "POST /nowhere HTTP/1.1\r\n" + local + "Content-Length: 10000\r\n\r\n", " ", false, 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := bodies
			if c.head {
				h = heads
			}
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
			if code, body := conn.only(t); c.code != 0 && code != c.code {
				t.Errorf("answer %d %s, want %d", code, body, c.code)
			}
			<-done // the hub has closed the connection, or its deadline has expired
			if code, _ := conn.only(t); code != 0 {
				t.Errorf("a second answer %d, want a closed connection", code)
			}
		})
	}
}

// HTTP/2 without TLS has the same guards, sizes and deadlines. A stream whose client does not
// read does not stop the others of its connection.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	h := start(t, options{})
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: &p}
	t.Cleanup(tr.CloseIdleConnections)
	h.client = &http.Client{Transport: tr, Timeout: patience}
	resp := h.stream(t.Context(), call{"ann", "POST", "/flood/message:stream", sendParams("640"), nil})
	if resp.ProtoMajor != 2 {
		t.Fatalf("answer over %s, want HTTP/2", resp.Proto)
	}
	h.alive("ann")
	wantFault(t, restNotFound, faultOf(t, h.rest("ann", "GET", "/tasks/nope", "")))
	wantFault(t, fault{413, 413, "REQUEST_TOO_LARGE", ""},
		faultOf(t, h.rest("ann", "POST", "/message:send", sendParams(strings.Repeat("x", 10<<20)))))
	gapless(t, 0, h.read(resp.Body).rest())
}
