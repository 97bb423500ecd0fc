package httpfront_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// bubble runs f in a synctest bubble, with a front that is served in memory.
func bubble(t *testing.T, cfg httpfront.Config, f func(t *testing.T, dial func() *rawConn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if cfg.Engine == nil {
			cfg.Engine = startEngine(t, everyone()...)
		}
		p, stop := servePipes(t, cfg)
		defer stop()
		f(t, func() *rawConn {
			c := p.dial(t)
			return &rawConn{Conn: c, t: t, r: bufio.NewReader(c)}
		})
	})
}

// rawConn is a client that writes arbitrary bytes.
type rawConn struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

// send writes s, without waiting until it is read.
func (c *rawConn) send(s string) {
	go c.Write([]byte(s)) // ends when it is read or the connection is closed
}

// post writes a whole request.
func (c *rawConn) post(path, body string, headers ...string) {
	c.send(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s",
		path, len(body), lines(headers), body))
}

func (c *rawConn) get(path string, headers ...string) {
	c.send(fmt.Sprintf("GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path, lines(headers)))
}

// pause lets time pass; it runs in a bubble.
func (c *rawConn) pause(d time.Duration) {
	c.t.Helper()
	time.Sleep(d)
	synctest.Wait()
}

func lines(headers []string) string {
	var b strings.Builder
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	return b.String()
}

// response reads the head of an answer.
func (c *rawConn) response() *http.Response {
	c.t.Helper()
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		c.t.Fatalf("read answer: %v", err)
	}
	return resp
}

// whole reads an answer to its end.
func (c *rawConn) whole() (int, string) {
	c.t.Helper()
	resp := c.response()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("read answer: %v", err)
	}
	return resp.StatusCode, string(b)
}

// closed reports whether the server has closed the connection.
func (c *rawConn) closed() bool {
	_, err := c.r.ReadByte()
	return err != nil
}

func TestSlowBody(t *testing.T) {
	t.Parallel()
	bubble(t, httpfront.Config{}, func(t *testing.T, dial func() *rawConn) {
		began := time.Now()
		c := dial()
		c.send("POST /v1/a2a/message:send HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
		code, body := c.whole()
		if took := time.Since(began); code != 408 || took != 30*time.Second || !strings.Contains(body, "too long") {
			t.Errorf("slow body = %d %s after %v, want 408 after 30 s", code, body, took)
		}
		if !c.closed() {
			t.Error("the connection is still open")
		}
	})
}

// TestSlowBodyOfRefusedRequest checks that a refused request does not get more time for its
// body than an accepted one.
func TestSlowBodyOfRefusedRequest(t *testing.T) {
	t.Parallel()
	bubble(t, httpfront.Config{Auth: byKey()}, func(t *testing.T, dial func() *rawConn) {
		began := time.Now()
		c := dial()
		c.send("POST /a2a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
		if code, body := c.whole(); code != 401 || !c.closed() || time.Since(began) != 30*time.Second {
			t.Errorf("answer = %d %s, over after %v; want 401 and no connection after 30 s", code, body, time.Since(began))
		}
	})
}

// TestBodyTimeIsNotRequestTime checks that the limit on the body's time does not end the rest
// of the request.
func TestBodyTimeIsNotRequestTime(t *testing.T) {
	t.Parallel()
	words := make(chan string)
	e := func(t *testing.T) httpfront.Config {
		return httpfront.Config{Engine: startEngine(t, newAgent("gated", gated(words)))}
	}
	synctest.Test(t, func(t *testing.T) {
		words = make(chan string)
		p, stop := servePipes(t, e(t))
		defer stop()
		conn := p.dial(t)
		c := &rawConn{Conn: conn, t: t, r: bufio.NewReader(conn)}
		c.post("/v1/a2a/message:send", message("hi"))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		close(words)
		if code, body := c.whole(); code != 200 || !strings.Contains(body, "TASK_STATE_COMPLETED") {
			t.Errorf("answer = %d %s, want the completed task", code, body)
		}
	})
}

func TestLargeBody(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{Limits: limits.Limits{Body: 1000}}, everyone()...)
	fits := message(strings.Repeat("x", 1000-len(message(""))))
	for _, tt := range []struct {
		name string
		body io.Reader
		want int
	}{
		{"fits", strings.NewReader(fits), 200},
		{"declared", strings.NewReader(fits + " "), 413},
		// A reader of unknown length is sent in chunks.
		{"fits in chunks", io.MultiReader(strings.NewReader(fits)), 200},
		{"too large in chunks", io.MultiReader(strings.NewReader(fits), strings.NewReader(" ")), 413},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", h.url+"/v1/a2a/message:send", tt.body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := h.client.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != tt.want {
			t.Errorf("%s: %d %s, %v; want %d", tt.name, resp.StatusCode, b, err, tt.want)
		}
		if tt.want == 413 && !bytes.Contains(b, []byte("REQUEST_TOO_LARGE")) {
			t.Errorf("%s: %s", tt.name, b)
		}
	}
	got := h.do("POST", "/a2a", fits+" ", v1)
	if reason, f := got.failure(t); got.code != 413 || reason != "REQUEST_TOO_LARGE" || f.Error.Code != -32600 {
		t.Errorf("JSON-RPC = %d %s, want 413 with code -32600", got.code, got.body)
	}
}

