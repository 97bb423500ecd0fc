package strangers

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// crowd is the number of requests of a kind at once, and crowdLimits are those of the hub: the bodies of a crowd are
// four times as large as its memory for requests.
var crowd, crowdLimits = func() (int, string) {
	const limits = "limits: {memory: %dMiB, body_time: 2s}\n"
	if os.Getenv(testenv.Night) == "1" {
		return 1000, fmt.Sprintf(limits, 64)
	}
	return 250, fmt.Sprintf(limits, 16)
}()

const (
	// crowdMemory is the largest memory of the hub in MiB.
	crowdMemory = 800
	callerKey   = "callercallercallercallercallercall01"
)

// bulk is a kind of request. The zero size means that the body is whole; otherwise it is the begin of one of
// about that size, which never ends.
type bulk struct {
	name, path, body string
	method           string
	header           []string
	size             int
	// grpc sends the body as a message.
	grpc bool
	// endless is set if the answer is a stream that does not end.
	endless bool
}

var toMCP = []string{"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2025-06-18"}

// unfinished are requests that do not end. A call over gRPC is longer, because HTTP/2 receives some of it ahead.
func unfinished() []bulk {
	const size = 256 << 10
	const message = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"`
	const rpc = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + message
	return []bulk{
		{name: "JSON-RPC", path: "/a2a/echo", body: rpc, size: size},
		{name: "JSON-RPC of 60 KiB", path: "/a2a/echo", body: rpc, size: 60 << 10},
		{name: "HTTP+JSON", path: "/v1/a2a/echo/message:send", body: message, size: size},
		{name: "job", path: "/a2a/echo/tasks/send", body: message, size: size},
		{name: "gRPC", path: "/lf.a2a.v1.A2AService/SendMessage", size: 1 << 20, grpc: true},
		{name: "MCP", path: "/mcp", body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":"`, size: size, header: toMCP},
		{name: "OpenAI", path: "/v1/chat/completions", body: `{"model":"echo","messages":[{"role":"user","content":"`, size: size},
		{name: "AG-UI", path: "/ag-ui/echo", body: `{"threadId":"t","runId":"r","messages":[{"role":"user","content":"`, size: size},
		{name: "note", method: http.MethodPut, path: "/api/v1/memory/note?key=k", body: `{"value":"`, size: size},
		form("form"),
		{name: "sign-in", path: "/console/sign-in", header: []string{"Content-Type", "application/x-www-form-urlencoded"}, body: "key=", size: size},
		{name: "notification", path: "/api/a2a/callback/x", body: `{"a":"`, size: size},
	}
}

// form is an unfinished form of the console. On a hub with keys, its sender has not signed in.
func form(name string) bulk {
	return bulk{
		name: name, path: "/console/try", header: []string{"Content-Type", "multipart/form-data; boundary=b"}, size: 512 << 10,
		body: "--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\n",
	}
}

// TestThousandUnfinished sends a crowd of requests of each kind, a thousand at night, that do not end, of callers without a key and
// with one. The memory of the hub stays bounded, and an administrator is served meanwhile.
func TestThousandUnfinished(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{Config: strings.TrimSuffix(keyed, "}}\n") + ", " + callerKey + ": {agent_id: ann, owner: local}}}\n" + crowdLimits})
	for _, b := range unfinished() {
		t.Run(b.name, func(t *testing.T) { newThousand(t, h, b).run() })
	}
	for _, b := range unfinished() {
		b.header = append(b.header, "X-Api-Key", callerKey)
		t.Run(b.name+" with a key", func(t *testing.T) { newThousand(t, h, b).run() })
	}
}

// TestThousandReaders lets a crowd read one task at once in each way in which a caller can. The callers
// read on when all answers have begun, or none has for a while.
func TestThousandReaders(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{Config: crowdLimits})
	var sent struct{ Task struct{ ID string } }
	err := hubtest.Call(t.Context(), hubtest.Request{
		URL:  h.URL() + "/v1/a2a/echo/message:send",
		Body: `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"` + strings.Repeat("x", 200<<10) + `"}]}}`,
	}, &sent)
	if err != nil {
		t.Fatal(err)
	}
	id := sent.Task.ID
	inMCP := append([]string{"Mcp-Session-Id", session(t, h)}, toMCP...)
	for _, b := range []bulk{
		{name: "HTTP+JSON", path: "/v1/a2a/tasks/" + id},
		{name: "list", path: "/v1/a2a/tasks?includeArtifacts=true&historyLength=10"},
		{name: "JSON-RPC", path: "/a2a/echo", body: `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"` + id + `"}}`},
		{name: "gRPC", path: "/lf.a2a.v1.A2AService/GetTask", body: "\x12" + string(rune(len(id))) + id, grpc: true},
		{name: "log", path: "/api/v1/tasks/" + id + "/log"},
		{name: "log as a stream", path: "/api/v1/tasks/" + id + "/log/events", header: []string{"Accept", "text/event-stream"}, endless: true},
		{name: "console", path: "/console/task?id=" + id},
		form("form of a known caller"),
		{name: "resource", path: "/mcp", header: inMCP, body: `{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"parley://tasks/` + id + `"}}`},
		{name: "tool", path: "/mcp", header: inMCP, body: `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get_task","arguments":{"task_id":"` + id + `"}}}`},
	} {
		t.Run(b.name, func(t *testing.T) { newThousand(t, h, b).run() })
	}
}

// thousand is a crowd of requests of one kind.
type thousand struct {
	bulk

	t   *testing.T
	hub *hubtest.Hub
	// dialing has a place for each request whose head is not written yet.
	dialing chan struct{}
	// begun waits until all answers have begun or failed, readOn is closed then.
	begun  sync.WaitGroup
	readOn chan struct{}

	mu       sync.Mutex // guards the field below
	outcomes map[string]int
}

func newThousand(t *testing.T, h *hubtest.Hub, b bulk) *thousand {
	return &thousand{bulk: b, t: t, hub: h, dialing: make(chan struct{}, 100), readOn: make(chan struct{}), outcomes: make(map[string]int)}
}

// run sends the requests, and checks the memory of the hub once all have ended.
func (c *thousand) run() {
	before, began := resident(c.t, c.hub), time.Now()
	resetPeak(c.t, c.hub)
	ctx, cancel := context.WithCancel(c.t.Context())
	var admin, all sync.WaitGroup
	served := 0
	admin.Go(func() {
		for ctx.Err() == nil {
			if c.administer() {
				served++
			}
		}
	})
	c.begun.Add(crowd)
	for i := range crowd {
		all.Go(func() { c.note(c.send(i + 1)) })
	}
	late := time.AfterFunc(3*time.Second, sync.OnceFunc(func() { close(c.readOn) }))
	all.Go(func() {
		c.begun.Wait()
		if late.Stop() {
			close(c.readOn)
		}
	})
	all.Wait()
	cancel()
	admin.Wait()
	most := peak(c.t, c.hub)
	c.t.Logf("%d MiB before, at most %d MiB, %.1f s, the administrator was served %d times, answers %v",
		before, most, time.Since(began).Seconds(), served, c.outcomes)
	if most > crowdMemory {
		c.t.Errorf("the hub takes %d MiB, want at most %d", most, crowdMemory)
	}
	if served == 0 {
		c.t.Error("the administrator was not served")
	}
}

// administer asks for the agents as an administrator, over a new connection. It reports whether it was served: the hub
// closes a connection whose client has no time to send a request.
func (c *thousand) administer() bool {
	transport := &http.Transport{DisableKeepAlives: true}
	r, err := http.NewRequest(http.MethodGet, c.hub.URL()+"/api/v1/agents", nil)
	if err != nil {
		c.t.Error(err)
		return false
	}
	r.Header.Set("X-Api-Key", "adminadminadminadminadminadminadmin01")
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		c.t.Errorf("the administrator: %s, %v", resp.Status, err)
		return false
	}
	return true
}

func (c *thousand) note(outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outcomes[outcome]++
}

// send sends request i, and returns its outcome.
func (c *thousand) send(i int) string {
	begun := sync.OnceFunc(c.begun.Done)
	defer begun()
	c.dialing <- struct{}{}
	written := sync.OnceFunc(func() { <-c.dialing })
	defer written()
	text := strings.Replace(c.body, "%d", fmt.Sprint(i), 1)
	if c.grpc {
		text = string(binary.BigEndian.AppendUint32([]byte{0}, uint32(max(len(text), c.size)))) + text
	}
	body := &unending{text: text, closed: make(chan struct{})}
	if c.size > 0 {
		body.text += strings.Repeat("x", c.size)
	}
	defer body.Close()
	r, err := c.request(body)
	if err != nil {
		return err.Error()
	}
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{WroteHeaders: written}))
	transport := &http.Transport{DisableKeepAlives: true, DialContext: dialSmall, Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP1(!c.grpc)
	transport.Protocols.SetUnencryptedHTTP2(c.grpc)
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return "cut"
	}
	defer resp.Body.Close()
	if c.size > 0 {
		return resp.Status
	}
	in := bufio.NewReaderSize(resp.Body, 16)
	_, _ = in.Peek(1) // an error comes again below
	begun()
	<-c.readOn
	if c.endless {
		return resp.Status
	}
	if n, err := io.Copy(io.Discard, in); err != nil || n == 0 {
		return fmt.Sprint(resp.Status, resp.Trailer, err)
	}
	return resp.Status
}

