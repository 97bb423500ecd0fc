package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/push"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// sought is a log that looks for a text.
type sought struct {
	text string
	once sync.Once
	seen chan struct{} // closed once the text is logged
}

func (s *sought) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(s.text)) {
		s.once.Do(func() { close(s.seen) })
	}
	return len(b), nil
}

// facade is a hub in the process of the test, whose heap the test measures, and whose time limits
// the command does not have.
type facade struct {
	t      *testing.T
	hub    *parley.Hub
	url    string
	client *http.Client
	log    *sought
	stop   func()
}

// startFacade starts a hub that logs the text when something is given up.
func startFacade(t *testing.T, text string) *facade {
	t.Helper()
	db, err := sqlitestore.Open(t.TempDir()+"/tasks.db", sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	h := &facade{t: t, log: &sought{text: text, seen: make(chan struct{})}}
	// The callers share a busy machine, and wait for each other.
	l := parley.Limits{DrainTimeout: -1, WriteTime: time.Hour, BodyTime: time.Hour}
	h.hub = &parley.Hub{
		Store: db.Tasks(), Logger: slog.New(slog.NewTextHandler(h.log, nil)), Limits: l, Push: push.Options{Off: true},
		Auth: auth.Func(func(_ context.Context, r *auth.Request) (*auth.Principal, error) {
			return &auth.Principal{ID: strings.Join(r.Header("X-User"), "")}, nil
		}),
	}
	for _, name := range []string{"echo", "hold", "flood"} {
		h.hub.Handle(&a2a.AgentCard{Name: name}, map[string]agent.Func{"echo": echo, "hold": hold, "flood": flood}[name])
	}
	h.url, h.stop = hubtest.Run(t, h.hub)
	tr := &http.Transport{MaxIdleConnsPerHost: 256}
	t.Cleanup(tr.CloseIdleConnections)
	h.client = &http.Client{Transport: tr, Timeout: 2 * patience}
	return h
}

func echo(_ context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	yield(agent.Status(x, a2a.TaskStateCompleted, a2a.NewTextPart(agent.Text(x.Message))), nil)
}

// hold works until its context ends.
func hold(ctx context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	if yield(agent.Status(x, a2a.TaskStateWorking), nil) {
		<-ctx.Done()
	}
}

// chunkSize is the size of the chunks of flood.
const chunkSize = 16 << 10

var padding = strings.Repeat("x", chunkSize-9)

// flood streams the number of chunks in the message. Each begins with its number.
func flood(_ context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	n, _ := strconv.Atoi(agent.Text(x.Message))
	for i := range n {
		ev := a2a.NewArtifactUpdateEvent(x, "reply", a2a.NewTextPart(fmt.Sprintf("%08d ", i)+padding))
		ev.Append = i > 0
		if !yield(ev, nil) {
			return
		}
	}
	yield(agent.Status(x, a2a.TaskStateCompleted), nil)
}

// open sends a request. The caller closes the body of the answer.
func (h *facade) open(c *http.Client, user, path, body string, header ...string) (*http.Response, error) {
	header = append(header, "X-User", user, "A2A-Version", "1.0")
	return hubtest.Do(h.t.Context(), hubtest.Request{Client: c, URL: h.url + path, Body: body, Header: header})
}

// say sends a message, and returns the answer.
func (h *facade) say(user, path, body string) (string, error) {
	resp, err := h.open(h.client, user, path, body)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// alive fails the test unless others get their answers.
func (h *facade) alive() {
	h.t.Helper()
	for path, body := range map[string]string{"/v1/a2a/message:send": message("still-there"), "/a2a": call("SendMessage", message("still-there"))} {
		if a, err := h.say("bob", path, body); err != nil || !strings.Contains(a, `"TASK_STATE_COMPLETED"`) {
			h.t.Errorf("echo at %s: %v, %s", path, err, a)
		}
	}
}

// taskOf returns the id of the first task in an answer.
func (h *facade) taskOf(answer string) string {
	h.t.Helper()
	return firstMatch(h.t, answer, `"task":\{"id":"([^"]+)"`)
}

// begin sends a message to an agent, and returns its task.
func (h *facade) begin(agent, body string) string {
	h.t.Helper()
	a, err := h.say("ann", "/v1/a2a/"+agent+"/message:send", body)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.taskOf(a)
}

// unread returns a client whose connections are read only as far as the body of the answer is.
func (h *facade) unread() *http.Client {
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			err = c.(*net.TCPConn).SetReadBuffer(4096)
		}
		return c, err
	}}
	return &http.Client{Transport: tr, Timeout: 2 * patience}
}

