package stalled

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/push"
)

// patience is the time limit for operations that should return immediately, so that a hub that
// hangs fails the test. No test passes or fails by less.
const patience = 4 * time.Minute

// options configure the hub of start.
type options struct {
	// store is the hub's store; nil means memory.
	store *spy
	// open disables the authenticator, so that every caller is "local".
	open bool
	// limits, if set, are the limits of a separate front instead of the facade's.
	limits *limits.Limits
	// headerTime is the time limit for the head of a request; it requires limits.
	headerTime time.Duration
	// connState is called on changes of connections; it requires limits.
	connState func(net.Conn, http.ConnState)
	// size are the limits of the facade. Its DrainTimeout is always none.
	size parley.Limits
	// grpc are the limits of the gRPC binding.
	grpc grpcbind.Limits
}

// hub is a running facade on ports of this machine.
type hub struct {
	t      *testing.T
	parley *parley.Hub
	store  *spy
	logs   *logbook
	// addr is the HTTP address.
	addr   string
	client *http.Client
	grpc   pb.A2AServiceClient
	// conn is the connection for gRPC calls.
	conn *grpc.ClientConn
	// stop ends the hub and waits for it. It may be called again.
	stop func()
}

// userHeader is the header with the name of the caller.
const userHeader = "X-User"

// byHeader returns an authenticator that trusts userHeader.
func byHeader() auth.Authenticator {
	return auth.Func(func(_ context.Context, r *auth.Request) (*auth.Principal, error) {
		if who := r.Header(userHeader); len(who) == 1 && who[0] != "" {
			return &auth.Principal{ID: who[0]}, nil
		}
		return nil, auth.ErrUnauthenticated
	})
}

// start runs a hub with all agents until the test ends.
func start(t *testing.T, o options) *hub {
	t.Helper()
	if o.store == nil {
		o.store = newStore(t, "memory")
	}
	h := &hub{t: t, store: o.store, logs: new(logbook)}
	h.parley = &parley.Hub{
		Store: o.store, Logger: h.logs.logger(),
		Limits: o.size,
		Push:   push.Options{Off: true},
	}
	h.parley.Limits.DrainTimeout = -1
	// The callers share a busy machine, and wait for each other.
	h.parley.Limits.WriteTime = cmp.Or(h.parley.Limits.WriteTime, time.Hour)
	h.parley.Limits.BodyTime = cmp.Or(h.parley.Limits.BodyTime, time.Hour)
	o.grpc.SendTime = cmp.Or(o.grpc.SendTime, time.Hour)
	if !o.open {
		h.parley.Auth = byHeader()
	}
	for _, a := range allAgents() {
		h.parley.Handle(a.card, a.executor)
	}
	h.run(&o)
	tr := &http.Transport{MaxIdleConnsPerHost: 256}
	h.client = &http.Client{Transport: tr, Timeout: patience}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		h.stop()
	})
	return h
}

// run serves HTTP and gRPC.
func (h *hub) run(o *options) {
	l, g := listen(h.t), listen(h.t)
	h.addr = l.Addr().String()
	conn, err := grpc.NewClient(g.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		h.t.Fatal(err)
	}
	h.conn, h.grpc = conn, pb.NewA2AServiceClient(conn)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	serve := func(what string, f func(context.Context, net.Listener) error, l net.Listener) {
		wg.Go(func() {
			if err := f(ctx, l); err != nil {
				h.t.Errorf("%s: %v", what, err)
			}
		})
	}
	binding := grpcbind.New(grpcbind.Config{
		Engine: h.parley.Engine(), Auth: h.parley.Authenticator(), Logger: h.logs.logger(), Limits: o.grpc,
	})
	serve("grpc", binding.Serve, g)
	if o.limits == nil {
		serve("hub", h.parley.Serve, l)
	} else {
		serve("front", h.front(o), l)
	}
	h.stop = sync.OnceFunc(func() {
		conn.Close()
		cancel()
		wg.Wait()
	})
}