func TestBrokenBody(t *testing.T) {
	t.Parallel()
	bubble(t, httpfront.Config{}, func(t *testing.T, dial func() *rawConn) {
		c := dial()
		c.send("POST /v1/a2a/message:send HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
		if code, body := c.whole(); code != 400 || !strings.Contains(body, "PARSE_ERROR") {
			t.Errorf("broken chunk = %d %s, want 400 PARSE_ERROR", code, body)
		}
	})
}

func TestPipelinedRequests(t *testing.T) {
	t.Parallel()
	bubble(t, httpfront.Config{}, func(t *testing.T, dial func() *rawConn) {
		c := dial()
		one, two := rpc("GetTask", `{"id":"one"}`), `{"jsonrpc":"2.0","id":"two","method":"ListTasks"}`
		head := "POST /a2a HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
		c.send(fmt.Sprintf(head, len(one), one) + fmt.Sprintf(head, len(two), two) + "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		for _, want := range []string{`"code":-32001`, `"id":"two","result"`, `"status":"ok"`} {
			if code, body := c.whole(); code != 200 || !strings.Contains(body, want) {
				t.Errorf("answer = %d %s, want %s in it", code, body, want)
			}
		}
	})
}

// TestExpectContinue checks that a caller may ask before it sends a body, also on a connection
// whose last write is longer ago than the write limit.
func TestExpectContinue(t *testing.T) {
	t.Parallel()
	bubble(t, httpfront.Config{}, func(t *testing.T, dial func() *rawConn) {
		c := dial()
		body := message("hi")
		for range 2 {
			c.send(fmt.Sprintf("POST /v1/a2a/message:send HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body)))
			if resp := c.response(); resp.StatusCode != 100 {
				t.Fatalf("interim answer = %d, want 100", resp.StatusCode)
			}
			c.send(body)
			if code, b := c.whole(); code != 200 {
				t.Fatalf("answer = %d %s, want 200", code, b)
			}
			c.pause(time.Minute)
		}
	})
}

// TestStalledAnswer checks that a caller that does not read its answer is disconnected like the
// reader of a stream.
func TestStalledAnswer(t *testing.T) {
	t.Parallel()
	bubble(t, httpfront.Config{}, func(t *testing.T, dial func() *rawConn) {
		c := dial()
		c.post("/v1/a2a/message:send", message(strings.Repeat("x", 10_000)))
		began := time.Now()
		c.pause(31 * time.Second)
		if b, err := io.ReadAll(c.r); err != nil || strings.HasSuffix(string(b), "}") {
			t.Errorf("after %v: %d bytes, %v; want a cut connection", time.Since(began), len(b), err)
		}
	})
}

func TestIdleConnectionEnds(t *testing.T) {
	t.Parallel()
	bubble(t, httpfront.Config{}, func(t *testing.T, dial func() *rawConn) {
		c := dial()
		c.get("/healthz")
		c.whole()
		began := time.Now()
		if !c.closed() || time.Since(began) != 2*time.Minute {
			t.Errorf("idle connection closed after %v, want 2 min", time.Since(began))
		}
		c = dial()
		c.send("GET /healthz HT")
		began = time.Now()
		io.Copy(io.Discard, c.r)
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("connection with half a head ended after %v, want 10 s", took)
		}
	})
}

func TestHTTP2WithoutTLS(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{}, everyone()...)
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: &p}
	defer tr.CloseIdleConnections()
	h.client = &http.Client{Transport: tr}
	resp := h.open(t.Context(), "POST", "/v1/a2a/message:stream", message("hello world"))
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.ProtoMajor != 2 || bytes.Count(b, []byte("data: ")) != 5 {
		t.Errorf("%s: %s, %v; want five events over HTTP/2", resp.Proto, b, err)
	}
}

// Quiet connections of HTTP/2 get pings as often as streams get comments.
func TestServerPings(t *testing.T) {
	t.Parallel()
	f := httpfront.New(httpfront.Config{Engine: engine.New(engine.Config{Store: new(memstore.Store)}), Limits: limits.Limits{KeepAlive: time.Second}})
	if got := httpfront.NewServer(f).HTTP2.SendPingTimeout; got != time.Second {
		t.Errorf("a ping after %v, want after a second", got)
	}
}