// stream is a stream of events of which the test reads the next one when it wants to.
type stream struct {
	t    *testing.T
	next func() (hubtest.Event, error, bool)
	// version is that of the last event; 0 before the first, which may have any.
	version int
}

func (h *facade) stream(c *http.Client, path, body string, header ...string) *stream {
	h.t.Helper()
	resp, err := h.open(c, "ann", path, body, header...)
	if err != nil {
		h.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		h.t.Fatalf("%s: %s", path, resp.Status)
	}
	h.t.Cleanup(func() { resp.Body.Close() })
	s := &stream{t: h.t}
	if i := slices.Index(header, "Last-Event-ID"); i >= 0 {
		s.version, _ = strconv.Atoi(header[i+1])
	}
	next, stop := iter.Pull2(hubtest.Events(resp.Body))
	h.t.Cleanup(stop)
	s.next = next
	return s
}

// event returns the next event, which must be the next version; false at the end.
func (s *stream) event() (data string, more bool) {
	s.t.Helper()
	ev, err, ok := s.next()
	if errors.Is(err, io.EOF) || !ok {
		return "", false
	}
	if err != nil {
		s.t.Fatalf("the stream broke off after event %d: %v", s.version, err)
	}
	id, err := strconv.Atoi(ev.ID)
	if s.version != 0 && id != s.version+1 || err != nil {
		s.t.Fatalf("event %q follows %d: %.100s", ev.ID, s.version, ev.Data)
	}
	s.version = id
	return ev.Data, true
}

// flooded reads a flood of n chunks to its end. No event may be missing or differ. It calls at with
// each version.
func (s *stream) flooded(n int, at func(version int)) {
	s.t.Helper()
	for data, more := s.event(); more; data, more = s.event() {
		want := fmt.Sprintf(`"parts":[{"text":"%08d x`, s.version-2)
		switch s.version {
		case 1:
			want = `{"task":{`
		case n + 2:
			want = `"TASK_STATE_COMPLETED"`
		}
		if !strings.Contains(data, want) {
			s.t.Fatalf("event %d is %.200s, want %s", s.version, data, want)
		}
		at(s.version)
	}
	if s.version != n+2 {
		s.t.Fatalf("the stream ends with event %d, want %d", s.version, n+2)
	}
}

// heapInUse returns the bytes of the heap in use after a garbage collection.
func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// TestStalledReader: a reader that does not read, on a task of 20 MB, must not cost another reader
// an event, hold up other senders, or fill the memory of the hub. The hub does not disconnect it
// here, so that all that waited for it would wait until the test fails.
func TestStalledReader(t *testing.T) { //nolint:paralleltest // it measures the heap
	const (
		chunks, senders = 1200, 64
		// maxGrowth limits the memory that a stalled reader and all other callers may occupy.
		maxGrowth = 64 << 20
	)
	h := startFacade(t, "stream was not read")
	heap := heapInUse()
	stalled := h.stream(h.unread(), "/v1/a2a/flood/message:stream", message(fmt.Sprint(chunks)))
	first, _ := stalled.event()
	ctx, over := context.WithCancel(t.Context())
	defer over()
	var sending sync.WaitGroup
	for i := range senders {
		sending.Go(func() {
			for again := true; again; again = ctx.Err() == nil {
				a, err := h.say(fmt.Sprint("sender-", i), "/v1/a2a/message:send", message("hi"))
				if err != nil || !strings.Contains(a, `"TASK_STATE_COMPLETED"`) {
					t.Errorf("send beside a stalled reader: %s %v", a, err)
					return
				}
			}
		})
	}
	beside := uint64(0)
	h.stream(h.client, "/v1/a2a/tasks/"+h.taskOf(first)+":subscribe", "", "Last-Event-ID", "1").flooded(chunks, func(version int) {
		if version == chunks*3/4 {
			beside = heapInUse()
		}
	})
	over()
	sending.Wait()
	t.Logf("heap in use: %d KiB at first, %d KiB beside the stalled reader", heap>>10, beside>>10)
	if beside > heap+maxGrowth {
		t.Errorf("the heap has grown by %d MiB, want less than %d", (beside-heap)>>20, maxGrowth>>20)
	}
	select {
	case <-h.log.seen:
		t.Error("the stalled reader was cut off before its time, so it did not stall the hub")
	default:
	}
	for range 3 {
		if _, more := stalled.event(); !more {
			t.Error("the stream of the stalled reader has ended")
		}
	}
}