// request returns a request with a body, which ends unless it is unfinished.
func (c *thousand) request(body *unending) (*http.Request, error) {
	method := c.method
	if method == "" {
		method = http.MethodPost
		if c.body == "" && !c.grpc {
			method = http.MethodGet
		}
	}
	var in io.Reader = strings.NewReader(body.text)
	if c.size > 0 {
		in = body
	}
	r, err := http.NewRequest(method, c.hub.URL()+c.path, in)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	if c.grpc {
		r.Header.Set("Content-Type", "application/grpc")
		r.Header.Set("Te", "trailers")
	} else if c.size > 0 {
		r.ContentLength = int64(len(body.text) + 60)
	}
	for i := 0; i+1 < len(c.header); i += 2 {
		r.Header.Set(c.header[i], c.header[i+1])
	}
	return r, nil
}

// unending is a body of which no more comes after a text.
type unending struct {
	text   string
	once   sync.Once
	closed chan struct{}
}

// Read implements io.Reader.
func (u *unending) Read(p []byte) (int, error) {
	if u.text == "" {
		<-u.closed
		return 0, io.ErrClosedPipe
	}
	n := copy(p, u.text)
	u.text = u.text[n:]
	return n, nil
}

// Close implements io.Closer.
func (u *unending) Close() error {
	u.once.Do(func() { close(u.closed) })
	return nil
}

// dialSmall opens a connection that receives little ahead.
func dialSmall(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		err = c.(*net.TCPConn).SetReadBuffer(32 << 10)
	}
	return c, err
}