// front returns a function that serves the hub with the limits of o, which the facade does not
// expose.
func (h *hub) front(o *options) func(context.Context, net.Listener) error {
	s := httpfront.NewServer(httpfront.New(httpfront.Config{
		Engine: h.parley.Engine().(*engine.Engine), Auth: h.parley.Auth, Logger: h.logs.logger(), Limits: *o.limits,
	}))
	s.ConnState = o.connState
	if o.headerTime > 0 {
		s.ReadHeaderTimeout = o.headerTime
	}
	return func(ctx context.Context, l net.Listener) error {
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				h.t.Errorf("serve: %v", err)
			}
		})
		err := h.parley.Run(ctx)
		s.Close()
		wg.Wait()
		return err
	}
}

// patient returns the hub behind a second front and a second gRPC binding, whose readers may
// take all the time they want.
func (h *hub) patient() *hub {
	h.t.Helper()
	l, g := listen(h.t), listen(h.t)
	s := httpfront.NewServer(httpfront.New(httpfront.Config{
		Engine: h.parley.Engine().(*engine.Engine), Auth: h.parley.Auth, Logger: h.logs.logger(),
		Limits: limits.Limits{WriteTime: time.Hour},
	}))
	binding := grpcbind.New(grpcbind.Config{
		Engine: h.parley.Engine(), Auth: h.parley.Authenticator(), Logger: h.logs.logger(),
		Limits: grpcbind.Limits{SendTime: time.Hour},
	})
	conn, err := grpc.NewClient(g.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Serve(l) })
	wg.Go(func() { _ = binding.Serve(ctx, g) })
	h.t.Cleanup(func() {
		s.Close()
		conn.Close()
		cancel()
		wg.Wait()
	})
	p := *h
	p.addr, p.conn, p.grpc = l.Addr().String(), conn, pb.NewA2AServiceClient(conn)
	return &p
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// answer is a response that was read to its end.
type answer struct {
	code   int
	header http.Header
	body   string
}

// call is a request. Headers are "Name: value"; one without a value is removed.
type call struct {
	user, method, path, body string
	headers                  []string
}

// do sends a request and reads its answer.
func (h *hub) do(c call) answer {
	h.t.Helper()
	a, err := h.try(h.t.Context(), c)
	if err != nil {
		h.t.Fatalf("%s %s as %s: %v", c.method, c.path, c.user, err)
	}
	return a
}

// try is do for use in goroutines.
func (h *hub) try(ctx context.Context, c call) (answer, error) {
	resp, err := h.open(ctx, c)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(b)}, err
}

// open is try for a stream: the caller reads and closes the body.
func (h *hub) open(ctx context.Context, c call) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, c.method, "http://"+h.addr+c.path, strings.NewReader(c.body))
	if err != nil {
		return nil, err
	}
	if c.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if strings.HasPrefix(c.path, "/a2a") || c.path == "/" {
		r.Header.Set("A2A-Version", "1.0")
	}
	if c.user != "" {
		r.Header.Set(userHeader, c.user)
	}
	for _, header := range c.headers {
		name, value, _ := strings.Cut(header, ":")
		r.Header.Del(name)
		if value = strings.TrimSpace(value); value != "" {
			r.Header.Set(name, value)
		}
	}
	return h.client.Do(r)
}

// rest sends a request of HTTP+JSON.
func (h *hub) rest(user, method, path, body string, headers ...string) answer {
	h.t.Helper()
	return h.do(call{user, method, "/v1/a2a" + path, body, headers})
}

// rpc calls a method of JSON-RPC.
func (h *hub) rpc(user, method, params string, headers ...string) answer {
	h.t.Helper()
	return h.do(call{user, http.MethodPost, "/a2a", envelope(method, params), headers})
}

