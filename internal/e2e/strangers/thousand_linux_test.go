package strangers

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// crowd is the number of requests of each kind, and crowdMemory the largest memory of the hub meanwhile, in
// MiB.
const (
	crowd       = 1000
	crowdMemory = 400
)

const (
	adminKey  = "adminadminadminadminadminadminadmin01"
	callerKey = "callercallercallercallercallercall01"
	crowdHub  = "auth: {api_keys: {" + adminKey + ": {agent_id: root, roles: [admin], owner: local}, " +
		callerKey + ": {agent_id: ann, owner: local}}}\nlimits: {memory: 64MiB, body_time: 3s, half_open: 5000}\n"
)

// bulk is a kind of request.
type bulk struct {
	name, method, path string
	header             []string
	// body is the whole body, or the begin of an unfinished one of size bytes.
	body string
	size int
	// grpc sends the body as a message over HTTP/2.
	grpc bool
	// streams is set if the answer does not end.
	streams bool
}

var eventStreamHeader = []string{"Accept", "text/event-stream"}

// unfinished are requests whose last bytes do not come.
func unfinished() []bulk {
	const rest = 1 << 20
	message := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"`
	return []bulk{
		{name: "JSON-RPC", path: "/a2a/echo", body: `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + message, size: rest},
		{name: "JSON-RPC of 60 KiB", path: "/a2a/echo", body: `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + message, size: 60 << 10},
		{name: "REST", path: "/v1/a2a/echo/message:send", body: message, size: rest},
		{name: "RockBot", path: "/a2a/echo/tasks/send", body: message, size: rest},
		{name: "gRPC", path: "/lf.a2a.v1.A2AService/SendMessage", size: rest, grpc: true},
		{name: "MCP", path: "/mcp", body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":"`, size: rest, header: []string{"Accept", "application/json, text/event-stream"}},
		{name: "OpenAI", path: "/v1/chat/completions", body: `{"model":"echo","messages":[{"role":"user","content":"`, size: rest},
		{name: "AG-UI", path: "/ag-ui/echo", body: `{"threadId":"t","runId":"r","messages":[{"role":"user","content":"`, size: rest},
		{name: "note", method: http.MethodPut, path: "/api/v1/memory/note?key=k", body: `{"value":"`, size: rest},
		{name: "form", path: "/console/try", header: []string{"Content-Type", "multipart/form-data; boundary=b"}, body: "--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\n", size: rest},
		{name: "sign-in", path: "/console/sign-in", header: []string{"Content-Type", "application/x-www-form-urlencoded"}, body: "key=", size: rest},
		{name: "callback", path: "/api/a2a/callback/x", body: `{"a":"`, size: rest},
	}
}

// TestThousandUnfinished opens a thousand requests of each kind that never end, of callers without a key and
// with one. The hub's memory stays bounded, and an administrator on its machine is served meanwhile.
func TestThousandUnfinished(t *testing.T) {
	h := hubtest.Start(t, hubtest.Options{Config: crowdHub})
	for _, key := range []string{"", callerKey} {
		for _, b := range unfinished() {
			t.Run(b.name+" "+whose(key), func(t *testing.T) { open(t, h, b, key) })
		}
	}
}

// TestThousandReaders reads a task of nearly a mebibyte a thousand times at once, in each way in which a
// caller can, without reading on until all answers have begun.
func TestThousandReaders(t *testing.T) {
	h := hubtest.Start(t, hubtest.Options{Config: "limits: {memory: 64MiB, half_open: 5000}\n"})
	var sent struct{ Task struct{ ID string } }
	err := hubtest.Call(t.Context(), hubtest.Request{
		URL:  h.URL() + "/v1/a2a/echo/message:send",
		Body: `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"` + strings.Repeat("x", 200<<10) + `"}]}}`,
	}, &sent)
	if err != nil {
		t.Fatal(err)
	}
	id := sent.Task.ID
	for _, b := range []bulk{
		{name: "get", path: "/v1/a2a/tasks/" + id},
		{name: "list", path: "/v1/a2a/tasks?includeArtifacts=true&historyLength=10"},
		{name: "JSON-RPC", path: "/a2a/echo", body: `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"` + id + `"}}`},
		{name: "gRPC", path: "/lf.a2a.v1.A2AService/GetTask", body: "\x0a" + string(rune(len("tasks/"+id))) + "tasks/" + id, grpc: true},
		{name: "log", path: "/api/v1/tasks/" + id + "/log"},
		{name: "frames", path: "/api/v1/tasks/" + id + "/log?frames=v0.3"},
		{name: "log/events", path: "/api/v1/tasks/" + id + "/log/events", header: eventStreamHeader, streams: true},
		{name: "console", path: "/console/task?id=" + id},
		{
			name: "resource", path: "/mcp", body: `{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"parley://tasks/` + id + `"}}`,
			header: []string{"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2025-11-25"},
		},
		{
			name: "tool", path: "/mcp", body: `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get_task","arguments":{"task_id":"` + id + `"}}}`,
			header: []string{"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2025-11-25"},
		},
	} {
		t.Run(b.name, func(t *testing.T) {
			if b.path == "/mcp" {
				b.header = append(b.header, "Mcp-Session-Id", session(t, h))
			}
			open(t, h, b, "")
		})
	}
}

// open sends a crowd of requests of one kind, and checks the memory of the hub when all have ended.
func open(t *testing.T, h *hubtest.Hub, b bulk, key string) {
	began := time.Now()
	before := resident(t, h)
	resetPeak(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var admin sync.WaitGroup
	served, slowest := 0, time.Duration(0)
	admin.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			administer(t, h)
			served, slowest = served+1, max(slowest, time.Since(began))
		}
	})
	c := &crowdOf{hub: h, bulk: b, key: key, dialing: make(chan struct{}, 100), all: make(chan struct{}), count: map[string]int{}}
	var all sync.WaitGroup
	for i := range crowd {
		all.Go(func() { c.request(i) })
	}
	go func() {
		late := time.NewTimer(5 * time.Second)
		defer late.Stop()
		for c.begun.Load() < crowd {
			select {
			case <-late.C:
				close(c.all)
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
		close(c.all)
	}()
	all.Wait()
	cancel()
	admin.Wait()
	t.Logf("%-20s before %d MiB, peak %d MiB, %.1f s, administrator served %d times, slowest %v, answers %v", b.name+" "+whose(key), before, peak(t, h), time.Since(began).Seconds(), served, slowest.Round(time.Millisecond), c.count)
	if got := peak(t, h); got > crowdMemory {
		t.Errorf("the hub takes %d MiB, want at most %d", got, crowdMemory)
	}
}

type crowdOf struct {
	hub     *hubtest.Hub
	bulk    bulk
	key     string
	dialing chan struct{}
	all     chan struct{}
	begun   atomic.Int64
	mu      sync.Mutex
	count   map[string]int
}

func (c *crowdOf) request(i int) {
	outcome := c.outcome(i)
	c.mu.Lock()
	c.count[outcome]++
	c.mu.Unlock()
}

func (c *crowdOf) outcome(i int) string {
	c.dialing <- struct{}{}
	ready := sync.OnceFunc(func() { <-c.dialing })
	begun := sync.OnceFunc(func() { c.begun.Add(1) })
	defer begun()
	defer ready()
	text := strings.Replace(c.bulk.body, "%d", fmt.Sprint(i+1), 1)
	if c.bulk.grpc {
		var prefix [5]byte
		binary.BigEndian.PutUint32(prefix[1:], uint32(max(c.bulk.size, len(text))))
		text = string(prefix[:]) + text
	}
	body := &slow{text: text, size: c.bulk.size, closed: make(chan struct{})}
	defer body.Close()
	var in io.Reader = body
	if c.bulk.size == 0 {
		in = strings.NewReader(text)
	}
	ctx, cancel := context.WithCancel(httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{WroteHeaders: ready}))
	defer cancel()
	method := c.bulk.method
	if method == "" {
		method = http.MethodGet
		if c.bulk.body != "" || c.bulk.grpc {
			method = http.MethodPost
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.hub.URL()+c.bulk.path, in)
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	if c.bulk.grpc {
		req.Header.Set("Content-Type", "application/grpc")
		req.Header.Set("Te", "trailers")
	} else if c.bulk.size > 0 {
		req.ContentLength = int64(c.bulk.size) + 60
	}
	for i := 0; i+1 < len(c.bulk.header); i += 2 {
		req.Header.Set(c.bulk.header[i], c.bulk.header[i+1])
	}
	if c.key != "" {
		req.Header.Set("X-Api-Key", c.key)
	}
	if strings.HasPrefix(c.bulk.path, "/console/") && c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	t := &http.Transport{DisableKeepAlives: true, DialContext: dialSmall, Protocols: new(http.Protocols)}
	t.Protocols.SetHTTP1(!c.bulk.grpc)
	t.Protocols.SetUnencryptedHTTP2(c.bulk.grpc)
	defer t.CloseIdleConnections()
	resp, err := t.RoundTrip(req)
	if err != nil {
		return "error"
	}
	defer resp.Body.Close()
	outcome := fmt.Sprint(resp.StatusCode)
	if s := resp.Header.Get("Grpc-Status"); s != "" {
		outcome += " gRPC " + s
	}
	if c.bulk.size > 0 {
		return outcome
	}
	r := bufio.NewReaderSize(resp.Body, 16)
	if _, err := r.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return outcome + " cut"
	}
	begun()
	<-c.all
	if c.bulk.streams {
		return outcome
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return outcome + " cut off"
	}
	if s := resp.Trailer.Get("Grpc-Status"); s != "" {
		outcome += " gRPC " + s
	}
	return outcome
}

// slow is a body that does not end.
type slow struct {
	text   string
	size   int
	once   sync.Once
	closed chan struct{}
}

func (s *slow) Read(p []byte) (int, error) {
	if s.text != "" {
		n := copy(p, s.text)
		s.text, s.size = s.text[n:], s.size-n
		return n, nil
	}
	if s.size <= 100 {
		<-s.closed
		return 0, io.ErrClosedPipe
	}
	n := min(len(p), s.size-100)
	for i := range n {
		p[i] = 'x'
	}
	s.size -= n
	return n, nil
}

func (s *slow) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func dialSmall(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		_ = c.(*net.TCPConn).SetReadBuffer(32 << 10)
	}
	return c, err
}

func administer(t *testing.T, h *hubtest.Hub) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	tr := &http.Transport{DisableKeepAlives: true}
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, h.URL()+"/api/v1/agents", nil)
	req.Header.Set("X-Api-Key", adminKey)
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Errorf("administrator: %v", err)
		return
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("administrator: %s, %v", resp.Status, err)
	}
}

func whose(key string) string {
	if key == "" {
		return "anonymous"
	}
	return "with a key"
}
