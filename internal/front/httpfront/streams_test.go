package httpfront_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// sseEvent is one event, or a comment.
type sseEvent struct {
	id, data, comment string
}

// nextEvent reads an event or a comment.
func nextEvent(r *bufio.Reader) (e sseEvent, err error) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return e, err
		}
		line = strings.TrimSuffix(line, "\n")
		switch name, value, _ := strings.Cut(line, ": "); {
		case line == "":
			return e, nil
		case name == "id" && e.id == "":
			e.id = value
		case name == "data" && e.data == "":
			e.data = value
		case name == "":
			if e == (sseEvent{}) {
				return sseEvent{comment: value}, nil // a line of its own, after which no event ends
			}
		default:
			return e, fmt.Errorf("unexpected line %q", line)
		}
	}
}

// allEvents reads to the end of the stream and skips comments.
func allEvents(t *testing.T, resp *http.Response) []sseEvent {
	t.Helper()
	defer resp.Body.Close()
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Fatalf("content type = %q, want a stream", ct)
	}
	var all []sseEvent
	for r := bufio.NewReader(resp.Body); ; {
		e, err := nextEvent(r)
		if err != nil {
			return all
		}
		if e.data != "" {
			all = append(all, e)
		}
	}
}

func withTask(id, body string) string {
	return strings.Replace(body, `"role"`, `"taskId":"`+id+`","role"`, 1)
}

// TestKeepAlive checks that a silent stream sends keep-alive comments and nothing else.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		words := make(chan string)
		p, stop := servePipes(t, httpfront.Config{Engine: startEngine(t, newAgent("gated", gated(words)))})
		defer stop()
		conn := p.dial(t)
		c := &rawConn{Conn: conn, t: t, r: bufio.NewReader(conn)}
		c.post("/v1/a2a/message:stream", message("hi"))
		r := bufio.NewReader(c.response().Body)
		mustEvent(t, r, "1")
		began := time.Now()
		for i := range 3 {
			e, err := nextEvent(r)
			if err != nil || e.comment != "keep-alive" || time.Since(began) != time.Duration(i+1)*15*time.Second {
				t.Fatalf("event = %+v, %v after %v; want a comment each 15 s", e, err, time.Since(began))
			}
		}
		words <- "late"
		mustEvent(t, r, "2")
		close(words)
		mustEvent(t, r, "3")
	})
}

func mustEvent(t *testing.T, r *bufio.Reader, id string) {
	t.Helper()
	e, err := nextEvent(r)
	if err != nil || e.id != id {
		t.Fatalf("event = %+v, %v; want id %s", e, err, id)
	}
}

// TestStalledReader checks that a reader that stops reading is disconnected after the write
// limit. Meanwhile the task and its other readers continue.
func TestStalledReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		words := make(chan string)
		e := startEngineWith(t, engine.Config{Limits: limits.Limits{StreamsPerCaller: 2}}, newAgent("gated", gated(words)))
		p, stop := servePipes(t, httpfront.Config{Engine: e})
		defer stop()
		dial := func() *rawConn {
			conn := p.dial(t)
			return &rawConn{Conn: conn, t: t, r: bufio.NewReader(conn)}
		}
		stalled, good := dial(), dial()
		stalled.post("/v1/a2a/message:stream", withTask("t", message("hi")))
		mustEvent(t, bufio.NewReader(stalled.response().Body), "1")
		good.get("/v1/a2a/tasks/t:subscribe")
		r := bufio.NewReader(good.response().Body)
		mustEvent(t, r, "1")

		began := time.Now()
		for i := range 100 {
			words <- strings.Repeat("x", 1000) + strconv.Itoa(i)
			mustEvent(t, r, strconv.Itoa(i+2))
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the other reader waited %v", took)
		}
		// A third stream is one too many, until the stalled one has been disconnected.
		third := dial()
		third.get("/v1/a2a/tasks/t:subscribe")
		if code, body := third.whole(); code != 429 {
			t.Errorf("third stream = %d %s, want 429", code, body)
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		third.get("/v1/a2a/tasks/t:subscribe")
		if code := third.response().StatusCode; code != 200 {
			t.Errorf("after the write limit = %d, want 200: the stalled stream is cut off", code)
		}
		third.Close()
		close(words)
		for id := ""; id != "102"; {
			e, err := nextEvent(r)
			if err != nil {
				t.Fatalf("the other reader: %v", err)
			}
			id = e.id
		}
	})
}