func envelope(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// sendParams returns the params of a message with text, and further members of the message.
func sendParams(text string, members ...string) string {
	return `{"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":` + quote(text) + `}]` +
		strings.Join(append([]string{""}, members...), ",") + `}}`
}

// paramsNow is say with returnImmediately set.
func paramsNow(text string) string {
	return strings.TrimSuffix(sendParams(text), "}") + `,"configuration":{"returnImmediately":true}}`
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// to sends a message to an agent, waits for the task, and returns it.
func (h *hub) to(user, agent, params string) wireTask {
	h.t.Helper()
	a := h.rest(user, http.MethodPost, "/"+agent+"/message:send", params)
	if a.code != http.StatusOK {
		h.t.Fatalf("message to %s: %d %s", agent, a.code, a.body)
	}
	w := h.readTask(a.body)
	if w.ID == "" {
		h.t.Fatalf("message to %s: %s is no task", agent, a.body)
	}
	return w
}

// wireTask contains the members of a task that the tests read.
type wireTask struct {
	ID        string
	ContextID string
	Status    struct {
		State   string
		Message struct{ Parts []struct{ Text string } }
	}
	Artifacts []struct {
		ArtifactID string
		Parts      []struct{ Text string }
		Metadata   json.RawMessage
	}
	History []json.RawMessage
}

// readTask reads a task, bare or in the answer of a send.
func (h *hub) readTask(body string) wireTask {
	h.t.Helper()
	var in struct {
		Task *wireTask
		wireTask
	}
	if err := json.Unmarshal([]byte(body), &in); err != nil {
		h.t.Fatalf("%s: %v", body, err)
	}
	if in.Task != nil {
		return *in.Task
	}
	return in.wireTask
}

// alive fails the test unless the hub answers on every binding.
func (h *hub) alive(user string) {
	h.t.Helper()
	if w := h.to(user, "echo", sendParams("still there")); w.Status.State != "TASK_STATE_COMPLETED" {
		h.t.Errorf("echo over HTTP+JSON: %+v", w)
	}
	if a := h.rpc(user, "SendMessage", sendParams("still there")); !strings.Contains(a.body, `"TASK_STATE_COMPLETED"`) {
		h.t.Errorf("echo over JSON-RPC: %d %s", a.code, a.body)
	}
	ctx, cancel := h.as(user)
	defer cancel()
	if r, err := h.grpc.SendMessage(ctx, pbSay("still there")); err != nil || r.GetTask() == nil {
		h.t.Errorf("echo over gRPC: %v, %v", r, err)
	}
}

// as returns the context of a gRPC call of a user.
func (h *hub) as(user string, kv ...string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	return metadata.AppendToOutgoingContext(ctx, append([]string{"x-user", user}, kv...)...), cancel
}

func pbSay(text string) *pb.SendMessageRequest {
	return &pb.SendMessageRequest{Message: &pb.Message{
		MessageId: "m-1", Role: pb.Role_ROLE_USER,
		Parts: []*pb.Part{{Content: &pb.Part_Text{Text: text}}},
	}}
}

func pbTo(agent, text string) *pb.SendMessageRequest {
	r := pbSay(text)
	r.Tenant = agent
	return r
}

// raw is a connection on which a test writes any bytes.
type raw struct {
	*net.TCPConn
	t *testing.T
}

// dial opens a connection whose receive buffer has size bytes, or the system's
// default if size is zero.
func (h *hub) dial(size int) *raw {
	h.t.Helper()
	conn, err := net.DialTimeout("tcp", h.addr, patience)
	if err != nil {
		h.t.Fatal(err)
	}
	c := &raw{conn.(*net.TCPConn), h.t}
	h.t.Cleanup(func() { c.Close() })
	if size > 0 {
		if err := c.SetReadBuffer(size); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		h.t.Fatal(err)
	}
	return c
}

func (c *raw) send(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c, format, args...); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

// post writes a request with a JSON body.
func (c *raw) post(user, path, body string) {
	c.t.Helper()
	c.send("POST %s HTTP/1.1\r\nHost: hub\r\n%s: %s\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, userHeader, user, len(body), body)
}

// begin is post, followed by the first byte of the answer.
func (c *raw) begin(user, path, body string) {
	c.t.Helper()
	c.post(user, path, body)
	if _, err := c.Read(make([]byte, 1)); err != nil {
		c.t.Fatalf("read the beginning of the answer: %v", err)
	}
}