// TestStalledReadersDoNotStopTheEnd: a hub ends in time beside stalled readers, whose connections it
// closes.
func TestStalledReadersDoNotStopTheEnd(t *testing.T) {
	t.Parallel()
	h := startFacade(t, "connections were cut")
	id, held := h.begin("flood", message("320")), h.begin("hold", configured(`{"returnImmediately":true}`))
	for range 4 {
		h.stream(h.unread(), "/v1/a2a/flood/message:stream", message("320"))
		resp, err := h.open(h.unread(), "ann", "/a2a", call("GetTask", `{"id":"`+id+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
	}
	sub := h.stream(h.client, "/v1/a2a/tasks/"+held+":subscribe", "")
	h.alive()
	h.stop() // no write of a stalled reader ends by itself
	select {
	case <-h.log.seen:
	default:
		t.Error("no connection was cut, so no sender stalled")
	}
	for data, more := sub.event(); more; data, more = sub.event() {
		for _, state := range []string{"COMPLETED", "FAILED", "CANCELED"} {
			if strings.Contains(data, state) {
				t.Errorf("the subscriber saw the task end: %s", data)
			}
		}
	}
}

// TestStalledGRPCReader: a gRPC reader that does not read is disconnected, and resumes.
func TestStalledGRPCReader(t *testing.T) {
	t.Parallel()
	h := startFacade(t, "stream was not read")
	binding := grpcbind.New(grpcbind.Config{
		Engine: h.hub.Engine(), Auth: h.hub.Auth, Logger: h.hub.Logger, Limits: grpcbind.Limits{SendTime: 4 * time.Second},
	})
	l, over := hubtest.Listen(t), make(chan error, 1)
	serving, stop := context.WithCancel(context.Background())
	go func() { over <- binding.Serve(serving, l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		stop()
		if err := <-over; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "x-user", "ann"), 2*patience)
	defer cancel()
	r := &pb.SendMessageRequest{Tenant: "flood", Message: &pb.Message{MessageId: "m", Role: pb.Role_ROLE_USER, Parts: []*pb.Part{{Content: &pb.Part_Text{Text: "320"}}}}}
	s, err := pb.NewA2AServiceClient(conn).SendStreamingMessage(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Recv()
	if err != nil {
		t.Fatal(err)
	}
	select { // the hub aborts the call
	case <-h.log.seen:
	case <-ctx.Done():
		t.Fatal("the stream is not given up")
	}
	h.alive()
	got := 1
	for _, err = s.Recv(); err == nil; _, err = s.Recv() {
		got++
	}
	if want := "DeadlineExceeded DEADLINE_EXCEEDED"; grpcErrorOf(err) != want || got > 300 {
		t.Errorf("%d events, then %v, want few and %s", got, err, want)
	}
	h.stream(h.client, "/v1/a2a/tasks/"+first.GetTask().GetId()+":subscribe", "", "Last-Event-ID", strconv.Itoa(got)).flooded(320, func(int) {})
}

// TestStalledHTTP2: a stream whose client does not read does not stop the others of its connection.
func TestStalledHTTP2(t *testing.T) {
	t.Parallel()
	h := startFacade(t, "")
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(tr.CloseIdleConnections)
	h.client = &http.Client{Transport: tr, Timeout: 2 * patience}
	s := h.stream(h.client, "/v1/a2a/flood/message:stream", message("640"))
	h.alive()
	s.flooded(640, func(int) {})
}