// TestReaderGoesAway checks that a reader that disconnects ends its stream and not the task.
func TestReaderGoesAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		words := make(chan string)
		p, stop := servePipes(t, httpfront.Config{
			Engine: startEngineWith(t, engine.Config{Limits: limits.Limits{Streams: 1}}, newAgent("gated", gated(words))),
		})
		defer stop()
		dial := func() *rawConn {
			conn := p.dial(t)
			return &rawConn{Conn: conn, t: t, r: bufio.NewReader(conn)}
		}
		c := dial()
		c.post("/v1/a2a/message:stream", withTask("t", message("hi")))
		mustEvent(t, bufio.NewReader(c.response().Body), "1")
		c.Close()
		synctest.Wait() // the only allowed stream has ended
		words <- "on"
		close(words)
		c = dial()
		c.get("/v1/a2a/tasks/t:subscribe", "Last-Event-ID: 1")
		if code, body := c.whole(); code != 200 || !strings.Contains(body, "TASK_STATE_COMPLETED") {
			t.Errorf("subscribe = %d %s, want the rest of the task", code, body)
		}
	})
}

func TestTooManyStreams(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{
		Auth: byKey(), Engine: startEngineWith(t, engine.Config{Limits: limits.Limits{StreamsPerCaller: 1}}, everyone()...),
	})
	const ann, bob = "Authorization: Bearer ann", "Authorization: Bearer bob"
	resp := h.open(t.Context(), "POST", "/v1/a2a/hold/message:stream", withTask("t", message("hi")), ann)
	defer resp.Body.Close()
	got := h.do("POST", "/v1/a2a/hold/message:stream", withTask("u", message("hi")), ann)
	if reason, _ := got.failure(t); got.code != 429 || reason != "RESOURCE_EXHAUSTED" || got.header.Get("Retry-After") != "5" {
		t.Errorf("second stream = %d %v %s, want 429 with Retry-After", got.code, got.header, got.body)
	}
	if got := h.do("GET", "/v1/a2a/tasks/u", "", ann); got.code != 404 {
		t.Errorf("the refused stream left a task: %d", got.code)
	}
	got = h.do("POST", "/a2a", rpc("SubscribeToTask", `{"id":"t"}`), v1, ann)
	if reason, _ := got.failure(t); got.code != 429 || reason != "RESOURCE_EXHAUSTED" {
		t.Errorf("JSON-RPC = %d %s, want 429", got.code, got.body)
	}
	if got := h.do("POST", "/v1/a2a/message:stream", message("hi"), bob); got.code != 200 {
		t.Errorf("stream of another caller = %d %s", got.code, got.body)
	}
}

// TestStreamOfStoppingHub checks that a stopping hub ends its streams without an event, so that
// readers reconnect.
func TestStreamOfStoppingHub(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := engine.New(engine.Config{Store: new(memstore.Store), Limits: limits.Limits{DrainTimeout: -1}})
		if err := e.Register(newAgent("hold", hold())); err != nil {
			t.Fatal(err)
		}
		ctx, stopEngine := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- e.Run(ctx) }()
		p, stop := servePipes(t, httpfront.Config{Engine: e})
		defer stop()
		conn := p.dial(t)
		c := &rawConn{Conn: conn, t: t, r: bufio.NewReader(conn)}
		c.post("/v1/a2a/message:stream", message("hi"))
		r := bufio.NewReader(c.response().Body)
		mustEvent(t, r, "1")
		mustEvent(t, r, "2")
		stopEngine()
		<-done
		for {
			e, err := nextEvent(r)
			if err != nil {
				break
			}
			if strings.Contains(e.data, `"error"`) {
				t.Errorf("event = %+v, want none that is an error", e)
			}
		}
	})
}

// TestIdleStreamMemory checks that an idle stream costs at most 40 KiB in all, the goal in
// cmd/bench/RESULTS.md.
func TestIdleStreamMemory(t *testing.T) {
	const streams = 500
	limit := uint64(40 << 10)
	if raceEnabled {
		limit *= 2 // the race detector keeps as much again for each goroutine
	}
	began := make(chan struct{}, streams)
	idle := described(func(ctx context.Context, _ *a2asrv.ExecutorContext, _ yielder) {
		began <- struct{}{}
		<-ctx.Done()
	})
	h := startHub(t, httpfront.Config{}, newAgent("idle", idle))
	h.do("POST", "/v1/a2a/message:send", withTask("t", strings.Replace(message("hi"), `{"message"`,
		`{"configuration":{"returnImmediately":true},"message"`, 1)))
	<-began
	before := memory()
	var conns []net.Conn
	for range streams {
		conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, "GET /v1/a2a/tasks/t:subscribe HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\n\r\n")
		// Once this byte has arrived, the stream is open.
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	each := (memory() - before) / streams
	t.Logf("%d bytes for each of %d idle streams, with both ends of the connection", each, len(conns))
	if each > limit {
		t.Errorf("an idle stream takes %d bytes, want at most %d", each, limit)
	}
}

func memory() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
